//! ML-DSA.Verify_internal (FIPS 204, Algorithm 8). Everything here is public.

use crate::backend::{Backend, Engine};
use crate::error::Error;
use crate::kernels::poly::{Poly, Zero};
use crate::kernels::sampling::in_ball_from;
use crate::kernels::sponge::{Shadow, ShadowHash, Shake256, Shake256Reader, h};
use crate::scheme::encode::{self, MOST_W1_BYTES};
use crate::scheme::message::Input;
use crate::scheme::sample::{self, Rows};
use crate::scheme::shapes::Shapes;

/// The public key with everything that does not depend on message and signature.
#[derive(Clone)]
pub struct Material<P: Shapes> {
    a_hat: P::Matrix,
    /// NTT(t1·2^d).
    t1_hat: P::VecK,
    pub(crate) tr: [u8; 64],
}

impl<P: Shapes> Material<P> {
    /// To be filled where it stays: it is large to move.
    pub(crate) const ZERO: Self = Self {
        a_hat: Zero::ZERO,
        t1_hat: Zero::ZERO,
        tr: [0; 64],
    };

    /// From pkEncode's bytes, of the set's length (steps 1, 5 and 6).
    pub(crate) fn fill<E: Engine>(&mut self, e: E, pk: &[u8]) {
        // Algorithm 8, step 1.
        for (row, p) in self.t1_hat.as_mut().iter_mut().enumerate() {
            t1_hat(e, pk, row, p);
        }
        let mut tr = ShadowHash::new(e.permutation());
        let mut shadow = Shadow {
            hash: &mut tr,
            known: pk,
            complete: true,
        };
        let a_hat = self.a_hat.as_mut();
        // Algorithm 8, step 5.
        sample::expand_a::<P, E>(e, encode::rho_of(pk), a_hat, Some(&mut shadow));
        // Algorithm 8, step 6.
        self.tr = tr.finish(pk);
    }

    /// The rows of Â, each with its polynomial of NTT(t1·2^d).
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[Poly], &Poly)> {
        let rows = self.a_hat.as_ref().chunks_exact(P::L);
        rows.zip(self.t1_hat.as_ref())
    }
}

/// A polynomial of NTT(t1·2^d).
pub(crate) fn t1_hat<E: Engine>(e: E, pk: &[u8], row: usize, p: &mut Poly) {
    encode::read_t1_scaled(e, pk, row, p);
    e.ntt(p);
}

/// What a signature says, and what becomes of it.
pub(crate) struct Claim<P: Shapes> {
    /// z, transformed.
    z: P::VecL,
    hint: P::VecK,
    c_hat: Poly,
    /// w1Encode's string.
    w1: [u8; MOST_W1_BYTES],
}

impl<P: Shapes> Claim<P> {
    pub(crate) const ZERO: Self = Claim {
        z: Zero::ZERO,
        hint: Zero::ZERO,
        c_hat: Zero::ZERO,
        w1: Zero::ZERO,
    };

    /// Step 2, sigDecode, and the norm of z: false for a signature that is malformed.
    #[must_use]
    pub(crate) fn decode<E: Engine>(&mut self, e: E, sig: &P::SignatureBytes) -> bool {
        let z = self.z.as_mut();
        // Algorithm 8, steps 2 and 3.
        if !encode::read_signature::<P, E>(e, sig.as_ref(), z, self.hint.as_mut()) {
            return false;
        }
        for p in z {
            // Algorithm 8, step 13: the norm.
            if e.exceeds(p, P::GAMMA1 - P::BETA) {
                return false;
            }
            e.ntt(p);
        }
        true
    }

    /// Step 8 from the output of H(c_tilde).
    pub(crate) fn challenge<E: Engine>(&mut self, e: E, reader: &mut Shake256Reader) {
        // Algorithm 8, step 8.
        in_ball_from::<P>(reader, &mut self.c_hat);
        e.ntt(&mut self.c_hat);
    }

