//! ML-DSA.Sign_internal (FIPS 204, Algorithm 7), from top to bottom.
//!
//! [`sign_internal`] signs one message. [`rejection_sampling`] is the loop, for one message and for the many of a
//! batch, which differ in their [`Messages`].

use core::cell::Cell;
use core::slice;

use crate::backend::{Backend, Engine};
use crate::declassify::{Site, public, public_slice};
use crate::error::Error;
use crate::kernels::packing::count_ones;
use crate::kernels::poly::{Poly, Secret, Wipe, Zero};
use crate::kernels::small::Offsets;
use crate::kernels::sponge::{Shadow, ShadowHash, Shake256, Shake256Reader};
use crate::params::MAX_ATTEMPTS;
use crate::scheme::encode::{self, Committed, MU_BYTES, SigningKeyParts, committed_bytes};
use crate::scheme::hash_each;
use crate::scheme::message::Input;
use crate::scheme::sample::{self, MaskStream};
use crate::scheme::shapes::Shapes;

/// Steps 1 to 5: the private key with everything that does not depend on the message.
pub struct Material<P: Shapes> {
    pub(crate) a_hat: P::Matrix,
    pub s1: Secret<P::SmallL>,
    pub s2: Secret<P::SmallK>,
    pub t0_hat: Secret<P::VecK>,
    pub(crate) k: Secret<[u8; 32]>,
    pub(crate) tr: [u8; 64],
}

impl<P: Shapes> Material<P> {
    /// To be filled in its final place: a secret that is moved leaves a copy behind, unwiped.
    pub(crate) const ZERO: Self = Self {
        a_hat: Zero::ZERO,
        s1: Secret::ZERO,
        s2: Secret::ZERO,
        t0_hat: Secret::ZERO,
        k: Secret::ZERO,
        tr: [0; 64],
    };

    /// From skEncode's bytes, of the set's length.
    #[inline(never)]
    pub(crate) fn fill<E: Engine>(&mut self, e: E, sk: &[u8]) {
        // Algorithm 7, step 1.
        let parts = SigningKeyParts::split::<P>(sk);
        let mut p = Secret::<[Poly; 1]>::zero();
        let places = self.s1.as_mut().iter_mut().chain(self.s2.as_mut());
        // Algorithm 7, steps 2 and 3: as bytes, which small products take.
        for (i, small) in places.enumerate() {
            parts.read_secret::<P, E>(e, i, &mut p[0]);
            e.small_set(&p[0], P::ETA, small);
        }
        // Algorithm 7, step 4.
        for (row, p) in self.t0_hat.as_mut().iter_mut().enumerate() {
            parts.read_t0(e, row, p);
            e.ntt(p);
        }
        self.k.copy_from_slice(parts.k);
        self.tr = *parts.tr;
        // Algorithm 7, step 5.
        sample::expand_a::<P, E>(e, parts.rho, self.a_hat.as_mut(), None);
    }
}

impl<P: Shapes> Wipe for Material<P> {
    /// All but Â and tr, which are public.
    fn wipe(&mut self) {
        self.s1.wipe();
        self.s2.wipe();
        self.t0_hat.wipe();
        self.k.wipe();
    }
}

/// The private key of [`sign_internal`].
pub(crate) enum Key<'a, P: Shapes> {
    Expanded(&'a Material<P>),
    /// skEncode's bytes, and memory for their expanded form.
    Compact(&'a [u8], &'a mut Material<P>),
}

/// How to sign a message.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub(crate) backend: Backend,
    pub(crate) input: &'a Input<'a>,
    pub(crate) rnd: &'a [u8; 32],
    /// Iterations have numbers below this.
    pub(crate) limit: u32,
    /// The number of the first iteration: 0, unless hardened signing repeats an accepted one.
    pub(crate) first: u32,
    /// Receives the number of the accepted iteration, for hardened signing.
    pub(crate) accepted: Option<&'a Cell<u32>>,
}

