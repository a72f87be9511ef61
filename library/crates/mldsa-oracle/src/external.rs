//! Section 5: the external functions, Algorithms 1-5. Randomness is the caller's: ξ and rnd are
//! arguments. A context longer than 255 bytes gives `None` (⊥) when signing, `false` when verifying.

use crate::hash::PreHash;
use crate::internal::{Attempt, keygen_internal, sign_internal, verify_internal};
use crate::params::Params;

/// Algorithm 1, ML-DSA.KeyGen(), with the random ξ handed in: (pk, sk).
pub fn keygen(p: &Params, xi: &[u8; 32]) -> (Vec<u8>, Vec<u8>) {
    keygen_internal(p, xi) // 5
}

/// M′ of Algorithms 2 and 3: IntegerToBytes(0, 1) ‖ IntegerToBytes(|ctx|, 1) ‖ ctx ‖ M.
pub fn pure_m_prime(message: &[u8], ctx: &[u8]) -> Option<Vec<u8>> {
    let length = u8::try_from(ctx.len()).ok()?; // 1-3
    Some([&[0, length], ctx, message].concat()) // Algorithm 2, 10; Algorithm 3, 5
}

/// M′ of Algorithms 4 and 5: IntegerToBytes(1, 1) ‖ IntegerToBytes(|ctx|, 1) ‖ ctx ‖ OID ‖ PH(M).
pub fn hash_m_prime(message: &[u8], ctx: &[u8], ph: PreHash) -> Option<Vec<u8>> {
    let length = u8::try_from(ctx.len()).ok()?; // 1-3
    Some([&[1, length], ctx, &ph.oid(), &ph.digest(message)].concat()) // 10-23; 5-18
}

/// Algorithm 2, ML-DSA.Sign(sk, M, ctx), with rnd handed in.
pub fn sign(
    p: &Params,
    sk: &[u8],
    message: &[u8],
    ctx: &[u8],
    rnd: &[u8; 32],
) -> Option<(Vec<u8>, Vec<Attempt>)> {
    Some(sign_internal(p, sk, &pure_m_prime(message, ctx)?, rnd)) // 11
}

/// Algorithm 2, deterministic variant: rnd is 32 zero bytes.
pub fn sign_deterministic(
    p: &Params,
    sk: &[u8],
    message: &[u8],
    ctx: &[u8],
) -> Option<(Vec<u8>, Vec<Attempt>)> {
    sign(p, sk, message, ctx, &[0; 32])
}

/// Algorithm 3, ML-DSA.Verify(pk, M, σ, ctx).
pub fn verify(p: &Params, pk: &[u8], message: &[u8], sigma: &[u8], ctx: &[u8]) -> bool {
    pure_m_prime(message, ctx).is_some_and(|m_prime| verify_internal(p, pk, &m_prime, sigma)) // 6
}

/// Algorithm 4, HashML-DSA.Sign(sk, M, ctx, PH), with rnd handed in.
pub fn hash_sign(
    p: &Params,
    sk: &[u8],
    message: &[u8],
    ctx: &[u8],
    ph: PreHash,
    rnd: &[u8; 32],
) -> Option<(Vec<u8>, Vec<Attempt>)> {
    Some(sign_internal(p, sk, &hash_m_prime(message, ctx, ph)?, rnd)) // 24
}

/// Algorithm 5, HashML-DSA.Verify(pk, M, σ, ctx, PH).
pub fn hash_verify(
    p: &Params,
    pk: &[u8],
    message: &[u8],
    sigma: &[u8],
    ctx: &[u8],
    ph: PreHash,
) -> bool {
    hash_m_prime(message, ctx, ph).is_some_and(|m_prime| verify_internal(p, pk, &m_prime, sigma)) // 19
}
