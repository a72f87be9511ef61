//! Keccak-f[1600] (FIPS 202) over any number of states side by side.

use core::ptr;

/// One 64-bit word of each of several Keccak states.
pub(crate) trait Words: Copy {
    /// The value that θ adds to each word of a column.
    type Column: Copy;
    fn xor(self, other: Self) -> Self;
    fn xor_constant(self, constant: u64) -> Self;
    /// Rotates left by `LEFT`; `RIGHT` is 64 − `LEFT`, which a backend needs as a constant of its own.
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self;
    /// χ: `self ^ (!b & c)`.
    fn chi(self, b: Self, c: Self) -> Self;
    /// `left ^ (right rotated left by 1)`, of the sums of the columns on both sides.
    fn column(left: Self, right: Self) -> Self::Column;
    fn add_column(self, column: Self::Column) -> Self;
    /// [`Words::add_column`], then [`Words::rotate_left`].
    #[inline(always)]
    fn add_column_and_rotate<const LEFT: i32, const RIGHT: i32>(
        self,
        column: Self::Column,
    ) -> Self {
        self.add_column(column).rotate_left::<LEFT, RIGHT>()
    }
    #[inline(always)]
    fn xor5(self, b: Self, c: Self, d: Self, e: Self) -> Self {
        self.xor(b).xor(c.xor(d)).xor(e)
    }
}

impl Words for u64 {
    type Column = Self;
    #[inline(always)]
    fn column(left: Self, right: Self) -> Self {
        left.xor(Words::rotate_left::<1, 63>(right))
    }
    #[inline(always)]
    fn add_column(self, column: Self) -> Self {
        self.xor(column)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    #[inline(always)]
    fn xor_constant(self, constant: u64) -> Self {
        self ^ constant
    }
    #[inline(always)]
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        self.rotate_left(LEFT as u32)
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        self ^ (!b & c)
    }
}

/// ι: the round constants, from the LFSR x^8 + x^6 + x^5 + x^4 + 1 of FIPS 202, Algorithm 5.
pub(crate) const ROUND_CONSTANTS: [u64; 24] = {
    let mut constants = [0u64; 24];
    let mut lfsr: u16 = 1;
    let mut round = 0;
    while round < 24 {
        let mut j = 0;
        while j <= 6 {
            if lfsr & 1 == 1 {
                constants[round] |= 1 << ((1u32 << j) - 1);
            }
            lfsr <<= 1;
            if lfsr & 0x100 != 0 {
                lfsr ^= 0x171;
            }
            j += 1;
        }
        round += 1;
    }
    constants
};

/// The permutation. Word (x, y) of the state is `a[x + 5 * y]`. Two rounds a step, so that the
/// state changes places in memory without being copied back.
#[inline(always)]
pub(crate) fn permute<W: Words>(a: &mut [W; 25]) {
    let mut s = *a;
    for [even, odd] in ROUND_PAIRS {
        let t = round(&s, even);
        s = round(&t, odd);
    }
    *a = s;
}

/// [`permute`] of `a` and of `one`. The two have nothing to do with each other: their instructions
/// alternate plane by plane, close enough for a core to run one on its vector units and the other
/// on its integer units at the same time. Not every core gains (library/evidence/performance-log.md), so a
/// backend asks for it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn permute_beside<W: Words>(a: &mut [W; 25], one: &mut [u64; 25]) {
    let (mut s, mut t) = (*a, *one);
    for [even, odd] in ROUND_PAIRS {
        let (s_odd, t_odd) = round_beside(&s, &t, even, even);
        (s, t) = round_beside(&s_odd, &t_odd, odd, odd);
    }
    (*a, *one) = (s, t);
}

/// The round constants, two by two.
const ROUND_PAIRS: [[u64; 2]; 12] = {
    let mut pairs = [[0; 2]; 12];
    let mut round = 0;
    while round < 24 {
        pairs[round / 2][round % 2] = ROUND_CONSTANTS[round];
        round += 1;
    }
    pairs
};