impl<'a> Request<'a> {
    /// From the first iteration on.
    pub(crate) fn new(
        backend: Backend,
        input: &'a Input<'a>,
        rnd: &'a [u8; 32],
        limit: u32,
    ) -> Self {
        Request {
            backend,
            input,
            rnd,
            limit,
            first: 0,
            accepted: None,
        }
    }
}

/// Steps 1 to 34. `memory` is left with secrets.
#[inline(never)] // Its frame is below the one that overwrites the stack.
pub(crate) fn sign_internal<P: Shapes, E: Engine>(
    e: E,
    key: Key<'_, P>,
    request: &Request<'_>,
    Memory { signing, shared }: &mut Memory<P>,
) -> Result<P::SignatureBytes, Error> {
    let source = request.input.mu_source::<P>(e.permutation())?;
    // Algorithm 7, steps 1 to 5.
    let key = match key {
        Key::Expanded(key) => key,
        Key::Compact(sk, key) => {
            key.fill(e, sk);
            &*key
        }
    };
    source.check_key(&key.tr)?;
    // Algorithm 7, step 6.
    let mu = source.mu(e.permutation(), &key.tr);
    // Algorithm 7, step 7.
    let hash = Shake256::new(e.permutation()).absorb(key.k.as_ref());
    let mut reader = hash.absorb(request.rnd).absorb(&mu).finish();
    reader.squeeze(signing.rho_second.as_mut());
    // Algorithm 7, steps 8 and 9.
    signing.begin(0, request.first, &mu);
    let mut one = One::new(key, request.accepted);
    let place = slice::from_mut(signing);
    rejection_sampling(e, &mut one, place, request.limit, shared);
    one.outcome?;
    // Algorithm 7, step 34.
    Ok(signing.accepted().signature::<P, E>(e))
}

/// Steps 10 to 32 for every message, until one of its iterations is accepted or its number reaches `limit`, at most
/// [`MAX_ATTEMPTS`]. `places` are the messages in progress; a turn of the loop is an iteration of each.
///
/// Inlined, so that it is compiled once for [`One`] and once for the messages of a batch.
///
/// A message that is alone has branches of its own in steps 11 and 15: its lanes are filled with masks of its
/// next iterations. The lanes of several are filled across messages.
#[inline(always)]
pub(crate) fn rejection_sampling<P: Shapes, E: Engine, M: Messages<P>>(
    e: E,
    messages: &mut M,
    places: &mut [Signing<P>],
    limit: u32,
    Shared { masks, scratch }: &mut Shared,
) {
    let limit = limit.min(MAX_ATTEMPTS);
    let mut alone = false;
    loop {
        let more_follow = messages.refill(places);
        // Algorithm 7, step 10.
        for (place, iteration, signing) in busy(places) {
            if iteration.number >= limit {
                let error = Error::TooManyAttempts { allowed: limit };
                messages.end(place, iteration, Err(error));
                signing.iteration = None;
            }
        }
        let Some(first) = busy(places).next().map(|(_, iteration, _)| iteration) else {
            if more_follow {
                continue;
            }
            return;
        };
        // Once alone, always alone: no message follows.
        if !alone && (!M::SEVERAL || !more_follow && busy(places).nth(1).is_none()) {
            alone = true;
            masks.begin::<P>(first.number);
        }
        // Algorithm 7, step 11.
        if !alone {
            expand_masks(e, places, masks);
        }
        for (place, _, signing) in busy(places) {
            let y_hat = if alone {
                masks.next::<P, E>(e, &signing.rho_second, signing.vec_l.as_mut())
            } else {
                masks.transform(e, signing.vec_l.as_ref())
            };
            // Steps 12 and 13.
            commit(e, messages.key(place), y_hat, signing);
        }
        // Steps 15 and 16.
        if alone {
            for (_, iteration, signing) in busy(places) {
                let another_may_follow = iteration.number + 1 < limit;
                challenge(e, signing, another_may_follow.then_some(&mut *masks));
            }
        } else {
            challenges(e, places);
        }
        for (place, iteration, signing) in busy(places) {
            #[cfg(mldsa_inside)]
            if !messages.observe(e, place, iteration, signing, scratch) {
                signing.iteration = Some(iteration.next());
                continue;
            }
            // Steps 17 to 28.
            if let Some(accepted) = accepts(e, messages.key(place), signing, scratch) {
                messages.end(place, iteration, Ok(accepted));
                signing.iteration = None;
            } else {
                // Algorithm 7, step 31.
                signing.iteration = Some(iteration.next());
            }
        }
    }
}

