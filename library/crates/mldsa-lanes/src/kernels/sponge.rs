//! The SHAKE and SHA-3 sponges (FIPS 202) on one state.

use super::keccak::{Permutation, RATE_256};

/// A sponge on one state. `RATE` in bytes; `SUFFIX` is the domain separation with the first
/// padding bit: 0x1f for SHAKE, 0x06 for SHA-3. Wiped when dropped.
#[derive(Clone)]
pub(crate) struct Sponge<const RATE: usize, const SUFFIX: u8> {
    state: [u64; 25],
    /// Bytes absorbed into, or squeezed out of, the current block.
    position: usize,
    permute: Permutation,
}

pub(crate) type Shake256 = Sponge<RATE_256, 0x1f>;
pub(crate) type Shake256Reader = Reader<RATE_256, 0x1f>;

impl<const RATE: usize, const SUFFIX: u8> Sponge<RATE, SUFFIX> {
    /// `permute` comes from the engine in use.
    pub(crate) fn new(permute: Permutation) -> Self {
        Sponge {
            state: [0; 25],
            position: 0,
            permute,
        }
    }

    /// A sponge that has absorbed whole blocks, the last of them permuted. `word` gives the words
    /// of its state.
    #[inline(always)]
    pub(crate) fn after_blocks(permute: Permutation, word: impl FnMut(usize) -> u64) -> Self {
        Sponge {
            state: core::array::from_fn(word),
            position: 0,
            permute,
        }
    }

    pub(crate) fn absorb(mut self, data: &[u8]) -> Self {
        self.update(data);
        self
    }

    fn permute(&mut self) {
        (self.permute)(&mut self.state);
        self.position = 0;
    }

    pub(crate) fn update(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            if self.position == RATE {
                self.permute();
            }
            if self.position.is_multiple_of(8) && data.len() >= 8 {
                let words = (RATE - self.position).min(data.len()) / 8;
                let (now, rest) = data.split_at(8 * words);
                self.add_words(now);
                data = rest;
            } else {
                self.state[self.position / 8] ^= u64::from(data[0]) << (8 * (self.position % 8));
                self.position += 1;
                data = &data[1..];
            }
        }
    }

    /// Adds whole words at a word's place; they end within the block.
    fn add_words(&mut self, data: &[u8]) {
        let first = self.position / 8;
        for (word, bytes) in self.state[first..].iter_mut().zip(data.chunks_exact(8)) {
            let mut eight = [0; 8];
            eight.copy_from_slice(bytes);
            *word ^= u64::from_le_bytes(eight);
        }
        self.position += data.len();
    }

    /// Pads; what follows is output.
    pub(crate) fn finish(mut self) -> Reader<RATE, SUFFIX> {
        if self.position == RATE {
            self.permute();
        }
        self.pad();
        Reader(self)
    }

    /// The last block's end. The permutation of that block is still to come.
    fn pad(&mut self) {
        self.state[self.position / 8] ^= u64::from(SUFFIX) << (8 * (self.position % 8));
        self.state[RATE / 8 - 1] ^= 1 << 63;
        self.position = RATE;
    }
}

impl<const RATE: usize, const SUFFIX: u8> Drop for Sponge<RATE, SUFFIX> {
    fn drop(&mut self) {
        self.state.fill(0);
        zeroize::optimization_barrier(&self.state);
    }
}

/// The output side of a sponge.
pub(crate) struct Reader<const RATE: usize, const SUFFIX: u8>(Sponge<RATE, SUFFIX>);

impl<const RATE: usize, const SUFFIX: u8> Reader<RATE, SUFFIX> {
    /// The output of a padded sponge whose last block is permuted.
    #[inline(always)]
    pub(crate) fn after_blocks(permute: Permutation, word: impl FnMut(usize) -> u64) -> Self {
        Reader(Sponge::after_blocks(permute, word))
    }

    /// Whether the next byte takes a permutation first.
    pub(crate) fn is_pending(&self) -> bool {
        self.0.position == RATE
    }

