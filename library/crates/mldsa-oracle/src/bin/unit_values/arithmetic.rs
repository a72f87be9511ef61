//! Transforms, products and rounding.
use std::io::{self, Write};

use mldsa_oracle::{
    D, ML_DSA_44, ML_DSA_65, N, PARAMETER_SETS, Poly, Q, add_ntt, decompose, infinity_norm,
    inverse_ntt, multiply_ntt, ntt, power2_round, use_hint,
};

use crate::{Groups, Random, command, nibbles, words};

/// Polynomials with the largest and smallest coefficients, single ones, and random ones.
fn polynomials(random: &mut Random) -> Vec<Poly> {
    let mut all: Vec<Poly> = [0, 1, Q - 1, Q / 2, Q / 2 + 1]
        .iter()
        .map(|&c| vec![c; N])
        .collect();
    for i in 0..N {
        let mut one = vec![0; N];
        one[i] = Q - 1;
        all.push(one);
    }
    all.extend((0..300).map(|_| random.poly()));
    all
}

/// Transforms both ways, several in a group so that they follow each other closely.
pub fn ntt_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(1);
    let polys = polynomials(&mut random);
    for (n, several) in polys.chunks(7).enumerate() {
        let (mut input, mut output) = (vec![], vec![]);
        for poly in several {
            let inverse = (random.next() >> 32) % 2;
            let tag = n as u64 % 32;
            input.push([tag << 8 | inverse, 0, 0, 0]);
            input.extend(words(poly));
            let result = if inverse == 1 {
                inverse_ntt(poly)
            } else {
                ntt(poly)
            };
            let mut result = words(&result);
            for beat in &mut result {
                beat[0] |= tag << 32;
            }
            result[63][0] |= 1 << 37;
            output.extend(result);
        }
        out.group(&input, &output)?;
    }
    Ok(())
}

/// Sums of one to eight products, some of them subtracted, with a few words that are all at the edge.
pub fn mac_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(2);
    for n in 0..300 {
        let (mut input, mut sum) = (vec![], vec![0; N]);
        let terms = 1 + n % 8;
        for term in 0..terms {
            let (mut a, mut b) = (random.poly(), random.poly());
            for i in 0..8 * (n % 5) {
                a[i] = [0, 1, Q - 1][random.below(3) as usize];
                b[i] = [0, 1, Q - 1][random.below(3) as usize];
            }
            let negate = random.next() >> 63;
            let mut product = multiply_ntt(&a, &b);
            if negate == 1 {
                product = product.iter().map(|x| -x).collect();
            }
            sum = add_ntt(&sum, &product);
            for (index, (a, b)) in a.chunks(4).zip(b.chunks(4)).enumerate() {
                let mut beat = [0, 1, 2, 3].map(|i| (a[i] | b[i] << 23) as u64);
                beat[0] |= (index as u64) << 46;
                beat[0] |= u64::from(term == 0) << 52 | u64::from(term == terms - 1) << 53;
                beat[0] |= negate << 54;
                input.push(beat);
            }
        }
        out.group(&input, &words(&sum))?;
    }
    Ok(())
}

/// The rows of an attempt, of a verification, and of c*t0, in the transform domain.
pub fn rows_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    const TO_ROW: u64 = 2;
    const TO_HINT: u64 = 3;
    let mut random = Random(13);
    for n in 0..9 {
        let p = PARAMETER_SETS[n % 3];
        let (verify, hints) = (n / 3 == 1, n / 3 == 2);
        let matrix: Vec<Poly> = (0..p.k * p.l).map(|_| random.poly()).collect();
        let mut y: Vec<Poly> = (0..8).map(|_| random.poly()).collect();
        let t: Vec<Poly> = (0..8).map(|_| random.poly()).collect();
        y[7][..8].copy_from_slice(&[0, 1, Q - 1, 0, 1, Q - 1, 0, Q - 1]);
        let mut input = vec![];
        for (memory, polys) in [&matrix, &y, &t].into_iter().enumerate() {
            for (at, mut beat) in polys.iter().flat_map(|poly| words(poly)).enumerate() {
                beat[0] |= (at as u64) << 32 | (memory as u64) << 44;
                input.push(beat);
            }
        }
        let flags = u64::from(verify) << 2 | u64::from(hints) << 3;
        input.push(command((n as u64 % 3) | flags));
        let mut output = vec![];
        for (row, of_row) in matrix.chunks(p.l).enumerate() {
            let by_t = multiply_ntt(&y[7], &t[row]);
            let mut sum = vec![0; N];
            for (a, y) in of_row.iter().zip(&y) {
                sum = add_ntt(&sum, &multiply_ntt(a, y));
            }
            if verify {
                let negative: Poly = by_t.iter().map(|x| -x).collect();
                sum = add_ntt(&sum, &negative);
            }
            let to = if hints { TO_HINT } else { TO_ROW };
            let mut result = words(if hints { &by_t } else { &sum });
            for beat in &mut result {
                beat[0] |= (to << 3 | row as u64) << 32;
            }
            output.extend(result);
        }
        out.group(&input, &output)?;
    }
    Ok(())
}

