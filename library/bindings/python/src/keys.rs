//! Keys: `PrivateKey` and `PublicKey` do the work, and a class for each parameter set makes them.

use mldsa_lanes::any::{
    AnyExpandedSigningKey, AnyExpandedVerifyingKey, AnySignature, AnySigningKey, AnyVerifyingKey,
    Set,
};
use mldsa_lanes::{Input, SignOptions, SysRng, hazmat};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::arguments::{
    ContextBytes, Data, HashName, Message, MuBytes, PrivateKeyBytes, PublicKeyBytes, Seed,
    SignatureBytes, context, input,
};
use crate::serialization::{self, Form};
use crate::{batch, exception};

/// A private key of any parameter set. Made by the class of its set, or loaded from a file.
///
/// Its operations release the GIL, and any number of threads may use one key. Keys are equal if their encoded private
/// keys are, which is compared in constant time; the hash is that of the public key. The key is wiped when it is
/// deallocated; `bytes` that hold secrets are not. Keys cannot be pickled.
#[pyclass(module = "mldsa_lanes", frozen, subclass)]
pub struct PrivateKey {
    pub key: AnySigningKey,
    pub expanded: Option<AnyExpandedSigningKey>,
}

impl From<AnySigningKey> for PrivateKey {
    fn from(key: AnySigningKey) -> Self {
        PrivateKey {
            key,
            expanded: None,
        }
    }
}

impl PrivateKey {
    fn signed<'py>(
        &self,
        py: Python<'py>,
        input: Input<'_>,
        deterministic: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let signature = py.detach(|| {
            let rng = &mut SysRng;
            let options = match deterministic {
                true => SignOptions::deterministic(),
                false => SignOptions::hedged(rng),
            };
            match &self.expanded {
                Some(key) => key.sign_with(input, options),
                None => self.key.sign_with(input, options),
            }
        });
        Ok(PyBytes::new(py, signature.map_err(exception)?.as_ref()))
    }
}

