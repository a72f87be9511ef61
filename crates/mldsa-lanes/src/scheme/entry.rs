//! One function for each operation and parameter set, with nothing generic left but the choice of
//! the backend: a crate that depends on this one finds them compiled. Every call with a secret ends
//! by overwriting the stack that it used.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

use crate::backend::{Backend, with_engine};
use crate::error::Error;
use crate::kernels::poly::StackWiper;
use crate::scheme::message::Input;
use crate::scheme::shapes::Shapes;
use crate::scheme::sign::{Key, Request};
use crate::scheme::{keygen, sign, verify};

/// The operations of a parameter set, on keys and signatures as they lie in memory. Generic code
/// names [`ParameterSet`](crate::ParameterSet), of which this is a part.
pub trait Scheme: Shapes {
    /// Algorithm 6.
    #[doc(hidden)]
    fn keygen(
        backend: Backend,
        xi: &[u8; 32],
        sk: &mut Self::SigningKeyBytes,
        pk: &mut Self::VerifyingKeyBytes,
    );
    /// The same in the caller's space, which is left with secrets.
    #[doc(hidden)]
    fn keygen_in(
        backend: Backend,
        xi: &[u8; 32],
        sk: &mut Self::SigningKeyBytes,
        pk: &mut Self::VerifyingKeyBytes,
        space: &mut sign::Memory<Self>,
    );
    /// The public key of a private key read from bytes.
    #[doc(hidden)]
    fn recover(
        backend: Backend,
        sk: &Self::SigningKeyBytes,
        pk: &mut Self::VerifyingKeyBytes,
    ) -> Result<(), Error>;
    /// The same in the caller's space, which is left with secrets.
    #[doc(hidden)]
    fn recover_in(
        backend: Backend,
        sk: &Self::SigningKeyBytes,
        pk: &mut Self::VerifyingKeyBytes,
        space: &mut sign::Memory<Self>,
    ) -> Result<(), Error>;
    /// Algorithm 7, steps 1 to 5.
    #[doc(hidden)]
    fn expand_signing(backend: Backend, sk: &Self::SigningKeyBytes, key: &mut sign::Material<Self>);
    /// Algorithm 7, steps 6 to 33.
    #[doc(hidden)]
    fn sign_in(
        request: Request<'_>,
        key: &sign::Material<Self>,
        space: &mut sign::Memory<Self>,
    ) -> Result<Self::SignatureBytes, Error>;
    /// The same with a space of its own.
    #[doc(hidden)]
    fn sign(
        request: Request<'_>,
        key: &sign::Material<Self>,
    ) -> Result<Self::SignatureBytes, Error>;
    /// Algorithm 7.
    #[doc(hidden)]
    fn sign_encoded(
        request: Request<'_>,
        sk: &Self::SigningKeyBytes,
    ) -> Result<Self::SignatureBytes, Error>;
    /// Algorithm 8, steps 1, 5 and 6.
    #[doc(hidden)]
    fn expand_verifying(
        backend: Backend,
        pk: &Self::VerifyingKeyBytes,
        key: &mut verify::Material<Self>,
    );
    /// Algorithm 8, steps 2 to 13.
    #[doc(hidden)]
    fn verify(
        backend: Backend,
        key: &verify::Material<Self>,
        input: &Input<'_>,
        signature: &Self::SignatureBytes,
    ) -> Result<(), Error>;
    /// Algorithm 8.
    #[doc(hidden)]
    fn verify_compact(
        backend: Backend,
        pk: &Self::VerifyingKeyBytes,
        input: &Input<'_>,
        signature: &Self::SignatureBytes,
    ) -> Result<(), Error>;
    /// Algorithm 8 but for its last comparison: writes what c_tilde, of `expected`'s length, should be.
    #[doc(hidden)]
    fn commitment(
        backend: Backend,
        pk: &Self::VerifyingKeyBytes,
        input: &Input<'_>,
        signature: &Self::SignatureBytes,
        expected: &mut [u8],
    ) -> Result<(), Error>;
}

