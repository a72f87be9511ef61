//! SHAKE256 of many strings, one in each lane of a group of Keccak states.

use super::keccak::{Permutation, RATE_256, StateGroup};
use super::sponge::{Shake256, Shake256Reader};

/// Most states of a group.
const MOST: usize = 8;

/// A string that a lane absorbs: what is left of its parts, and what comes with it.
struct Lane<'a, T, const PARTS: usize> {
    rest: [&'a [u8]; PARTS],
    with: T,
    /// Its end is in the block to be permuted.
    last: bool,
}

/// H of each string, given as parts to be concatenated. A lane that has finished takes the next
/// string at once, so the lanes stay full whatever the lengths; the last string left goes on alone
/// in `single`. `digest` is handed what came with a string and the reader of its output, in the
/// order in which strings end.
pub(crate) fn shake256_each<'a, S: StateGroup, T, const PARTS: usize>(
    permute: impl Fn(&mut S),
    single: Permutation,
    strings: impl Iterator<Item = ([&'a [u8]; PARTS], T)>,
    mut digest: impl FnMut(T, &mut Shake256Reader),
) {
    const { assert!(S::COUNT <= MOST) };
    let mut strings = strings.fuse();
    let mut states = S::zero();
    let mut lanes: [Option<Lane<'_, T, PARTS>>; MOST] = [const { None }; MOST];
    let lanes = &mut lanes[..S::COUNT];
    loop {
        for lane in lanes.iter_mut().filter(|lane| lane.is_none()) {
            *lane = strings.next().map(|(rest, with)| Lane {
                rest,
                with,
                last: false,
            });
        }
        let mut live = (0..S::COUNT).filter(|i| lanes[*i].is_some());
        let Some(first) = live.next() else { return };
        if live.next().is_none()
            && let Some(lane) = lanes[first].take()
        {
            // Nothing to share a permutation with: no string is left, or there is but one lane.
            let mut sponge = Shake256::after_blocks(single, |i| take_word(&mut states, i, first));
            for part in lane.rest {
                sponge.update(part);
            }
            digest(lane.with, &mut sponge.finish());
            continue;
        }
        for (i, lane) in lanes.iter_mut().enumerate() {
            if let Some(lane) = lane {
                lane.last = absorb_block(&mut states, i, &mut lane.rest);
            }
        }
        permute(&mut states);
        for (i, slot) in lanes.iter_mut().enumerate() {
            if let Some(lane) = slot.take_if(|lane| lane.last) {
                let word = |word| take_word(&mut states, word, i);
                digest(lane.with, &mut Shake256Reader::after_blocks(single, word));
            }
        }
    }
}

/// Adds the next block of a string to state `lane` and drops it from `rest`; true if the string
/// ended, and was padded, in it.
fn absorb_block<S: StateGroup>(states: &mut S, lane: usize, rest: &mut [&[u8]]) -> bool {
    let mut position = 0;
    for part in rest {
        while !part.is_empty() {
            if position == RATE_256 {
                return false;
            }
            if position.is_multiple_of(8) && part.len() >= 8 {
                let words = (RATE_256 - position).min(part.len()) / 8;
                let (now, later) = part.split_at(8 * words);
                for (i, bytes) in now.as_chunks::<8>().0.iter().enumerate() {
                    states.row_mut(position / 8 + i)[lane] ^= u64::from_le_bytes(*bytes);
                }
                position += 8 * words;
                *part = later;
            } else {
                states.row_mut(position / 8)[lane] ^= u64::from(part[0]) << (8 * (position % 8));
                position += 1;
                *part = &part[1..];
            }
        }
    }
    if position == RATE_256 {
        return false;
    }
    states.row_mut(position / 8)[lane] ^= 0x1f << (8 * (position % 8));
    states.row_mut(RATE_256 / 8 - 1)[lane] ^= 1 << 63;
    true
}

/// A word of state `lane`, which starts anew.
#[inline(always)]
fn take_word<S: StateGroup>(states: &mut S, word: usize, lane: usize) -> u64 {
    let taken = states.row(word)[lane];
    states.row_mut(word)[lane] = 0;
    taken
}

#[cfg(test)]
mod tests {
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
        shake256_each::<States<COUNT>, _, 3>(
            permute,
            permute_one,
            strings.iter().copied().zip(0..),
            |i: usize, reader| {
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
}
