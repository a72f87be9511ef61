//! Keys and signatures whose parameter set is known at run time: enums over the three sets, for files,
//! protocols and bindings. Each method is that of the same name of the type behind it.
//!
//! ```
//! use mldsa_lanes::any::{AnySigningKey, AnyVerifyingKey, Set};
//!
//! let set: Set = "ML-DSA-65".parse()?;
//! let key = AnySigningKey::from_seed(set, &[7; 32]);
//! let signature = key.sign_deterministic(b"message")?;
//! let public = AnyVerifyingKey::from_bytes(set, key.verifying_key().as_ref())?;
//! public.verify_signature(b"message", &signature)?;
//! # Ok::<(), mldsa_lanes::Error>(())
//! ```

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use rand_core::TryCryptoRng;

use crate::backend::{Backend, Wiper};
use crate::batch::boxed;
use crate::error::Error;
use crate::kernels::poly::Secret;
use crate::keys::draw;
use crate::keys::{
    ExpandedSigningKey, ExpandedVerifyingKey, SignOptions, Signature, SigningKey, VerifyingKey,
};
use crate::params::Parameters;
#[cfg(feature = "prehash")]
use crate::scheme::message::PreHash;
use crate::scheme::message::{Context, Input, MuHasher};
use crate::sets::{MlDsa44, MlDsa65, MlDsa87};

/// The parameter sets of FIPS 204.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// NIST security category 2.
    MlDsa44,
    /// NIST security category 3.
    MlDsa65,
    /// NIST security category 5.
    MlDsa87,
}

/// `$body` with `$set` being the type of the set.
macro_rules! with_set {
    ($value:expr, $set:ident => $body:expr) => {
        match $value {
            Set::MlDsa44 => {
                type $set = crate::sets::MlDsa44;
                $body
            }
            Set::MlDsa65 => {
                type $set = crate::sets::MlDsa65;
                $body
            }
            Set::MlDsa87 => {
                type $set = crate::sets::MlDsa87;
                $body
            }
        }
    };
}
impl Set {
    /// All three.
    pub const ALL: [Set; 3] = [Set::MlDsa44, Set::MlDsa65, Set::MlDsa87];

    /// `ML-DSA-44`, `ML-DSA-65` or `ML-DSA-87`.
    pub const fn name(self) -> &'static str {
        with_set!(self, P => P::NAME)
    }

    /// Length of an encoded private key in bytes.
    pub const fn signing_key_bytes(self) -> usize {
        with_set!(self, P => P::SIGNING_KEY_BYTES)
    }

    /// Length of a public key in bytes.
    pub const fn verifying_key_bytes(self) -> usize {
        with_set!(self, P => P::VERIFYING_KEY_BYTES)
    }

    /// Length of a signature in bytes.
    pub const fn signature_bytes(self) -> usize {
        with_set!(self, P => P::SIGNATURE_BYTES)
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads [`Set::name`].
impl FromStr for Set {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = Set::ALL.into_iter().find(|set| set.name() == name);
        known.ok_or(Error::UnknownSet)
    }
}

macro_rules! any {
    ($(#[$doc:meta])* $any:ident($kind:ident)) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum $any {
            MlDsa44($kind<MlDsa44>),
            MlDsa65($kind<MlDsa65>),
            MlDsa87($kind<MlDsa87>),
        }

        impl $any {
            /// The parameter set.
            pub const fn set(&self) -> Set {
                match self {
                    $any::MlDsa44(_) => Set::MlDsa44,
                    $any::MlDsa65(_) => Set::MlDsa65,
                    $any::MlDsa87(_) => Set::MlDsa87,
                }
            }
        }

        any!(@from $any($kind): MlDsa44 MlDsa65 MlDsa87);
    };
    (@from $any:ident($kind:ident): $($set:ident)*) => { $(
        impl From<$kind<$set>> for $any {
            fn from(of: $kind<$set>) -> Self {
                $any::$set(of)
            }
        }
    )* };
}

/// `$body` with `$of` being what `$any` holds.
macro_rules! each {
    ($any:expr, $of:ident => $body:expr) => {
        match $any {
            Self::MlDsa44($of) => $body,
            Self::MlDsa65($of) => $body,
            Self::MlDsa87($of) => $body,
        }
    };
}

pub mod batch;
#[cfg(feature = "pkcs8")]
mod pkcs8;

