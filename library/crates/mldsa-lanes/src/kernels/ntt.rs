//! The number-theoretic transform (FIPS 204, Algorithms 41 and 42), one text for every lane count.
//!
//! Blocks of R registers of C lanes hold the last layers: log2(R) between registers, then log2(C) between
//! lanes. Squares of C × C lanes are transposed for those, one bit of the places at a time, on x86-64 each
//! right behind the layer that needed it: so shuffles and multiplications are mixed. The first layers run in
//! one pass over memory: three for four lanes (R = 8), two for eight (R = 8), none for sixteen (R = 16).
//! One lane has no blocks but four passes of two layers.
//! Coefficients stay in FIPS 204's order.

use super::lanes::{Q_INVERSE, Transform};
use crate::params::{N, Q};

const fn power(base: i64, mut exponent: u32) -> i64 {
    let (mut result, mut square) = (1i64, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % Q as i64;
        }
        square = square * square % Q as i64;
        exponent >>= 1;
    }
    result
}

/// The representative of x in (-q/2, q/2].
const fn centered(x: i64) -> i32 {
    let x = x % Q as i64;
    (if x > Q as i64 / 2 { x - Q as i64 } else { x }) as i32
}

/// 2^32 mod q, the Montgomery factor.
const R: i64 = (1 << 32) % Q as i64;

/// A constant c and its companion, as `Transform::times` takes them.
const fn constant(c: i64, barrett: bool) -> [i32; 2] {
    if barrett {
        let c = centered(c);
        let sign = if c < 0 { -1 } else { 1 };
        let nearest = (((c as i64 * sign) << 32) / Q as i64 + 1) >> 1;
        [c, (nearest * sign) as i32]
    } else {
        let c = centered(c % Q as i64 * R);
        [c, c.wrapping_mul(Q_INVERSE)]
    }
}

/// ζ^BitRev8(k) with ζ = 1753.
const fn zetas(barrett: bool) -> [[i32; 2]; N] {
    let mut zetas = [[0; 2]; N];
    let mut k = 0;
    while k < N {
        let zeta = power(1753, (k as u8).reverse_bits() as u32);
        zetas[k] = constant(zeta, barrett);
        k += 1;
    }
    zetas
}

/// 2^32 / 256 mod q: undoes the 2^-32 of a pointwise product and divides by 256.
const SCALE: i64 = R * power(256, Q as u32 - 2) % Q as i64;
/// `SCALE` times ζ^BitRev8(1), the only twiddle of the last inverse layer.
const SCALED_ZETA: i64 = power(1753, 128) * SCALE % Q as i64;

/// A constant for each lane and its companion; then both one lane further, of which even lanes are read.
#[derive(Clone, Copy)]
struct Twiddle<V>([V; 2], [V; 2]);

impl<V: Transform> Twiddle<V> {
    /// A constant, as all tables of kernels are: the values of a `static` are known to the compiler in one
    /// codegen unit alone.
    const ZETAS: &'static [[i32; 2]; N] = &zetas(V::BARRETT);
    /// `SCALE` and `SCALED_ZETA`.
    const LAST: &'static [[i32; 2]; 2] = &[
        constant(SCALE, V::BARRETT),
        constant(SCALED_ZETA, V::BARRETT),
    ];

    #[inline(always)]
    fn splat<const LENGTH: usize>(
        token: V::Token,
        pairs: &'static [[i32; 2]; LENGTH],
        at: usize,
    ) -> Self {
        let (constant, companion) = V::splat_pair(token, pairs, at);
        Twiddle([constant, companion], [constant, companion])
    }
    #[inline(always)]
    fn layer(token: V::Token, k: usize) -> Self {
        Self::splat(token, Self::ZETAS, k)
    }
}

/// Constants and their companions.
#[repr(align(64))]
struct Constants {
    constant: [i32; LANE_TWIDDLES],
    companion: [i32; LANE_TWIDDLES],
}

/// At least as many as [`lane_twiddles`] has, 288 for 8 and for 16 lanes, and one above the last; whole lines of
/// a cache.
const LANE_TWIDDLES: usize = 304;

