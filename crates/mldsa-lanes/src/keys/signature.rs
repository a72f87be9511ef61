//! Signatures.

use core::fmt;
use core::hash::{Hash, Hasher};

use super::copy_exactly;
use crate::error::Error;
use crate::kernels::poly::Zero;
use crate::scheme::entry::Scheme;

/// A signature as FIPS 204's `sigEncode` writes it: 2,420, 3,309 or 4,627 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature<P: Scheme>(pub(crate) P::SignatureBytes);

impl<P: Scheme> Signature<P> {
    /// Any string of the right length; [`VerifyingKey::verify`](crate::VerifyingKey::verify) judges its content.
    ///
    /// # Errors
    /// [`Error::SignatureLength`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut signature: Self = Signature(P::SignatureBytes::zero());
        if !copy_exactly(bytes, signature.0.as_mut()) {
            return Err(Error::SignatureLength {
                expected: P::SIGNATURE_BYTES,
                actual: bytes.len(),
            });
        }
        Ok(signature)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &P::SignatureBytes {
        &self.0
    }
}

/// Zero bytes: a place for a signature, never a valid one.
impl<P: Scheme> Default for Signature<P> {
    fn default() -> Self {
        Signature(P::SignatureBytes::zero())
    }
}

impl<P: Scheme> AsRef<[u8]> for Signature<P> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<P: Scheme> fmt::Debug for Signature<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature<{}>", P::NAME)
    }
}

impl<P: Scheme> TryFrom<&[u8]> for Signature<P> {
    type Error = Error;
    fn try_from(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_bytes(bytes)
    }
}

impl<P: Scheme> Hash for Signature<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}
