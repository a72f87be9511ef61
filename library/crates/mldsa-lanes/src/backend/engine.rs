//! The interface of a backend, and the kernels compiled for one set of CPU features.

use crate::kernels::bounds::{D, Q, REDUCED, Range, below, check, high, within};
#[cfg(mldsa_inside)]
use crate::kernels::keccak::RATE_128;
use crate::kernels::keccak::StateGroup;
use crate::kernels::keccak::{Permutation, PermutationOfTwo};
use crate::kernels::packing::Map;
use crate::kernels::poly::Poly;
#[cfg(mldsa_inside)]
use crate::kernels::sampling::Rejection;
use crate::kernels::sampling::{MaskBytes, Targets};
use crate::kernels::small::{Offsets, SmallPoly};
use crate::kernels::sponge::ShadowStates;
use crate::params::Parameters;

/// The Keccak permutations and the kernels of a backend, each compiled with the backend's CPU features.
/// [`Engine`] calls the kernels and states their ranges. They are functions, not methods, so that `e.ntt(p)` is
/// always [`Engine::ntt`].
///
/// # Safety
/// A value of the type proves the CPU features of every function.
pub unsafe trait Kernels: Copy {
    /// Keccak states side by side: `mask` wastes nothing when asked for a multiple.
    const STATES: usize;
    /// `STATES` of them, for batches.
    type States: StateGroup;
    /// The permutation of one state.
    fn permutation(self) -> Permutation;
    /// The permutation of two states.
    fn permutation_of_two(self) -> PermutationOfTwo;
    /// The permutation of a group.
    fn permute(self, states: &mut Self::States);

