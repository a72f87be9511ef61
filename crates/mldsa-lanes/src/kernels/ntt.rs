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

/// ζ^BitRev8(k) · 2^32 mod q with ζ = 1753, centered.
const ZETAS: [i32; N] = {
    let mut zetas = [0; N];
    let mut k = 0;
    while k < N {
        zetas[k] = centered(power(1753, (k as u8).reverse_bits() as u32) * R);
        k += 1;
    }
    zetas
};

/// 2^64 / 256 mod q: undoes the 2^-32 of a pointwise product and divides by 256.
const SCALE: i32 = centered(R * R % Q as i64 * power(256, Q as u32 - 2));
/// `SCALE` times ζ^BitRev8(1), the only twiddle of the last inverse layer.
const SCALED_ZETA: i32 = centered(power(1753, 128) * (SCALE as i64 + Q as i64));

#[derive(Clone, Copy)]
struct Twiddle<V>(V, V);

impl<V: Lanes> Twiddle<V> {
    #[inline(always)]
    fn splat(token: V::Token, zeta: i32) -> Self {
        Twiddle(
            V::splat(token, zeta),
            V::splat(token, zeta.wrapping_mul(Q_INVERSE)),
        )
    }
    #[inline(always)]
    fn layer(token: V::Token, k: usize) -> Self {
        Self::splat(token, ZETAS[k])
    }
}

/// Twiddles of the layers behind the transposition, in the order in which they are used:
/// block, layer, group; each entry has one twiddle per lane.
struct LaneTwiddles {
    zeta: [i32; N],
    zeta_q_inverse: [i32; N],
}

impl LaneTwiddles {
    /// Order of the forward transform; lane c of a block's registers holds chunk c of the block.
    const fn forward(count: usize) -> Self {
        let mut table = LaneTwiddles {
            zeta: [0; N],
            zeta_q_inverse: [0; N],
        };
        let (mut at, mut block) = (0, 0);
        while block < N / (count * count) {
            let mut len = count / 2;
            while len >= 1 {
                let mut group = 0;
                while group < count / (2 * len) {
                    let mut lane = 0;
                    while lane < count {
                        let chunk = block * count + lane;
                        let k = 128 / len + chunk * (count / (2 * len)) + group;
                        table.zeta[at] = ZETAS[k];
                        table.zeta_q_inverse[at] = ZETAS[k].wrapping_mul(Q_INVERSE);
                        at += 1;
                        lane += 1;
                    }
                    group += 1;
                }
                len /= 2;
            }
            block += 1;
        }
        table
    }

    /// Order of the inverse transform.
    const fn inverse(count: usize) -> Self {
        let mut table = LaneTwiddles {
            zeta: [0; N],
            zeta_q_inverse: [0; N],
        };
        let (mut at, mut block) = (0, 0);
        while block < N / (count * count) {
            let mut len = 1;
            while len < count {
                let mut group = 0;
                while group < count / (2 * len) {
                    let mut lane = 0;
                    while lane < count {
                        let chunk = block * count + lane;
                        let k = 256 / len - 1 - (chunk * (count / (2 * len)) + group);
                        table.zeta[at] = ZETAS[k];
                        table.zeta_q_inverse[at] = ZETAS[k].wrapping_mul(Q_INVERSE);
                        at += 1;
                        lane += 1;
                    }
                    group += 1;
                }
                len *= 2;
            }
            block += 1;
        }
        table
    }

    #[inline(always)]
    fn next<V: Lanes>(&self, token: V::Token, at: &mut usize) -> Twiddle<V> {
        let twiddle = Twiddle(
            V::load(token, &self.zeta[*at..]),
            V::load(token, &self.zeta_q_inverse[*at..]),
        );
        *at += V::COUNT;
        twiddle
    }
}

/// Cooley-Tukey: |a|, |b| grow by less than q.
#[inline(always)]
fn butterfly<V: Lanes>(a: V, b: V, z: Twiddle<V>) -> (V, V) {
    let t = b.montgomery_by(z.0, z.1);
    (a.add(t), a.sub(t))
}

