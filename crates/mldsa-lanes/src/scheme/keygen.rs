//! ML-DSA.KeyGen_internal (FIPS 204, Algorithm 6).

use crate::backend::Engine;
use crate::declassify::{Site, public, public_slice};
use crate::error::Error;
use crate::kernels::poly::{Poly, Secret, Zero};
use crate::kernels::sponge::{Shadow, ShadowHash, Shake256};
use crate::params::{ParameterSet, PolyMatrix};
use crate::scheme::encode::SigningKeyParts;
use crate::scheme::{encode, sample};

/// Writes `sk` and returns `pk`.
pub(crate) fn keygen<P: ParameterSet, E: Engine>(
    e: E,
    xi: &[u8; 32],
    sk: &mut P::SigningKeyBytes,
) -> P::VerifyingKeyBytes {
    let mut reader = Shake256::new(e.permutation())
        .absorb(xi)
        .absorb(&[P::K as u8, P::L as u8])
        .finish();
    let rho: [u8; 32] = public(Site::Rho, reader.read());
    let rho_prime = Secret(reader.read::<64>());
    let k = Secret(reader.read::<32>());

    let mut s1 = Secret::<P::VecL>::zero();
    let mut s2 = Secret::<P::VecK>::zero();
    sample::expand_s::<P, E>(e, &rho_prime, s1.as_mut(), s2.as_mut());
    let (s1, s2) = (s1.as_ref(), s2.as_ref());

    let mut t0 = Secret::<P::VecK>::zero();
    let (pk, tr) = public_key::<P, E>(e, &rho, s1, s2, t0.as_mut());
    encode::signing_key::<P, E>(e, &rho, k.as_ref(), &tr, [s1, s2, t0.as_ref()], sk);
    pk
}

/// t = A·s1 + s2, split: returns pk and tr, writes t0 (steps 3 to 9). As soon as a row of Â is
/// there, its row of t1 is packed, and hashed in the shadow of the next rows.
fn public_key<P: ParameterSet, E: Engine>(
    e: E,
    rho: &[u8; 32],
    s1: &[Poly],
    s2: &[Poly],
    t0: &mut [Poly],
) -> (P::VerifyingKeyBytes, [u8; 64]) {
    let mut s1_hat = Secret::<P::VecL>::zero();
    s1_hat.as_mut().copy_from_slice(s1);
    for p in s1_hat.as_mut() {
        e.ntt(p);
    }
    let mut pk = encode::verifying_key_start::<P>(rho);
    let mut tr = ShadowHash::new(e.permutation());
    let mut a_hat = P::Matrix::zero();
    let mut t1 = Poly::zero();
    let mut rows = 0;
    for start in (0..P::K * P::L).step_by(E::STATES) {
        let end = (start + E::STATES).min(P::K * P::L);
        let mut shadow = Shadow {
            hash: &mut tr,
            known: encode::verifying_key_rows(pk.as_ref(), rows),
            complete: false,
        };
        sample::expand_a::<P, E>(e, rho, start..end, &mut a_hat, Some(&mut shadow));
        while (rows + 1) * P::L <= end {
            let a_row = &a_hat.flat()[rows * P::L..][..P::L];
            let t = &mut t0[rows];
            row::<E>(e, a_row, s1_hat.as_ref(), &s2[rows], t, &mut t1);
            encode::verifying_key_row(e, pk.as_mut(), rows, &t1);
            rows += 1;
        }
    }
    let tr = tr.finish(pk.as_ref());
    (pk, tr)
}

/// A row of t = A·s1 + s2, split into t0, which is `t` in the end, and t1.
pub(crate) fn row<E: Engine>(
    e: E,
    a_row: &[Poly],
    s1_hat: &[Poly],
    s2: &Poly,
    t: &mut Poly,
    t1: &mut Poly,
) {
    e.dot(a_row, s1_hat, t);
    e.inverse_ntt(t);
    // Any representative in (-q, q) serves; the bound asks nothing.
    e.add_center(t, s2, i32::MAX);
    e.power2round(t, t1);
    public_slice(Site::PublicKey, &mut t1.0);
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
    parts.read::<P, E>(e, s1.as_mut(), s2.as_mut(), stored_t0.as_mut());
    if !secrets_in_range::<P, E>(e, s1.as_ref()) || !secrets_in_range::<P, E>(e, s2.as_ref()) {
        return Err(Error::InvalidSigningKey(
            "s1 or s2 has a coefficient beyond η",
        ));
    }
    let mut t0 = Secret::<P::VecK>::zero();
    let (pk, tr) = public_key::<P, E>(e, &parts.rho, s1.as_ref(), s2.as_ref(), t0.as_mut());
    if public(Site::KeyImport, differ(t0.as_ref(), stored_t0.as_ref())) {
        return Err(Error::InvalidSigningKey(
            "t0 does not belong to rho, s1 and s2",
        ));
    }
    if tr != parts.tr {
        return Err(Error::InvalidSigningKey(
            "tr is not the hash of the public key",
        ));
    }
    Ok(pk)
}
