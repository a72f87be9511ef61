//! The lane trait: a few coefficients side by side.

use super::bounds::Range;
use crate::params::{D, N, Q};

/// q^-1 mod 2^32.
pub(crate) const Q_INVERSE: i32 = {
    let mut inverse: i32 = 1;
    let mut i = 0;
    while i < 5 {
        inverse = inverse.wrapping_mul(2i32.wrapping_sub(Q.wrapping_mul(inverse)));
        i += 1;
    }
    inverse
};
const _: () = assert!(Q.wrapping_mul(Q_INVERSE) == 1);

/// The relation of a coefficient to the number in its string.
#[derive(Clone, Copy)]
pub enum Map {
    /// Both are equal.
    Same,
    /// The coefficient is this value minus the number in the string.
    Below(i32),
    /// The coefficient is the number in the string times 2^d.
    Scaled,
}

impl Map {
    /// The coefficients whose strings have `bits` bits.
    pub(crate) const fn coefficients(self, bits: usize) -> Range {
        let most = (1 << bits) - 1;
        match self {
            Map::Same => Range(0, most),
            Map::Below(top) => Range(top - most, top),
            Map::Scaled => Range(0, most << D),
        }
    }

    #[inline(always)]
    pub(crate) fn apply<V: Lanes>(self, token: V::Token, value: V) -> V {
        match self {
            Map::Same => value,
            Map::Below(top) => V::splat(token, top).sub(value),
            Map::Scaled => value.mul_low(V::splat(token, 1 << D)),
        }
    }
}

/// `COUNT` coefficients in one register. A value exists only where a token of the backend was,
/// which is why the methods may use the backend's instructions.
///
/// "Montgomery product" of a and b means r ≡ a·b·2^-32 (mod q) with |r| < q,
/// for |a·b| < 2^31·q.
pub trait Lanes: Copy {
    /// Proof that the CPU has the instructions.
    type Token: Copy;
    /// 64-bit accumulators for `COUNT` products.
    type Wide: Copy;
    /// Lanes: a power of two, 16 at most.
    const COUNT: usize;

    fn splat(token: Self::Token, value: i32) -> Self;
    /// The first `COUNT` entries of `from`.
    fn load(token: Self::Token, from: &[i32]) -> Self;
    /// Writes the first `COUNT` entries of `to`.
    fn store(self, to: &mut [i32]);

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    /// Low 32 bits of the product.
    fn mul_low(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    /// Arithmetic shift right.
    fn shift_right<const BITS: i32>(self) -> Self;
    /// All ones where `self > other`, else zero.
    fn greater(self, other: Self) -> Self;
    fn abs(self) -> Self;
    /// Whether some lane is not zero.
    fn any(self) -> bool;

    /// Montgomery product.
    fn montgomery(self, other: Self) -> Self;
    fn wide_zero(token: Self::Token) -> Self::Wide;
    /// `accumulator + a·b`, exact.
    fn wide_add(accumulator: Self::Wide, a: Self, b: Self) -> Self::Wide;
    /// `accumulator - a·b`, exact.
    fn wide_sub(accumulator: Self::Wide, a: Self, b: Self) -> Self::Wide;
    /// Montgomery reduction of each sum; |sum| < 2^31·q.
    fn wide_reduce(accumulator: Self::Wide) -> Self;

    /// `COUNT` values of 23 bits, each from the low bits of three bytes; `from` has 3·`COUNT`.
    fn from_triples(token: Self::Token, from: &[u8]) -> Self;
    /// The first `COUNT` bytes of `from`, as numbers.
    fn from_bytes(token: Self::Token, from: &[u8]) -> Self;
    /// `COUNT` half-bytes of `from`, the low half of a byte first, starting with number `at`, a
    /// multiple of `COUNT`.
    fn from_halves(token: Self::Token, from: &[u8], at: usize) -> Self;
    /// `COUNT` values of `BITS` bits (18 or 20) of the bit string `from`, starting with number
    /// `at`, a multiple of `COUNT`. There are 16 bytes more in `from` than the string has.
    fn from_bits<const BITS: u32>(token: Self::Token, from: &[u8], at: usize) -> Self;
    /// [`Lanes::from_bits`] for any width up to 25 bits.
    #[inline(always)]
    fn from_any_bits<const BITS: u32>(token: Self::Token, from: &[u8], at: usize) -> Self {
        let mut values = [0; 16];
        for (i, value) in values[..Self::COUNT].iter_mut().enumerate() {
            *value = i32::from_bits::<BITS>((), from, at + i);
        }
        Self::load(token, &values)
    }
    /// Writes the string of `BITS` bits of each coefficient of `p`, which is below 2^`BITS` after
    /// `map`. `to` has 32·`BITS` bytes.
    #[inline(always)]
    fn write_bits<const BITS: usize>(token: Self::Token, p: &[i32; N], map: Map, to: &mut [u8]) {
        // 16 values fill 2·BITS bytes; eight of up to 16 bits, or four, fit 128 bits.
        let group = if BITS > 16 { 4 } else { 8 };
        for (i, bytes) in to.chunks_exact_mut(2 * BITS).enumerate() {
            let mut values = [0; 16];
            for j in (0..16).step_by(Self::COUNT) {
                let value = Self::load(token, &p[16 * i + j..]);
                map.apply(token, value).store(&mut values[j..]);
            }
            let strings = bytes.chunks_exact_mut(group * BITS / 8);
            for (values, bytes) in values.chunks_exact(group).zip(strings) {
                let mut bits = 0u128;
                for (j, value) in values.iter().enumerate() {
                    debug_assert!((0..1 << BITS).contains(value));
                    bits |= (*value as u128) << (j * BITS);
                }
                bytes.copy_from_slice(&bits.to_le_bytes()[..group * BITS / 8]);
            }
        }
    }
    /// Writes the lanes where `keep` is all ones to the front of `to`, in order, and anything to
    /// the rest of its first `COUNT` entries; returns how many were kept.
    fn store_kept(self, keep: Self, to: &mut [i32]) -> usize;
}

/// Operations of the NTT beyond [`Lanes`].
pub trait Transform: Lanes {
    /// Whether [`Transform::times`] is Barrett's product, else Montgomery's.
    const BARRETT: bool;
    /// Whether the NTT's layers and the steps of its transposition are mixed: for units that shuffle beside
    /// those that multiply. More twiddles are loaded then.
    const MIXED: bool;

