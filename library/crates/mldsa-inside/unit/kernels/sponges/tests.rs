use std::cell::Cell;
use std::vec::Vec;

use super::*;
use crate::kernels::keccak::{States, permute_one};
use crate::kernels::sponge::h;

/// The group's permutation by way of the one state's.
fn permute<const COUNT: usize>(states: &mut States<COUNT>) {
    for lane in 0..COUNT {
        let mut state = core::array::from_fn(|word| states.0[word][lane]);
        permute_one(&mut state);
        for (row, word) in states.0.iter_mut().zip(state) {
            row[lane] = word;
        }
    }
}

fn agrees<const COUNT: usize>(lengths: &[[usize; 3]]) {
    let bytes: Vec<u8> = (0..1000u32).map(|i| ((i * i) >> 3) as u8).collect();
    let strings: Vec<[&[u8]; 3]> = lengths
        .iter()
        .map(|lengths| lengths.map(|length| &bytes[length % 7..][..length]))
        .collect();
    let mut digests: Vec<Option<[u8; 200]>> = std::vec![None; strings.len()];
    let mut numbered = strings.iter().enumerate();
    let in_lanes = [const { Cell::new(0) }; MOST];
    shake256_lanes::<States<COUNT>>(
        &permute,
        permute_one,
        &mut |lane| {
            let (i, [a, b, c]) = numbered.next()?;
            in_lanes[lane].set(i);
            Some([a, &[], b, c, &[], &[]])
        },
        &mut |lane, reader| {
            let i = in_lanes[lane].get();
            assert!(digests[i].is_none(), "string {i} has two digests");
            digests[i] = Some(reader.read());
        },
    );
    for (i, (string, digest)) in strings.iter().zip(digests).enumerate() {
        assert_eq!(digest, Some(h(permute_one, string)), "{COUNT} lanes, {i}");
    }
}

/// Every length around block and word borders, in parts that are not aligned, fewer strings
/// than lanes and more.
#[test]
fn equals_one_string_at_a_time() {
    let mut lengths = Vec::new();
    for total in (0..=20usize)
        .chain(130..=142)
        .chain(266..=278)
        .chain([500, 900])
    {
        for first in [0, 1, 8, 13, 136] {
            let first = first.min(total);
            lengths.push([first, (total - first) / 2, (total - first).div_ceil(2)]);
        }
    }
    for count in (0..12).chain([lengths.len()]) {
        agrees::<1>(&lengths[..count]);
        agrees::<2>(&lengths[..count]);
        agrees::<4>(&lengths[..count]);
        agrees::<8>(&lengths[..count]);
    }
    // One long string among short ones, first and last.
    for at in [0, 5, 10] {
        let mut lengths = std::vec![[3, 0, 20]; 11];
        lengths[at] = [0, 900, 64];
        agrees::<4>(&lengths);
    }
}
