//! ML-DSA.Sign_internal (FIPS 204, Algorithm 7).

use core::cell::Cell;

use crate::backend::{Backend, Engine};
use crate::declassify::{Site, public, public_slice};
use crate::error::Error;
use crate::kernels::keccak::Permutation;
use crate::kernels::poly::{Poly, Secret, Wipe, Zero};
use crate::kernels::small::Offsets;
use crate::kernels::sponge::{Beside, Shadow, ShadowHash, Shake256, Shake256Reader};
use crate::params::MAX_ATTEMPTS;
use crate::scheme::encode::{self, Committed, MU_BYTES, SigningKeyParts, committed_bytes};
use crate::scheme::keygen;
use crate::scheme::message::{Input, MuSource};
use crate::scheme::sample::{self, MaskStream};
use crate::scheme::shapes::Shapes;

/// Steps 1 to 5: the private key with everything that does not depend on the message.
pub struct Material<P: Shapes> {
    a_hat: P::Matrix,
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

    /// From skEncode's bytes, of the set's length. `shadow` is hashed as far as it goes meanwhile.
    #[inline(never)]
    pub(crate) fn fill<E: Engine>(&mut self, e: E, sk: &[u8], shadow: Option<&mut dyn Beside>) {
        // Algorithm 7, step 1.
        let parts = SigningKeyParts::of::<P>(sk);
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
        sample::expand_a::<P, E>(e, parts.rho, self.a_hat.as_mut(), shadow);
    }

    /// A row of Â of a key in the making.
    #[cfg(feature = "alloc")]
    pub(crate) fn set_row(&mut self, number: usize, row: &[Poly]) {
        self.a_hat.as_mut()[number * P::L..][..P::L].copy_from_slice(row);
    }

    /// s1 and s2 of it.
    #[cfg(feature = "alloc")]
    pub(crate) fn set_secrets<E: Engine>(&mut self, e: E, s1: &[Poly], s2: &[Poly]) {
        let places = self.s1.as_mut().iter_mut().chain(self.s2.as_mut());
        for (p, small) in s1.iter().chain(s2).zip(places) {
            e.small_set(p, P::ETA, small);
        }
    }

