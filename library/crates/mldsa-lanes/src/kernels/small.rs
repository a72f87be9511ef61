//! Products of the challenge with a polynomial of small coefficients, c·s1 and c·s2, without an
//! NTT: τ additions of rotated strings of bytes.
//!
//! c is a sum of ±x^p. A [`SmallPoly`] holds the bytes η + coefficient of (−s, s, −s), 768 in all;
//! then x^p·s begins at byte 256 − p and −x^p·s at 512 − p, so a sign is an offset and nothing
//! branches. Sums of bytes must stay below 256: with coefficients in [0, 2η] that allows 63 terms
//! for η = 2 and 31 for η = 4, so ML-DSA-65 (τ = 49) adds up two halves.
//!
//! Addresses depend on c alone, which is public once signed and commonly treated as public before
//! (FIPS 204 lets an implementation do so); they never depend on s.

use super::bounds::{check, within};
use super::lanes::Lanes;
use super::poly::{Poly, Wipe, Zero};
use super::sampling::in_ball_steps;
use super::sponge::Shake256Reader;
use crate::params::{N, Parameters};

/// A polynomial with coefficients in [-η, η], three times over with the middle one positive.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct SmallPoly([u8; 3 * N]);

impl Zero for SmallPoly {
    const ZERO: Self = SmallPoly([0; 3 * N]);
}

impl<const LEN: usize> Zero for [SmallPoly; LEN] {
    const ZERO: Self = [SmallPoly([0; 3 * N]); LEN];
}

impl<const LEN: usize> Wipe for [SmallPoly; LEN] {
    fn wipe(&mut self) {
        for p in &mut *self {
            p.0.fill(0);
        }
        zeroize::optimization_barrier(self);
    }
}

impl SmallPoly {
    /// All of them.
    pub(crate) fn bytes(&self) -> &[u8; 3 * N] {
        &self.0
    }

    /// `p` has coefficients in [-η, η].
    #[inline(always)]
    pub(crate) fn set(&mut self, p: &Poly, eta: i32) {
        check("SmallPoly::set takes p", p, within(eta));
        let (first, rest) = self.0.split_at_mut(N);
        let (middle, last) = rest.split_at_mut(N);
        for ((first, middle), x) in first.iter_mut().zip(middle).zip(&p.0) {
            *first = (eta - x) as u8;
            *middle = (eta + x) as u8;
        }
        last.copy_from_slice(first);
    }
}

/// The challenge as the τ places where its terms begin in a [`SmallPoly`].
#[derive(Clone, Copy)]
pub struct Offsets([u16; N]);

impl Wipe for Offsets {
    fn wipe(&mut self) {
        self.0.fill(0);
        zeroize::optimization_barrier(self);
    }
}

impl Zero for Offsets {
    const ZERO: Self = Offsets([0; N]);
}

/// [`Offsets`] in the making: follows SampleInBall's terms.
struct Terms<'a> {
    offsets: &'a mut Offsets,
    /// Which term is at a place: its number, or `NONE`.
    at: [u8; N],
    count: u8,
}

/// The number of no term: there are at most 60. What it would mean is written and not read.
const NONE: u8 = u8::MAX;

impl<'a> Terms<'a> {
    fn new(offsets: &'a mut Offsets) -> Self {
        Terms {
            offsets,
            at: [NONE; N],
            count: 0,
        }
    }

    /// A step of [`super::sampling::in_ball_steps`].
    #[inline(always)]
    fn step(&mut self, i: usize, j: usize, negative: bool) {
        let moved = self.at[j];
        let offset = &mut self.offsets.0[usize::from(moved)];
        *offset = offset.wrapping_sub((i - j) as u16);
        self.at[i] = moved;
        self.at[j] = self.count;
        self.offsets.0[usize::from(self.count)] = (N - j + usize::from(negative) * N) as u16;
        self.count += 1;
    }
}

impl Offsets {
    /// SampleInBall (Algorithm 29) from the output of H(c_tilde).
    #[inline(never)]
    pub(crate) fn sample(&mut self, tau: usize, reader: &mut Shake256Reader) {
        let mut terms = Terms::new(self);
        in_ball_steps(tau, reader, |i, j, negative| terms.step(i, j, negative));
    }

    /// The challenge as a polynomial.
    #[inline(never)]
    pub fn write(&self, tau: usize, c: &mut Poly) {
        c.0.fill(0);
        for offset in &self.0[..tau] {
            let offset = usize::from(*offset);
            // N − p of x^p, 2N − p of −x^p.
            c.0[offset.wrapping_neg() & (N - 1)] = 1 - 2 * ((offset - 1) / N) as i32;
        }
    }

