//! Pseudorandom sampling (FIPS 204, section 7.3), several XOFs side by side.

use core::marker::PhantomData;

use super::bounds::{Range, check, within};
use super::keccak::{
    Permutation, PermutationOfTwo, RATE_128, RATE_256, States, copy_block, permute_one, seeded,
};
use super::lanes::Lanes;
use super::poly::{Poly, Wipe};
use super::sponge::{ShadowStates, Shake256Reader};
use crate::declassify::{Site, public};
use crate::params::{N, Parameters, Q};

/// A backend's permutation of `COUNT` states at once.
pub(crate) trait Permute<const COUNT: usize>: Copy {
    fn permute(self, states: &mut States<COUNT>);
    /// Of one state, in the best code for this CPU.
    fn permutation(self) -> Permutation {
        permute_one
    }
    /// Of two states, in one go where that is faster.
    fn permutation_of_two(self) -> PermutationOfTwo {
        |a, b| {
            permute_one(a);
            permute_one(b);
        }
    }
    /// Whether [`Permute::permute_beside`] is faster than its two parts.
    const BESIDE: bool = false;
    /// [`Permute::permute`] of `states`, and of `one`, in one go where that is faster.
    fn permute_beside(self, states: &mut States<COUNT>, one: &mut [u64; 25]) {
        self.permute(states);
        self.permutation()(one);
    }
    /// [`Permute::permute`] with `one` in the place of the last state, taken out again.
    #[inline(always)]
    fn permute_with_last(self, states: &mut States<COUNT>, one: &mut [u64; 25]) {
        states.permute_with_last(one, |states| self.permute(states));
    }
    /// Copies the block of `rate` bytes of each state to `out[lane][at..]`.
    #[inline(always)]
    fn copy_block<const LEN: usize>(
        self,
        states: &States<COUNT>,
        rate: usize,
        out: &mut [[u8; LEN]],
        at: usize,
    ) {
        copy_block(states, rate, out, at);
    }
}

/// A polynomial to be sampled from XOF(seed ‖ nonce). The lanes of a group may have seeds of
/// different keys and messages.
pub struct Target<'a, const SEED: usize> {
    pub(crate) seed: &'a [u8; SEED],
    pub(crate) nonce: u16,
    pub(crate) out: &'a mut Poly,
}

/// Targets to be sampled, a group at a time: of an iterator, one at a time costs 1 % of ExpandA.
pub trait Targets<'a, const SEED: usize> {
    /// The next ones, one in each place as far as they go, and none at the end.
    fn group<'g>(
        &mut self,
        room: &'g mut [Option<Target<'a, SEED>>],
    ) -> &'g mut [Option<Target<'a, SEED>>];
}

impl<'a, const SEED: usize, I: Iterator<Item = Target<'a, SEED>>> Targets<'a, SEED> for I {
    fn group<'g>(
        &mut self,
        room: &'g mut [Option<Target<'a, SEED>>],
    ) -> &'g mut [Option<Target<'a, SEED>>] {
        let mut count = 0;
        for (place, target) in room.iter_mut().zip(self) {
            *place = Some(target);
            count += 1;
        }
        &mut room[..count]
    }
}

/// The inputs of a group's lanes: seeds and nonces.
#[inline(always)]
fn seeds<'a, const SEED: usize>(
    group: &[Option<Target<'a, SEED>>],
) -> impl Iterator<Item = (&'a [u8; SEED], u16)> {
    group
        .iter()
        .flatten()
        .map(|target| (target.seed, target.nonce))
}

