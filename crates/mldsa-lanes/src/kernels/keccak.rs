//! Keccak-f[1600] over any number of states side by side, and the SHAKE and SHA-3 sponges
//! (FIPS 202) for one state.

use super::poly::Wipe;

/// One 64-bit word of each of several Keccak states.
pub(crate) trait Words: Copy {
    fn xor(self, other: Self) -> Self;
    fn xor_constant(self, constant: u64) -> Self;
    /// Rotates left by `LEFT`; `RIGHT` is 64 − `LEFT`, which a backend needs as a constant of its own.
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self;
    /// χ: `self ^ (!b & c)`.
    fn chi(self, b: Self, c: Self) -> Self;
    /// `self ^ (other rotated left by 1)`.
    #[inline(always)]
    fn xor_rotated_once(self, other: Self) -> Self {
        self.xor(other.rotate_left::<1, 63>())
    }
    /// `self ^ other`, rotated.
    #[inline(always)]
    fn xor_then_rotate<const LEFT: i32, const RIGHT: i32>(self, other: Self) -> Self {
        self.xor(other).rotate_left::<LEFT, RIGHT>()
    }
    #[inline(always)]
    fn xor5(self, b: Self, c: Self, d: Self, e: Self) -> Self {
        self.xor(b).xor(c.xor(d)).xor(e)
    }
}

impl Words for u64 {
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
const ROUND_CONSTANTS: [u64; 24] = {
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

/// The permutation. Word (x, y) of the state is `a[x + 5 * y]`.
#[inline(always)]
pub(crate) fn permute<W: Words>(a: &mut [W; 25]) {
    let mut s = *a;
    for constant in ROUND_CONSTANTS {
        s = round(s, constant);
    }
    *a = s;
}

/// θ, ρ, π, χ, ι. The word that lands at (X, Y) comes from (X + 3Y mod 5, X); the rotation is
/// FIPS 202, Table 2, at its source.
#[inline(always)]
fn round<W: Words>(a: [W; 25], constant: u64) -> [W; 25] {
    let c0 = a[0].xor5(a[5], a[10], a[15], a[20]);
    let c1 = a[1].xor5(a[6], a[11], a[16], a[21]);
    let c2 = a[2].xor5(a[7], a[12], a[17], a[22]);
    let c3 = a[3].xor5(a[8], a[13], a[18], a[23]);
    let c4 = a[4].xor5(a[9], a[14], a[19], a[24]);
    let d = [
        c4.xor_rotated_once(c1),
        c0.xor_rotated_once(c2),
        c1.xor_rotated_once(c3),
        c2.xor_rotated_once(c4),
        c3.xor_rotated_once(c0),
    ];
    macro_rules! rho {
        ($from:literal, $left:literal) => {
            a[$from].xor_then_rotate::<$left, { 64 - $left }>(d[$from % 5])
        };
    }
    macro_rules! plane {
        ($b0:expr, $b1:expr, $b2:expr, $b3:expr, $b4:expr) => {{
            let (b0, b1, b2, b3, b4) = ($b0, $b1, $b2, $b3, $b4);
            [
                b0.chi(b1, b2),
                b1.chi(b2, b3),
                b2.chi(b3, b4),
                b3.chi(b4, b0),
                b4.chi(b0, b1),
            ]
        }};
    }
    let y0 = plane!(
        a[0].xor(d[0]),
        rho!(6, 44),
        rho!(12, 43),
        rho!(18, 21),
        rho!(24, 14)
    );
    let y1 = plane!(
        rho!(3, 28),
        rho!(9, 20),
        rho!(10, 3),
        rho!(16, 45),
        rho!(22, 61)
    );
    let y2 = plane!(
        rho!(1, 1),
        rho!(7, 6),
        rho!(13, 25),
        rho!(19, 8),
        rho!(20, 18)
    );
    let y3 = plane!(
        rho!(4, 27),
        rho!(5, 36),
        rho!(11, 10),
        rho!(17, 15),
        rho!(23, 56)
    );
    let y4 = plane!(
        rho!(2, 62),
        rho!(8, 55),
        rho!(14, 39),
        rho!(15, 41),
        rho!(21, 2)
    );
    [
        y0[0].xor_constant(constant),
        y0[1],
        y0[2],
        y0[3],
        y0[4],
        y1[0],
        y1[1],
        y1[2],
        y1[3],
        y1[4],
        y2[0],
        y2[1],
        y2[2],
        y2[3],
        y2[4],
        y3[0],
        y3[1],
        y3[2],
        y3[3],
        y3[4],
        y4[0],
        y4[1],
        y4[2],
        y4[3],
        y4[4],
    ]
}

/// `COUNT` states side by side: word `i` of state `j` at `.0[i][j]`.
#[derive(Clone)]
#[repr(align(64))]
pub(crate) struct States<const COUNT: usize>(pub(crate) [[u64; COUNT]; 25]);

impl<const COUNT: usize> Drop for States<COUNT> {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        zeroize::optimization_barrier(&self.0);
    }
}

/// SHAKE128's rate in bytes.
pub(crate) const RATE_128: usize = 168;
/// SHAKE256's rate in bytes.
pub(crate) const RATE_256: usize = 136;

/// A sponge on one state. `RATE` in bytes; `SUFFIX` is the domain separation with the first
/// padding bit: 0x1f for SHAKE, 0x06 for SHA-3. Wiped when dropped.
#[derive(Clone)]
pub(crate) struct Sponge<const RATE: usize, const SUFFIX: u8> {
    state: [u64; 25],
    /// Bytes absorbed into, or squeezed out of, the current block.
    position: usize,
}

pub(crate) type Shake256 = Sponge<RATE_256, 0x1f>;
pub(crate) type Shake128 = Sponge<RATE_128, 0x1f>;

impl<const RATE: usize, const SUFFIX: u8> Sponge<RATE, SUFFIX> {
    pub(crate) fn new() -> Self {
        Sponge {
            state: [0; 25],
            position: 0,
        }
    }

