//! Section 7.2: encodings of keys, signatures and w1, Algorithms 22-28.

use crate::Poly;
use crate::convert::{
    bit_pack, bit_unpack, hint_bit_pack, hint_bit_unpack, simple_bit_pack, simple_bit_unpack,
};
use crate::params::{D, Params, Q, bitlen};

const HALF: i64 = 1 << (D - 1);
const T1_MAX: i64 = (1 << (23 - D)) - 1; // 2^(bitlen(q-1) - d) - 1

/// What a private key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretKey {
    pub rho: Vec<u8>,
    /// K
    pub key: Vec<u8>,
    pub tr: Vec<u8>,
    pub s1: Vec<Poly>,
    pub s2: Vec<Poly>,
    pub t0: Vec<Poly>,
}

/// Algorithm 22, pkEncode(rho, t1).
pub fn pk_encode(p: &Params, rho: &[u8], t1: &[Poly]) -> Vec<u8> {
    let mut pk = rho.to_vec(); // 1
    for poly in t1.iter().take(p.k) {
        pk.extend(simple_bit_pack(poly, T1_MAX)); // 3
    }
    pk
}

/// Algorithm 23, pkDecode(pk): (rho, t1). `None` if the length is wrong.
pub fn pk_decode(p: &Params, pk: &[u8]) -> Option<(Vec<u8>, Vec<Poly>)> {
    if pk.len() != p.pk_bytes() {
        return None;
    }
    let (rho, z) = pk.split_at(32); // 1
    let t1 = z
        .chunks(32 * bitlen(T1_MAX))
        .map(|chunk| simple_bit_unpack(chunk, T1_MAX)) // 3: always in the correct range
        .collect();
    Some((rho.to_vec(), t1))
}

/// Algorithm 24, skEncode(rho, K, tr, s1, s2, t0).
pub fn sk_encode(p: &Params, key: &SecretKey) -> Vec<u8> {
    let mut sk = [&key.rho[..], &key.key, &key.tr].concat(); // 1
    for poly in key.s1.iter().take(p.l) {
        sk.extend(bit_pack(poly, p.eta, p.eta)); // 3
    }
    for poly in key.s2.iter().take(p.k) {
        sk.extend(bit_pack(poly, p.eta, p.eta)); // 6
    }
    for poly in key.t0.iter().take(p.k) {
        sk.extend(bit_pack(poly, HALF - 1, HALF)); // 9
    }
    sk
}

/// Algorithm 25, skDecode(sk). As in the standard, s1 and s2 are not checked: coefficients may lie
/// outside `-eta..=eta` if the key did not come from skEncode.
pub fn sk_decode(p: &Params, sk: &[u8]) -> SecretKey {
    assert_eq!(sk.len(), p.sk_bytes(), "private key length");
    let (rho, rest) = sk.split_at(32); // 1
    let (key, rest) = rest.split_at(32);
    let (tr, rest) = rest.split_at(64);
    let small = 32 * bitlen(2 * p.eta);
    let (y, rest) = rest.split_at(p.l * small);
    let (z, w) = rest.split_at(p.k * small);
    let unpack_small = |bytes: &[u8]| -> Vec<Poly> {
        bytes
            .chunks(small)
            .map(|chunk| bit_unpack(chunk, p.eta, p.eta))
            .collect()
    };
    SecretKey {
        rho: rho.to_vec(),
        key: key.to_vec(),
        tr: tr.to_vec(),
        s1: unpack_small(y), // 3: may lie outside [-eta, eta] if the input is malformed
        s2: unpack_small(z), // 6: the same
        t0: w
            .chunks(32 * D as usize)
            .map(|chunk| bit_unpack(chunk, HALF - 1, HALF)) // 9: always in the correct range
            .collect(),
    }
}

/// Algorithm 26, sigEncode(c_tilde, z, h).
pub fn sig_encode(p: &Params, c_tilde: &[u8], z: &[Poly], h: &[Poly]) -> Vec<u8> {
    let mut sigma = c_tilde.to_vec(); // 1
    for poly in z.iter().take(p.l) {
        sigma.extend(bit_pack(poly, p.gamma1 - 1, p.gamma1)); // 3
    }
    sigma.extend(hint_bit_pack(p, h)); // 5
    sigma
}

/// Algorithm 27, sigDecode(sigma): (c_tilde, z, h), h being `None` for ⊥. `None` as a whole if the
/// length is wrong.
#[allow(clippy::type_complexity)]
pub fn sig_decode(p: &Params, sigma: &[u8]) -> Option<(Vec<u8>, Vec<Poly>, Option<Vec<Poly>>)> {
    if sigma.len() != p.sig_bytes() {
        return None;
    }
    let (c_tilde, rest) = sigma.split_at(p.lambda / 4); // 1
    let size = 32 * (1 + bitlen(p.gamma1 - 1));
    let (x, y) = rest.split_at(p.l * size);
    let z = x
        .chunks(size)
        .map(|chunk| bit_unpack(chunk, p.gamma1 - 1, p.gamma1)) // 3: always in the correct range
        .collect();
    Some((c_tilde.to_vec(), z, hint_bit_unpack(p, y))) // 5
}

/// Algorithm 28, w1Encode(w1).
pub fn w1_encode(p: &Params, w1: &[Poly]) -> Vec<u8> {
    let mut out = Vec::new(); // 1
    for poly in w1.iter().take(p.k) {
        out.extend(simple_bit_pack(poly, (Q - 1) / (2 * p.gamma2) - 1)); // 3
    }
    out
}