    /// The rest of it: t0, K, tr.
    #[cfg(feature = "alloc")]
    pub(crate) fn set_rest<E: Engine>(&mut self, e: E, t0: &[Poly], k: &[u8], tr: &[u8; 64]) {
        for (p, t0_hat) in t0.iter().zip(self.t0_hat.as_mut()) {
            *t0_hat = *p;
            e.ntt(t0_hat);
        }
        self.k.copy_from_slice(k);
        self.tr = *tr;
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

/// What an attempt computes; all of it secret until the attempt is accepted, wiped at the end.
pub struct Trial<P: Shapes> {
    /// y, then z.
    pub z: Secret<P::VecL>,
    /// w, then its low part, then low − c·s2, then the hints.
    pub low: Secret<P::VecK>,
    pub w1: Secret<P::VecK>,
    c_tilde: Secret<[u8; 64]>,
    pub c_offsets: Secret<Offsets>,
    /// Step 15's string: mu, if one attempt is hashed by itself, and w1Encode's.
    hashed: Secret<Committed>,
}

impl<P: Shapes> Zero for Trial<P> {
    const ZERO: Self = Trial {
        z: Secret::ZERO,
        low: Secret::ZERO,
        w1: Secret::ZERO,
        c_tilde: Secret::ZERO,
        c_offsets: Secret::ZERO,
        hashed: Secret::ZERO,
    };
}

impl<P: Shapes> Wipe for Trial<P> {
    fn wipe(&mut self) {
        self.z.wipe();
        self.low.wipe();
        self.w1.wipe();
        self.c_tilde.wipe();
        self.c_offsets.wipe();
        self.hashed.wipe();
    }
}

impl<P: Shapes> Trial<P> {
    /// Steps 12 and 13 from NTT(y) on, and w1Encode.
    pub(crate) fn commit<E: Engine>(&mut self, e: E, key: &Material<P>, y_hat: &[Poly]) {
        let rows = key.a_hat.as_ref().chunks_exact(P::L);
        let outputs = self.low.as_mut().iter_mut().zip(self.w1.as_mut());
        for (number, (row, (w, w1))) in rows.zip(outputs).enumerate() {
            // Algorithm 7, step 12.
            e.dot(row, y_hat, w);
            e.inverse_ntt(w);
            // Algorithm 7, step 13: LowBits(w) too.
            e.split::<P>(w, w1);
            encode::w1::<P, E>(e, number, w1, &mut self.hashed[MU_BYTES..]);
        }
    }

    /// w1Encode's string, and what takes c_tilde.
    pub(crate) fn committed(&mut self) -> (&[u8], CTilde<'_>) {
        let w1 = &self.hashed[MU_BYTES..committed_bytes::<P>(P::K)];
        (w1, CTilde(&mut self.c_tilde[..P::C_TILDE_BYTES]))
    }

    /// Steps 15 and 16, by itself. The masks of the attempt to follow, if one may, are sampled beside
    /// step 15's hash, since they do not depend on it: its lane costs less than a permutation of one
    /// state, and an attempt is more often rejected than not.
    pub(crate) fn hash<E: Engine>(
        &mut self,
        e: E,
        mu: &[u8; 64],
        following: Option<(&mut MaskStream, &[u8; 64])>,
    ) {
        self.hashed[..MU_BYTES].copy_from_slice(mu);
        let known = &self.hashed[..committed_bytes::<P>(P::K)];
        let mut hash = ShadowHash::new(e.permutation());
        if let Some((masks, rho_second)) = following {
            let shadow = Shadow {
                hash: &mut hash,
                known,
                complete: true,
            };
            masks.prepare::<P, E>(e, rho_second, shadow);
        }
        // Algorithm 7, step 15.
        CTilde(&mut self.c_tilde[..P::C_TILDE_BYTES]).set(&mut hash.reader(known));
        // Algorithm 7, step 16.
        let (c_tilde, offsets) = self.challenge();
        let hash = Shake256::new(e.permutation()).absorb(c_tilde);
        offsets.sample::<P>(&mut hash.finish());
    }

    /// c_tilde, and what step 16 makes of the output of H(c_tilde).
    pub(crate) fn challenge(&mut self) -> (&[u8], &mut Offsets) {
        (&self.c_tilde[..P::C_TILDE_BYTES], &mut self.c_offsets)
    }

    /// Step 33: sigEncode of an accepted attempt.
    pub(crate) fn signature<E: Engine>(&mut self, e: E) -> P::SignatureBytes {
        public_slice(Site::Hint, self.low.as_mut());
        // Algorithm 7, step 33.
        encode::signature::<P, E>(
            e,
            &self.c_tilde[..P::C_TILDE_BYTES],
            self.z.as_ref(),
            self.low.as_ref(),
        )
    }
}

/// Where an attempt's c_tilde goes.
pub(crate) struct CTilde<'a>(&'a mut [u8]);

impl CTilde<'_> {
    /// Step 15 from the output of H(mu ‖ w1Encode(w1)).
    pub(crate) fn set(self, reader: &mut Shake256Reader) {
        reader.squeeze(self.0);
        public_slice(Site::Challenge, self.0);
    }
}

/// Room that no attempt needs beyond a step; secrets pass through it.
pub struct Scratch {
    pub product: Secret<[Poly; 1]>,
    /// c, then its transform.
    pub c: Secret<[Poly; 1]>,
}

impl Zero for Scratch {
    const ZERO: Self = Scratch {
        product: Secret::ZERO,
        c: Secret::ZERO,
    };
}

impl Wipe for Scratch {
    fn wipe(&mut self) {
        self.product.wipe();
        self.c.wipe();
    }
}

