//! The number-theoretic transform (FIPS 204, Algorithms 41 and 42), one text for every lane count.
//!
//! With C lanes, C² coefficients fill C registers. The layers whose butterflies are at least C²
//! apart run over memory two at a time; the rest run inside blocks of C registers: log2(C) layers
//! between registers, then, after a transposition that turns "C coefficients apart" into
//! "registers apart", log2(C) more. Coefficients stay in FIPS 204's order.

use super::lanes::{Lanes, Q_INVERSE};
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

/// A constant c and its companion, as `Lanes::times` takes them.
const fn constant(c: i64, barrett: bool) -> (i32, i32) {
    if barrett {
        let c = centered(c);
        let sign = if c < 0 { -1 } else { 1 };
        let nearest = (((c as i64 * sign) << 32) / Q as i64 + 1) >> 1;
        (c, (nearest * sign) as i32)
    } else {
        let c = centered(c % Q as i64 * R);
        (c, c.wrapping_mul(Q_INVERSE))
    }
}

/// Constants and their companions.
struct Constants {
    constant: [i32; N],
    companion: [i32; N],
}

/// ζ^BitRev8(k) with ζ = 1753.
const fn zetas(barrett: bool) -> Constants {
    let mut zetas = Constants {
        constant: [0; N],
        companion: [0; N],
    };
    let mut k = 0;
    while k < N {
        let zeta = power(1753, (k as u8).reverse_bits() as u32);
        (zetas.constant[k], zetas.companion[k]) = constant(zeta, barrett);
        k += 1;
    }
    zetas
}

/// 2^32 / 256 mod q: undoes the 2^-32 of a pointwise product and divides by 256.
const SCALE: i64 = R * power(256, Q as u32 - 2) % Q as i64;
/// `SCALE` times ζ^BitRev8(1), the only twiddle of the last inverse layer.
const SCALED_ZETA: i64 = power(1753, 128) * SCALE % Q as i64;

#[derive(Clone, Copy)]
struct Twiddle<V>(V, V);

impl<V: Lanes> Twiddle<V> {
    /// A constant, as all tables of kernels are: the values of a `static` are known to the compiler in one
    /// codegen unit alone.
    const ZETAS: &'static Constants = &zetas(V::BARRETT);
    const SCALE: (i32, i32) = constant(SCALE, V::BARRETT);
    const SCALED_ZETA: (i32, i32) = constant(SCALED_ZETA, V::BARRETT);

    #[inline(always)]
    fn splat(token: V::Token, (constant, companion): (i32, i32)) -> Self {
        Twiddle(V::splat(token, constant), V::splat(token, companion))
    }
    #[inline(always)]
    fn layer(token: V::Token, k: usize) -> Self {
        Self::splat(token, (Self::ZETAS.constant[k], Self::ZETAS.companion[k]))
    }
}

/// Twiddles of the layers behind the transposition. A block of C registers has C − 1 entries of C
/// twiddles: the layer `hop` registers apart begins at entry C / (2·hop) − 1 and has an entry for
/// each group; lane c belongs to chunk c of the block.
const fn lane_twiddles(count: usize, barrett: bool, inverse: bool) -> Constants {
    let zetas = zetas(barrett);
    let mut table = Constants {
        constant: [0; N],
        companion: [0; N],
    };
    let (mut at, mut block) = (0, 0);
    while block < N / (count * count) {
        let mut groups = 1;
        while groups < count {
            let mut entry = 0;
            while entry < groups * count {
                let (group, lane) = (entry / count, entry % count);
                // Groups of this layer before this one in the whole polynomial, and in it.
                let before = (block * count + lane) * groups + group;
                let all = N / count * groups;
                let k = if inverse {
                    2 * all - 1 - before
                } else {
                    all + before
                };
                table.constant[at] = zetas.constant[k];
                table.companion[at] = zetas.companion[k];
                at += 1;
                entry += 1;
            }
            groups *= 2;
        }
        block += 1;
    }
    table
}

