//! SHAKE256 of many strings, one in each lane of a group of Keccak states.

use super::keccak::{Permutation, RATE_256, StateGroup};
use super::sponge::{Shake256, Shake256Reader};

/// Most states of a group.
const MOST: usize = 8;

/// Most parts of a string.
const MOST_PARTS: usize = 6;

/// A string that a lane absorbs.
struct Lane<'a> {
    /// The rest of its parts.
    rest: [&'a [u8]; MOST_PARTS],
    /// Its end is in the block to be permuted.
    last: bool,
}

/// Strings to be hashed, and their digests. An object, so that [`shake256_lanes`] is compiled once for a backend.
trait Strings<'a> {
    /// The next string, for a lane that is free.
    fn next(&mut self, lane: usize) -> Option<Lane<'a>>;
    /// Takes the output of the string that a lane has finished.
    fn digest(&mut self, lane: usize, reader: &mut Shake256Reader);
}

/// An iterator of strings, given as parts and with a value each, and the function that takes value and output.
struct Pairs<I, T, F> {
    strings: I,
    values: [Option<T>; MOST],
    digest: F,
}

impl<'a, I, T, F, const PARTS: usize> Strings<'a> for Pairs<I, T, F>
where
    I: Iterator<Item = ([&'a [u8]; PARTS], T)>,
    F: FnMut(T, &mut Shake256Reader),
{
    fn next(&mut self, lane: usize) -> Option<Lane<'a>> {
        let (parts, value) = self.strings.next()?;
        self.values[lane] = Some(value);
        let mut rest: [&[u8]; MOST_PARTS] = [&[]; MOST_PARTS];
        rest[..PARTS].copy_from_slice(&parts);
        Some(Lane { rest, last: false })
    }
    fn digest(&mut self, lane: usize, reader: &mut Shake256Reader) {
        if let Some(value) = self.values[lane].take() {
            (self.digest)(value, reader);
        }
    }
}

/// H of each string, given as parts to be concatenated. A lane that has finished takes the next
/// string at once, so the lanes stay full whatever the lengths; the last string left goes on alone
/// in `single`. `digest` is handed what came with a string and the reader of its output, in the
/// order in which strings end.
pub(crate) fn shake256_each<'a, S: StateGroup, T, const PARTS: usize>(
    permute: &dyn Fn(&mut S),
    single: Permutation,
    strings: impl Iterator<Item = ([&'a [u8]; PARTS], T)>,
    digest: impl FnMut(T, &mut Shake256Reader),
) {
    let mut strings = Pairs {
        strings: strings.fuse(),
        values: [const { None }; MOST],
        digest,
    };
    shake256_lanes(permute, single, &mut strings);
}

fn shake256_lanes<S: StateGroup>(
    permute: &dyn Fn(&mut S),
    single: Permutation,
    strings: &mut dyn Strings<'_>,
) {
    const { assert!(S::COUNT <= MOST) };
    let mut states = S::zero();
    let mut lanes = [const { None }; MOST];
    let lanes = &mut lanes[..S::COUNT];
    loop {
        for (i, lane) in lanes.iter_mut().enumerate() {
            if lane.is_none() {
                *lane = strings.next(i);
            }
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
            strings.digest(first, &mut sponge.finish());
            continue;
        }
        for (i, lane) in lanes.iter_mut().enumerate() {
            if let Some(lane) = lane {
                lane.last = absorb_block(&mut states, i, &mut lane.rest);
            }
        }
        permute(&mut states);
        for (i, slot) in lanes.iter_mut().enumerate() {
            if slot.take_if(|lane| lane.last).is_some() {
                let word = |word| take_word(&mut states, word, i);
                strings.digest(i, &mut Shake256Reader::after_blocks(single, word));
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

#[cfg(all(test, mldsa_inside))]
mod tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/kernels/sponges/tests.rs"
    ));
}
