//! Chains: operations of several jobs on each input, one after another, where the output of a stage
//! is the message or the signature of a later one. The clock is read between stages.

use std::thread;

use sha2::{Digest, Sha256};

use crate::bytes::Bytes;
use crate::job::caught;
use crate::protocol::{Chain, Fields};
use crate::runs::{Answer, Crew, Group, Share};
use crate::timing::{self, Start, Ticks};

/// A stage of a chain in one thread: prepared inputs, those of earlier stages left open.
pub type Prepare<'a> = dyn Fn(usize, &[Fields]) -> Result<Box<dyn Group>, String> + Sync + 'a;

/// Some inputs that went through the chain together: the thread, the position of the first, the
/// ticks from before the first stage to behind the last, and of each stage its own with the digest
/// of its outputs.
pub struct Link {
    pub thread: usize,
    pub first: usize,
    pub ticks: Ticks,
    pub stages: Result<Vec<(u64, [u8; 32])>, String>,
}

/// The links of one pass, thread after thread, and the time from the common start of all threads
/// to the end of the last.
pub struct Pass {
    pub links: Vec<Link>,
    pub wall: u64,
}

/// Passes over all inputs, of which stage number `s` was prepared from `fields[s]`.
///
/// # Errors
/// That of `prepare`.
pub fn measure(
    prepare: &Prepare<'_>,
    fields: &[&[Fields]],
    chain: &Chain,
) -> Result<Vec<Pass>, String> {
    let crew = Crew::new(chain.threads as usize);
    let member = |thread: usize| {
        let positions = positions(fields[0].len(), thread, crew.threads);
        let groups: Vec<&[usize]> = positions.chunks(chain.group()).collect();
        let reading = timing::cpu_reading_cost();
        let mut passes = Vec::new();
        // The warm-up is a pass too, which ends when its time is over: inputs go through once.
        for number in 0..=chain.passes {
            let made = caught(|| Line::prepare(prepare, fields, chain));
            let refusal = made.as_ref().err().cloned();
            // All go on, or all give up.
            let shares = crew.hand_in(thread, refusal.map_or(Ok(Share::default()), Err));
            let mut line = made?;
            if let Some(text) = shares.into_iter().find_map(Result::err) {
                return Err(text);
            }
            if number == 0 {
                let begin = timing::wall();
                let warm = |_: &&&[usize]| timing::wall().saturating_sub(begin) < chain.warmup;
                groups
                    .iter()
                    .take_while(warm)
                    .for_each(|items| drop(line.perform(items)));
                continue;
            }
            let (done, whole) = crew.together(thread, || {
                groups
                    .iter()
                    .map(|items| line.perform(items))
                    .collect::<Vec<_>>()
            });
            let links = groups
                .iter()
                .zip(done)
                .map(|(items, (ticks, stages))| Link {
                    thread,
                    first: items[0],
                    ticks: Ticks {
                        cpu: ticks.cpu.saturating_sub(reading),
                        ..ticks
                    },
                    stages: stages.map(|made| made.iter().map(Made::digested).collect()),
                });
            passes.push(Pass {
                links: links.collect(),
                wall: whole.wall,
            });
        }
        Ok(passes)
    };
    thread::scope(|scope| {
        let member = &member;
        let others: Vec<_> = (1..crew.threads)
            .map(|thread| scope.spawn(move || member(thread)))
            .collect();
        let mut passes = member(0)?;
        for other in others {
            let more = other.join().map_err(|_| "a thread of the chain ended")??;
            for (pass, more) in passes.iter_mut().zip(more) {
                pass.links.extend(more.links);
            }
        }
        Ok(passes)
    })
}

/// All positions, those of a thread begun apart from those of the others, as in runs.
fn positions(inputs: usize, thread: usize, threads: usize) -> Vec<usize> {
    let first = thread * (inputs / threads);
    (first..first + inputs)
        .map(|place| place % inputs)
        .collect()
}

/// What a stage made of some inputs, and how long it took.
struct Made {
    wall: u64,
    outputs: Vec<Answer>,
}

impl Made {
    fn digested(&self) -> (u64, [u8; 32]) {
        let mut hash = Sha256::new();
        for output in self.outputs.iter().flatten() {
            hash.update(output.digested());
        }
        (self.wall, hash.finalize().into())
    }
}

/// A chain with its inputs prepared, which go through it once.
struct Line {
    groups: Vec<Box<dyn Group>>,
    /// Of each stage how many inputs a call takes; 0 for single calls.
    batches: Vec<usize>,
    /// Of each stage the places that its outputs fill, by position of the input.
    fills: Vec<Vec<Vec<Bytes>>>,
}

impl Line {
    fn prepare(prepare: &Prepare<'_>, fields: &[&[Fields]], chain: &Chain) -> Result<Self, String> {
        let mut fills = vec![Vec::new(); chain.stages.len()];
        let mut groups = Vec::new();
        for (number, stage) in chain.stages.iter().enumerate() {
            let mut inputs = fields[number].to_vec();
            for (source, field) in stage.sources() {
                let open: Vec<Bytes> = inputs.iter().map(|_| Bytes::default()).collect();
                for (input, bytes) in inputs.iter_mut().zip(&open) {
                    *field(input) = Some(bytes.clone());
                }
                fills[source].push(open);
            }
            groups.push(prepare(number, &inputs)?);
        }
        let batches = chain
            .stages
            .iter()
            .map(|stage| stage.batch as usize)
            .collect();
        Ok(Self {
            groups,
            batches,
            fills,
        })
    }

    /// Sends some inputs through all stages.
    fn perform(&mut self, items: &[usize]) -> (Ticks, Result<Vec<Made>, String>) {
        let start = Start::now();
        let done = caught(|| {
            let mut made = Vec::with_capacity(self.groups.len());
            for (number, group) in self.groups.iter_mut().enumerate() {
                let (mut wall, mut outputs) = (0, Vec::with_capacity(items.len()));
                let size = match self.batches[number] {
                    0 => items.len(),
                    size => size,
                };
                for call in items.chunks(size) {
                    let begin = timing::wall();
                    group.perform(call);
                    wall += timing::wall().saturating_sub(begin);
                    outputs.extend(group.outputs(call));
                }
                for open in &self.fills[number] {
                    for (&item, output) in items.iter().zip(&outputs) {
                        let output = output.as_ref().map_err(Clone::clone)?;
                        open[item].fill(output.digested().to_vec());
                    }
                }
                made.push(Made { wall, outputs });
            }
            Ok(made)
        });
        let ticks = start.elapsed();
        let refused = |made: Vec<Made>| {
            let failure = made
                .iter()
                .flat_map(|made| &made.outputs)
                .find_map(|o| o.as_ref().err());
            failure.cloned().map_or(Ok(made), Err)
        };
        (ticks, done.and_then(refused))
    }
}
