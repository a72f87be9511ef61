//! The two clocks, and the only code that reads them.

/// Name of the wall clock as announced. One tick is one nanosecond.
pub const WALL_CLOCK: &str = "CLOCK_MONOTONIC";
/// Name of the calling thread's own clock as announced. One tick is one nanosecond.
pub const CPU_CLOCK: &str = "CLOCK_THREAD_CPUTIME_ID";

/// Time between a [`Start`] and its end, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    pub wall: u64,
    pub cpu: u64,
}

/// The readings before the timed region.
pub struct Start {
    wall: u64,
    cpu: u64,
}

impl Start {
    /// Reads the thread clock first: it is a system call, and so stays outside the wall interval.
    #[inline(always)]
    pub fn now() -> Self {
        let cpu = read(libc::CLOCK_THREAD_CPUTIME_ID);
        let wall = read(libc::CLOCK_MONOTONIC);
        Self { wall, cpu }
    }

    #[inline(always)]
    pub fn elapsed(self) -> Ticks {
        let wall = read(libc::CLOCK_MONOTONIC);
        let cpu = read(libc::CLOCK_THREAD_CPUTIME_ID);
        Ticks {
            wall: wall.saturating_sub(self.wall),
            cpu: cpu.saturating_sub(self.cpu),
        }
    }
}

/// Nanoseconds of the wall clock, for the length of a warm-up.
pub fn wall() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

#[inline(always)]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec to write to; both clocks exist on every supported system.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    debug_assert_eq!(status, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
