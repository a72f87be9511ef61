//! One Keccak state in five 512-bit registers of five words: 36 vector instructions a round for the 90 that a
//! register for each word takes, in a longer chain. Intel's cores need a fifth less time; a Zen 5 gains nothing
//! (docs/decisions/0023-keccak-by-maker.md).
//!
//! θ and ρ take words where they are. What costs is π, since χ needs three words of a row side by side. So words
//! stay where π's copies are cheap: lane l of register g holds word (x, y) = (a·g + b·l, c·g + d·l) mod 5,
//! with other factors before each round.

use core::arch::x86_64::*;

use super::{Avx512, avx512, memory};
use crate::kernels::keccak::ROUND_CONSTANTS;

/// The factors a, b, c, d of a layout.
type Layout = [usize; 4];

/// A row in each register.
const ROWS: Layout = [0, 1, 1, 0];
/// The layouts before each of six rounds, and after. Of all layouts of this form, each round goes on to one that
/// takes the fewest permutations of lanes; the sixth goes back. Either all words of a lane have the same x, or
/// all words of a register.
const LAYOUTS: [Layout; 7] = [
    ROWS,
    [1, 0, 0, 2],
    [0, 2, 1, 1],
    [0, 1, 1, 2],
    [0, 2, 1, 3],
    [0, 3, 1, 3],
    ROWS,
];

/// A number for each lane of a register: the lane that it comes from, or its rotation.
type PerLane = [u64; 8];
const IN_PLACE: PerLane = [0, 1, 2, 3, 4, 5, 6, 7];

/// The word at a place.
const fn word([a, b, c, d]: Layout, register: usize, lane: usize) -> (usize, usize) {
    ((a * register + b * lane) % 5, (c * register + d * lane) % 5)
}

/// The register and the lane of a word.
const fn place(layout: Layout, x: usize, y: usize) -> (usize, usize) {
    let mut at = 0;
    while at < 25 {
        let (word_x, word_y) = word(layout, at / 5, at % 5);
        if word_x == x && word_y == y {
            return (at / 5, at % 5);
        }
        at += 1;
    }
    panic!("a layout has every word")
}

/// Five lanes rotated by `by`.
const fn rotated(by: usize) -> PerLane {
    let mut lanes = IN_PLACE;
    let mut lane = 0;
    while lane < 5 {
        lanes[lane] = ((lane + by) % 5) as u64;
        lane += 1;
    }
    lanes
}

/// The layouts before and after a round, as the round needs them.
struct Plan {
    /// Whether all words of a lane have the same x.
    aligned: bool,
    /// θ: where the sums of the columns x − 1 and x + 1 are: lanes if aligned, else registers.
    neighbours: [PerLane; 2],
    /// ρ, by register.
    rotations: [PerLane; 5],
    /// π and χ: the register and the lanes of a word and of the next two in its row, by register.
    sources: [[(usize, PerLane); 3]; 5],
    /// ι: where word (0, 0) is afterwards.
    first: (usize, usize),
}

const fn plan(round: usize) -> Plan {
    let (before, after) = (LAYOUTS[round], LAYOUTS[round + 1]);
    let aligned = before[0] == 0;
    let mut plan = Plan {
        aligned,
        neighbours: [IN_PLACE; 2],
        rotations: [[0; 8]; 5],
        sources: [[(0, IN_PLACE); 3]; 5],
        first: place(after, 0, 0),
    };
    let mut i = 0;
    while i < 5 {
        let (x, _) = if aligned {
            word(before, 0, i)
        } else {
            word(before, i, 0)
        };
        let (left, right) = (place(before, (x + 4) % 5, 0), place(before, (x + 1) % 5, 0));
        plan.neighbours[0][i] = if aligned { left.1 } else { left.0 } as u64;
        plan.neighbours[1][i] = if aligned { right.1 } else { right.0 } as u64;
        i += 1;
    }
    // FIPS 202, Algorithm 2.
    let (mut x, mut y, mut t) = (1, 0, 0);
    while t < 24 {
        let (register, lane) = place(before, x, y);
        plan.rotations[register][lane] = (t + 1) * (t + 2) / 2 % 64;
        (x, y) = (y, (2 * x + 3 * y) % 5);
        t += 1;
    }
    let mut at = 0;
    while at < 75 {
        let (register, lane, next) = (at / 15, at / 3 % 5, at % 3);
        let (x, y) = word(after, register, lane);
        let x = (x + next) % 5;
        // FIPS 202, Algorithm 3: word (X, Y) comes from (X + 3Y, X).
        let (from, of) = place(before, (x + 3 * y) % 5, x);
        let source = &mut plan.sources[register][next];
        assert!(
            lane == 0 || source.0 == from,
            "all of a register are from one"
        );
        source.0 = from;
        source.1[lane] = of as u64;
        at += 1;
    }
    plan
}

const XOR3: i32 = super::keccak::XOR3;
const CHI: i32 = super::keccak::CHI;

/// Five words and the token that proves AVX-512.
#[derive(Clone, Copy)]
struct Five(__m512i, Avx512);

