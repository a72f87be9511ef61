//! What the jobs of a call sign.

use std::borrow::Cow;
use std::ops::Range;

use mldsa_lanes::{Backend, Context, Input, ParameterSet, SigningKey, batch};

use super::Failure;

/// Most bytes of a context.
const CONTEXT_BYTES: usize = 255;

/// Keys in one of the forms of the header.
#[derive(Clone, Copy)]
pub(crate) enum Keys<'a> {
    Seeds(&'a [[u8; 32]]),
    /// As `skEncode` writes them, `size` bytes each.
    Private {
        bytes: &'a [u8],
        size: usize,
    },
}

impl Keys<'_> {
    pub(crate) fn count(&self) -> usize {
        match self {
            Keys::Seeds(seeds) => seeds.len(),
            Keys::Private { bytes, size } => bytes.len() / size,
        }
    }

    /// These keys, in this order.
    pub(crate) fn make<P: ParameterSet>(
        &self,
        numbers: impl Iterator<Item = usize>,
    ) -> Result<Vec<SigningKey<P>>, Failure> {
        match self {
            Keys::Seeds(seeds) => {
                let seeds: Vec<_> = numbers.map(|number| seeds[number]).collect();
                Ok(batch::keygen(Backend::detect(), &seeds))
            }
            Keys::Private { bytes, size } => numbers
                .map(|number| SigningKey::from_encoded_bytes(&bytes[number * size..][..*size]))
                .collect::<Result<_, _>>()
                .map_err(|_| Failure::Key),
        }
    }
}

/// Messages, contexts and rnd of jobs.
pub(crate) struct Jobs<'a> {
    pub(crate) data: &'a [u8],
    /// Two for each job: where its message ends in `data`, and its context.
    pub(crate) ends: &'a [u64],
    /// Nothing: zeros.
    pub(crate) rnd: Option<&'a [[u8; 32]]>,
}

impl<'a> Jobs<'a> {
    /// Whether the ends rise and no context is too long.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if !self.ends.is_sorted() {
            return Err(Failure::Ends);
        }
        let too_long = |pair: &[u64; 2]| pair[1] - pair[0] > CONTEXT_BYTES as u64;
        if self.ends.as_chunks::<2>().0.iter().any(too_long) {
            return Err(Failure::Context);
        }
        Ok(())
    }

    pub(crate) fn input(&self, job: usize) -> Input<'a> {
        let start = if job == 0 { 0 } else { self.end(2 * job - 1) };
        let (middle, end) = (self.end(2 * job), self.end(2 * job + 1));
        Input::Pure {
            message: &self.data[start..middle],
            context: Context::new(&self.data[middle..end]).expect("checked"),
        }
    }

    pub(crate) fn rnds(&self, jobs: Range<usize>) -> Cow<'a, [[u8; 32]]> {
        match self.rnd {
            None => vec![[0; 32]; jobs.len()].into(),
            Some(rnd) => rnd[jobs].into(),
        }
    }

    /// No end passes the last one, which is a length.
    fn end(&self, number: usize) -> usize {
        self.ends[number] as usize
    }
}
