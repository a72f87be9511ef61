//! The two clocks, and the only code that reads them; and a third, by which nothing is timed. In an
//! emulator that counts instructions these take the place of both.

use std::io;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Name of the wall clock as announced. One tick is one nanosecond.
pub const WALL_CLOCK: &str = "CLOCK_MONOTONIC";
/// Name of the calling thread's own clock as announced. One tick is one nanosecond.
pub const CPU_CLOCK: &str = "CLOCK_THREAD_CPUTIME_ID, less the cost of reading it";

/// Name of the count of instructions, where that is the clock. One tick is one instruction.
pub const COUNTER: &str = "instructions executed in the emulator";
/// Classes of instructions: vector (SIMD and floating point), the SHA3 extension, other arithmetic, loads and
/// stores of all registers, branches and system instructions. `lab/workers/counted/counter.c` has the same order.
pub const CLASSES: [&str; 5] = ["vector", "sha3", "scalar", "memory", "branch"];
/// Where the emulator leaves the counters: `COUNTERS_FD` of the same file.
const COUNTERS_FD: libc::c_int = 700;

/// The counters of [`CLASSES`]; null where the clocks are read.
static COUNTERS: AtomicPtr<[AtomicU64; CLASSES.len()]> = AtomicPtr::new(std::ptr::null_mut());

/// Empty intervals whose median is the cost of reading the clocks.
const EMPTY_INTERVALS: usize = 101;

/// Time between a [`Start`] and its end, in nanoseconds. Where instructions are counted `wall` is
/// their number, of which each class has its part, and `cpu` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    pub wall: u64,
    pub cpu: u64,
    pub classes: Option<[u64; CLASSES.len()]>,
}

/// The readings before the timed region.
pub struct Start {
    wall: u64,
    cpu: u64,
    classes: Option<[u64; CLASSES.len()]>,
}

impl Start {
    /// Reads the thread clock first: it is a system call, and so stays outside the wall interval.
    #[inline(always)]
    pub fn now() -> Self {
        if let Some(classes) = counted() {
            return Self {
                wall: 0,
                cpu: 0,
                classes: Some(classes),
            };
        }
        let cpu = read(libc::CLOCK_THREAD_CPUTIME_ID);
        let wall = read(libc::CLOCK_MONOTONIC);
        Self {
            wall,
            cpu,
            classes: None,
        }
    }

    #[inline(always)]
    pub fn elapsed(self) -> Ticks {
        if let (Some(before), Some(after)) = (self.classes, counted()) {
            let classes = std::array::from_fn(|class| after[class] - before[class]);
            return Ticks {
                wall: classes.iter().sum(),
                cpu: 0,
                classes: Some(classes),
            };
        }
        let wall = read(libc::CLOCK_MONOTONIC);
        let cpu = read(libc::CLOCK_THREAD_CPUTIME_ID);
        Ticks {
            wall: wall.saturating_sub(self.wall),
            cpu: cpu.saturating_sub(self.cpu),
            classes: None,
        }
    }
}

/// From now on the clock is the emulator's count of instructions.
///
/// # Errors
/// Not in an emulator with the plugin of `lab/workers/counted`.
pub fn count_instructions() -> io::Result<()> {
    let (size, access) = (size_of::<[u64; CLASSES.len()]>(), libc::PROT_READ);
    // SAFETY: a new mapping, which is never unmapped; the plugin's file is a page long.
    let place = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            access,
            libc::MAP_SHARED,
            COUNTERS_FD,
            0,
        )
    };
    if place == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    COUNTERS.store(place.cast(), Ordering::Release);
    Ok(())
}

/// Whether instructions are counted.
pub fn is_counting() -> bool {
    !COUNTERS.load(Ordering::Acquire).is_null()
}

/// Instructions so far by class, if they are counted.
#[inline(always)]
fn counted() -> Option<[u64; CLASSES.len()]> {
    let counters = COUNTERS.load(Ordering::Acquire);
    // SAFETY: null, or the mapping of `count_instructions`.
    let counters = unsafe { counters.as_ref() }?;
    Some(std::array::from_fn(|class| {
        counters[class].load(Ordering::Relaxed)
    }))
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

/// Nanoseconds of the wall clock, or instructions, for the length of a warm-up.
pub fn wall() -> u64 {
    if let Some(classes) = counted() {
        return classes.iter().sum();
    }
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
