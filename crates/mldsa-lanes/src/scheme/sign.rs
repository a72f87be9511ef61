//! ML-DSA.Sign_internal (FIPS 204, Algorithm 7).

use crate::backend::Engine;
use crate::declassify::{Site, public, public_slice};
use crate::error::Error;
use crate::kernels::poly::{Poly, Secret, Zero};
use crate::kernels::sampling::in_ball_steps;
use crate::kernels::small::{Offsets, Terms};
use crate::kernels::sponge::{Shake256, Shake256Reader, h};
use crate::params::{MAX_ATTEMPTS, ParameterSet, PolyMatrix};
use crate::scheme::encode::{self, SigningKeyParts};
use crate::scheme::sample::{self, MaskStream};
use crate::trace::{Attempt, Check, Observer};

/// Steps 1 to 5: the private key with everything that does not depend on the message.
#[derive(Clone)]
pub(crate) struct Material<P: ParameterSet> {
    a_hat: P::Matrix,
    pub(super) s1: Secret<P::SmallL>,
    pub(super) s2: Secret<P::SmallK>,
    pub(super) t0_hat: Secret<P::VecK>,
    pub(crate) k: Secret<[u8; 32]>,
    pub(crate) tr: [u8; 64],
}

impl<P: ParameterSet> Material<P> {
    /// To be filled in its final place: a secret that is moved leaves a copy behind, unwiped.
    pub(crate) fn zero() -> Self {
        Self {
            a_hat: P::Matrix::zero(),
            s1: Secret::zero(),
            s2: Secret::zero(),
            t0_hat: Secret::zero(),
            k: Secret::zero(),
            tr: [0; 64],
        }
    }

    /// From skEncode's bytes, of the set's length.
    pub(crate) fn fill<E: Engine>(&mut self, e: E, sk: &[u8]) {
        let parts = SigningKeyParts::of::<P>(sk);
        let mut s1 = Secret::<P::VecL>::zero();
        let mut s2 = Secret::<P::VecK>::zero();
        parts.read::<P, E>(e, s1.as_mut(), s2.as_mut(), self.t0_hat.as_mut());
        self.prepare(e, s1.as_ref(), s2.as_ref());
        self.k.copy_from_slice(parts.k);
        self.tr = parts.tr;
        sample::expand_a::<P, E>(e, &parts.rho, 0..P::K * P::L, &mut self.a_hat, None);
    }

    /// A row of Â of a key in the making.
    #[cfg(feature = "alloc")]
    pub(crate) fn set_row(&mut self, number: usize, row: &[Poly]) {
        self.a_hat.flat_mut()[number * P::L..][..P::L].copy_from_slice(row);
    }

    /// The rest of it: s1, s2 and t0, K, tr.
    #[cfg(feature = "alloc")]
    pub(crate) fn set<E: Engine>(&mut self, e: E, vectors: [&[Poly]; 3], k: &[u8], tr: &[u8; 64]) {
        let [s1, s2, t0] = vectors;
        self.t0_hat.as_mut().copy_from_slice(t0);
        self.prepare(e, s1, s2);
        self.k.copy_from_slice(k);
        self.tr = *tr;
    }

    /// s1 and s2 as the products take them; t0, which is in its place, transformed.
    fn prepare<E: Engine>(&mut self, e: E, s1: &[Poly], s2: &[Poly]) {
        for (p, small) in s1.iter().zip(self.s1.as_mut()) {
            small.set(p, P::ETA);
        }
        for (p, small) in s2.iter().zip(self.s2.as_mut()) {
            small.set(p, P::ETA);
        }
        for p in self.t0_hat.as_mut() {
            e.ntt(p);
        }
    }
}

/// What an attempt computes; all of it secret until the attempt is accepted, wiped at the end.
pub(crate) struct Trial<P: ParameterSet> {
    /// y, then z.
    pub(crate) z: Secret<P::VecL>,
    /// w, then its low part, then low − c·s2, then the hints.
    pub(super) low: Secret<P::VecK>,
    pub(super) w1: Secret<P::VecK>,
    c_tilde: Secret<[u8; 64]>,
    /// c, and its transform once an attempt gets as far as c·t0.
    pub(super) c: Secret<[Poly; 1]>,
    pub(super) c_offsets: Secret<Offsets>,
}

impl<P: ParameterSet> Trial<P> {
    pub(crate) fn zero() -> Self {
        Trial {
            z: Secret::zero(),
            low: Secret::zero(),
            w1: Secret::zero(),
            c_tilde: Secret::zero(),
            c: Secret::zero(),
            c_offsets: Secret::zero(),
        }
    }

