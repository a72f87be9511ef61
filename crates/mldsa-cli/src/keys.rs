//! Key files: PEM or DER with PKCS#8 and SubjectPublicKeyInfo (RFC 9881).

use std::path::Path;
use std::str;

use mldsa_lanes::PrivateKeyForm;
use mldsa_lanes::any::{AnySigningKey, AnyVerifyingKey, Set};
use mldsa_lanes::pkcs8::der::asn1::AnyRef;
use mldsa_lanes::pkcs8::der::pem::LineEnding;
use mldsa_lanes::pkcs8::der::{Decode, Tag, Tagged};
use mldsa_lanes::pkcs8::spki::{self, EncodePublicKey, SubjectPublicKeyInfoRef};
use mldsa_lanes::pkcs8::{self, PrivateKeyInfoRef, SecretDocument};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::failure::{Failure, shown};
use crate::files;
use crate::streams::Standard;

/// Labels of RFC 7468.
const PRIVATE: &str = "PRIVATE KEY";
const PUBLIC: &str = "PUBLIC KEY";
pub const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";
/// As many characters of another label are shown.
const SHOWN: usize = 40;

/// One key of a file, in DER.
pub enum Block {
    Private(SecretDocument),
    Public(SecretDocument),
    /// Something else, by its PEM label.
    Other(String),
}

/// Split a file into its keys. Empty if it has neither PEM nor the DER of a key.
pub fn blocks(path: &Path, bytes: &[u8]) -> Result<Vec<Block>, Failure> {
    if PrivateKeyInfoRef::try_from(bytes).is_ok() {
        let document = SecretDocument::try_from(bytes);
        return Ok(document.map(Block::Private).into_iter().collect());
    }
    if SubjectPublicKeyInfoRef::try_from(bytes).is_ok() {
        let document = SecretDocument::try_from(bytes);
        return Ok(document.map(Block::Public).into_iter().collect());
    }
    refuse_other_der(path, bytes)?;
    let mut found = Vec::new();
    let mut rest = str::from_utf8(bytes).unwrap_or_default();
    while let Some(start) = rest.find("-----BEGIN ") {
        rest = &rest[start..];
        let label = rest["-----BEGIN ".len()..].split("-----").next();
        let label = label.unwrap_or_default();
        let boundary = format!("-----END {label}-----");
        let Some(end) = rest.find(&boundary).map(|at| at + boundary.len()) else {
            return Err(malformed(path, "a PEM block has no end"));
        };
        let decode = || {
            let decoded = SecretDocument::from_pem(&rest[..end]);
            decoded.map_err(|error| malformed(path, error))
        };
        found.push(match label {
            PRIVATE => Block::Private(decode()?.1),
            PUBLIC => Block::Public(decode()?.1),
            _ => Block::Other(label.chars().take(SHOWN).collect()),
        });
        rest = &rest[end..];
    }
    Ok(found)
}

/// Name DER with other content than a key: an encrypted private key or a certificate.
fn refuse_other_der(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let parts = Vec::<AnyRef>::from_der(bytes).unwrap_or_default();
    let tags: Vec<Tag> = parts.iter().map(Tagged::tag).collect();
    match tags.as_slice() {
        [Tag::Sequence, Tag::OctetString] => Err(encrypted(path)),
        // The version of a certificate, where a request has a number.
        [Tag::Sequence, Tag::Sequence, Tag::BitString]
            if parts[0].value().first() == Some(&0xa0) =>
        {
            Err(Failure::new(
                shown(path),
                "a certificate",
                "extract its public key with `openssl x509 -pubkey -noout`",
            ))
        }
        _ => Ok(()),
    }
}

/// The error for an encrypted private key.
pub fn encrypted(path: &Path) -> Failure {
    Failure::new(
        shown(path),
        "an encrypted private key",
        "decrypt it with `openssl pkey` of OpenSSL 3.5 or newer",
    )
}

fn malformed(path: &Path, problem: impl std::fmt::Display) -> Failure {
    Failure::new(shown(path), problem, "export the key again")
}

/// Read the blocks of a file that has to be a key.
fn key_blocks(path: &Path) -> Result<Vec<Block>, Failure> {
    match files::read_small(path)? {
        Some(bytes) => blocks(path, &bytes),
        None => Ok(Vec::new()),
    }
}

