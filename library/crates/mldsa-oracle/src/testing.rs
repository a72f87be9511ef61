//! **Testing only**: deliberately wrong variants, to prove that a test notices the mistake.

use crate::encode::{sig_encode, sk_decode};
use crate::hash::h;
use crate::internal::{Signer, message_representative, verify_mu_bounded};
use crate::params::Params;

/// **Testing only.** A signature of an attempt that fails the norm check of z and nothing else.
/// Algorithm 8 refuses it for that reason alone; a verifier without the check accepts it. `None`
/// if no such attempt is among the first `max_attempts`.
pub fn sign_z_violation(
    p: &Params,
    sk: &[u8],
    m_prime: &[u8],
    rnd: &[u8; 32],
    max_attempts: u32,
) -> Option<Vec<u8>> {
    let mu = message_representative(&sk_decode(p, sk).tr, m_prime);
    sign_mu_z_violation(p, sk, &mu, rnd, max_attempts)
}

/// **Testing only.** As [`sign_z_violation`], from a given μ.
pub fn sign_mu_z_violation(
    p: &Params,
    sk: &[u8],
    mu: &[u8; 64],
    rnd: &[u8; 32],
    max_attempts: u32,
) -> Option<Vec<u8>> {
    let mut signer = Signer::new(p, sk, mu, rnd);
    (0..max_attempts)
        .map(|_| signer.attempt())
        .find_map(|candidate| {
            // Some violations are too large for the encoding, whose range is that of y.
            let range = -p.gamma1 + 1..=p.gamma1;
            let encodable = candidate.z.iter().flatten().all(|c| range.contains(c));
            (candidate.attempt.failed == 1 && encodable)
                .then(|| sig_encode(p, &candidate.c_tilde, &candidate.z, &candidate.h))
        })
}

/// **Testing only.** Algorithm 8 without the norm check of step 13.
pub fn verify_without_z_check(p: &Params, pk: &[u8], m_prime: &[u8], sigma: &[u8]) -> bool {
    let mu = message_representative(&h(&[pk], 64), m_prime);
    verify_mu_without_z_check(p, pk, &mu, sigma)
}

/// **Testing only.** As [`verify_without_z_check`], from a given μ.
pub fn verify_mu_without_z_check(p: &Params, pk: &[u8], mu: &[u8; 64], sigma: &[u8]) -> bool {
    verify_mu_bounded(p, pk, mu, sigma, i64::MAX)
}