/// Entries of C twiddles between the registers of a square: one for each layer below C / 2 apart, none
/// unless steps and layers are mixed.
const fn entries_between_rows(count: usize, mixed: bool) -> usize {
    if mixed {
        count.trailing_zeros() as usize - 1
    } else {
        0
    }
}

/// All entries of a square: also C / (2·hop) for each layer between lanes `hop` apart.
const fn entries(count: usize, mixed: bool) -> usize {
    entries_between_rows(count, mixed) + count - 1
}

/// Twiddles that differ between lanes, for the layers inside squares of C × C coefficients. In FIPS 204's order a
/// coefficient has a row (its register) and a column (its lane); a step of the transposition exchanges one bit of the
/// two. In a layer between registers 2^k apart, the bits above k are exchanged. In a layer between lanes 2^k apart,
/// they are back in place. Without `mixed`, the whole transposition comes between the two kinds of layers; then all
/// lanes have one twiddle in a layer between registers, which needs no entry.
const fn lane_twiddles(count: usize, barrett: bool, mixed: bool, inverse: bool) -> Constants {
    let zetas = zetas(barrett);
    let mut table = Constants {
        constant: [0; LANE_TWIDDLES],
        companion: [0; LANE_TWIDDLES],
    };
    let squares = N / (count * count);
    let (of_rows, each) = (entries_between_rows(count, mixed), entries(count, mixed));
    let mut at = 0;
    while at < squares * each * count {
        let (square, entry, lane) = (at / count / each, at / count % each, at % count);
        // Groups of this layer in the whole polynomial, and before this one.
        let (all, before) = if entry < of_rows {
            let groups = 2 << entry;
            (squares * groups, square * groups + lane * groups / count)
        } else {
            let number = entry - of_rows + 1;
            let groups = 1 << number.ilog2();
            let (index, size) = (number - groups, count / groups);
            let (row, group) = if mixed {
                (index * size + lane % size, lane / size)
            } else {
                (lane, index)
            };
            let row = square * count + row;
            (N / count * groups, row * groups + group)
        };
        let k = if inverse {
            2 * all - 1 - before
        } else {
            all + before
        };
        [table.constant[at], table.companion[at]] = zetas[k];
        at += 1;
    }
    // A load one further ends in the table.
    assert!(at < LANE_TWIDDLES);
    table
}

#[inline(always)]
fn lane_twiddle<V: Transform>(
    token: V::Token,
    table: &Constants,
    square: usize,
    entry: usize,
) -> Twiddle<V> {
    let at = (square * entries(V::COUNT, V::MIXED) + entry) * V::COUNT;
    let load = |at| [&table.constant, &table.companion].map(|table| V::load(token, &table[at..]));
    Twiddle(load(at), load(at + 1))
}

/// Cooley-Tukey: |a|, |b| grow by less than q.
#[inline(always)]
fn butterfly<V: Transform>(a: V, b: V, z: Twiddle<V>) -> (V, V) {
    let t = b.times(z.0, z.1);
    (a.add(t), a.sub(t))
}

/// Gentleman-Sande with −ζ, the sign taken by the order of the difference: the sum doubles.
#[inline(always)]
fn inverse_butterfly<V: Transform>(a: V, b: V, z: Twiddle<V>) -> (V, V) {
    (a.add(b), b.sub(a).times(z.0, z.1))
}

/// The registers that layers of butterflies lie between: the first `ROWS`.
type Registers<V> = [V; 16];

/// Registers of which each begins `stride` coefficients behind the one before.
#[inline(always)]
fn load_rows<V: Transform, const ROWS: usize>(
    token: V::Token,
    memory: &[i32],
    stride: usize,
) -> Registers<V> {
    let mut v = [V::splat(token, 0); 16];
    for i in 0..ROWS {
        v[i] = V::load(token, &memory[i * stride..]);
    }
    v
}

