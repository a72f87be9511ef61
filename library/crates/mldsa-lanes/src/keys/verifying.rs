//! Public keys.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::Signature;
use crate::ParameterSet;
use crate::backend::Backend;
use crate::error::Error;
use crate::kernels::poly::Zero;
use crate::scheme::message::Input;
use crate::scheme::verify;

/// A public key as FIPS 204's `pkEncode` writes it: 1,312, 1,952 or 2,592 bytes. Each
/// verification expands Â and computes tr anew; an [`ExpandedVerifyingKey`] has them.
#[derive(Clone)]
pub struct VerifyingKey<P: ParameterSet> {
    pub(crate) pk: P::VerifyingKeyBytes,
    pub(crate) backend: Backend,
}

impl<P: ParameterSet> VerifyingKey<P> {
    /// To be filled where it stays.
    pub(crate) const fn empty(backend: Backend) -> Self {
        VerifyingKey {
            pk: Zero::ZERO,
            backend,
        }
    }

    /// Any bytes are a public key.
    pub fn from_array(bytes: &P::VerifyingKeyBytes) -> Self {
        VerifyingKey {
            pk: *bytes,
            backend: Backend::detect(),
        }
    }

    /// [`from_array`](Self::from_array) of a slice.
    ///
    /// # Errors
    /// [`Error::VerifyingKeyLength`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        // Copied, not filled: zeros that a fault sends to a wrong address may wipe the caller's bytes.
        let pk = P::VerifyingKeyBytes::try_from(bytes);
        pk.map(|pk| Self::from_array(&pk))
            .map_err(|_| Error::VerifyingKeyLength {
                expected: P::VERIFYING_KEY_BYTES,
                actual: bytes.len(),
            })
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &P::VerifyingKeyBytes {
        &self.pk
    }

    /// The backend that the key's operations run on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The same key on another backend, unless that one was [disabled](Backend::disable_for_process).
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        let backend = backend.granted();
        VerifyingKey { backend, ..self }
    }

    /// tr = H(pk), 64 bytes.
    pub fn tr(&self) -> [u8; 64] {
        verify::tr(self.backend, self.pk.as_ref())
    }

    /// Caches Â, NTT(t1·2^d) and tr. A [`Place`](crate::Place) does it without a heap.
    #[cfg(feature = "alloc")]
    pub fn expand(&self) -> Box<ExpandedVerifyingKey<P>> {
        let mut place = Box::new(ExpandedVerifyingKey::EMPTY);
        place.fill(self);
        place
    }

    /// Verifies a signature of a message, or of any [`Input`] (FIPS 204, Algorithms 3 and 5).
    ///
    /// # Errors
    /// [`Error::InvalidSignature`]; for some inputs [`Error::DigestLength`],
    /// [`Error::WeakPreHash`] and, if the signature is well-formed, [`Error::MuOfAnotherKey`].
    pub fn verify_signature<'a>(
        &self,
        input: impl Into<Input<'a>>,
        signature: &Signature<P>,
    ) -> Result<(), Error> {
        P::verify_compact(self.backend, &self.pk, &input.into(), &signature.0)
    }
}

impl<P: ParameterSet> PartialEq for VerifyingKey<P> {
    fn eq(&self, other: &Self) -> bool {
        self.pk == other.pk
    }
}
impl<P: ParameterSet> Eq for VerifyingKey<P> {}

impl<P: ParameterSet> Hash for VerifyingKey<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

impl<P: ParameterSet> AsRef<[u8]> for VerifyingKey<P> {
    fn as_ref(&self) -> &[u8] {
        self.pk.as_ref()
    }
}

impl<P: ParameterSet> TryFrom<&[u8]> for VerifyingKey<P> {
    type Error = Error;
    fn try_from(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_bytes(bytes)
    }
}

impl<P: ParameterSet> fmt::Debug for VerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey<{}>", P::NAME)
    }
}

/// The cached form of a public key: Â, NTT(t1·2^d) and tr. About 20, 36 and 64 KiB
/// (1 KiB for each of the k·l + k polynomials). Made only from a [`VerifyingKey`], never read from
/// bytes.
#[derive(Clone)]
pub struct ExpandedVerifyingKey<P: ParameterSet> {
    pub(crate) material: verify::Material<P>,
    pub(crate) backend: Backend,
}

impl<P: ParameterSet> ExpandedVerifyingKey<P> {
    /// To be filled where it stays.
    pub(super) const EMPTY: Self = ExpandedVerifyingKey {
        material: verify::Material::ZERO,
        backend: Backend::PORTABLE,
    };

    /// The backend that the key's operations run on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    pub(super) fn fill(&mut self, key: &VerifyingKey<P>) {
        self.backend = key.backend;
        P::expand_verifying(key.backend, &key.pk, &mut self.material);
    }

    /// tr = H(pk), 64 bytes.
    pub fn tr(&self) -> [u8; 64] {
        self.material.tr
    }

    /// Verifies a signature of a message, or of any [`Input`] (FIPS 204, Algorithms 3 and 5).
    ///
    /// # Errors
    /// [`Error::InvalidSignature`]; for some inputs [`Error::DigestLength`],
    /// [`Error::WeakPreHash`] and, if the signature is well-formed, [`Error::MuOfAnotherKey`].
    pub fn verify_signature<'a>(
        &self,
        input: impl Into<Input<'a>>,
        signature: &Signature<P>,
    ) -> Result<(), Error> {
        P::verify(self.backend, &self.material, &input.into(), &signature.0)
    }
}

impl<P: ParameterSet> fmt::Debug for ExpandedVerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExpandedVerifyingKey<{}>", P::NAME)
    }
}