/// A signature in the making: what one job computes with beside the key.
pub(crate) struct Making<P: Shapes> {
    pub(crate) mu: Secret<[u8; 64]>,
    pub(crate) rho_second: Secret<[u8; 64]>,
    pub(crate) trial: Trial<P>,
}

impl<P: Shapes> Zero for Making<P> {
    const ZERO: Self = Making {
        mu: Secret::ZERO,
        rho_second: Secret::ZERO,
        trial: Trial::ZERO,
    };
}

/// What jobs use one after another.
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

/// What signing computes with beside the key: the caller's, so that what lies below is small enough
/// to be overwritten when it is over.
pub struct Space<P: Shapes> {
    making: Making<P>,
    shared: Shared,
}

impl<P: Shapes> Space<P> {
    pub(crate) const ZERO: Self = Space {
        making: Making::ZERO,
        shared: Shared::ZERO,
    };

    /// The same memory for key generation.
    pub(crate) fn keygen_room(&mut self) -> keygen::Room<'_> {
        keygen::Room {
            rho_prime: &mut self.making.rho_second,
            k: &mut self.making.trial.c_tilde[..32],
            s1: self.making.trial.z.as_mut(),
            s2: self.making.trial.low.as_mut(),
            t: &mut self.shared.scratch.product[0],
            stored: &mut self.shared.scratch.c[0],
            rows: self.shared.masks.rows(),
        }
    }
}

impl<P: Shapes> Wipe for Space<P> {
    fn wipe(&mut self) {
        self.making.mu.wipe();
        self.making.rho_second.wipe();
        self.making.trial.wipe();
        self.shared.masks.wipe();
        self.shared.scratch.wipe();
    }
}

/// How to sign: the arguments of every way.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    pub(crate) backend: Backend,
    pub(crate) input: &'a Input<'a>,
    pub(crate) rnd: &'a [u8; 32],
    pub(crate) max_attempts: u32,
    /// The number of the first attempt: 0, unless one attempt is made again.
    pub(crate) first: u32,
    /// Where the number of the accepted attempt goes, if anybody asks.
    pub(crate) accepted: Option<&'a Cell<u32>>,
}

impl<'a> Order<'a> {
    /// From the first attempt on.
    pub(crate) fn new(
        backend: Backend,
        input: &'a Input<'a>,
        rnd: &'a [u8; 32],
        max_attempts: u32,
    ) -> Self {
        Order {
            backend,
            input,
            rnd,
            max_attempts,
            first: 0,
            accepted: None,
        }
    }
}

/// An attempt, by its job's position in a batch and its number.
#[derive(Clone, Copy)]
pub struct Which {
    pub job: usize,
    pub attempt: u32,
}

/// mu and rho'' in the making, one hash after the other.
struct Seeds<'a> {
    permute: Permutation,
    k: &'a [u8],
    rnd: &'a [u8; 32],
    mu: &'a mut [u8; 64],
    /// H(tr ‖ M'), until it is read.
    mu_hash: Option<Shake256Reader>,
    /// H(K ‖ rnd ‖ mu), as soon as mu is there.
    rho_second: Option<Shake256Reader>,
}

impl<'a> Seeds<'a> {
    fn new<P: Shapes>(
        permute: Permutation,
        k: &'a [u8],
        tr: &[u8; 64],
        order: &Order<'a>,
        mu: &'a mut [u8; 64],
    ) -> Result<Self, Error> {
        let source = order.input.mu_source::<P>(permute)?;
        source.check_key(tr)?;
        let mu_hash = match source {
            MuSource::Known(known) => {
                mu.copy_from_slice(known.as_bytes());
                None
            }
            MuSource::Hash(m_prime) => Some(m_prime.hash(permute, tr)),
        };
        Ok(Seeds {
            permute,
            k,
            rnd: order.rnd,
            mu,
            mu_hash,
            rho_second: None,
        })
    }

