//! Batches of keys on a heap that is too small for them.

use std::cell::Cell;
use std::convert::Infallible;

use mldsa_lanes::Error;
use mldsa_lanes::any::{Set, batch};

thread_local! {
    /// Bytes that this thread may still allocate. `None`: no limit.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// For the allocator: take `bytes` from the limit. False if the thread has fewer left.
pub fn take(bytes: usize) -> bool {
    let Some(left) = LEFT.get() else {
        return true;
    };
    let rest = left.checked_sub(bytes);
    LEFT.set(rest.or(Some(left)));
    rest.is_some()
}

/// For the allocator: add `bytes` to the limit.
pub fn give_back(bytes: usize) {
    LEFT.set(LEFT.get().map(|left| left + bytes));
}

/// Counts the bytes that are drawn.
struct Zeros(usize);

impl rand_core::TryRng for Zeros {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0 += 4;
        Ok(0)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0 += 8;
        Ok(0)
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(0);
        self.0 += bytes.len();
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Zeros {}

/// Each heap is enough, or the error comes before the generator is used. An allocation that fails otherwise ends the
/// process.
#[test]
fn generated_keys_without_memory_are_errors() {
    const COUNT: usize = 200;
    for set in Set::ALL {
        // Starts the threads of `parallel`.
        batch::parallel::generate(set, COUNT, &mut Zeros(0)).unwrap();
        for generate in [batch::generate, batch::parallel::generate] {
            let copy = COUNT * (set.signing_key_bytes() + set.verifying_key_bytes());
            let outcomes: Vec<bool> = (0..=12)
                .map(|quarters| {
                    let mut rng = Zeros(0);
                    LEFT.set(Some(quarters * copy / 4));
                    let keys = generate(set, COUNT, &mut rng).map(|keys| keys.len());
                    LEFT.set(None);
                    match keys {
                        Ok(count) => assert_eq!((count, rng.0), (COUNT, 32 * COUNT)),
                        Err(error) => assert_eq!((error, rng.0), (Error::OutOfMemory, 0)),
                    }
                    keys.is_ok()
                })
                .collect();
            assert!(
                outcomes.is_sorted() && !outcomes[0] && outcomes[12],
                "{set}: {outcomes:?}"
            );
        }
    }
}
