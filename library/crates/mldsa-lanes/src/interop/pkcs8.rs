//! Keys in PKCS#8 and X.509's SubjectPublicKeyInfo, as RFC 9881 has them.

use ::pkcs8::der::asn1::{ContextSpecific, OctetStringRef};
use ::pkcs8::der::{Decode, Reader, SliceReader, Tag, TagNumber};
use ::pkcs8::spki::{
    self, AlgorithmIdentifier, AssociatedAlgorithmIdentifier, SignatureAlgorithmIdentifier,
    SubjectPublicKeyInfoRef,
};
use ::pkcs8::{Error, KeyError, ObjectIdentifier, PrivateKeyInfoRef, Result};

use crate::ParameterSet;
use crate::backend::{Backend, Wiper};
use crate::keys::{ExpandedSigningKey, ExpandedVerifyingKey, Signature, SigningKey, VerifyingKey};
use crate::params::Parameters;

/// The same for keys and signatures (RFC 9881); there are no parameters.
pub(crate) const fn identifier<P: Parameters>() -> AlgorithmIdentifier<Absent> {
    let oid = match P::LAMBDA {
        128 => "2.16.840.1.101.3.4.3.17",
        192 => "2.16.840.1.101.3.4.3.18",
        _ => "2.16.840.1.101.3.4.3.19",
    };
    AlgorithmIdentifier {
        oid: ObjectIdentifier::new_unwrap(oid),
        parameters: None,
    }
}

/// The type of parameters that are never there.
type Absent = ::pkcs8::der::asn1::AnyRef<'static>;

impl<P: ParameterSet> AssociatedAlgorithmIdentifier for Signature<P> {
    type Params = Absent;
    const ALGORITHM_IDENTIFIER: AlgorithmIdentifier<Absent> = identifier::<P>();
}

macro_rules! keys {
    ($($key:ident)*) => { $(
        impl<P: ParameterSet> SignatureAlgorithmIdentifier for $key<P> {
            type Params = Absent;
            const SIGNATURE_ALGORITHM_IDENTIFIER: AlgorithmIdentifier<Absent> = identifier::<P>();
        }
    )* };
}
keys!(SigningKey ExpandedSigningKey VerifyingKey ExpandedVerifyingKey);

impl<P: ParameterSet> TryFrom<SubjectPublicKeyInfoRef<'_>> for VerifyingKey<P> {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        info.algorithm.assert_algorithm_oid(identifier::<P>().oid)?;
        if info.algorithm.parameters.is_some() {
            return Err(spki::Error::KeyMalformed);
        }
        let bytes = info.subject_public_key.as_bytes();
        let key = bytes.and_then(|bytes| Self::from_bytes(bytes).ok());
        key.ok_or(spki::Error::KeyMalformed)
    }
}

/// The CHOICE of RFC 9881: which of its forms a private key is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrivateKeyForm {
    /// `seed`, 32 bytes: what RFC 9881 recommends.
    Seed,
    /// `expandedKey`, RFC 9881's name for [`SigningKey::encoded_bytes`].
    ExpandedKey,
    /// `both`, of which readers check that they belong together.
    Both,
}

const SEED: TagNumber = TagNumber(0);

/// The bytes of that CHOICE, by reference.
struct Choice<'a> {
    seed: Option<&'a [u8]>,
    expanded: Option<&'a [u8]>,
}

impl<'a> Choice<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = SliceReader::new(bytes)?;
        let octets = |reader: &mut SliceReader<'a>| -> Result<_> {
            Ok(Some(<&OctetStringRef>::decode(reader)?.as_bytes()))
        };
        let choice = match Tag::peek(&reader)? {
            Tag::OctetString => Choice {
                seed: None,
                expanded: octets(&mut reader)?,
            },
            Tag::Sequence => reader.sequence(|reader| -> Result<_> {
                Ok(Choice {
                    seed: octets(reader)?,
                    expanded: octets(reader)?,
                })
            })?,
            _ => {
                let seed = ContextSpecific::<&OctetStringRef>::decode_implicit(&mut reader, SEED)?;
                Choice {
                    seed: Some(seed.ok_or(KeyError::Invalid)?.value.as_bytes()),
                    expanded: None,
                }
            }
        };
        reader.finish()?;
        Ok(choice)
    }

    /// Checks the forms, and that both belong together.
    fn fill<P: ParameterSet>(&self, key: &mut SigningKey<P>) -> Result<()> {
        if let Some(seed) = self.seed {
            key.fill_from_seed(seed.try_into().map_err(|_| KeyError::Invalid)?);
        }
        match (self.seed, self.expanded) {
            (Some(_), Some(expanded)) if !key.is_encoded_as(expanded) => {
                Err(KeyError::Invalid.into())
            }
            (None, Some(expanded)) => key.read(expanded).map_err(|_| KeyError::Invalid.into()),
            _ => Ok(()),
        }
    }
}

