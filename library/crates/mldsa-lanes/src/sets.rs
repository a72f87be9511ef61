//! The parameter sets of FIPS 204: a table, and the code that is compiled for each of its rows.
//!
//! The operations are functions without type parameters, so that a crate that depends on this one finds them
//! compiled. Every call with a secret ends by overwriting the stack and the vector registers that it used.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

use crate::backend::{Backend, Wiper, with_engine};
#[cfg(feature = "alloc")]
use crate::batch::{self, VerifyJob};
use crate::error::Error;
use crate::kernels::poly::Poly;
use crate::kernels::small::SmallPoly;
use crate::keys::Signature;
#[cfg(feature = "alloc")]
use crate::keys::{ExpandedSigningKey, SigningKey};
use crate::params::{Parameters, Q, sealed};
use crate::scheme::message::Input;
use crate::scheme::shapes::Shapes;
use crate::scheme::sign::{Key, Request};
use crate::scheme::{keygen, sign, verify};

/// One of the three parameter sets of FIPS 204: the bound of every type and function that is generic over
/// them. Sealed. Its supertraits have the constants ([`Parameters`]), and as types the byte arrays
/// `SigningKeyBytes`, `VerifyingKeyBytes` and `SignatureBytes`.
pub trait ParameterSet: Parameters + Scheme<SignatureBytes: From<Signature<Self>>> {}