/// Say which key is missing, and how to get it from what the file has.
fn missing(path: &Path, wanted: &str, found: &[Block]) -> Failure {
    let (problem, remedy) = match found.first() {
        Some(Block::Private(_)) => (
            "a private key where the public key is needed".into(),
            "extract it with `mldsa pubkey`",
        ),
        Some(Block::Public(_)) => (
            "a public key where the private key is needed".into(),
            "name the private key file",
        ),
        Some(Block::Other(label)) if label == "CERTIFICATE" => (
            "a certificate".into(),
            "extract its public key with `openssl x509 -pubkey -noout`",
        ),
        Some(Block::Other(label)) if label == ENCRYPTED => return encrypted(path),
        Some(Block::Other(label)) => (
            format!("a PEM block {label:?} where a {wanted} is needed"),
            "convert the key to PKCS#8",
        ),
        None => (
            format!("not a {wanted} in PEM or DER"),
            "name a key file of RFC 9881",
        ),
    };
    Failure::new(shown(path), problem, remedy)
}

/// Read the first private key of a file.
pub fn read_private(path: &Path) -> Result<AnySigningKey, Failure> {
    let found = key_blocks(path)?;
    let private = found.iter().find_map(|block| match block {
        Block::Private(der) => Some(der),
        _ => None,
    });
    let der = private.ok_or_else(|| missing(path, "private key", &found))?;
    decode_private(path, der)
}

/// Read the first public key of a file.
pub fn read_public(path: &Path) -> Result<AnyVerifyingKey, Failure> {
    let found = key_blocks(path)?;
    let public = found.iter().find_map(|block| match block {
        Block::Public(der) => Some(der),
        _ => None,
    });
    let der = public.ok_or_else(|| missing(path, "public key", &found))?;
    decode_public(path, der)
}

/// Decode PKCS#8. Checks that the parts of the key belong together, and warns if others can read it.
pub fn decode_private(path: &Path, der: &SecretDocument) -> Result<AnySigningKey, Failure> {
    let info = PrivateKeyInfoRef::try_from(der.as_bytes());
    info.and_then(AnySigningKey::try_from)
        .map_err(|error| match error {
            pkcs8::Error::PublicKey(error) => undecodable(path, error),
            pkcs8::Error::KeyMalformed(_) => Failure::new(
                shown(path),
                "invalid private key: a length, a value or a part does not belong to the rest",
                "restore it from a backup",
            ),
            error => malformed(path, error),
        })
        .inspect(|_| files::warn_if_shared(path, Standard::Input))
}

/// Decode SubjectPublicKeyInfo.
pub fn decode_public(path: &Path, der: &SecretDocument) -> Result<AnyVerifyingKey, Failure> {
    let info = SubjectPublicKeyInfoRef::try_from(der.as_bytes());
    info.and_then(AnyVerifyingKey::try_from)
        .map_err(|error| undecodable(path, error))
}

fn undecodable(path: &Path, error: spki::Error) -> Failure {
    match error {
        spki::Error::OidUnknown { oid } => Failure::new(
            shown(path),
            format_args!("a key of another algorithm (object identifier {oid})"),
            "name an ML-DSA key",
        ),
        spki::Error::KeyMalformed => malformed(path, "a public key of a wrong length"),
        error => malformed(path, error),
    }
}

/// Set and form that a private key file states, before its parts are checked.
pub fn stated(der: &SecretDocument) -> Option<(Set, PrivateKeyForm)> {
    let info = PrivateKeyInfoRef::try_from(der.as_bytes()).ok()?;
    let form = match info.private_key.as_bytes().first()? {
        0x80 => PrivateKeyForm::Seed,
        0x04 => PrivateKeyForm::ExpandedKey,
        _ => PrivateKeyForm::Both,
    };
    Some((Set::from_algorithm(&info.algorithm).ok()?, form))
}

/// Encode a private key in PEM.
pub fn private_pem(
    key: &AnySigningKey,
    form: PrivateKeyForm,
) -> Result<Zeroizing<String>, Failure> {
    let pem = key.to_pkcs8_der_as(form).and_then(|der| {
        let pem = der.to_pem(PRIVATE, LineEnding::LF);
        pem.map_err(pkcs8::Error::from)
    });
    pem.map_err(|error| unencodable("private key", error))
}

/// Encode a public key in PEM.
pub fn public_pem(key: &AnyVerifyingKey) -> Result<String, Failure> {
    let pem = key.to_public_key_pem(LineEnding::LF);
    pem.map_err(|error| unencodable("public key", error))
}

fn unencodable(key: &str, error: impl std::fmt::Display) -> Failure {
    Failure::new(
        key,
        format_args!("cannot be encoded: {error}"),
        "report this error",
    )
}

/// SHA-256 of the public key's DER, as `openssl pkey -pubin -outform DER | sha256sum` prints it.
pub fn fingerprint(key: &AnyVerifyingKey) -> Result<String, Failure> {
    let der = key.to_public_key_der();
    let der = der.map_err(|error| unencodable("public key", error))?;
    let digest = Sha256::digest(der.as_bytes());
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
