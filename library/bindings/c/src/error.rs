//! Error codes.

use std::ffi::c_char;

use mldsa_lanes::{Error, encryption, hardened, pem, pkcs8};

/// The outcome of a call: MLDSA_OK or one of MLDSA_ERROR_... below.
pub type mldsa_error = i32;

/// Success; for a verification: the signature is valid.
pub const MLDSA_OK: mldsa_error = 0;
/// The signature is not valid for this key, message and context.
pub const MLDSA_ERROR_SIGNATURE: mldsa_error = 1;
/// A pointer is NULL, or not aligned for its type, where data are needed.
pub const MLDSA_ERROR_NULL: mldsa_error = 2;
/// The parameter set is none of MLDSA_44, MLDSA_65 and MLDSA_87.
pub const MLDSA_ERROR_SET: mldsa_error = 3;
/// A key, seed, signature, digest, rnd or password does not have the number of bytes that it must have.
pub const MLDSA_ERROR_LENGTH: mldsa_error = 4;
/// The buffer for the result is too short; nothing was written to it.
pub const MLDSA_ERROR_BUFFER: mldsa_error = 5;
/// The context has more than 255 bytes.
pub const MLDSA_ERROR_CONTEXT: mldsa_error = 6;
/// The hash function is unknown, or weaker than the parameter set asks for.
pub const MLDSA_ERROR_HASH: mldsa_error = 7;
/// A form, an encoding, a kind of randomness, a flag or a number of threads that there is not, or
/// options that conflict.
pub const MLDSA_ERROR_OPTION: mldsa_error = 8;
/// The private key is one that no key generation writes.
pub const MLDSA_ERROR_KEY: mldsa_error = 9;
/// The file is not PKCS#8 or SubjectPublicKeyInfo of an ML-DSA key, in DER or PEM (RFC 9881).
pub const MLDSA_ERROR_ENCODING: mldsa_error = 10;
/// The seed of this private key is not known: it was imported without it.
pub const MLDSA_ERROR_NO_SEED: mldsa_error = 11;
/// The mu hasher was made for another key.
pub const MLDSA_ERROR_MU: mldsa_error = 12;
/// The random number generator of the operating system failed.
pub const MLDSA_ERROR_RANDOM: mldsa_error = 13;
/// The threads cannot be started. No function returns it any more: the calling thread does the work.
pub const MLDSA_ERROR_THREADS: mldsa_error = 14;
/// Signing gave up after 821 rejected iterations; probability below 2^-256.
pub const MLDSA_ERROR_ITERATIONS: mldsa_error = 15;
/// A defect of the library; it wrote a message to standard error.
pub const MLDSA_ERROR_INTERNAL: mldsa_error = 16;
/// The heap has no memory left for what the call allocates.
pub const MLDSA_ERROR_MEMORY: mldsa_error = 17;
/// The environment variable MLDSA_LANES_BACKEND names no backend that this CPU can run, or
/// MLDSA_LANES_DISABLE names an unknown CPU feature.
pub const MLDSA_ERROR_ENVIRONMENT: mldsa_error = 18;
/// The two keys do not belong together, or are not the same.
pub const MLDSA_ERROR_MISMATCH: mldsa_error = 19;
/// Hardened calls: two computations of the same result differ, a key changed in memory, or t1 of
/// the public key is 0, for which anybody can sign.
pub const MLDSA_ERROR_FAULT: mldsa_error = 20;
/// The password is wrong, or the encrypted file is damaged.
pub const MLDSA_ERROR_PASSWORD: mldsa_error = 21;
/// The private key is encrypted and the call takes no password, or the other way round; or its
/// encryption has an algorithm or a cost that is not read.
pub const MLDSA_ERROR_ENCRYPTION: mldsa_error = 22;