/// The operations of a parameter set, on keys and signatures as they lie in memory. Generic code
/// names [`ParameterSet`], of which this is a part.
pub trait Scheme: Shapes {
    /// Algorithm 6.
    #[doc(hidden)]
    #[inline(never)] // Its memory is no part of the caller's frame.
    fn keygen(
        backend: Backend,
        xi: &[u8; 32],
        sk: &mut Self::SigningKeyBytes,
        pk: &mut Self::VerifyingKeyBytes,
    ) {
        let mut memory = keygen::Memory::<Self>::ZERO;
        Self::keygen_in(backend, xi, sk, pk, memory.values());
    }
    /// The same in the caller's memory, which is left with secrets.
    #[doc(hidden)]
    fn keygen_in(
        backend: Backend,
        xi: &[u8; 32],
        sk: &mut Self::SigningKeyBytes,
        pk: &mut Self::VerifyingKeyBytes,
        values: keygen::Values<'_>,
    );
    /// The public key of a private key read from bytes.
    #[doc(hidden)]
    #[inline(never)] // As `keygen`.
    fn recover(
        backend: Backend,
        sk: &Self::SigningKeyBytes,
        pk: &mut Self::VerifyingKeyBytes,
    ) -> Result<(), Error> {
        let mut memory = keygen::Memory::<Self>::ZERO;
        Self::recover_in(backend, sk, pk, memory.values())
    }
    /// The same in the caller's memory, which is left with secrets.
    #[doc(hidden)]
    fn recover_in(
        backend: Backend,
        sk: &Self::SigningKeyBytes,
        pk: &mut Self::VerifyingKeyBytes,
        values: keygen::Values<'_>,
    ) -> Result<(), Error>;
    /// Algorithm 7, steps 1 to 5.
    #[doc(hidden)]
    fn expand_signing(backend: Backend, sk: &Self::SigningKeyBytes, key: &mut sign::Material<Self>);
    /// Algorithm 7, steps 6 to 33.
    #[doc(hidden)]
    fn sign_in(
        request: Request<'_>,
        key: &sign::Material<Self>,
        memory: &mut sign::Memory<Self>,
    ) -> Result<Self::SignatureBytes, Error>;
    /// Algorithm 7.
    #[doc(hidden)]
    fn sign_compact(
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
    /// Signs the jobs at the positions in `order`, all with keys of that backend.
    #[cfg(feature = "alloc")]
    #[doc(hidden)]
    fn sign_jobs(
        backend: Backend,
        jobs: &[batch::with_rnd::SignJob<'_, Self>],
        order: &[usize],
        limit: u32,
        results: &mut [Result<Signature<Self>, Error>],
    ) where
        Self: ParameterSet;
    /// Verifies the jobs at the positions in `order`.
    #[cfg(feature = "alloc")]
    #[doc(hidden)]
    fn verify_jobs(
        backend: Backend,
        jobs: &[VerifyJob<'_, Self>],
        order: &[usize],
        results: &mut [Result<(), Error>],
    ) where
        Self: ParameterSet;
    /// A key for each seed.
    #[cfg(feature = "alloc")]
    #[doc(hidden)]
    fn keygen_jobs(backend: Backend, seeds: &[[u8; 32]], keys: &mut [SigningKey<Self>])
    where
        Self: ParameterSet;
    /// An expanded key for each seed.
    #[cfg(feature = "alloc")]
    #[doc(hidden)]
    fn keygen_expanded_jobs(
        backend: Backend,
        seeds: &[[u8; 32]],
        keys: &mut [ExpandedSigningKey<Self>],
    ) where
        Self: ParameterSet;
}

macro_rules! parameter_set {
    ($(#[$doc:meta])* $feature:literal $module:ident $set:ident $name:literal:
     k $k:literal, l $l:literal, eta $eta:literal, tau $tau:literal, lambda $lambda:literal,
     gamma1 $gamma1:expr, gamma2 $gamma2:expr, omega $omega:literal,
     sk $sk:literal, pk $pk:literal, sig $sig:literal) => {
        $(#[$doc])*
        #[cfg(feature = $feature)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $set;

        #[cfg(feature = $feature)]
        impl sealed::Sealed for $set {}

        #[cfg(feature = $feature)]
        impl Parameters for $set {
            const NAME: &'static str = $name;
            const K: usize = $k;
            const L: usize = $l;
            const ETA: i32 = $eta;
            const TAU: usize = $tau;
            const LAMBDA: usize = $lambda;
            const GAMMA1: i32 = $gamma1;
            const GAMMA2: i32 = $gamma2;
            const OMEGA: usize = $omega;
        }

        #[cfg(feature = $feature)]
        const _: () = {
            assert!($set::SIGNING_KEY_BYTES == $sk);
            assert!($set::VERIFYING_KEY_BYTES == $pk);
            assert!($set::SIGNATURE_BYTES == $sig);
        };

        #[cfg(feature = $feature)]
        impl Shapes for $set {
            type SigningKeyBytes = [u8; $sk];
            type VerifyingKeyBytes = [u8; $pk];
            type SignatureBytes = [u8; $sig];
            type VecL = [Poly; $l];
            type VecK = [Poly; $k];
            type SmallL = [SmallPoly; $l];
            type SmallK = [SmallPoly; $k];
            type Matrix = [Poly; $k * $l];
        }

        #[cfg(feature = $feature)]
        impl Scheme for $set {
            fn keygen_in(
                backend: Backend,
                xi: &[u8; 32],
                sk: &mut Self::SigningKeyBytes,
                pk: &mut Self::VerifyingKeyBytes,
                values: keygen::Values<'_>,
            ) {
                let _wiper = Wiper::<24>;
                with_engine!(backend, e => keygen::keygen::<Self, _>(e, xi, values, sk, pk));
            }

            fn recover_in(
                backend: Backend,
                sk: &Self::SigningKeyBytes,
                pk: &mut Self::VerifyingKeyBytes,
                values: keygen::Values<'_>,
            ) -> Result<(), Error> {
                let _wiper = Wiper::<24>;
                with_engine!(backend, e => keygen::recover::<Self, _>(e, sk, values, pk))
            }

            fn expand_signing(
                backend: Backend,
                sk: &Self::SigningKeyBytes,
                key: &mut sign::Material<Self>,
            ) {
                let _wiper = Wiper::<24>;
                with_engine!(backend, e => key.fill(e, sk.as_ref()));
            }

            fn sign_in(
                request: Request<'_>,
                key: &sign::Material<Self>,
                memory: &mut sign::Memory<Self>,
            ) -> Result<Self::SignatureBytes, Error> {
                let _wiper = Wiper::<24>;
                with_engine!(request.backend, e =>
                    sign::sign_internal(e, Key::Expanded(key), &request, memory))
            }

            fn sign_compact(
                request: Request<'_>,
                sk: &Self::SigningKeyBytes,
            ) -> Result<Self::SignatureBytes, Error> {
                // Written where it stays, not moved there.
                #[cfg(feature = "alloc")]
                let mut key = Box::write(Box::new_uninit(), sign::Material::<Self>::ZERO);
                #[cfg(not(feature = "alloc"))]
                let mut key = sign::Material::<Self>::ZERO;
                let mut memory = sign::Memory::ZERO;
                let _wiper = Wiper::<24>;
                with_engine!(request.backend, e =>
                    sign::sign_internal(e, Key::Compact(sk.as_ref(), &mut key), &request, &mut memory))
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

            #[cfg(feature = "alloc")]
            fn sign_jobs(
                backend: Backend,
                jobs: &[batch::with_rnd::SignJob<'_, Self>],
                order: &[usize],
                limit: u32,
                results: &mut [Result<Signature<Self>, Error>],
            ) {
                let _wiper = Wiper::<32>;
                with_engine!(backend, e => {
                    let mut messages = batch::sign::Many::new(e, jobs, order, results);
                    batch::sign::sign_all(e, &mut messages, order.len(), limit);
                });
            }

            #[cfg(feature = "alloc")]
            fn verify_jobs(
                backend: Backend,
                jobs: &[VerifyJob<'_, Self>],
                order: &[usize],
                results: &mut [Result<(), Error>],
            ) {
                with_engine!(backend, e => batch::verify::run(e, jobs, order, results));
            }

            #[cfg(feature = "alloc")]
            fn keygen_jobs(backend: Backend, seeds: &[[u8; 32]], keys: &mut [SigningKey<Self>]) {
                let _wiper = Wiper::<32>;
                with_engine!(backend, e => batch::keygen::run(e, seeds, keys));
            }

            #[cfg(feature = "alloc")]
            fn keygen_expanded_jobs(
                backend: Backend,
                seeds: &[[u8; 32]],
                keys: &mut [ExpandedSigningKey<Self>],
            ) {
                let _wiper = Wiper::<32>;
                with_engine!(backend, e => batch::keygen::run_expanded(e, seeds, keys));
            }
        }

        #[cfg(feature = $feature)]
        impl ParameterSet for $set {}

        #[cfg(feature = $feature)]
        impl From<Signature<$set>> for [u8; $set::SIGNATURE_BYTES] {
            fn from(signature: Signature<$set>) -> Self {
                signature.0
            }
        }

        #[doc = concat!($name, ": the types of this parameter set.")]
        #[cfg(feature = $feature)]
        pub mod $module {
            use crate::params::Parameters;

            /// The parameter set.
            pub type Set = super::$set;
            /// See [`crate::SigningKey`].
            pub type SigningKey = crate::keys::SigningKey<Set>;
            /// See [`crate::ExpandedSigningKey`].
            pub type ExpandedSigningKey = crate::keys::ExpandedSigningKey<Set>;
            /// See [`crate::VerifyingKey`].
            pub type VerifyingKey = crate::keys::VerifyingKey<Set>;
            /// See [`crate::ExpandedVerifyingKey`].
            pub type ExpandedVerifyingKey = crate::keys::ExpandedVerifyingKey<Set>;
            /// See [`crate::Signature`].
            pub type Signature = crate::keys::Signature<Set>;
            /// Length of an encoded private key in bytes.
            pub const SIGNING_KEY_BYTES: usize = Set::SIGNING_KEY_BYTES;
            /// Length of a public key in bytes.
            pub const VERIFYING_KEY_BYTES: usize = Set::VERIFYING_KEY_BYTES;
            /// Length of a signature in bytes.
            pub const SIGNATURE_BYTES: usize = Set::SIGNATURE_BYTES;
        }
    };
}

parameter_set! {
    /// ML-DSA-44, NIST security category 2.
    "ml-dsa-44" mldsa44 MlDsa44 "ML-DSA-44":
    k 4, l 4, eta 2, tau 39, lambda 128, gamma1 1 << 17, gamma2 (Q - 1) / 88, omega 80,
    sk 2560, pk 1312, sig 2420
}
parameter_set! {
    /// ML-DSA-65, NIST security category 3.
    "ml-dsa-65" mldsa65 MlDsa65 "ML-DSA-65":
    k 6, l 5, eta 4, tau 49, lambda 192, gamma1 1 << 19, gamma2 (Q - 1) / 32, omega 55,
    sk 4032, pk 1952, sig 3309
}
parameter_set! {
    /// ML-DSA-87, NIST security category 5.
    "ml-dsa-87" mldsa87 MlDsa87 "ML-DSA-87":
    k 8, l 7, eta 2, tau 60, lambda 256, gamma1 1 << 19, gamma2 (Q - 1) / 32, omega 75,
    sk 4896, pk 2592, sig 4627
}
