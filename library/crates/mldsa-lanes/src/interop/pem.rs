//! The reader of PEM (RFC 7468) that the library, its bindings and the command line share.
//!
//! ```
//! use mldsa_lanes::mldsa65::{SigningKey, VerifyingKey};
//! use mldsa_lanes::pem;
//! use mldsa_lanes::pkcs8::{EncodePrivateKey, EncodePublicKey};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SigningKey::from_seed(&[7; 32]);
//! let private = key.to_pkcs8_pem(Default::default())?;
//! let public = key.verifying_key().to_public_key_pem(Default::default())?;
//!
//! let file = ["The key of the build server\n", &private, &public].concat();
//! assert_eq!(pem::read_private_key::<SigningKey>(file.as_bytes())?.seed(), Some(&[7; 32]));
//! assert_eq!(pem::read_public_key::<VerifyingKey>(file.as_bytes())?, *key.verifying_key());
//! # Ok(())
//! # }
//! ```
//!
//! A block begins with `-----BEGIN LABEL-----` and ends with `-----END LABEL-----`. Private keys have the label
//! `PRIVATE KEY` (PKCS#8), public keys `PUBLIC KEY` (SubjectPublicKeyInfo).
//!
//! | the reader ignores | details |
//! |---|---|
//! | white space in a block | lines of any length; spaces, tabs, form feeds, blank lines; LF, CRLF and CR, also mixed |
//! | text outside blocks | any bytes: a byte order mark, a NUL, text that is not UTF-8 |
//! | blocks with other labels | certificates, or the public key next to the private key |
//! | quoted boundaries | a BEGIN boundary with other text after it on its line |
//!
//! A whole block may also be on one line, as in an environment variable.
//!
//! | the reader rejects | reason |
//! |---|---|
//! | more than [`MAX_BYTES`] | no key is that long |
//! | two blocks with the label of the key | the reader cannot know which one you want |
//! | a block without an END boundary, or with another label there | the file is damaged |
//! | headers (`Proc-Type: 4,ENCRYPTED`) | RFC 7468 has none; before it they marked encrypted keys |
//! | encrypted keys | with the feature `encryption`, `read_encrypted_private_key` reads them |
//! | base64 without padding, or with other characters | the file is damaged |
//!
//! The methods `from_pkcs8_pem` and `from_public_key_pem` of the crate `pkcs8` are stricter: they read one block
//! with lines of 64 characters.
//!
//! The base64 decoder takes constant time. The reader depends on the places of white space, hyphens and colons, and
//! on no other character. It wipes its copies of a key.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ::pkcs8::der::pem::{Base64Decoder, PemLabel};
use ::pkcs8::der::zeroize::Zeroizing;
use ::pkcs8::spki::{self, SubjectPublicKeyInfoRef};
use ::pkcs8::{
    self as format, DecodePrivateKey, DecodePublicKey, PrivateKeyInfoRef, SecretDocument,
};

#[cfg(feature = "encryption")]
use super::encryption;
use crate::backend::Wiper;

/// The longest file that is read, in bytes.
pub const MAX_BYTES: usize = 65_536;

const MAX_LABEL: usize = 64;
const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const HYPHENS: &[u8] = b"-----";

/// An error of the reader: its text says what is wrong, in which line, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // `label`: of the block; `line`: of its BEGIN boundary, from 1.
pub enum Error {
    /// The file is longer than [`MAX_BYTES`].
    TooLong { bytes: usize },
    /// The file has no block.
    NoBlock { expected: &'static str },
    /// No block has the expected label. `label` and `line` are those of the first block.
    OtherLabel {
        expected: &'static str,
        label: String,
        line: usize,
    },
    /// Two blocks have the expected label.
    TwoKeys {
        label: String,
        line: usize,
        second: usize,
    },
    /// The block has no END boundary.
    NoEnd { label: String, line: usize },
    /// The END boundary has another label.
    EndLabel {
        label: String,
        line: usize,
        end: String,
    },
    /// The block has headers.
    Headers { label: String, line: usize },
    /// The block is not base64.
    Base64 { label: String, line: usize },
    /// The block is no ML-DSA key.
    Key {
        label: String,
        line: usize,
        error: format::Error,
    },
    /// The block cannot be decrypted.
    #[cfg(feature = "encryption")]
    Decryption {
        label: String,
        line: usize,
        error: encryption::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::TooLong { bytes } => write!(
                f,
                "file of {bytes} bytes; keep the key and its certificates only, at most {MAX_BYTES} bytes"
            ),
            Error::NoBlock { expected } => {
                write!(f, "no line -----BEGIN {expected}-----; pass a key in PEM")
            }
            Error::OtherLabel {
                expected,
                label,
                line,
            } => write!(
                f,
                "PEM block \"{label}\" in line {line} where \"{expected}\" is needed; {}",
                remedy(expected, label)
            ),
            Error::TwoKeys {
                label,
                line,
                second,
            } => write!(
                f,
                "two PEM blocks \"{label}\" in lines {line} and {second}; keep one key in the file"
            ),
            Error::NoEnd { label, line } => write!(
                f,
                "PEM block \"{label}\" in line {line} has no line -----END {label}-----; restore the whole file"
            ),
            Error::EndLabel { label, line, end } => write!(
                f,
                "PEM block \"{label}\" in line {line} ends with -----END {end}-----; restore the original file"
            ),
            Error::Headers { label, line } => write!(
                f,
                "PEM block \"{label}\" in line {line} has headers; remove them, or decrypt the key if they name an \
                 encryption"
            ),
            Error::Base64 { label, line } => write!(
                f,
                "PEM block \"{label}\" in line {line} is not valid base64; restore the original file"
            ),
            Error::Key { label, line, error } => {
                let remedy = match error {
                    format::Error::PublicKey(spki::Error::OidUnknown { .. }) => {
                        "pass an ML-DSA key"
                    }
                    _ => "export the key again, or restore it from a backup",
                };
                write!(
                    f,
                    "PEM block \"{label}\" in line {line} is not an ML-DSA key: {error}; {remedy}"
                )
            }
            #[cfg(feature = "encryption")]
            Error::Decryption { label, line, error } => {
                write!(f, "PEM block \"{label}\" in line {line}: {error}")
            }
        }
    }
}

