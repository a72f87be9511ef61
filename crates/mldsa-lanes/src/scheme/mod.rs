//! The text of FIPS 204. No `unsafe`, no `cfg(target)`: what differs between CPUs is behind
//! [`Engine`](crate::backend::Engine).

#[cfg(all(test, mldsa_inside))]
mod bounds_tests;
pub(crate) mod encode;
pub(crate) mod entry;
pub(crate) mod keygen;
pub(crate) mod message;
pub(crate) mod sample;
pub(crate) mod shapes;
#[cfg_attr(not(feature = "alloc"), allow(dead_code))] // Batches use all of it.
pub(crate) mod sign;
pub(crate) mod verify;
