// The kernels of one backend each, for `lab/bench/kernels`, and what `library/crates/mldsa-trace` watches signing
// with. **Not part of the library's interface**: what is here changes with the kernels, in any version
// and without a word.
//
// A function of a kernel computes nothing itself. It calls the backend's method of its name; ranges of
// coefficients are those of the kernel, and outside them the result means nothing. A polynomial
// is 256 coefficients; a string of so many bits for each has 32 times as many bytes.

use core::marker::PhantomData;
use std::boxed::Box;
use std::vec::Vec;

use crate::ParameterSet;
use crate::backend::{Backend, Wiper, with_engine};
pub use crate::backend::{Engine, Kernel};
use crate::batch::sign::{Many, sign_all};
use crate::batch::{SignJob, by_backend, with_rnd};
use crate::error::Error;
use crate::kernels::keccak::{RATE_128, States};
pub use crate::kernels::lanes::Lanes;
use crate::kernels::packing::Map;
pub use crate::kernels::poly::Poly;
use crate::kernels::poly::Zero;
pub use crate::kernels::rounding::{canonical, decompose};
use crate::kernels::sampling::{MaskBytes, Permute, Rejection, Target, in_ball};
pub use crate::kernels::small::{Offsets, SmallPoly};
use crate::kernels::sponge::h;
use crate::keys::{SignOptions, Signature};
use crate::params::D;
pub use crate::params::{N, Parameters, Q};
pub use crate::scheme::sample::kappa;
pub use crate::scheme::shapes::Shapes;
use crate::scheme::sign::{Accepted, Messages};
pub use crate::scheme::sign::{Iteration, Material, Scratch, Signing};

/// The ranges that kernels state.
pub mod bounds {
    pub use crate::kernels::bounds::{Range, below, check, high, within};
}

/// Sees the iterations of signing, each before its checks: how library/crates/mldsa-trace and tests watch signing.
pub trait Observer<P: Shapes> {
    /// Steps 11 to 16 of the iteration are done. If false, it is rejected without steps 17 to 28.
    fn observe<E: Engine>(
        &mut self,
        e: E,
        key: &Material<P>,
        iteration: Iteration,
        signing: &Signing<P>,
        scratch: &mut Scratch,
    ) -> bool;
}

/// Messages with an observer of their iterations.
pub(crate) struct Observed<'o, M, O> {
    pub(crate) messages: M,
    pub(crate) observer: &'o mut O,
}

impl<P: Shapes, M: Messages<P>, O: Observer<P>> Messages<P> for Observed<'_, M, O> {
    const SEVERAL: bool = M::SEVERAL;

    fn refill(&mut self, places: &mut [Signing<P>]) -> bool {
        self.messages.refill(places)
    }

    fn key(&self, place: usize) -> &Material<P> {
        self.messages.key(place)
    }

    fn end(&mut self, place: usize, iteration: Iteration, outcome: Result<Accepted<'_>, Error>) {
        self.messages.end(place, iteration, outcome);
    }

    fn observe<E: Engine>(
        &mut self,
        e: E,
        place: usize,
        iteration: Iteration,
        signing: &Signing<P>,
        scratch: &mut Scratch,
    ) -> bool {
        let key = self.messages.key(place);
        self.observer.observe(e, key, iteration, signing, scratch)
    }
}