    /// Permutes what is left.
    fn finish(mut self, rho_second: &mut [u8; 64]) {
        let permute = self.permute;
        while let Some(state) = self.block() {
            permute(state);
        }
        if let Some(mut reader) = self.rho_second.take() {
            reader.squeeze(rho_second);
        }
    }
}

impl Beside for Seeds<'_> {
    fn block(&mut self) -> Option<&mut [u64; 25]> {
        // Algorithm 7, step 6.
        if let Some(mut reader) = self.mu_hash.take_if(|reader| !reader.is_pending()) {
            reader.squeeze(self.mu);
        }
        if let Some(reader) = &mut self.mu_hash {
            return reader.block();
        }
        // Algorithm 7, step 7.
        let rho_second = self.rho_second.get_or_insert_with(|| {
            let hash = Shake256::new(self.permute).absorb(self.k);
            hash.absorb(self.rnd).absorb(self.mu).finish()
        });
        rho_second.block()
    }
}

/// Steps 6 to 34.
#[inline(never)]
pub(crate) fn sign<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    order: &Order<'_>,
    space: &mut Space<P>,
) -> Result<P::SignatureBytes, Error> {
    let Making { mu, rho_second, .. } = &mut space.making;
    let seeds = Seeds::new::<P>(e.permutation(), key.k.as_ref(), &key.tr, order, mu)?;
    seeds.finish(rho_second);
    sign_from_seeds(e, key, order, space)
}

/// Steps 1 to 34; `key` is filled with what skEncode's bytes `sk` give. Steps 6 and 7 are hashed
/// beside step 5.
#[inline(never)]
pub(crate) fn sign_compact<P: Shapes, E: Engine>(
    e: E,
    sk: &[u8],
    key: &mut Material<P>,
    order: &Order<'_>,
    space: &mut Space<P>,
) -> Result<P::SignatureBytes, Error> {
    let Making { mu, rho_second, .. } = &mut space.making;
    let (k, tr) = (SigningKeyParts::k_of(sk), SigningKeyParts::tr_of(sk));
    let mut seeds = Seeds::new::<P>(e.permutation(), k, tr, order, mu)?;
    key.fill(e, sk, Some(&mut seeds));
    seeds.finish(rho_second);
    sign_from_seeds(e, key, order, space)
}

/// Steps 8 to 34, with mu and rho'' known.
#[inline(never)]
fn sign_from_seeds<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    order: &Order<'_>,
    Space { making, shared }: &mut Space<P>,
) -> Result<P::SignatureBytes, Error> {
    let first = Which {
        job: 0,
        attempt: order.first,
    };
    let accepts = |which: Which, trial: &mut Trial<P>, scratch: &mut Scratch| {
        let accepts = check(e, key, trial, scratch);
        if let (true, Some(accepted)) = (accepts, order.accepted) {
            accepted.set(which.attempt);
        }
        accepts
    };
    attempts(e, key, first, order.max_attempts, making, shared, accepts)?;
    // Algorithm 7, step 34.
    Ok(making.trial.signature(e))
}

/// Steps 8 to 32 of one job by itself, from attempt `first` on, with mu and rho'' known: until `making`
/// has an attempt that `accepts` accepts, for which signing passes [`check`]. Never tries more than
/// [`MAX_ATTEMPTS`] times.
#[inline(always)]
pub(crate) fn attempts<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    first: Which,
    max_attempts: u32,
    Making {
        mu,
        rho_second,
        trial,
    }: &mut Making<P>,
    Shared { masks, scratch }: &mut Shared,
    mut accepts: impl FnMut(Which, &mut Trial<P>, &mut Scratch) -> bool,
) -> Result<(), Error> {
    // Algorithm 7, steps 8 and 9.
    masks.begin::<P>(first.attempt);
    let allowed = max_attempts.min(MAX_ATTEMPTS);
    // Algorithm 7, step 10.
    for attempt in first.attempt..allowed {
        // Algorithm 7, step 11.
        let y_hat = masks.next::<P, E>(e, rho_second, trial.z.as_mut());
        trial.commit(e, key, y_hat);
        let following = (attempt + 1 < allowed).then_some((&mut *masks, &rho_second.0));
        trial.hash(e, mu, following);
        let which = Which { attempt, ..first };
        if accepts(which, trial, scratch) {
            return Ok(());
        }
    }
    Err(Error::TooManyAttempts { allowed })
}