#[inline(always)]
fn store_rows<V: Transform, const ROWS: usize>(
    v: &Registers<V>,
    memory: &mut [i32],
    stride: usize,
) {
    for i in 0..ROWS {
        v[i].store(&mut memory[i * stride..]);
    }
}

/// One layer between registers: calls `step` with `PAIR` = 0..8, written out so that every register
/// index is a constant.
macro_rules! each_pair {
    ($step:ident::<$v:ident, $rows:ident, $hop:ident>($($argument:expr),*)) => {
        $step::<$v, $rows, $hop, 0>($($argument),*);
        $step::<$v, $rows, $hop, 1>($($argument),*);
        $step::<$v, $rows, $hop, 2>($($argument),*);
        $step::<$v, $rows, $hop, 3>($($argument),*);
        $step::<$v, $rows, $hop, 4>($($argument),*);
        $step::<$v, $rows, $hop, 5>($($argument),*);
        $step::<$v, $rows, $hop, 6>($($argument),*);
        $step::<$v, $rows, $hop, 7>($($argument),*);
    };
}

/// Where pair `pair` of the layer `hop` registers apart begins, and its group; nothing where so many
/// registers have no such pair.
const fn pair(rows: usize, hop: usize, pair: usize) -> Option<(usize, usize)> {
    if hop <= rows / 2 && pair < rows / 2 {
        Some((pair / hop * 2 * hop + pair % hop, pair / hop))
    } else {
        None
    }
}

/// A butterfly between registers of one block out of `blocks`.
#[inline(always)]
fn rows_step<V: Transform, const ROWS: usize, const HOP: usize, const PAIR: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    blocks: usize,
    block: usize,
) {
    if let Some((at, group)) = const { pair(ROWS, HOP, PAIR) } {
        let z = Twiddle::layer(token, (blocks + block) * (ROWS / (2 * HOP)) + group);
        (v[at], v[at + HOP]) = butterfly(v[at], v[at + HOP], z);
    }
}

/// `rows_step`, inverse; the last layer of all also scales.
#[inline(always)]
fn inverse_rows_step<V: Transform, const ROWS: usize, const HOP: usize, const PAIR: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    blocks: usize,
    block: usize,
) {
    if let Some((at, group)) = const { pair(ROWS, HOP, PAIR) } {
        let groups = ROWS / (2 * HOP);
        let last = blocks * groups == 1;
        let z = if last {
            Twiddle::splat(token, Twiddle::<V>::LAST, 1)
        } else {
            Twiddle::layer(token, (2 * blocks - block) * groups - 1 - group)
        };
        (v[at], v[at + HOP]) = inverse_butterfly(v[at], v[at + HOP], z);
        if last {
            let scale = Twiddle::splat(token, Twiddle::<V>::LAST, 0);
            v[at] = v[at].times(scale.0, scale.1);
        }
    }
}

/// Where a pair of registers of a square begins, the square that it is in, and the entry of its twiddles
/// there, between registers and between lanes.
const fn pair_of_square<V: Transform, const ROWS: usize>(
    hop: usize,
    number: usize,
) -> Option<(usize, usize, [usize; 2])> {
    let groups = V::COUNT / (2 * hop);
    match pair(ROWS, hop, number) {
        Some((at, group)) if groups > 0 => {
            // One entry a layer, from C / 4 registers apart on.
            let layer = (groups.trailing_zeros() as usize).saturating_sub(1);
            let of_rows = entries_between_rows(V::COUNT, V::MIXED);
            let of_lanes = of_rows + groups - 1 + group % groups;
            Some((at, at / V::COUNT, [layer, of_lanes]))
        }
        _ => None,
    }
}

/// A layer in one block out of `blocks`. `of_lanes`: between coefficients that are lanes apart in FIPS 204's
/// order, else registers.
#[derive(Clone, Copy)]
struct Layer {
    table: &'static Constants,
    of_lanes: bool,
    blocks: usize,
    block: usize,
}