    /// Both numbers of an entry of a table, each in all lanes.
    #[inline(always)]
    fn splat_pair<const LENGTH: usize>(
        token: Self::Token,
        table: &'static [[i32; 2]; LENGTH],
        at: usize,
    ) -> (Self, Self) {
        (
            Self::splat(token, table[at][0]),
            Self::splat(token, table[at][1]),
        )
    }
    /// Product with a constant c: r ≡ self·c (mod q) with |r| < q. Montgomery's form takes
    /// c·2^32 mod± q, and that times q^-1 mod 2^32 as its companion; Barrett's takes c mod± q, and
    /// c·2^31 / q, rounded. `factor` has both for each lane. Even lanes of `above` have those of the odd lane
    /// above; its odd lanes are not read. So a backend whose products are as wide as two lanes moves none.
    fn times(self, factor: [Self; 2], above: [Self; 2]) -> Self;
    /// Exchanges lane l + HOP of `a` with lane l of `b`, for each l without the bit `HOP`, a power of two below
    /// `COUNT`. Done for all registers `HOP` apart, it is one step of a transposition.
    fn exchange<const HOP: usize>(a: Self, b: Self) -> (Self, Self);
}

/// One coefficient at a time: the portable backend, and the oracle of the others.
impl Lanes for i32 {
    type Token = ();
    type Wide = i64;
    const COUNT: usize = 1;

    #[inline(always)]
    fn splat((): (), value: i32) -> Self {
        value
    }
    #[inline(always)]
    fn load((): (), from: &[i32]) -> Self {
        from[0]
    }
    #[inline(always)]
    fn store(self, to: &mut [i32]) {
        to[0] = self;
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self - other
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        self >> BITS
    }
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        // No comparison, which a compiler could turn into a branch: the sign of the difference.
        (i64::from(other) - i64::from(self)).wrapping_shr(63) as i32
    }
    #[inline(always)]
    fn abs(self) -> Self {
        let sign = self >> 31;
        (self ^ sign) - sign
    }
    #[inline(always)]
    fn any(self) -> bool {
        self != 0
    }
    #[inline(always)]
    fn montgomery(self, other: Self) -> Self {
        Self::wide_reduce(i64::from(self) * i64::from(other))
    }
    #[inline(always)]
    fn wide_zero((): ()) -> i64 {
        0
    }
    #[inline(always)]
    fn wide_add(accumulator: i64, a: Self, b: Self) -> i64 {
        accumulator + i64::from(a) * i64::from(b)
    }
    #[inline(always)]
    fn wide_sub(accumulator: i64, a: Self, b: Self) -> i64 {
        accumulator - i64::from(a) * i64::from(b)
    }
    #[inline(always)]
    fn wide_reduce(accumulator: i64) -> Self {
        debug_assert!(accumulator.abs() < i64::from(Q) << 31);
        let multiple = (accumulator as i32).wrapping_mul(Q_INVERSE);
        ((accumulator - i64::from(multiple) * i64::from(Q)) >> 32) as i32
    }
    #[inline(always)]
    fn from_triples((): (), from: &[u8]) -> Self {
        i32::from(from[0]) | i32::from(from[1]) << 8 | i32::from(from[2] & 127) << 16
    }
    #[inline(always)]
    fn from_bytes((): (), from: &[u8]) -> Self {
        i32::from(from[0])
    }
    #[inline(always)]
    fn from_halves((): (), from: &[u8], at: usize) -> Self {
        i32::from(from[at / 2] >> (4 * (at % 2)) & 15)
    }
    #[inline(always)]
    fn from_bits<const BITS: u32>((): (), from: &[u8], at: usize) -> Self {
        let bit = at * BITS as usize;
        let mut word = [0; 4];
        word.copy_from_slice(&from[bit / 8..bit / 8 + 4]);
        (u32::from_le_bytes(word) >> (bit % 8)) as i32 & ((1 << BITS) - 1)
    }
    #[inline(always)]
    fn store_kept(self, keep: Self, to: &mut [i32]) -> usize {
        to[0] = self;
        (keep & 1) as usize
    }
}

impl Transform for i32 {
    const BARRETT: bool = false;
    const MIXED: bool = false;

    #[inline(always)]
    fn times(self, [constant, companion]: [Self; 2], _: [Self; 2]) -> Self {
        let product = i64::from(self) * i64::from(constant);
        let multiple = i64::from(self.wrapping_mul(companion)) * i64::from(Q);
        ((product - multiple) >> 32) as i32
    }
    #[inline(always)]
    fn exchange<const HOP: usize>(a: Self, b: Self) -> (Self, Self) {
        (a, b)
    }
}