#[inline(always)]
fn round<W: Words>(a: &[W; 25], constant: u64) -> [W; 25] {
    let d = theta(a);
    join([
        plane0(a, &d, constant),
        plane1(a, &d),
        plane2(a, &d),
        plane3(a, &d),
        plane4(a, &d),
    ])
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn round_beside<W: Words>(
    a: &[W; 25],
    b: &[u64; 25],
    constant_a: u64,
    constant_b: u64,
) -> ([W; 25], [u64; 25]) {
    let (d, e) = (theta(a), theta(b));
    let (a0, b0) = (plane0(a, &d, constant_a), plane0(b, &e, constant_b));
    let (a1, b1) = (plane1(a, &d), plane1(b, &e));
    let (a2, b2) = (plane2(a, &d), plane2(b, &e));
    let (a3, b3) = (plane3(a, &d), plane3(b, &e));
    let (a4, b4) = (plane4(a, &d), plane4(b, &e));
    (join([a0, a1, a2, a3, a4]), join([b0, b1, b2, b3, b4]))
}

/// θ: what is added to the words of each column.
#[inline(always)]
fn theta<W: Words>(a: &[W; 25]) -> [W::Column; 5] {
    let c0 = a[0].xor5(a[5], a[10], a[15], a[20]);
    let c1 = a[1].xor5(a[6], a[11], a[16], a[21]);
    let c2 = a[2].xor5(a[7], a[12], a[17], a[22]);
    let c3 = a[3].xor5(a[8], a[13], a[18], a[23]);
    let c4 = a[4].xor5(a[9], a[14], a[19], a[24]);
    [
        W::column(c4, c1),
        W::column(c0, c2),
        W::column(c1, c3),
        W::column(c2, c4),
        W::column(c3, c0),
    ]
}

/// θ's addition, ρ and π for the words that land in one plane, then χ. The word that lands at (X, Y) comes
/// from (X + 3Y mod 5, X); the rotation is FIPS 202, Table 2, at its source.
#[inline(always)]
fn plane1<W: Words>(a: &[W; 25], d: &[W::Column; 5]) -> [W; 5] {
    chi([
        a[3].add_column_and_rotate::<28, 36>(d[3]),
        a[9].add_column_and_rotate::<20, 44>(d[4]),
        a[10].add_column_and_rotate::<3, 61>(d[0]),
        a[16].add_column_and_rotate::<45, 19>(d[1]),
        a[22].add_column_and_rotate::<61, 3>(d[2]),
    ])
}

/// As [`plane1`].
#[inline(always)]
fn plane2<W: Words>(a: &[W; 25], d: &[W::Column; 5]) -> [W; 5] {
    chi([
        a[1].add_column_and_rotate::<1, 63>(d[1]),
        a[7].add_column_and_rotate::<6, 58>(d[2]),
        a[13].add_column_and_rotate::<25, 39>(d[3]),
        a[19].add_column_and_rotate::<8, 56>(d[4]),
        a[20].add_column_and_rotate::<18, 46>(d[0]),
    ])
}

/// As [`plane1`].
#[inline(always)]
fn plane3<W: Words>(a: &[W; 25], d: &[W::Column; 5]) -> [W; 5] {
    chi([
        a[4].add_column_and_rotate::<27, 37>(d[4]),
        a[5].add_column_and_rotate::<36, 28>(d[0]),
        a[11].add_column_and_rotate::<10, 54>(d[1]),
        a[17].add_column_and_rotate::<15, 49>(d[2]),
        a[23].add_column_and_rotate::<56, 8>(d[3]),
    ])
}

/// As [`plane1`].
#[inline(always)]
fn plane4<W: Words>(a: &[W; 25], d: &[W::Column; 5]) -> [W; 5] {
    chi([
        a[2].add_column_and_rotate::<62, 2>(d[2]),
        a[8].add_column_and_rotate::<55, 9>(d[3]),
        a[14].add_column_and_rotate::<39, 25>(d[4]),
        a[15].add_column_and_rotate::<41, 23>(d[0]),
        a[21].add_column_and_rotate::<2, 62>(d[1]),
    ])
}

/// The plane whose first word is not rotated and takes ι.
#[inline(always)]
fn plane0<W: Words>(a: &[W; 25], d: &[W::Column; 5], constant: u64) -> [W; 5] {
    let mut plane = chi([
        a[0].add_column(d[0]),
        a[6].add_column_and_rotate::<44, 20>(d[1]),
        a[12].add_column_and_rotate::<43, 21>(d[2]),
        a[18].add_column_and_rotate::<21, 43>(d[3]),
        a[24].add_column_and_rotate::<14, 50>(d[4]),
    ]);
    plane[0] = plane[0].xor_constant(constant);
    plane
}

#[inline(always)]
fn chi<W: Words>([b0, b1, b2, b3, b4]: [W; 5]) -> [W; 5] {
    [
        b0.chi(b1, b2),
        b1.chi(b2, b3),
        b2.chi(b3, b4),
        b3.chi(b4, b0),
        b4.chi(b0, b1),
    ]
}

/// Five planes as a state.
#[inline(always)]
fn join<W: Words>([a, b, c, d, e]: [[W; 5]; 5]) -> [W; 25] {
    [
        a[0], a[1], a[2], a[3], a[4], b[0], b[1], b[2], b[3], b[4], c[0], c[1], c[2], c[3], c[4],
        d[0], d[1], d[2], d[3], d[4], e[0], e[1], e[2], e[3], e[4],
    ]
}

/// A backend's permutation of one state.
pub type Permutation = fn(&mut [u64; 25]);

/// A backend's permutation of two states.
pub type PermutationOfTwo = fn(&mut [u64; 25], &mut [u64; 25]);

/// Several Keccak states side by side, as batches see them.
pub trait StateGroup {
    /// How many.
    const COUNT: usize;
    fn zero() -> Self;
    /// Word `word` of every state.
    fn row(&self, word: usize) -> &[u64];
    /// The same, to write.
    fn row_mut(&mut self, word: usize) -> &mut [u64];
}

impl<const COUNT: usize> StateGroup for States<COUNT> {
    const COUNT: usize = COUNT;
    fn zero() -> Self {
        States([[0; COUNT]; 25])
    }
    #[inline(always)]
    fn row(&self, word: usize) -> &[u64] {
        &self.0[word]
    }
    #[inline(always)]
    fn row_mut(&mut self, word: usize) -> &mut [u64] {
        &mut self.0[word]
    }
}

/// `COUNT` states side by side: word `i` of state `j` at `.0[i][j]`.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct States<const COUNT: usize>(pub(crate) [[u64; COUNT]; 25]);

impl<const COUNT: usize> Drop for States<COUNT> {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        zeroize::optimization_barrier(&self.0);
    }
}

