//! Open files by the numbers of their descriptors.

#[cfg(unix)]
pub use unix::{duplicate, hide_typing, was_closed};

/// ^C.
#[cfg(unix)]
pub const INTERRUPT: u8 = 3;

/// Elsewhere the first use of a closed stream fails.
#[cfg(not(unix))]
pub fn was_closed(_: u32) -> bool {
    false
}

/// Duplicate standard input (0) or output (1). Other descriptors have no path here.
#[cfg(windows)]
pub fn duplicate(descriptor: u32) -> std::io::Result<std::fs::File> {
    use std::os::windows::io::AsHandle;

    let handle = match descriptor {
        0 => std::io::stdin().as_handle().try_clone_to_owned()?,
        _ => std::io::stdout().as_handle().try_clone_to_owned()?,
    };
    Ok(handle.into())
}

#[cfg(unix)]
#[allow(unsafe_code)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
    use std::sync::atomic::{AtomicBool, Ordering};

    static CLOSED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

    /// Report a standard input (0) or output (1) that was closed when the process began.
    ///
    /// Rust's runtime opens `/dev/null` in its place before `main`: the message would be empty, and
    /// the output lost, without an error.
    pub fn was_closed(descriptor: u32) -> bool {
        let closed = usize::try_from(descriptor).map(|number| CLOSED.get(number));
        matches!(closed, Ok(Some(closed)) if closed.load(Ordering::Relaxed))
    }

    /// Duplicate a descriptor. The copy shares its position and its mode of writing.
    pub fn duplicate(descriptor: u32) -> io::Result<File> {
        let descriptor = RawFd::try_from(descriptor).unwrap_or(-1);
        // SAFETY: makes a new descriptor or an error of any number; passes no pointer.
        let copy = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) };
        if copy == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(copy) }.into())
    }

    /// The settings of a terminal, which has them again when this is dropped.
    pub struct Hidden<'a>(&'a File, libc::termios);

    /// Hide what is typed. ^C ends a line instead of the process, which would leave the terminal so.
    pub fn hide_typing(terminal: &File) -> io::Result<Hidden<'_>> {
        let mut settings = MaybeUninit::uninit();
        // SAFETY: the descriptor is open, and the pointer has room for the settings.
        if unsafe { libc::tcgetattr(terminal.as_raw_fd(), settings.as_mut_ptr()) } == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has written them.
        let before = unsafe { settings.assume_init() };
        let mut hidden = before;
        hidden.c_lflag &= !(libc::ECHO | libc::ISIG);
        hidden.c_lflag |= libc::ICANON;
        hidden.c_cc[libc::VEOL] = super::INTERRUPT;
        set(terminal, &hidden)?;
        Ok(Hidden(terminal, before))
    }

    fn set(terminal: &File, settings: &libc::termios) -> io::Result<()> {
        // SAFETY: the descriptor is open, and the settings are those of a terminal.
        match unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSADRAIN, settings) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    impl Drop for Hidden<'_> {
        fn drop(&mut self) {
            // A terminal that is gone needs nothing.
            let _ = set(self.0, &self.1);
        }
    }

    extern "C" fn record_closed() {
        for (descriptor, closed) in (0..).zip(&CLOSED) {
            // SAFETY: reads a flag of a descriptor, which may be closed; passes no pointer.
            let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
            closed.store(flags == -1, Ordering::Relaxed);
        }
    }

    // SAFETY: the C runtime calls the functions of this section once, before `main`. `record_closed`
    // needs nothing of Rust's runtime.
    #[used]
    #[cfg_attr(
        target_vendor = "apple",
        unsafe(link_section = "__DATA,__mod_init_func")
    )]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static AT_START: extern "C" fn() = record_closed;
}
