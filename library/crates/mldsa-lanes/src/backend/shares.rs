//! Ticks that each phase of an operation takes, for `make figures PART=shares` only
//! (library/evidence/performance.md). With `--cfg mldsa_shares` every engine of [`super::with_engine`] is a [`Timed`]
//! one.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::cell::Cell;

use super::Kernels;
use crate::kernels::keccak::{Permutation, PermutationOfTwo, permute_one};
use crate::kernels::packing::Map;
use crate::kernels::poly::Poly;
use crate::kernels::sampling::{MaskBytes, Targets};
use crate::kernels::small::{Offsets, SmallPoly};
use crate::kernels::sponge::ShadowStates;
use crate::params::Parameters;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the shares are counted by the time-stamp counter of x86-64");

#[derive(Clone, Copy)]
enum Phase {
    ExpandA,
    ExpandS,
    ExpandMask,
    Single,
    Ntt,
    Inverse,
    Rows,
    Small,
    Products,
    Rounding,
    Packing,
    Empty,
}

/// The names of the phases, in the order of [`Phase`] and [`read`].
pub const PHASES: &[&str] = &[
    "ExpandA",
    "ExpandS",
    "ExpandMask, w1's hash in a lane",
    "Keccak, one or two states",
    "NTT",
    "inverse NTT",
    "rows of Â",
    "c·s1, c·s2",
    "c·t0",
    "rounding and checks",
    "packing",
    "nothing",
];

const COUNT: usize = PHASES.len();
static TICKS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
static CALLS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
/// Ticks of the phases within the one under way.
static WITHIN: AtomicU64 = AtomicU64::new(0);

/// The time-stamp counter.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has the counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// For each phase its ticks, those of phases within it left out, and its calls; all begin at 0 again.
pub fn read() -> [(u64, u64); COUNT] {
    core::array::from_fn(|i| (TICKS[i].swap(0, Relaxed), CALLS[i].swap(0, Relaxed)))
}

/// A phase that does nothing.
pub fn empty() {
    timed(Phase::Empty, || ());
}

/// One thread alone is timed: an exchange in memory would cost as much as a small phase.
#[inline(always)]
fn add(to: &AtomicU64, ticks: u64) {
    to.store(to.load(Relaxed) + ticks, Relaxed);
}

#[inline(always)]
fn timed<T>(phase: Phase, run: impl FnOnce() -> T) -> T {
    let outside = WITHIN.load(Relaxed);
    WITHIN.store(0, Relaxed);
    let start = ticks();
    let result = run();
    let taken = ticks() - start;
    add(&TICKS[phase as usize], taken - WITHIN.load(Relaxed));
    add(&CALLS[phase as usize], 1);
    WITHIN.store(outside + taken, Relaxed);
    result
}

std::thread_local! {
    static ONE: Cell<Permutation> = const { Cell::new(permute_one) };
    static TWO: Cell<PermutationOfTwo> = const { Cell::new(|_, _| ()) };
}

/// An engine whose methods are timed.
#[derive(Clone, Copy)]
pub(crate) struct Timed<E>(pub(crate) E);

macro_rules! methods {
    ($($phase:ident: fn $name:ident $([$generic:ident $(, $flag:ident)?])? ($($argument:ident: $of:ty),*) $(-> $result:ty)?;)*) => { $(
        #[inline]
        unsafe fn $name $(<$generic: Parameters $(, const $flag: bool)?>)? (e: Self, $($argument: $of),*) $(-> $result)? {
            // SAFETY: the caller's promise.
            timed(Phase::$phase, || unsafe { K::$name $(::<$generic $(, $flag)?>)? (e.0, $($argument),*) })
        }
    )* };
}

// SAFETY: a value has a token within.
unsafe impl<K: Kernels> Kernels for Timed<K> {
    const STATES: usize = K::STATES;
    type States = K::States;

    fn permutation(self) -> Permutation {
        ONE.set(self.0.permutation());
        |state| timed(Phase::Single, || ONE.get()(state))
    }

    fn permutation_of_two(self) -> PermutationOfTwo {
        TWO.set(self.0.permutation_of_two());
        |a, b| timed(Phase::Single, || TWO.get()(a, b))
    }

    fn permute(self, states: &mut Self::States) {
        self.0.permute(states);
    }

    methods! {
        ExpandA: fn uniform(targets: &mut dyn Targets<'_, 32>, shadow: Option<&mut dyn ShadowStates>);
        ExpandS: fn bounded[P](targets: &mut dyn Targets<'_, 64>);
        ExpandMask: fn mask[P](targets: &mut dyn Targets<'_, 64>, bytes: &mut [MaskBytes], shadow: Option<&mut dyn ShadowStates>);
        Ntt: fn ntt(p: &mut Poly);
        Inverse: fn inverse_ntt(p: &mut Poly);
        Rows: fn dot(row: &[Poly], v: &[Poly], out: &mut Poly);
        Rows: fn dot_minus(row: &[Poly], v: &[Poly], c: &Poly, t: &Poly, out: &mut Poly);
        Products: fn product(a: &Poly, b: &Poly, out: &mut Poly);
        Packing: fn small_set(p: &Poly, eta: i32, small: &mut SmallPoly);
        Small: fn combine[P, SUBTRACT](c: &Offsets, s: &SmallPoly, a: &mut Poly, bound: i32) -> bool;
        Packing: fn pack(bits: usize, p: &Poly, map: Map, out: &mut [u8]);
        Packing: fn unpack(bits: usize, from: &[u8], map: Map, p: &mut Poly);
        Rounding: fn split[P](w: &mut Poly, w1: &mut Poly);
        Rounding: fn power2round(t: &mut Poly, t1: &mut Poly);
        Rounding: fn add_center(a: &mut Poly, b: &Poly);
        Rounding: fn center(a: &mut Poly, bound: i32) -> bool;
        Rounding: fn exceeds(a: &Poly, bound: i32) -> bool;
        Rounding: fn make_hint[P](low: &mut Poly, w1: &Poly);
        Rounding: fn use_hint[P](w: &mut Poly, hint: &Poly);
    }

    #[cfg(mldsa_inside)]
    unsafe fn shake128(
        e: Self,
        seed: &[u8; 32],
        nonces: &[u16],
        out: &mut [[u8; 5 * crate::kernels::keccak::RATE_128]],
    ) {
        // SAFETY: the caller's promise.
        unsafe { K::shake128(e.0, seed, nonces, out) };
    }

    #[cfg(mldsa_inside)]
    unsafe fn run<T: super::Kernel>(e: Self, kernel: T) -> T::Output {
        // SAFETY: the caller's promise.
        unsafe { K::run(e.0, kernel) }
    }
}