#[inline(always)]
fn lane_twiddle<V: Lanes>(
    token: V::Token,
    table: &Constants,
    block: usize,
    entry: usize,
) -> Twiddle<V> {
    let at = (block * (V::COUNT - 1) + entry) * V::COUNT;
    Twiddle(
        V::load(token, &table.constant[at..]),
        V::load(token, &table.companion[at..]),
    )
}

/// Cooley-Tukey: |a|, |b| grow by less than q.
#[inline(always)]
fn butterfly<V: Lanes>(a: V, b: V, z: Twiddle<V>) -> (V, V) {
    let t = b.times(z.0, z.1);
    (a.add(t), a.sub(t))
}

/// Gentleman-Sande with −ζ, the sign taken by the order of the difference: the sum doubles.
#[inline(always)]
fn inverse_butterfly<V: Lanes>(a: V, b: V, z: Twiddle<V>) -> (V, V) {
    (a.add(b), b.sub(a).times(z.0, z.1))
}

/// The registers of one block; those past `COUNT` stay unused.
type Block<V> = [V; 16];

#[inline(always)]
fn load_block<V: Lanes>(token: V::Token, memory: &[i32]) -> Block<V> {
    let mut v = [V::splat(token, 0); 16];
    for i in 0..V::COUNT {
        v[i] = V::load(token, &memory[i * V::COUNT..]);
    }
    v
}

#[inline(always)]
fn store_block<V: Lanes>(v: &Block<V>, memory: &mut [i32]) {
    for i in 0..V::COUNT {
        v[i].store(&mut memory[i * V::COUNT..]);
    }
}

/// One layer of a block: calls `step` with `PAIR` = 0..COUNT/2, written out so that every register
/// index is a constant.
macro_rules! each_pair {
    ($step:ident::<$v:ident, $hop:ident>($($argument:expr),*)) => {
        $step::<$v, $hop, 0>($($argument),*);
        $step::<$v, $hop, 1>($($argument),*);
        $step::<$v, $hop, 2>($($argument),*);
        $step::<$v, $hop, 3>($($argument),*);
        $step::<$v, $hop, 4>($($argument),*);
        $step::<$v, $hop, 5>($($argument),*);
        $step::<$v, $hop, 6>($($argument),*);
        $step::<$v, $hop, 7>($($argument),*);
    };
}

/// Where pair `PAIR` of the layer `HOP` registers apart begins, and its group; nothing where the
/// block is too small to have it.
const fn pair<V: Lanes, const HOP: usize, const PAIR: usize>() -> Option<(usize, usize)> {
    if HOP <= V::COUNT / 2 && PAIR < V::COUNT / 2 {
        Some((PAIR / HOP * 2 * HOP + PAIR % HOP, PAIR / HOP))
    } else {
        None
    }
}

/// A butterfly between registers; `block` counts from N/C², so that twiddle indices follow.
#[inline(always)]
fn registers_step<V: Lanes, const HOP: usize, const PAIR: usize>(
    token: V::Token,
    v: &mut Block<V>,
    block: usize,
) {
    if let Some((at, group)) = const { pair::<V, HOP, PAIR>() } {
        let z = Twiddle::layer(token, block * (V::COUNT / (2 * HOP)) + group);
        (v[at], v[at + HOP]) = butterfly(v[at], v[at + HOP], z);
    }
}

/// A butterfly of a transposed block.
#[inline(always)]
fn lanes_step<V: Lanes, const HOP: usize, const PAIR: usize>(
    token: V::Token,
    v: &mut Block<V>,
    table: &Constants,
    block: usize,
) {
    if let Some((at, group)) = const { pair::<V, HOP, PAIR>() } {
        let z = lane_twiddle(token, table, block, V::COUNT / (2 * HOP) - 1 + group);
        (v[at], v[at + HOP]) = butterfly(v[at], v[at + HOP], z);
    }
}