/// The advice where a file has a block with another label than the expected one, or the same content in DER.
#[doc(hidden)] // for the command line
pub fn remedy(expected: &str, label: &str) -> &'static str {
    let is_private = expected.ends_with(PrivateKeyInfoRef::PEM_LABEL);
    match (label, is_private) {
        ("PRIVATE KEY", true) => "this key is not encrypted: read it without a password",
        ("ENCRYPTED PRIVATE KEY", true) => "decrypt it with `openssl pkey` of OpenSSL 3.5 or newer",
        ("CERTIFICATE", false) => {
            "extract its public key with `openssl x509 -pubkey -noout` of OpenSSL 3.5 or newer"
        }
        ("PRIVATE KEY", false) => "read the private key, and take its public key",
        (_, true) => "pass an ML-DSA private key in PKCS#8",
        (_, false) => "pass an ML-DSA public key",
    }
}

impl core::error::Error for Error {}

/// A block of a file.
#[derive(Clone)]
pub struct Block<'a> {
    label: &'a str,
    line: usize,
    body: &'a [u8],
}

/// Without its content, which may be secret.
impl fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut block = f.debug_struct("Block");
        block.field("label", &self.label).field("line", &self.line);
        block.finish_non_exhaustive()
    }
}

impl<'a> Block<'a> {
    /// The label, such as `PRIVATE KEY`.
    pub fn label(&self) -> &'a str {
        self.label
    }

    /// The line of the BEGIN boundary, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Decode the content: a DER document.
    ///
    /// # Errors
    /// [`Error::Headers`], [`Error::Base64`], and [`Error::Key`] for other data than one DER value.
    pub fn decode(&self) -> Result<SecretDocument, Error> {
        let _wiper = Wiper::<4>;
        decode(self)
    }

    fn key_error(&self, error: format::Error) -> Error {
        let (label, line) = (self.label.into(), self.line);
        Error::Key { label, line, error }
    }
}

// The decoder keeps up to three bytes in its frame, so it is called under a wiper.
#[inline(never)]
fn decode(block: &Block<'_>) -> Result<SecretDocument, Error> {
    let (label, line) = (|| block.label.into(), block.line);
    if block.body.contains(&b':') {
        let label = label();
        return Err(Error::Headers { label, line });
    }
    // Of full capacity at once: a vector that grows leaves copies behind.
    let mut text = Zeroizing::new(Vec::with_capacity(block.body.len()));
    text.extend(block.body.iter().filter(|byte| !is_white(byte)));
    let decoded = Base64Decoder::new(&text).and_then(|mut decoder| {
        let mut der = Zeroizing::new(alloc::vec![0; decoder.remaining_len()]);
        decoder.decode(&mut der)?;
        Ok(der)
    });
    let der = decoded.map_err(|_| Error::Base64 {
        label: label(),
        line,
    })?;
    SecretDocument::try_from(&der[..]).map_err(|error| block.key_error(error.into()))
}

/// The blocks of a file, from its start.
#[derive(Clone)]
pub struct Blocks<'a> {
    rest: &'a [u8],
    line: usize,
}

/// Return the blocks of a file, whatever their labels. The last item may be an error.
///
/// # Errors
/// [`Error::TooLong`]; as items [`Error::NoEnd`] and [`Error::EndLabel`].
pub fn blocks(file: &[u8]) -> Result<Blocks<'_>, Error> {
    let bytes = file.len();
    if bytes > MAX_BYTES {
        return Err(Error::TooLong { bytes });
    }
    Ok(Blocks {
        rest: file,
        line: 1,
    })
}

impl<'a> Blocks<'a> {
    /// Move on by `count` bytes, which end with a line or before a hyphen.
    fn skip(&mut self, count: usize) -> &'a [u8] {
        let (skipped, rest) = self.rest.split_at(count);
        let ends = |at: &usize| match skipped[*at] {
            b'\n' => true,
            b'\r' => skipped.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        self.line += (0..count).filter(ends).count();
        self.rest = rest;
        skipped
    }