// Secrets that are moved leave copies behind: private keys stay in their boxes.
type Signing<P> = Box<SigningKey<P>>;
type ExpandedSigning<P> = Box<ExpandedSigningKey<P>>;
type ExpandedVerifying<P> = Box<ExpandedVerifyingKey<P>>;

any! {
    /// See [`SigningKey`].
    #[derive(Clone, PartialEq, Eq)]
    AnySigningKey(Signing)
}
any! {
    /// See [`ExpandedSigningKey`].
    #[derive(PartialEq, Eq)]
    AnyExpandedSigningKey(ExpandedSigning)
}
any! {
    /// See [`VerifyingKey`].
    #[derive(Clone, PartialEq, Eq, Hash)]
    AnyVerifyingKey(VerifyingKey)
}
any! {
    /// See [`ExpandedVerifyingKey`].
    AnyExpandedVerifyingKey(ExpandedVerifying)
}
any! {
    /// See [`Signature`].
    #[derive(Clone, PartialEq, Eq, Hash)]
    AnySignature(Signature)
}

impl AnySigningKey {
    /// See [`SigningKey::from_seed`].
    pub fn from_seed(set: Set, xi: &[u8; 32]) -> Self {
        let _wiper = Wiper::<20>;
        let mut key = Self::empty(set, Backend::detect());
        each!(&mut key, key => key.fill_from_seed(xi));
        key
    }

    /// See [`SigningKey::generate`].
    ///
    /// # Errors
    /// [`Error::Rng`] if `rng` fails.
    pub fn generate<R: TryCryptoRng + ?Sized>(set: Set, rng: &mut R) -> Result<Self, Error> {
        let mut xi = Secret([0; 32]);
        draw(rng, &mut xi)?;
        Ok(Self::from_seed(set, &xi))
    }

    /// See [`SigningKey::from_encoded_bytes`].
    ///
    /// # Errors
    /// As there.
    pub fn from_encoded_bytes(set: Set, bytes: &[u8]) -> Result<Self, Error> {
        let _wiper = Wiper::<20>;
        let mut key = Self::empty(set, Backend::detect());
        each!(&mut key, key => key.read(bytes))?;
        Ok(key)
    }

    /// To be filled in its place.
    fn empty(set: Set, backend: Backend) -> Self {
        with_set!(set, P => boxed(|| SigningKey::<P>::empty(backend)).into())
    }

    /// See [`SigningKey::check_pair`].
    ///
    /// # Errors
    /// [`Error::PairwiseConsistency`].
    pub fn check_pair(&self) -> Result<(), Error> {
        each!(self, key => key.check_pair())
    }

    /// See [`SigningKey::encoded_bytes`].
    pub fn encoded_bytes(&self) -> &[u8] {
        each!(self, key => key.encoded_bytes().as_ref())
    }

    /// ξ, if the key was made from it.
    pub fn seed(&self) -> Option<&[u8; 32]> {
        each!(self, key => key.seed())
    }

    /// The public key.
    pub fn verifying_key(&self) -> AnyVerifyingKey {
        each!(self, key => key.verifying_key().clone().into())
    }

    /// See [`SigningKey::expand`].
    pub fn expand(&self) -> AnyExpandedSigningKey {
        each!(self, key => key.expand().into())
    }
}

impl AnyExpandedSigningKey {
    /// The public key.
    pub fn verifying_key(&self) -> AnyVerifyingKey {
        each!(self, key => key.verifying_key().clone().into())
    }
}

impl AnyVerifyingKey {
    /// See [`VerifyingKey::from_bytes`].
    ///
    /// # Errors
    /// [`Error::VerifyingKeyLength`].
    pub fn from_bytes(set: Set, bytes: &[u8]) -> Result<Self, Error> {
        Ok(with_set!(set, P => VerifyingKey::<P>::from_bytes(bytes)?.into()))
    }

    /// See [`VerifyingKey::expand`].
    pub fn expand(&self) -> AnyExpandedVerifyingKey {
        each!(self, key => key.expand().into())
    }
}

impl AnySignature {
    /// See [`Signature::from_bytes`].
    ///
    /// # Errors
    /// [`Error::SignatureLength`].
    pub fn from_bytes(set: Set, bytes: &[u8]) -> Result<Self, Error> {
        Ok(with_set!(set, P => Signature::<P>::from_bytes(bytes)?.into()))
    }
}