/// Step 11 of several messages: ExpandMask (Algorithm 34), side by side.
fn expand_masks<P: Shapes, E: Engine>(e: E, places: &mut [Signing<P>], masks: &mut MaskStream) {
    // Algorithm 7, step 11.
    let mut targets = busy(places).flat_map(|(_, iteration, signing)| {
        let kappa = sample::kappa::<P>(iteration.number).into();
        let y = signing.vec_l.as_mut().iter_mut();
        sample::consecutive_targets(&signing.rho_second, kappa, y)
    });
    e.mask::<P>(&mut targets, masks.bytes::<E>(), None);
}

/// Steps 12 and 13, from NTT(y), and w1Encode.
fn commit<P: Shapes, E: Engine>(e: E, key: &Material<P>, y_hat: &[Poly], signing: &mut Signing<P>) {
    let rows = key.a_hat.as_ref().chunks_exact(P::L);
    let outputs = signing.vec_k.as_mut().iter_mut().zip(signing.w1.as_mut());
    for (number, (row, (w, w1))) in rows.zip(outputs).enumerate() {
        // Algorithm 7, step 12.
        e.dot(row, y_hat, w);
        e.inverse_ntt(w);
        // Algorithm 7, step 13: w becomes w0, its low part.
        e.split::<P>(w, w1);
        encode::w1::<P, E>(e, number, w1, &mut signing.mu_w1[MU_BYTES..]);
    }
}

/// Steps 15 and 16 of a message that is alone. The masks of its next iteration are sampled in the lanes next to
/// step 15's hash, on which they do not depend: a lane costs less than a permutation of one state, and an
/// iteration is more often rejected than not. Without `masks` no iteration follows.
fn challenge<P: Shapes, E: Engine>(e: E, signing: &mut Signing<P>, masks: Option<&mut MaskStream>) {
    let known = &signing.mu_w1[..committed_bytes::<P>(P::K)];
    let mut hash = ShadowHash::new(e.permutation());
    if let Some(masks) = masks {
        let shadow = Shadow {
            hash: &mut hash,
            known,
            complete: true,
        };
        masks.prepare::<P, E>(e, &signing.rho_second, shadow);
    }
    // Algorithm 7, step 15.
    let c_tilde = &mut signing.c_tilde[..P::C_TILDE_BYTES];
    squeeze_c_tilde(c_tilde, &mut hash.reader(known));
    // Algorithm 7, step 16.
    let hash = Shake256::new(e.permutation()).absorb(c_tilde);
    signing.c.sample(P::TAU, &mut hash.finish());
}

/// Steps 15 and 16 of several messages, side by side.
fn challenges<P: Shapes, E: Engine>(e: E, places: &mut [Signing<P>]) {
    // Algorithm 7, step 15.
    let strings = busy(places).map(|(_, _, signing)| {
        let mu_w1 = &signing.mu_w1[..committed_bytes::<P>(P::K)];
        ([mu_w1], &mut signing.c_tilde[..P::C_TILDE_BYTES])
    });
    hash_each(e, strings, squeeze_c_tilde);
    // Algorithm 7, step 16.
    let strings = busy(places)
        .map(|(_, _, signing)| ([&signing.c_tilde[..P::C_TILDE_BYTES]], &mut *signing.c));
    hash_each(e, strings, |c, reader| c.sample(P::TAU, reader));
}