    /// Move over a boundary: its `start`, a label, hyphens. Stays where there is none.
    fn boundary(&mut self, start: &[u8]) -> Option<&'a str> {
        let rest = self.rest.strip_prefix(start)?;
        let label = &rest[..find(&rest[..rest.len().min(MAX_LABEL + HYPHENS.len())], HYPHENS)?];
        let is_printable = label.iter().all(|byte| matches!(byte, b' '..=b'~'));
        let label = core::str::from_utf8(label).ok().filter(|_| is_printable)?;
        self.rest = &rest[label.len() + HYPHENS.len()..];
        Some(label)
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Result<Block<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(at) = find(self.rest, BEGIN) else {
                self.rest = &[];
                return None;
            };
            self.skip(at);
            let line = self.line;
            let Some(label) = self.boundary(BEGIN) else {
                self.skip(BEGIN.len());
                continue;
            };
            let body = find(self.rest, HYPHENS).unwrap_or(self.rest.len());
            let (body, after) = self.rest.split_at(body);
            let first = body.split(|byte| matches!(byte, b'\r' | b'\n')).next();
            let first = first.unwrap_or_default();
            let is_one_line = first.len() == body.len() && after.starts_with(END);
            if !first.iter().all(is_white) && !is_one_line {
                continue;
            }
            self.skip(body.len());
            let end = self.boundary(END);
            if end == Some(label) {
                return Some(Ok(Block { label, line, body }));
            }
            self.rest = &[];
            let label = label.into();
            return Some(Err(match end {
                None => Error::NoEnd { label, line },
                Some(end) => Error::EndLabel {
                    label,
                    line,
                    end: end.into(),
                },
            }));
        }
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    (0..bytes.len()).find(|at| bytes[*at..].starts_with(pattern))
}

/// White space of RFC 7468.
fn is_white(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Return the only block with a label.
///
/// # Errors
/// All but [`Error::Headers`], [`Error::Base64`] and [`Error::Key`].
pub fn find_block<'a>(file: &'a [u8], label: &'static str) -> Result<Block<'a>, Error> {
    let (mut result, mut other): (Option<Block<'_>>, Option<Block<'_>>) = (None, None);
    for block in blocks(file)? {
        match (block, &result) {
            (Ok(block), None) if block.label == label => result = Some(block),
            (Ok(block), Some(first)) if block.label == label => {
                return Err(Error::TwoKeys {
                    label: label.into(),
                    line: first.line,
                    second: block.line,
                });
            }
            (Ok(block), _) => other = other.or(Some(block)),
            // The key is read already, and another block is damaged.
            (
                Err(Error::NoEnd { label: damaged, .. } | Error::EndLabel { label: damaged, .. }),
                Some(_),
            ) if damaged != label => {}
            (Err(error), _) => return Err(error),
        }
    }
    let expected = label;
    result.ok_or_else(|| match other {
        Some(Block { label, line, .. }) => Error::OtherLabel {
            expected,
            label: label.into(),
            line,
        },
        None => Error::NoBlock { expected },
    })
}

/// Read the private key of a file: `SigningKey` of a set, or `AnySigningKey`.
///
/// # Errors
/// Each [`Error`].
pub fn read_private_key<K: DecodePrivateKey>(file: &[u8]) -> Result<K, Error> {
    let _wiper = Wiper::<32>;
    private_key(file)
}

// It moves the key, so it is called under a wiper.
#[inline(never)]
fn private_key<K: DecodePrivateKey>(file: &[u8]) -> Result<K, Error> {
    let block = find_block(file, PrivateKeyInfoRef::PEM_LABEL)?;
    let key = K::from_pkcs8_der(block.decode()?.as_bytes());
    key.map_err(|error| block.key_error(error))
}

/// Read the encrypted private key of a file: `SigningKey` of a set, or `AnySigningKey`.
///
/// # Errors
/// Each [`Error`].
#[cfg(feature = "encryption")]
pub fn read_encrypted_private_key<K: DecodePrivateKey>(
    file: &[u8],
    password: &[u8],
) -> Result<K, Error> {
    let block = find_block(file, format::EncryptedPrivateKeyInfoRef::PEM_LABEL)?;
    let key = encryption::read_private_key(block.decode()?.as_bytes(), password);
    key.map_err(|error| Error::Decryption {
        label: block.label.into(),
        line: block.line,
        error,
    })
}

/// Read the public key of a file: `VerifyingKey` of a set, or `AnyVerifyingKey`.
///
/// # Errors
/// Each [`Error`].
pub fn read_public_key<K: DecodePublicKey>(file: &[u8]) -> Result<K, Error> {
    let block = find_block(file, SubjectPublicKeyInfoRef::PEM_LABEL)?;
    let key = K::from_public_key_der(block.decode()?.as_bytes());
    key.map_err(|error| block.key_error(error.into()))
}
