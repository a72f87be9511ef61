//! Standard streams that were closed when the process began.
//!
//! Rust's runtime opens `/dev/null` in their place before `main`: the message would be empty, and
//! the output lost, without an error.

#[cfg(unix)]
pub use unix::at_start;

/// Elsewhere the first use of a closed stream fails.
#[cfg(not(unix))]
pub fn at_start(_: u32) -> bool {
    false
}

#[cfg(unix)]
#[allow(unsafe_code)]
mod unix {
    use std::sync::atomic::{AtomicBool, Ordering};

    static CLOSED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

    /// Whether standard input (0) or output (1) was closed.
    pub fn at_start(descriptor: u32) -> bool {
        let closed = usize::try_from(descriptor).map(|number| CLOSED.get(number));
        matches!(closed, Ok(Some(closed)) if closed.load(Ordering::Relaxed))
    }

    extern "C" fn look() {
        for (descriptor, closed) in (0..).zip(&CLOSED) {
            // SAFETY: reads a flag of a descriptor, which may be closed; passes no pointer.
            let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
            closed.store(flags == -1, Ordering::Relaxed);
        }
    }

    // SAFETY: the C runtime calls the functions of this section once, before `main`. `look` needs
    // nothing of Rust's runtime.
    #[used]
    #[cfg_attr(
        target_vendor = "apple",
        unsafe(link_section = "__DATA,__mod_init_func")
    )]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = look;
}
