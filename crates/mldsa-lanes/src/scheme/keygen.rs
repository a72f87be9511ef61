//! ML-DSA.KeyGen_internal (FIPS 204, Algorithm 6).

use crate::backend::Engine;
use crate::declassify::{Site, public, public_slice};
use crate::error::Error;
use crate::kernels::keccak::{Shake256, h};
use crate::kernels::poly::{Poly, Secret, Zero};
use crate::params::{ParameterSet, PolyMatrix};
use crate::scheme::encode::SigningKeyParts;
use crate::scheme::{encode, sample};

/// Writes `sk` and returns `pk`.
pub(crate) fn keygen<P: ParameterSet, E: Engine>(
    e: E,
    xi: &[u8; 32],
    sk: &mut P::SigningKeyBytes,
) -> P::VerifyingKeyBytes {
    let mut reader = Shake256::new()
        .absorb(xi)
        .absorb(&[P::K as u8, P::L as u8])
        .finish();
    let rho: [u8; 32] = public(Site::Rho, reader.read());
    let rho_prime = Secret(reader.read::<64>());
    let k = Secret(reader.read::<32>());

    let mut s1 = Secret::<P::VecL>::zero();
    let mut s2 = Secret::<P::VecK>::zero();
    sample::expand_s::<P, E>(e, &rho_prime, s1.as_mut(), s2.as_mut());

    let mut t0 = Secret::<P::VecK>::zero();
    let t1 = public_t::<P, E>(e, &rho, &s1, &s2, &mut t0);
    let pk = encode::verifying_key::<P>(&rho, t1.as_ref());
    let tr = h::<64>(&[pk.as_ref()]);
    encode::signing_key::<P>(
        &rho,
        k.as_ref(),
        &tr,
        s1.as_ref(),
        s2.as_ref(),
        t0.as_ref(),
        sk,
    );
    pk
}

/// t = A·s1 + s2, split: returns t1, writes t0 (steps 3 to 6).
fn public_t<P: ParameterSet, E: Engine>(
    e: E,
    rho: &[u8; 32],
    s1: &P::VecL,
    s2: &P::VecK,
    t0: &mut P::VecK,
) -> P::VecK {
    let mut a_hat = P::Matrix::zero();
    sample::expand_a::<P, E>(e, rho, &mut a_hat);
    let mut s1_hat = Secret(s1.clone());
    for p in s1_hat.as_mut() {
        e.ntt(p);
    }
    let mut t1 = P::VecK::zero();
    let rows = a_hat.flat().chunks_exact(P::L);
    let outputs = t0.as_mut().iter_mut().zip(t1.as_mut());
    for ((row, s2), (t, t1)) in rows.zip(s2.as_ref()).zip(outputs) {
        e.dot(row, s1_hat.as_ref(), t);
        e.inverse_ntt(t);
        // Any representative in (-q, q) serves; the bound asks nothing.
        e.add_center(t, s2, i32::MAX);
        e.power2round(t, t1);
    }
    public_slice(Site::PublicKey, t1.as_mut());
    t1
}

/// Whether every coefficient is in [-η, η].
fn secrets_in_range<P: ParameterSet, E: Engine>(e: E, s: &[Poly]) -> bool {
    // No early end: which coefficient is out of range stays unknown.
    let ok = s.iter().fold(true, |ok, p| ok & !e.exceeds(p, P::ETA + 1));
    public(Site::KeyImport, ok)
}

/// Whether two vectors of one length differ, without an early end.
fn differ(a: &[Poly], b: &[Poly]) -> bool {
    let pairs = a.iter().zip(b).flat_map(|(a, b)| a.0.iter().zip(&b.0));
    pairs.fold(0, |difference, (a, b)| difference | (a ^ b)) != 0
}

/// The public key that belongs to a private key read from bytes, after checking that the bytes
/// are what key generation would have written.
pub(crate) fn recover<P: ParameterSet, E: Engine>(
    e: E,
    parts: &SigningKeyParts<'_>,
) -> Result<P::VerifyingKeyBytes, Error> {
    let mut s1 = Secret::<P::VecL>::zero();
    let mut s2 = Secret::<P::VecK>::zero();
    let mut stored_t0 = Secret::<P::VecK>::zero();
    parts.read::<P>(s1.as_mut(), s2.as_mut(), stored_t0.as_mut());
    if !secrets_in_range::<P, E>(e, s1.as_ref()) || !secrets_in_range::<P, E>(e, s2.as_ref()) {
        return Err(Error::InvalidSigningKey(
            "s1 or s2 has a coefficient beyond η",
        ));
    }
    let mut t0 = Secret::<P::VecK>::zero();
    let t1 = public_t::<P, E>(e, &parts.rho, &s1, &s2, &mut t0);
    if public(Site::KeyImport, differ(t0.as_ref(), stored_t0.as_ref())) {
        return Err(Error::InvalidSigningKey(
            "t0 does not belong to rho, s1 and s2",
        ));
    }
    let pk = encode::verifying_key::<P>(&parts.rho, t1.as_ref());
    if h::<64>(&[pk.as_ref()]) != parts.tr {
        return Err(Error::InvalidSigningKey(
            "tr is not the hash of the public key",
        ));
    }
    Ok(pk)
}
