//! Section 6: the internal functions, Algorithms 6-8, and the trace of the signing attempts.

use crate::Poly;
use crate::encode::{
    SecretKey, pk_decode, pk_encode, sig_decode, sig_encode, sk_decode, sk_encode, w1_encode,
};
use crate::hash::h;
use crate::ntt::{add_vector_ntt, inverse_ntt, matrix_vector_ntt, ntt, scalar_vector_ntt};
use crate::params::{D, Params, Q};
use crate::round::{high_bits, infinity_norm, low_bits, make_hint, mod_pm, power2_round, use_hint};
use crate::sample::{expand_a, expand_mask, expand_s, sample_in_ball};

/// One attempt of the signing loop: **all** checks that fail, whether or not an earlier one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// κ at the start of the attempt.
    pub kappa: u16,
    /// Failing checks: 1 = ‖z‖∞, 2 = ‖r0‖∞, 4 = ‖c·t0‖∞, 8 = number of ones in h. 0 = accepted.
    pub failed: u8,
    /// First polynomial that fails each of these checks, in that order; 255 = none does. For the
    /// hint it is the polynomial at which the number of ones passes ω.
    pub first_failing: [u8; 4],
}

/// The values of one attempt.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub attempt: Attempt,
    pub c_tilde: Vec<u8>,
    /// Centred, that is, in `-gamma1 - beta + 1 ..= gamma1 + beta`.
    pub z: Vec<Poly>,
    pub h: Vec<Poly>,
}

fn ntt_vector(v: &[Poly]) -> Vec<Poly> {
    v.iter().map(|poly| ntt(poly)).collect()
}

fn inverse_ntt_vector(v: &[Poly]) -> Vec<Poly> {
    v.iter().map(|poly| inverse_ntt(poly)).collect()
}

fn zip_vectors(v: &[Poly], w: &[Poly], f: impl Fn(i64, i64) -> i64) -> Vec<Poly> {
    v.iter()
        .zip(w)
        .map(|(a, b)| a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect())
        .collect()
}

fn map_vector(v: &[Poly], f: impl Fn(i64) -> i64) -> Vec<Poly> {
    v.iter()
        .map(|poly| poly.iter().map(|&x| f(x)).collect())
        .collect()
}

/// Index of the first polynomial with ‖·‖∞ >= bound, 255 if there is none.
fn first_at_least(v: &[Poly], bound: i64) -> u8 {
    v.iter()
        .position(|poly| infinity_norm(poly) >= bound)
        .map_or(255, |i| i as u8)
}

/// Index of the polynomial at which the number of ones passes `omega`, 255 if it never does.
fn first_past_omega(h: &[Poly], omega: usize) -> u8 {
    let mut ones = 0;
    for (i, poly) in h.iter().enumerate() {
        ones += poly.iter().filter(|&&bit| bit != 0).count();
        if ones > omega {
            return i as u8;
        }
    }
    255
}

/// Algorithm 6, ML-DSA.KeyGen_internal(ξ): (pk, sk).
pub fn keygen_internal(p: &Params, xi: &[u8; 32]) -> (Vec<u8>, Vec<u8>) {
    let seed = h(&[xi, &[p.k as u8], &[p.l as u8]], 128); // 1
    let (rho, rest) = seed.split_at(32);
    let (rho_prime, key) = rest.split_at(64);
    let a_hat = expand_a(p, rho); // 3
    let (s1, s2) = expand_s(p, rho_prime); // 4
    let as1 = inverse_ntt_vector(&matrix_vector_ntt(&a_hat, &ntt_vector(&s1))); // 5
    let t = zip_vectors(&as1, &s2, |x, y| (x + y).rem_euclid(Q));
    let t1 = map_vector(&t, |x| power2_round(x).0); // 6
    let t0 = map_vector(&t, |x| power2_round(x).1);
    let pk = pk_encode(p, rho, &t1); // 8
    let tr = h(&[&pk], 64); // 9
    let sk = SecretKey {
        rho: rho.to_vec(),
        key: key.to_vec(),
        tr,
        s1,
        s2,
        t0,
    };
    (pk, sk_encode(p, &sk)) // 10-11
}

/// μ = H(BytesToBits(tr) ‖ M′, 64): step 6 of Algorithm 7 and step 7 of Algorithm 8.
pub fn message_representative(tr: &[u8], m_prime: &[u8]) -> [u8; 64] {
    h(&[tr, m_prime], 64).try_into().expect("64 bytes")
}

/// The attempts of Algorithm 7, one after the other.
pub struct Signer<'p> {
    p: &'p Params,
    a_hat: Vec<Vec<Poly>>,
    s1_hat: Vec<Poly>,
    s2_hat: Vec<Poly>,
    t0_hat: Vec<Poly>,
    mu: [u8; 64],
    rho_second: Vec<u8>,
    kappa: usize,
}

impl<'p> Signer<'p> {
    /// Steps 1-8 of Algorithm 7, μ being given.
    pub fn new(p: &'p Params, sk: &[u8], mu: &[u8; 64], rnd: &[u8; 32]) -> Self {
        let key = sk_decode(p, sk); // 1
        Signer {
            p,
            s1_hat: ntt_vector(&key.s1),             // 2
            s2_hat: ntt_vector(&key.s2),             // 3
            t0_hat: ntt_vector(&key.t0),             // 4
            a_hat: expand_a(p, &key.rho),            // 5
            mu: *mu,                                 // 6
            rho_second: h(&[&key.key, rnd, mu], 64), // 7: ρ″
            kappa: 0,                                // 8
        }
    }