impl AsRef<[u8]> for AnyVerifyingKey {
    fn as_ref(&self) -> &[u8] {
        each!(self, key => key.as_ref())
    }
}

impl AsRef<[u8]> for AnySignature {
    fn as_ref(&self) -> &[u8] {
        each!(self, signature => signature.as_ref())
    }
}

macro_rules! mu_hashers {
    ($any:ident) => {
        impl $any {
            /// The backend that does the work.
            pub fn backend(&self) -> Backend {
                each!(self, key => key.backend())
            }

            /// See [`SigningKey::mu_hasher`].
            pub fn mu_hasher(&self, context: Context<'_>) -> MuHasher {
                each!(self, key => key.mu_hasher(context))
            }

            /// See [`SigningKey::prehash_mu_hasher`].
            ///
            /// # Errors
            /// [`Error::WeakPreHash`].
            #[cfg(feature = "prehash")]
            pub fn prehash_mu_hasher(
                &self,
                hash: PreHash,
                context: Context<'_>,
            ) -> Result<MuHasher, Error> {
                each!(self, key => key.prehash_mu_hasher(hash, context))
            }
        }
    };
}
mu_hashers!(AnySigningKey);
mu_hashers!(AnyExpandedSigningKey);
mu_hashers!(AnyVerifyingKey);
mu_hashers!(AnyExpandedVerifyingKey);

macro_rules! signing {
    ($any:ident) => {
        #[cfg(feature = "signature")]
        impl ctutils::CtEq for $any {
            fn ct_eq(&self, other: &Self) -> ctutils::Choice {
                match (self, other) {
                    (Self::MlDsa44(a), Self::MlDsa44(b)) => (**a).ct_eq(b),
                    (Self::MlDsa65(a), Self::MlDsa65(b)) => (**a).ct_eq(b),
                    (Self::MlDsa87(a), Self::MlDsa87(b)) => (**a).ct_eq(b),
                    _ => ctutils::Choice::FALSE,
                }
            }
        }

        impl $any {
            /// See [`SigningKey::sign_hedged`].
            ///
            /// # Errors
            /// As there.
            pub fn sign_hedged<'a, R: TryCryptoRng + ?Sized>(
                &self,
                input: impl Into<Input<'a>>,
                mut rng: &mut R,
            ) -> Result<AnySignature, Error> {
                self.sign_with(input, SignOptions::hedged(&mut rng))
            }

            /// See [`SigningKey::sign_deterministic`].
            ///
            /// # Errors
            /// As there.
            pub fn sign_deterministic<'a>(
                &self,
                input: impl Into<Input<'a>>,
            ) -> Result<AnySignature, Error> {
                self.sign_with(input, SignOptions::deterministic())
            }

            /// See [`SigningKey::sign_with`].
            ///
            /// # Errors
            /// As there.
            pub fn sign_with<'a>(
                &self,
                input: impl Into<Input<'a>>,
                options: SignOptions<'_>,
            ) -> Result<AnySignature, Error> {
                Ok(each!(self, key => key.sign_with(input, options)?.into()))
            }
        }
    };
}
signing!(AnySigningKey);
signing!(AnyExpandedSigningKey);

macro_rules! verifying {
    ($any:ident) => {
        impl $any {
            /// See [`VerifyingKey::verify_signature`].
            ///
            /// # Errors
            /// As there; [`Error::SignatureLength`] for a signature of another set.
            pub fn verify_signature<'a>(
                &self,
                input: impl Into<Input<'a>>,
                signature: &AnySignature,
            ) -> Result<(), Error> {
                let input = input.into();
                match (self, signature) {
                    (Self::MlDsa44(key), AnySignature::MlDsa44(of)) => {
                        key.verify_signature(input, of)
                    }
                    (Self::MlDsa65(key), AnySignature::MlDsa65(of)) => {
                        key.verify_signature(input, of)
                    }
                    (Self::MlDsa87(key), AnySignature::MlDsa87(of)) => {
                        key.verify_signature(input, of)
                    }
                    _ => Err(of_another_set(self.set(), signature)),
                }
            }
        }
    };
}
verifying!(AnyVerifyingKey);
verifying!(AnyExpandedVerifyingKey);

fn of_another_set(set: Set, signature: &AnySignature) -> Error {
    Error::SignatureLength {
        expected: set.signature_bytes(),
        actual: signature.as_ref().len(),
    }
}
