//! Inputs and expected outputs of the arithmetic units of the hardware core, for their benches
//! (`rtl/tests/unit`): `unit_values UNIT` writes groups of beats to standard output, in the form that
//! `bench.cpp` there reads. Every unit's domain is covered whole where that is cheap, else at its
//! edges and at random.
use std::io::{self, BufWriter, Write};

use mldsa_oracle::{
    D, ML_DSA_44, ML_DSA_65, N, PARAMETER_SETS, Params, Poly, Q, add_ntt, decompose, hint_bit_pack,
    hint_bit_unpack, infinity_norm, inverse_ntt, multiply_ntt, ntt, power2_round, simple_bit_pack,
    use_hint,
};

/// A beat: four 64-bit lanes.
type Beat = [u64; 4];

/// splitmix64 from a fixed seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: i64) -> i64 {
        (self.next() % bound as u64) as i64
    }

    fn poly(&mut self) -> Poly {
        (0..N).map(|_| self.below(Q)).collect()
    }
}

/// The beats of a polynomial: 64 words of four coefficients.
fn words(poly: &[i64]) -> Vec<Beat> {
    poly.chunks(4)
        .map(|c| [0, 1, 2, 3].map(|i| c[i] as u64))
        .collect()
}

struct Groups<W: Write>(W);