/// As [`batch::sign`](crate::batch::sign), with an observer.
pub fn sign_observed<P: ParameterSet>(
    jobs: &[SignJob<'_, P>],
    options: SignOptions<'_>,
    observer: &mut impl Observer<P>,
) -> Result<Vec<Result<Signature<P>, Error>>, Error> {
    with_rnd::sign(jobs, options, |jobs, limit, results| {
        for (backend, order) in by_backend(jobs.iter().map(|job| job.key.backend())) {
            let _wiper = Wiper::<32>;
            with_engine!(backend, e => observed(e, jobs, &order, limit, observer, results));
        }
    })
}

/// Signs the messages at the positions in `order`, with an observer.
pub(crate) fn observed<P: ParameterSet, E: Engine>(
    e: E,
    jobs: &[with_rnd::SignJob<'_, P>],
    order: &[usize],
    limit: u32,
    observer: &mut impl Observer<P>,
    results: &mut [Result<Signature<P>, Error>],
) {
    let mut messages = Observed {
        messages: Many::new(e, jobs, order, results),
        observer,
    };
    sign_all(e, &mut messages, order.len(), limit);
}

/// The values of an iteration before steps 17 to 28.
impl<P: Shapes> Signing<P> {
    pub fn y(&self) -> &[Poly] {
        self.vec_l.as_ref()
    }

    pub fn w0(&self) -> &[Poly] {
        self.vec_k.as_ref()
    }

    pub fn w1(&self) -> &[Poly] {
        self.w1.as_ref()
    }

    pub fn c(&self) -> &Offsets {
        &self.c
    }
}

pub fn poly(coefficients: [i32; N]) -> Poly {
    Poly(coefficients)
}

pub fn coefficients(p: &Poly) -> &[i32; N] {
    &p.0
}

pub fn coefficients_mut(p: &mut Poly) -> &mut [i32; N] {
    &mut p.0
}

pub fn ntt(backend: Backend, p: &mut Poly) {
    with_engine!(backend, e => e.ntt(p));
}

pub fn inverse_ntt(backend: Backend, p: &mut Poly) {
    with_engine!(backend, e => e.inverse_ntt(p));
}

pub fn product(backend: Backend, a: &Poly, b: &Poly, out: &mut Poly) {
    with_engine!(backend, e => e.product(a, b, out));
}

/// `row` and `v` have the same length, 7 at most.
pub fn dot(backend: Backend, row: &[Poly], v: &[Poly], out: &mut Poly) {
    with_engine!(backend, e => e.dot(row, v, out));
}

/// As [`dot`].
pub fn dot_minus(backend: Backend, row: &[Poly], v: &[Poly], c: &Poly, t: &Poly, out: &mut Poly) {
    with_engine!(backend, e => e.dot_minus(row, v, c, t, out));
}

/// The challenge in the form that [`add_small`] takes.
#[derive(Clone)]
pub struct Challenge(Offsets);

impl Challenge {
    pub fn new(c: &Poly) -> Self {
        let mut offsets = Offsets::zero();
        offsets.set(c);
        Challenge(offsets)
    }
}

pub fn small_poly<P: Parameters>(s: &Poly) -> SmallPoly {
    let mut small = SmallPoly::zero();
    small.set(s, P::ETA);
    small
}

pub fn add_small<P: Parameters>(
    backend: Backend,
    c: &Challenge,
    s: &SmallPoly,
    a: &mut Poly,
    bound: i32,
) -> bool {
    with_engine!(backend, e => e.add_small::<P>(&c.0, s, a, bound))
}

/// SampleInBall; `c_tilde` has λ/4 bytes.
pub fn challenge<P: Parameters>(backend: Backend, c_tilde: &[u8], c: &mut Poly) {
    in_ball(P::TAU, backend.permutation(), c_tilde, c);
}

// Generic kernels are functions of their own, for `make prove`: elsewhere the caller's crate compiles them.
#[inline(never)]
pub fn split<P: Parameters>(backend: Backend, w: &mut Poly, w1: &mut Poly) {
    with_engine!(backend, e => e.split::<P>(w, w1));
}

pub fn power2round(backend: Backend, t: &mut Poly, t1: &mut Poly) {
    with_engine!(backend, e => e.power2round(t, t1));
}

pub fn add_center(backend: Backend, a: &mut Poly, b: &Poly) {
    with_engine!(backend, e => e.add_center(a, b));
}

pub fn center(backend: Backend, a: &mut Poly, bound: i32) -> bool {
    with_engine!(backend, e => e.center(a, bound))
}

pub fn small_set(backend: Backend, p: &Poly, eta: i32, small: &mut SmallPoly) {
    with_engine!(backend, e => e.small_set(p, eta, small));
}

pub fn exceeds(backend: Backend, a: &Poly, bound: i32) -> bool {
    with_engine!(backend, e => e.exceeds(a, bound))
}

#[inline(never)]
pub fn make_hint<P: Parameters>(backend: Backend, low: &mut Poly, w1: &Poly) {
    with_engine!(backend, e => e.make_hint::<P>(low, w1));
}

#[inline(never)]
pub fn use_hint<P: Parameters>(backend: Backend, w: &mut Poly, hint: &Poly) {
    with_engine!(backend, e => e.use_hint::<P>(w, hint));
}

pub fn pack_w1<P: Parameters>(backend: Backend, w1: &Poly, out: &mut [u8]) {
    with_engine!(backend, e => e.pack(P::W1_BITS, w1, Map::Same, out));
}

pub fn pack_z<P: Parameters>(backend: Backend, z: &Poly, out: &mut [u8]) {
    with_engine!(backend, e => e.pack(P::Z_BITS, z, Map::Below(P::GAMMA1), out));
}

pub fn unpack_z<P: Parameters>(backend: Backend, from: &[u8], z: &mut Poly) {
    with_engine!(backend, e => e.unpack(P::Z_BITS, from, Map::Below(P::GAMMA1), z));
}

/// 320 bytes.
pub fn pack_t1(backend: Backend, t1: &Poly, out: &mut [u8]) {
    with_engine!(backend, e => e.pack(10, t1, Map::Same, out));
}

/// t1·2^d from 320 bytes.
pub fn unpack_t1_scaled(backend: Backend, from: &[u8], t1: &mut Poly) {
    with_engine!(backend, e => e.unpack(10, from, Map::Scaled, t1));
}

/// 416 bytes.
pub fn unpack_t0(backend: Backend, from: &[u8], t0: &mut Poly) {
    with_engine!(backend, e => e.unpack(D as usize, from, Map::Below(1 << (D - 1)), t0));
}

fn targets<'a, const SEED: usize>(
    seed: &'a [u8; SEED],
    nonces: &'a [u16],
    out: &'a mut [Poly],
) -> impl Iterator<Item = Target<'a, SEED>> {
    let places = nonces.iter().zip(out);
    places.map(move |(nonce, out)| Target {
        seed,
        nonce: *nonce,
        out,
    })
}

