//! The caller's random number generator, held to tests.

use core::fmt;

use rand_core::TryCryptoRng;

use super::{EQUAL, Error, compared};
use crate::backend::Backend;
use crate::declassify::{Site, public};
use crate::error::Error as Refusal;
use crate::kernels::poly::{Secret, Wipe};
use crate::kernels::sponge::h;

/// Draws that are looked at together: 2,048 bytes.
const WINDOW: usize = 64;
/// Bytes of a draw.
const DRAW: usize = 32;
/// Half-bytes of one value that a window should have.
const EXPECTED: i32 = (WINDOW * DRAW * 2 / 16) as i32;
/// Neighbouring bits of a window, each pair within a draw.
const PAIRS: i32 = (WINDOW * (8 * DRAW - 1)) as i32;

// Each bound is passed with a probability below 2^-50 by 64 draws of an ideal source, and so by each
// further draw at most: decision 18 has their derivation.
/// The most that the squared deviations of 16 counts from [`EXPECTED`] may add up to: the statistic of
/// chi-squared times 256.
const MOST_DEVIATION: i32 = 28_672;
/// The most by which twice the number of changes from bit to bit may miss [`PAIRS`].
const MOST_CHANGES: i32 = 1_050;
/// This many equal bytes in a row are too many.
const EQUAL_BYTES: u32 = 8;

/// What is kept of a draw: too little to find it again.
#[derive(Clone, Copy)]
struct Kept {
    /// The first 64 bits of its hash.
    print: u64,
    /// How often each half-byte occurs.
    counts: [u8; 16],
    /// How often a bit differs from the one before.
    changes: u16,
}

impl Kept {
    const NOTHING: Self = Kept {
        print: 0,
        counts: [0; 16],
        changes: 0,
    };

    // Neither branch nor index depends on the draw.
    fn of(draw: &[u8; DRAW]) -> Self {
        let mut kept = Kept::NOTHING;
        kept.print = print(draw);
        for byte in draw {
            for half in [byte & 15, byte >> 4] {
                for (value, count) in kept.counts.iter_mut().enumerate() {
                    *count += is_zero(u64::from(half ^ value as u8)) as u8;
                }
            }
        }
        let words = words(draw);
        for (number, word) in words.iter().enumerate() {
            let next = words.get(number + 1).map_or(word >> 63, |next| next & 1);
            kept.changes += (word ^ (word >> 1 | next << 63)).count_ones() as u16;
        }
        kept
    }
}

fn print(draw: &[u8]) -> u64 {
    u64::from_le_bytes(h(Backend::detect().permutation(), &[draw]))
}

/// 1 for 0, else 0.
fn is_zero(word: u64) -> u32 {
    ((!word & word.wrapping_sub(1)) >> 63) as u32
}

fn words(draw: &[u8; DRAW]) -> [u64; 4] {
    core::array::from_fn(|i| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&draw[8 * i..][..8]);
        u64::from_le_bytes(eight)
    })
}

struct Window([Kept; WINDOW]);

impl Wipe for Window {
    fn wipe(&mut self) {
        self.0.fill(Kept::NOTHING);
        zeroize::optimization_barrier(&self.0);
    }
}

/// A random number generator that is held to tests of what it gives, by windows of 64 draws of 32 bytes
/// each:
///
/// - **repetition**: no draw comes again within a window, no word of 64 bits within a draw, no byte
///   eight times in a row;
/// - **chi-squared** over the 16 values of half a byte;
/// - **runs**: the number of changes from bit to bit.
///
/// The first window is drawn at the beginning and serves nothing else. A good source fails a draw with a
/// probability below 2^-48. One that has failed serves no more.
///
/// The tests see a source that is stuck, repeats itself soon, or has a bias of some 5 % and more. They do
/// not see one that is predictable: a counter that is hashed passes, and so does a generator whose state
/// somebody knows, or that two machines share.
pub struct Source<R> {
    rng: R,
    /// Here and not in whoever draws, so that no pointer to it is made which a fault could leave out.
    pub(super) latest: Secret<[u8; DRAW]>,
    window: Secret<Window>,
    drawn: usize,
    /// Half-bytes of each value in the window, and changes.
    counts: [i32; 16],
    changes: i32,
    failed: bool,
}

