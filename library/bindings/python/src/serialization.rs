//! Keys in PEM and DER, as RFC 9881 has them.

use mldsa_lanes::PrivateKeyForm;
use mldsa_lanes::any::{AnySigningKey, AnyVerifyingKey};
use mldsa_lanes::pkcs8::der::pem::PemLabel;
use mldsa_lanes::pkcs8::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey,
    EncryptedPrivateKeyInfoRef, LineEnding, PrivateKeyInfoRef,
};
use mldsa_lanes::{Error, SysRng, encryption, pem};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{Data, Password};
use crate::exception;
use crate::keys::{PrivateKey, PublicKey};

/// A form of PKCS#8, by its name in RFC 9881.
#[derive(Clone, Copy)]
pub struct Form(PrivateKeyForm);

impl FromPyObject<'_, '_> for Form {
    type Error = PyErr;

    fn extract(argument: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match argument.extract::<String>()?.as_str() {
            "seed" => Ok(Form(PrivateKeyForm::Seed)),
            "expandedKey" => Ok(Form(PrivateKeyForm::ExpandedKey)),
            "both" => Ok(Form(PrivateKeyForm::Both)),
            other => Err(PyValueError::new_err(format!(
                "unknown form {other:?}; known are seed, expandedKey, both"
            ))),
        }
    }
}

/// The encodings of a key.
enum Encoding {
    Raw,
    Der,
    Pem,
}

/// Whether the type of `value` is the class `name` of this package or of `cryptography`, or a subclass.
fn has_class(value: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    // An object of `cryptography` exists only if the program has imported this module.
    const THEIRS: &str = "cryptography.hazmat.primitives.serialization";
    let py = value.py();
    let modules = py.import("sys")?.getattr("modules")?;
    for module in ["mldsa_lanes", THEIRS] {
        if let Ok(module) = modules.get_item(module)
            && value.get_type().is_subclass(&module.getattr(name)?)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads a member of `Encoding` with one of the format's enumeration. Members of our enumerations and of those of
/// `cryptography` print as `Encoding.PEM` and the like.
fn encoding(
    encoding: &Bound<'_, PyAny>,
    format: &Bound<'_, PyAny>,
    structure: &str,
) -> PyResult<Encoding> {
    let kind = structure.split('.').next().unwrap_or_default();
    if !has_class(encoding, "Encoding")? || !has_class(format, kind)? {
        let text = format!("encoding and format must be members of Encoding and {kind}");
        return Err(PyTypeError::new_err(text));
    }
    let names = (encoding.str()?.to_string(), format.str()?.to_string());
    match (names.0.as_str(), names.1.as_str()) {
        ("Encoding.Raw", raw) if raw.ends_with(".Raw") => Ok(Encoding::Raw),
        ("Encoding.DER", format) if format == structure => Ok(Encoding::Der),
        ("Encoding.PEM", format) if format == structure => Ok(Encoding::Pem),
        (encoding, format) => Err(PyValueError::new_err(format!(
            "{encoding} does not go with {format}; take Encoding.PEM or Encoding.DER with {structure}, or \
             Encoding.Raw with {kind}.Raw"
        ))),
    }
}

/// See `PrivateKey::private_bytes`.
pub fn private_bytes<'py>(
    py: Python<'py>,
    key: &AnySigningKey,
    encoding: &Bound<'py, PyAny>,
    format: &Bound<'py, PyAny>,
    encryption_algorithm: &Bound<'py, PyAny>,
    form: Option<Form>,
) -> PyResult<Bound<'py, PyBytes>> {
    let password: Option<Data<'py, Password>> =
        if has_class(encryption_algorithm, "BestAvailableEncryption")? {
            Some(encryption_algorithm.getattr("password")?.extract()?)
        } else if has_class(encryption_algorithm, "NoEncryption")? {
            None
        } else {
            return Err(PyTypeError::new_err(
                "encryption_algorithm must be NoEncryption() or BestAvailableEncryption(password)",
            ));
        };
    let unknown = || PyValueError::new_err("the seed of this key is not known");
    let encoding = self::encoding(encoding, format, "PrivateFormat.PKCS8")?;
    if let Encoding::Raw = encoding {
        if form.is_some() {
            return Err(PyValueError::new_err("form needs PrivateFormat.PKCS8"));
        }
        if password.is_some() {
            return Err(PyValueError::new_err("Encoding.Raw needs NoEncryption()"));
        }
        return Ok(PyBytes::new(py, key.seed().ok_or_else(unknown)?));
    }
    let document = match form {
        Some(Form(form)) => key.to_pkcs8_der_as(form),
        None => key.to_pkcs8_der(),
    };
    let mut document = document.map_err(|_| unknown())?;
    let mut label = PrivateKeyInfoRef::PEM_LABEL;
    if let Some(password) = password {
        let password: &[u8] = &password;
        label = EncryptedPrivateKeyInfoRef::PEM_LABEL;
        document = py
            .detach(|| encryption::encrypt(&document, password, &mut SysRng))
            .map_err(undecryptable)?;
    }
    match encoding {
        Encoding::Pem => {
            let pem = document.to_pem(label, LineEnding::LF).map_err(malformed)?;
            Ok(PyBytes::new(py, pem.as_bytes()))
        }
        _ => Ok(PyBytes::new(py, document.as_bytes())),
    }
}

