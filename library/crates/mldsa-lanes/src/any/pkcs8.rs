//! PKCS#8 and SubjectPublicKeyInfo, whose object identifier names the parameter set (RFC 9881).

use ::pkcs8::spki::{self, AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use ::pkcs8::{Error, PrivateKeyInfoRef, Result};

use super::{AnySigningKey, AnyVerifyingKey, Set};
use crate::backend::{Backend, Wiper};
use crate::interop::pkcs8::{fill, identifier};
use crate::keys::VerifyingKey;

impl Set {
    /// The set of an algorithm identifier of RFC 9881.
    ///
    /// # Errors
    /// [`spki::Error::OidUnknown`].
    pub fn from_algorithm(algorithm: &AlgorithmIdentifierRef<'_>) -> spki::Result<Self> {
        let is = |set: &Set| with_set!(set, P => identifier::<P>().oid) == algorithm.oid;
        let oid = algorithm.oid;
        Set::ALL
            .into_iter()
            .find(is)
            .ok_or(spki::Error::OidUnknown { oid })
    }
}

/// A public key of any set.
impl TryFrom<SubjectPublicKeyInfoRef<'_>> for AnyVerifyingKey {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        let set = Set::from_algorithm(&info.algorithm)?;
        Ok(with_set!(set, P => VerifyingKey::<P>::try_from(info)?.into()))
    }
}

/// Reads each of the three forms of any set. A public key beside it has to be its own.
impl TryFrom<PrivateKeyInfoRef<'_>> for AnySigningKey {
    type Error = Error;

    fn try_from(info: PrivateKeyInfoRef<'_>) -> Result<Self> {
        let _wiper = Wiper::<20>;
        let set = Set::from_algorithm(&info.algorithm)?;
        let mut key = Self::empty(set, Backend::detect());
        each!(&mut key, key => fill(&info, key))?;
        Ok(key)
    }
}

#[cfg(feature = "alloc")]
mod encode {
    use ::pkcs8::spki::EncodePublicKey;
    use ::pkcs8::{Document, EncodePrivateKey, SecretDocument};

    use super::*;
    use crate::interop::pkcs8::PrivateKeyForm;

    impl EncodePublicKey for AnyVerifyingKey {
        fn to_public_key_der(&self) -> spki::Result<Document> {
            each!(self, key => key.to_public_key_der())
        }
    }

    /// The seed where it is known, else the encoded private key.
    impl EncodePrivateKey for AnySigningKey {
        fn to_pkcs8_der(&self) -> Result<SecretDocument> {
            each!(self, key => key.to_pkcs8_der())
        }
    }

    impl AnySigningKey {
        /// See [`SigningKey::to_pkcs8_der_as`](crate::SigningKey::to_pkcs8_der_as).
        ///
        /// # Errors
        /// As there.
        pub fn to_pkcs8_der_as(&self, form: PrivateKeyForm) -> Result<SecretDocument> {
            each!(self, key => key.to_pkcs8_der_as(form))
        }
    }
}
