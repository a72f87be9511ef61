//! Verification with the lanes filled across jobs. Everything here is public.
//!
//! Jobs are taken in groups of as many as there are Keccak states, those whose signatures are
//! malformed being left out. Rows of Â of compact keys are sampled and used one after another; a
//! key that goes on into the next group is kept expanded instead.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::rows::Rows;
use super::{VerifyJob, VerifyWith, boxed, vec_from_fn};
use crate::ParameterSet;
use crate::backend::Engine;
use crate::error::Error;
use crate::kernels::poly::{Poly, Zero};
use crate::keys::VerifyingKey;
use crate::scheme::encode;
use crate::scheme::hash_each;
use crate::scheme::message::MuSource;
use crate::scheme::verify::{Claim, Material, RowMemory, t1_hat};

/// A well-formed signature.
struct Candidate<P: ParameterSet> {
    job: usize,
    tr: [u8; 64],
    mu: [u8; 64],
    /// Whether mu was made for another key.
    mu_of_another: bool,
    claim: Claim<P>,
}

impl<P: ParameterSet> Candidate<P> {
    fn zero() -> Self {
        Candidate {
            job: 0,
            tr: [0; 64],
            mu: [0; 64],
            mu_of_another: false,
            claim: Claim::ZERO,
        }
    }
}

/// Candidates next to each other with one compact key.
struct Run<'a, P: ParameterSet> {
    key: &'a VerifyingKey<P>,
    candidates: core::ops::Range<usize>,
    tr: [u8; 64],
}

/// The last compact key of a group.
struct Last<'a, P: ParameterSet> {
    key: &'a VerifyingKey<P>,
    tr: [u8; 64],
    /// Expanded, if the next group needs it too.
    material: Option<Box<Material<P>>>,
}

/// Memory in bytes: for each job in flight; for each if the keys are compact; once for such keys.
#[cfg(all(test, mldsa_inside))]
pub(super) fn memory<P: ParameterSet>() -> [usize; 3] {
    [
        size_of::<Candidate<P>>() + size_of::<(MuSource<'_>, Run<'_, P>)>(),
        Rows::<P>::BYTES_PER_ROW,
        size_of::<Material<P>>(),
    ]
}

/// Verifies the jobs at the positions in `order`, all with keys of `e`'s backend. Writes the
/// results that are not [`Error::InvalidSignature`], which all of them hold before.
pub(crate) fn run<'a, P: ParameterSet, E: Engine>(
    e: E,
    jobs: &[VerifyJob<'a, P>],
    order: &[usize],
    results: &mut [Result<(), Error>],
) {
    let mut candidates = vec_from_fn(E::STATES.min(order.len()), Candidate::<P>::zero);
    let mut group = Group {
        jobs,
        rows: None,
        last: None,
        room: RowMemory::zero(),
    };
    let mut order = order.iter();
    loop {
        let mut sources = Vec::with_capacity(E::STATES);
        while sources.len() < candidates.len()
            && let Some(job) = order.next()
        {
            let candidate = &mut candidates[sources.len()];
            candidate.job = *job;
            let VerifyJob {
                input, signature, ..
            } = &jobs[*job];
            match input.mu_source::<P>(e.permutation()) {
                Err(error) => results[*job] = Err(error),
                Ok(source) => {
                    if candidate.claim.decode(e, &signature.0) {
                        sources.push(source);
                    }
                }
            }
        }
        if sources.is_empty() {
            return;
        }
        let next = order.as_slice().first().map(|job| &jobs[*job].key);
        let candidates = &mut candidates[..sources.len()];
        group.verify(e, candidates, &sources, next, results);
    }
}

struct Group<'j, 'a, P: ParameterSet> {
    jobs: &'j [VerifyJob<'a, P>],
    /// Made when a compact key comes.
    rows: Option<Rows<P>>,
    last: Option<Last<'a, P>>,
    /// Room for a row.
    room: RowMemory,
}

