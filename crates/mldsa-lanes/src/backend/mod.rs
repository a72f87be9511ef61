//! Backends: the kernels compiled for one set of CPU features each. The only module with `unsafe`.
//!
//! An [`Engine`] is a token: a value of it exists only where the CPU has the features, because its
//! field is private and `detect` is the only constructor. That is the argument for every
//! `unsafe` block here.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(feature = "std")]
mod environment;
#[cfg(mldsa_ct)]
pub(crate) mod memcheck;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod portable;
mod select;
#[cfg(mldsa_shares)]
pub mod shares;
#[cfg(all(test, mldsa_inside))]
pub(crate) mod tests;

#[cfg(feature = "std")]
pub use environment::EnvironmentError;
pub(crate) use select::Kind;
pub use select::{Backend, Feature};

#[cfg(mldsa_inside)]
use crate::kernels::keccak::RATE_128;
use crate::kernels::keccak::{Permutation, PermutationOfTwo, StateGroup};
#[cfg(mldsa_inside)]
use crate::kernels::lanes::Lanes;
use crate::kernels::packing::Map;
use crate::kernels::poly::Poly;
use crate::kernels::sampling::{MaskBytes, Targets};
use crate::kernels::small::{Offsets, SmallPoly};
use crate::kernels::sponge::Beside;
use crate::params::Parameters;

/// What the scheme asks of a backend. Ranges are those of the kernels of the same names.
pub trait Engine: Copy {
    /// Keccak states side by side: `mask` wastes nothing when asked for a multiple.
    const STATES: usize;
    /// `STATES` of them.
    type States: StateGroup;
    /// The permutation of one state.
    fn permutation(self) -> Permutation;
    /// The permutation of two states.
    fn permutation_of_two(self) -> PermutationOfTwo;
    /// The permutation of a group.
    fn permute(self, states: &mut Self::States);
    /// [`crate::kernels::sampling::uniform`].
    fn uniform(self, targets: &mut dyn Targets<'_, 32>, shadow: Option<&mut dyn Beside>);
    /// [`crate::kernels::sampling::bounded`].
    fn bounded<P: Parameters>(self, targets: &mut dyn Targets<'_, 64>);
    /// [`crate::kernels::sampling::mask`].
    fn mask<P: Parameters>(
        self,
        targets: &mut dyn Targets<'_, 64>,
        bytes: &mut [MaskBytes],
        shadow: Option<&mut dyn Beside>,
    );
    /// [`crate::kernels::ntt::forward`].
    fn ntt(self, p: &mut Poly);
    /// [`crate::kernels::ntt::inverse`].
    fn inverse_ntt(self, p: &mut Poly);
    /// [`crate::kernels::pointwise::dot`].
    fn dot(self, row: &[Poly], v: &[Poly], out: &mut Poly);
    /// [`crate::kernels::pointwise::dot_minus`].
    fn dot_minus(self, row: &[Poly], v: &[Poly], c: &Poly, t: &Poly, out: &mut Poly);
    /// [`crate::kernels::pointwise::product`].
    fn product(self, a: &Poly, b: &Poly, out: &mut Poly);
    /// [`SmallPoly::set`].
    fn small_set(self, p: &Poly, eta: i32, small: &mut SmallPoly);
    /// [`crate::kernels::small::combine`], adding.
    fn add_small<P: Parameters>(self, c: &Offsets, s: &SmallPoly, a: &mut Poly, bound: i32)
    -> bool;
    /// [`crate::kernels::small::combine`], subtracting.
    fn subtract_small<P: Parameters>(
        self,
        c: &Offsets,
        s: &SmallPoly,
        a: &mut Poly,
        bound: i32,
    ) -> bool;
    /// [`crate::kernels::packing::pack`].
    fn pack(self, bits: usize, p: &Poly, map: Map, out: &mut [u8]);
    /// [`crate::kernels::packing::unpack`].
    fn unpack(self, bits: usize, from: &[u8], map: Map, p: &mut Poly);
    /// [`crate::kernels::rounding::split`].
    fn split<P: Parameters>(self, w: &mut Poly, w1: &mut Poly);
    /// [`crate::kernels::rounding::power2round`].
    fn power2round(self, t: &mut Poly, t1: &mut Poly);
    /// [`crate::kernels::rounding::add`].
    fn add_center(self, a: &mut Poly, b: &Poly);
    /// [`crate::kernels::rounding::center`].
    fn center(self, a: &mut Poly, bound: i32) -> bool;
    /// [`crate::kernels::rounding::exceeds`].
    fn exceeds(self, a: &Poly, bound: i32) -> bool;
    /// [`crate::kernels::rounding::make_hint`].
    fn make_hint<P: Parameters>(self, low: &mut Poly, w1: &Poly);
    /// [`crate::kernels::rounding::use_hint`].
    fn use_hint<P: Parameters>(self, w: &mut Poly, hint: &Poly);
    /// [`crate::kernels::sampling::shake128`].
    #[cfg(mldsa_inside)]
    fn shake128(self, seed: &[u8; 32], nonces: &[u16], out: &mut [[u8; 5 * RATE_128]]);
    /// A kernel of another crate.
    #[cfg(mldsa_inside)]
    fn run<K: Kernel>(self, kernel: K) -> K::Output;
}

/// A kernel that no operation of the library has: a text over lanes, all of it `inline(always)`.
#[cfg(mldsa_inside)]
pub trait Kernel {
    /// What it gives.
    type Output;
    /// Its text.
    fn run<V: Lanes>(self, token: V::Token) -> Self::Output;
}

/// Numbers: any bytes make one.
#[cfg(target_arch = "x86_64")]
trait Number: Copy {}
#[cfg(target_arch = "x86_64")]
macro_rules! numbers {
    ($($of:ty)*) => { $(impl Number for $of {})* };
}
#[cfg(target_arch = "x86_64")]
numbers!(u8 i8 u32 i32 u64);

/// The first numbers of a slice, as many as a register has; a slice with fewer is a defect of the caller.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn first<T, const COUNT: usize>(of: &[T]) -> &[T; COUNT] {
    of.first_chunk().expect("a register's numbers")
}

/// The same, to write.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn first_mut<T, const COUNT: usize>(of: &mut [T]) -> &mut [T; COUNT] {
    of.first_chunk_mut().expect("a register's numbers")
}