#[pymethods]
impl PrivateKey {
    /// Sign `data` (any bytes-like object) hedged (FIPS 204, Algorithm 2) and return the signature.
    ///
    /// Signatures have 2,420, 3,309 or 4,627 bytes (ML-DSA-44, 65, 87). `context`: at most 255 bytes, None is
    /// empty. `prehash` names a hash function, for example "SHA2-512", and makes it HashML-DSA (Algorithm 4); with
    /// `is_digest`, `data` is the digest already. ValueError: the context is too long, the digest has a wrong
    /// length, or the hash function is unknown or weaker than the parameter set. OSError: no randomness.
    #[pyo3(signature = (data, context=None, *, prehash=None, is_digest=false))]
    fn sign<'py>(
        &self,
        py: Python<'py>,
        data: Data<'py, Message>,
        context: Option<Data<'py, ContextBytes>>,
        prehash: Option<HashName>,
        is_digest: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let context = self::context(context.as_ref())?;
        self.signed(py, input(&data, context, prehash, is_digest)?, false)
    }

    /// Sign as `sign`, with rnd = 0 (FIPS 204, section 3.4): the same input gives the same signature.
    ///
    /// Prefer `sign`, which protects better against faults and side channels.
    #[pyo3(signature = (data, context=None, *, prehash=None, is_digest=false))]
    fn sign_deterministic<'py>(
        &self,
        py: Python<'py>,
        data: Data<'py, Message>,
        context: Option<Data<'py, ContextBytes>>,
        prehash: Option<HashName>,
        is_digest: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let context = self::context(context.as_ref())?;
        self.signed(py, input(&data, context, prehash, is_digest)?, true)
    }

    /// Sign mu, the 64 bytes of `MLDSAMuHasher.finalize`, which include the context.
    ///
    /// ValueError: mu has another length. This signs a message that the key has not seen: take mu only from a
    /// hasher that was given this key's public key.
    #[pyo3(signature = (mu, *, deterministic=false))]
    fn sign_mu<'py>(
        &self,
        py: Python<'py>,
        mu: Data<'py, MuBytes>,
        deterministic: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mu = hazmat::external_mu(*mu.exactly()?);
        self.signed(py, (&mu).into(), deterministic)
    }

    /// Return the public key, of the class of its set.
    fn public_key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PublicKey>> {
        PublicKey::from(self.key.verifying_key()).of_its_class(py)
    }

    /// Return the same key with the matrix and the secret vectors computed once: it signs faster.
    ///
    /// It takes 27, 46 or 78 KiB more (ML-DSA-44, 65, 87).
    fn expand<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PrivateKey>> {
        let (key, expanded) = py.detach(|| (self.key.clone(), self.key.expand()));
        PrivateKey {
            key,
            expanded: Some(expanded),
        }
        .of_its_class(py)
    }

    /// Return the private key in an encoding: PEM or DER with PKCS8 (RFC 9881), or Raw with Raw, the seed.
    ///
    /// `encryption_algorithm` is `NoEncryption()`, or `BestAvailableEncryption(password)` with PKCS8, which takes a
    /// fraction of a second. `form` of PKCS8 is "seed", "expandedKey" or "both"; None is the seed where it is known.
    /// The enumerations and these classes of `cryptography` serve as well. TypeError: other encodings. ValueError:
    /// the encodings do not fit together, or the seed is asked for and not known. OSError: no randomness.
    #[pyo3(signature = (encoding, format, encryption_algorithm, *, form=None))]
    fn private_bytes<'py>(
        &self,
        py: Python<'py>,
        encoding: &Bound<'py, PyAny>,
        format: &Bound<'py, PyAny>,
        encryption_algorithm: &Bound<'py, PyAny>,
        form: Option<Form>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        serialization::private_bytes(py, &self.key, encoding, format, encryption_algorithm, form)
    }

    /// Return the seed xi, 32 bytes (FIPS 204, Algorithm 1).
    ///
    /// ValueError: the key was read from the encoded private key, which does not have it.
    fn private_bytes_raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let seed = self.key.seed().ok_or_else(|| {
            PyValueError::new_err("the seed of this key is not known; use encoded_bytes()")
        })?;
        Ok(PyBytes::new(py, seed))
    }

    /// Return the encoded private key, 2,560, 4,032 or 4,896 bytes (FIPS 204, Algorithm 24, skEncode).
    fn encoded_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.key.encoded_bytes())
    }

    /// The name of the parameter set: `ML-DSA-44`, `ML-DSA-65` or `ML-DSA-87`.
    #[getter]
    fn parameter_set(&self) -> &'static str {
        self.key.set().name()
    }

    /// The name of the backend that this key uses, for example `avx2`.
    #[getter]
    fn backend(&self) -> &'static str {
        self.key.backend().name()
    }

    /// Whether `expand` made this key.
    #[getter]
    fn is_expanded(&self) -> bool {
        self.expanded.is_some()
    }

    // In constant time. For other types than this one PyO3 returns NotImplemented.
    fn __eq__(&self, other: &Bound<'_, PrivateKey>) -> bool {
        other.get().key == self.key
    }

    // The public key's: nothing of the private key is in it.
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyBytes::new(py, self.key.verifying_key().as_ref()).hash()
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "private keys cannot be pickled; use private_bytes()",
        ))
    }

    fn __repr__(&self) -> String {
        shown(self.key.set(), "PrivateKey", self.is_expanded())
    }
}

/// A public key of any parameter set. Made by the class of its set, by a private key, or loaded from a file.
///
/// Its operations release the GIL, and any number of threads may use one key. Keys are equal if their bytes
/// are. They cannot be pickled.
#[pyclass(module = "mldsa_lanes", frozen, subclass)]
pub struct PublicKey {
    pub key: AnyVerifyingKey,
    pub expanded: Option<AnyExpandedVerifyingKey>,
}

impl From<AnyVerifyingKey> for PublicKey {
    fn from(key: AnyVerifyingKey) -> Self {
        PublicKey {
            key,
            expanded: None,
        }
    }
}

