//! ML-DSA (FIPS 204) that keeps every SIMD lane full.
//!
//! ```
//! use mldsa_lanes::mldsa65::{Signature, SigningKey, VerifyingKey};
//!
//! let key = SigningKey::from_seed(&[7; 32]); // in earnest: SigningKey::generate(&mut SysRng)
//! let signature = key.sign_deterministic(b"message")?; // in earnest: key.sign_hedged(b"message", &mut SysRng)
//!
//! let public = VerifyingKey::from_array(key.verifying_key().as_bytes());
//! public.verify_signature(b"message", &Signature::from_array(signature.as_bytes()))?;
//!
//! // A key that signs often is expanded once.
//! let expanded = key.expand();
//! assert_eq!(expanded.sign_deterministic(b"message")?, signature);
//! # Ok::<(), mldsa_lanes::Error>(())
//! ```
//!
//! The interface has three floors. Keys, signatures and batches are for everybody; the [`guide`] shows
//! them at work. Features add the traits of other crates (`signature`, `pkcs8`, `pem`, `serde`) and
//! results that are computed twice (`hardened`). And [`hazmat`] has what asks for care: a given `rnd`, μ
//! from elsewhere, the standard's internal functions.
//!
//! `no_std`. With the feature `alloc` expanded keys lie on the heap, those too that a signature
//! with a compact key makes for itself. The repository's library/evidence/stack.md has the stack that
//! each operation takes.

#![no_std]
#![deny(
    missing_docs,
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]
#![cfg_attr(mldsa_inside, allow(missing_docs))]
// Without a parameter set there is no operation.
#![cfg_attr(
    not(any(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87")),
    allow(dead_code, unused_imports)
)]

#[cfg(any(test, feature = "std"))]
extern crate std;

#[cfg(feature = "alloc")]
extern crate alloc;

// The unit tests include sources of library/crates/mldsa-trace.
#[cfg(all(test, mldsa_inside))]
extern crate self as mldsa_lanes;
#[cfg(all(test, mldsa_inside))]
#[allow(dead_code)] // Not all of them.
mod tests {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/unit/tests.rs"));
}

#[cfg(all(
    feature = "alloc",
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]
pub mod any;
#[allow(unsafe_code)]
mod backend;
#[cfg(feature = "alloc")]
pub mod batch;
mod declassify;
mod error;
pub mod guide {
    #![doc = include_str!("guide.md")]
}
#[cfg(feature = "hardened")]
pub mod hardened;
pub mod hazmat;
#[cfg(mldsa_inside)]
#[doc(hidden)]
pub mod internals {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/unit/internals.rs"));
}
mod interop;
mod kernels;
mod keys;
mod params;
mod scheme;
mod self_test;
mod sets;

#[cfg(feature = "std")]
pub use backend::EnvironmentError;
#[cfg(mldsa_shares)]
#[doc(hidden)]
pub use backend::shares;
pub use backend::{Backend, Feature};
#[cfg(feature = "signature")]
pub use crypto_common;
#[cfg(feature = "signature")]
pub use ctutils;
#[cfg(mldsa_ct)]
pub use declassify::ct;
pub use error::{Error, InvalidKeyReason, SelfTestStep};
#[cfg(feature = "getrandom")]
pub use getrandom::{self, SysRng};
#[cfg(feature = "encryption")]
pub use interop::encryption;
#[cfg(feature = "pem")]
pub use interop::pem;
#[cfg(feature = "pkcs8")]
pub use interop::pkcs8::PrivateKeyForm;
pub use keys::{
    ExpandedSigningKey, ExpandedVerifyingKey, Place, SignOptions, Signature, SigningKey,
    VerifyingKey, Workspace,
};
pub use params::{MAX_ATTEMPTS, Parameters};
#[cfg(feature = "pkcs8")]
pub use pkcs8;
pub use rand_core;
pub use scheme::message::{Context, Input, Mu, MuHasher, PreHash};
pub use self_test::{self_test, self_test_of};
pub use sets::ParameterSet;
#[cfg(feature = "ml-dsa-44")]
pub use sets::{MlDsa44, mldsa44};
#[cfg(feature = "ml-dsa-65")]
pub use sets::{MlDsa65, mldsa65};
#[cfg(feature = "ml-dsa-87")]
pub use sets::{MlDsa87, mldsa87};
#[cfg(feature = "signature")]
pub use signature;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

// In the repository, where the examples run; not in the package.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/from-ml-dsa.md")]
struct FromMlDsa;
