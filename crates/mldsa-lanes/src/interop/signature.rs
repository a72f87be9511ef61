//! The traits of the crate `signature`, with the empty context.

use rand_core::TryCryptoRng;
use signature::{
    Error, KeypairRef, MultipartSigner, MultipartVerifier, RandomizedMultipartSigner,
    RandomizedSigner, SignatureEncoding, Signer, Verifier,
};

use crate::keys::{ExpandedSigningKey, ExpandedVerifyingKey, Signature, SigningKey, VerifyingKey};
use crate::scheme::entry::Scheme;
use crate::scheme::message::{Input, Mu, MuHasher};

/// With its reason where the crate `signature` keeps one.
#[cfg(feature = "alloc")]
fn error(error: crate::error::Error) -> Error {
    Error::from_source(error)
}
#[cfg(not(feature = "alloc"))]
fn error(_: crate::error::Error) -> Error {
    Error::new()
}

fn mu(hasher: Result<MuHasher, crate::error::Error>, pieces: &[&[u8]]) -> Result<Mu, Error> {
    let mut hasher = hasher.map_err(error)?;
    for piece in pieces {
        hasher.update(piece);
    }
    Ok(hasher.finish())
}

impl<P: Scheme> SignatureEncoding for Signature<P> {
    type Repr = Self;
}

macro_rules! signers {
    ($($key:ident)*) => { $(
        impl<P: Scheme> KeypairRef for $key<P> {
            type VerifyingKey = VerifyingKey<P>;
        }

        /// Deterministic.
        impl<P: Scheme> Signer<Signature<P>> for $key<P> {
            fn try_sign(&self, message: &[u8]) -> Result<Signature<P>, Error> {
                self.sign_deterministic(message, b"").map_err(error)
            }
        }

        /// Deterministic.
        impl<P: Scheme> MultipartSigner<Signature<P>> for $key<P> {
            fn try_multipart_sign(&self, pieces: &[&[u8]]) -> Result<Signature<P>, Error> {
                let mu = mu(self.mu_hasher(b""), pieces)?;
                self.sign_input_deterministic(&Input::Mu(&mu)).map_err(error)
            }
        }

        /// Hedged.
        impl<P: Scheme> RandomizedSigner<Signature<P>> for $key<P> {
            fn try_sign_with_rng<R: TryCryptoRng + ?Sized>(
                &self,
                rng: &mut R,
                message: &[u8],
            ) -> Result<Signature<P>, Error> {
                self.sign(message, b"", rng).map_err(error)
            }
        }

        /// Hedged.
        impl<P: Scheme> RandomizedMultipartSigner<Signature<P>> for $key<P> {
            fn try_multipart_sign_with_rng<R: TryCryptoRng + ?Sized>(
                &self,
                rng: &mut R,
                pieces: &[&[u8]],
            ) -> Result<Signature<P>, Error> {
                let mu = mu(self.mu_hasher(b""), pieces)?;
                self.sign_input(&Input::Mu(&mu), rng).map_err(error)
            }
        }
    )* };
}
signers!(SigningKey ExpandedSigningKey);

macro_rules! verifiers {
    ($($key:ident)*) => { $(
        impl<P: Scheme> Verifier<Signature<P>> for $key<P> {
            fn verify(&self, message: &[u8], signature: &Signature<P>) -> Result<(), Error> {
                self.verify(message, b"", signature).map_err(error)
            }
        }

        impl<P: Scheme> MultipartVerifier<Signature<P>> for $key<P> {
            fn multipart_verify(
                &self,
                pieces: &[&[u8]],
                signature: &Signature<P>,
            ) -> Result<(), Error> {
                let mu = mu(self.mu_hasher(b""), pieces)?;
                self.verify_input(&Input::Mu(&mu), signature).map_err(error)
            }
        }
    )* };
}
verifiers!(VerifyingKey ExpandedVerifyingKey);
