//! The ways to sign and to verify, the same for compact and expanded keys.

use core::slice;

use rand_core::TryCryptoRng;

use super::{
    ExpandedSigningKey, ExpandedVerifyingKey, SignOptions, Signature, SigningKey, VerifyingKey,
};
use crate::ParameterSet;
use crate::error::Error;
use crate::kernels::poly::Secret;
use crate::scheme::message::Input;

macro_rules! signing_methods {
    ($key:ident) => {
        impl<P: ParameterSet> $key<P> {
            /// Signs a message, or any [`Input`] (FIPS 204, Algorithms 2 and 4), hedged: `rnd` comes
            /// from `rng`.
            ///
            /// # Errors
            /// [`Error::Rng`] if `rng` fails, [`Error::TooManyAttempts`] after 821 attempts; for some
            /// inputs [`Error::DigestLength`], [`Error::WeakPreHash`], [`Error::MuOfAnotherKey`].
            pub fn sign_hedged<'a, R: TryCryptoRng + ?Sized>(
                &self,
                input: impl Into<Input<'a>>,
                mut rng: &mut R,
            ) -> Result<Signature<P>, Error> {
                self.sign_with(input, SignOptions::hedged(&mut rng))
            }

            /// The deterministic variant of [`sign_hedged`](Self::sign_hedged): `rnd` is 32 zero bytes.
            ///
            /// # Errors
            /// As `sign_hedged`, but for [`Error::Rng`].
            pub fn sign_deterministic<'a>(
                &self,
                input: impl Into<Input<'a>>,
            ) -> Result<Signature<P>, Error> {
                self.sign_with(input, SignOptions::deterministic())
            }

            /// Signs as `options` say.
            ///
            /// # Errors
            /// As [`sign_hedged`](Self::sign_hedged).
            pub fn sign_with<'a>(
                &self,
                input: impl Into<Input<'a>>,
                options: SignOptions<'_>,
            ) -> Result<Signature<P>, Error> {
                self.run_with(&input.into(), options)
            }

            fn run_with(
                &self,
                input: &Input<'_>,
                mut options: SignOptions<'_>,
            ) -> Result<Signature<P>, Error> {
                let mut rnd = Secret([0; 32]);
                options.fill(slice::from_mut(&mut rnd))?;
                self.run(input, &rnd, options.max_attempts)
            }
        }

        impl<P: ParameterSet> AsRef<VerifyingKey<P>> for $key<P> {
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
        impl<P: ParameterSet> $key<P> {
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
                self.judge(&input.into(), signature)
            }
        }
    };
}
verifying_methods!(VerifyingKey);
verifying_methods!(ExpandedVerifyingKey);
