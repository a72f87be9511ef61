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

impl<P: ParameterSet> Material<P> {
    /// The rows of Â, each with its polynomial of NTT(t1·2^d).
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[Poly], &Poly)> {
        let rows = self.a_hat.flat().chunks_exact(P::L);
        rows.zip(self.t1_hat.as_ref())
    }
}

/// Step 2: sigDecode and the norm of z, which `z` holds transformed in the end. Gives c_tilde, or
/// nothing if the signature is malformed.
#[must_use]
pub(crate) fn decode<'a, P: ParameterSet, E: Engine>(
    e: E,
    sig: &'a [u8],
    z: &mut [Poly],
    hint: &mut [Poly],
) -> Option<&'a [u8]> {
    let c_tilde = encode::read_signature::<P, E>(e, sig, z, hint)?;
    for p in z {
        if e.exceeds(p, P::GAMMA1 - P::BETA) {
            return None;
        }
        e.ntt(p);
    }
    Some(c_tilde)
}

/// Steps 9 and 10, and w1Encode, for one row; gives the length of the string in `packed`.
pub(crate) fn row<P: ParameterSet, E: Engine>(
    e: E,
    (a_row, t1_hat): (&[Poly], &Poly),
    z: &[Poly],
    c_hat: &Poly,
    hint: &Poly,
    w: &mut Poly,
    packed: &mut [u8; 192],
) -> usize {
    e.dot_minus(a_row, z, c_hat, t1_hat, w);
    e.inverse_ntt(w);
    e.use_hint::<P>(w, hint);
    encode::w1::<P, E>(e, w, packed)
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
    let c_tilde = decode::<P, E>(e, sig.as_ref(), z.as_mut(), hint.as_mut())
        .ok_or(Error::InvalidSignature)?;
    let mut c_hat = Poly::zero();
    in_ball::<P>(e.permutation(), c_tilde, &mut c_hat);
    e.ntt(&mut c_hat);

    let mut hash = Shake256::new(e.permutation()).absorb(mu);
    let mut packed = [0; 192];
    let mut w = Poly::zero();
    for (key_row, hint) in key.rows().zip(hint.as_ref()) {
        let z = z.as_ref();
        let len = row::<P, E>(e, key_row, z, &c_hat, hint, &mut w, &mut packed);
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
