//! How many signatures are traced, or for comparison signed, a second by one thread:
//!
//! ```text
//! cargo run --release --locked -p mldsa-trace --example rate -- ML-DSA-65 20000 1 reached
//! perf stat -e cycles:u target/release/examples/rate ML-DSA-65 20000 20000 sign
//! ```
//!
//! COUNT messages of 32 bytes are divided among KEYS keys, in runs. CHECKS is `reached` or `all`, by
//! way of the C function, or `sign`: `batch::sign` of the same jobs, in the same chunks.

use std::hint::black_box;
use std::process::ExitCode;
use std::ptr::null;
use std::time::{Duration, Instant};

use mldsa_lanes::batch::{self, SignJob};
use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SignOptions};
use mldsa_trace::mldsa_trace_run;

/// Jobs of one call of the C function, so that the codes take little memory.
const BLOCK: usize = 65_536;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if measure(&arguments).is_some() {
        return ExitCode::SUCCESS;
    }
    eprintln!("usage: rate SET COUNT KEYS CHECKS");
    eprintln!("sets: ML-DSA-44, ML-DSA-65, ML-DSA-87; keys: at most as many as count");
    eprintln!("checks: reached, all, sign");
    ExitCode::from(2)
}

/// Nothing if the arguments are none.
fn measure(arguments: &[String]) -> Option<()> {
    let [set, count, keys, checks] = arguments else {
        return None;
    };
    let (count, keys): (usize, usize) = (count.parse().ok()?, keys.parse().ok()?);
    if count == 0 || keys == 0 || keys > count {
        return None;
    }
    let number = set.strip_prefix("ML-DSA-")?.parse().ok()?;
    let work: &dyn Fn() -> usize = match (checks.as_str(), number) {
        ("reached", _) => &|| trace(number, 0, count, keys),
        ("all", _) => &|| trace(number, 1, count, keys),
        ("sign", 44) => &|| sign::<MlDsa44>(count, keys),
        ("sign", 65) => &|| sign::<MlDsa65>(count, keys),
        ("sign", 87) => &|| sign::<MlDsa87>(count, keys),
        _ => return None,
    };
    if ![44, 65, 87].contains(&number) {
        return None;
    }
    let (cpu, wall) = (thread_time(), Instant::now());
    let attempts = work();
    let (cpu, wall) = (thread_time() - cpu, wall.elapsed());
    let rate = count as f64 / cpu.as_secs_f64();
    let backend = Backend::detect().name();
    println!("{set} on {backend}, {checks}, {count} signatures under {keys} keys");
    if attempts > 0 {
        println!("{:.3} attempts each", attempts as f64 / count as f64);
    }
    println!("{rate:.0} a second of thread CPU time; {cpu:.3?} CPU, {wall:.3?} wall");
    Some(())
}

/// The message of a job, which is its number.
fn message(job: usize) -> [u8; 32] {
    let mut message = [0; 32];
    message[..8].copy_from_slice(&(job as u64).to_le_bytes());
    message
}

/// A key's seed, which is its number.
fn seed(key: usize) -> [u8; 32] {
    message(key + 1)
}

fn trace(set: u32, all: u32, count: usize, keys: usize) -> usize {
    let mut attempts = 0;
    let mut codes = vec![0; 12 * BLOCK.min(count) + 1000];
    for start in (0..count).step_by(BLOCK) {
        let jobs = start..(start + BLOCK).min(count);
        let first = start * keys / count;
        let key_of: Vec<_> = jobs
            .clone()
            .map(|job| (job * keys / count - first) as u32)
            .collect();
        let used = key_of[key_of.len() - 1] as usize + 1;
        let xi: Vec<_> = (first..first + used).flat_map(seed).collect();
        let data: Vec<_> = jobs.clone().flat_map(message).collect();
        let ends: Vec<_> = (1..=jobs.len() as u64)
            .flat_map(|job| [32 * job; 2])
            .collect();
        let mut code_ends = vec![0; jobs.len()];
        let mut needed = 0;
        // SAFETY: the buffers are as long as the header asks, and nothing else uses them.
        let status = unsafe {
            mldsa_trace_run(
                set,
                all,
                0,
                used,
                xi.as_ptr(),
                jobs.len(),
                key_of.as_ptr(),
                data.as_ptr(),
                ends.as_ptr(),
                null(),
                codes.len(),
                codes.as_mut_ptr(),
                code_ends.as_mut_ptr(),
                &mut needed,
            )
        };
        assert_eq!(status, 0);
        attempts += needed;
    }
    attempts
}

fn sign<P: ParameterSet>(count: usize, keys: usize) -> usize {
    let most = if keys == 1 { 1024 } else { 256 };
    let mut made = None;
    for start in (0..count).step_by(most) {
        let jobs = start..(start + most).min(count);
        let first = start * keys / count;
        let used = (jobs.end - 1) * keys / count + 1 - first;
        if made.as_ref().is_none_or(|(of, _)| *of != (first, used)) {
            let seeds: Vec<_> = (first..first + used).map(seed).collect();
            made = Some(((first, used), batch::keygen::<P>(Backend::detect(), &seeds)));
        }
        let Some((_, of)) = &made else { continue };
        let messages: Vec<_> = jobs.clone().map(message).collect();
        let jobs: Vec<_> = jobs
            .zip(&messages)
            .map(|(job, message)| SignJob {
                key: (&of[job * keys / count - first]).into(),
                input: message.into(),
            })
            .collect();
        black_box(batch::sign(&jobs, SignOptions::deterministic())).expect("no generator");
    }
    0
}

/// The CPU time that this thread has used: what the machine's other work does to it is no part.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn thread_time() -> Duration {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    let mut time = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the type is Linux's `struct timespec` on 64-bit machines, and the place is valid.
    let status = unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0);
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}

/// Elsewhere the time on the clock.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn thread_time() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