/// The pair of registers HOP apart of that number in a layer that has twiddles in `table`: where it begins, and
/// its twiddle.
#[inline(always)]
fn in_square<V: Transform, const ROWS: usize, const HOP: usize, const PAIR: usize>(
    token: V::Token,
    layer: Layer,
) -> Option<(usize, Twiddle<V>)> {
    let (at, of_block, entries) = const { pair_of_square::<V, ROWS>(HOP, PAIR) }?;
    let square = layer.block * (ROWS / V::COUNT) + of_block;
    let entry = entries[usize::from(layer.of_lanes)];
    Some((at, lane_twiddle(token, layer.table, square, entry)))
}

/// A butterfly of such a pair.
#[inline(always)]
fn square_step<V: Transform, const ROWS: usize, const HOP: usize, const PAIR: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    layer: Layer,
) {
    if let Some((at, z)) = in_square::<V, ROWS, HOP, PAIR>(token, layer) {
        (v[at], v[at + HOP]) = butterfly(v[at], v[at + HOP], z);
    }
}

/// `square_step`, inverse.
#[inline(always)]
fn inverse_square_step<V: Transform, const ROWS: usize, const HOP: usize, const PAIR: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    layer: Layer,
) {
    if let Some((at, z)) = in_square::<V, ROWS, HOP, PAIR>(token, layer) {
        (v[at], v[at + HOP]) = inverse_butterfly(v[at], v[at + HOP], z);
    }
}

/// A step of the transposition: the bit HOP of a coefficient's register and lane change places.
#[inline(always)]
fn exchange_step<V: Transform, const ROWS: usize, const HOP: usize, const PAIR: usize>(
    v: &mut Registers<V>,
) {
    if let Some((at, ..)) = const { pair_of_square::<V, ROWS>(HOP, PAIR) } {
        (v[at], v[at + HOP]) = V::exchange::<HOP>(v[at], v[at + HOP]);
    }
}

#[inline(always)]
fn between_rows<V: Transform, const ROWS: usize, const HOP: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    blocks: usize,
    block: usize,
) {
    each_pair!(rows_step::<V, ROWS, HOP>(token, v, blocks, block));
}

#[inline(always)]
fn in_squares<V: Transform, const ROWS: usize, const HOP: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    layer: Layer,
) {
    each_pair!(square_step::<V, ROWS, HOP>(token, v, layer));
}

#[inline(always)]
fn inverse_in_squares<V: Transform, const ROWS: usize, const HOP: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    layer: Layer,
) {
    each_pair!(inverse_square_step::<V, ROWS, HOP>(token, v, layer));
}

#[inline(always)]
fn inverse_between_rows<V: Transform, const ROWS: usize, const HOP: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    blocks: usize,
    block: usize,
) {
    each_pair!(inverse_rows_step::<V, ROWS, HOP>(token, v, blocks, block));
}

#[inline(always)]
fn exchange<V: Transform, const ROWS: usize, const HOP: usize>(v: &mut Registers<V>) {
    each_pair!(exchange_step::<V, ROWS, HOP>(v));
}

/// log2(ROWS) layers over memory, the last of them between coefficients `STRIDE` apart.
#[inline(always)]
fn pass<V: Transform, const ROWS: usize, const STRIDE: usize>(token: V::Token, p: &mut [i32; N]) {
    let blocks = N / (ROWS * STRIDE);
    for (block, memory) in p.chunks_exact_mut(ROWS * STRIDE).enumerate() {
        for column in 0..STRIDE / V::COUNT {
            let memory = &mut memory[column * V::COUNT..];
            let mut v = load_rows::<V, ROWS>(token, memory, STRIDE);
            between_rows::<V, ROWS, 4>(token, &mut v, blocks, block);
            between_rows::<V, ROWS, 2>(token, &mut v, blocks, block);
            between_rows::<V, ROWS, 1>(token, &mut v, blocks, block);
            store_rows::<V, ROWS>(&v, memory, STRIDE);
        }
    }
}