    /// The same, about to make attempt number `number`, counted from 0: tests of the last of 821 need
    /// not make the others.
    pub fn at_attempt(self, number: usize) -> Self {
        let kappa = number * self.p.l;
        Signer { kappa, ..self }
    }

    /// Steps 11-31 of Algorithm 7. c·t0 and h are computed even if z or r0 fails.
    pub fn attempt(&mut self) -> Candidate {
        let p = self.p;
        let y = expand_mask(p, &self.rho_second, self.kappa); // 11
        let w = inverse_ntt_vector(&matrix_vector_ntt(&self.a_hat, &ntt_vector(&y))); // 12
        let w1 = map_vector(&w, |x| high_bits(p, x)); // 13
        let c_tilde = h(&[&self.mu, &w1_encode(p, &w1)], p.lambda / 4); // 15
        let c_hat = ntt(&sample_in_ball(p, &c_tilde)); // 16-17
        let cs1 = inverse_ntt_vector(&scalar_vector_ntt(&c_hat, &self.s1_hat)); // 18
        let cs2 = inverse_ntt_vector(&scalar_vector_ntt(&c_hat, &self.s2_hat)); // 19
        let z = zip_vectors(&y, &cs1, |x, y| mod_pm(x + y, Q)); // 20
        let r = zip_vectors(&w, &cs2, |x, y| x - y);
        let r0 = map_vector(&r, |x| low_bits(p, x)); // 21
        let z_fails = first_at_least(&z, p.gamma1 - p.beta); // 23
        let r0_fails = first_at_least(&r0, p.gamma2 - p.beta);
        let ct0 = inverse_ntt_vector(&scalar_vector_ntt(&c_hat, &self.t0_hat)); // 25
        let with_ct0 = zip_vectors(&r, &ct0, |x, y| x + y);
        let hint = zip_vectors(&ct0, &with_ct0, |x, y| i64::from(make_hint(p, -x, y))); // 26
        let ct0_fails = first_at_least(&ct0, p.gamma2); // 28
        let hint_fails = first_past_omega(&hint, p.omega);
        let first_failing = [z_fails, r0_fails, ct0_fails, hint_fails];
        let failed = (0..4)
            .filter(|&i| first_failing[i] != 255)
            .map(|i| 1u8 << i)
            .sum();
        let attempt = Attempt {
            kappa: self.kappa as u16,
            failed,
            first_failing,
        };
        self.kappa += p.l; // 31
        Candidate {
            attempt,
            c_tilde,
            z,
            h: hint,
        }
    }
}

/// Algorithm 7, ML-DSA.Sign_internal(sk, M′, rnd): the signature, and the trace of its attempts.
pub fn sign_internal(
    p: &Params,
    sk: &[u8],
    m_prime: &[u8],
    rnd: &[u8; 32],
) -> (Vec<u8>, Vec<Attempt>) {
    let mu = message_representative(&sk_decode(p, sk).tr, m_prime); // 6
    sign_mu(p, sk, &mu, rnd)
}

/// Algorithm 7 from a given μ.
pub fn sign_mu(p: &Params, sk: &[u8], mu: &[u8; 64], rnd: &[u8; 32]) -> (Vec<u8>, Vec<Attempt>) {
    let mut signer = Signer::new(p, sk, mu, rnd);
    let mut trace = Vec::new();
    loop {
        let candidate = signer.attempt();
        trace.push(candidate.attempt);
        if candidate.attempt.failed == 0 {
            let sigma = sig_encode(p, &candidate.c_tilde, &candidate.z, &candidate.h); // 33
            return (sigma, trace);
        }
    }
}

/// Algorithm 8, ML-DSA.Verify_internal(pk, M′, σ).
pub fn verify_internal(p: &Params, pk: &[u8], m_prime: &[u8], sigma: &[u8]) -> bool {
    let mu = message_representative(&h(&[pk], 64), m_prime); // 6-7
    verify_mu(p, pk, &mu, sigma)
}

/// Algorithm 8 from a given μ.
pub fn verify_mu(p: &Params, pk: &[u8], mu: &[u8; 64], sigma: &[u8]) -> bool {
    verify_mu_bounded(p, pk, mu, sigma, p.gamma1 - p.beta)
}

/// Algorithm 8 from a given μ, with the bound of the norm check in step 13 as a parameter.
pub(crate) fn verify_mu_bounded(
    p: &Params,
    pk: &[u8],
    mu: &[u8; 64],
    sigma: &[u8],
    bound: i64,
) -> bool {
    let Some((rho, t1)) = pk_decode(p, pk) else {
        return false;
    }; // 1
    let Some((c_tilde, z, hint)) = sig_decode(p, sigma) else {
        return false;
    }; // 2
    let Some(hint) = hint else { return false }; // 3
    let a_hat = expand_a(p, &rho); // 5
    let c_hat = ntt(&sample_in_ball(p, &c_tilde)); // 8
    let az = matrix_vector_ntt(&a_hat, &ntt_vector(&z)); // 9
    let t1_shifted = map_vector(&t1, |x| x << D);
    let ct1 = scalar_vector_ntt(&c_hat, &ntt_vector(&t1_shifted));
    let minus_ct1 = map_vector(&ct1, |x| -x);
    let w_approx = inverse_ntt_vector(&add_vector_ntt(&az, &minus_ct1));
    let w1 = zip_vectors(&hint, &w_approx, |bit, x| use_hint(p, bit != 0, x)); // 10
    let c_tilde_prime = h(&[mu, &w1_encode(p, &w1)], p.lambda / 4); // 12
    z.iter().all(|poly| infinity_norm(poly) < bound) && c_tilde == c_tilde_prime // 13
}