    unsafe fn uniform(
        e: Self,
        targets: &mut dyn Targets<'_, 32>,
        shadow: Option<&mut dyn ShadowStates>,
    );
    unsafe fn bounded<P: Parameters>(e: Self, targets: &mut dyn Targets<'_, 64>);
    unsafe fn mask<P: Parameters>(
        e: Self,
        targets: &mut dyn Targets<'_, 64>,
        bytes: &mut [MaskBytes],
        shadow: Option<&mut dyn ShadowStates>,
    );
    unsafe fn ntt(e: Self, p: &mut Poly);
    unsafe fn inverse_ntt(e: Self, p: &mut Poly);
    unsafe fn dot(e: Self, row: &[Poly], v: &[Poly], out: &mut Poly);
    unsafe fn dot_minus(e: Self, row: &[Poly], v: &[Poly], c: &Poly, t: &Poly, out: &mut Poly);
    unsafe fn product(e: Self, a: &Poly, b: &Poly, out: &mut Poly);
    unsafe fn small_set(e: Self, p: &Poly, eta: i32, small: &mut SmallPoly);
    unsafe fn combine<P: Parameters, const SUBTRACT: bool>(
        e: Self,
        c: &Offsets,
        s: &SmallPoly,
        a: &mut Poly,
        bound: i32,
    ) -> bool;
    unsafe fn pack(e: Self, bits: usize, p: &Poly, map: Map, out: &mut [u8]);
    unsafe fn unpack(e: Self, bits: usize, from: &[u8], map: Map, p: &mut Poly);
    unsafe fn split<P: Parameters>(e: Self, w: &mut Poly, w1: &mut Poly);
    unsafe fn power2round(e: Self, t: &mut Poly, t1: &mut Poly);
    unsafe fn add_center(e: Self, a: &mut Poly, b: &Poly);
    unsafe fn center(e: Self, a: &mut Poly, bound: i32) -> bool;
    unsafe fn exceeds(e: Self, a: &Poly, bound: i32) -> bool;
    unsafe fn make_hint<P: Parameters>(e: Self, low: &mut Poly, w1: &Poly);
    unsafe fn use_hint<P: Parameters>(e: Self, w: &mut Poly, hint: &Poly);
    #[cfg(mldsa_inside)]
    unsafe fn shake128(e: Self, seed: &[u8; 32], nonces: &[u16], out: &mut [[u8; 5 * RATE_128]]);
    #[cfg(mldsa_inside)]
    unsafe fn run<K: Kernel>(e: Self, kernel: K) -> K::Output;
}

/// Compiles the kernels for `$engine`: over `$lanes` and `$bytes`, with groups of `$count` Keccak states, each
/// function under the attribute `$feature`. The kernels' text is `inline(always)`, so it takes the features.
macro_rules! kernels {
    ($engine:ty, $lanes:ty, $bytes:ty, $count:literal, $feature:meta) => {
        const _: () = {
            #[cfg(mldsa_inside)]
            use crate::backend::Kernel;
            #[cfg(mldsa_inside)]
            use crate::kernels::keccak::RATE_128;
            use crate::kernels::keccak::States;
            use crate::kernels::keccak::{Permutation, PermutationOfTwo};
            use crate::kernels::packing::{self, Map};
            use crate::kernels::poly::Poly;
            use crate::kernels::sampling::{self, MaskBytes, Permute, Targets};
            use crate::kernels::small::{self, Offsets, SmallPoly};
            use crate::kernels::sponge::ShadowStates;
            use crate::kernels::{ntt, pointwise, rounding};
            use crate::params::Parameters;

            // SAFETY: values of `$engine` exist only where the CPU has the features in `$feature`.
            unsafe impl crate::backend::Kernels for $engine {
                const STATES: usize = $count;
                type States = States<$count>;
                #[inline]
                fn permutation(self) -> Permutation {
                    Permute::<$count>::permutation(self)
                }
                #[inline]
                fn permutation_of_two(self) -> PermutationOfTwo {
                    Permute::<$count>::permutation_of_two(self)
                }
                #[inline]
                fn permute(self, states: &mut Self::States) {
                    Permute::<$count>::permute(self, states);
                }
                #[$feature]
                unsafe fn uniform(
                    e: Self,
                    targets: &mut dyn Targets<'_, 32>,
                    shadow: Option<&mut dyn ShadowStates>,
                ) {
                    sampling::uniform::<$lanes, _, $count>(e.lane_token(), e, targets, shadow);
                }
                #[$feature]
                unsafe fn bounded<P: Parameters>(e: Self, targets: &mut dyn Targets<'_, 64>) {
                    sampling::bounded::<P, $lanes, _, $count>(e.lane_token(), e, targets);
                }
                #[$feature]
                unsafe fn mask<P: Parameters>(
                    e: Self,
                    targets: &mut dyn Targets<'_, 64>,
                    bytes: &mut [MaskBytes],
                    shadow: Option<&mut dyn ShadowStates>,
                ) {
                    sampling::mask::<P, $lanes, _, $count>(
                        e.lane_token(),
                        e,
                        targets,
                        bytes,
                        shadow,
                    );
                }
                #[$feature]
                unsafe fn ntt(e: Self, p: &mut Poly) {
                    ntt::forward::<$lanes>(e.lane_token(), &mut p.0);
                }
                #[$feature]
                unsafe fn inverse_ntt(e: Self, p: &mut Poly) {
                    ntt::inverse::<$lanes>(e.lane_token(), &mut p.0);
                }
                #[$feature]
                unsafe fn dot(e: Self, row: &[Poly], v: &[Poly], out: &mut Poly) {
                    pointwise::dot::<$lanes>(e.lane_token(), row, v, out);
                }
                #[$feature]
                unsafe fn dot_minus(
                    e: Self,
                    row: &[Poly],
                    v: &[Poly],
                    c: &Poly,
                    t: &Poly,
                    out: &mut Poly,
                ) {
                    pointwise::dot_minus::<$lanes>(e.lane_token(), row, v, c, t, out);
                }
                #[$feature]
                unsafe fn product(e: Self, a: &Poly, b: &Poly, out: &mut Poly) {
                    pointwise::product::<$lanes>(e.lane_token(), a, b, out);
                }
                #[$feature]
                unsafe fn small_set(_: Self, p: &Poly, eta: i32, small: &mut SmallPoly) {
                    small.set(p, eta);
                }
                #[$feature]
                unsafe fn combine<P: Parameters, const SUBTRACT: bool>(
                    e: Self,
                    c: &Offsets,
                    s: &SmallPoly,
                    a: &mut Poly,
                    bound: i32,
                ) -> bool {
                    small::combine::<P, $bytes, $lanes, SUBTRACT>(e.lane_token(), c, s, a, bound)
                }
                #[$feature]
                unsafe fn pack(e: Self, bits: usize, p: &Poly, map: Map, out: &mut [u8]) {
                    packing::pack_width::<$lanes>(e.lane_token(), bits, p, map, out);
                }
                #[$feature]
                unsafe fn unpack(e: Self, bits: usize, from: &[u8], map: Map, p: &mut Poly) {
                    packing::unpack_width::<$lanes>(e.lane_token(), bits, from, map, p);
                }
                #[$feature]
                unsafe fn split<P: Parameters>(e: Self, w: &mut Poly, w1: &mut Poly) {
                    rounding::split::<$lanes, P>(e.lane_token(), w, w1);
                }
                #[$feature]
                unsafe fn power2round(e: Self, t: &mut Poly, t1: &mut Poly) {
                    rounding::power2round::<$lanes>(e.lane_token(), t, t1);
                }
                #[$feature]
                unsafe fn add_center(e: Self, a: &mut Poly, b: &Poly) {
                    rounding::add::<$lanes>(e.lane_token(), a, b);
                }
                #[$feature]
                unsafe fn center(e: Self, a: &mut Poly, bound: i32) -> bool {
                    rounding::center::<$lanes>(e.lane_token(), a, bound)
                }
                #[$feature]
                unsafe fn exceeds(e: Self, a: &Poly, bound: i32) -> bool {
                    rounding::exceeds::<$lanes>(e.lane_token(), a, bound)
                }
                #[$feature]
                unsafe fn make_hint<P: Parameters>(e: Self, low: &mut Poly, w1: &Poly) {
                    rounding::make_hint::<$lanes, P>(e.lane_token(), low, w1);
                }
                #[$feature]
                unsafe fn use_hint<P: Parameters>(e: Self, w: &mut Poly, hint: &Poly) {
                    rounding::use_hint::<$lanes, P>(e.lane_token(), w, hint);
                }
                #[cfg(mldsa_inside)]
                #[$feature]
                unsafe fn shake128(
                    e: Self,
                    seed: &[u8; 32],
                    nonces: &[u16],
                    out: &mut [[u8; 5 * RATE_128]],
                ) {
                    sampling::shake128(e, seed, nonces, out);
                }
                #[cfg(mldsa_inside)]
                #[$feature]
                unsafe fn run<K: Kernel>(e: Self, kernel: K) -> K::Output {
                    kernel.run::<$lanes>(e.lane_token())
                }
            }
        };
    };
}
pub(crate) use kernels;

impl<K: Kernels> Engine for K {}

/// The interface of a backend for the scheme. Each method checks the ranges of its kernel's inputs and outputs
/// (library/evidence/bounds.md).
// The reason for every `unsafe` block: `self` proves the CPU features, as `Kernels` demands.
#[allow(clippy::undocumented_unsafe_blocks)]
pub trait Engine: Kernels {
    /// [`crate::kernels::sampling::uniform`].
    #[inline]
    fn uniform(self, targets: &mut dyn Targets<'_, 32>, shadow: Option<&mut dyn ShadowStates>) {
        unsafe { Kernels::uniform(self, targets, shadow) };
    }
    /// [`crate::kernels::sampling::bounded`].
    #[inline]
    fn bounded<P: Parameters>(self, targets: &mut dyn Targets<'_, 64>) {
        unsafe { Kernels::bounded::<P>(self, targets) };
    }
    /// [`crate::kernels::sampling::mask`].
    #[inline]
    fn mask<P: Parameters>(
        self,
        targets: &mut dyn Targets<'_, 64>,
        bytes: &mut [MaskBytes],
        shadow: Option<&mut dyn ShadowStates>,
    ) {
        unsafe { Kernels::mask::<P>(self, targets, bytes, shadow) };
    }

