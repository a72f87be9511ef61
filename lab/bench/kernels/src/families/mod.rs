//! The kernels, each with all its implementations.
//!
//! Where a peer's kernel leaves out a step that ours has in it (or has it as a kernel of its own), the
//! peer's step is called along, so that all do the same work. Conversions between representations
//! happen before and after, never in a timed call.

mod arithmetic;
mod hashing;
mod packing;
mod rounding;
mod sampling;

use crate::case::Kernels;

/// Adds every kernel that `kernels` was made for.
pub fn collect(kernels: &mut Kernels) {
    arithmetic::collect(kernels);
    rounding::collect(kernels);
    packing::collect(kernels);
    sampling::collect(kernels);
    hashing::collect(kernels);
}