impl PublicKey {
    fn verified(&self, py: Python<'_>, input: Input<'_>, signature: &[u8]) -> PyResult<()> {
        let verified = py.detach(|| {
            let signature = &AnySignature::from_bytes(self.key.set(), signature)?;
            match &self.expanded {
                Some(key) => key.verify_signature(input, signature),
                None => self.key.verify_signature(input, signature),
            }
        });
        verified.map_err(exception)
    }
}

#[pymethods]
impl PublicKey {
    /// Verify the signature of `data` (FIPS 204, Algorithm 3; with `prehash` Algorithm 5) and return None.
    ///
    /// InvalidSignature: it is not valid for this key, data and context, or has a wrong length. The other arguments
    /// and errors are those of `PrivateKey.sign`.
    #[pyo3(signature = (signature, data, context=None, *, prehash=None, is_digest=false))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        signature: Data<'py, SignatureBytes>,
        data: Data<'py, Message>,
        context: Option<Data<'py, ContextBytes>>,
        prehash: Option<HashName>,
        is_digest: bool,
    ) -> PyResult<()> {
        let context = self::context(context.as_ref())?;
        self.verified(py, input(&data, context, prehash, is_digest)?, &signature)
    }

    /// Verify the signature of mu, the 64 bytes of `MLDSAMuHasher.finalize`, and return None.
    ///
    /// InvalidSignature: it is not valid. ValueError: mu has another length.
    fn verify_mu(
        &self,
        py: Python<'_>,
        signature: Data<'_, SignatureBytes>,
        mu: Data<'_, MuBytes>,
    ) -> PyResult<()> {
        let mu = hazmat::external_mu(*mu.exactly()?);
        self.verified(py, (&mu).into(), &signature)
    }

    /// Return the same key with the matrix and tr computed once: it verifies faster.
    ///
    /// It takes 20, 36 or 64 KiB more (ML-DSA-44, 65, 87).
    fn expand<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PublicKey>> {
        let expanded = py.detach(|| self.key.expand());
        PublicKey {
            key: self.key.clone(),
            expanded: Some(expanded),
        }
        .of_its_class(py)
    }

    /// Return the public key in an encoding: PEM or DER with SubjectPublicKeyInfo (RFC 9881), or Raw with Raw.
    ///
    /// The enumerations of `cryptography` serve as well. TypeError: other encodings. ValueError: they do not
    /// fit together.
    fn public_bytes<'py>(
        &self,
        py: Python<'py>,
        encoding: &Bound<'py, PyAny>,
        format: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        serialization::public_bytes(py, &self.key, encoding, format)
    }

    /// Return the public key, 1,312, 1,952 or 2,592 bytes (FIPS 204, Algorithm 22, pkEncode).
    fn public_bytes_raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.key.as_ref())
    }

    /// The name of the parameter set: `ML-DSA-44`, `ML-DSA-65` or `ML-DSA-87`.
    #[getter]
    fn parameter_set(&self) -> &'static str {
        self.key.set().name()
    }

    /// The name of the backend that this key uses, for example `avx2`.
    #[getter]
    fn backend(&self) -> &'static str {
        self.key.backend().name()
    }

    /// Whether `expand` made this key.
    #[getter]
    fn is_expanded(&self) -> bool {
        self.expanded.is_some()
    }

    // For other types than this one PyO3 returns NotImplemented.
    fn __eq__(&self, other: &Bound<'_, PublicKey>) -> bool {
        other.get().key == self.key
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyBytes::new(py, self.key.as_ref()).hash()
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "public keys cannot be pickled; use public_bytes()",
        ))
    }

    fn __repr__(&self) -> String {
        shown(self.key.set(), "PublicKey", self.is_expanded())
    }
}

/// What `repr` shows: no bytes of the key.
fn shown(set: Set, kind: &str, is_expanded: bool) -> String {
    let number = set.name().trim_start_matches("ML-DSA-");
    let expanded = if is_expanded { ", expanded" } else { "" };
    format!("<MLDSA{number}{kind}{expanded}>")
}