/// [`check`] of what a group was given: here, as no caller can see again what [`Targets`] gave.
#[inline(always)]
fn check_group<const SEED: usize>(what: &str, group: &[Option<Target<'_, SEED>>], range: Range) {
    for target in group.iter().flatten() {
        check(what, target.out, range);
    }
}

/// Takes coefficients from a block of a rejection sampler. A trait, since a closure would not be inlined into the
/// entry point that carries the CPU features.
trait Accept {
    /// Goes on with `p`, of which `filled` coefficients are there; how many there are then.
    fn accept(&self, p: &mut Poly, filled: usize, bytes: &[u8]) -> usize;
}

/// [`Accept::accept`] for each target of a group, from its lane's bytes; whether all are complete.
#[inline(always)]
fn accept_group<const COUNT: usize, const SEED: usize, const LEN: usize>(
    sampler: &impl Accept,
    group: &mut [Option<Target<'_, SEED>>],
    filled: &mut [usize; COUNT],
    bytes: &[[u8; LEN]; COUNT],
) -> bool {
    let mut complete = true;
    for ((target, bytes), filled) in group.iter_mut().flatten().zip(bytes).zip(filled) {
        *filled = sampler.accept(target.out, *filled, bytes);
        complete &= *filled == N;
    }
    complete
}

/// RejNTTPoly (Algorithm 30) for each target: uniform coefficients in [0, q) from
/// SHAKE128(rho ‖ nonce). All sampled values are public. `shadow`, which may be secret, is hashed as far as it
/// goes meanwhile; what of it was in an idle lane is wiped.
#[inline(always)]
pub(crate) fn uniform<V: Rejection, E: Permute<COUNT>, const COUNT: usize>(
    token: V::Token,
    engine: E,
    targets: &mut dyn Targets<'_, 32>,
    mut shadow: Option<&mut dyn ShadowStates>,
) {
    // Five blocks give 280 candidates of three bytes; 256 are needed and 1 in 1,024 is refused.
    const BLOCKS: usize = 5;
    let sampler = &Uniform::<V>(token);
    let mut bytes = [[0u8; RATE_128]; COUNT];
    let mut room = [const { None }; COUNT];
    loop {
        let group = targets.group(&mut room);
        if group.is_empty() {
            break;
        }
        let mut states = seeded(RATE_128, seeds(group));
        let mut filled = [0; COUNT];
        for block in 0..BLOCKS {
            let idle = group.len() < COUNT;
            let one = match &mut shadow {
                Some(shadow) if idle || E::BESIDE => shadow.block(),
                _ => None,
            };
            match one {
                Some(one) if idle => engine.permute_with_last(&mut states, one),
                Some(one) => engine.permute_beside(&mut states, one),
                None => engine.permute(&mut states),
            }
            // A block behind: its bytes have reached the cache, and the work overlaps with the
            // permutation.
            if block > 0 {
                accept_group(sampler, group, &mut filled, &bytes);
            }
            engine.copy_block(&states, RATE_128, &mut bytes, 0);
        }
        while !accept_group(sampler, group, &mut filled, &bytes) {
            engine.permute(&mut states);
            engine.copy_block(&states, RATE_128, &mut bytes, 0);
        }
        check_group("uniform gives out", group, Range(0, Q - 1));
    }
    bytes[COUNT - 1].wipe();
}

/// Only the hashing of [`uniform`]: five blocks of SHAKE128(seed ‖ nonce) for each nonce, of which there
/// are `COUNT` at most.
#[cfg(mldsa_inside)]
#[inline(always)]
pub(crate) fn shake128<E: Permute<COUNT>, const COUNT: usize>(
    engine: E,
    seed: &[u8; 32],
    nonces: &[u16],
    out: &mut [[u8; 5 * RATE_128]],
) {
    let mut states = seeded(RATE_128, nonces.iter().map(|nonce| (seed, *nonce)));
    for at in (0..5 * RATE_128).step_by(RATE_128) {
        engine.permute(&mut states);
        engine.copy_block(&states, RATE_128, out, at);
    }
}

/// How a backend takes candidates from a block: a register at a time and the remainder one by one, unless it has lanes
/// for part of a register (`ragged.rs`) or samplers of 16 (`sixteen.rs`). `p` has `filled` coefficients; the result is
/// how many it has then.
pub trait Rejection: Lanes {
    /// CoeffFromThreeBytes (Algorithm 14) over a block.
    #[inline(always)]
    fn accept_triples(token: Self::Token, p: &mut Poly, filled: usize, bytes: &[u8]) -> usize {
        triples_by_lanes::<Self>(token, p, filled, bytes)
    }
    /// CoeffFromHalfByte (Algorithm 15) over a block.
    #[inline(always)]
    fn accept_halves<P: Parameters>(
        token: Self::Token,
        p: &mut Poly,
        filled: usize,
        bytes: &[u8],
    ) -> usize {
        halves_by_lanes::<P, Self>(token, p, filled, bytes, 0)
    }
}

impl Rejection for i32 {}

/// All ones where a value is a coefficient.
#[inline(always)]
pub(super) fn below_q<V: Lanes>(token: V::Token, values: V) -> V {
    let q = V::splat(token, Q);
    q.greater(values)
}

/// Registers full of candidates as far as `bytes` and `p` have room for them; then the rest of `bytes`.
#[inline(always)]
pub(super) fn whole_triples<'b, V: Lanes>(
    token: V::Token,
    p: &mut Poly,
    mut filled: usize,
    mut bytes: &'b [u8],
) -> (usize, &'b [u8]) {
    while filled + V::COUNT <= N && bytes.len() >= 3 * V::COUNT {
        let values = V::from_triples(token, bytes);
        filled += values.store_kept(below_q(token, values), &mut p.0[filled..]);
        bytes = &bytes[3 * V::COUNT..];
    }
    (filled, bytes)
}

/// [`Rejection::accept_triples`], the remainder one by one.
#[inline(always)]
pub(super) fn triples_by_lanes<V: Lanes>(
    token: V::Token,
    p: &mut Poly,
    filled: usize,
    bytes: &[u8],
) -> usize {
    let (mut filled, bytes) = whole_triples::<V>(token, p, filled, bytes);
    for three in bytes.chunks_exact(3) {
        if filled == N {
            break;
        }
        let value = i32::from_triples((), three);
        filled += value.store_kept(Q.greater(value), &mut p.0[filled..]);
    }
    filled
}

/// CoeffFromThreeBytes over a block.
struct Uniform<V: Lanes>(V::Token);

impl<V: Rejection> Accept for Uniform<V> {
    #[inline(always)]
    fn accept(&self, p: &mut Poly, filled: usize, bytes: &[u8]) -> usize {
        V::accept_triples(self.0, p, filled, bytes)
    }
}

/// RejBoundedPoly (Algorithm 31) for each target: coefficients in [-η, η] from
/// SHAKE256(rho' ‖ nonce). Which half-bytes are refused is independent of those accepted, so
/// only the refusal steers the code; the write itself is unconditional.
#[inline(always)]
pub(crate) fn bounded<P: Parameters, V: Rejection, E: Permute<COUNT>, const COUNT: usize>(
    token: V::Token,
    engine: E,
    targets: &mut dyn Targets<'_, 64>,
) {
    let sampler = &Bounded::<P, V>(token, PhantomData);
    let mut bytes = [[0u8; RATE_256]; COUNT];
    let mut room = [const { None }; COUNT];
    loop {
        let group = targets.group(&mut room);
        if group.is_empty() {
            break;
        }
        let mut states = seeded(RATE_256, seeds(group));
        let mut filled = [0; COUNT];
        let mut complete = false;
        while !complete {
            engine.permute(&mut states);
            engine.copy_block(&states, RATE_256, &mut bytes, 0);
            complete = accept_group(sampler, group, &mut filled, &bytes);
        }
        check_group("bounded gives out", group, within(P::ETA));
    }
    bytes.as_flattened_mut().wipe();
}

/// CoeffFromHalfByte (Algorithm 15): the coefficients, and all ones where they are accepted.
#[inline(always)]
pub(super) fn from_half_byte<P: Parameters, V: Lanes>(token: V::Token, half: V) -> (V, V) {
    if P::ETA == 2 {
        // half mod 5 without a division: 205/1024 is 1/5 closely enough below 16.
        let fifth = half.mul_low(V::splat(token, 205)).shift_right::<10>();
        let rest = half.sub(fifth.mul_low(V::splat(token, 5)));
        let value = V::splat(token, 2).sub(rest);
        (value, V::splat(token, 15).greater(half))
    } else {
        let value = V::splat(token, 4).sub(half);
        (value, V::splat(token, 9).greater(half))
    }
}

/// [`Rejection::accept_halves`] from half-byte `at` on, the remainder one by one.
#[inline(always)]
pub(super) fn halves_by_lanes<P: Parameters, V: Lanes>(
    token: V::Token,
    p: &mut Poly,
    mut filled: usize,
    bytes: &[u8],
    mut at: usize,
) -> usize {
    while filled + V::COUNT <= N && at + V::COUNT <= 2 * bytes.len() {
        let halves = V::from_halves(token, bytes, at);
        let (values, accepted) = from_half_byte::<P, V>(token, halves);
        let accepted = public(Site::RefusedHalfBytes, accepted);
        filled += values.store_kept(accepted, &mut p.0[filled..]);
        at += V::COUNT;
    }
    while filled < N && at < 2 * bytes.len() {
        let half = i32::from_halves((), bytes, at);
        let (value, accepted) = from_half_byte::<P, i32>((), half);
        let accepted = public(Site::RefusedHalfBytes, accepted);
        filled += value.store_kept(accepted, &mut p.0[filled..]);
        at += 1;
    }
    filled
}

/// CoeffFromHalfByte over a block.
struct Bounded<P, V: Lanes>(V::Token, PhantomData<P>);

impl<P: Parameters, V: Rejection> Accept for Bounded<P, V> {
    #[inline(always)]
    fn accept(&self, p: &mut Poly, filled: usize, bytes: &[u8]) -> usize {
        V::accept_halves::<P>(self.0, p, filled, bytes)
    }
}

/// Blocks that hold the 576 or 640 bytes of one mask polynomial.
const MASK_BLOCKS: usize = 5;

/// One polynomial's share of ExpandMask's bytes.
pub type MaskBytes = [u8; MASK_BLOCKS * RATE_256];

/// One polynomial of ExpandMask (Algorithm 34) for each target: coefficients in (-γ1, γ1] from
/// SHAKE256(rho'' ‖ nonce). `bytes`, `COUNT` of them, keeps secrets and is wiped by the caller.
/// With a `shadow`, which is hashed meanwhile in the last lane, there are fewer targets than lanes.
#[inline(always)]
pub(crate) fn mask<P: Parameters, V: Lanes, E: Permute<COUNT>, const COUNT: usize>(
    token: V::Token,
    engine: E,
    targets: &mut dyn Targets<'_, 64>,
    bytes: &mut [MaskBytes],
    mut shadow: Option<&mut dyn ShadowStates>,
) {
    let mut room = [const { None }; COUNT];
    loop {
        let group = targets.group(&mut room);
        if group.is_empty() {
            break;
        }
        debug_assert!(shadow.is_none() || group.len() < COUNT);
        let mut states = seeded(RATE_256, seeds(group));
        for block in 0..MASK_BLOCKS {
            match shadow.as_mut().and_then(|shadow| shadow.block()) {
                Some(one) => engine.permute_with_last(&mut states, one),
                None => engine.permute(&mut states),
            }
            engine.copy_block(&states, RATE_256, bytes, block * RATE_256);
        }
        for (target, bytes) in group.iter_mut().flatten().zip(&*bytes) {
            if P::Z_BITS == 18 {
                unpack_mask::<V, 18>(token, target.out, bytes);
            } else {
                unpack_mask::<V, 20>(token, target.out, bytes);
            }
        }
        check_group("mask gives out", group, Range(1 - P::GAMMA1, P::GAMMA1));
    }
}

/// BitUnpack (Algorithm 19) with γ1 = 2^(`BITS` − 1); `bytes` goes on 40 bytes or more beyond.
#[inline(always)]
fn unpack_mask<V: Lanes, const BITS: u32>(token: V::Token, p: &mut Poly, bytes: &[u8]) {
    let gamma1 = V::splat(token, 1 << (BITS - 1));
    for at in (0..N).step_by(V::COUNT) {
        let value = V::from_bits::<BITS>(token, bytes, at);
        gamma1.sub(value).store(&mut p.0[at..]);
    }
}

/// SampleInBall (Algorithm 29): τ coefficients ±1, the rest 0. Positions and signs come from
/// `c_tilde`, which is public once a signature is out and commonly treated as public before.
#[cfg(mldsa_inside)]
pub(crate) fn in_ball(tau: usize, permute: Permutation, c_tilde: &[u8], c: &mut Poly) {
    use super::sponge::Shake256;
    in_ball_from(tau, &mut Shake256::new(permute).absorb(c_tilde).finish(), c);
}

/// The same from the output of H(`c_tilde`).
#[inline(never)]
pub(crate) fn in_ball_from(tau: usize, reader: &mut Shake256Reader, c: &mut Poly) {
    c.0.fill(0);
    in_ball_steps(tau, reader, |i, j, negative| {
        c.0[i] = c.0[j];
        c.0[j] = 1 - 2 * i32::from(negative);
    });
}

/// The terms of SampleInBall in the order in which they come: the term at `step`'s second argument, if
/// there is one, moves to the first, and the new one, negative or not, takes its place.
#[inline(always)]
pub(crate) fn in_ball_steps(
    tau: usize,
    reader: &mut Shake256Reader,
    mut step: impl FnMut(usize, usize, bool),
) {
    let mut signs = u64::from_le_bytes(reader.read());
    // Eight bytes at a time; the last ones may be too many.
    let (mut bytes, mut left) = (0, 0);
    for i in N - tau..N {
        let j = loop {
            if left == 0 {
                (bytes, left) = (u64::from_le_bytes(reader.read()), 8);
            }
            let j = (bytes & 255) as usize;
            (bytes, left) = (bytes >> 8, left - 1);
            if j <= i {
                break j;
            }
        };
        step(i, j, signs & 1 == 1);
        signs >>= 1;
    }
}
