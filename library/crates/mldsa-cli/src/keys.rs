//! Key files: PEM or DER with PKCS#8 and SubjectPublicKeyInfo (RFC 9881).

use std::path::Path;

use mldsa_lanes::any::{AnySigningKey, AnyVerifyingKey, Set};
use mldsa_lanes::pkcs8::der::asn1::AnyRef;
use mldsa_lanes::pkcs8::der::pem::LineEnding;
use mldsa_lanes::pkcs8::der::{Decode, Tag, Tagged};
use mldsa_lanes::pkcs8::spki::{self, EncodePublicKey, SubjectPublicKeyInfoRef};
use mldsa_lanes::pkcs8::{self, PrivateKeyInfoRef, SecretDocument};
use mldsa_lanes::{PrivateKeyForm, SysRng, encryption, pem};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::arguments::Password;
use crate::failure::{Failure, shown};
use crate::streams::Standard;
use crate::{files, passwords};

/// Labels of RFC 7468.
const PRIVATE: &str = "PRIVATE KEY";
const PUBLIC: &str = "PUBLIC KEY";
const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";
const CERTIFICATE: &str = "CERTIFICATE";

/// One key of a file, in DER.
pub enum Block {
    Private(SecretDocument),
    Encrypted(SecretDocument),
    Public(SecretDocument),
    /// Something else, by its PEM label.
    Other(String),
}

/// Split a file into its keys. Empty if it has neither PEM nor the DER of a key.
pub fn blocks(path: &Path, bytes: &[u8]) -> Result<Vec<Block>, Failure> {
    if let Some(block) = der(bytes) {
        return Ok(vec![block]);
    }
    if let Some(error) = label_of_other_der(bytes).and_then(|label| no_key(path, label)) {
        return Err(error);
    }
    let describe = |block: Result<pem::Block<'_>, pem::Error>| {
        let block = block?;
        Ok(match block.label() {
            PRIVATE => Block::Private(block.decode()?),
            ENCRYPTED => Block::Encrypted(block.decode()?),
            PUBLIC => Block::Public(block.decode()?),
            label => Block::Other(label.into()),
        })
    };
    let blocks = pem::blocks(bytes).and_then(|blocks| blocks.map(describe).collect());
    blocks.map_err(|error| Failure::at(shown(path), error))
}

/// The key of a file in DER.
fn der(bytes: &[u8]) -> Option<Block> {
    let block = if PrivateKeyInfoRef::try_from(bytes).is_ok() {
        Block::Private
    } else if SubjectPublicKeyInfoRef::try_from(bytes).is_ok() {
        Block::Public
    } else if label_of_other_der(bytes) == Some(ENCRYPTED) {
        Block::Encrypted
    } else {
        return None;
    };
    SecretDocument::try_from(bytes).ok().map(block)
}

/// The PEM label of DER with other content than a key: an encrypted private key or a certificate.
fn label_of_other_der(bytes: &[u8]) -> Option<&'static str> {
    let parts = Vec::<AnyRef>::from_der(bytes).unwrap_or_default();
    let tags: Vec<Tag> = parts.iter().map(Tagged::tag).collect();
    match tags.as_slice() {
        [Tag::Sequence, Tag::OctetString] => Some(ENCRYPTED),
        // The version of a certificate, where a request has a number.
        [Tag::Sequence, Tag::Sequence, Tag::BitString]
            if parts[0].value().first() == Some(&0xa0) =>
        {
            Some(CERTIFICATE)
        }
        _ => None,
    }
}

/// The error for an encrypted private key or a certificate where the key with the label `expected` is needed.
fn other_content(path: &Path, expected: &str, label: &str) -> Failure {
    let problem = match label {
        ENCRYPTED => "an encrypted private key",
        _ => "a certificate",
    };
    Failure::new(shown(path), problem, pem::remedy(expected, label))
}

/// The error for a file whose only content is a certificate, by its PEM label.
pub fn no_key(path: &Path, label: &str) -> Option<Failure> {
    (label == CERTIFICATE).then(|| other_content(path, PUBLIC, label))
}

fn malformed(path: &Path, problem: impl std::fmt::Display) -> Failure {
    Failure::new(shown(path), problem, "export the key again")
}

/// Read a key file.
fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    files::read_small(path)?.ok_or_else(|| {
        let problem = format_args!("longer than {} bytes", pem::MAX_BYTES);
        Failure::new(shown(path), problem, "name a key file")
    })
}