    /// Steps 11 to 13 from y on: w1Encode's string goes to `packed`, row after row.
    pub(crate) fn commit<E: Engine>(
        &mut self,
        e: E,
        key: &Material<P>,
        scratch: &mut Scratch<P>,
        mut packed: impl FnMut(&[u8]),
    ) {
        let y_hat = scratch.y_hat.as_mut();
        for (y, y_hat) in self.z.as_ref().iter().zip(&mut *y_hat) {
            *y_hat = *y;
            e.ntt(y_hat);
        }
        let rows = key.a_hat.flat().chunks_exact(P::L);
        let outputs = self.low.as_mut().iter_mut().zip(self.w1.as_mut());
        for (row, (w, w1)) in rows.zip(outputs) {
            e.dot(row, y_hat, w);
            e.inverse_ntt(w);
            e.split::<P>(w, w1);
            let len = encode::w1::<P, E>(e, w1, &mut scratch.packed);
            packed(&scratch.packed[..len]);
        }
    }

    /// Steps 11 to 16 from y on, by itself.
    pub(crate) fn start<E: Engine>(
        &mut self,
        e: E,
        key: &Material<P>,
        mu: &[u8; 64],
        scratch: &mut Scratch<P>,
    ) {
        let mut hash = Shake256::new(e.permutation()).absorb(mu);
        self.commit(e, key, scratch, |packed| hash.update(packed));
        self.set_c_tilde(&mut hash.finish());
        let (c_tilde, challenge) = self.challenge();
        let hash = Shake256::new(e.permutation()).absorb(c_tilde);
        challenge.set::<P>(&mut hash.finish());
    }

    /// Step 15: c_tilde from the output of H(mu ‖ w1Encode(w1)).
    pub(crate) fn set_c_tilde(&mut self, reader: &mut Shake256Reader) {
        reader.squeeze(&mut self.c_tilde[..P::C_TILDE_BYTES]);
        public_slice(Site::Challenge, self.c_tilde.as_mut());
    }

    /// c_tilde, and what step 16 makes of the output of H(c_tilde).
    pub(crate) fn challenge(&mut self) -> (&[u8], Challenge<'_>) {
        let Trial {
            c_tilde,
            c,
            c_offsets,
            ..
        } = self;
        let challenge = Challenge {
            c: &mut c[0],
            offsets: c_offsets,
        };
        (&c_tilde[..P::C_TILDE_BYTES], challenge)
    }

    /// Step 33: sigEncode of an accepted attempt.
    pub(crate) fn signature<E: Engine>(&mut self, e: E) -> P::SignatureBytes {
        public_slice(Site::Hint, self.low.as_mut());
        encode::signature::<P, E>(
            e,
            &self.c_tilde[..P::C_TILDE_BYTES],
            self.z.as_ref(),
            self.low.as_ref(),
        )
    }
}

/// Where an attempt's challenge goes.
pub(crate) struct Challenge<'a> {
    c: &'a mut Poly,
    offsets: &'a mut Offsets,
}

impl Challenge<'_> {
    /// Step 16 from the output of H(c_tilde).
    pub(crate) fn set<P: ParameterSet>(self, reader: &mut Shake256Reader) {
        let mut terms = Terms::new(self.offsets);
        in_ball_steps::<P>(reader, self.c, |i, j, negative| terms.step(i, j, negative));
    }
}

/// Room that no attempt needs beyond a step; secrets pass through it.
pub(crate) struct Scratch<P: ParameterSet> {
    y_hat: Secret<P::VecL>,
    pub(super) product: Secret<[Poly; 1]>,
    packed: Secret<[u8; 192]>,
}

impl<P: ParameterSet> Scratch<P> {
    pub(crate) fn zero() -> Self {
        Scratch {
            y_hat: Secret::zero(),
            product: Secret::zero(),
            packed: Secret::zero(),
        }
    }
}

/// Steps 6 to 33. Tries at most `max_attempts` and never more than [`MAX_ATTEMPTS`].
pub(crate) fn sign<P: ParameterSet, E: Engine, O: Observer>(
    e: E,
    key: &Material<P>,
    mu: &[u8; 64],
    rnd: &[u8; 32],
    max_attempts: u32,
    observer: &mut O,
) -> Result<P::SignatureBytes, Error> {
    let rho_second = Secret(h::<64>(e.permutation(), &[key.k.as_ref(), rnd, mu]));
    let mut masks = MaskStream::new::<P>(0);
    let mut trial = Trial::<P>::zero();
    let mut scratch = Scratch::<P>::zero();
    let allowed = max_attempts.min(MAX_ATTEMPTS);
    for attempt in 0..allowed {
        masks.next::<P, E>(e, &rho_second, trial.z.as_mut());
        trial.start(e, key, mu, &mut scratch);
        let accepted = if O::TRACING {
            let kappa = sample::first_nonce::<P>(attempt);
            check_all(e, key, kappa, &mut trial, &mut scratch, observer)
        } else {
            check(e, key, &mut trial, &mut scratch)
        };
        if accepted {
            return Ok(trial.signature(e));
        }
    }
    Err(Error::TooManyAttempts { allowed })
}