impl<R: TryCryptoRng> Source<R> {
    /// Draws and tests the first window.
    ///
    /// # Errors
    /// [`Error::SourceFailed`], or [`Error::Refused`] with [`Rng`](crate::Error::Rng) if `rng` fails.
    pub fn new(rng: R) -> Result<Self, Error> {
        let mut source = Source {
            rng,
            latest: Secret([0; DRAW]),
            window: Secret(Window([Kept::NOTHING; WINDOW])),
            drawn: 0,
            counts: [0; 16],
            changes: 0,
            failed: false,
        };
        for _ in 0..WINDOW {
            source.draw()?;
        }
        source.latest.wipe();
        Ok(source)
    }

    /// Draws [`latest`](Self::latest), which whoever uses it wipes; it is zeros if a test fails.
    pub(super) fn draw(&mut self) -> Result<(), Error> {
        if self.failed {
            return Err(Error::SourceFailed);
        }
        self.latest.wipe();
        let filled = self.rng.try_fill_bytes(self.latest.as_mut());
        filled.map_err(|_| Error::Refused(Refusal::Rng))?;
        // Until it has passed.
        self.failed = true;
        if public(Site::Source, self.suspicions()) != 0 {
            self.latest.wipe();
            return Err(Error::SourceFailed);
        }
        self.failed = false;
        Ok(())
    }

    /// Whether this is what was drawn last: it is not if the draw was left out, or replaced later.
    pub(super) fn gave(&self, draw: &[u8]) -> Result<(), Error> {
        let last = &self.window.0.0[self.drawn.wrapping_sub(1) % WINDOW];
        let prints = [last.print, print(draw)].map(u64::to_le_bytes);
        let same = compared(EQUAL[0], &prints[0], &prints[1]);
        if public(Site::Agreement, same) != EQUAL[0] {
            return Err(Error::Disagreement);
        }
        Ok(())
    }

    /// How many tests the draw, or the window that ends with it, fails.
    fn suspicions(&mut self) -> u32 {
        let mut found = 0;
        let draw = &*self.latest;
        let kept = Kept::of(draw);
        for (number, earlier) in self.window.0.0.iter().enumerate() {
            found += is_zero(earlier.print ^ kept.print) & u32::from(number < self.drawn);
        }
        let words = words(draw);
        for (number, word) in words.iter().enumerate() {
            for other in &words[..number] {
                found += is_zero(word ^ other);
            }
        }
        let mut equal = 1;
        for pair in draw.windows(2) {
            equal = equal * is_zero(u64::from(pair[0] ^ pair[1])) + 1;
            found += is_zero(u64::from(equal ^ EQUAL_BYTES));
        }

        let oldest = &mut self.window.0.0[self.drawn % WINDOW];
        let pairs = kept.counts.iter().zip(&oldest.counts);
        for (count, (new, old)) in self.counts.iter_mut().zip(pairs) {
            *count += i32::from(*new) - i32::from(*old);
        }
        self.changes += i32::from(kept.changes) - i32::from(oldest.changes);
        *oldest = kept;
        self.drawn += 1;
        if self.drawn >= WINDOW {
            let squares = self.counts.iter().map(|count| (count - EXPECTED).pow(2));
            found += exceeds(squares.sum(), MOST_DEVIATION);
            found += exceeds((2 * self.changes - PAIRS).abs(), MOST_CHANGES);
        }
        found
    }
}

/// 1 if a value is above its bound, without a branch.
fn exceeds(value: i32, most: i32) -> u32 {
    (most.wrapping_sub(value) as u32) >> 31
}

impl<R> fmt::Debug for Source<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hardened::Source")
    }
}
