//! Packing and hints.
use std::io::{self, Write};

use mldsa_oracle::{
    N, PARAMETER_SETS, Params, Poly, hint_bit_pack, hint_bit_unpack, simple_bit_pack,
};

use crate::{Beat, Groups, Random, byte_words, command, words};

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

pub fn unpack_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    for (width, fields, mut input) in packings(&[3, 4, 10, 13, 18, 20]) {
        input.insert(0, command(width as u64));
        out.group(&input, &fields)?;
    }
    Ok(())
}

/// Fields come with other bits above, which the packer ignores.
pub fn pack_values(out: &mut Groups<impl Write>) -> io::Result<()> {
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
pub fn hint_decode_values(out: &mut Groups<impl Write>) -> io::Result<()> {
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
pub fn hint_encode_values(out: &mut Groups<impl Write>) -> io::Result<()> {
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