/// `lanes_step`, inverse.
#[inline(always)]
fn inverse_lanes_step<V: Lanes, const HOP: usize, const PAIR: usize>(
    token: V::Token,
    v: &mut Block<V>,
    table: &Constants,
    block: usize,
) {
    if let Some((at, group)) = const { pair::<V, HOP, PAIR>() } {
        let z = lane_twiddle(token, table, block, V::COUNT / (2 * HOP) - 1 + group);
        (v[at], v[at + HOP]) = inverse_butterfly(v[at], v[at + HOP], z);
    }
}

/// `registers_step`, inverse; the last layer of all also scales.
#[inline(always)]
fn inverse_registers_step<V: Lanes, const HOP: usize, const PAIR: usize>(
    token: V::Token,
    v: &mut Block<V>,
    block: usize,
) {
    if let Some((at, group)) = const { pair::<V, HOP, PAIR>() } {
        let groups = V::COUNT / (2 * HOP);
        let last = groups == 1 && V::COUNT * V::COUNT == N;
        let z = if last {
            Twiddle::splat(token, Twiddle::<V>::SCALED_ZETA)
        } else {
            let k = 2 * N / (V::COUNT * V::COUNT) * groups - 1 - (block * groups + group);
            Twiddle::layer(token, k)
        };
        (v[at], v[at + HOP]) = inverse_butterfly(v[at], v[at + HOP], z);
        if last {
            let scale = Twiddle::splat(token, Twiddle::<V>::SCALE);
            v[at] = v[at].times(scale.0, scale.1);
        }
    }
}

/// The layer functions over all pairs.
macro_rules! layers {
    ($($name:ident = $step:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[inline(always)]
        fn $name<V: Lanes, const HOP: usize>(token: V::Token, v: &mut Block<V>, $($argument: $type),*) {
            each_pair!($step::<V, HOP>(token, v, $($argument),*));
        }
    )*};
}
layers! {
    between_registers = registers_step(block: usize);
    between_lanes = lanes_step(table: &Constants, block: usize);
    inverse_between_lanes = inverse_lanes_step(table: &Constants, block: usize);
    inverse_between_registers = inverse_registers_step(block: usize);
}

/// Algorithm 41. Input |x| < B; output |x| < B + 8q, for B ≤ 2q.
#[inline(always)]
pub(crate) fn forward<V: Lanes>(token: V::Token, p: &mut [i32; N]) {
    let square = V::COUNT * V::COUNT;
    let mut len = N / 2;
    while len / 2 >= square {
        let half = len / 2;
        for group in 0..128 / len {
            let k = 128 / len + group;
            let z1 = Twiddle::layer(token, k);
            let z2 = Twiddle::layer(token, 2 * k);
            let z3 = Twiddle::layer(token, 2 * k + 1);
            let chunk = &mut p[group * 2 * len..(group + 1) * 2 * len];
            let (front, back) = chunk.split_at_mut(len);
            let (a_half, b_half) = front.split_at_mut(half);
            let (c_half, d_half) = back.split_at_mut(half);
            let quarters = a_half
                .chunks_exact_mut(V::COUNT)
                .zip(b_half.chunks_exact_mut(V::COUNT))
                .zip(c_half.chunks_exact_mut(V::COUNT))
                .zip(d_half.chunks_exact_mut(V::COUNT));
            for (((pa, pb), pc), pd) in quarters {
                let (a, b) = (V::load(token, pa), V::load(token, pb));
                let (c, d) = (V::load(token, pc), V::load(token, pd));
                let (a, c) = butterfly(a, c, z1);
                let (b, d) = butterfly(b, d, z1);
                let (a, b) = butterfly(a, b, z2);
                let (c, d) = butterfly(c, d, z3);
                a.store(pa);
                b.store(pb);
                c.store(pc);
                d.store(pd);
            }
        }
        len /= 4;
    }
    if V::COUNT == 1 {
        return;
    }
    let table = const { &lane_twiddles(V::COUNT, V::BARRETT, false) };
    for (block, memory) in p.chunks_exact_mut(square).enumerate() {
        let mut v = load_block::<V>(token, memory);
        between_registers::<V, 8>(token, &mut v, N / square + block);
        between_registers::<V, 4>(token, &mut v, N / square + block);
        between_registers::<V, 2>(token, &mut v, N / square + block);
        between_registers::<V, 1>(token, &mut v, N / square + block);
        V::transpose(&mut v);
        between_lanes::<V, 8>(token, &mut v, table, block);
        between_lanes::<V, 4>(token, &mut v, table, block);
        between_lanes::<V, 2>(token, &mut v, table, block);
        between_lanes::<V, 1>(token, &mut v, table, block);
        V::transpose(&mut v);
        store_block(&v, memory);
    }
}

