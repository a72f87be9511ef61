//! The two clocks, and the only code that reads them; and a third, by which nothing is timed.

/// Name of the wall clock as announced. One tick is one nanosecond.
pub const WALL_CLOCK: &str = "CLOCK_MONOTONIC";
/// Name of the calling thread's own clock as announced. One tick is one nanosecond.
pub const CPU_CLOCK: &str = "CLOCK_THREAD_CPUTIME_ID, less the cost of reading it";

/// Empty intervals whose median is the cost of reading the clocks.
const EMPTY_INTERVALS: usize = 101;

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

/// What an empty interval shows on the thread clock: about a microsecond, as each reading is a
/// system call. The wall clock is read in user space, in some tens of nanoseconds.
pub fn cpu_reading_cost() -> u64 {
    let mut costs = [(); EMPTY_INTERVALS].map(|()| Start::now().elapsed().cpu);
    costs.sort_unstable();
    costs[EMPTY_INTERVALS / 2]
}

/// Nanoseconds of the calling thread's own time.
#[inline(always)]
pub fn cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds of the wall clock, for the length of a warm-up.
pub fn wall() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Tells whoever looks at the readings of clocks that an input is about to be prepared, and then
/// that it is.
pub fn mark() {
    read(libc::CLOCK_PROCESS_CPUTIME_ID);
}

#[inline(always)]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec to write to; the clocks exist on every supported system.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    debug_assert_eq!(status, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