    /// [`crate::kernels::ntt::forward`].
    #[inline]
    fn ntt(self, p: &mut Poly) {
        check("ntt takes p", p, within(2 * Q));
        unsafe { Kernels::ntt(self, p) };
        check("ntt gives p", p, below(10 * Q));
    }
    /// [`crate::kernels::ntt::inverse`].
    #[inline]
    fn inverse_ntt(self, p: &mut Poly) {
        check("inverse_ntt takes p", p, below(Q));
        unsafe { Kernels::inverse_ntt(self, p) };
        check("inverse_ntt gives p", p, below(Q));
    }
    /// [`crate::kernels::pointwise::dot`].
    #[inline]
    fn dot(self, row: &[Poly], v: &[Poly], out: &mut Poly) {
        check("dot takes row", row, Range(0, Q - 1));
        check("dot takes v", v, below(10 * Q));
        unsafe { Kernels::dot(self, row, v, out) };
        check("dot gives out", out, below(Q));
    }
    /// [`crate::kernels::pointwise::dot_minus`].
    #[inline]
    fn dot_minus(self, row: &[Poly], v: &[Poly], c: &Poly, t: &Poly, out: &mut Poly) {
        check("dot_minus takes row", row, Range(0, Q - 1));
        check("dot_minus takes v", v, below(10 * Q));
        check("dot_minus takes c", c, below(10 * Q));
        check("dot_minus takes t", t, below(10 * Q));
        unsafe { Kernels::dot_minus(self, row, v, c, t, out) };
        check("dot_minus gives out", out, below(Q));
    }
    /// [`crate::kernels::pointwise::product`].
    #[inline]
    fn product(self, a: &Poly, b: &Poly, out: &mut Poly) {
        check("product takes a", a, below(10 * Q));
        check("product takes b", b, below(10 * Q));
        unsafe { Kernels::product(self, a, b, out) };
        check("product gives out", out, below(Q));
    }

