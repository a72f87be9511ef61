//! Plain Rust for every CPU; the oracle of the other backends.

use super::{engine_from_kernels, method};
use crate::kernels::keccak::{States, permute};
use crate::kernels::poly::Poly;
use crate::kernels::sampling::Permute;
use crate::kernels::small::{Offsets, SmallPoly};
use crate::kernels::{ntt, pointwise, rounding, sampling, small};
use crate::params::Parameters;

/// The token that everybody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portable;

impl Portable {
    #[inline(always)]
    fn lane_token(self) {}
}

impl Permute<1> for Portable {
    fn permute(self, states: &mut States<1>) {
        for state in states.0.as_flattened_mut().as_chunks_mut::<25>().0 {
            permute(state);
        }
    }
}

engine_from_kernels!(Portable, lanes i32, bytes u64, states 1, inline);
