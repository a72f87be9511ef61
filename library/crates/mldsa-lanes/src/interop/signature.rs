//! The traits of the crates `signature`, with the empty context, and `crypto-common`.

use crypto_common::array::Array;
use crypto_common::{Generate, Key, KeyExport, KeyInit, KeySizeUser};
use hybrid_array::sizes;
use rand_core::TryCryptoRng;
use signature::digest::Update;
use signature::{
    DigestSigner, DigestVerifier, Error, KeypairRef, MultipartSigner, MultipartVerifier,
    RandomizedDigestSigner, RandomizedMultipartSigner, RandomizedSigner, SignatureEncoding, Signer,
    Verifier,
};

use crate::ParameterSet;
use crate::keys::{ExpandedSigningKey, ExpandedVerifyingKey, Signature, SigningKey, VerifyingKey};
use crate::scheme::message::{Context, Mu, MuHasher};

/// With its reason where the crate `signature` keeps one.
#[cfg(feature = "alloc")]
fn error(error: crate::error::Error) -> Error {
    Error::from_source(error)
}
#[cfg(not(feature = "alloc"))]
fn error(_: crate::error::Error) -> Error {
    Error::new()
}

/// The digest of ML-DSA's `DigestSigner` and `DigestVerifier`.
impl Update for MuHasher {
    fn update(&mut self, piece: &[u8]) {
        self.update(piece);
    }
}

fn mu<F: Fn(&mut MuHasher) -> Result<(), Error>>(mut hasher: MuHasher, f: F) -> Result<Mu, Error> {
    f(&mut hasher)?;
    Ok(hasher.finish())
}

fn all(pieces: &[&[u8]]) -> impl Fn(&mut MuHasher) -> Result<(), Error> {
    |hasher| {
        pieces.iter().for_each(|piece| hasher.update(piece));
        Ok(())
    }
}

impl<P: ParameterSet> SignatureEncoding for Signature<P> {
    type Repr = P::SignatureBytes;
}

macro_rules! signers {
    ($($key:ident)*) => { $(
        impl<P: ParameterSet> KeypairRef for $key<P> {
            type VerifyingKey = VerifyingKey<P>;
        }

        /// Deterministic.
        impl<P: ParameterSet> Signer<Signature<P>> for $key<P> {
            fn try_sign(&self, message: &[u8]) -> Result<Signature<P>, Error> {
                self.sign_deterministic(message).map_err(error)
            }
        }

        /// Deterministic.
        impl<P: ParameterSet> MultipartSigner<Signature<P>> for $key<P> {
            fn try_multipart_sign(&self, pieces: &[&[u8]]) -> Result<Signature<P>, Error> {
                self.try_sign_digest(all(pieces))
            }
        }

        /// Deterministic; the digest is that of [`mu_hasher`]($key::mu_hasher).
        impl<P: ParameterSet> DigestSigner<MuHasher, Signature<P>> for $key<P> {
            fn try_sign_digest<F: Fn(&mut MuHasher) -> Result<(), Error>>(
                &self,
                f: F,
            ) -> Result<Signature<P>, Error> {
                let mu = mu(self.mu_hasher(Context::EMPTY), f)?;
                self.sign_deterministic(&mu).map_err(error)
            }
        }

        /// Hedged.
        impl<P: ParameterSet> RandomizedSigner<Signature<P>> for $key<P> {
            fn try_sign_with_rng<R: TryCryptoRng + ?Sized>(
                &self,
                rng: &mut R,
                message: &[u8],
            ) -> Result<Signature<P>, Error> {
                self.sign_hedged(message, rng).map_err(error)
            }
        }

        /// Hedged.
        impl<P: ParameterSet> RandomizedMultipartSigner<Signature<P>> for $key<P> {
            fn try_multipart_sign_with_rng<R: TryCryptoRng + ?Sized>(
                &self,
                rng: &mut R,
                pieces: &[&[u8]],
            ) -> Result<Signature<P>, Error> {
                self.try_sign_digest_with_rng(rng, all(pieces))
            }
        }

        /// Hedged.
        impl<P: ParameterSet> RandomizedDigestSigner<MuHasher, Signature<P>> for $key<P> {
            fn try_sign_digest_with_rng<
                R: TryCryptoRng + ?Sized,
                F: Fn(&mut MuHasher) -> Result<(), Error>,
            >(
                &self,
                rng: &mut R,
                f: F,
            ) -> Result<Signature<P>, Error> {
                let mu = mu(self.mu_hasher(Context::EMPTY), f)?;
                self.sign_hedged(&mu, rng).map_err(error)
            }
        }
    )* };
}
signers!(SigningKey ExpandedSigningKey);

macro_rules! verifiers {
    ($($key:ident)*) => { $(
        impl<P: ParameterSet> Verifier<Signature<P>> for $key<P> {
            fn verify(&self, message: &[u8], signature: &Signature<P>) -> Result<(), Error> {
                self.verify_signature(message, signature).map_err(error)
            }
        }

        impl<P: ParameterSet> MultipartVerifier<Signature<P>> for $key<P> {
            fn multipart_verify(
                &self,
                pieces: &[&[u8]],
                signature: &Signature<P>,
            ) -> Result<(), Error> {
                self.verify_digest(all(pieces), signature)
            }
        }

        impl<P: ParameterSet> DigestVerifier<MuHasher, Signature<P>> for $key<P> {
            fn verify_digest<F: Fn(&mut MuHasher) -> Result<(), Error>>(
                &self,
                f: F,
                signature: &Signature<P>,
            ) -> Result<(), Error> {
                let mu = mu(self.mu_hasher(Context::EMPTY), f)?;
                self.verify_signature(&mu, signature).map_err(error)
            }
        }
    )* };
}
verifiers!(VerifyingKey ExpandedVerifyingKey);

impl<P: ParameterSet> Generate for SigningKey<P> {
    fn try_generate_from_rng<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        Self::generate_by(|xi| rng.try_fill_bytes(xi))
    }
}

/// From the seed.
impl<P: ParameterSet> KeyInit for SigningKey<P> {
    fn new(xi: &Key<Self>) -> Self {
        Self::from_seed(&xi.0)
    }
}
impl<P: ParameterSet> KeySizeUser for SigningKey<P> {
    type KeySize = sizes::U32;
}

macro_rules! verifying_key {
    ($feature:literal $set:ident $size:ident) => {
        #[cfg(feature = $feature)]
        impl KeyInit for VerifyingKey<crate::$set> {
            fn new(bytes: &Key<Self>) -> Self {
                Self::from_array(&bytes.0)
            }
        }
        #[cfg(feature = $feature)]
        impl KeyExport for VerifyingKey<crate::$set> {
            fn to_bytes(&self) -> Key<Self> {
                Array(self.pk)
            }
        }
        #[cfg(feature = $feature)]
        impl KeySizeUser for VerifyingKey<crate::$set> {
            type KeySize = sizes::$size;
        }
    };
}
verifying_key!("ml-dsa-44" MlDsa44 U1312);
verifying_key!("ml-dsa-65" MlDsa65 U1952);
verifying_key!("ml-dsa-87" MlDsa87 U2592);
