//! For tests: the portable kernels with several Keccak states, so that what works on groups of 2, 4
//! and 8 is tested on every CPU; and each backend's kernels over intervals.

use crate::backend::kernels;
use crate::kernels::keccak::{States, permute_one};
use crate::kernels::sampling::Permute;

macro_rules! wide {
    ($name:ident, $count:literal, $lanes:ty, $bytes:ty) => {
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

        kernels!($name, $lanes, $bytes, $count, inline(never));
    };
}
wide!(Wide2, 2, i32, u64);
wide!(Wide4, 4, i32, u64);
wide!(Wide8, 8, i32, u64);

pub(crate) mod intervals {
    use super::*;
    use crate::kernels::tests::intervals::{ByteIntervals, Intervals};

    wide!(PortableIntervals, 1, Intervals<1, false>, ByteIntervals<8>);
    wide!(NeonIntervals, 2, Intervals<4, true>, ByteIntervals<16>);
    wide!(Avx2Intervals, 4, Intervals<8, false>, ByteIntervals<32>);
    wide!(Avx512Intervals, 8, Intervals<16, false>, ByteIntervals<64>);
}