    pub(crate) fn squeeze(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            if self.is_pending() {
                self.0.permute();
            }
            let word = self.0.state[self.0.position / 8] >> (8 * (self.0.position % 8));
            let count = (8 - self.0.position % 8).min(out.len());
            let (now, rest) = out.split_at_mut(count);
            now.copy_from_slice(&word.to_le_bytes()[..count]);
            self.0.position += count;
            out = rest;
        }
    }

    pub(crate) fn read<const LEN: usize>(&mut self) -> [u8; LEN] {
        let mut out = [0; LEN];
        self.squeeze(&mut out);
        out
    }
}

impl<const RATE: usize, const SUFFIX: u8> ShadowStates for Reader<RATE, SUFFIX> {
    /// The permutation of the last block, before anything is read.
    fn block(&mut self) -> Option<&mut [u64; 25]> {
        if !self.is_pending() {
            return None;
        }
        self.0.position = 0;
        Some(&mut self.0.state)
    }
}

/// H of FIPS 204, section 3.7: SHAKE256 of the concatenated parts.
pub(crate) fn h<const LEN: usize>(permute: Permutation, parts: &[&[u8]]) -> [u8; LEN] {
    let mut sponge = Shake256::new(permute);
    for part in parts {
        sponge.update(part);
    }
    let mut reader = sponge.finish();
    reader.read()
}

/// SHAKE256 of a string, a block at a time, each permuted in the shadow of a group's permutation
/// ([`permute_beside`]) or in one of its lanes. The string may grow while it is hashed.
pub(crate) struct ShadowHash {
    sponge: Shake256,
    absorbed: usize,
    padded: bool,
}

impl ShadowHash {
    pub(crate) fn new(permute: Permutation) -> Self {
        ShadowHash {
            sponge: Shake256::new(permute),
            absorbed: 0,
            padded: false,
        }
    }

    /// The state to permute next; nothing if `known` has no whole block left. `known` begins with
    /// what was given before; `complete` says that this is all, so that its end is a block too.
    pub(crate) fn block(&mut self, known: &[u8], complete: bool) -> Option<&mut [u64; 25]> {
        let rest = &known[self.absorbed..];
        if rest.len() >= RATE_256 {
            self.sponge.position = 0;
            self.sponge.add_words(&rest[..RATE_256]);
            self.absorbed += RATE_256;
        } else if complete && !self.padded {
            self.sponge.position = 0;
            self.sponge.update(rest);
            self.absorbed = known.len();
            self.sponge.pad();
            self.padded = true;
        } else {
            return None;
        }
        Some(&mut self.sponge.state)
    }

    /// Whether every block has been given out.
    pub(crate) fn is_padded(&self) -> bool {
        self.padded
    }

    /// Permutes what is left of `all`; what follows is output.
    pub(crate) fn reader(mut self, all: &[u8]) -> Shake256Reader {
        let permute = self.sponge.permute;
        while let Some(state) = self.block(all, true) {
            permute(state);
        }
        self.sponge.position = 0;
        Reader(self.sponge)
    }

    /// The digest of `all`.
    pub(crate) fn finish<const LEN: usize>(self, all: &[u8]) -> [u8; LEN] {
        self.reader(all).read()
    }
}

/// States that a group's permutations may carry along, one after another.
pub trait ShadowStates {
    /// The state to permute next, if one is ready. The one before was permuted.
    fn block(&mut self) -> Option<&mut [u64; 25]>;
}

/// A hash, and as much of its string as is known.
pub(crate) struct Shadow<'a> {
    pub(crate) hash: &'a mut ShadowHash,
    pub(crate) known: &'a [u8],
    pub(crate) complete: bool,
}

impl ShadowStates for Shadow<'_> {
    fn block(&mut self) -> Option<&mut [u64; 25]> {
        self.hash.block(self.known, self.complete)
    }
}

#[cfg(all(test, mldsa_inside))]
mod tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/kernels/sponge/tests.rs"
    ));
}
