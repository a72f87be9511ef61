//! The arithmetic and the sampling, written once over lanes. No `unsafe`; `cfg(target)` only where the backends of one
//! architecture call a text.
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
#[cfg(target_arch = "x86_64")]
pub(crate) mod ragged;
pub(crate) mod rounding;
pub(crate) mod sampling;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(crate) mod sixteen;
pub(crate) mod small;
pub(crate) mod sponge;
pub(crate) mod sponges;
#[cfg(all(test, mldsa_inside))]
pub(crate) mod tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/kernels/tests/mod.rs"
    ));
}