impl<W: Write> Groups<W> {
    fn group(&mut self, input: &[Beat], output: &[Beat]) -> io::Result<()> {
        self.0.write_all(&(input.len() as u32).to_le_bytes())?;
        self.0.write_all(&(output.len() as u32).to_le_bytes())?;
        for lane in input.iter().chain(output).flatten() {
            self.0.write_all(&lane.to_le_bytes())?;
        }
        Ok(())
    }
}

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
fn ntt_values(out: &mut Groups<impl Write>) -> io::Result<()> {
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
fn mac_values(out: &mut Groups<impl Write>) -> io::Result<()> {
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

/// A beat that is not data but a command to the bench, with its argument.
fn command(argument: u64) -> Beat {
    [argument, 0, 0, 1 << 63]
}

/// The 64-bit words of a string of bytes, zeros filled up, each in a beat.
fn byte_words(bytes: &[u8]) -> Vec<Beat> {
    let word = |chunk: &[u8]| {
        let mut full = [0; 8];
        full[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(full)
    };
    bytes.chunks(8).map(|c| [word(c), 0, 0, 0]).collect()
}

/// Three polynomials of each width, and their bytes.
fn packings(widths: &[usize]) -> Vec<(usize, Vec<Beat>, Vec<Beat>)> {
    let mut random = Random(3);
    let mut all = vec![];
    for &width in widths.iter().cycle().take(20 * widths.len()) {
        let (mut fields, mut bytes) = (vec![], vec![]);
        for _ in 0..3 {
            let poly: Poly = (0..N).map(|_| random.below(1 << width)).collect();
            fields.extend(words(&poly));
            bytes.extend(simple_bit_pack(&poly, (1 << width) - 1));
        }
        all.push((width, fields, byte_words(&bytes)));
    }
    all
}

fn unpack_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    for (width, fields, mut input) in packings(&[3, 4, 10, 13, 18, 20]) {
        input.insert(0, command(width as u64));
        out.group(&input, &fields)?;
    }
    Ok(())
}

/// Fields come with other bits above, which the packer ignores.
fn pack_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(4);
    for (width, fields, output) in packings(&[3, 4, 6, 10, 13, 18, 20]) {
        let mut input = vec![command(width as u64)];
        for beat in fields {
            let above = |field| field | random.next() << width & ((1 << 20) - 1);
            input.push(beat.map(above));
        }
        out.group(&input, &output)?;
    }
    Ok(())
}

/// Section 7.4 for every residue and both gamma2, with hints that alternate, and norms against the
/// scheme's own bounds.
fn round_values(out: &mut Groups<impl Write>) -> io::Result<()> {
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
fn sparse_values(out: &mut Groups<impl Write>) -> io::Result<()> {
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
        let nibbles =
            |four: &[i64]| (0..4).fold(0, |data, i| data | ((four[i] & 15) as u64) << (4 * i));
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

/// Hints with `count` ones, at random or next to each other.
fn hints(p: &Params, count: i64, random: &mut Random) -> Vec<Poly> {
    let mut h = vec![vec![0; N]; p.k];
    let together = random.below(2) == 1;
    let mut place = random.below((p.k * N) as i64) as usize;
    for _ in 0..count {
        while h[place / N][place % N] == 1 {
            place = (place + 1) % (p.k * N);
        }
        h[place / N][place % N] = 1;
        if !together {
            place = random.below((p.k * N) as i64) as usize;
        }
    }
    h
}

/// Correct encodings of few, many and omega ones, each also altered in the ways that Algorithm 21
/// refuses and at random; the oracle says which alterations are malformed.
fn hint_decode_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(6);
    for n in 0..1500 {
        let set = n % 3;
        let p = PARAMETER_SETS[set];
        let omega = p.omega as i64;
        let count = [0, 1, omega, omega - 1, random.below(omega + 1)][n / 3 % 5];
        let mut y = hint_bit_pack(p, &hints(p, count, &mut random));
        let used = y[p.omega + p.k - 1];
        match n / 15 % 8 {
            0 => (),
            1 => y[p.omega + random.below(p.k as i64) as usize] = random.next() as u8,
            2 => y[p.omega + p.k - 1] = p.omega as u8 + 1,
            3 => y[p.omega + p.k - 1] = p.omega as u8,
            4 if used >= 2 => {
                let i = random.below(i64::from(used) - 1) as usize;
                y[i + 1] = y[i].wrapping_sub((random.next() % 2) as u8);
            }
            5 => y[random.below(omega) as usize] ^= 1 << random.below(8),
            6 => y[p.omega - 1] ^= 128,
            _ => {
                for byte in &mut y[..p.omega] {
                    *byte = random.next() as u8;
                }
            }
        }
        let mut input = vec![command(set as u64)];
        input.extend(byte_words(&y));
        let mut output = vec![];
        match hint_bit_unpack(p, &y) {
            None => output.push([1, 0, 0, 0]),
            Some(h) => {
                output.push([0; 4]);
                for poly in h {
                    let mut beat = [0; 4];
                    for (i, &bit) in poly.iter().enumerate() {
                        beat[i / 64] |= (bit as u64) << (i % 64);
                    }
                    output.push(beat);
                }
            }
        }
        out.group(&input, &output)?;
    }
    Ok(())
}

/// Few, many, omega ones and more.
fn hint_encode_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(7);
    for n in 0..600 {
        let set = n % 3;
        let p = PARAMETER_SETS[set];
        let omega = p.omega as i64;
        let several = [
            0,
            1,
            omega,
            omega + 1,
            omega + 200,
            random.below(omega + 1),
            random.below(omega + 1),
        ];
        let count = several[n / 3 % several.len()];
        let h = hints(p, count, &mut random);
        let mut input = vec![command(set as u64)];
        for four in h.iter().flat_map(|poly| poly.chunks(4)) {
            let bits = (0..4).fold(0, |bits, i| bits | (four[i] as u64) << i);
            input.push([bits, 0, 0, 0]);
        }
        let mut output = vec![];
        if count > omega {
            output.push([0, 1 << 8, 0, 0]);
        } else {
            let bytes = hint_bit_pack(p, &h);
            output = byte_words(&bytes);
            let last = output.len() - 1;
            for (number, beat) in output.iter_mut().enumerate() {
                beat[1] = (bytes.len() - 8 * number).min(8) as u64 | u64::from(number == last) << 4;
            }
        }
        out.group(&input, &output)?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let mut out = Groups(BufWriter::new(io::stdout().lock()));
    match std::env::args().nth(1).as_deref() {
        Some("ntt") => ntt_values(&mut out)?,
        Some("mac") => mac_values(&mut out)?,
        Some("round") => round_values(&mut out)?,
        Some("sparse") => sparse_values(&mut out)?,
        Some("hint_decode") => hint_decode_values(&mut out)?,
        Some("hint_encode") => hint_encode_values(&mut out)?,
        Some("unpack") => unpack_values(&mut out)?,
        Some("pack") => pack_values(&mut out)?,
        _ => {
            eprintln!(
                "unit_values: UNIT is one of: hint_decode hint_encode mac ntt pack round sparse unpack"
            );
            std::process::exit(2);
        }
    }
    out.0.flush()
}