/// Steps 18 to 28, one polynomial at a time, ending at the first that fails: r0 first, because
/// one of its polynomials fails more often than one of z. Which check ended an attempt is public
/// (FIPS 204, section 3.2 and the proof of the scheme); the values are not.
pub(crate) fn check<P: ParameterSet, E: Engine>(
    e: E,
    key: &Material<P>,
    trial: &mut Trial<P>,
    scratch: &mut Scratch<P>,
) -> bool {
    let product = &mut scratch.product[0];
    for (s2, low) in key.s2.as_ref().iter().zip(trial.low.as_mut()) {
        e.small_product::<P>(&trial.c_offsets, s2, product);
        let fails = e.subtract_center(low, product, P::GAMMA2 - P::BETA);
        if public(Site::RejectedByR0, fails) {
            return false;
        }
    }
    for (s1, z) in key.s1.as_ref().iter().zip(trial.z.as_mut()) {
        e.small_product::<P>(&trial.c_offsets, s1, product);
        let fails = e.add_center(z, product, P::GAMMA1 - P::BETA);
        if public(Site::RejectedByZ, fails) {
            return false;
        }
    }
    let c_hat = &mut trial.c[0];
    e.ntt(c_hat);
    let mut weight = 0;
    let rows = trial.low.as_mut().iter_mut().zip(trial.w1.as_ref());
    for (t0_hat, (low, w1)) in key.t0_hat.as_ref().iter().zip(rows) {
        e.product(c_hat, t0_hat, product);
        e.inverse_ntt(product);
        if public(Site::RejectedByCt0, e.center(product, P::GAMMA2)) {
            return false;
        }
        // Both summands are below γ2, so the sum is centered as it is.
        e.add_center(low, product, i32::MAX);
        e.make_hint::<P>(low, w1);
        weight += low.0.iter().sum::<i32>();
        if public(Site::RejectedByHint, weight > P::OMEGA as i32) {
            return false;
        }
    }
    true
}

/// The same steps with every check carried out on every polynomial, for a trace.
fn check_all<P: ParameterSet, E: Engine, O: Observer>(
    e: E,
    key: &Material<P>,
    kappa: u16,
    trial: &mut Trial<P>,
    scratch: &mut Scratch<P>,
    observer: &mut O,
) -> bool {
    let product = &mut scratch.product[0];
    let mut attempt = Attempt::new(kappa);
    for (i, (s1, z)) in key.s1.as_ref().iter().zip(trial.z.as_mut()).enumerate() {
        e.small_product::<P>(&trial.c_offsets, s1, product);
        let fails = e.add_center(z, product, P::GAMMA1 - P::BETA);
        if public(Site::RejectedByZ, fails) {
            attempt.fail(Check::Z, i);
        }
    }
    let c_hat = &mut trial.c[0];
    e.ntt(c_hat);
    let mut weight = 0;
    let keys = key.s2.as_ref().iter().zip(key.t0_hat.as_ref());
    let rows = trial.low.as_mut().iter_mut().zip(trial.w1.as_ref());
    for (i, ((s2, t0_hat), (low, w1))) in keys.zip(rows).enumerate() {
        e.small_product::<P>(&trial.c_offsets, s2, product);
        let fails = e.subtract_center(low, product, P::GAMMA2 - P::BETA);
        if public(Site::RejectedByR0, fails) {
            attempt.fail(Check::R0, i);
        }
        e.product(c_hat, t0_hat, product);
        e.inverse_ntt(product);
        if public(Site::RejectedByCt0, e.center(product, P::GAMMA2)) {
            attempt.fail(Check::Ct0, i);
        }
        e.make_hint_any::<P>(low, product, w1);
        weight += low.0.iter().sum::<i32>();
        if public(Site::RejectedByHint, weight > P::OMEGA as i32) {
            attempt.fail(Check::Hint, i);
        }
    }
    observer.attempt(attempt);
    attempt.accepted()
}
