//! Byte forms of keys, signatures and w1 (FIPS 204, section 7.2).

use crate::backend::Engine;
use crate::kernels::packing::{Map, pack_hint, unpack_hint};
use crate::kernels::poly::{Poly, Zero};
use crate::params::{D, N, ParameterSet};

/// Bits of a packed coefficient of t1: bitlen(q − 1) − d.
const T1_BITS: usize = 10;
const T0_BITS: usize = D as usize;

/// `N` bytes at `at`, as an array.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// The head of pkEncode (Algorithm 22).
pub(crate) fn verifying_key_start<P: ParameterSet>(rho: &[u8; 32]) -> P::VerifyingKeyBytes {
    let mut pk = P::VerifyingKeyBytes::zero();
    pk.as_mut()[..32].copy_from_slice(rho);
    pk
}

/// Polynomial number `row` of t1 in pkEncode.
pub(crate) fn verifying_key_row<E: Engine>(e: E, pk: &mut [u8], row: usize, t1: &Poly) {
    let at = verifying_key_rows(pk, row).len();
    e.pack(T1_BITS, t1, Map::Same, &mut pk[at..at + 32 * T1_BITS]);
}

/// pkEncode's string up to the first `rows` polynomials of t1.
pub(crate) fn verifying_key_rows(pk: &[u8], rows: usize) -> &[u8] {
    &pk[..32 + 32 * T1_BITS * rows]
}

/// The part of pkDecode (Algorithm 23) that verification needs: t1·2^d.
pub(crate) fn read_t1_scaled<E: Engine>(e: E, pk: &[u8], t1: &mut [Poly]) {
    for (row, p) in t1.iter_mut().enumerate() {
        read_t1_scaled_row(e, pk, row, p);
    }
}

/// The same for one polynomial.
pub(crate) fn read_t1_scaled_row<E: Engine>(e: E, pk: &[u8], row: usize, t1: &mut Poly) {
    let at = verifying_key_rows(pk, row).len();
    e.unpack(T1_BITS, &pk[at..at + 32 * T1_BITS], Map::Scaled, t1);
}

/// The fields of skEncode's string (Algorithm 24), by reference.
pub(crate) struct SigningKeyParts<'a> {
    pub(crate) rho: [u8; 32],
    pub(crate) k: &'a [u8],
    pub(crate) tr: [u8; 64],
    s1: &'a [u8],
    s2: &'a [u8],
    t0: &'a [u8],
}

impl<'a> SigningKeyParts<'a> {
    /// `sk` has the set's length.
    pub(crate) fn of<P: ParameterSet>(sk: &'a [u8]) -> Self {
        let (secret, t0) = sk[128..].split_at(32 * P::ETA_BITS * (P::L + P::K));
        let (s1, s2) = secret.split_at(32 * P::ETA_BITS * P::L);
        SigningKeyParts {
            rho: array(sk, 0),
            k: &sk[32..64],
            tr: array(sk, 64),
            s1,
            s2,
            t0,
        }
    }

    /// K of `sk`, 32 bytes.
    pub(crate) fn k_of(sk: &[u8]) -> &[u8] {
        &sk[32..64]
    }

    /// tr of `sk`.
    pub(crate) fn tr_of(sk: &[u8]) -> &[u8; 64] {
        sk[64..].first_chunk().expect("sk has the set's length")
    }

    /// s1, s2 and t0 (Algorithm 25). Coefficients of s1 and s2 outside [-η, η] come out as they
    /// stand; `secrets_in_range` tells.
    pub(crate) fn read<P: ParameterSet, E: Engine>(
        &self,
        e: E,
        s1: &mut [Poly],
        s2: &mut [Poly],
        t0: &mut [Poly],
    ) {
        let eta_bytes = 32 * P::ETA_BITS;
        let secrets = s1.iter_mut().chain(s2);
        let strings = self
            .s1
            .chunks_exact(eta_bytes)
            .chain(self.s2.chunks_exact(eta_bytes));
        for (p, from) in secrets.zip(strings) {
            e.unpack(P::ETA_BITS, from, Map::Below(P::ETA), p);
        }
        for (p, from) in t0.iter_mut().zip(self.t0.chunks_exact(32 * T0_BITS)) {
            e.unpack(T0_BITS, from, Map::Below(1 << (D - 1)), p);
        }
    }
}

/// skEncode (Algorithm 24).
pub(crate) fn signing_key<P: ParameterSet, E: Engine>(
    e: E,
    rho: &[u8; 32],
    k: &[u8],
    tr: &[u8; 64],
    [s1, s2, t0]: [&[Poly]; 3],
    sk: &mut P::SigningKeyBytes,
) {
    let (head, body) = sk.as_mut().split_at_mut(128);
    head[..32].copy_from_slice(rho);
    head[32..64].copy_from_slice(k);
    head[64..].copy_from_slice(tr);
    let (secret, low) = body.split_at_mut(32 * P::ETA_BITS * (P::L + P::K));
    for (p, out) in s1
        .iter()
        .chain(s2)
        .zip(secret.chunks_exact_mut(32 * P::ETA_BITS))
    {
        e.pack(P::ETA_BITS, p, Map::Below(P::ETA), out);
    }
    for (p, out) in t0.iter().zip(low.chunks_exact_mut(32 * T0_BITS)) {
        e.pack(T0_BITS, p, Map::Below(1 << (D - 1)), out);
    }
}

/// sigEncode (Algorithm 26). z in (-γ1, γ1]; `hint` has at most ω ones.
pub(crate) fn signature<P: ParameterSet, E: Engine>(
    e: E,
    c_tilde: &[u8],
    z: &[Poly],
    hint: &[Poly],
) -> P::SignatureBytes {
    let mut sig = P::SignatureBytes::zero();
    let (head, body) = sig.as_mut().split_at_mut(P::C_TILDE_BYTES);
    head.copy_from_slice(c_tilde);
    let (z_bytes, hint_bytes) = body.split_at_mut(32 * P::Z_BITS * P::L);
    for (p, out) in z.iter().zip(z_bytes.chunks_exact_mut(32 * P::Z_BITS)) {
        e.pack(P::Z_BITS, p, Map::Below(P::GAMMA1), out);
    }
    let bits = hint.iter().map(|p| {
        let mut bits = [0; N / 8];
        e.pack(1, p, Map::Same, &mut bits);
        bits
    });
    pack_hint(bits, P::OMEGA, hint_bytes);
    sig
}

/// sigDecode (Algorithm 27): `c_tilde`, or nothing if the hints are malformed.
#[must_use]
pub(crate) fn read_signature<'a, P: ParameterSet, E: Engine>(
    e: E,
    sig: &'a [u8],
    z: &mut [Poly],
    hint: &mut [Poly],
) -> Option<&'a [u8]> {
    let (c_tilde, body) = sig.split_at(P::C_TILDE_BYTES);
    let (z_bytes, hint_bytes) = body.split_at(32 * P::Z_BITS * P::L);
    for (p, from) in z.iter_mut().zip(z_bytes.chunks_exact(32 * P::Z_BITS)) {
        e.unpack(P::Z_BITS, from, Map::Below(P::GAMMA1), p);
    }
    unpack_hint(hint, P::OMEGA, hint_bytes).then_some(c_tilde)
}

/// w1Encode (Algorithm 28) of one polynomial: 32·bits bytes.
pub(crate) fn w1<P: ParameterSet, E: Engine>(e: E, p: &Poly, out: &mut [u8; 192]) -> usize {
    let len = 32 * P::W1_BITS;
    e.pack(P::W1_BITS, p, Map::Same, &mut out[..len]);
    len
}
