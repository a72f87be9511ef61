//! Plain Rust for every CPU; the oracle of the other backends.

use super::kernels;
use crate::kernels::keccak::{States, permute};
use crate::kernels::sampling::Permute;

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

// As functions of their own, as those of the other backends are.
kernels!(Portable, i32, u64, 1, inline(never));