    /// [`SmallPoly::set`].
    #[inline]
    fn small_set(self, p: &Poly, eta: i32, small: &mut SmallPoly) {
        unsafe { Kernels::small_set(self, p, eta, small) };
    }
    /// [`crate::kernels::small::combine`], adding.
    #[inline]
    fn add_small<P: Parameters>(
        self,
        c: &Offsets,
        s: &SmallPoly,
        a: &mut Poly,
        bound: i32,
    ) -> bool {
        check("add_small takes s", s, Range(0, 2 * P::ETA));
        check("add_small takes a", a, within(P::GAMMA1));
        let exceeds = unsafe { Kernels::combine::<P, false>(self, c, s, a, bound) };
        check("add_small gives a", a, within(P::GAMMA1 + P::BETA));
        check_unless(exceeds, "add_small leaves a", a, bound);
        exceeds
    }
    /// [`crate::kernels::small::combine`], subtracting.
    #[inline]
    fn subtract_small<P: Parameters>(
        self,
        c: &Offsets,
        s: &SmallPoly,
        a: &mut Poly,
        bound: i32,
    ) -> bool {
        check("subtract_small takes s", s, Range(0, 2 * P::ETA));
        check("subtract_small takes a", a, within(P::GAMMA2));
        let exceeds = unsafe { Kernels::combine::<P, true>(self, c, s, a, bound) };
        check("subtract_small gives a", a, within(P::GAMMA2 + P::BETA));
        check_unless(exceeds, "subtract_small leaves a", a, bound);
        exceeds
    }

    /// [`crate::kernels::packing::pack`].
    #[inline]
    fn pack(self, bits: usize, p: &Poly, map: Map, out: &mut [u8]) {
        check("pack takes p", p, map.coefficients(bits));
        unsafe { Kernels::pack(self, bits, p, map, out) };
    }
    /// [`crate::kernels::packing::unpack`].
    #[inline]
    fn unpack(self, bits: usize, from: &[u8], map: Map, p: &mut Poly) {
        unsafe { Kernels::unpack(self, bits, from, map, p) };
        check("unpack gives p", p, map.coefficients(bits));
    }

