//! Byte forms of keys, signatures and w1 (FIPS 204, section 7.2).

use crate::backend::Engine;
use crate::kernels::packing::{HintBits, Map, hint_is_valid, pack_hint, unpack_hint_row};
use crate::kernels::poly::{Poly, Zero};
use crate::params::{D, Parameters};
use crate::scheme::shapes::Shapes;

/// Bits of a packed coefficient of t1: bitlen(q − 1) − d.
const T1_BITS: usize = 10;
const T0_BITS: usize = D as usize;

/// Bytes of w1Encode's string, at most: 768, 768 and 1,024.
const MOST_W1_BYTES: usize = 1024;

/// Bytes of the hints' string, at most: 84, 61 and 83.
const MOST_HINT_BYTES: usize = 84;

/// Most rows: k of ML-DSA-87.
const MOST_ROWS: usize = 8;

/// Bytes of mu.
pub(crate) const MU_BYTES: usize = 64;

/// Room for mu ‖ w1Encode(w1), of which c_tilde is the hash.
pub(crate) type Committed = [u8; MU_BYTES + MOST_W1_BYTES];

/// Bytes of it when so many rows of w1 are there.
pub(crate) const fn committed_bytes<P: Parameters>(rows: usize) -> usize {
    MU_BYTES + 32 * P::W1_BITS * rows
}

/// ρ, with which private and public keys begin.
pub(crate) fn rho_of(key: &[u8]) -> &[u8; 32] {
    key.first_chunk().expect("a key has the set's length")
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

/// The part of pkDecode (Algorithm 23) that verification needs: a polynomial of t1·2^d.
pub(crate) fn read_t1_scaled<E: Engine>(e: E, pk: &[u8], row: usize, t1: &mut Poly) {
    let at = verifying_key_rows(pk, row).len();
    e.unpack(T1_BITS, &pk[at..at + 32 * T1_BITS], Map::Scaled, t1);
}

/// The fields of skEncode's string (Algorithm 24), by reference.
pub(crate) struct SigningKeyParts<'a> {
    pub(crate) rho: &'a [u8; 32],
    pub(crate) k: &'a [u8],
    pub(crate) tr: &'a [u8; 64],
    /// s1, then s2.
    secrets: &'a [u8],
    t0: &'a [u8],
}

impl<'a> SigningKeyParts<'a> {
    /// `sk` has the set's length.
    pub(crate) fn split<P: Parameters>(sk: &'a [u8]) -> Self {
        let (secrets, t0) = sk[128..].split_at(32 * P::ETA_BITS * (P::L + P::K));
        SigningKeyParts {
            rho: rho_of(sk),
            k: Self::k_of(sk),
            tr: Self::tr_of(sk),
            secrets,
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

    /// Polynomial number `i` of s1 and, after it, s2 (Algorithm 25). Coefficients outside [-η, η]
    /// come out as they stand; `keygen::recover` tells.
    pub(crate) fn read_secret<P: Parameters, E: Engine>(&self, e: E, i: usize, p: &mut Poly) {
        let len = 32 * P::ETA_BITS;
        let from = &self.secrets[i * len..][..len];
        e.unpack(P::ETA_BITS, from, Map::Below(P::ETA), p);
    }

    /// A polynomial of t0.
    pub(crate) fn read_t0<E: Engine>(&self, e: E, row: usize, p: &mut Poly) {
        let from = &self.t0[row * 32 * T0_BITS..][..32 * T0_BITS];
        e.unpack(T0_BITS, from, Map::Below(1 << (D - 1)), p);
    }
}

/// Where skEncode's string (Algorithm 24) is written, part by part.
pub(crate) struct SigningKeyWriter<'a> {
    head: &'a mut [u8],
    secrets: &'a mut [u8],
    t0: &'a mut [u8],
}

impl<'a> SigningKeyWriter<'a> {
    /// `sk` has the set's length.
    pub(crate) fn new<P: Parameters>(sk: &'a mut [u8]) -> Self {
        let (head, body) = sk.split_at_mut(128);
        let (secrets, t0) = body.split_at_mut(32 * P::ETA_BITS * (P::L + P::K));
        SigningKeyWriter { head, secrets, t0 }
    }