/// Find the DER of the key with a label.
fn find(path: &Path, bytes: &[u8], label: &'static str) -> Result<SecretDocument, Failure> {
    let wrong_kind = || match label {
        PRIVATE => Failure::new(
            shown(path),
            "a public key where the private key is needed",
            "name the private key file",
        ),
        _ => Failure::new(
            shown(path),
            "a private key where the public key is needed",
            "extract it with `mldsa pubkey`",
        ),
    };
    match (der(bytes), label) {
        (Some(Block::Private(der)), PRIVATE) | (Some(Block::Public(der)), PUBLIC) => {
            return Ok(der);
        }
        (Some(Block::Private(_) | Block::Public(_)), _) => return Err(wrong_kind()),
        _ => {}
    }
    if let Some(other) = label_of_other_der(bytes) {
        return Err(other_content(path, label, other));
    }
    let block = pem::find_block(bytes, label).and_then(|block| block.decode());
    block.map_err(|error| match error {
        pem::Error::OtherLabel { label, .. } if label == PRIVATE || label == PUBLIC => wrong_kind(),
        pem::Error::NoBlock { .. } => Failure::new(
            shown(path),
            format_args!("not a {} in PEM or DER", label.to_lowercase()),
            "name a key file of RFC 9881",
        ),
        error => Failure::at(shown(path), error),
    })
}

/// Read the private key of a file, which may be encrypted.
pub fn read_private(path: &Path, password: &Password) -> Result<AnySigningKey, Failure> {
    let bytes = read(path)?;
    if let Some(encrypted) = find_encrypted(&bytes) {
        let encrypted = encrypted.map_err(|error| Failure::at(shown(path), error))?;
        return decrypt(path, &encrypted, password);
    }
    let key = decode_private(path, &find(path, &bytes, PRIVATE)?)?;
    if password.file.is_some() {
        return Err(Failure::new(
            shown(path),
            "is not encrypted",
            "leave out --password-file",
        ));
    }
    Ok(key)
}

/// Find the encrypted private key of a file without another private key.
fn find_encrypted(bytes: &[u8]) -> Option<Result<SecretDocument, pem::Error>> {
    if let Some(block) = der(bytes) {
        return match block {
            Block::Encrypted(der) => Some(Ok(der)),
            _ => None,
        };
    }
    if !matches!(
        pem::find_block(bytes, PRIVATE),
        Err(pem::Error::OtherLabel { .. })
    ) {
        return None;
    }
    match pem::find_block(bytes, ENCRYPTED) {
        Err(pem::Error::OtherLabel { .. }) => None,
        block => Some(block.and_then(|block| block.decode())),
    }
}

/// Read the public key of a file.
pub fn read_public(path: &Path) -> Result<AnyVerifyingKey, Failure> {
    decode_public(path, &find(path, &read(path)?, PUBLIC)?)
}

/// Decode PKCS#8. Checks that the parts of the key belong together, and warns if others can read it.
pub fn decode_private(path: &Path, der: &SecretDocument) -> Result<AnySigningKey, Failure> {
    let info = PrivateKeyInfoRef::try_from(der.as_bytes());
    info.and_then(AnySigningKey::try_from)
        .map_err(|error| invalid_private(path, error))
        .inspect(|_| files::warn_if_shared(path, Standard::Input, "private key"))
}

/// Decrypt PKCS#8, and decode it as [`decode_private`] does.
pub fn decrypt(
    path: &Path,
    encrypted: &SecretDocument,
    password: &Password,
) -> Result<AnySigningKey, Failure> {
    let password = passwords::of_key(path, password)?;
    encryption::read_private_key(encrypted.as_bytes(), &password)
        .map_err(|error| match error {
            encryption::Error::Key(error) => invalid_private(path, error),
            encryption::Error::Password => Failure::new(
                shown(path),
                "wrong password, or damaged private key",
                "check the password",
            ),
            error => Failure::at(shown(path), error),
        })
        .inspect(|_| files::warn_if_shared(path, Standard::Input, "private key"))
}

fn invalid_private(path: &Path, error: pkcs8::Error) -> Failure {
    match error {
        pkcs8::Error::PublicKey(error) => undecodable(path, error),
        pkcs8::Error::KeyMalformed(_) => Failure::new(
            shown(path),
            "invalid private key: a length, a value or a part does not belong to the rest",
            "restore it from a backup",
        ),
        error => malformed(path, error),
    }
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

/// Encode a private key in PEM, encrypted if there is a password.
pub fn private_pem(
    key: &AnySigningKey,
    form: PrivateKeyForm,
    password: Option<&Zeroizing<Vec<u8>>>,
) -> Result<Zeroizing<String>, Failure> {
    let der = key.to_pkcs8_der_as(form);
    let mut der = der.map_err(|error| unencodable("private key", error))?;
    let mut label = PRIVATE;
    if let Some(password) = password {
        label = ENCRYPTED;
        der = encryption::encrypt(&der, password, &mut SysRng)
            .map_err(|error| unencodable("private key", error))?;
    }
    let pem = der.to_pem(label, LineEnding::LF);
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