    /// `c` has coefficients −1, 0 and 1.
    #[cfg(mldsa_inside)]
    pub(crate) fn set(&mut self, c: &Poly) {
        let mut count = 0;
        for (p, sign) in c.0.iter().enumerate() {
            let negative = (sign >> 1 & 1) as usize;
            self.0[count & (N - 1)] = (N - p + negative * N) as u16;
            count += (sign & 1) as usize;
        }
    }

    /// The terms' offsets in order.
    #[cfg(all(test, mldsa_inside))]
    pub(crate) fn sorted<P: Parameters>(&self) -> std::vec::Vec<u16> {
        let mut offsets = self.0[..P::TAU].to_vec();
        offsets.sort_unstable();
        offsets
    }

    #[cfg(all(test, mldsa_inside))]
    pub(crate) fn is_zero(&self) -> bool {
        self.0 == [0; N]
    }

    /// A coefficient of c·s by itself, exact.
    #[cfg(mldsa_inside)]
    pub fn coefficient<P: Parameters>(&self, s: &SmallPoly, at: usize) -> i32 {
        let terms = self.0[..P::TAU].iter();
        let sum: i32 = terms
            .map(|offset| i32::from(s.0[usize::from(*offset) + at]))
            .sum();
        // Each term carries η too much.
        sum - P::BETA
    }
}

/// Several bytes side by side.
pub(crate) trait ByteLanes: Copy {
    type Token: Copy;
    const COUNT: usize;
    fn zero(token: Self::Token) -> Self;
    /// Adds the first `COUNT` bytes of `from`; no lane's sum passes 255.
    fn add(self, from: &[u8]) -> Self;
    fn store(self, to: &mut [u8]);
}

impl ByteLanes for u64 {
    type Token = ();
    const COUNT: usize = 8;
    #[inline(always)]
    fn zero((): ()) -> Self {
        0
    }
    #[inline(always)]
    fn add(self, from: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&from[..8]);
        // No carry leaves a byte.
        self + u64::from_le_bytes(bytes)
    }
    #[inline(always)]
    fn store(self, to: &mut [u8]) {
        to[..8].copy_from_slice(&self.to_le_bytes());
    }
}

/// Registers summed at a time, at most.
const REGISTERS: usize = 8;

/// Registers summed at a time: no more than the polynomial fills.
const fn registers<B: ByteLanes>() -> usize {
    let mut count = REGISTERS;
    while count * B::COUNT > N {
        count -= 1;
    }
    count
}

/// The sums of `offsets`' strings, at most 255 each.
#[inline(always)]
fn sum<B: ByteLanes>(token: B::Token, s: &SmallPoly, offsets: &[u16], out: &mut [u8; N]) {
    let registers = const { registers::<B>() };
    for start in (0..N).step_by(registers * B::COUNT) {
        let mut sums = [B::zero(token); REGISTERS];
        for offset in offsets {
            let at = usize::from(*offset) + start;
            let from = &s.0[at..at + registers * B::COUNT];
            for i in 0..registers {
                sums[i] = sums[i].add(&from[i * B::COUNT..]);
            }
        }
        for i in 0..registers {
            sums[i].store(&mut out[start + i * B::COUNT..]);
        }
    }
}

/// a becomes a + c·s, or a − c·s, exact; true if some |a| ≥ bound.
#[inline(always)]
pub(crate) fn combine<P, B, V, const SUBTRACT: bool>(
    token: V::Token,
    c: &Offsets,
    s: &SmallPoly,
    a: &mut Poly,
    bound: i32,
) -> bool
where
    P: Parameters,
    B: ByteLanes,
    V: Lanes<Token = B::Token>,
{
    let most = 255 / (2 * P::ETA as usize);
    let split = if P::TAU > most { P::TAU / 2 } else { P::TAU };
    let mut sums = [[0; N]; 2];
    sum::<B>(token, s, &c.0[..split], &mut sums[0]);
    if split < P::TAU {
        sum::<B>(token, s, &c.0[split..P::TAU], &mut sums[1]);
    }
    // Each of the τ terms carries η too much.
    let surplus = V::splat(token, P::BETA);
    let limit = V::splat(token, bound - 1);
    let mut beyond = V::splat(token, 0);
    for at in (0..N).step_by(V::COUNT) {
        let mut product = V::from_bytes(token, &sums[0][at..]).sub(surplus);
        if split < P::TAU {
            product = product.add(V::from_bytes(token, &sums[1][at..]));
        }
        let x = V::load(token, &a.0[at..]);
        let x = if SUBTRACT {
            x.sub(product)
        } else {
            x.add(product)
        };
        beyond = beyond.or(x.abs().greater(limit));
        x.store(&mut a.0[at..]);
    }
    sums.wipe();
    beyond.any()
}