/// `pass`, inverse.
#[inline(always)]
fn inverse_pass<V: Transform, const ROWS: usize, const STRIDE: usize>(
    token: V::Token,
    p: &mut [i32; N],
) {
    let blocks = N / (ROWS * STRIDE);
    for (block, memory) in p.chunks_exact_mut(ROWS * STRIDE).enumerate() {
        for column in 0..STRIDE / V::COUNT {
            let memory = &mut memory[column * V::COUNT..];
            let mut v = load_rows::<V, ROWS>(token, memory, STRIDE);
            inverse_between_rows::<V, ROWS, 1>(token, &mut v, blocks, block);
            inverse_between_rows::<V, ROWS, 2>(token, &mut v, blocks, block);
            inverse_between_rows::<V, ROWS, 4>(token, &mut v, blocks, block);
            store_rows::<V, ROWS>(&v, memory, STRIDE);
        }
    }
}

/// All steps at once, where they are not mixed with the layers.
#[inline(always)]
fn transpose<V: Transform, const ROWS: usize>(v: &mut Registers<V>) {
    if !V::MIXED {
        exchange::<V, ROWS, 1>(v);
        exchange::<V, ROWS, 2>(v);
        exchange::<V, ROWS, 4>(v);
        exchange::<V, ROWS, 8>(v);
    }
}

/// Whether all lanes of a register have one twiddle in a layer between registers `hop` apart: no bit above
/// has changed places.
const fn is_uniform<V: Transform>(hop: usize) -> bool {
    !V::MIXED || 2 * hop >= V::COUNT
}

/// A layer between registers of a block, and behind it the step of the transposition for which it was the last
/// of its bit.
#[inline(always)]
fn layer_of_rows<V: Transform, const ROWS: usize, const HOP: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    layer: Layer,
) {
    // A constant: unoptimised builds have the values of both branches in the frame otherwise.
    if const { is_uniform::<V>(HOP) } {
        between_rows::<V, ROWS, HOP>(token, v, layer.blocks, layer.block);
    } else {
        in_squares::<V, ROWS, HOP>(token, v, layer);
    }
    if V::MIXED {
        exchange::<V, ROWS, HOP>(v);
    }
}

/// `layer_of_rows`, between lanes.
#[inline(always)]
fn layer_of_lanes<V: Transform, const ROWS: usize, const HOP: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    layer: Layer,
) {
    in_squares::<V, ROWS, HOP>(token, v, layer);
    if V::MIXED {
        exchange::<V, ROWS, HOP>(v);
    }
}

/// `layer_of_rows`, inverse.
#[inline(always)]
fn inverse_layer_of_rows<V: Transform, const ROWS: usize, const HOP: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    layer: Layer,
) {
    if V::MIXED {
        exchange::<V, ROWS, HOP>(v);
    }
    if const { is_uniform::<V>(HOP) } {
        inverse_between_rows::<V, ROWS, HOP>(token, v, layer.blocks, layer.block);
    } else {
        inverse_in_squares::<V, ROWS, HOP>(token, v, layer);
    }
}

/// `layer_of_lanes`, inverse.
#[inline(always)]
fn inverse_layer_of_lanes<V: Transform, const ROWS: usize, const HOP: usize>(
    token: V::Token,
    v: &mut Registers<V>,
    layer: Layer,
) {
    if V::MIXED {
        exchange::<V, ROWS, HOP>(v);
    }
    inverse_in_squares::<V, ROWS, HOP>(token, v, layer);
}

/// The layers of `forward` inside of blocks of `ROWS` registers.
#[inline(always)]
fn blocks<V: Transform, const ROWS: usize>(token: V::Token, p: &mut [i32; N]) {
    let table = const { &lane_twiddles(V::COUNT, V::BARRETT, V::MIXED, false) };
    let size = ROWS * V::COUNT;
    for (block, memory) in p.chunks_exact_mut(size).enumerate() {
        let mut v = load_rows::<V, ROWS>(token, memory, V::COUNT);
        let layer = Layer {
            table,
            of_lanes: false,
            blocks: N / size,
            block,
        };
        layer_of_rows::<V, ROWS, 8>(token, &mut v, layer);
        layer_of_rows::<V, ROWS, 4>(token, &mut v, layer);
        layer_of_rows::<V, ROWS, 2>(token, &mut v, layer);
        layer_of_rows::<V, ROWS, 1>(token, &mut v, layer);
        transpose::<V, ROWS>(&mut v);
        let layer = Layer {
            of_lanes: true,
            ..layer
        };
        layer_of_lanes::<V, ROWS, 8>(token, &mut v, layer);
        layer_of_lanes::<V, ROWS, 4>(token, &mut v, layer);
        layer_of_lanes::<V, ROWS, 2>(token, &mut v, layer);
        layer_of_lanes::<V, ROWS, 1>(token, &mut v, layer);
        transpose::<V, ROWS>(&mut v);
        store_rows::<V, ROWS>(&v, memory, V::COUNT);
    }
}

