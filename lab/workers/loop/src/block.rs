//! Blocks: every input of a job once, shared out to threads and timed as a whole.

use std::hint::black_box;
use std::thread;

use crate::job::caught;
use crate::protocol::{Block, Fields};
use crate::runs::{Answer, Crew, Group, Sample, Share, whole};
use crate::timing;

/// The most bytes that may be read before a pass: caches of two gigabytes and more are none of a
/// machine for which blocks are of interest.
pub const MAX_COLD: u64 = 8 << 30;

/// Bytes between two places of the memory that is read to displace everything from caches: no
/// cache in use has shorter lines.
const LINE: usize = 64;

/// `passes` samples of a block over all `fields`, which are at least one.
///
/// `prepare` is called in every thread with the inputs of its share.
///
/// # Errors
/// That of `prepare`.
pub fn measure(
    prepare: &(impl Fn(&[Fields]) -> Result<Box<dyn Group>, String> + Sync),
    fields: &[Fields],
    block: &Block,
) -> Result<Vec<Sample>, String> {
    let crew = Crew::new(block.threads as usize);
    // Written, since pages that never were may all be one page of zeros.
    let displacing = vec![1_u8; block.cold as usize];
    let member = |thread: usize| {
        let visits = visits(fields.len(), block, thread);
        // Prepared in the job's order, in which inputs of one key follow each other.
        let mut own = visits.clone();
        own.sort_unstable();
        let inputs: Vec<Fields> = own.iter().map(|&place| fields[place].clone()).collect();
        let item = |place| own.binary_search(place).expect("a thread's own place");
        let items: Vec<usize> = visits.iter().map(item).collect();
        let prepared = caught(|| prepare(&inputs));
        let refusal = prepared.as_ref().err().cloned();
        // All go on, or all give up.
        let shares = crew.hand_in(thread, refusal.map_or(Ok(Share::default()), Err));
        let mut group = prepared?;
        if let Some(text) = shares.into_iter().find_map(Result::err) {
            return Err(text);
        }
        let reading = timing::cpu_reading_cost();
        let mut samples = Vec::new();
        // The first pass is not kept: it pays for page faults and tables that are filled late.
        for pass in 0..=block.passes {
            displace(&displacing);
            let (done, ticks) = crew.together(thread, || {
                caught(|| Ok(perform(group.as_mut(), &items, block.batch as usize)))
            });
            let share = done.and_then(|done| {
                let outputs = caught(|| done.all(group.as_mut()))?;
                Ok(Share {
                    cpu: ticks.cpu.saturating_sub(reading),
                    outputs,
                })
            });
            let shares = crew.hand_in(thread, share);
            if thread == 0 && pass > 0 {
                samples.push(Sample {
                    first: 0,
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

/// Whether steps of this length visit all of so many inputs.
pub fn visits_all(inputs: u64, stride: u64) -> bool {
    let (mut a, mut b) = (inputs, stride);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

/// The positions that a thread performs, in its order: a part of the whole block's, in which
/// number j is at j times the stride. Of parts that cannot be equal the first are one longer.
fn visits(inputs: usize, block: &Block, thread: usize) -> Vec<usize> {
    let threads = block.threads as usize;
    let first = |thread: usize| thread * (inputs / threads) + thread.min(inputs % threads);
    // In 128 bits, which no two numbers of the protocol overflow.
    let place = |turn: usize| (turn as u128 * u128::from(block.stride) % inputs as u128) as usize;
    (first(thread)..first(thread + 1)).map(place).collect()
}

/// Reads memory twice, so that caches which keep what was used more than once give way too.
fn displace(memory: &[u8]) {
    for _ in 0..2 {
        black_box(
            // Unknown each time, so that one pass does not serve for both.
            black_box(memory)
                .iter()
                .step_by(LINE)
                .map(|&byte| u64::from(byte))
                .sum::<u64>(),
        );
    }
}

/// What was performed: the results of all calls but the last, which the group still has.
struct Done<'a> {
    before: Vec<Answer>,
    last: &'a [usize],
}

impl Done<'_> {
    /// The bytes of all results, one after another; the first failure, if there is one.
    fn all(self, group: &mut dyn Group) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        for answer in self.before.into_iter().chain(group.outputs(self.last)) {
            bytes.extend_from_slice(answer?.digested());
        }
        Ok(bytes)
    }
}

/// Performs a thread's share by single calls (`batch` 0), or by calls of at most so many.
fn perform<'a>(group: &mut dyn Group, items: &'a [usize], batch: usize) -> Done<'a> {
    let mut before = Vec::with_capacity(items.len());
    let mut last: &[usize] = &[];
    let size = if batch == 0 { items.len() } else { batch };
    for call in items.chunks(size.max(1)) {
        if !last.is_empty() {
            before.extend(group.outputs(last));
        }
        group.perform(call);
        last = call;
    }
    Done { before, last }
}