/// Algorithm 42, with the result times 2^32: the inverse of `forward` after one Montgomery
/// product. Input |x| < q, so that 256 doublings stay below 2^31; output |x| < q.
#[inline(always)]
pub(crate) fn inverse<V: Lanes>(token: V::Token, p: &mut [i32; N]) {
    let square = V::COUNT * V::COUNT;
    if V::COUNT > 1 {
        let table = const { &lane_twiddles(V::COUNT, V::BARRETT, true) };
        for (block, memory) in p.chunks_exact_mut(square).enumerate() {
            let mut v = load_block::<V>(token, memory);
            V::transpose(&mut v);
            inverse_between_lanes::<V, 1>(token, &mut v, table, block);
            inverse_between_lanes::<V, 2>(token, &mut v, table, block);
            inverse_between_lanes::<V, 4>(token, &mut v, table, block);
            inverse_between_lanes::<V, 8>(token, &mut v, table, block);
            V::transpose(&mut v);
            inverse_between_registers::<V, 1>(token, &mut v, block);
            inverse_between_registers::<V, 2>(token, &mut v, block);
            inverse_between_registers::<V, 4>(token, &mut v, block);
            inverse_between_registers::<V, 8>(token, &mut v, block);
            store_block(&v, memory);
        }
    }
    let mut half = square;
    while half < N / 4 {
        inverse_layers::<V, false>(token, p, half);
        half *= 4;
    }
    if half == N / 4 {
        inverse_layers::<V, true>(token, p, half);
    }
}

/// Two layers, `half` and `2 * half` apart; the last two of all also scale.
#[inline(always)]
fn inverse_layers<V: Lanes, const LAST: bool>(token: V::Token, p: &mut [i32; N], half: usize) {
    let len = 2 * half;
    let scale = Twiddle::splat(token, Twiddle::<V>::SCALE);
    for group in 0..128 / len {
        let k = 256 / len - 1 - group;
        let z1 = if LAST {
            Twiddle::splat(token, Twiddle::<V>::SCALED_ZETA)
        } else {
            Twiddle::layer(token, k)
        };
        let z2 = Twiddle::layer(token, 2 * k + 1);
        let z3 = Twiddle::layer(token, 2 * k);
        let chunk = &mut p[group * 2 * len..(group + 1) * 2 * len];
        let (front, back) = chunk.split_at_mut(len);
        let (a_half, b_half) = front.split_at_mut(half);
        let (c_half, d_half) = back.split_at_mut(half);
        let quarters = a_half
            .chunks_exact_mut(V::COUNT)
            .zip(b_half.chunks_exact_mut(V::COUNT))
            .zip(c_half.chunks_exact_mut(V::COUNT))
            .zip(d_half.chunks_exact_mut(V::COUNT));
        for (((pa, pb), pc), pd) in quarters {
            let (a, b) = (V::load(token, pa), V::load(token, pb));
            let (c, d) = (V::load(token, pc), V::load(token, pd));
            let (a, b) = inverse_butterfly(a, b, z2);
            let (c, d) = inverse_butterfly(c, d, z3);
            let (a, c) = inverse_butterfly(a, c, z1);
            let (b, d) = inverse_butterfly(b, d, z1);
            let (a, b) = if LAST {
                (a.times(scale.0, scale.1), b.times(scale.0, scale.1))
            } else {
                (a, b)
            };
            a.store(pa);
            b.store(pb);
            c.store(pc);
            d.store(pd);
        }
    }
}