/// Section 7.4 for every residue and both gamma2, with hints that alternate, and norms against the
/// scheme's own bounds.
pub fn round_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    for p in [&ML_DSA_44, &ML_DSA_65] {
        let wide = u64::from(p.gamma2 == ML_DSA_65.gamma2);
        let bounds = [p.gamma1 - p.beta, p.gamma2 - p.beta, p.gamma2];
        for start in (0..Q).step_by(4096) {
            let (mut input, mut output) = (vec![], vec![]);
            for first in (start..Q.min(start + 4096)).step_by(4) {
                let (mut operands, mut results) = ([0; 4], [0; 4]);
                for lane in 0..4 {
                    let r = (first + lane as i64) % Q;
                    let h = (r / 3) % 2;
                    let bound = bounds[r as usize % 3];
                    let (r1, r0) = decompose(p, r);
                    let (t1, t0) = power2_round(r);
                    let exceeds = i64::from(infinity_norm(&[r]) >= bound);
                    operands[lane] = (r | h << 33 | bound << 34) as u64;
                    results[lane] = (r0.rem_euclid(Q)
                        | r1 << 23
                        | use_hint(p, h == 1, r) << 29
                        | ((1 << (D - 1)) - t0) << 35
                        | t1 << 48
                        | exceeds << 58) as u64;
                }
                operands[0] |= wide << 32;
                input.push(operands);
                output.push(results);
            }
            out.group(&input, &output)?;
        }
    }
    Ok(())
}

/// c*s of every set: short polynomials at random and at the edge, challenges with tau ones at random
/// and side by side; then the short polynomials read back.
pub fn sparse_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(5);
    for n in 0..30 {
        let p = PARAMETER_SETS[n % 3];
        let (mut input, mut output) = (vec![], vec![]);
        let mut beat = |value: u64| input.push([value, 0, 0, 0]);
        let polys: Vec<Poly> = (0..p.k + p.l)
            .map(|i| match (n + i) % 4 {
                0 => vec![p.eta; N],
                1 => (0..N).map(|_| p.eta * (2 * random.below(2) - 1)).collect(),
                _ => (0..N)
                    .map(|_| random.below(2 * p.eta + 1) - p.eta)
                    .collect(),
            })
            .collect();
        for (number, poly) in polys.iter().enumerate() {
            for (index, four) in poly.chunks(4).enumerate() {
                beat(nibbles(four) | (index as u64) << 16 | (number as u64) << 22);
            }
        }
        for _ in 0..2 {
            let mut c: Poly = vec![0; N];
            let together = random.below(2) == 1;
            let start = random.below(256);
            for entry in 0..p.tau as u64 {
                let place = loop {
                    let place = if together {
                        start + entry as i64
                    } else {
                        random.below(256)
                    };
                    if c[place as usize % N] == 0 {
                        break place as usize % N;
                    }
                };
                c[place] = 1 - 2 * random.below(2);
                let negative = u64::from(c[place] < 0);
                beat(1 << 62 | place as u64 | negative << 8 | entry << 9);
            }
            for (number, poly) in polys.iter().enumerate() {
                beat(2 << 62 | number as u64 | (p.tau as u64) << 4);
                let product = inverse_ntt(&multiply_ntt(&ntt(&c), &ntt(poly)));
                for (index, mut word) in words(&product).into_iter().enumerate() {
                    word[0] |= (index as u64) << 32;
                    output.push(word);
                }
            }
        }
        for _ in 0..50 {
            let (number, index) = (
                random.next() as usize % polys.len(),
                random.below(64) as usize,
            );
            beat(3 << 62 | index as u64 | (number as u64) << 6);
            output.push([nibbles(&polys[number][4 * index..]), 0, 0, 0]);
        }
        out.group(&input, &output)?;
    }
    Ok(())
}