/// One method of an engine: a safe wrapper of an entry point that carries the CPU features, so
/// that the kernel's text, all `inline(always)`, is compiled with them. `takes` and `gives` state the
/// ranges of coefficients, and `unless` one that holds where the answer is no (docs/bounds.md).
macro_rules! method {
    ([$feature:meta] fn $name:ident [$($generic:tt)*] [$($turbofish:tt)*]
     ($engine:ident: $type:ty, $($argument:ident: $of:ty),*) -> $result:ty
     $(, takes [$($taken:ident $takes:expr),+])? $(, gives [$($given:ident $gives:expr),+])?
     $(, unless [$small:ident $is:expr])? = $body:expr) => {
        #[inline]
        #[allow(unused_unsafe)]
        fn $name $($generic)* (self, $($argument: $of),*) -> $result {
            #[allow(unused_imports)]
            use crate::kernels::bounds::*;
            #[$feature]
            fn entry $($generic)* ($engine: $type, $($argument: $of),*) -> $result {
                $body
            }
            $($(check(concat!(stringify!($name), " takes ", stringify!($taken)), &*$taken, $takes);)+)?
            // SAFETY: `self` is the token that proves the CPU features of `entry`.
            #[allow(clippy::let_unit_value)]
            let result = unsafe { entry $($turbofish)* (self, $($argument),*) };
            $($(check(concat!(stringify!($name), " gives ", stringify!($given)), &*$given, $gives);)+)?
            $(if !result {
                check(concat!(stringify!($name), " leaves ", stringify!($small)), &*$small, $is);
            })?
            result
        }
    };
}