/// Step 15 from the output of H(mu ‖ w1Encode(w1)).
fn squeeze_c_tilde(c_tilde: &mut [u8], reader: &mut Shake256Reader) {
    reader.squeeze(c_tilde);
    public_slice(Site::Challenge, c_tilde);
}

/// Steps 17 to 28, one polynomial at a time, ending at the first that fails: r0 first, because one of
/// its polynomials fails more often than one of z. Which check ended an iteration is public (FIPS 204,
/// section 3.2 and the proof of the scheme); the values are not. Below, w = w1·2γ2 + w0 mod q is
/// Decompose's, and v = w0 − c·s2, so that w − c·s2 = w1·2γ2 + v mod q.
///
/// **v stands in for r0** (step 21), as ‖r0‖∞ ≥ γ2 − β exactly if ‖v‖∞ is. Where |v| < γ2, Decompose of
/// w1·2γ2 + v gives w1 and v again: also below 0, that is for w1 = 0, where q − 1 wraps. At |v| = γ2 it
/// gives ±γ2. Beyond, |w0| ≤ γ2 and |c·s2| ≤ β leave γ2 < |v| ≤ γ2 + β: the high bits move by one, and
/// r0 is v − 2γ2 or v + 2γ2, or at the wrap a number 1 further from 0. Its magnitude is γ2 − β at
/// least, so both are rejected. The test `low_bits_of_w_less_cs2_stand_for_r0` covers the edges.
///
/// **One Decompose serves the hints** (step 26). MakeHint asks whether HighBits(w − c·s2 + c·t0) differs
/// from HighBits(w − c·s2). r0 has passed, so the latter is w1, by the above. With u = v + c·t0, of
/// |u| < 2γ2 − β by step 28's norm, the former is HighBits(w1·2γ2 + u), which is w1 exactly if
/// −γ2 < u ≤ γ2, or if u = −γ2 and w1 = 0, since there q − 1 wraps. `make_hint` computes just that.
fn accepts<'a, P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    signing: &'a mut Signing<P>,
    Scratch { product, c_hat }: &mut Scratch,
) -> Option<Accepted<'a>> {
    let (product, c_hat) = (&mut product[0], &mut c_hat[0]);
    let c = &*signing.c;
    let w0 = signing.vec_k.as_mut();
    for (s2, w0) in key.s2.as_ref().iter().zip(&mut *w0) {
        // Algorithm 7, steps 19, 21 and 23.
        let fails = e.subtract_small::<P>(c, s2, w0, P::GAMMA2 - P::BETA);
        if public(Site::RejectedByR0, fails) {
            return None;
        }
    }
    let v = w0;
    let y = signing.vec_l.as_mut();
    for (s1, y) in key.s1.as_ref().iter().zip(&mut *y) {
        // Algorithm 7, steps 18, 20 and 23.
        let fails = e.add_small::<P>(c, s1, y, P::GAMMA1 - P::BETA);
        if public(Site::RejectedByZ, fails) {
            return None;
        }
    }
    // Algorithm 7, step 17.
    c.write(P::TAU, c_hat);
    e.ntt(c_hat);
    let mut weight = 0;
    let rows = v.iter_mut().zip(signing.w1.as_ref());
    for (t0_hat, (v, w1)) in key.t0_hat.as_ref().iter().zip(rows) {
        // Algorithm 7, step 25.
        e.product(c_hat, t0_hat, product);
        e.inverse_ntt(product);
        // Algorithm 7, step 28: the norm.
        if public(Site::RejectedByCt0, e.center(product, P::GAMMA2)) {
            return None;
        }
        // Both summands are below γ2, so the kernel's range holds and the sum is exact.
        e.add_center(v, product);
        let u = v;
        // Algorithm 7, step 26.
        e.make_hint::<P>(u, w1);
        let hint = u;
        // Algorithm 7, step 28: the number of ones.
        weight += count_ones(hint);
        if public(Site::RejectedByHint, weight > P::OMEGA as i32) {
            return None;
        }
    }
    Some(signing.accepted())
}

