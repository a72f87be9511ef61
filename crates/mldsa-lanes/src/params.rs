//! FIPS 204, Table 1 and Table 2: the parameter sets and the sizes that follow from them.

use core::fmt::Debug;

pub(crate) use crate::kernels::poly::PolyMatrix;
use crate::kernels::poly::{Poly, PolyVec, Wipe, Zero};
use crate::kernels::small::{SmallPoly, SmallVec};

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

mod sealed {
    pub trait Sealed {}
}

/// Byte arrays of exact size.
#[doc(hidden)]
pub trait Bytes:
    AsRef<[u8]> + AsMut<[u8]> + Copy + Debug + Eq + Zero + Wipe + Send + Sync + 'static
{
}
impl<const LEN: usize> Bytes for [u8; LEN] {}

/// One of the three parameter sets of FIPS 204. Sealed.
pub trait ParameterSet: sealed::Sealed + Copy + Debug + Eq + Send + Sync + 'static {
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

    #[doc(hidden)]
    type VecL: PolyVec;
    #[doc(hidden)]
    type VecK: PolyVec;
    #[doc(hidden)]
    type SmallL: SmallVec;
    #[doc(hidden)]
    type SmallK: SmallVec;
    #[doc(hidden)]
    type Matrix: PolyMatrix;
    /// The private key as `skEncode` writes it.
    type SigningKeyBytes: Bytes;
    /// The public key as `pkEncode` writes it.
    type VerifyingKeyBytes: Bytes;
    /// The signature as `sigEncode` writes it.
    type SignatureBytes: Bytes;
}

macro_rules! parameter_set {
    ($(#[$doc:meta])* $set:ident $name:literal: k $k:literal, l $l:literal, eta $eta:literal, tau $tau:literal,
     lambda $lambda:literal, gamma1 $gamma1:expr, gamma2 $gamma2:expr, omega $omega:literal,
     sk $sk:literal, pk $pk:literal, sig $sig:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $set;
        impl sealed::Sealed for $set {}
        impl ParameterSet for $set {
            const NAME: &'static str = $name;
            const K: usize = $k;
            const L: usize = $l;
            const ETA: i32 = $eta;
            const TAU: usize = $tau;
            const LAMBDA: usize = $lambda;
            const GAMMA1: i32 = $gamma1;
            const GAMMA2: i32 = $gamma2;
            const OMEGA: usize = $omega;
            type VecL = [Poly; $l];
            type VecK = [Poly; $k];
            type SmallL = [SmallPoly; $l];
            type SmallK = [SmallPoly; $k];
            type Matrix = [[Poly; $l]; $k];
            type SigningKeyBytes = [u8; $sk];
            type VerifyingKeyBytes = [u8; $pk];
            type SignatureBytes = [u8; $sig];
        }
        const _: () = assert!($set::SIGNING_KEY_BYTES == $sk);
        const _: () = assert!($set::VERIFYING_KEY_BYTES == $pk);
        const _: () = assert!($set::SIGNATURE_BYTES == $sig);
    };
}

parameter_set! {
    /// ML-DSA-44, NIST security category 2.
    MlDsa44 "ML-DSA-44": k 4, l 4, eta 2, tau 39, lambda 128,
    gamma1 1 << 17, gamma2 (Q - 1) / 88, omega 80, sk 2560, pk 1312, sig 2420
}
parameter_set! {
    /// ML-DSA-65, NIST security category 3.
    MlDsa65 "ML-DSA-65": k 6, l 5, eta 4, tau 49, lambda 192,
    gamma1 1 << 19, gamma2 (Q - 1) / 32, omega 55, sk 4032, pk 1952, sig 3309
}
parameter_set! {
    /// ML-DSA-87, NIST security category 5.
    MlDsa87 "ML-DSA-87": k 8, l 7, eta 2, tau 60, lambda 256,
    gamma1 1 << 19, gamma2 (Q - 1) / 32, omega 75, sk 4896, pk 2592, sig 4627
}
