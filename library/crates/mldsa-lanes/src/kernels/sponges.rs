//! SHAKE256 of many strings, one in each lane of a group of Keccak states.

use super::keccak::{Permutation, RATE_256, StateGroup};
use super::sponge::{Shake256, Shake256Reader};

/// Most states of a group.
pub(crate) const MOST: usize = 8;

/// Most parts of a string.
const MOST_PARTS: usize = 6;

/// A string as parts to be concatenated, empty ones included.
pub(crate) type Parts<'a> = [&'a [u8]; MOST_PARTS];

/// A string that a lane absorbs.
struct Lane<'a> {
    /// The rest of its parts.
    rest: Parts<'a>,
    /// Its end is in the block to be permuted.
    last: bool,
}

/// H of each string. A lane that has finished takes the next string at once, so the lanes stay full whatever the
/// lengths. The last string left goes on alone in `single`. `next` gives the next string to a free lane. `digest` takes
/// the output of the string that a lane has finished, in the order in which strings end.
///
/// Objects, so that it is compiled once for a backend.
pub(crate) fn shake256_lanes<'a, S: StateGroup>(
    permute: &dyn Fn(&mut S),
    single: Permutation,
    next: &mut dyn FnMut(usize) -> Option<Parts<'a>>,
    digest: &mut dyn FnMut(usize, &mut Shake256Reader),
) {
    const { assert!(S::COUNT <= MOST) };
    let mut states = S::zero();
    let mut lanes = [const { None }; MOST];
    let lanes = &mut lanes[..S::COUNT];
    loop {
        for (i, lane) in lanes.iter_mut().enumerate() {
            if lane.is_none() {
                *lane = next(i).map(|rest| Lane { rest, last: false });
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
            digest(first, &mut sponge.finish());
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
                digest(i, &mut Shake256Reader::after_blocks(single, word));
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
