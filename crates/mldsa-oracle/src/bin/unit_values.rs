//! Inputs and expected outputs of the arithmetic units of the hardware core, for their benches
//! (`rtl/tests/unit`): `unit_values UNIT` writes groups of beats to standard output, in the form that
//! `bench.cpp` there reads. Every unit's domain is covered whole where that is cheap, else at its
//! edges and at random.
use std::io::{self, BufWriter, Write};

use mldsa_oracle::{N, Poly, Q, inverse_ntt, ntt};

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
            let tag = n as u64 % 256;
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
            result[0][0] |= 1 << 40;
            result[63][0] |= 1 << 41;
            output.extend(result);
        }
        out.group(&input, &output)?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let mut out = Groups(BufWriter::new(io::stdout().lock()));
    match std::env::args().nth(1).as_deref() {
        Some("ntt") => ntt_values(&mut out)?,
        _ => {
            eprintln!("unit_values: UNIT is one of: ntt");
            std::process::exit(2);
        }
    }
    out.0.flush()
}
