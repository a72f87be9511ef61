//! Traces, a chunk of jobs at a time.

use std::collections::HashMap;

use mldsa_lanes::batch::{self, SignJob, SignWith};
use mldsa_lanes::hazmat::with_rnd;
use mldsa_lanes::{Backend, Error, ParameterSet, SigningKey};

use super::jobs::{Jobs, Keys};
use super::{Failure, Out};
use crate::{Attempt, Checks};

/// Jobs in a chunk, at most: so many that a key's generation for each chunk costs nothing.
const JOBS: usize = 1024;
/// Keys in a chunk, at most: 26, 44 or 75 KiB each. So many that the attempts at a chunk's end, which
/// leave lanes idle, cost little; so few that the keys stay in caches.
const KEYS: usize = 32;

/// What is to be traced.
pub(crate) struct Request<'a> {
    pub(crate) keys: Keys<'a>,
    /// One for each job.
    pub(crate) key_of: &'a [u32],
    pub(crate) jobs: Jobs<'a>,
    pub(crate) checks: Checks,
}

impl Request<'_> {
    /// Whether there is every key, and the jobs are well-formed.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let keys = self.keys.count();
        if self.key_of.iter().any(|key| *key as usize >= keys) {
            return Err(Failure::KeyNumber);
        }
        self.jobs.check()
    }

    /// The chunk that begins at job `start`.
    fn chunk(&self, start: usize) -> Chunk {
        let mut places = HashMap::new();
        let mut chunk = Chunk::default();
        for key in self.key_of[start..].iter().take(JOBS) {
            let place = match places.get(key) {
                Some(place) => *place,
                None if chunk.keys.len() == KEYS => break,
                None => {
                    let place = chunk.keys.len();
                    chunk.keys.push(*key as usize);
                    places.insert(*key, place);
                    place
                }
            };
            chunk.key_of.push(place);
        }
        chunk
    }
}

/// Jobs next to each other.
#[derive(Default)]
struct Chunk {
    /// Their keys' numbers, each once.
    keys: Vec<usize>,
    /// One of them for each job.
    key_of: Vec<usize>,
}

/// [`run`] of a parameter set.
pub(crate) type Run = fn(&Request<'_>, &mut [Out<u16>], &mut [Out<u64>]) -> Result<usize, Failure>;

/// Writes the codes of all attempts as far as there is room, and where each job's end. Returns how
/// many there are.
pub(crate) fn run<P: ParameterSet>(
    request: &Request<'_>,
    codes: &mut [Out<u16>],
    code_ends: &mut [Out<u64>],
) -> Result<usize, Failure> {
    let mut expanded = Vec::new();
    let mut told = Vec::new();
    let mut ends = Vec::new();
    let (mut start, mut total) = (0, 0);
    while start < request.key_of.len() {
        let chunk = request.chunk(start);
        let boxed: Vec<_>;
        let keys: Vec<SignWith<'_, P>> = if let Keys::Seeds(seeds) = request.keys {
            let seeds: Vec<_> = chunk.keys.iter().map(|number| seeds[*number]).collect();
            batch::keygen_expanded::<P>(Backend::detect(), &seeds, &mut expanded);
            expanded.iter().map(SignWith::from).collect()
        } else {
            let keys = request.keys.make::<P>(chunk.keys.iter().copied())?;
            boxed = keys.iter().map(SigningKey::expand).collect();
            boxed.iter().map(SignWith::from).collect()
        };
        let places = chunk.key_of.iter().zip(start..);
        let jobs: Vec<_> = places
            .map(|(place, job)| SignJob {
                key: keys[*place],
                input: request.jobs.input(job),
            })
            .collect();
        let rnds = request.jobs.rnds(start..start + jobs.len());
        told.clear();
        let tell = |job, attempt| told.push((job, code(&attempt)));
        let results = crate::trace(&jobs, with_rnd(&rnds), request.checks, tell);
        for result in results.map_err(|_| Failure::Internal)? {
            result.map_err(|error| match error {
                Error::TooManyAttempts { .. } => Failure::Iterations,
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
        start += jobs.len();
    }
    Ok(total)
}

/// Four half-bytes, the lowest for z: the first polynomial that fails, 15 where none does.
fn code(attempt: &Attempt) -> u16 {
    let halves = attempt.first_failing.iter().rev();
    halves.fold(0, |code, first| code << 4 | u16::from(first & 15))
}
