//! What can go wrong.

use core::fmt;

/// An error names the input and the rule that it breaks. No variant depends on a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // `expected`, `actual`: bytes, or numbers of values; `needed`: bits.
pub enum Error {
    /// An encoded private key that has not exactly the set's number of bytes.
    SigningKeyLength { expected: usize, actual: usize },
    /// A public key that has not exactly the set's number of bytes.
    VerifyingKeyLength { expected: usize, actual: usize },
    /// A signature that has not exactly the set's number of bytes.
    SignatureLength { expected: usize, actual: usize },
    /// A name that no parameter set has.
    UnknownSet,
    /// A name that no hash function of HashML-DSA has.
    UnknownPreHash,
    /// A context of more than 255 bytes (FIPS 204, Algorithms 2 to 5).
    ContextTooLong { actual: usize },
    /// A digest that has not the length of its hash function.
    DigestLength { expected: usize, actual: usize },
    /// A hash function with less collision strength than the set has, in bits (FIPS 204, section
    /// 5.4.1); [`Input::WeakDigest`](crate::Input::WeakDigest) takes it.
    WeakPreHash { needed: usize, actual: usize },
    /// An encoded private key that no key generation writes.
    InvalidSigningKey(InvalidKeyReason),
    /// μ was made by the hasher of another key.
    MuOfAnotherKey,
    /// A limit of attempts outside those that [`SignOptions`](crate::SignOptions) takes.
    AttemptLimit { least: u32, most: u32, actual: u32 },
    /// Every allowed attempt was rejected.
    TooManyAttempts { allowed: u32 },
    /// Given values of `rnd` of another number than the signatures.
    RndCount { expected: usize, actual: usize },
    /// The signature is not valid for this key, message and context.
    InvalidSignature,
    /// The caller's random number generator failed.
    Rng,
    /// A key pair failed [`check_pair`](crate::SigningKey::check_pair).
    PairwiseConsistency,
    /// An answer of [`self_test`](crate::self_test()) differs.
    SelfTest {
        set: &'static str,
        step: SelfTestStep,
    },
    /// The memory for a batch of this size cannot be allocated.
    OutOfMemory,
}

/// A step of [`self_test`](crate::self_test()).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelfTestStep {
    /// Key generation.
    KeyGeneration,
    /// Signing.
    Signing,
    /// Verification: a valid signature was refused, or an altered one accepted.
    Verification,
}

impl fmt::Display for SelfTestStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SelfTestStep::KeyGeneration => "key generation",
            SelfTestStep::Signing => "signing",
            SelfTestStep::Verification => "verification",
        })
    }
}

/// Why no key generation writes an encoded private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidKeyReason {
    /// A coefficient of s1 or s2 is not in [-η, η].
    SecretOutOfRange,
    /// t0 does not belong to ρ, s1 and s2.
    T0Mismatch,
    /// tr is not the hash of the public key.
    TrMismatch,
}

impl fmt::Display for InvalidKeyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InvalidKeyReason::SecretOutOfRange => "s1 or s2 has a coefficient beyond η",
            InvalidKeyReason::T0Mismatch => "t0 does not belong to rho, s1 and s2",
            InvalidKeyReason::TrMismatch => "tr is not the hash of the public key",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::SigningKeyLength { expected, actual } => {
                write!(
                    f,
                    "encoded private key of {actual} bytes; this set has {expected}"
                )
            }
            Error::VerifyingKeyLength { expected, actual } => {
                write!(f, "public key of {actual} bytes; this set has {expected}")
            }
            Error::SignatureLength { expected, actual } => {
                write!(f, "signature of {actual} bytes; this set has {expected}")
            }
            Error::ContextTooLong { actual } => {
                write!(f, "context of {actual} bytes; at most 255 are allowed")
            }
            Error::DigestLength { expected, actual } => {
                write!(
                    f,
                    "digest of {actual} bytes; the hash function gives {expected}"
                )
            }
            Error::WeakPreHash { needed, actual } => {
                write!(
                    f,
                    "hash function of {actual} bits of collision strength; this set asks for {needed}"
                )
            }
            Error::UnknownSet => {
                f.write_str("unknown parameter set; there are ML-DSA-44, ML-DSA-65 and ML-DSA-87")
            }
            Error::UnknownPreHash => f.write_str(
                "unknown hash function; there are SHA2-224, SHA2-256, SHA2-384, SHA2-512, \
                 SHA2-512/224, SHA2-512/256, SHA3-224, SHA3-256, SHA3-384, SHA3-512, SHAKE128 and \
                 SHAKE256",
            ),
            Error::InvalidSigningKey(reason) => write!(f, "invalid private key: {reason}"),
            Error::MuOfAnotherKey => f.write_str("mu was made for another key"),
            Error::AttemptLimit {
                least,
                most,
                actual,
            } => write!(
                f,
                "limit of {actual} attempts; it may be {least} (FIPS 204, Appendix C) to {most}"
            ),
            Error::RndCount { expected, actual } => {
                write!(f, "{actual} values of rnd for {expected} signatures")
            }
            Error::TooManyAttempts { allowed } => {
                write!(f, "signing gave up after {allowed} rejected attempts")
            }
            Error::InvalidSignature => f.write_str("invalid signature"),
            Error::Rng => f.write_str("the random number generator failed"),
            Error::PairwiseConsistency => {
                f.write_str("the key pair failed its consistency test; do not use it")
            }
            Error::SelfTest { set, step } => {
                write!(
                    f,
                    "{set}: {step} failed its self-test; do not use the library on this machine"
                )
            }
            Error::OutOfMemory => f.write_str("not enough memory for the batch; use a smaller one"),
        }
    }
}

impl core::error::Error for Error {}