/// Reads each of the three forms. A public key beside it has to be its own.
impl<P: ParameterSet> TryFrom<PrivateKeyInfoRef<'_>> for SigningKey<P> {
    type Error = Error;

    fn try_from(info: PrivateKeyInfoRef<'_>) -> Result<Self> {
        let _wiper = Wiper::<20>;
        read(&info)
    }
}

// It returns the key, which moves it; so it is called under a wiper.
#[inline(never)]
fn read<P: ParameterSet>(info: &PrivateKeyInfoRef<'_>) -> Result<SigningKey<P>> {
    let mut result = Ok(SigningKey::empty(Backend::detect()));
    if let Ok(key) = &mut result
        && let Err(error) = fill(info, key)
    {
        result = Err(error);
    }
    result
}

/// Reads it into a key of `P` where that lies.
pub(crate) fn fill<P: ParameterSet>(
    info: &PrivateKeyInfoRef<'_>,
    key: &mut SigningKey<P>,
) -> Result<()> {
    info.algorithm.assert_algorithm_oid(identifier::<P>().oid)?;
    if info.algorithm.parameters.is_some() {
        return Err(Error::ParametersMalformed);
    }
    Choice::read(info.private_key.as_bytes())?.fill(key)?;
    match info.public_key {
        Some(public) if public.as_bytes() != Some(key.verifying_key().as_ref()) => {
            Err(KeyError::Invalid.into())
        }
        _ => Ok(()),
    }
}

#[cfg(feature = "alloc")]
mod encode {
    use ::pkcs8::der::asn1::{BitString, BitStringRef};
    use ::pkcs8::der::zeroize::Zeroizing;
    use ::pkcs8::der::{self, Encode};
    use ::pkcs8::spki::{EncodePublicKey, SignatureBitStringEncoding};
    use ::pkcs8::{Document, EncodePrivateKey, SecretDocument};

    use super::*;

    impl<P: ParameterSet> SignatureBitStringEncoding for Signature<P> {
        fn to_bitstring(&self) -> der::Result<BitString> {
            BitString::from_bytes(self.as_ref())
        }
    }

    impl<P: ParameterSet> EncodePublicKey for VerifyingKey<P> {
        fn to_public_key_der(&self) -> spki::Result<Document> {
            let info = SubjectPublicKeyInfoRef {
                algorithm: identifier::<P>(),
                subject_public_key: BitStringRef::from_bytes(self.as_ref())?,
            };
            Ok(Document::encode_msg(&info)?)
        }
    }

    /// The seed where it is known, else the encoded private key.
    impl<P: ParameterSet> EncodePrivateKey for SigningKey<P> {
        fn to_pkcs8_der(&self) -> Result<SecretDocument> {
            self.to_pkcs8_der_as(match self.seed() {
                Some(_) => PrivateKeyForm::Seed,
                None => PrivateKeyForm::ExpandedKey,
            })
        }
    }

    impl<P: ParameterSet> SigningKey<P> {
        /// PKCS#8 with the private key in the form asked for.
        ///
        /// # Errors
        /// [`KeyError::Invalid`] if the form has the seed and it is not [known](Self::seed).
        pub fn to_pkcs8_der_as(&self, form: PrivateKeyForm) -> Result<SecretDocument> {
            let _wiper = Wiper::<4>;
            let expanded = OctetStringRef::new(self.encoded_bytes().as_ref())?;
            let seed = || -> Result<_> {
                let seed = self.seed().ok_or(KeyError::Invalid)?;
                Ok(OctetStringRef::new(seed)?)
            };
            let choice = Zeroizing::new(match form {
                PrivateKeyForm::Seed => ContextSpecific {
                    tag_number: SEED,
                    tag_mode: ::pkcs8::der::TagMode::Implicit,
                    value: seed()?,
                }
                .to_der()?,
                PrivateKeyForm::ExpandedKey => expanded.to_der()?,
                PrivateKeyForm::Both => [seed()?, expanded].to_der()?,
            });
            let private_key = OctetStringRef::new(&choice)?;
            let info = PrivateKeyInfoRef::new(identifier::<P>(), private_key);
            Ok(SecretDocument::encode_msg(&info)?)
        }
    }
}