    pub(crate) fn absorb(mut self, data: &[u8]) -> Self {
        self.update(data);
        self
    }

    pub(crate) fn update(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            if self.position == RATE {
                permute_one(&mut self.state);
                self.position = 0;
            }
            if self.position.is_multiple_of(8) && data.len() >= 8 {
                let (word, rest) = data.split_at(8);
                let mut bytes = [0; 8];
                bytes.copy_from_slice(word);
                self.state[self.position / 8] ^= u64::from_le_bytes(bytes);
                self.position += 8;
                data = rest;
            } else {
                self.state[self.position / 8] ^= u64::from(data[0]) << (8 * (self.position % 8));
                self.position += 1;
                data = &data[1..];
            }
        }
    }

    /// Pads; what follows is output.
    pub(crate) fn finish(mut self) -> Reader<RATE, SUFFIX> {
        if self.position == RATE {
            permute_one(&mut self.state);
            self.position = 0;
        }
        self.state[self.position / 8] ^= u64::from(SUFFIX) << (8 * (self.position % 8));
        self.state[RATE / 8 - 1] ^= 1 << 63;
        self.position = RATE;
        Reader(self)
    }
}

impl<const RATE: usize, const SUFFIX: u8> Drop for Sponge<RATE, SUFFIX> {
    fn drop(&mut self) {
        self.state.fill(0);
        zeroize::optimization_barrier(&self.state);
    }
}

/// The output side of a sponge.
pub(crate) struct Reader<const RATE: usize, const SUFFIX: u8>(Sponge<RATE, SUFFIX>);

impl<const RATE: usize, const SUFFIX: u8> Reader<RATE, SUFFIX> {
    pub(crate) fn squeeze(&mut self, out: &mut [u8]) {
        for byte in out {
            if self.0.position == RATE {
                permute_one(&mut self.0.state);
                self.0.position = 0;
            }
            let word = self.0.state[self.0.position / 8];
            *byte = (word >> (8 * (self.0.position % 8))) as u8;
            self.0.position += 1;
        }
    }

    pub(crate) fn read<const LEN: usize>(&mut self) -> [u8; LEN] {
        let mut out = [0; LEN];
        self.squeeze(&mut out);
        out
    }
}

#[inline(never)]
fn permute_one(state: &mut [u64; 25]) {
    permute(state);
}

/// H of FIPS 204, section 3.7: SHAKE256 of the concatenated parts.
pub(crate) fn h<const LEN: usize>(parts: &[&[u8]]) -> [u8; LEN] {
    let mut sponge = Shake256::new();
    for part in parts {
        sponge.update(part);
    }
    let mut reader = sponge.finish();
    reader.read()
}

/// The states of up to `COUNT` XOFs that absorb `seed ‖ nonce` (nonce: two bytes, little-endian)
/// in one padded block of `rate` bytes. `seed` has a multiple of eight bytes and room for the
/// nonce and the padding: 32 or 64 here.
#[inline(always)]
pub(crate) fn seeded<const COUNT: usize>(
    rate: usize,
    seed: &[u8],
    nonces: &[u16],
) -> States<COUNT> {
    debug_assert!(seed.len().is_multiple_of(8) && seed.len() + 3 < rate);
    let mut states = States([[0; COUNT]; 25]);
    for (row, word) in states.0.iter_mut().zip(seed.chunks_exact(8)) {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        *row = [u64::from_le_bytes(bytes); COUNT];
        bytes.wipe();
    }
    for (word, nonce) in states.0[seed.len() / 8].iter_mut().zip(nonces) {
        *word = u64::from(*nonce) | 0x1f << 16;
    }
    states.0[rate / 8 - 1] = [1 << 63; COUNT];
    states
}

/// Copies the block of `rate` bytes of each state to `out[lane][at..]`.
#[inline(always)]
pub(crate) fn copy_block<const COUNT: usize, const LEN: usize>(
    states: &States<COUNT>,
    rate: usize,
    out: &mut [[u8; LEN]; COUNT],
    at: usize,
) {
    for (lane, bytes) in out.iter_mut().enumerate() {
        let block = &mut bytes[at..at + rate];
        for (word, row) in block.chunks_exact_mut(8).zip(&states.0) {
            word.copy_from_slice(&row[lane].to_le_bytes());
        }
    }
}