/// Return a sentence in English about an error code, also for an unknown code. Never NULL.
///
/// Thread safety: any thread, any time. Ownership: static, ends with NUL, never freed.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_error_string(error: mldsa_error) -> *const c_char {
    let text = match error {
        MLDSA_OK => c"success",
        MLDSA_ERROR_SIGNATURE => c"invalid signature",
        MLDSA_ERROR_NULL => c"a pointer is NULL or not aligned where data are needed",
        MLDSA_ERROR_SET => c"unknown parameter set; use MLDSA_44, MLDSA_65 or MLDSA_87",
        MLDSA_ERROR_LENGTH => c"wrong length of a key, seed, signature, digest, rnd or password",
        MLDSA_ERROR_BUFFER => c"the buffer for the result is too short",
        MLDSA_ERROR_CONTEXT => c"the context is too long; at most 255 bytes are allowed",
        MLDSA_ERROR_HASH => {
            c"the hash function is unknown or weaker than the parameter set asks for"
        }
        MLDSA_ERROR_OPTION => c"unknown or conflicting options",
        MLDSA_ERROR_KEY => c"invalid private key: its parts do not belong together",
        MLDSA_ERROR_ENCODING => {
            c"no ML-DSA key in DER or PEM; `mldsa inspect FILE` prints the reason"
        }
        MLDSA_ERROR_NO_SEED => c"the seed of this private key is not known",
        MLDSA_ERROR_MU => c"the mu hasher was made for another key",
        MLDSA_ERROR_RANDOM => c"the random number generator of the operating system failed",
        MLDSA_ERROR_THREADS => c"the threads cannot be started",
        MLDSA_ERROR_ITERATIONS => c"signing gave up after 821 rejected iterations",
        MLDSA_ERROR_INTERNAL => c"internal error; standard error has the message",
        MLDSA_ERROR_MEMORY => c"out of memory",
        MLDSA_ERROR_ENVIRONMENT => {
            c"MLDSA_LANES_BACKEND or MLDSA_LANES_DISABLE has a word that is unknown or unavailable here; unset the variable"
        }
        MLDSA_ERROR_MISMATCH => c"the two keys do not belong together, or are not the same",
        MLDSA_ERROR_FAULT => c"a hardware fault, or a public key of zeros; read the key again",
        MLDSA_ERROR_PASSWORD => c"wrong password, or damaged private key",
        MLDSA_ERROR_ENCRYPTION => {
            c"an encrypted private key without a password, a password without one, or another encryption; `mldsa inspect FILE` prints the reason"
        }
        _ => c"unknown error code",
    };
    text.as_ptr()
}

/// The code of an error of the library.
pub(crate) fn code(error: Error) -> mldsa_error {
    match error {
        Error::SigningKeyLength { .. }
        | Error::VerifyingKeyLength { .. }
        | Error::SignatureLength { .. }
        | Error::DigestLength { .. }
        | Error::RndCount { .. } => MLDSA_ERROR_LENGTH,
        Error::UnknownSet => MLDSA_ERROR_SET,
        Error::ContextTooLong { .. } => MLDSA_ERROR_CONTEXT,
        Error::UnknownPreHash | Error::WeakPreHash { .. } => MLDSA_ERROR_HASH,
        Error::InvalidSigningKey(_) => MLDSA_ERROR_KEY,
        Error::MuOfAnotherKey => MLDSA_ERROR_MU,
        Error::TooManyAttempts { .. } => MLDSA_ERROR_ITERATIONS,
        Error::InvalidSignature => MLDSA_ERROR_SIGNATURE,
        Error::Rng => MLDSA_ERROR_RANDOM,
        Error::OutOfMemory => MLDSA_ERROR_MEMORY,
        _ => MLDSA_ERROR_INTERNAL,
    }
}

/// The code of an error of the hardened mode.
pub(crate) fn hardened_code(error: impl Into<hardened::Error>) -> mldsa_error {
    match error.into() {
        hardened::Error::Refused(error) => code(error),
        _ => MLDSA_ERROR_FAULT,
    }
}

/// That of an error of PKCS#8: the parts of a key do not agree, or it cannot be read.
pub(crate) fn file_code(error: pkcs8::Error) -> mldsa_error {
    match error {
        pkcs8::Error::KeyMalformed(_) => MLDSA_ERROR_KEY,
        _ => MLDSA_ERROR_ENCODING,
    }
}

/// The code of an error of encryption or decryption.
pub(crate) fn encryption_code(error: encryption::Error) -> mldsa_error {
    match error {
        encryption::Error::Key(error) => file_code(error),
        encryption::Error::Password => MLDSA_ERROR_PASSWORD,
        encryption::Error::Rng => MLDSA_ERROR_RANDOM,
        encryption::Error::Malformed => MLDSA_ERROR_ENCODING,
        _ => MLDSA_ERROR_ENCRYPTION,
    }
}

/// The code of an error of the PEM reader of a private key. One with the label `other` needs another call.
pub(crate) fn pem_code(error: pem::Error, file: &[u8], other: &'static str) -> mldsa_error {
    match error {
        pem::Error::Key { error, .. } => file_code(error),
        pem::Error::OtherLabel { .. } if pem::find_block(file, other).is_ok() => {
            MLDSA_ERROR_ENCRYPTION
        }
        _ => MLDSA_ERROR_ENCODING,
    }
}