/// A polynomial for each nonce.
pub fn uniform(backend: Backend, rho: &[u8; 32], nonces: &[u16], out: &mut [Poly]) {
    with_engine!(backend, e => e.uniform(&mut targets(rho, nonces, out), None));
}

/// A polynomial for each nonce.
pub fn bounded<P: Parameters>(
    backend: Backend,
    rho_prime: &[u8; 64],
    nonces: &[u16],
    out: &mut [Poly],
) {
    with_engine!(backend, e => e.bounded::<P>(&mut targets(rho_prime, nonces, out)));
}

/// RejNTTPoly's coefficients from a block of SHAKE128, whole triples. `p` has `filled` before; the result is how many
/// it has then.
pub fn accept_triples(backend: Backend, block: &[u8], p: &mut Poly, filled: usize) -> usize {
    let kernel = Triples(block, p, filled);
    with_engine!(backend, e => e.run(kernel))
}

/// In the order of its fields, for `make prove`.
#[repr(C)]
struct Triples<'a>(&'a [u8], &'a mut Poly, usize);

impl Kernel for Triples<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<V: Rejection>(self, token: V::Token) -> usize {
        V::accept_triples(token, self.1, self.2, self.0)
    }
}

/// RejBoundedPoly's coefficients from a block of SHAKE256. `p` has `filled` before; the result is how many it has then.
pub fn accept_halves<P: Parameters>(
    backend: Backend,
    block: &[u8],
    p: &mut Poly,
    filled: usize,
) -> usize {
    let kernel = Halves::<P>(block, p, filled, PhantomData);
    with_engine!(backend, e => e.run(kernel))
}

