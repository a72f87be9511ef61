//! Keccak and the samplers behind it.
use std::io::{self, Write};

use mldsa_oracle::{
    PARAMETER_SETS, Poly, Q, expand_a, g, h, rej_bounded_poly, rej_ntt_poly, sample_in_ball,
};

use crate::{Groups, Random, byte_words, command, nibbles, words};

/// SHAKE128 and SHAKE256 of messages around their rates and at random; a fixed number of words or a job
/// that is dropped, several jobs in a group.
pub fn keccak_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(8);
    for n in 0..400 {
        let (mut input, mut output) = (vec![], vec![]);
        for job in 0..4 {
            let shake128 = random.below(2) == 1;
            let rate = if shake128 { 168 } else { 136 };
            let length = match (n + job) % 4 {
                0 => rate + random.below(18) - 9,
                1 => 2 * rate + random.below(18) - 9,
                2 => random.below(400),
                _ => 8 * random.below(50),
            };
            let message: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
            let count = 1 + random.below(100) as u64;
            let open = random.below(2) == 1;
            let hash = if shake128 { g } else { h };
            output.extend(byte_words(&hash(&[&message], 8 * count as usize)));
            let mut words = byte_words(&message);
            if words.is_empty() {
                words.push([0; 4]);
            }
            let last = words.len() - 1;
            for (number, beat) in words.iter_mut().enumerate() {
                let bytes = if number == last {
                    message.len() - 8 * last
                } else {
                    8
                };
                beat[1] = bytes as u64 | u64::from(number == last) << 4 | u64::from(shake128) << 5;
                beat[1] |= if open {
                    (random.next() % 8) << 13
                } else {
                    count << 6
                };
                beat[1] |= count << 16;
                if number > 0 {
                    beat[1] &= 31; // what belongs to a job comes with its first word
                }
            }
            input.extend(words);
        }
        out.group(&input, &output)?;
    }
    Ok(())
}

/// A seed of `length` bytes.
fn seed(length: usize, random: &mut Random) -> Vec<u8> {
    (0..length).map(|_| random.next() as u8).collect()
}

pub fn sample_a_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(9);
    for _ in 0..400 {
        let rho = seed(34, &mut random);
        let mut input = vec![command(0)];
        input.extend(byte_words(&g(&[&rho], 6 * 168)));
        let mut output = words(&rej_ntt_poly(&rho));
        for (index, beat) in output.iter_mut().enumerate() {
            beat[0] |= (index as u64) << 32;
        }
        out.group(&input, &output)?;
    }
    Ok(())
}

pub fn expand_a_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(12);
    for n in 0..9 {
        let rho = seed(32, &mut random);
        let mut input = vec![command(n as u64 % 3)];
        input.extend(byte_words(&rho));
        let matrix = expand_a(PARAMETER_SETS[n % 3], &rho);
        let output: Vec<_> = matrix.iter().flatten().flat_map(|a| words(a)).collect();
        out.group(&input, &output)?;
    }
    Ok(())
}

pub fn sample_s_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(10);
    for n in 0..400 {
        let p = PARAMETER_SETS[n % 3];
        let rho = seed(66, &mut random);
        let mut input = vec![command(u64::from(p.eta == 4))];
        input.extend(byte_words(&h(&[&rho], 6 * 136)));
        let mut output = vec![];
        for (index, four) in rej_bounded_poly(p, &rho).chunks(4).enumerate() {
            output.push([nibbles(four) | (index as u64) << 32, 0, 0, 0]);
        }
        out.group(&input, &output)?;
    }
    Ok(())
}

pub fn sample_ball_values(out: &mut Groups<impl Write>) -> io::Result<()> {
    let mut random = Random(11);
    for n in 0..400 {
        let p = PARAMETER_SETS[n % 3];
        let rho = seed(p.lambda / 4, &mut random);
        let mut input = vec![command(p.tau as u64)];
        input.extend(byte_words(&h(&[&rho], 4 * 136)));
        let c = sample_in_ball(p, &rho);
        let map = |chosen: fn(i64) -> bool| {
            let mut beat = [0; 4];
            for (i, &x) in c.iter().enumerate() {
                beat[i / 64] |= u64::from(chosen(x)) << (i % 64);
            }
            beat
        };
        let mut output = vec![map(|x| x != 0), map(|x| x < 0)];
        let residues: Poly = c.iter().map(|x| x.rem_euclid(Q)).collect();
        output.extend(words(&residues));
        out.group(&input, &output)?;
    }
    Ok(())
}