impl<const COUNT: usize> States<COUNT> {
    /// Puts `one` in the place of the last state, permutes all by `permute` and takes it out again.
    #[inline(always)]
    pub(crate) fn permute_with_last(
        &mut self,
        one: &mut [u64; 25],
        permute: impl FnOnce(&mut Self),
    ) {
        for (row, word) in self.0.iter_mut().zip(&*one) {
            row[COUNT - 1] = *word;
        }
        permute(self);
        for (row, word) in self.0.iter().zip(one) {
            *word = row[COUNT - 1];
        }
    }
}

/// SHAKE128's rate in bytes.
pub(crate) const RATE_128: usize = 168;
/// SHAKE256's rate in bytes.
pub(crate) const RATE_256: usize = 136;

/// The permutation in plain Rust.
#[inline(never)]
pub(crate) fn permute_one(state: &mut [u64; 25]) {
    permute(state);
}

/// The states of up to `COUNT` XOFs, each of which absorbs `seed ‖ nonce` (nonce: two bytes,
/// little-endian) in one padded block of `rate` bytes.
#[inline(always)]
pub(crate) fn seeded<'a, const COUNT: usize, const SEED: usize>(
    rate: usize,
    lanes: impl Iterator<Item = (&'a [u8; SEED], u16)>,
) -> States<COUNT> {
    const { assert!(SEED.is_multiple_of(8) && SEED + 3 < RATE_256) };
    let mut states = States([[0; COUNT]; 25]);
    let mut first = None;
    for (lane, (seed, nonce)) in lanes.enumerate() {
        // A seed of all lanes is written to all at once.
        let first = *first.get_or_insert(seed);
        for (row, word) in states.0.iter_mut().zip(seed.as_chunks::<8>().0) {
            if lane == 0 {
                *row = [u64::from_le_bytes(*word); COUNT];
            } else if !ptr::eq(seed, first) {
                row[lane] = u64::from_le_bytes(*word);
            }
        }
        states.0[SEED / 8][lane] = u64::from(nonce) | 0x1f << 16;
    }
    states.0[rate / 8 - 1] = [1 << 63; COUNT];
    states
}

/// Copies the block of `rate` bytes of each state to `out[lane][at..]`.
#[inline(always)]
pub(crate) fn copy_block<const COUNT: usize, const LEN: usize>(
    states: &States<COUNT>,
    rate: usize,
    out: &mut [[u8; LEN]],
    at: usize,
) {
    for (lane, bytes) in out.iter_mut().take(COUNT).enumerate() {
        let block = &mut bytes[at..at + rate];
        for (word, row) in block.chunks_exact_mut(8).zip(&states.0) {
            word.copy_from_slice(&row[lane].to_le_bytes());
        }
    }
}