/// As [`Triples`].
#[repr(C)]
struct Halves<'a, P>(&'a [u8], &'a mut Poly, usize, PhantomData<P>);

impl<P: Parameters> Kernel for Halves<'_, P> {
    type Output = usize;

    #[inline(always)]
    fn run<V: Rejection>(self, token: V::Token) -> usize {
        V::accept_halves::<P>(token, self.1, self.2, self.0)
    }
}

/// The bytes that [`mask`] works in.
#[derive(Clone)]
pub struct MaskSpace([MaskBytes; 8]);

impl MaskSpace {
    #[expect(clippy::new_without_default)]
    pub fn new() -> Self {
        MaskSpace(Zero::zero())
    }
}

/// A polynomial for each nonce.
pub fn mask<P: Parameters>(
    backend: Backend,
    rho_second: &[u8; 64],
    nonces: &[u16],
    space: &mut MaskSpace,
    out: &mut [Poly],
) {
    with_engine!(backend, e => e.mask::<P>(&mut targets(rho_second, nonces, out), &mut space.0, None));
}

/// Keccak-f\[1600\] of one state.
pub fn keccak(backend: Backend, state: &mut [u64; 25]) {
    (backend.permutation())(state);
}

/// SHAKE256 of `data`.
pub fn shake256(backend: Backend, data: &[u8]) -> [u8; 64] {
    h(backend.permutation(), &[data])
}

/// The Keccak states that a backend permutes side by side.
pub trait Group {
    /// How many.
    fn count(&self) -> usize;
    fn set(&mut self, lane: usize, state: &[u64; 25]);
    fn get(&self, lane: usize) -> [u64; 25];
    fn permute(&mut self);
    /// The group, and one state in its shadow.
    fn permute_beside(&mut self, one: &mut [u64; 25]);
    /// Five blocks of SHAKE128(seed ‖ nonce), a string for each nonce and [`Group::count`] at most:
    /// what [`uniform`] hashes.
    fn shake128(&mut self, seed: &[u8; 32], nonces: &[u16], out: &mut [[u8; 5 * RATE_128]]);
}

pub fn group(backend: Backend) -> Box<dyn Group> {
    with_engine!(backend, e => boxed(e))
}

fn boxed<E, const COUNT: usize>(engine: E) -> Box<dyn Group>
where
    E: Engine<States = States<COUNT>> + Permute<COUNT> + 'static,
{
    let states = States([[0; COUNT]; 25]);
    Box::new(Of { engine, states })
}

struct Of<E, const COUNT: usize> {
    engine: E,
    states: States<COUNT>,
}

impl<E, const COUNT: usize> Group for Of<E, COUNT>
where
    E: Engine<States = States<COUNT>> + Permute<COUNT>,
{
    fn count(&self) -> usize {
        COUNT
    }
    fn set(&mut self, lane: usize, state: &[u64; 25]) {
        for (row, word) in self.states.0.iter_mut().zip(state) {
            row[lane] = *word;
        }
    }
    fn get(&self, lane: usize) -> [u64; 25] {
        self.states.0.map(|row| row[lane])
    }
    fn permute(&mut self) {
        crate::backend::Kernels::permute(self.engine, &mut self.states);
    }
    fn permute_beside(&mut self, one: &mut [u64; 25]) {
        self.engine.permute_beside(&mut self.states, one);
    }
    fn shake128(&mut self, seed: &[u8; 32], nonces: &[u16], out: &mut [[u8; 5 * RATE_128]]) {
        Engine::shake128(self.engine, seed, nonces, out);
    }
}