/// See `PublicKey::public_bytes`.
pub fn public_bytes<'py>(
    py: Python<'py>,
    key: &AnyVerifyingKey,
    encoding: &Bound<'py, PyAny>,
    format: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    match self::encoding(encoding, format, "PublicFormat.SubjectPublicKeyInfo")? {
        Encoding::Raw => Ok(PyBytes::new(py, key.as_ref())),
        Encoding::Der => {
            let document = key.to_public_key_der().map_err(malformed)?;
            Ok(PyBytes::new(py, document.as_bytes()))
        }
        Encoding::Pem => {
            let pem = key.to_public_key_pem(LineEnding::LF).map_err(malformed)?;
            Ok(PyBytes::new(py, pem.as_bytes()))
        }
    }
}

fn malformed(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("not a key of ML-DSA in this encoding: {error}"))
}

/// The error of the reader of PEM, whose text has the reason and the remedy.
fn malformed_pem(error: pem::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The error of an encrypted key; types and first words are those of `cryptography`.
fn undecryptable(error: encryption::Error) -> PyErr {
    match error {
        encryption::Error::NotEncrypted => PyTypeError::new_err(NOT_ENCRYPTED),
        encryption::Error::Rng => exception(Error::Rng),
        error => PyValueError::new_err(error.to_string()),
    }
}

const ENCRYPTED: &str =
    "Password was not given but private key is encrypted; pass password, as bytes";
const NOT_ENCRYPTED: &str =
    "Password was given but private key is not encrypted; pass password=None";

/// Read a private key in PEM (PKCS#8, RFC 9881: seed, expandedKey or both) of any parameter set.
///
/// The file may have lines of any length, and text, certificates and the public key around the private key. It has at
/// most 64 KiB. `backend` and `unsafe_skip_rsa_key_validation` are those of `cryptography` and do nothing.
///
/// `password`, as bytes, is that of an encrypted key (PBES2 with scrypt or PBKDF2, and AES), else None. Decryption may
/// take seconds.
///
/// ValueError: no such key, its parts do not belong together, the password is wrong, or the encryption has another
/// algorithm or too high a cost. TypeError: an encrypted key without a password, or a password for one that is not.
#[pyfunction]
#[pyo3(signature = (data, password=None, backend=None, *, unsafe_skip_rsa_key_validation=false))]
pub fn load_pem_private_key<'py>(
    py: Python<'py>,
    data: Data<'py>,
    password: Option<Data<'py, Password>>,
    backend: Option<Bound<'py, PyAny>>,
    unsafe_skip_rsa_key_validation: bool,
) -> PyResult<Bound<'py, PrivateKey>> {
    let _ = (backend, unsafe_skip_rsa_key_validation);
    let (file, password): (&[u8], Option<&[u8]>) = (&data, password.as_deref());
    let read = py.detach(|| match password {
        None => pem::read_private_key(file),
        Some(password) => pem::read_encrypted_private_key(file, password),
    });
    let key: AnySigningKey = read.map_err(|error| match error {
        // The label in the error is that of the first block.
        pem::Error::OtherLabel { .. } => match password {
            None if pem::find_block(file, EncryptedPrivateKeyInfoRef::PEM_LABEL).is_ok() => {
                PyTypeError::new_err(ENCRYPTED)
            }
            Some(_) if pem::find_block(file, PrivateKeyInfoRef::PEM_LABEL).is_ok() => {
                PyTypeError::new_err(NOT_ENCRYPTED)
            }
            _ => malformed_pem(error),
        },
        error => malformed_pem(error),
    })?;
    PrivateKey::from(key).of_its_class(py)
}

/// Read a private key in DER, as `load_pem_private_key` does in PEM.
#[pyfunction]
#[pyo3(signature = (data, password=None, backend=None, *, unsafe_skip_rsa_key_validation=false))]
pub fn load_der_private_key<'py>(
    py: Python<'py>,
    data: Data<'py>,
    password: Option<Data<'py, Password>>,
    backend: Option<Bound<'py, PyAny>>,
    unsafe_skip_rsa_key_validation: bool,
) -> PyResult<Bound<'py, PrivateKey>> {
    let _ = (backend, unsafe_skip_rsa_key_validation);
    let der: &[u8] = &data;
    let key = match password {
        Some(password) => {
            let password: &[u8] = &password;
            py.detach(|| encryption::read_private_key(der, password))
                .map_err(undecryptable)?
        }
        None if EncryptedPrivateKeyInfoRef::try_from(der).is_ok() => {
            return Err(PyTypeError::new_err(ENCRYPTED));
        }
        None => py
            .detach(|| AnySigningKey::from_pkcs8_der(der))
            .map_err(malformed)?,
    };
    PrivateKey::from(key).of_its_class(py)
}

/// Read a public key in PEM (SubjectPublicKeyInfo, RFC 9881) of any parameter set, from a file as
/// `load_pem_private_key` reads it. ValueError: no such key.
#[pyfunction]
#[pyo3(signature = (data, backend=None))]
pub fn load_pem_public_key<'py>(
    py: Python<'py>,
    data: Data<'py>,
    backend: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PublicKey>> {
    let _ = backend;
    let key: AnyVerifyingKey = pem::read_public_key(&data).map_err(malformed_pem)?;
    PublicKey::from(key).of_its_class(py)
}

/// Read a public key in DER, as `load_pem_public_key` does in PEM.
#[pyfunction]
#[pyo3(signature = (data, backend=None))]
pub fn load_der_public_key<'py>(
    py: Python<'py>,
    data: Data<'py>,
    backend: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PublicKey>> {
    let _ = backend;
    let key = AnyVerifyingKey::from_public_key_der(&data).map_err(malformed)?;
    PublicKey::from(key).of_its_class(py)
}