macro_rules! entry_points {
    ($feature:literal $set:ident) => {
        #[cfg(feature = $feature)]
        impl Scheme for crate::params::$set {
            fn keygen(
                backend: Backend,
                xi: &[u8; 32],
                sk: &mut Self::SigningKeyBytes,
                pk: &mut Self::VerifyingKeyBytes,
            ) {
                let mut space = keygen::Space::<Self>::ZERO;
                let _wiper = StackWiper::<24>;
                with_engine!(backend, e => keygen::keygen::<Self, _>(e, xi, space.room(), sk, pk));
            }

            fn keygen_in(
                backend: Backend,
                xi: &[u8; 32],
                sk: &mut Self::SigningKeyBytes,
                pk: &mut Self::VerifyingKeyBytes,
                space: &mut sign::Memory<Self>,
            ) {
                let _wiper = StackWiper::<24>;
                let room = space.keygen();
                with_engine!(backend, e => keygen::keygen::<Self, _>(e, xi, room, sk, pk));
            }

            fn recover(
                backend: Backend,
                sk: &Self::SigningKeyBytes,
                pk: &mut Self::VerifyingKeyBytes,
            ) -> Result<(), Error> {
                let mut space = keygen::Space::<Self>::ZERO;
                let _wiper = StackWiper::<24>;
                with_engine!(backend, e => keygen::recover::<Self, _>(e, sk, space.room(), pk))
            }

            fn recover_in(
                backend: Backend,
                sk: &Self::SigningKeyBytes,
                pk: &mut Self::VerifyingKeyBytes,
                space: &mut sign::Memory<Self>,
            ) -> Result<(), Error> {
                let _wiper = StackWiper::<24>;
                let room = space.keygen();
                with_engine!(backend, e => keygen::recover::<Self, _>(e, sk, room, pk))
            }

            fn expand_signing(
                backend: Backend,
                sk: &Self::SigningKeyBytes,
                key: &mut sign::Material<Self>,
            ) {
                let _wiper = StackWiper::<24>;
                with_engine!(backend, e => key.fill(e, sk.as_ref()));
            }

            fn sign_in(
                request: Request<'_>,
                key: &sign::Material<Self>,
                space: &mut sign::Memory<Self>,
            ) -> Result<Self::SignatureBytes, Error> {
                let _wiper = StackWiper::<24>;
                with_engine!(request.backend, e =>
                    sign::sign_internal(e, Key::Expanded(key), &request, space))
            }

            fn sign(
                request: Request<'_>,
                key: &sign::Material<Self>,
            ) -> Result<Self::SignatureBytes, Error> {
                let mut space = sign::Memory::ZERO;
                Self::sign_in(request, key, &mut space)
            }

            fn sign_encoded(
                request: Request<'_>,
                sk: &Self::SigningKeyBytes,
            ) -> Result<Self::SignatureBytes, Error> {
                // Written where it stays, not moved there.
                #[cfg(feature = "alloc")]
                let mut key = Box::write(Box::new_uninit(), sign::Material::<Self>::ZERO);
                #[cfg(not(feature = "alloc"))]
                let mut key = sign::Material::<Self>::ZERO;
                let mut space = sign::Memory::ZERO;
                let _wiper = StackWiper::<24>;
                with_engine!(request.backend, e =>
                    sign::sign_internal(e, Key::Encoded(sk.as_ref(), &mut key), &request, &mut space))
            }

            fn expand_verifying(
                backend: Backend,
                pk: &Self::VerifyingKeyBytes,
                key: &mut verify::Material<Self>,
            ) {
                with_engine!(backend, e => key.fill(e, pk));
            }

            fn verify(
                backend: Backend,
                key: &verify::Material<Self>,
                input: &Input<'_>,
                signature: &Self::SignatureBytes,
            ) -> Result<(), Error> {
                with_engine!(backend, e => verify::verify(e, key, input, signature))
            }

            fn verify_compact(
                backend: Backend,
                pk: &Self::VerifyingKeyBytes,
                input: &Input<'_>,
                signature: &Self::SignatureBytes,
            ) -> Result<(), Error> {
                with_engine!(backend, e =>
                    verify::verify_compact::<Self, _>(e, pk, input, signature))
            }

            fn commitment(
                backend: Backend,
                pk: &Self::VerifyingKeyBytes,
                input: &Input<'_>,
                signature: &Self::SignatureBytes,
                expected: &mut [u8],
            ) -> Result<(), Error> {
                let pk = pk.as_ref();
                with_engine!(backend, e => verify::commitment::<Self, _>(e, pk, input, signature))
                    .map(|mut reader| reader.squeeze(expected))
            }
        }
    };
}
entry_points!("ml-dsa-44" MlDsa44);
entry_points!("ml-dsa-65" MlDsa65);
entry_points!("ml-dsa-87" MlDsa87);
