//! Traces, a chunk of jobs at a time.

use std::collections::{HashMap, HashSet};

use mldsa_lanes::batch::{self, SignJob};
use mldsa_lanes::{Attempt, Backend, Checks, Error, ParameterSet, SigningKey};

use crate::jobs::Jobs;
use crate::{Failure, Out};

/// Jobs in a chunk, at most: the few attempts at a chunk's end that leave lanes idle cost nothing
/// then.
const JOBS: usize = 1024;
/// Keys in memory at a time, at most: 4 to 8 KiB each.
const KEYS: usize = 256;

/// What is to be traced.
pub(crate) struct Request<'a> {
    pub(crate) seeds: &'a [[u8; 32]],
    /// One for each job.
    pub(crate) key_of: &'a [u32],
    pub(crate) jobs: Jobs<'a>,
    pub(crate) checks: Checks,
}

impl Request<'_> {
    /// Whether there is every key, and the jobs are well-formed.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let keys = self.seeds.len();
        if self.key_of.iter().any(|key| *key as usize >= keys) {
            return Err(Failure::Key);
        }
        self.jobs.check()
    }

    /// Where the chunk that begins at job `start` ends, and its keys, each once.
    fn chunk(&self, start: usize) -> (usize, HashSet<u32>) {
        let mut keys = HashSet::new();
        let mut end = start;
        for key in self.key_of[start..].iter().take(JOBS) {
            if keys.len() == KEYS && !keys.contains(key) {
                break;
            }
            keys.insert(*key);
            end += 1;
        }
        (end, keys)
    }
}

/// Writes the codes of all attempts as far as there is room, and where each job's end. Returns how
/// many there are.
pub(crate) fn run<P: ParameterSet>(
    request: &Request<'_>,
    codes: &mut [Out<u16>],
    code_ends: &mut [Out<u64>],
) -> Result<usize, Failure> {
    let mut keys = Keys::<P>::default();
    let mut told = Vec::new();
    let mut ends = Vec::new();
    let (mut start, mut total) = (0, 0);
    while start < request.key_of.len() {
        let (end, needed) = request.chunk(start);
        keys.have(request.seeds, &needed);
        let jobs: Vec<_> = (start..end)
            .map(|job| SignJob {
                key: (&keys.0[&request.key_of[job]]).into(),
                input: request.jobs.input(job),
                rnd: request.jobs.rnd(job),
            })
            .collect();
        told.clear();
        let tell = |job, attempt| told.push((job, code(&attempt)));
        for result in batch::trace(&jobs, request.checks, tell) {
            result.map_err(|error| match error {
                Error::TooManyAttempts { .. } => Failure::Attempts,
                _ => Failure::Internal,
            })?;
        }
        ends.clear();
        ends.resize(jobs.len(), 0);
        for (job, _) in &told {
            ends[*job] += 1;
        }
        for (end, count) in code_ends[start..].iter_mut().zip(&mut ends) {
            let begin = total;
            total += *count;
            end.write(total as u64);
            // Where its next code goes.
            *count = begin;
        }
        for (job, code) in &told {
            if let Some(place) = codes.get_mut(ends[*job]) {
                place.write(*code);
            }
            ends[*job] += 1;
        }
        start = end;
    }
    Ok(total)
}

/// Four half-bytes, the lowest for z: the first polynomial that fails, 15 where none does.
fn code(attempt: &Attempt) -> u16 {
    let halves = attempt.first_failing.iter().rev();
    halves.fold(0, |code, first| code << 4 | u16::from(first & 15))
}

/// Keys by number, made when they are needed.
struct Keys<P: ParameterSet>(HashMap<u32, SigningKey<P>>);

impl<P: ParameterSet> Default for Keys<P> {
    fn default() -> Self {
        Keys(HashMap::new())
    }
}

impl<P: ParameterSet> Keys<P> {
    /// Sees to it that the needed keys are there, at most [`KEYS`], and no others.
    fn have(&mut self, seeds: &[[u8; 32]], needed: &HashSet<u32>) {
        self.0.retain(|key, _| needed.contains(key));
        let known = |key: &&u32| !self.0.contains_key(*key);
        let missing: Vec<u32> = needed.iter().filter(known).copied().collect();
        let seeds: Vec<[u8; 32]> = missing.iter().map(|key| seeds[*key as usize]).collect();
        let made = batch::keygen::<P>(Backend::detect(), &seeds);
        self.0.extend(missing.into_iter().zip(made));
    }
}