impl Five {
    #[inline(always)]
    fn take(self, lanes: PerLane) -> Self {
        if lanes == IN_PLACE {
            return self;
        }
        avx512!(self.1, Five, {
            let [a, b, c, d, e, f, g, h] = lanes.map(|lane| lane as i64);
            let lanes = _mm512_setr_epi64(a, b, c, d, e, f, g, h);
            _mm512_permutexvar_epi64(lanes, self.0)
        })
    }
    #[inline(always)]
    fn rotate_each(self, by: PerLane) -> Self {
        avx512!(self.1, Five, {
            let [a, b, c, d, e, f, g, h] = by.map(|by| by as i64);
            _mm512_rolv_epi64(self.0, _mm512_setr_epi64(a, b, c, d, e, f, g, h))
        })
    }
    #[inline(always)]
    fn rotate_once(self) -> Self {
        avx512!(self.1, Five, _mm512_rol_epi64::<1>(self.0))
    }
    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        avx512!(self.1, Five, _mm512_xor_si512(self.0, b.0))
    }
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        avx512!(
            self.1,
            Five,
            _mm512_ternarylogic_epi64::<XOR3>(self.0, b.0, c.0)
        )
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        avx512!(
            self.1,
            Five,
            _mm512_ternarylogic_epi64::<CHI>(self.0, b.0, c.0)
        )
    }
    #[inline(always)]
    fn xor_constant(self, lane: usize, constant: u64) -> Self {
        avx512!(
            self.1,
            self.xor(Five(
                _mm512_maskz_set1_epi64(1 << lane, constant as i64),
                self.1
            ))
        )
    }
}

/// The plan of each of six rounds. What follows reads it in constants alone, so that registers and lanes are
/// known to the compiler.
const PLANS: [Plan; 6] = [plan(0), plan(1), plan(2), plan(3), plan(4), plan(5)];

/// θ of a register; `sums` has the sums of its columns, those of an aligned round in `sums[0]`.
#[inline(always)]
fn theta<const ROUND: usize, const REGISTER: usize>(z: Five, sums: &[Five; 5]) -> Five {
    let [left, right] = const { PLANS[ROUND].neighbours };
    let (left, right) = if const { PLANS[ROUND].aligned } {
        (sums[0].take(left), sums[0].rotate_once().take(right))
    } else {
        let [left, right] = const {
            let [left, right] = PLANS[ROUND].neighbours;
            [left[REGISTER] as usize, right[REGISTER] as usize]
        };
        (sums[left], sums[right].rotate_once())
    };
    z.xor3(left, right)
        .rotate_each(const { PLANS[ROUND].rotations[REGISTER] })
}

/// The sum of five words in each of their lanes.
#[inline(always)]
fn sum(z: Five) -> Five {
    let two = z.xor(z.take(const { rotated(1) }));
    two.xor3(two.take(const { rotated(2) }), z.take(const { rotated(4) }))
}

/// π for an operand of χ.
#[inline(always)]
fn operand<const ROUND: usize, const REGISTER: usize, const NEXT: usize>(z: &[Five; 5]) -> Five {
    let (register, lanes) = const { PLANS[ROUND].sources[REGISTER][NEXT] };
    z[register].take(lanes)
}

/// π and χ of a register.
#[inline(always)]
fn chi<const ROUND: usize, const REGISTER: usize>(z: &[Five; 5]) -> Five {
    let [b, c] = [
        operand::<ROUND, REGISTER, 1>(z),
        operand::<ROUND, REGISTER, 2>(z),
    ];
    operand::<ROUND, REGISTER, 0>(z).chi(b, c)
}

/// Round `ROUND` of six.
#[inline(always)]
fn round<const ROUND: usize>(z: [Five; 5], constant: u64) -> [Five; 5] {
    let [a, b, c, d, e] = z;
    let sums = if const { PLANS[ROUND].aligned } {
        [a.xor3(b, c).xor3(d, e); 5]
    } else {
        [sum(a), sum(b), sum(c), sum(d), sum(e)]
    };
    let z = [
        theta::<ROUND, 0>(a, &sums),
        theta::<ROUND, 1>(b, &sums),
        theta::<ROUND, 2>(c, &sums),
        theta::<ROUND, 3>(d, &sums),
        theta::<ROUND, 4>(e, &sums),
    ];
    let mut z = [
        chi::<ROUND, 0>(&z),
        chi::<ROUND, 1>(&z),
        chi::<ROUND, 2>(&z),
        chi::<ROUND, 3>(&z),
        chi::<ROUND, 4>(&z),
    ];
    let (register, lane) = const { PLANS[ROUND].first };
    z[register] = z[register].xor_constant(lane, constant);
    z
}

/// The permutation.
#[target_feature(enable = "avx512f")]
pub(super) fn entry(token: Avx512, state: &mut [u64; 25]) {
    let mut z = [Five(_mm512_setzero_si512(), token); 5];
    for (register, row) in z.iter_mut().zip(state.as_chunks().0) {
        register.0 = memory::load_five(token, row);
    }
    for constants in ROUND_CONSTANTS.as_chunks::<6>().0 {
        z = round::<0>(z, constants[0]);
        z = round::<1>(z, constants[1]);
        z = round::<2>(z, constants[2]);
        z = round::<3>(z, constants[3]);
        z = round::<4>(z, constants[4]);
        z = round::<5>(z, constants[5]);
    }
    for (register, row) in z.iter().zip(state.as_chunks_mut().0) {
        memory::store_five(token, register.0, row);
    }
}