    pub(crate) fn head(&mut self, rho: &[u8; 32], k: &[u8], tr: &[u8; 64]) {
        self.head[..32].copy_from_slice(rho);
        self.head[32..64].copy_from_slice(k);
        self.head[64..].copy_from_slice(tr);
    }

    /// s1 and s2.
    pub(crate) fn secrets<P: Parameters, E: Engine>(&mut self, e: E, s1: &[Poly], s2: &[Poly]) {
        let strings = self.secrets.chunks_exact_mut(32 * P::ETA_BITS);
        for (p, out) in s1.iter().chain(s2).zip(strings) {
            e.pack(P::ETA_BITS, p, Map::Below(P::ETA), out);
        }
    }

    /// A polynomial of t0.
    pub(crate) fn t0<E: Engine>(&mut self, e: E, row: usize, p: &Poly) {
        let out = &mut self.t0[row * 32 * T0_BITS..][..32 * T0_BITS];
        e.pack(T0_BITS, p, Map::Below(1 << (D - 1)), out);
    }
}

/// sigEncode (Algorithm 26). z in (-γ1, γ1]; `hint` has at most ω ones.
pub(crate) fn signature<P: Shapes, E: Engine>(
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
    let mut strings = [HintBits::ZERO; MOST_ROWS];
    let strings = &mut strings[..P::K];
    for (p, bits) in hint.iter().zip(&mut *strings) {
        e.pack(1, p, Map::Same, bits);
    }
    pack_hint(strings, P::OMEGA, hint_bytes);
    sig
}

/// `c_tilde`, with which a signature begins.
pub(crate) fn c_tilde_of<P: Parameters>(sig: &[u8]) -> &[u8] {
    &sig[..P::C_TILDE_BYTES]
}

/// z of sigDecode (Algorithm 27).
pub(crate) fn read_z<P: Parameters, E: Engine>(e: E, sig: &[u8], z: &mut [Poly]) {
    let (z_bytes, _) = sig[P::C_TILDE_BYTES..].split_at(32 * P::Z_BITS * P::L);
    for (p, from) in z.iter_mut().zip(z_bytes.chunks_exact(32 * P::Z_BITS)) {
        e.unpack(P::Z_BITS, from, Map::Below(P::GAMMA1), p);
    }
}

/// The hints of a signature as their string, which HintBitUnpack (Algorithm 21) may refuse.
#[derive(Clone, Copy)]
pub(crate) struct Hints([u8; MOST_HINT_BYTES]);

impl Zero for Hints {
    const ZERO: Self = Hints([0; MOST_HINT_BYTES]);
}

impl Hints {
    /// Those of `sig`; false if they are malformed.
    #[must_use]
    pub(crate) fn read<P: Parameters>(&mut self, sig: &[u8]) -> bool {
        let string = &mut self.0[..P::OMEGA + P::K];
        string.copy_from_slice(&sig[sig.len() - string.len()..]);
        hint_is_valid(P::OMEGA, string)
    }

    /// The hints of one row, 0 or 1.
    pub(crate) fn row<P: Parameters>(&self, row: usize, p: &mut Poly) {
        unpack_hint_row(P::OMEGA, &self.0[..P::OMEGA + P::K], row, p);
    }
}

/// w1Encode (Algorithm 28): row number `row` goes to its place in `out`.
pub(crate) fn w1<P: Parameters, E: Engine>(e: E, row: usize, p: &Poly, out: &mut [u8]) {
    let len = 32 * P::W1_BITS;
    e.pack(P::W1_BITS, p, Map::Same, &mut out[row * len..][..len]);
}