/// The values of an accepted iteration.
pub(crate) struct Accepted<'a> {
    c_tilde: &'a [u8],
    z: &'a [Poly],
    hint: &'a mut [Poly],
}

impl Accepted<'_> {
    /// Step 33: sigEncode.
    pub(crate) fn signature<P: Shapes, E: Engine>(self, e: E) -> P::SignatureBytes {
        public_slice(Site::Hint, self.hint);
        // Algorithm 7, step 33.
        encode::signature::<P, E>(e, self.c_tilde, self.z, self.hint)
    }
}

/// An iteration of steps 10 to 32.
#[derive(Clone, Copy)]
pub struct Iteration {
    /// The message's position in its batch.
    #[cfg_attr(not(feature = "alloc"), allow(dead_code))]
    pub message: usize,
    /// κ / l.
    pub number: u32,
}

impl Iteration {
    fn next(self) -> Self {
        Iteration {
            number: self.number + 1,
            ..self
        }
    }
}

/// The messages that [`rejection_sampling`] signs.
pub(crate) trait Messages<P: Shapes> {
    /// True if there may be several at a time. If not, the compiler drops the code for several.
    const SEVERAL: bool;
    /// Fills the free places as far as there are messages; returns whether more follow.
    fn refill(&mut self, places: &mut [Signing<P>]) -> bool;
    /// The key of the message in a place.
    fn key(&self, place: usize) -> &Material<P>;
    /// Takes the outcome of the message in a place. The caller frees the place.
    fn end(&mut self, place: usize, iteration: Iteration, outcome: Result<Accepted<'_>, Error>);
    /// Sees an iteration before steps 17 to 28, which overwrite y and w0. False rejects the iteration.
    #[cfg(mldsa_inside)]
    fn observe<E: Engine>(
        &mut self,
        _: E,
        _place: usize,
        _: Iteration,
        _: &Signing<P>,
        _: &mut Scratch,
    ) -> bool {
        true
    }
}

/// The outcome of a message before its loop: a fault that skips the loop leaves an error.
pub(crate) const UNSIGNED: Error = Error::TooManyAttempts { allowed: 0 };

/// A single message.
pub(crate) struct One<'a, P: Shapes> {
    key: &'a Material<P>,
    /// As in [`Request`].
    accepted: Option<&'a Cell<u32>>,
    outcome: Result<(), Error>,
}

impl<'a, P: Shapes> One<'a, P> {
    /// The outcome is an error unless an iteration is accepted, whatever a fault skips.
    pub(crate) fn new(key: &'a Material<P>, accepted: Option<&'a Cell<u32>>) -> Self {
        One {
            key,
            accepted,
            outcome: Err(UNSIGNED),
        }
    }
}

impl<P: Shapes> Messages<P> for One<'_, P> {
    const SEVERAL: bool = false;

    fn refill(&mut self, _: &mut [Signing<P>]) -> bool {
        false
    }

    fn key(&self, _: usize) -> &Material<P> {
        self.key
    }

    fn end(&mut self, _: usize, iteration: Iteration, outcome: Result<Accepted<'_>, Error>) {
        if let (Ok(_), Some(accepted)) = (&outcome, self.accepted) {
            accepted.set(iteration.number);
        }
        self.outcome = outcome.map(drop);
    }
}

/// The places with a message in progress: their number, the iteration, the values.
fn busy<P: Shapes>(
    places: &mut [Signing<P>],
) -> impl Iterator<Item = (usize, Iteration, &mut Signing<P>)> {
    let places = places.iter_mut().enumerate();
    places.filter_map(|(place, signing)| Some((place, signing.iteration?, signing)))
}

