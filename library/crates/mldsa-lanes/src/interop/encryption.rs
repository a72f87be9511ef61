//! Private keys in PKCS#8 under a password: PBES2 (RFC 8018), as OpenSSL and others write it.
//!
//! ```
//! use mldsa_lanes::mldsa65::SigningKey;
//! use mldsa_lanes::pkcs8::EncodePrivateKey;
//! use mldsa_lanes::{SysRng, encryption};
//!
//! # fn main() -> Result<(), encryption::Error> {
//! let key = SigningKey::from_seed(&[7; 32]);
//! let encrypted = encryption::encrypt(&key.to_pkcs8_der()?, b"password", &mut SysRng)?;
//! let read: SigningKey = encryption::read_private_key(encrypted.as_bytes(), b"password")?;
//! assert_eq!(read.seed(), key.seed());
//! # Ok(())
//! # }
//! ```
//!
//! | | written | read |
//! |---|---|---|
//! | key from the password | scrypt, N = 2^14, r = 8, p = 5 (16 MiB) | scrypt, PBKDF2 with HMAC-SHA-2 |
//! | cipher | AES-256-CBC | AES-CBC, AES-GCM |
//! | limit of cost | | scrypt: (N + p)·r ≤ 2^20 (128 MiB), N·r·p ≤ 2^22; PBKDF2: 10,000,000 iterations |
//!
//! These scrypt parameters are OWASP's minimum. OpenSSL by default reads no more than 32 MiB. With the feature `pem`,
//! the document is written with the label `ENCRYPTED PRIVATE KEY`, and `pem::read_encrypted_private_key` reads it.
//!
//! CBC has no authentication: an altered file gives [`Error::Password`] or [`Error::Key`], or another key if only
//! its seed is altered. The methods `from_pkcs8_encrypted_der` of the crate `pkcs8` have no limit of cost, and panic
//! for N = 0. Copies of the private key are wiped. Not wiped: the memory of scrypt on the heap, and the copies that the
//! crate `pkcs5` makes of the key from the password.

use alloc::vec::Vec;
use core::fmt;

use ::pkcs8::der::asn1::{AnyRef, OctetStringRef};
use ::pkcs8::der::zeroize::Zeroizing;
use ::pkcs8::der::{self, Decode, ErrorKind, Reader, SliceReader};
use ::pkcs8::pkcs5::pbes2::{self, Kdf};
use ::pkcs8::pkcs5::{self, scrypt};
use ::pkcs8::spki::AlgorithmIdentifierRef;
use ::pkcs8::{
    self as format, DecodePrivateKey, EncryptedPrivateKeyInfo, EncryptedPrivateKeyInfoRef,
    ObjectIdentifier, PrivateKeyInfoRef, SecretDocument,
};
use rand_core::TryCryptoRng;

use crate::backend::Wiper;

const BLOCK: usize = 16;

const MAX_MEMORY: u64 = 1 << 20;
const MAX_WORK: u64 = 1 << 22;
const MAX_ITERATIONS: u32 = 10_000_000;

/// An error of encryption or decryption. Its text says what is wrong and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Error {
    /// A private key without encryption.
    NotEncrypted,
    /// The encoding is damaged, or its parameters contradict each other.
    Malformed,
    /// Another algorithm than those that are read.
    Algorithm { oid: ObjectIdentifier },
    /// The file asks for more work or memory than the limit.
    Cost,
    /// The password is wrong, or the file is damaged.
    Password,
    /// The decrypted key, or the key to be written, is not valid.
    Key(format::Error),
    /// The caller's random number generator failed.
    Rng,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotEncrypted => {
                f.write_str("this private key is not encrypted; read it without a password")
            }
            Error::Malformed => {
                f.write_str("damaged encrypted private key; restore it from a backup")
            }
            Error::Algorithm { oid } => write!(
                f,
                "private key encrypted with algorithm {oid}; encrypt it again with AES and scrypt or \
                 PBKDF2-HMAC-SHA-256"
            ),
            Error::Cost => f.write_str(
                "the cost of the password's scrypt or PBKDF2 is above the limit; encrypt the key again with \
                 a lower one",
            ),
            Error::Password => f.write_str("wrong password, or damaged private key"),
            Error::Key(error) => write!(f, "not an ML-DSA private key: {error}"),
            Error::Rng => f.write_str("the random number generator failed"),
        }
    }
}

impl core::error::Error for Error {}

impl From<format::Error> for Error {
    fn from(error: format::Error) -> Self {
        Error::Key(error)
    }
}

impl From<der::Error> for Error {
    fn from(error: der::Error) -> Self {
        match error.kind() {
            ErrorKind::OidUnknown { oid } => Error::Algorithm { oid },
            _ => Error::Malformed,
        }
    }
}

