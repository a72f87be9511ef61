//! ML-DSA (FIPS 204) that keeps every SIMD lane full.
//!
//! ```
//! use mldsa_lanes::mldsa65::{Signature, SigningKey, VerifyingKey};
//!
//! let key = SigningKey::from_seed(&[7; 32]); // in earnest: SigningKey::generate(&mut rng)
//! let signature = key.sign_deterministic(b"message", b"context")?;
//!
//! let public = VerifyingKey::from_bytes(key.verifying_key().as_bytes())?;
//! public.verify(b"message", b"context", &Signature::from_bytes(signature.as_bytes())?)?;
//!
//! // A key that signs often is expanded once.
//! let expanded = key.expand();
//! assert_eq!(expanded.sign_deterministic(b"message", b"context")?, signature);
//! # Ok::<(), mldsa_lanes::Error>(())
//! ```
//!
//! `no_std`; only the module `batch` (feature `alloc`) allocates. Signing an ML-DSA-87 message takes about 120 KiB of stack.

#![no_std]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
// Some kernels serve the module `batch` alone.
#![cfg_attr(not(feature = "alloc"), allow(dead_code))]

#[cfg(any(test, feature = "std"))]
extern crate std;

#[cfg(feature = "alloc")]
extern crate alloc;

#[allow(unsafe_code)]
mod backend;
#[cfg(feature = "alloc")]
pub mod batch;
mod declassify;
mod error;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod kernels;
mod keys;
mod params;
mod scheme;
mod trace;

#[cfg(feature = "std")]
pub use backend::EnvironmentError;
pub use backend::{Backend, Feature};
#[cfg(mldsa_ct)]
pub use declassify::ct;
pub use error::Error;
pub use keys::{ExpandedSigningKey, ExpandedVerifyingKey, Signature, SigningKey, VerifyingKey};
pub use params::{MAX_ATTEMPTS, MlDsa44, MlDsa65, MlDsa87, ParameterSet};
pub use scheme::message::{Input, MuHasher, PreHash};
#[cfg(feature = "alloc")]
pub use trace::Checks;
pub use trace::{Attempt, Check};

macro_rules! set_module {
    ($module:ident, $set:ident, $name:literal) => {
        #[doc = concat!($name, ": the types of this parameter set.")]
        pub mod $module {
            use crate::params::ParameterSet;

            /// The parameter set.
            pub type Set = crate::$set;
            /// See [`crate::SigningKey`].
            pub type SigningKey = crate::SigningKey<Set>;
            /// See [`crate::ExpandedSigningKey`].
            pub type ExpandedSigningKey = crate::ExpandedSigningKey<Set>;
            /// See [`crate::VerifyingKey`].
            pub type VerifyingKey = crate::VerifyingKey<Set>;
            /// See [`crate::ExpandedVerifyingKey`].
            pub type ExpandedVerifyingKey = crate::ExpandedVerifyingKey<Set>;
            /// See [`crate::Signature`].
            pub type Signature = crate::Signature<Set>;
            /// Length of an expanded private key in bytes.
            pub const SIGNING_KEY_BYTES: usize = Set::SIGNING_KEY_BYTES;
            /// Length of a public key in bytes.
            pub const VERIFYING_KEY_BYTES: usize = Set::VERIFYING_KEY_BYTES;
            /// Length of a signature in bytes.
            pub const SIGNATURE_BYTES: usize = Set::SIGNATURE_BYTES;
        }
    };
}
set_module!(mldsa44, MlDsa44, "ML-DSA-44");
set_module!(mldsa65, MlDsa65, "ML-DSA-65");
set_module!(mldsa87, MlDsa87, "ML-DSA-87");

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
