//! The traits of other crates, each behind a feature of its own.

#[cfg(feature = "encryption")]
pub mod encryption;
#[cfg(feature = "pem")]
pub mod pem;
#[cfg(feature = "pkcs8")]
pub(crate) mod pkcs8;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "signature")]
mod signature;