/// Steps 17 to 28, one polynomial at a time, ending at the first that fails: r0 first, because one of
/// its polynomials fails more often than one of z. Which check ended an attempt is public (FIPS 204,
/// section 3.2 and the proof of the scheme); the values are not. Below, w = w1·2γ2 + w0 mod q is
/// Decompose's, and v = w0 − c·s2, so that w − c·s2 = w1·2γ2 + v mod q.
///
/// **v stands in for r0** (step 21), as ‖r0‖∞ ≥ γ2 − β exactly if ‖v‖∞ is. Where |v| < γ2, Decompose of
/// w1·2γ2 + v gives w1 and v again: also below 0, that is for w1 = 0, where q − 1 wraps. At |v| = γ2 it
/// gives ±γ2. Beyond, |w0| ≤ γ2 and |c·s2| ≤ β leave γ2 < |v| ≤ γ2 + β: the high bits move by one, and
/// r0 is v − 2γ2 or v + 2γ2, or at the wrap a number 1 further from 0. Its magnitude is γ2 − β at
/// least, so both are rejected. A test goes through the edges.
///
/// **One Decompose serves the hints** (step 26). MakeHint asks whether HighBits(w − c·s2 + c·t0) differs
/// from HighBits(w − c·s2). r0 has passed, so the latter is w1, by the above. With u = v + c·t0, of
/// |u| < 2γ2 − β by step 28's norm, the former is HighBits(w1·2γ2 + u), which is w1 exactly if
/// −γ2 < u ≤ γ2, or if u = −γ2 and w1 = 0, since there q − 1 wraps. `make_hint` computes just that.
pub(crate) fn check<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    trial: &mut Trial<P>,
    scratch: &mut Scratch,
) -> bool {
    let Scratch { product, c } = scratch;
    let (product, c_hat) = (&mut product[0], &mut c[0]);
    for (s2, low) in key.s2.as_ref().iter().zip(trial.low.as_mut()) {
        // Algorithm 7, steps 19, 21 and 23.
        let fails = e.subtract_small::<P>(&trial.c_offsets, s2, low, P::GAMMA2 - P::BETA);
        if public(Site::RejectedByR0, fails) {
            return false;
        }
    }
    for (s1, z) in key.s1.as_ref().iter().zip(trial.z.as_mut()) {
        // Algorithm 7, steps 18, 20 and 23.
        let fails = e.add_small::<P>(&trial.c_offsets, s1, z, P::GAMMA1 - P::BETA);
        if public(Site::RejectedByZ, fails) {
            return false;
        }
    }
    // Algorithm 7, step 17.
    trial.c_offsets.write::<P>(c_hat);
    e.ntt(c_hat);
    let mut weight = 0;
    let rows = trial.low.as_mut().iter_mut().zip(trial.w1.as_ref());
    for (t0_hat, (low, w1)) in key.t0_hat.as_ref().iter().zip(rows) {
        // Algorithm 7, step 25.
        e.product(c_hat, t0_hat, product);
        e.inverse_ntt(product);
        // Algorithm 7, step 28: the norm.
        if public(Site::RejectedByCt0, e.center(product, P::GAMMA2)) {
            return false;
        }
        // Both summands are below γ2, so the sum is centered as it is.
        e.add_center(low, product);
        // Algorithm 7, step 26.
        e.make_hint::<P>(low, w1);
        // Algorithm 7, step 28: the number of ones.
        weight += low.0.iter().sum::<i32>();
        if public(Site::RejectedByHint, weight > P::OMEGA as i32) {
            return false;
        }
    }
    true
}

#[cfg(all(test, mldsa_inside))]
mod tests;
