//! Signing and verification that a fault does not turn into a wrong answer: keys that are checked before
//! each use, and every result computed twice.
//!
//! A *fault* is a bit that flips in memory or in a register, an instruction that is not executed, a
//! step whose result stays what it was: by radiation, bad memory, a low voltage, or an attacker. A single
//! fault in the library's code is meant to give an error, a crash or a valid result; library/evidence/faults.md has
//! what was tried, and what was not.
//!
//! - **Signing** checks the key's digest, signs, and makes the accepted attempt again from the private
//!   key's bytes and the message, in other memory: Â, μ, ρ″, y, w, c, z and hints. The two signatures
//!   have to be the same bytes. Then the public key is computed from the private one, compared with the
//!   key's own, and the signature is verified with it. Verification alone would not do: a
//!   signature with another y is valid, and beside one of the same message it gives s1 away.
//! - **Verification** is done twice, on two copies of the public key, the second of them stored inverted;
//!   each gives the c̃ that the signature should have.
//! - **[`Verified`]** is the proof that both return. A fault in a call, a return or a copy may leave an
//!   earlier result in its place, and no check before the return can see that. So
//!   [`Verified::holds`] compares the proof with the key, the message and the signature that the caller
//!   has, and belongs directly before their use.
//! - **Keys** are computed a second time when they are made or read. They stay compact: whatever
//!   follows from one is computed at each use, since that costs less than hashing it.
//!   [`SigningKey::confirm_seed`], [`SigningKey::confirm_encoded_bytes`] and [`VerifyingKey::confirm_bytes`]
//!   compare a key, where it is, with what it was made of. Give them a second copy where there is one.
//!
//! ```
//! use mldsa_lanes::hardened::{Error, SigningKey, VerifyingKey};
//! use mldsa_lanes::rand_core::CryptoRng;
//! use mldsa_lanes::{SignOptions, Signature, mldsa65};
//!
//! fn sign(seed: &[u8; 32], rng: &mut impl CryptoRng) -> Result<(), Error> {
//!     let key = SigningKey::<mldsa65::Set>::from_seed(seed)?;
//!     let public = key.verifying_key()?.clone();
//!     key.confirm_seed(seed, &public)?;
//!
//!     let mut signature = Signature::default();
//!     let proof = key.sign_into(b"message", SignOptions::hedged(rng), &mut signature)?;
//!     assert!(proof.holds(&public, b"message", &signature));
//!
//!     Ok(())
//! }
//!
//! fn verify(
//!     stored: [&[u8]; 2],
//!     message: &[u8],
//!     signature: &Signature<mldsa65::Set>,
//! ) -> Result<bool, Error> {
//!     let key = VerifyingKey::<mldsa65::Set>::from_bytes(stored[0])?;
//!     key.confirm_bytes(stored[1])?;
//!     let proof = key.verify_signature(message, signature)?;
//!     Ok(proof.holds(key.verifying_key(), message, signature))
//! }
//! ```
//!
//! # What is covered
//! | form | covered |
//! |---|---|
//! | `sign_into`, then `holds` | yes |
//! | `verify_signature`, then `holds` | yes |
//! | a private key that is made or read, then `confirm_seed` or `confirm_encoded_bytes` | yes |
//! | a public key that is read, then `confirm_bytes` of a second copy | yes |
//! | `confirm_…` of the bytes that were read, and no second copy | all but a change of these bytes |
//! | `Ok` of a verification without `holds`; a key without `confirm_…` | all but what the call leaves in their place |
//! | the caller's own lines: a call that is skipped whole, the branch on the answer | no |
//!
//! The generator of random numbers is the caller's: 32 zero bytes, which a draw that was left out leaves, are
//! refused, and nothing else is tested. Two faults that match are not met, nor one that stays in the code or in a constant and leaves every
//! check as it was. An error tells whoever sees it that a fault had an effect. Signatures of other modes
//! with the same key are as safe as those modes.

mod signing;
#[cfg(all(test, mldsa_inside))]
mod tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/hardened/tests.rs"
    ));
}
mod verifying;

use core::fmt;

use crate::error::Error as Refusal;
pub use signing::SigningKey;
pub use verifying::{Verified, VerifyingKey};

/// Why there is no result. Nothing in it depends on a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An error that the ordinary interface returns too.
    Refused(Refusal),
    /// The key in memory is not the one that was checked.
    KeyDamaged,
    /// t1 of a public key is 0. FIPS 204 does not forbid such a key, and the ordinary mode takes it. But anybody
    /// can sign for it, and a fault that wipes a public key makes it.
    ZeroPublicKey,
    /// Two computations of the same gave different results, or a signature just made is not valid.
    Disagreement,
}

/// [`Error::KeyDamaged`] by itself.
///
/// The calls that look at a key return it in a register. A result in the caller's memory would not do: one
/// skipped instruction leaves an earlier `Ok` in its place, and writes the result over the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyDamaged;

impl From<KeyDamaged> for Error {
    fn from(KeyDamaged: KeyDamaged) -> Self {
        Error::KeyDamaged
    }
}

impl fmt::Display for KeyDamaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the key in memory is not the one that was checked")
    }
}

impl core::error::Error for KeyDamaged {}

impl From<Refusal> for Error {
    fn from(error: Refusal) -> Self {
        Error::Refused(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(error) => error.fmt(f),
            Error::KeyDamaged => KeyDamaged.fmt(f),
            Error::ZeroPublicKey => f.write_str(
                "t1 of the public key is 0, for which anybody can sign; get the key again",
            ),
            Error::Disagreement => f.write_str("two computations of the same disagree"),
        }
    }
}

impl core::error::Error for Error {}

/// Both results of [`compared`] for equal strings. They differ in half their bits, from each other and from 0.
const EQUAL: [u64; 2] = [0x3c96_a5d2_b41e_69c3, 0x707c_70b4_8a97_b9d8];

/// `equal` if the strings are, else something else: no branch until their end.
#[inline(never)]
fn compared(equal: u64, a: &[u8], b: &[u8]) -> u64 {
    let pairs = a.iter().zip(b);
    let differs = pairs.fold(a.len() ^ b.len(), |all, (a, b)| all | usize::from(a ^ b));
    equal ^ (differs as u64).wrapping_mul(0x0101_0101_0101_0101)
}