    /// [`crate::kernels::rounding::split`].
    #[inline]
    fn split<P: Parameters>(self, w: &mut Poly, w1: &mut Poly) {
        check("split takes w", w, below(Q));
        unsafe { Kernels::split::<P>(self, w, w1) };
        check("split gives w", w, within(P::GAMMA2));
        check("split gives w1", w1, high::<P>());
    }
    /// [`crate::kernels::rounding::power2round`].
    #[inline]
    fn power2round(self, t: &mut Poly, t1: &mut Poly) {
        check("power2round takes t", t, below(Q));
        unsafe { Kernels::power2round(self, t, t1) };
        check(
            "power2round gives t",
            t,
            Range(1 - (1 << (D - 1)), 1 << (D - 1)),
        );
        check("power2round gives t1", t1, Range(0, (1 << 10) - 1));
    }
    /// [`crate::kernels::rounding::add`].
    #[inline]
    fn add_center(self, a: &mut Poly, b: &Poly) {
        check("add_center takes a", a, within(Q));
        check("add_center takes b", b, within(Q));
        unsafe { Kernels::add_center(self, a, b) };
        check("add_center gives a", a, REDUCED);
    }
    /// [`crate::kernels::rounding::center`].
    #[inline]
    fn center(self, a: &mut Poly, bound: i32) -> bool {
        check("center takes a", a, within(2 * Q));
        let exceeds = unsafe { Kernels::center(self, a, bound) };
        check("center gives a", a, REDUCED);
        check_unless(exceeds, "center leaves a", a, bound);
        exceeds
    }
    /// [`crate::kernels::rounding::exceeds`].
    #[inline]
    fn exceeds(self, a: &Poly, bound: i32) -> bool {
        check("exceeds takes a", a, within(i32::MAX));
        let exceeds = unsafe { Kernels::exceeds(self, a, bound) };
        check_unless(exceeds, "exceeds leaves a", a, bound);
        exceeds
    }
    /// [`crate::kernels::rounding::make_hint`].
    #[inline]
    fn make_hint<P: Parameters>(self, low: &mut Poly, w1: &Poly) {
        check("make_hint takes low", low, within(2 * P::GAMMA2));
        check("make_hint takes w1", w1, high::<P>());
        unsafe { Kernels::make_hint::<P>(self, low, w1) };
        check("make_hint gives low", low, Range(0, 1));
    }
    /// [`crate::kernels::rounding::use_hint`].
    #[inline]
    fn use_hint<P: Parameters>(self, w: &mut Poly, hint: &Poly) {
        check("use_hint takes w", w, below(Q));
        check("use_hint takes hint", hint, Range(0, 1));
        unsafe { Kernels::use_hint::<P>(self, w, hint) };
        check("use_hint gives w", w, high::<P>());
    }

    /// [`crate::kernels::sampling::shake128`].
    #[cfg(mldsa_inside)]
    #[inline]
    fn shake128(self, seed: &[u8; 32], nonces: &[u16], out: &mut [[u8; 5 * RATE_128]]) {
        unsafe { Kernels::shake128(self, seed, nonces, out) };
    }
    /// A kernel of another crate. A function of its own whatever the caller: `make prove` reads it.
    #[cfg(mldsa_inside)]
    #[inline]
    fn run<K: Kernel>(self, kernel: K) -> K::Output {
        let run: unsafe fn(Self, K) -> K::Output = Kernels::run;
        unsafe { core::hint::black_box(run)(self, kernel) }
    }
}

/// Checks that a polynomial is below the bound where no coefficient exceeds it.
#[inline(always)]
fn check_unless(exceeds: bool, what: &str, a: &Poly, bound: i32) {
    if !exceeds {
        check(what, a, below(bound));
    }
}

/// A kernel that no operation of the library has: a text over lanes, all of it `inline(always)`.
#[cfg(mldsa_inside)]
pub trait Kernel {
    /// Its result.
    type Output;
    /// Its text.
    fn run<V: Rejection>(self, token: V::Token) -> Self::Output;
}
