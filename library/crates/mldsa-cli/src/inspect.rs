//! What a file holds, without its secrets.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use mldsa_lanes::PrivateKeyForm;
use mldsa_lanes::any::{AnySigningKey, Set};
use mldsa_lanes::pkcs8::SecretDocument;

use crate::arguments::{Inspect, Password};
use crate::failure::{Failure, shown};
use crate::keys::{self, Block};
use crate::signatures::from_base64;
use crate::{collisions, files};

/// Describe each file. The text of earlier files is printed before an error.
pub fn inspect(options: &Inspect) -> Result<(), Failure> {
    let inputs = options.files.iter().chain(&options.password.file);
    collisions::refuse(inputs.map(PathBuf::as_path), [Path::new("-")])?;
    for path in &options.files {
        let mut text = format!("{}\n", shown(path));
        let outcome = describe(path, &options.password, &mut text);
        files::print(&text)?;
        outcome?;
    }
    Ok(())
}

/// A line of the report.
fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "  {name:<12} {value}");
}

fn describe(path: &Path, password: &Password, text: &mut String) -> Result<(), Failure> {
    let unknown = || {
        Failure::new(
            shown(path),
            "neither a key nor a signature of ML-DSA",
            "name a PEM or DER key, or a signature in raw bytes or base64",
        )
    };
    let Some(bytes) = files::read_small(path)? else {
        return Err(unknown());
    };
    let blocks = keys::blocks(path, &bytes)?;
    if blocks.is_empty() {
        // Text first: base64 of one set can have the length of another set's raw bytes.
        let decoded = from_base64(&bytes);
        let length = decoded.as_ref().map_or(bytes.len(), Vec::len);
        let is_length = |set: &Set| set.signature_bytes() == length;
        let set = Set::ALL.into_iter().find(is_length).ok_or_else(unknown)?;
        line(text, "kind", "signature");
        line(text, "set", format_args!("{set}, by its length"));
        let encoding = if decoded.is_some() {
            "base64"
        } else {
            "raw bytes"
        };
        line(text, "size", format_args!("{length} bytes, {encoding}"));
        return Ok(());
    }
    let mut fingerprints = Vec::new();
    for block in &blocks {
        fingerprints.extend(match block {
            Block::Private(der) => Some(private_key(path, der, text)?),
            Block::Encrypted(der) => {
                line(text, "kind", "encrypted private key (PKCS#8)");
                let key = keys::decrypt(path, der, password)?;
                line(text, "set", key.set());
                Some(valid_key(&key, text)?)
            }
            Block::Public(der) => Some(public_key(path, der, text)?),
            Block::Other(label) => {
                line(
                    text,
                    "kind",
                    format_args!("PEM block {label:?}, not described"),
                );
                None
            }
        });
    }
    let no_key = |block: &Block| match block {
        Block::Other(label) => keys::no_key(path, label),
        _ => None,
    };
    match fingerprints.as_slice() {
        [] => Err(blocks.iter().find_map(no_key).unwrap_or_else(unknown)),
        [first, rest @ ..] if rest.iter().any(|other| other != first) => Err(Failure::new(
            shown(path),
            "its keys do not belong together",
            "keep one key pair in a file",
        )),
        _ => Ok(()),
    }
}

/// Describe a private key. Returns the fingerprint of its public key.
fn private_key(path: &Path, der: &SecretDocument, text: &mut String) -> Result<String, Failure> {
    line(text, "kind", "private key (PKCS#8)");
    if let Some((set, form)) = keys::stated(der) {
        let encoded = format!("encoded private key ({} bytes)", set.signing_key_bytes());
        line(text, "set", set);
        line(
            text,
            "form",
            match form {
                PrivateKeyForm::Seed => "seed (32 bytes)".into(),
                PrivateKeyForm::ExpandedKey => format!("expanded: {encoded}"),
                PrivateKeyForm::Both => format!("both: seed (32 bytes) and {encoded}"),
            },
        );
    }
    line(
        text,
        "size",
        format_args!("{} bytes of DER", der.as_bytes().len()),
    );
    let key = match keys::decode_private(path, der) {
        Ok(key) => key,
        Err(failure) => {
            line(text, "parts", "NOT VALID");
            return Err(failure);
        }
    };
    valid_key(&key, text)
}

/// Describe a private key whose parts have been checked. Returns the fingerprint of its public key.
fn valid_key(key: &AnySigningKey, text: &mut String) -> Result<String, Failure> {
    line(text, "parts", "belong together");
    let fingerprint = keys::fingerprint(&key.verifying_key())?;
    line(
        text,
        "fingerprint",
        format_args!("{fingerprint} (of the public key)"),
    );
    Ok(fingerprint)
}

/// Describe a public key. Returns its fingerprint.
fn public_key(path: &Path, der: &SecretDocument, text: &mut String) -> Result<String, Failure> {
    line(text, "kind", "public key (SubjectPublicKeyInfo)");
    let key = keys::decode_public(path, der)?;
    line(text, "set", key.set());
    let (length, der) = (key.as_ref().len(), der.as_bytes().len());
    line(
        text,
        "size",
        format_args!("{length} bytes, {der} bytes of DER"),
    );
    let fingerprint = keys::fingerprint(&key)?;
    line(text, "fingerprint", &fingerprint);
    Ok(fingerprint)
}