/// Implements [`Engine`] for `$engine` from the kernels' text over `$lanes`, `$bytes` and
/// `$count` Keccak states.
macro_rules! engine_from_kernels {
    ($engine:ty, lanes $lanes:ty, bytes $bytes:ty, states $count:literal, $feature:meta) => {
        impl crate::backend::Engine for $engine {
            const STATES: usize = $count;
            type States = crate::kernels::keccak::States<$count>;
            #[inline]
            fn permutation(self) -> crate::kernels::keccak::Permutation {
                sampling::Permute::<$count>::permutation(self)
            }
            #[inline]
            fn permutation_of_two(self) -> crate::kernels::keccak::PermutationOfTwo {
                sampling::Permute::<$count>::permutation_of_two(self)
            }
            #[inline]
            fn permute(self, states: &mut Self::States) {
                sampling::Permute::<$count>::permute(self, states)
            }
            method! { [$feature] fn uniform [] [] (e: $engine, targets: &mut dyn sampling::Targets<'_, 32>, shadow: Option<&mut dyn crate::kernels::sponge::Beside>) -> ()
                = sampling::uniform::<$lanes, _, $count>(e.lane_token(), e, targets, shadow) }
            method! { [$feature] fn bounded [<P: Parameters>] [::<P>] (e: $engine, targets: &mut dyn sampling::Targets<'_, 64>) -> ()
                = sampling::bounded::<P, $lanes, _, $count>(e.lane_token(), e, targets) }
            method! { [$feature] fn mask [<P: Parameters>] [::<P>] (e: $engine, targets: &mut dyn sampling::Targets<'_, 64>, bytes: &mut [sampling::MaskBytes], shadow: Option<&mut dyn crate::kernels::sponge::Beside>) -> ()
                = sampling::mask::<P, $lanes, _, $count>(e.lane_token(), e, targets, bytes, shadow) }
            method! { [$feature] fn ntt [] [] (e: $engine, p: &mut Poly) -> (),
                takes [p within(2 * Q)], gives [p below(10 * Q)]
                = ntt::forward::<$lanes>(e.lane_token(), &mut p.0) }
            method! { [$feature] fn inverse_ntt [] [] (e: $engine, p: &mut Poly) -> (),
                takes [p below(Q)], gives [p below(Q)]
                = ntt::inverse::<$lanes>(e.lane_token(), &mut p.0) }
            method! { [$feature] fn dot [] [] (e: $engine, row: &[Poly], v: &[Poly], out: &mut Poly) -> (),
                takes [row Range(0, Q - 1), v below(10 * Q)], gives [out below(Q)]
                = pointwise::dot::<$lanes>(e.lane_token(), row, v, out) }
            method! { [$feature] fn dot_minus [] [] (e: $engine, row: &[Poly], v: &[Poly], c: &Poly, t: &Poly, out: &mut Poly) -> (),
                takes [row Range(0, Q - 1), v below(10 * Q), c below(10 * Q), t below(10 * Q)], gives [out below(Q)]
                = pointwise::dot_minus::<$lanes>(e.lane_token(), row, v, c, t, out) }
            method! { [$feature] fn product [] [] (e: $engine, a: &Poly, b: &Poly, out: &mut Poly) -> (),
                takes [a below(10 * Q), b below(10 * Q)], gives [out below(Q)]
                = pointwise::product::<$lanes>(e.lane_token(), a, b, out) }
            method! { [$feature] fn small_set [] [] (_e: $engine, p: &Poly, eta: i32, small: &mut SmallPoly) -> ()
                = small.set(p, eta) }
            method! { [$feature] fn add_small [<P: Parameters>] [::<P>] (e: $engine, c: &Offsets, s: &SmallPoly, a: &mut Poly, bound: i32) -> bool,
                takes [s Range(0, 2 * P::ETA), a within(P::GAMMA1)], gives [a within(P::GAMMA1 + P::BETA)], unless [a below(bound)]
                = small::combine::<P, $bytes, $lanes, false>(e.lane_token(), c, s, a, bound) }
            method! { [$feature] fn subtract_small [<P: Parameters>] [::<P>] (e: $engine, c: &Offsets, s: &SmallPoly, a: &mut Poly, bound: i32) -> bool,
                takes [s Range(0, 2 * P::ETA), a within(P::GAMMA2)], gives [a within(P::GAMMA2 + P::BETA)], unless [a below(bound)]
                = small::combine::<P, $bytes, $lanes, true>(e.lane_token(), c, s, a, bound) }
            method! { [$feature] fn pack [] [] (e: $engine, bits: usize, p: &Poly, map: crate::kernels::packing::Map, out: &mut [u8]) -> (),
                takes [p map.coefficients(bits)]
                = crate::kernels::packing::pack_width::<$lanes>(e.lane_token(), bits, p, map, out) }
            method! { [$feature] fn unpack [] [] (e: $engine, bits: usize, from: &[u8], map: crate::kernels::packing::Map, p: &mut Poly) -> (),
                gives [p map.coefficients(bits)]
                = crate::kernels::packing::unpack_width::<$lanes>(e.lane_token(), bits, from, map, p) }
            method! { [$feature] fn split [<P: Parameters>] [::<P>] (e: $engine, w: &mut Poly, w1: &mut Poly) -> (),
                takes [w below(Q)], gives [w within(P::GAMMA2), w1 high::<P>()]
                = rounding::split::<$lanes, P>(e.lane_token(), w, w1) }
            method! { [$feature] fn power2round [] [] (e: $engine, t: &mut Poly, t1: &mut Poly) -> (),
                takes [t below(Q)], gives [t Range(1 - (1 << (D - 1)), 1 << (D - 1)), t1 Range(0, (1 << 10) - 1)]
                = rounding::power2round::<$lanes>(e.lane_token(), t, t1) }
            method! { [$feature] fn add_center [] [] (e: $engine, a: &mut Poly, b: &Poly) -> (),
                takes [a within(Q), b within(Q)], gives [a REDUCED]
                = rounding::add::<$lanes>(e.lane_token(), a, b) }
            method! { [$feature] fn center [] [] (e: $engine, a: &mut Poly, bound: i32) -> bool,
                takes [a within(2 * Q)], gives [a REDUCED], unless [a below(bound)]
                = rounding::center::<$lanes>(e.lane_token(), a, bound) }
            method! { [$feature] fn exceeds [] [] (e: $engine, a: &Poly, bound: i32) -> bool,
                takes [a within(i32::MAX)], unless [a below(bound)]
                = rounding::exceeds::<$lanes>(e.lane_token(), a, bound) }
            method! { [$feature] fn make_hint [<P: Parameters>] [::<P>] (e: $engine, low: &mut Poly, w1: &Poly) -> (),
                takes [low within(2 * P::GAMMA2), w1 high::<P>()], gives [low Range(0, 1)]
                = rounding::make_hint::<$lanes, P>(e.lane_token(), low, w1) }
            method! { [$feature] fn use_hint [<P: Parameters>] [::<P>] (e: $engine, w: &mut Poly, hint: &Poly) -> (),
                takes [w below(Q), hint Range(0, 1)], gives [w high::<P>()]
                = rounding::use_hint::<$lanes, P>(e.lane_token(), w, hint) }
            #[cfg(mldsa_inside)]
            method! { [$feature] fn shake128 [] [] (e: $engine, seed: &[u8; 32], nonces: &[u16], out: &mut [[u8; 5 * crate::kernels::keccak::RATE_128]]) -> ()
                = sampling::shake128(e, seed, nonces, out) }
            #[cfg(mldsa_inside)]
            method! { [$feature] fn run [<K: crate::backend::Kernel>] [::<K>] (e: $engine, kernel: K) -> K::Output
                = kernel.run::<$lanes>(e.lane_token()) }
        }
    };
}
use {engine_from_kernels, method};

/// Evaluates `$body` with `$engine` bound to the backend's engine: one copy of the scheme each.
macro_rules! with_engine {
    (@ $engine:ident $body:expr) => {{
        #[cfg(mldsa_shares)]
        let $engine = crate::backend::shares::Timed($engine);
        $body
    }};
    ($backend:expr, $engine:ident => $body:expr) => {
        match $backend.kind() {
            crate::backend::Kind::Portable($engine) => with_engine!(@ $engine $body),
            #[cfg(target_arch = "x86_64")]
            crate::backend::Kind::Avx2($engine) => with_engine!(@ $engine $body),
            #[cfg(target_arch = "x86_64")]
            crate::backend::Kind::Avx512($engine) => with_engine!(@ $engine $body),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            crate::backend::Kind::Neon($engine) => with_engine!(@ $engine $body),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            crate::backend::Kind::NeonSha3($engine) => with_engine!(@ $engine $body),
        }
    };
}
pub(crate) use with_engine;
