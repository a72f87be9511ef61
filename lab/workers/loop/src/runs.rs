//! Runs: several operations timed as one sample, by single calls or by one call of a batch
//! interface, on one thread or on several at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;

use sha2::{Digest, Sha256};

use crate::job::{Output, Prepared, caught};
use crate::protocol::Runs;
use crate::timing::{self, Start, Ticks};

/// The largest run that may be asked for, in operations.
pub const MAX_SIZE: u64 = 100_000;
/// The most threads that may be asked for.
pub const MAX_THREADS: u64 = 256;

/// One operation's result.
pub type Answer = Result<Output, String>;

/// Prepared inputs that are performed together, in one thread.
pub trait Group {
    /// Performs the inputs at these positions in this order, and keeps the results. This is what
    /// is timed; results of an earlier run are dropped.
    fn perform(&mut self, items: &[usize]);

    /// The results of the last [`Group::perform`], of the same positions, in their order.
    fn outputs(&mut self, items: &[usize]) -> Vec<Answer>;
}

/// Single calls, one after another.
pub struct Loop(pub Vec<Prepared>);

impl Group for Loop {
    fn perform(&mut self, items: &[usize]) {
        for &item in items {
            if let Ok(job) = &mut self.0[item] {
                job.perform();
            }
        }
    }

    fn outputs(&mut self, items: &[usize]) -> Vec<Answer> {
        let mut kept: HashMap<usize, Vec<Answer>> = HashMap::new();
        // From the end: an input that was performed several times kept its last results last.
        let last = |&item: &usize| match &mut self.0[item] {
            Ok(job) => {
                let results = kept.entry(item).or_insert_with(|| job.kept());
                results.pop().unwrap_or_else(|| Err(NO_RESULT.into()))
            }
            Err(text) => Err(text.clone()),
        };
        let mut outputs: Vec<_> = items.iter().rev().map(last).collect();
        outputs.reverse();
        outputs
    }
}

const NO_RESULT: &str = "the run gave no result for this input";

/// A run that was timed: the position of its first input, its ticks, and the digest of all its
/// outputs in order, those of the first thread first.
pub struct Sample {
    pub first: usize,
    pub result: Result<(Ticks, [u8; 32]), String>,
}

/// How often to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub passes: u64,
    pub calls: u64,
    /// Nanoseconds that every thread runs before the first sample; 0 for no such run.
    pub warmup: u64,
}

/// `passes` times the samples of all runs over a job of `inputs` inputs, which is not 0.
///
/// `prepare` is called in every thread, which has a group of its own and performs a share of the
/// same size.
///
/// # Errors
/// That of `prepare`.
pub fn measure(
    prepare: &(impl Fn() -> Result<Box<dyn Group>, String> + Sync),
    inputs: usize,
    runs: Runs,
    effort: Effort,
) -> Result<Vec<Sample>, String> {
    let crew = Crew::new(runs.threads as usize);
    let member = |thread: usize| {
        let prepared = caught(prepare);
        let refusal = prepared.as_ref().err().cloned();
        // All go on, or all give up.
        let shares = crew.hand_in(thread, refusal.map_or(Ok(Share::default()), Err));
        let mut group = prepared?;
        if let Some(text) = shares.into_iter().find_map(Result::err) {
            return Err(text);
        }
        let items = |number: u64| items(runs, inputs, number, thread);
        warm_up(group.as_mut(), effort.warmup, |turn| {
            items(turn % runs.count)
        });
        let reading = timing::cpu_reading_cost();
        let mut samples = Vec::new();
        for number in (0..effort.passes).flat_map(|_| 0..runs.count) {
            let items = items(number);
            let (done, ticks) = crew.together(thread, || {
                caught(|| {
                    for _ in 0..effort.calls {
                        group.perform(&items);
                    }
                    Ok(())
                })
            });
            let digested = |group: &mut dyn Group| {
                let outputs = group.outputs(&items).into_iter();
                outputs
                    .map(|output| output.map(|output| output.digested().to_vec()))
                    .collect::<Result<Vec<_>, _>>()
            };
            let share = done.and_then(|()| {
                Ok(Share {
                    cpu: ticks.cpu.saturating_sub(reading),
                    outputs: caught(|| digested(group.as_mut()))?.concat(),
                })
            });
            let shares = crew.hand_in(thread, share);
            if thread == 0 {
                samples.push(Sample {
                    first: items[0],
                    result: whole(ticks.wall, shares),
                });
            }
        }
        Ok(samples)
    };
    thread::scope(|scope| {
        for thread in 1..crew.threads {
            let member = &member;
            scope.spawn(move || member(thread));
        }
        member(0)
    })
}

/// Performs every input once, in order and at most `size` in each call.
pub fn answer(group: &mut dyn Group, inputs: usize, size: usize) -> Vec<Answer> {
    let positions: Vec<usize> = (0..inputs).collect();
    let call = |items: &[usize]| {
        let outputs = caught(|| {
            group.perform(items);
            Ok(group.outputs(items))
        });
        outputs.unwrap_or_else(|text| vec![Err(text); items.len()])
    };
    positions.chunks(size).flat_map(call).collect()
}