impl<'a, P: ParameterSet> Group<'_, 'a, P> {
    /// Steps 6 to 13 for a group; `next` is the key of the job after it.
    fn verify<E: Engine>(
        &mut self,
        e: E,
        candidates: &mut [Candidate<P>],
        sources: &[MuSource<'_>],
        next: Option<&VerifyWith<'a, P>>,
        results: &mut [Result<(), Error>],
    ) {
        let runs = self.runs(e, candidates);
        self.representatives(e, candidates, sources, results);
        self.challenges(e, candidates);
        self.given_rows(e, candidates);
        self.sampled_rows(e, candidates, runs, next);
        let strings = candidates.iter().filter(|c| !c.mu_of_another);
        let strings = strings.map(|c| ([c.mu.as_slice(), c.claim.w1()], c.job));
        // Algorithm 8, steps 12 and 13.
        hash_each(e, strings, |job, reader| {
            if Claim::<P>::holds(reader, &self.jobs[job].signature.0) {
                results[job] = Ok(());
            }
        });
    }

    /// The runs of compact keys, with tr of each (step 6), which the candidates get too.
    fn runs<E: Engine>(&mut self, e: E, candidates: &mut [Candidate<P>]) -> Vec<Run<'a, P>> {
        let mut runs: Vec<Run<'a, P>> = Vec::with_capacity(candidates.len());
        for (i, candidate) in candidates.iter_mut().enumerate() {
            match &self.jobs[candidate.job].key {
                VerifyWith::Expanded(key) => candidate.tr = key.material.tr,
                VerifyWith::Compact(key) => match runs.last_mut() {
                    Some(run) if run.candidates.end == i && same(run.key, key) => {
                        run.candidates.end += 1;
                    }
                    _ => runs.push(Run {
                        key,
                        candidates: i..i + 1,
                        tr: [0; 64],
                    }),
                },
            }
        }
        let last = self.last.as_ref();
        let strings = runs.iter_mut().filter_map(|run| match last {
            Some(last) if same(last.key, run.key) => {
                run.tr = last.tr;
                None
            }
            _ => Some(([run.key.pk.as_ref()], &mut run.tr)),
        });
        // Algorithm 8, step 6.
        hash_each(e, strings, |tr, reader| reader.squeeze(tr));
        for run in &runs {
            for candidate in &mut candidates[run.candidates.clone()] {
                candidate.tr = run.tr;
            }
        }
        runs
    }

    /// Step 7.
    fn representatives<E: Engine>(
        &self,
        e: E,
        candidates: &mut [Candidate<P>],
        sources: &[MuSource<'_>],
        results: &mut [Result<(), Error>],
    ) {
        for (candidate, source) in candidates.iter_mut().zip(sources) {
            let checked = source.check_key(&candidate.tr);
            candidate.mu_of_another = checked.is_err();
            if checked.is_err() {
                results[candidate.job] = checked;
            }
        }
        let pairs = candidates.iter_mut().zip(sources);
        let strings = pairs.filter_map(|(Candidate { tr, mu, .. }, source)| match source {
            MuSource::Known(known) => {
                *mu = *known.as_bytes();
                None
            }
            MuSource::Hash(m_prime) => Some((m_prime.after(tr), mu)),
        });
        // Algorithm 8, step 7.
        hash_each(e, strings, |mu, reader| reader.squeeze(mu));
    }

    /// Step 8 and the transform of c.
    fn challenges<E: Engine>(&self, e: E, candidates: &mut [Candidate<P>]) {
        let strings = candidates.iter_mut().map(|Candidate { job, claim, .. }| {
            let signature = self.jobs[*job].signature.0.as_ref();
            ([encode::c_tilde_of::<P>(signature)], claim)
        });
        // Algorithm 8, step 8.
        hash_each(e, strings, |claim, reader| claim.challenge(e, reader));
    }

    /// w1 where the caller gave the expanded key.
    fn given_rows<E: Engine>(&mut self, e: E, candidates: &mut [Candidate<P>]) {
        for candidate in candidates {
            if let VerifyWith::Expanded(key) = &self.jobs[candidate.job].key {
                for (number, key_row) in key.material.rows().enumerate() {
                    candidate.claim.row(e, number, key_row, &mut self.room);
                }
            }
        }
    }

    /// w1 of the others.
    fn sampled_rows<E: Engine>(
        &mut self,
        e: E,
        candidates: &mut [Candidate<P>],
        mut runs: Vec<Run<'a, P>>,
        next: Option<&VerifyWith<'a, P>>,
    ) {
        let Some(tail) = runs.last() else { return };
        let goes_on = matches!(next, Some(VerifyWith::Compact(key)) if same(key, tail.key));
        let (tail_key, tail_tr) = (tail.key, tail.tr);
        let mut last = self.last.take();
        // The first run with the key that was kept.
        if let Some(Last {
            key,
            material: Some(material),
            ..
        }) = &last
            && same(key, runs[0].key)
        {
            let run = runs.remove(0);
            self.kept_rows(e, &mut candidates[run.candidates], material);
        }
        if goes_on && let Some(run) = runs.pop() {
            let mut material = boxed(|| Material::ZERO);
            material.fill(e, run.key.pk.as_ref());
            self.kept_rows(e, &mut candidates[run.candidates], &material);
            last = Some(Last {
                key: run.key,
                tr: run.tr,
                material: Some(material),
            });
        } else if !(goes_on && last.is_some()) {
            last = Some(Last {
                key: tail_key,
                tr: tail_tr,
                material: None,
            });
        }
        self.last = last;
        if runs.is_empty() {
            return;
        }
        let rhos: Vec<&[u8; 32]> = runs
            .iter()
            .map(|run| encode::rho_of(run.key.pk.as_ref()))
            .collect();
        let room = &mut self.room;
        let rows = self.rows.get_or_insert_with(Rows::new::<E>);
        let mut t1 = Poly::zero();
        // Algorithm 8, step 5.
        rows.expand(e, &rhos, |number, row, a_row| {
            let Run {
                key,
                candidates: places,
                ..
            } = &runs[number];
            // Algorithm 8, step 1.
            t1_hat(e, key.pk.as_ref(), row, &mut t1);
            for candidate in &mut candidates[places.clone()] {
                candidate.claim.row(e, row, (a_row, &t1), room);
            }
        });
    }

    fn kept_rows<E: Engine>(
        &mut self,
        e: E,
        candidates: &mut [Candidate<P>],
        material: &Material<P>,
    ) {
        for candidate in candidates {
            for (number, key_row) in material.rows().enumerate() {
                candidate.claim.row(e, number, key_row, &mut self.room);
            }
        }
    }
}

/// Whether two public keys are equal.
fn same<P: ParameterSet>(a: &VerifyingKey<P>, b: &VerifyingKey<P>) -> bool {
    core::ptr::eq(a, b) || a.pk == b.pk
}