/// A place for a message in progress: the values of its iteration. They are secret, except c_tilde and c, and
/// except z and the hints of an accepted iteration.
pub struct Signing<P: Shapes> {
    /// None: the place is free.
    pub(crate) iteration: Option<Iteration>,
    pub(crate) rho_second: Secret<[u8; 64]>,
    /// mu ‖ w1Encode(w1).
    pub(crate) mu_w1: Secret<Committed>,
    pub(crate) c_tilde: Secret<[u8; 64]>,
    pub(crate) c: Secret<Offsets>,
    /// y, then z.
    pub(crate) vec_l: Secret<P::VecL>,
    /// w, then w0, then w0 − c·s2, then the hints.
    pub(crate) vec_k: Secret<P::VecK>,
    pub(crate) w1: Secret<P::VecK>,
}

impl<P: Shapes> Zero for Signing<P> {
    const ZERO: Self = Signing {
        iteration: None,
        rho_second: Secret::ZERO,
        mu_w1: Secret::ZERO,
        c_tilde: Secret::ZERO,
        c: Secret::ZERO,
        vec_l: Secret::ZERO,
        vec_k: Secret::ZERO,
        w1: Secret::ZERO,
    };
}

impl<P: Shapes> Signing<P> {
    /// Steps 8 and 9: takes a message, of which `rho_second` is here.
    pub(crate) fn begin(&mut self, message: usize, number: u32, mu: &[u8; MU_BYTES]) {
        self.iteration = Some(Iteration { message, number });
        self.mu_w1[..MU_BYTES].copy_from_slice(mu);
    }

    /// The values of an iteration that [`accepts`] has accepted.
    fn accepted(&mut self) -> Accepted<'_> {
        Accepted {
            c_tilde: &self.c_tilde[..P::C_TILDE_BYTES],
            z: self.vec_l.as_ref(),
            hint: self.vec_k.as_mut(),
        }
    }
}

impl<P: Shapes> Wipe for Signing<P> {
    fn wipe(&mut self) {
        self.iteration = None;
        self.rho_second.wipe();
        self.mu_w1.wipe();
        self.c_tilde.wipe();
        self.c.wipe();
        self.vec_l.wipe();
        self.vec_k.wipe();
        self.w1.wipe();
    }
}

/// Two polynomials of [`accepts`].
pub struct Scratch {
    pub product: Secret<[Poly; 1]>,
    pub c_hat: Secret<[Poly; 1]>,
}

impl Zero for Scratch {
    const ZERO: Self = Scratch {
        product: Secret::ZERO,
        c_hat: Secret::ZERO,
    };
}

impl Wipe for Scratch {
    fn wipe(&mut self) {
        self.product.wipe();
        self.c_hat.wipe();
    }
}

/// The memory that messages in progress use one after another.
pub(crate) struct Shared {
    pub(crate) masks: MaskStream,
    pub(crate) scratch: Scratch,
}

impl Zero for Shared {
    const ZERO: Self = Shared {
        masks: MaskStream::ZERO,
        scratch: Scratch::ZERO,
    };
}

impl Wipe for Shared {
    fn wipe(&mut self) {
        self.masks.wipe();
        self.scratch.wipe();
    }
}

/// The memory of signing, without the key's. The caller owns it, so that the stack below is small enough to be
/// overwritten at the end.
pub struct Memory<P: Shapes> {
    pub(crate) signing: Signing<P>,
    pub(crate) shared: Shared,
}

impl<P: Shapes> Memory<P> {
    pub(crate) const ZERO: Self = Memory {
        signing: Signing::ZERO,
        shared: Shared::ZERO,
    };
}

impl<P: Shapes> Wipe for Memory<P> {
    fn wipe(&mut self) {
        self.signing.wipe();
        self.shared.wipe();
    }
}

#[cfg(all(test, mldsa_inside))]
mod tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/scheme/sign/tests.rs"
    ));
}
