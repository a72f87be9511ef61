//! For tests: the portable kernels with several Keccak states, so that what works on groups of 2, 4
//! and 8 is tested on every CPU.

use super::{engine_from_kernels, method};
use crate::kernels::keccak::{States, permute_one};
use crate::kernels::poly::Poly;
use crate::kernels::sampling::Permute;
use crate::kernels::small::{Offsets, SmallPoly};
use crate::kernels::{ntt, pointwise, rounding, sampling, small};
use crate::params::Parameters;

macro_rules! wide {
    ($name:ident, $count:literal) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        impl $name {
            #[inline(always)]
            fn lane_token(self) {}
        }

        impl Permute<$count> for $name {
            fn permute(self, states: &mut States<$count>) {
                for lane in 0..$count {
                    let mut one = states.0.map(|row| row[lane]);
                    permute_one(&mut one);
                    for (row, word) in states.0.iter_mut().zip(one) {
                        row[lane] = word;
                    }
                }
            }
        }

        engine_from_kernels!($name, lanes i32, bytes u64, states $count, inline);
    };
}
wide!(Wide2, 2);
wide!(Wide4, 4);
wide!(Wide8, 8);