    /// Steps 9 and 10, and w1Encode, for one row; `w` is room for it.
    pub(crate) fn row<E: Engine>(
        &mut self,
        e: E,
        number: usize,
        (a_row, t1_hat): (&[Poly], &Poly),
        w: &mut Poly,
    ) {
        // Algorithm 8, step 9.
        e.dot_minus(a_row, self.z.as_ref(), &self.c_hat, t1_hat, w);
        e.inverse_ntt(w);
        // Algorithm 8, step 10.
        e.use_hint::<P>(w, &self.hint.as_ref()[number]);
        encode::w1::<P, E>(e, number, w, &mut self.w1);
    }

    /// w1Encode's string once every row is there.
    pub(crate) fn w1(&self) -> &[u8] {
        &self.w1[..32 * P::W1_BITS * P::K]
    }

    /// Steps 12 and 13 from the output of H(mu ‖ w1Encode(w1)): whether it begins with c_tilde.
    pub(crate) fn holds(reader: &mut Shake256Reader, sig: &P::SignatureBytes) -> bool {
        let mut expected = [0; 64];
        let expected = &mut expected[..P::C_TILDE_BYTES];
        // Algorithm 8, step 12.
        reader.squeeze(expected);
        // Algorithm 8, step 13: c_tilde.
        *expected == *encode::c_tilde_of::<P>(sig.as_ref())
    }

    /// Steps 2 and 8.
    fn read<E: Engine>(&mut self, e: E, sig: &P::SignatureBytes) -> Result<(), Error> {
        if !self.decode(e, sig) {
            return Err(Error::InvalidSignature);
        }
        let c_tilde = encode::c_tilde_of::<P>(sig.as_ref());
        let hash = Shake256::new(e.permutation()).absorb(c_tilde);
        self.challenge(e, &mut hash.finish());
        Ok(())
    }

    /// Steps 12 and 13.
    fn judge<E: Engine>(&self, e: E, mu: &[u8; 64], sig: &P::SignatureBytes) -> Result<(), Error> {
        let hash = Shake256::new(e.permutation()).absorb(mu).absorb(self.w1());
        if Self::holds(&mut hash.finish(), sig) {
            Ok(())
        } else {
            Err(Error::InvalidSignature)
        }
    }
}

/// Steps 2 to 13 with an expanded key.
pub(crate) fn verify<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    input: &Input<'_>,
    sig: &P::SignatureBytes,
) -> Result<(), Error> {
    // Algorithm 8, step 7.
    let mu = input.mu(e.permutation(), &key.tr)?;
    let mut claim = Claim::<P>::ZERO;
    claim.read(e, sig)?;
    let mut w = Poly::zero();
    for (number, key_row) in key.rows().enumerate() {
        claim.row(e, number, key_row, &mut w);
    }
    claim.judge(e, &mu, sig)
}

/// Steps 1 to 13 with pkEncode's bytes: each row of Â is used as soon as it is sampled, and tr hashed
/// meanwhile.
pub(crate) fn verify_compact<P: Shapes, E: Engine>(
    e: E,
    pk: &[u8],
    input: &Input<'_>,
    sig: &P::SignatureBytes,
) -> Result<(), Error> {
    let source = input.mu_source(e.permutation())?;
    let mut claim = Claim::<P>::ZERO;
    claim.read(e, sig)?;
    let (mut w, mut t1) = (Poly::zero(), Poly::zero());
    let mut tr = ShadowHash::new(e.permutation());
    let mut rows = Rows::ZERO;
    for number in 0..P::K {
        let mut shadow = Shadow {
            hash: &mut tr,
            known: pk,
            complete: true,
        };
        // Algorithm 8, step 5.
        let a_row = rows.next::<P, E>(e, encode::rho_of(pk), &mut shadow);
        // Algorithm 8, step 1.
        t1_hat(e, pk, number, &mut t1);
        claim.row(e, number, (a_row, &t1), &mut w);
    }
    // Algorithm 8, steps 6 and 7.
    let mu = source.mu(e.permutation(), || tr.finish(pk));
    claim.judge(e, &mu, sig)
}

/// tr = H(pk).
pub(crate) fn tr(backend: Backend, pk: &[u8]) -> [u8; 64] {
    h(backend.permutation(), &[pk])
}
