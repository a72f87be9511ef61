//! The peers' kernels behind safe functions. What is called through C symbols is for x86-64 with
//! AVX2; all of it needs a token that proves the CPU features.

#[cfg(target_arch = "x86_64")]
#[macro_use]
mod import;
#[cfg(target_arch = "x86_64")]
pub mod aws_lc;
#[cfg(target_arch = "x86_64")]
mod keccak;
#[cfg(target_arch = "x86_64")]
pub mod mldsa_native;
#[cfg(target_arch = "x86_64")]
mod order;
#[cfg(target_arch = "x86_64")]
pub mod pqclean;
#[cfg(target_arch = "x86_64")]
pub use import::{Avx2, SLACK, States};
#[cfg(target_arch = "x86_64")]
pub use order::Order;
