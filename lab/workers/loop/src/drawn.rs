//! Randomness that the input gives to a library which only draws its own: the library's source is one
//! that hands it out.

use std::cell::Cell;

/// The most that a call draws: the seed of an SLH-DSA key with n = 32.
const MOST: usize = 96;

thread_local! {
    /// What the library draws next in this thread, and how much of it is drawn.
    static NEXT: Cell<([u8; MOST], usize)> = const { Cell::new(([0; MOST], 0)) };
}

/// Sets what the library draws next, at most 96 bytes; zeros follow.
pub fn give(bytes: &[u8]) {
    let mut next = [0; MOST];
    next[..bytes.len()].copy_from_slice(bytes);
    NEXT.set((next, 0));
}

/// Hands out the next `count` bytes. Ends the process where a library draws more than the standard
/// does, since nothing may unwind into C.
///
/// # Safety
/// `to` must point to `count` bytes that may be written.
pub unsafe extern "C" fn take(to: *mut u8, count: usize) {
    let (next, drawn) = NEXT.get();
    let Some(bytes) = next[drawn..].get(..count) else {
        std::process::abort()
    };
    // SAFETY: `to` has room for `count` bytes, as the caller promises, and `bytes` are as many.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), count) }
    NEXT.set((next, drawn + count));
}
