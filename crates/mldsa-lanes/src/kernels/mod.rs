//! The arithmetic and the sampling, written once over lanes. No `unsafe`, no `cfg(target)`.
//!
//! Text here is generic over [`lanes::Lanes`] (coefficients) and [`keccak::Words`] (Keccak
//! states side by side); a backend instantiates it for its registers. Functions are
//! `inline(always)` so that they take the CPU features of the backend's entry point.

pub(crate) mod bounds;
pub(crate) mod keccak;
pub(crate) mod lanes;
pub(crate) mod ntt;
pub(crate) mod packing;
pub(crate) mod pointwise;
pub(crate) mod poly;
pub(crate) mod rounding;
pub(crate) mod sampling;
pub(crate) mod small;
pub(crate) mod sponge;
#[cfg(feature = "alloc")]
pub(crate) mod sponges;
#[cfg(all(test, mldsa_inside))]
pub(crate) mod tests;
