//! Signatures.

use core::fmt;
use core::hash::{Hash, Hasher};

use crate::ParameterSet;
use crate::error::Error;
use crate::kernels::poly::Zero;

/// A signature as FIPS 204's `sigEncode` writes it: 2,420, 3,309 or 4,627 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature<P: ParameterSet>(pub(crate) P::SignatureBytes);

impl<P: ParameterSet> Signature<P> {
    /// Any bytes; [`VerifyingKey::verify_signature`](crate::VerifyingKey::verify_signature) judges them.
    pub fn from_array(bytes: &P::SignatureBytes) -> Self {
        Signature(*bytes)
    }

    /// [`from_array`](Self::from_array) of a slice.
    ///
    /// # Errors
    /// [`Error::SignatureLength`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        // Copied, not filled, as the public key.
        let signature = P::SignatureBytes::try_from(bytes);
        signature.map(Self).map_err(|_| Error::SignatureLength {
            expected: P::SIGNATURE_BYTES,
            actual: bytes.len(),
        })
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &P::SignatureBytes {
        &self.0
    }
}

/// Zero bytes: a place for a signature, never a valid one.
impl<P: ParameterSet> Default for Signature<P> {
    fn default() -> Self {
        Signature(P::SignatureBytes::zero())
    }
}

impl<P: ParameterSet> AsRef<[u8]> for Signature<P> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<P: ParameterSet> fmt::Debug for Signature<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature<{}>", P::NAME)
    }
}

impl<P: ParameterSet> TryFrom<&[u8]> for Signature<P> {
    type Error = Error;
    fn try_from(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_bytes(bytes)
    }
}

impl<P: ParameterSet> Hash for Signature<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}