/// `blocks`, inverse.
#[inline(always)]
fn inverse_blocks<V: Transform, const ROWS: usize>(token: V::Token, p: &mut [i32; N]) {
    let table = const { &lane_twiddles(V::COUNT, V::BARRETT, V::MIXED, true) };
    let size = ROWS * V::COUNT;
    for (block, memory) in p.chunks_exact_mut(size).enumerate() {
        let mut v = load_rows::<V, ROWS>(token, memory, V::COUNT);
        let layer = Layer {
            table,
            of_lanes: true,
            blocks: N / size,
            block,
        };
        transpose::<V, ROWS>(&mut v);
        inverse_layer_of_lanes::<V, ROWS, 1>(token, &mut v, layer);
        inverse_layer_of_lanes::<V, ROWS, 2>(token, &mut v, layer);
        inverse_layer_of_lanes::<V, ROWS, 4>(token, &mut v, layer);
        inverse_layer_of_lanes::<V, ROWS, 8>(token, &mut v, layer);
        let layer = Layer {
            of_lanes: false,
            ..layer
        };
        transpose::<V, ROWS>(&mut v);
        inverse_layer_of_rows::<V, ROWS, 1>(token, &mut v, layer);
        inverse_layer_of_rows::<V, ROWS, 2>(token, &mut v, layer);
        inverse_layer_of_rows::<V, ROWS, 4>(token, &mut v, layer);
        inverse_layer_of_rows::<V, ROWS, 8>(token, &mut v, layer);
        store_rows::<V, ROWS>(&v, memory, V::COUNT);
    }
}

/// Algorithm 41. Input |x| < B; output |x| < B + 8q, for B ≤ 2q.
#[inline(always)]
pub(crate) fn forward<V: Transform>(token: V::Token, p: &mut [i32; N]) {
    match V::COUNT {
        16 => blocks::<V, 16>(token, p),
        8 => {
            pass::<V, 4, 64>(token, p);
            blocks::<V, 8>(token, p);
        }
        4 => {
            pass::<V, 8, 32>(token, p);
            blocks::<V, 8>(token, p);
        }
        _ => {
            pass::<V, 4, 64>(token, p);
            pass::<V, 4, 16>(token, p);
            pass::<V, 4, 4>(token, p);
            pass::<V, 4, 1>(token, p);
        }
    }
}

/// Algorithm 42, with the result times 2^32: the inverse of `forward` after one Montgomery
/// product. Input |x| < q. Each of eight layers at most doubles it, to below 256·q < 2^31. Output |x| < q.
#[inline(always)]
pub(crate) fn inverse<V: Transform>(token: V::Token, p: &mut [i32; N]) {
    match V::COUNT {
        16 => inverse_blocks::<V, 16>(token, p),
        8 => {
            inverse_blocks::<V, 8>(token, p);
            inverse_pass::<V, 4, 64>(token, p);
        }
        4 => {
            inverse_blocks::<V, 8>(token, p);
            inverse_pass::<V, 8, 32>(token, p);
        }
        _ => {
            inverse_pass::<V, 4, 1>(token, p);
            inverse_pass::<V, 4, 4>(token, p);
            inverse_pass::<V, 4, 16>(token, p);
            inverse_pass::<V, 4, 64>(token, p);
        }
    }
}
