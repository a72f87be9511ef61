//! Interleaved timing: every round takes one sample of every implementation of every kernel, in an
//! order of its own.

use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;

use crate::case::{Case, Kernel};
use crate::data::Random;

/// The least that a sample takes on the thread's own clock.
const SAMPLE: Duration = Duration::from_micros(30);
/// Places of the stack pointer that samples are taken at.
const DEPTHS: u64 = 48;
/// Empty intervals whose median is the cost of reading the clock.
const EMPTY_INTERVALS: usize = 101;

/// The samples of one implementation of one kernel.
pub struct Series {
    pub kernel: usize,
    pub entry: usize,
    /// Calls in each sample.
    pub calls: u32,
    /// Thread CPU time of each round's sample in nanoseconds, less the cost of reading the clock.
    pub nanoseconds: Vec<f64>,
}

/// A series for each entry that is left in `kernels`.
pub fn measure(kernels: &mut [Kernel], rounds: u32) -> Vec<Series> {
    let cost = reading_cost();
    let mut all = Vec::new();
    for (kernel, of) in kernels.iter_mut().enumerate() {
        for (entry, of) in of.entries.iter_mut().enumerate() {
            all.push(Series {
                kernel,
                entry,
                calls: calibrate(&mut *of.case, cost),
                nanoseconds: Vec::with_capacity(rounds as usize),
            });
        }
    }
    let mut random = Random::new(1);
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..all.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
        for series in order {
            let series = &mut all[series];
            let case = &mut *kernels[series.kernel].entries[series.entry].case;
            let depth = random.below(DEPTHS) as u32;
            let time = sample(case, series.calls, depth).saturating_sub(cost);
            series.nanoseconds.push(time.as_nanos() as f64);
        }
    }
    all
}

/// One sample. A call before it brings code and data back to the nearest cache.
fn sample(case: &mut dyn Case, calls: u32, depth: u32) -> Duration {
    case.reset();
    case.run(1);
    case.reset();
    below(depth, || {
        let start = ThreadTime::now();
        case.run(calls);
        start.elapsed()
    })
}

/// Calls `inner` with the stack pointer `depth` frames further down. Where a kernel's stack frame
/// lies, which the environment decides at the start of a process, makes up to half of its time on some
/// CPUs: one process would measure its luck, so every sample gets a place of its own.
#[inline(never)]
fn below(depth: u32, inner: impl FnOnce() -> Duration) -> Duration {
    // With what a call takes, a frame is no multiple of 64 bytes, so that all alignments occur.
    let room = black_box([0u8; 80]);
    let time = match depth {
        0 => inner(),
        _ => below(depth - 1, inner),
    };
    black_box(&room);
    time
}

/// Calls that take [`SAMPLE`] or a little more.
fn calibrate(case: &mut dyn Case, cost: Duration) -> u32 {
    let mut calls = 1u32;
    loop {
        // The least of three: an interrupt must not make a sample look long enough.
        let times = [(); 3].map(|()| sample(case, calls, 0));
        let least = times.into_iter().min().unwrap_or_default();
        let least = least.saturating_sub(cost);
        if least >= SAMPLE {
            return calls;
        }
        let missing = SAMPLE.as_nanos() / least.as_nanos().max(1) + 1;
        calls = calls.saturating_mul(missing.clamp(2, 16) as u32);
    }
}

/// What an empty interval shows: reading the clock is a system call.
fn reading_cost() -> Duration {
    let mut costs = [(); EMPTY_INTERVALS].map(|()| ThreadTime::now().elapsed());
    costs.sort_unstable();
    costs[EMPTY_INTERVALS / 2]
}
