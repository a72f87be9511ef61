//! The soak test: all targets on several threads for a long time, and a look at the memory.

use crate::session::{Finding, Numbers, corpus, finding, run};
use crate::{TARGETS, common};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a soak did.
pub struct Report {
    /// The seed of its inputs.
    pub seed: u64,
    /// Threads that ran targets; batches use those of rayon besides.
    pub threads: usize,
    /// How long it took.
    pub time: Duration,
    /// Inputs of each target.
    pub inputs: Vec<(&'static str, u64)>,
    /// Resident memory in bytes, read at equal distances.
    pub memory: Vec<u64>,
    /// What went wrong; the run ends at the first.
    pub findings: Vec<Finding>,
}

/// Times that the memory is read.
const READINGS: u32 = 40;

/// Resident memory in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux tells the memory");
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    // 4 KiB on every CPU that has a backend of ours.
    pages * 4096
}

/// Whether memory has stopped growing: in the last quarter it is at most a tenth, or 4 MiB, above
/// that of the second, in the mean. The first quarter fills caches.
pub fn is_flat(memory: &[u64]) -> bool {
    let quarter = memory.len() / 4;
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len().max(1) as u64;
    let early = mean(&memory[quarter..2 * quarter]);
    let late = mean(&memory[memory.len() - quarter..]);
    late <= early + (early / 10).max(4 << 20)
}

/// Runs targets at random on so many threads until the time is up or something is found.
pub fn soak(time: Duration, threads: usize, seed: u64) -> Report {
    let counts = TARGETS.each_ref().map(|_| AtomicU64::new(0));
    let (stop, findings) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let mut memory = Vec::new();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (counts, stop, findings) = (&counts, &stop, &findings);
            scope.spawn(move || {
                let mut numbers = Numbers(seed ^ (thread as u64) << 32);
                let corpora = TARGETS.each_ref().map(corpus);
                while !stop.load(Ordering::Relaxed) {
                    let which = (numbers.draw() % TARGETS.len() as u64) as usize;
                    let target = &TARGETS[which];
                    let input = numbers.input(&corpora[which]);
                    counts[which].fetch_add(1, Ordering::Relaxed);
                    if let Err(said) = run(target, &input) {
                        findings.lock().unwrap().push(finding(target, &input, said));
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
        for reading in 1..=READINGS {
            while start.elapsed() < time * reading / READINGS && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
            }
            memory.push(resident());
        }
        stop.store(true, Ordering::Relaxed);
    });
    Report {
        seed,
        threads,
        time: start.elapsed(),
        inputs: TARGETS
            .iter()
            .map(|t| t.name)
            .zip(counts.map(AtomicU64::into_inner))
            .collect(),
        memory,
        findings: findings.into_inner().unwrap(),
    }
}

impl Report {
    /// Nothing found, every target run, memory flat.
    pub fn is_good(&self) -> bool {
        self.findings.is_empty() && self.inputs.iter().all(|(_, n)| *n > 0) && is_flat(&self.memory)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backends: Vec<_> = common::backends().iter().map(|b| b.name()).collect();
        writeln!(
            f,
            "soak: {} s on {} threads, seed {}, backends {}",
            self.time.as_secs(),
            self.threads,
            self.seed,
            backends.join(" ")
        )?;
        for (target, inputs) in &self.inputs {
            writeln!(f, "  {target}: {inputs} inputs")?;
        }
        let mib = |bytes: Option<&u64>| bytes.map_or(0.0, |bytes| *bytes as f64 / 1048576.0);
        writeln!(
            f,
            "  memory: {:.1} MiB first, {:.1} at most, {:.1} last: {}",
            mib(self.memory.first()),
            mib(self.memory.iter().max()),
            mib(self.memory.last()),
            if is_flat(&self.memory) {
                "flat"
            } else {
                "GROWING"
            }
        )?;
        for Finding { target, file, said } in &self.findings {
            writeln!(f, "  FOUND by {target}: {said}\n    {}", file.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_flat;

    /// A leak of half a MiB from reading to reading is seen beside 20 MiB that vary; those are not.
    #[test]
    fn a_leak_is_seen() {
        let noise = |i: u64| (20 << 20) + (i * 7919 % 13) * (100 << 10);
        let flat: Vec<_> = (0..40).map(noise).collect();
        assert!(is_flat(&flat));
        let leak: Vec<_> = (0..40).map(|i| noise(i) + i * (512 << 10)).collect();
        assert!(!is_flat(&leak));
        // What grows at the start alone is a cache.
        let cache: Vec<_> = (0..40).map(|i| noise(i) + i.min(8) * (2 << 20)).collect();
        assert!(is_flat(&cache));
    }
}
