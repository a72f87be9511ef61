//! FIPS 204, Table 1 and Table 2: the parameter sets and the sizes that follow from them.

use core::fmt::Debug;

/// The modulus q = 2^23 − 2^13 + 1.
pub const Q: i32 = 8_380_417;
/// Coefficients of a polynomial.
pub const N: usize = 256;
/// Bits dropped from t.
pub const D: u32 = 13;
/// Attempts after which signing gives up. The chance that an honest signer
/// needs more is below 2^-256 for every set (FIPS 204 errata draft), and κ stays far below 2^16.
pub const MAX_ATTEMPTS: u32 = 821;

// With room for a group of masks sampled ahead.
const _: () = assert!(MAX_ATTEMPTS as usize * 7 + 16 < 1 << 16);

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// The constants of a parameter set. Sealed: there are three.
pub trait Parameters: sealed::Sealed + Copy + Debug + Eq + Send + Sync + 'static {
    /// `ML-DSA-44`, `ML-DSA-65` or `ML-DSA-87`.
    const NAME: &'static str;
    /// Rows of Â; length of t, s2.
    const K: usize;
    /// Columns of Â; length of y, z, s1.
    const L: usize;
    /// Bound of the secret coefficients.
    const ETA: i32;
    /// Non-zero coefficients of the challenge c.
    const TAU: usize;
    /// Bits of collision strength of `c_tilde`.
    const LAMBDA: usize;
    /// Range of the mask y.
    const GAMMA1: i32;
    /// Range of the low part of w.
    const GAMMA2: i32;
    /// Most hints a signature may hold.
    const OMEGA: usize;

    /// τ·η: the largest coefficient of c·s1 and c·s2.
    const BETA: i32 = Self::TAU as i32 * Self::ETA;
    /// Length of `c_tilde` in bytes.
    const C_TILDE_BYTES: usize = Self::LAMBDA / 4;
    /// Bits of a packed coefficient of s1, s2.
    const ETA_BITS: usize = if Self::ETA == 2 { 3 } else { 4 };
    /// Bits of a packed coefficient of z.
    const Z_BITS: usize = if Self::GAMMA1 == 1 << 17 { 18 } else { 20 };
    /// Bits of a packed coefficient of w1.
    const W1_BITS: usize = if Self::GAMMA2 == (Q - 1) / 88 { 6 } else { 4 };
    /// Length of `skEncode`'s output in bytes.
    const SIGNING_KEY_BYTES: usize =
        128 + 32 * (Self::K + Self::L) * Self::ETA_BITS + 32 * D as usize * Self::K;
    /// Length of `pkEncode`'s output in bytes.
    const VERIFYING_KEY_BYTES: usize = 32 + 320 * Self::K;
    /// Length of `sigEncode`'s output in bytes.
    const SIGNATURE_BYTES: usize =
        Self::C_TILDE_BYTES + 32 * Self::L * Self::Z_BITS + Self::OMEGA + Self::K;
}
