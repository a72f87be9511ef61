//! Four Keccak states: two in vector registers, two in integer registers beside them, once with plain
//! NEON and once with the SHA3 extension. `library/scripts/keccak_arm.py` writes the assembly and explains it. Compiled
//! code spills the 25 words and spends an instruction on each rotation.

use core::arch::{aarch64::*, asm};

use super::{Neon, NeonSha3, memory};
use crate::backend::{first, first_mut};
use crate::kernels::keccak::{
    Permutation, PermutationOfTwo, ROUND_CONSTANTS, States, Words, permute,
};
use crate::kernels::sampling::Permute;

/// Row r: ι's constants of an integer round, of vector round r and of the next integer round, then 1 while the
/// state in integer registers has rounds left, else 0. Only its address is used, so a `static`.
static CONSTANTS: [[u64; 4]; 24] = {
    let mut table = [[0; 4]; 24];
    let mut round = 0;
    while round < 24 {
        let first = 2 * (round % 12);
        table[round] = [
            ROUND_CONSTANTS[first],
            ROUND_CONSTANTS[round],
            ROUND_CONSTANTS[first + 1],
            (round % 12 < 11) as u64,
        ];
        round += 1;
    }
    table
};

/// Runs the permutation in `$file` on `$state`.
macro_rules! assembly {
    ($file:literal, $state:expr) => {
        asm!(
            include_str!($file),
            inout("x0") $state => _,
            inout("x1") CONSTANTS.as_ptr() => _,
            // `clobber_abi` covers the rest. The assembly restores x19, which LLVM reserves, and does not use x18
            // or x29.
            out("x20") _, out("x21") _, out("x22") _, out("x23") _, out("x24") _,
            out("x25") _, out("x26") _, out("x27") _, out("x28") _,
            clobber_abi("C"),
            options(raw),
        )
    };
}

/// The permutation of one state in integer registers.
const PERMUTE_ONE: Permutation = {
    #[inline(never)]
    fn entry(state: &mut [u64; 25]) {
        // SAFETY: the assembly reads and writes the state's 25 words, reads the first 12 rows of the table and
        // restores its stack. It has no instruction that a CPU of this target may lack.
        unsafe { assembly!("keccak_one.s", state.as_mut_ptr()) }
    }
    entry
};

const PERMUTE_TWO: PermutationOfTwo = |a, b| {
    PERMUTE_ONE(a);
    PERMUTE_ONE(b);
};

// The assembly of four states reads and writes 25 rows of four words, reads the table and restores its stack.
// `States` is aligned to 64 bytes and `repr(C)`, so its rows are too; the loop over two states tests bit 3 of the
// address.
impl Permute<4> for Neon {
    #[inline]
    fn permute(self, states: &mut States<4>) {
        #[inline(never)]
        #[target_feature(enable = "neon")]
        fn entry(states: &mut States<4>) {
            // SAFETY: see above.
            unsafe { assembly!("keccak_four.s", states.0.as_mut_ptr()) }
        }
        // SAFETY: `self` proves NEON.
        unsafe { entry(states) }
    }
    #[inline]
    fn permutation(self) -> Permutation {
        PERMUTE_ONE
    }
    #[inline]
    fn permutation_of_two(self) -> PermutationOfTwo {
        PERMUTE_TWO
    }
}

impl Permute<4> for NeonSha3 {
    #[inline]
    fn permute(self, states: &mut States<4>) {
        #[inline(never)]
        #[target_feature(enable = "neon,sha3")]
        fn entry(_: NeonSha3, states: &mut States<4>) {
            // SAFETY: see above; the token proves the extension.
            unsafe { assembly!("keccak_four_sha3.s", states.0.as_mut_ptr()) }
        }
        // Arm's cores have the extension in one vector unit, Apple's in all (library/evidence/arm.md). So on Apple's
        // cores four states in vector registers are faster.
        if cfg!(target_vendor = "apple") {
            return two_and_two(self, states);
        }
        // SAFETY: `self` proves NEON and the extension.
        unsafe { entry(self, states) }
    }
    #[inline]
    fn permutation(self) -> Permutation {
        PERMUTE_ONE
    }
    #[inline]
    fn permutation_of_two(self) -> PermutationOfTwo {
        PERMUTE_TWO
    }
}

/// The permutation of four states in vector registers, two at a time, with the SHA3 extension.
fn two_and_two(token: NeonSha3, states: &mut States<4>) {
    #[inline(never)]
    #[target_feature(enable = "neon,sha3")]
    fn entry(token: NeonSha3, states: &mut [[u64; 4]; 25]) {
        let neon = token.lane_token();
        for at in [0, 2] {
            let mut words = [U64x2Sha3(vdupq_n_u64(0), token); 25];
            for (word, row) in words.iter_mut().zip(&*states) {
                let row = memory::load(neon, first::<_, 2>(&row[at..]));
                word.0 = vreinterpretq_u64_u8(row);
            }
            permute(&mut words);
            for (word, row) in words.iter().zip(&mut *states) {
                let bytes = vreinterpretq_u8_u64(word.0);
                memory::store(neon, bytes, first_mut::<_, 2>(&mut row[at..]));
            }
        }
    }
    // SAFETY: the token proves NEON and the extension.
    unsafe { entry(token, &mut states.0) }
}

/// One word of each of two Keccak states and the token that proves the SHA3 extension.
#[derive(Clone, Copy)]
struct U64x2Sha3(uint64x2_t, NeonSha3);

impl Words for U64x2Sha3 {
    type Column = Self;
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        neon!(NeonSha3: self.1, U64x2Sha3, veorq_u64(self.0, other.0))
    }
    #[inline(always)]
    fn xor_constant(self, constant: u64) -> Self {
        neon!(NeonSha3: self.1, U64x2Sha3, veorq_u64(self.0, vdupq_n_u64(constant)))
    }
    #[inline(always)]
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        neon!(NeonSha3: self.1, U64x2Sha3, vxarq_u64::<RIGHT>(self.0, vdupq_n_u64(0)))
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        neon!(NeonSha3: self.1, U64x2Sha3, vbcaxq_u64(self.0, c.0, b.0))
    }
    #[inline(always)]
    fn xor5(self, b: Self, c: Self, d: Self, e: Self) -> Self {
        neon!(NeonSha3: self.1, U64x2Sha3, veor3q_u64(veor3q_u64(self.0, b.0, c.0), d.0, e.0))
    }
    #[inline(always)]
    fn column(left: Self, right: Self) -> Self {
        neon!(NeonSha3: left.1, U64x2Sha3, vrax1q_u64(left.0, right.0))
    }
    #[inline(always)]
    fn add_column(self, column: Self) -> Self {
        self.xor(column)
    }
    #[inline(always)]
    fn add_column_and_rotate<const LEFT: i32, const RIGHT: i32>(self, column: Self) -> Self {
        neon!(NeonSha3: self.1, U64x2Sha3, vxarq_u64::<RIGHT>(self.0, column.0))
    }
}

#[cfg(all(test, mldsa_inside))]
mod tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/backend/neon/keccak/tests.rs"
    ));
}
