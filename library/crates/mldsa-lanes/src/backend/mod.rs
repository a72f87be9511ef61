//! Backends: the kernels compiled for one set of CPU features each. The only module with `unsafe`.
//!
//! An [`Engine`] is a token: a value of it exists only where the CPU has the features, because its
//! field is private and `detect` is the only constructor. That is the argument for every
//! `unsafe` block here.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod engine;
#[cfg(feature = "std")]
mod environment;
#[cfg(mldsa_ct)]
pub(crate) mod memcheck;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod portable;
mod select;
#[cfg(mldsa_shares)]
pub mod shares;
mod wiper;
#[cfg(all(test, mldsa_inside))]
pub(crate) mod tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/backend/tests/mod.rs"
    ));
}

pub use engine::Engine;
#[cfg(mldsa_inside)]
pub use engine::Kernel;
pub(crate) use engine::{Kernels, kernels};
#[cfg(feature = "std")]
pub use environment::EnvironmentError;
pub use select::{Backend, Feature};
pub(crate) use select::{Kind, with_engine};
pub(crate) use wiper::Wiper;

/// Numbers: any bytes make one.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
))]
trait Number: Copy {}
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
))]
const _: () = {
    impl Number for u8 {}
    impl Number for i8 {}
    impl Number for u32 {}
    impl Number for i32 {}
    impl Number for u64 {}
};

/// The first numbers of a slice, as many as a register has; a slice with fewer is a defect of the caller.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
))]
#[inline(always)]
fn first<T, const COUNT: usize>(numbers: &[T]) -> &[T; COUNT] {
    numbers.first_chunk().expect("a register's numbers")
}

/// The same, to write.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
))]
#[inline(always)]
fn first_mut<T, const COUNT: usize>(numbers: &mut [T]) -> &mut [T; COUNT] {
    numbers.first_chunk_mut().expect("a register's numbers")
}