impl From<pkcs5::Error> for Error {
    fn from(error: pkcs5::Error) -> Self {
        match error {
            pkcs5::Error::UnsupportedAlgorithm { oid } => Error::Algorithm { oid },
            pkcs5::Error::DecryptFailed => Error::Password,
            _ => Error::Malformed,
        }
    }
}

/// Encrypt a private key in PKCS#8 under a password. Salt and initialization vector come from `rng`.
///
/// # Errors
/// [`Error::Rng`] if `rng` fails.
pub fn encrypt<R: TryCryptoRng + ?Sized>(
    key: &SecretDocument,
    password: &[u8],
    rng: &mut R,
) -> Result<SecretDocument, Error> {
    let mut random = [[0; BLOCK]; 2];
    let bytes = random.as_flattened_mut();
    rng.try_fill_bytes(bytes).map_err(|_| Error::Rng)?;
    let [salt, iv] = random;
    let costs = scrypt::Params::new(14, 8, 5).map_err(|_| Error::Malformed)?;
    let parameters = pbes2::Parameters::generate_scrypt_aes256cbc(costs, &salt, iv)?;

    let _wiper = Wiper::<8>;
    let bytes = key.as_bytes();
    let mut buffer = Zeroizing::new(Vec::with_capacity(bytes.len() + BLOCK));
    buffer.extend_from_slice(bytes);
    buffer.resize(bytes.len() + BLOCK, 0);
    let encrypted = parameters.encrypt_in_place(password, &mut buffer, bytes.len())?;
    let info = EncryptedPrivateKeyInfo {
        encryption_algorithm: parameters.into(),
        encrypted_data: OctetStringRef::new(encrypted)?,
    };
    Ok(SecretDocument::encode_msg(&info)?)
}

/// Read an encrypted private key in DER: `SigningKey` of a set, or `AnySigningKey`.
///
/// # Errors
/// Each [`Error`], except [`Error::Rng`].
pub fn read_private_key<K: DecodePrivateKey>(
    encrypted: &[u8],
    password: &[u8],
) -> Result<K, Error> {
    let _wiper = Wiper::<32>;
    decrypt(encrypted, password)
}

// It moves the key, so it is called under a wiper.
#[inline(never)]
fn decrypt<K: DecodePrivateKey>(encrypted: &[u8], password: &[u8]) -> Result<K, Error> {
    if PrivateKeyInfoRef::try_from(encrypted).is_ok() {
        return Err(Error::NotEncrypted);
    }
    match algorithm(encrypted)? {
        pbes2::PBES2_OID => {}
        oid => return Err(Error::Algorithm { oid }),
    }
    let info = EncryptedPrivateKeyInfoRef::from_der(encrypted)?;
    let parameters = info.encryption_algorithm.pbes2().ok_or(Error::Malformed)?;
    check_cost(&parameters.kdf)?;
    let mut buffer = Zeroizing::new(info.encrypted_data.as_bytes().to_vec());
    let der = parameters.decrypt_in_place(password, &mut buffer)?;
    // A wrong password has a right padding in one case of 256.
    PrivateKeyInfoRef::try_from(der).map_err(|_| Error::Password)?;
    Ok(K::from_pkcs8_der(der)?)
}

/// The crate `pkcs8` reads no algorithm's name but those that it knows.
fn algorithm(encrypted: &[u8]) -> der::Result<ObjectIdentifier> {
    SliceReader::new(encrypted)?.sequence(|reader| {
        let algorithm = AlgorithmIdentifierRef::decode(reader)?;
        AnyRef::decode(reader)?;
        Ok(algorithm.oid)
    })
}

/// The file chooses the costs, and may come from an attacker.
fn check_cost(kdf: &Kdf) -> Result<(), Error> {
    let is_bounded = match kdf {
        Kdf::Scrypt(scrypt) => {
            let [r, p] = [scrypt.block_size, scrypt.parallelization].map(u64::from);
            if scrypt.cost_parameter < 2 || !scrypt.cost_parameter.is_power_of_two() || r * p == 0 {
                return Err(Error::Malformed);
            }
            let n = scrypt.cost_parameter;
            let memory = n.saturating_add(p).saturating_mul(r);
            memory <= MAX_MEMORY && n.saturating_mul(r).saturating_mul(p) <= MAX_WORK
        }
        Kdf::Pbkdf2(pbkdf2) if pbkdf2.iteration_count == 0 => return Err(Error::Malformed),
        Kdf::Pbkdf2(pbkdf2) => pbkdf2.iteration_count <= MAX_ITERATIONS,
        other => return Err(Error::Algorithm { oid: other.oid() }),
    };
    is_bounded.then_some(()).ok_or(Error::Cost)
}