/// The positions that a thread performs in run `number`. Threads begin apart, so that they do
/// equal work but not the same at the same time.
fn items(runs: Runs, inputs: usize, number: u64, thread: usize) -> Vec<usize> {
    let apart = inputs / runs.threads as usize;
    // In 128 bits, which no two numbers of the protocol overflow.
    let first = u128::from(number) * inputs as u128 / u128::from(runs.count);
    let first = first as usize + thread * apart;
    (first..first + runs.size as usize)
        .map(|place| place % inputs)
        .collect()
}

fn warm_up(group: &mut dyn Group, nanoseconds: u64, items: impl Fn(u64) -> Vec<usize>) {
    let begin = timing::wall();
    let mut turn = 0;
    while timing::wall().saturating_sub(begin) < nanoseconds {
        let items = items(turn);
        let done = caught(|| {
            group.perform(&items);
            Ok(group.outputs(&items))
        });
        // Nothing works: waiting longer would only burn the time limit.
        if !done.is_ok_and(|outputs| outputs.iter().any(Result::is_ok)) {
            return;
        }
        turn += 1;
    }
}

/// One thread's part of a sample: its own time, and the bytes of its outputs one after another.
#[derive(Clone, Default)]
pub(crate) struct Share {
    pub(crate) cpu: u64,
    pub(crate) outputs: Vec<u8>,
}

/// The sample of all shares, or why one of them failed.
pub(crate) fn whole(
    wall: u64,
    shares: Vec<Result<Share, String>>,
) -> Result<(Ticks, [u8; 32]), String> {
    let mut cpu = 0;
    let mut hash = Sha256::new();
    for share in shares {
        let share = share?;
        cpu += share.cpu;
        hash.update(&share.outputs);
    }
    let ticks = Ticks {
        wall,
        cpu,
        classes: None,
    };
    Ok((ticks, hash.finalize().into()))
}

/// The threads of a run, which start together and wait for each other. The first one keeps time.
pub(crate) struct Crew {
    pub(crate) threads: usize,
    barrier: Barrier,
    arrived: AtomicUsize,
    finished: AtomicUsize,
    shares: Mutex<Vec<Result<Share, String>>>,
}

impl Crew {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            threads,
            barrier: Barrier::new(threads),
            arrived: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            shares: Mutex::new(vec![Err(NO_RESULT.into()); threads]),
        }
    }

    /// Does `work` in all threads at once. The wall time is from the common start to the end of
    /// the last, and known to the first thread alone; the CPU time is the calling thread's.
    pub(crate) fn together<T>(&self, thread: usize, work: impl FnOnce() -> T) -> (T, Ticks) {
        if self.threads == 1 {
            let start = Start::now();
            let done = work();
            return (done, start.elapsed());
        }
        let own = || {
            let begin = timing::cpu();
            let done = work();
            (done, timing::cpu().saturating_sub(begin))
        };
        let others = self.threads - 1;
        if thread > 0 {
            self.arrived.fetch_add(1, Ordering::AcqRel);
            self.barrier.wait();
            let (done, cpu) = own();
            self.finished.fetch_add(1, Ordering::AcqRel);
            self.barrier.wait();
            let ticks = Ticks {
                cpu,
                ..Ticks::default()
            };
            return (done, ticks);
        }
        // The last to come to the barrier opens it at once, and does not have to be woken.
        await_count(&self.arrived, others);
        let begin = timing::wall();
        self.barrier.wait();
        let (done, cpu) = own();
        await_count(&self.finished, others);
        let wall = timing::wall().saturating_sub(begin);
        self.barrier.wait();
        let ticks = Ticks {
            wall,
            cpu,
            classes: None,
        };
        (done, ticks)
    }

    /// Leaves a share and, when all have, returns those of all threads in order.
    pub(crate) fn hand_in(
        &self,
        thread: usize,
        share: Result<Share, String>,
    ) -> Vec<Result<Share, String>> {
        let shares = || self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares()[thread] = share;
        self.barrier.wait();
        let all = if thread == 0 {
            shares().clone()
        } else {
            refusals(&shares())
        };
        // Nobody overwrites a share that another has not read.
        self.barrier.wait();
        all
    }
}

/// The shares without their bytes, which the first thread alone needs.
fn refusals(shares: &[Result<Share, String>]) -> Vec<Result<Share, String>> {
    let refusal = |share: &Result<Share, String>| match share {
        Ok(_) => Ok(Share::default()),
        Err(text) => Err(text.clone()),
    };
    shares.iter().map(refusal).collect()
}

/// Waits for all others; sets the count back.
fn await_count(count: &AtomicUsize, others: usize) {
    while count.load(Ordering::Acquire) < others {
        thread::yield_now();
    }
    count.store(0, Ordering::Release);
}
