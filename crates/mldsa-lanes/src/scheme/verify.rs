//! ML-DSA.Verify_internal (FIPS 204, Algorithm 8).

use crate::backend::Engine;
use crate::error::Error;
use crate::kernels::poly::{Poly, Zero};
use crate::kernels::sampling::in_ball;
use crate::kernels::sponge::{Shadow, ShadowHash, Shake256};
use crate::params::{ParameterSet, PolyMatrix};
use crate::scheme::{encode, sample};

/// The public key with everything that does not depend on message and signature.
#[derive(Clone)]
pub(crate) struct Material<P: ParameterSet> {
    a_hat: P::Matrix,
    /// NTT(t1·2^d).
    t1_hat: P::VecK,
    pub(crate) tr: [u8; 64],
}

impl<P: ParameterSet> Material<P> {
    /// To be filled where it stays: it is large to move.
    pub(crate) fn zero() -> Self {
        Self {
            a_hat: P::Matrix::zero(),
            t1_hat: P::VecK::zero(),
            tr: [0; 64],
        }
    }

    /// From pkEncode's bytes, of the set's length (steps 1, 5 and 6).
    pub(crate) fn fill<E: Engine>(&mut self, e: E, pk: &[u8]) {
        encode::read_t1_scaled(e, pk, self.t1_hat.as_mut());
        for p in self.t1_hat.as_mut() {
            e.ntt(p);
        }
        let mut tr = ShadowHash::new(e.permutation());
        let mut shadow = Shadow {
            hash: &mut tr,
            known: pk,
            complete: true,
        };
        sample::expand_a::<P, E>(
            e,
            &encode::array(pk, 0),
            0..P::K * P::L,
            &mut self.a_hat,
            Some(&mut shadow),
        );
        self.tr = tr.finish(pk);
    }
}

/// Steps 2 to 13. Everything here is public.
pub(crate) fn verify<P: ParameterSet, E: Engine>(
    e: E,
    key: &Material<P>,
    mu: &[u8; 64],
    sig: &P::SignatureBytes,
) -> Result<(), Error> {
    let mut z = P::VecL::zero();
    let mut hint = P::VecK::zero();
    let c_tilde = encode::read_signature::<P, E>(e, sig.as_ref(), z.as_mut(), hint.as_mut())
        .ok_or(Error::InvalidSignature)?;
    for p in z.as_mut() {
        if e.exceeds(p, P::GAMMA1 - P::BETA) {
            return Err(Error::InvalidSignature);
        }
        e.ntt(p);
    }
    let mut c_hat = Poly::zero();
    in_ball::<P>(e.permutation(), c_tilde, &mut c_hat);
    e.ntt(&mut c_hat);

    let mut hash = Shake256::new(e.permutation()).absorb(mu);
    let mut packed = [0; 192];
    let mut w = Poly::zero();
    let rows = key.a_hat.flat().chunks_exact(P::L);
    for ((row, t1_hat), hint) in rows.zip(key.t1_hat.as_ref()).zip(hint.as_ref()) {
        e.dot_minus(row, z.as_ref(), &c_hat, t1_hat, &mut w);
        e.inverse_ntt(&mut w);
        e.use_hint::<P>(&mut w, hint);
        let len = encode::w1::<P, E>(e, &w, &mut packed);
        hash.update(&packed[..len]);
    }
    let mut expected = [0; 64];
    let expected = &mut expected[..P::C_TILDE_BYTES];
    hash.finish().squeeze(expected);
    if expected == c_tilde {
        Ok(())
    } else {
        Err(Error::InvalidSignature)
    }
}
