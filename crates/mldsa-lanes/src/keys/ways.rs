//! The ways to sign and to verify, the same for compact and expanded keys.

use rand_core::TryCryptoRng;

use super::{ExpandedSigningKey, ExpandedVerifyingKey, Signature, SigningKey, VerifyingKey, draw};
use crate::error::Error;
use crate::kernels::poly::Secret;
use crate::params::MAX_ATTEMPTS;
use crate::scheme::entry::Scheme;
use crate::scheme::message::Input;

macro_rules! signing_methods {
    ($key:ident) => {
        impl<P: Scheme> $key<P> {
            /// ML-DSA.Sign (Algorithm 2), hedged: `rnd` comes from `rng`.
            ///
            /// # Errors
            /// [`Error::ContextTooLong`] for more than 255 bytes, [`Error::Rng`] if `rng` fails,
            /// [`Error::TooManyAttempts`] after 821 attempts.
            pub fn sign<R: TryCryptoRng + ?Sized>(
                &self,
                message: &[u8],
                context: &[u8],
                rng: &mut R,
            ) -> Result<Signature<P>, Error> {
                self.sign_input(&Input::Pure { message, context }, rng)
            }

            /// The deterministic variant of [`sign`](Self::sign): `rnd` is 32 zero bytes.
            ///
            /// # Errors
            /// [`Error::ContextTooLong`], [`Error::TooManyAttempts`].
            pub fn sign_deterministic(
                &self,
                message: &[u8],
                context: &[u8],
            ) -> Result<Signature<P>, Error> {
                self.sign_input_deterministic(&Input::Pure { message, context })
            }

            /// Signs any [`Input`] (Algorithms 2, 4 and 7), hedged: `rnd` comes from `rng`.
            ///
            /// # Errors
            /// As [`sign`](Self::sign), [`Error::DigestLength`] and [`Error::WeakPreHash`].
            pub fn sign_input<R: TryCryptoRng + ?Sized>(
                &self,
                input: &Input<'_>,
                rng: &mut R,
            ) -> Result<Signature<P>, Error> {
                self.sign_bounded(input, MAX_ATTEMPTS, rng)
            }

            /// The deterministic variant of [`sign_input`](Self::sign_input).
            ///
            /// # Errors
            /// As `sign_input`, but for [`Error::Rng`].
            pub fn sign_input_deterministic(
                &self,
                input: &Input<'_>,
            ) -> Result<Signature<P>, Error> {
                self.run(input, &[0; 32], MAX_ATTEMPTS)
            }

            /// [`sign_input`](Self::sign_input) with at most `max_attempts` attempts, which
            /// bounds its time; 821 is the most that is ever tried.
            ///
            /// # Errors
            /// As `sign_input`.
            pub fn sign_bounded<R: TryCryptoRng + ?Sized>(
                &self,
                input: &Input<'_>,
                max_attempts: u32,
                rng: &mut R,
            ) -> Result<Signature<P>, Error> {
                let mut rnd = Secret([0; 32]);
                draw(rng, &mut rnd)?;
                self.run(input, &rnd, max_attempts)
            }
        }

        impl<P: Scheme> AsRef<VerifyingKey<P>> for $key<P> {
            fn as_ref(&self) -> &VerifyingKey<P> {
                self.verifying_key()
            }
        }
    };
}
signing_methods!(SigningKey);
signing_methods!(ExpandedSigningKey);

macro_rules! verifying_methods {
    ($key:ident) => {
        impl<P: Scheme> $key<P> {
            /// ML-DSA.Verify (Algorithm 3).
            ///
            /// # Errors
            /// [`Error::InvalidSignature`]; [`Error::ContextTooLong`] for more than 255 bytes.
            pub fn verify(
                &self,
                message: &[u8],
                context: &[u8],
                signature: &Signature<P>,
            ) -> Result<(), Error> {
                self.verify_input(&Input::Pure { message, context }, signature)
            }

            /// Verification of any [`Input`] (Algorithms 3, 5 and 8).
            ///
            /// # Errors
            /// As [`verify`](Self::verify), [`Error::DigestLength`] and [`Error::WeakPreHash`].
            pub fn verify_input(
                &self,
                input: &Input<'_>,
                signature: &Signature<P>,
            ) -> Result<(), Error> {
                self.judge(input, signature)
            }
        }
    };
}
verifying_methods!(VerifyingKey);
verifying_methods!(ExpandedVerifyingKey);