macro_rules! classes {
    ($($set:ident $name:literal $private:ident $public:ident)*) => {
        impl PrivateKey {
            /// As the class of its set.
            pub fn of_its_class(self, py: Python<'_>) -> PyResult<Bound<'_, PrivateKey>> {
                Ok(match self.key.set() {
                    $(Set::$set => $private::of(py, self)?.into_super(),)*
                })
            }
        }

        impl PublicKey {
            /// As the class of its set.
            pub fn of_its_class(self, py: Python<'_>) -> PyResult<Bound<'_, PublicKey>> {
                Ok(match self.key.set() {
                    $(Set::$set => $public::of(py, self)?.into_super(),)*
                })
            }
        }

        $(
            #[doc = concat!("A private key of ", $name, ".")]
            #[pyclass(module = "mldsa_lanes", frozen, extends = PrivateKey)]
            pub struct $private;

            impl $private {
                fn of(py: Python<'_>, key: PrivateKey) -> PyResult<Bound<'_, Self>> {
                    Bound::new(py, PyClassInitializer::from(key).add_subclass(Self))
                }
            }

            #[pymethods]
            impl $private {
                /// Generate a key from the operating system's randomness (FIPS 204, Algorithm 1). OSError: it has none.
                #[staticmethod]
                fn generate(py: Python<'_>) -> PyResult<Bound<'_, Self>> {
                    let key = py.detach(|| AnySigningKey::generate(Set::$set, &mut SysRng));
                    Self::of(py, key.map_err(exception)?.into())
                }

                /// Generate `count` keys at once, which fills the CPU's lanes. `threads`: how many work, 0 for one
                /// per core. MemoryError: there is no memory for so many.
                #[staticmethod]
                #[pyo3(signature = (count, *, threads=1))]
                fn generate_batch(
                    py: Python<'_>,
                    count: usize,
                    threads: usize,
                ) -> PyResult<Bound<'_, PyList>> {
                    batch::generate(py, Set::$set, count, threads, |key| Self::of(py, key))
                }

                /// Make the key of a seed xi of 32 bytes (FIPS 204, Algorithm 6). ValueError: another length.
                #[staticmethod]
                fn from_seed_bytes<'py>(
                    py: Python<'py>,
                    data: Data<'py, Seed>,
                ) -> PyResult<Bound<'py, Self>> {
                    let seed = data.exactly()?;
                    let key = py.detach(|| AnySigningKey::from_seed(Set::$set, seed));
                    Self::of(py, key.into())
                }

                /// Read an encoded private key (FIPS 204, Algorithm 25, skDecode). ValueError: a wrong length, or
                /// no key that key generation makes.
                #[staticmethod]
                fn from_encoded_bytes<'py>(
                    py: Python<'py>,
                    data: Data<'py, PrivateKeyBytes>,
                ) -> PyResult<Bound<'py, Self>> {
                    let data: &[u8] = &data;
                    let key = py.detach(|| AnySigningKey::from_encoded_bytes(Set::$set, data));
                    Self::of(py, key.map_err(exception)?.into())
                }
            }

            #[doc = concat!("A public key of ", $name, ".")]
            #[pyclass(module = "mldsa_lanes", frozen, extends = PublicKey)]
            pub struct $public;

            impl $public {
                fn of(py: Python<'_>, key: PublicKey) -> PyResult<Bound<'_, Self>> {
                    Bound::new(py, PyClassInitializer::from(key).add_subclass(Self))
                }
            }

            #[pymethods]
            impl $public {
                /// Read a public key (FIPS 204, Algorithm 23, pkDecode). ValueError: a wrong length.
                #[staticmethod]
                fn from_public_bytes<'py>(
                    py: Python<'py>,
                    data: Data<'py, PublicKeyBytes>,
                ) -> PyResult<Bound<'py, Self>> {
                    let key = AnyVerifyingKey::from_bytes(Set::$set, &data).map_err(exception)?;
                    Self::of(py, key.into())
                }
            }
        )*
    };
}
classes! {
    MlDsa44 "ML-DSA-44" MLDSA44PrivateKey MLDSA44PublicKey
    MlDsa65 "ML-DSA-65" MLDSA65PrivateKey MLDSA65PublicKey
    MlDsa87 "ML-DSA-87" MLDSA87PrivateKey MLDSA87PublicKey
}
