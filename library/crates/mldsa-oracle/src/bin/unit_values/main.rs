//! Inputs and expected outputs of the units of the hardware core, for their benches
//! (`rtl/tests/unit`): `unit_values UNIT` writes groups of beats to standard output, in the form that
//! `bench.cpp` there reads. Every unit's domain is covered whole where that is cheap, else at its
//! edges and at random.
mod arithmetic;
mod coding;
mod sampling;

use std::io::{self, BufWriter, Write};

use mldsa_oracle::{N, Poly, Q};

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

/// Four small coefficients as four bits each.
fn nibbles(four: &[i64]) -> u64 {
    (0..4).fold(0, |data, i| data | ((four[i] & 15) as u64) << (4 * i))
}

fn main() -> io::Result<()> {
    let mut out = Groups(BufWriter::new(io::stdout().lock()));
    match std::env::args().nth(1).as_deref() {
        Some("ntt") => arithmetic::ntt_values(&mut out)?,
        Some("mac") => arithmetic::mac_values(&mut out)?,
        Some("rows") => arithmetic::rows_values(&mut out)?,
        Some("round") => arithmetic::round_values(&mut out)?,
        Some("sparse") => arithmetic::sparse_values(&mut out)?,
        Some("keccak" | "keccak_half") => sampling::keccak_values(&mut out)?,
        Some("expand_a") => sampling::expand_a_values(&mut out)?,
        Some("sample_a") => sampling::sample_a_values(&mut out)?,
        Some("sample_s") => sampling::sample_s_values(&mut out)?,
        Some("sample_ball") => sampling::sample_ball_values(&mut out)?,
        Some("hint_decode") => coding::hint_decode_values(&mut out)?,
        Some("hint_encode") => coding::hint_encode_values(&mut out)?,
        Some("unpack") => coding::unpack_values(&mut out)?,
        Some("pack") => coding::pack_values(&mut out)?,
        _ => {
            eprintln!("unit_values UNIT: one of those with a bench in rtl/tests/unit");
            std::process::exit(2);
        }
    }
    out.0.flush()
}