/// Gentleman-Sande with −ζ, the sign taken by the order of the difference: the sum doubles.
#[inline(always)]
fn inverse_butterfly<V: Lanes>(a: V, b: V, z: Twiddle<V>) -> (V, V) {
    (a.add(b), b.sub(a).montgomery_by(z.0, z.1))
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
    let table = const { &LaneTwiddles::forward(V::COUNT) };
    let mut at = 0;
    for (block, memory) in p.chunks_exact_mut(square).enumerate() {
        let mut v = [V::splat(token, 0); 16];
        for (register, chunk) in v.iter_mut().zip(memory.chunks_exact(V::COUNT)) {
            *register = V::load(token, chunk);
        }
        let mut hop = V::COUNT / 2;
        while hop >= 1 {
            let groups = V::COUNT / (2 * hop);
            for group in 0..groups {
                let z = Twiddle::layer(token, (N / square + block) * groups + group);
                for i in group * 2 * hop..group * 2 * hop + hop {
                    (v[i], v[i + hop]) = butterfly(v[i], v[i + hop], z);
                }
            }
            hop /= 2;
        }
        V::transpose(&mut v);
        let mut hop = V::COUNT / 2;
        while hop >= 1 {
            for group in 0..V::COUNT / (2 * hop) {
                let z = table.next(token, &mut at);
                for i in group * 2 * hop..group * 2 * hop + hop {
                    (v[i], v[i + hop]) = butterfly(v[i], v[i + hop], z);
                }
            }
            hop /= 2;
        }
        V::transpose(&mut v);
        for (register, chunk) in v.iter().zip(memory.chunks_exact_mut(V::COUNT)) {
            register.store(chunk);
        }
    }
}

/// Algorithm 42, with the result times 2^32: the inverse of `forward` after one Montgomery
/// product. Input |x| < q, so that 256 doublings stay below 2^31; output |x| < q.
#[inline(always)]
pub(crate) fn inverse<V: Lanes>(token: V::Token, p: &mut [i32; N]) {
    debug_assert!(p.iter().all(|x| x.abs() < Q));
    let square = V::COUNT * V::COUNT;
    if V::COUNT > 1 {
        let table = const { &LaneTwiddles::inverse(V::COUNT) };
        let mut at = 0;
        for (block, memory) in p.chunks_exact_mut(square).enumerate() {
            let mut v = [V::splat(token, 0); 16];
            for (register, chunk) in v.iter_mut().zip(memory.chunks_exact(V::COUNT)) {
                *register = V::load(token, chunk);
            }
            V::transpose(&mut v);
            let mut hop = 1;
            while hop < V::COUNT {
                for group in 0..V::COUNT / (2 * hop) {
                    let z = table.next(token, &mut at);
                    for i in group * 2 * hop..group * 2 * hop + hop {
                        (v[i], v[i + hop]) = inverse_butterfly(v[i], v[i + hop], z);
                    }
                }
                hop *= 2;
            }
            V::transpose(&mut v);
            let mut hop = 1;
            while hop < V::COUNT {
                let groups = V::COUNT / (2 * hop);
                let last = square == N && groups == 1;
                for group in 0..groups {
                    let k = 2 * (N / square) * groups - 1 - (block * groups + group);
                    let z = if last {
                        Twiddle::splat(token, SCALED_ZETA)
                    } else {
                        Twiddle::layer(token, k)
                    };
                    for i in group * 2 * hop..group * 2 * hop + hop {
                        (v[i], v[i + hop]) = inverse_butterfly(v[i], v[i + hop], z);
                        if last {
                            let scale = Twiddle::splat(token, SCALE);
                            v[i] = v[i].montgomery_by(scale.0, scale.1);
                        }
                    }
                }
                hop *= 2;
            }
            for (register, chunk) in v.iter().zip(memory.chunks_exact_mut(V::COUNT)) {
                register.store(chunk);
            }
        }
    }
    // Two layers at a time: `half` apart, then `2 * half`.
    let mut half = square;
    while half < N / 2 {
        let len = 2 * half;
        let last = len == N / 2;
        let scale = Twiddle::<V>::splat(token, SCALE);
        for group in 0..128 / len {
            let k = 256 / len - 1 - group;
            let z1 = if last {
                Twiddle::splat(token, SCALED_ZETA)
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
                let (a, b) = if last {
                    (
                        a.montgomery_by(scale.0, scale.1),
                        b.montgomery_by(scale.0, scale.1),
                    )
                } else {
                    (a, b)
                };
                a.store(pa);
                b.store(pb);
                c.store(pc);
                d.store(pd);
            }
        }
        half *= 4;
    }
}
