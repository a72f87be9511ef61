//! The traits of the crate `signature`, with the empty context.

use rand_core::TryCryptoRng;
use signature::{
    Error, KeypairRef, MultipartSigner, MultipartVerifier, RandomizedMultipartSigner,
    RandomizedSigner, SignatureEncoding, Signer, Verifier,
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

fn mu(mut hasher: MuHasher, pieces: &[&[u8]]) -> Mu {
    for piece in pieces {
        hasher.update(piece);
    }
    hasher.finish()
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
                let mu = mu(self.mu_hasher(Context::EMPTY), pieces);
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
                let mu = mu(self.mu_hasher(Context::EMPTY), pieces);
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
                let mu = mu(self.mu_hasher(Context::EMPTY), pieces);
                self.verify_signature(&mu, signature).map_err(error)
            }
        }
    )* };
}
verifiers!(VerifyingKey ExpandedVerifyingKey);
