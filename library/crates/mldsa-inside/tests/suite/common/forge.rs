//! Signatures with any z and any hint, for a public key whose t1 is zero.
//!
//! With t1 = 0 Algorithm 8 computes w′ = A·z, whatever the challenge is; so anyone can choose z and
//! h, compute c_tilde from them and have a signature that verifies if and only if z and h obey the
//! rules. Such a key belongs to nobody and protects nothing, but it reaches every rule of the
//! verifier with all others satisfied, which altered honest signatures do not.

use super::{Verifier, subjects_of};
use mldsa_lanes::Input;
use mldsa_lanes::hazmat::external_mu;
use mldsa_oracle as oracle;
use mldsa_oracle::{Params, Poly};

/// A hint without ones.
pub fn no_hint(p: &Params) -> Vec<Poly> {
    vec![vec![0; 256]; p.k]
}

/// A z all of whose coefficients are `value`.
pub fn constant_z(p: &Params, value: i64) -> Vec<Poly> {
    vec![vec![value; 256]; p.l]
}

/// Forges for one key with t1 = 0 and one message.
pub struct Forger {
    p: &'static Params,
    pub pk: Vec<u8>,
    pub mu: [u8; 64],
    a_hat: Vec<Vec<Poly>>,
    verifiers: Vec<(String, Box<dyn Verifier>)>,
}

impl Forger {
    /// For the key of `rho` and any μ.
    pub fn new(p: &'static Params, rho: &[u8; 32], mu: [u8; 64]) -> Self {
        let pk = oracle::pk_encode(p, rho, &vec![vec![0; 256]; p.k]);
        let verifiers = subjects_of(p)
            .into_iter()
            .map(|subject| (subject.label(), subject.verifier(&pk).unwrap()))
            .collect();
        let a_hat = oracle::expand_a(p, rho);
        Forger {
            p,
            pk,
            mu,
            a_hat,
            verifiers,
        }
    }

    /// c_tilde for the chosen z and h.
    pub fn challenge(&self, z: &[Poly], h: &[Poly]) -> Vec<u8> {
        let z_hat: Vec<Poly> = z.iter().map(|poly| oracle::ntt(poly)).collect();
        let rows = oracle::matrix_vector_ntt(&self.a_hat, &z_hat);
        let w1: Vec<Poly> = rows
            .iter()
            .zip(h)
            .map(|(row, h)| {
                let w = oracle::inverse_ntt(row);
                w.iter()
                    .zip(h)
                    .map(|(&w, &h)| oracle::use_hint(self.p, h != 0, w))
                    .collect()
            })
            .collect();
        oracle::h(
            &[&self.mu, &oracle::w1_encode(self.p, &w1)],
            self.p.lambda / 4,
        )
    }

    /// The signature with the chosen z (coefficients in `-gamma1 + 1 ..= gamma1`) and h (at most
    /// omega ones).
    pub fn signature(&self, z: &[Poly], h: &[Poly]) -> Vec<u8> {
        oracle::sig_encode(self.p, &self.challenge(z, h), z, h)
    }

    /// Asserts the verdict on all subjects of the set.
    pub fn assert_verdict(&self, signature: &[u8], accepted: bool, what: &str) {
        for (label, verifier) in &self.verifiers {
            let verdict = verifier
                .verify(&Input::Mu(&external_mu(self.mu)), signature)
                .is_ok();
            assert_eq!(verdict, accepted, "{label}: {what}");
        }
    }

    /// The same after asking the oracle whether it is of that opinion, too.
    pub fn assert_checked_verdict(&self, signature: &[u8], accepted: bool, what: &str) {
        let verdict = oracle::verify_mu(self.p, &self.pk, &self.mu, signature);
        assert_eq!(verdict, accepted, "oracle: {what}");
        self.assert_verdict(signature, accepted, what);
    }
}

/// An `skEncode` string that is consistent (t = A·s1 + s2, tr = H(pk)) for chosen s1 and s2, whose
/// coefficients must fit their encoding, and its public key.
pub fn key(p: &Params, rho: &[u8; 32], s1: Vec<Poly>, s2: Vec<Poly>) -> (Vec<u8>, Vec<u8>) {
    let s1_hat: Vec<Poly> = s1.iter().map(|poly| oracle::ntt(poly)).collect();
    let product = oracle::matrix_vector_ntt(&oracle::expand_a(p, rho), &s1_hat);
    let t: Vec<Vec<(i64, i64)>> = product
        .iter()
        .zip(&s2)
        .map(|(product, s2)| {
            let product = oracle::inverse_ntt(product);
            product
                .iter()
                .zip(s2)
                .map(|(x, s)| oracle::power2_round(x + s))
                .collect()
        })
        .collect();
    let t1: Vec<Poly> = t
        .iter()
        .map(|row| row.iter().map(|pair| pair.0).collect())
        .collect();
    let t0: Vec<Poly> = t
        .iter()
        .map(|row| row.iter().map(|pair| pair.1).collect())
        .collect();
    let pk = oracle::pk_encode(p, rho, &t1);
    let tr = oracle::h(&[&pk], 64);
    let head = [&rho[..], &[0x5a; 32], &tr].concat();
    // Packed by hand: skEncode refuses coefficients outside -eta..=eta, and tests need them.
    let bits = if p.eta == 2 { 3 } else { 4 };
    let small = |v: &[Poly]| -> Vec<u8> {
        let coefficients = v.iter().flatten();
        let packed: Vec<u8> = coefficients
            .flat_map(|&c| oracle::integer_to_bits(p.eta - c, bits))
            .collect();
        oracle::bits_to_bytes(&packed)
    };
    let t0: Vec<u8> = t0
        .iter()
        .flat_map(|poly| oracle::bit_pack(poly, (1 << 12) - 1, 1 << 12))
        .collect();
    ([head, small(&s1), small(&s2), t0].concat(), pk)
}
