//! Signing with the lanes filled across jobs.
//!
//! A slot holds a job in flight; there are as many as Keccak states. Each turn carries out one
//! attempt of every job: the masks of all of them in full groups, then for each the arithmetic up to
//! w1, then the hashes side by side, then the checks. A slot whose job has ended takes the next job
//! at once. The last job left goes on alone, in the text of the single call.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use super::given::SignJob;
use super::{SignWith, boxed, hash_each, made};
use crate::ParameterSet;
use crate::backend::Engine;
use crate::error::Error;
use crate::kernels::poly::{Secret, Zero};
use crate::kernels::sampling::Target;
use crate::keys::SigningKey;
use crate::params::MAX_ATTEMPTS;
use crate::scheme::encode::SigningKeyParts;
use crate::scheme::message::MuSource;
use crate::scheme::sample::{counted, first_nonce};
use crate::scheme::sign::{CTilde, Making, Material, Scratch, Shared, Trial, Which, attempts};

/// Jobs whose μ and ρ″ are computed in one go, for each slot. More than one, so that messages of
/// different lengths leave few lanes idle.
const AHEAD: usize = 4;

/// A job whose hashes before the first attempt are done.
struct Pending {
    job: usize,
    mu: [u8; 64],
    rho_second: Secret<[u8; 64]>,
}

/// A job in flight.
struct Slot<'a, P: ParameterSet> {
    /// Nothing: the slot is free.
    job: Option<usize>,
    attempt: u32,
    key: Held<'a, P>,
    making: Making<P>,
}

/// The expanded key of a job in flight.
#[derive(Clone, Copy)]
enum Held<'a, P: ParameterSet> {
    Given(&'a Material<P>),
    /// A place in the pool.
    Made(usize),
}

/// A key expanded here.
struct Made<'a, P: ParameterSet> {
    from: &'a SigningKey<P>,
    /// How many slots use it.
    users: usize,
    material: Material<P>,
}

/// Memory in bytes: for each job in flight; for each if the keys are compact; once.
#[cfg(all(test, mldsa_inside))]
pub(super) fn memory<P: ParameterSet>() -> [usize; 3] {
    let ahead = AHEAD * (size_of::<Pending>() + size_of::<(usize, MuSource<'_>)>());
    let targets = P::L * size_of::<Target<'_, 64>>();
    [
        size_of::<Slot<'_, P>>() + ahead + targets,
        size_of::<Made<'_, P>>(),
        size_of::<Shared>(),
    ]
}

/// Works off the jobs at the positions in `order`, all with keys of `e`'s backend; the result of each is
/// what `keep` makes of the attempt that `accepts` accepts, written where it stays: one that is moved would
/// take along what lay on the stack beside an error. Never tries more than [`MAX_ATTEMPTS`] times for one.
#[inline(never)]
pub(crate) fn run<P: ParameterSet, E: Engine, R>(
    e: E,
    jobs: &[SignJob<'_, P>],
    order: &[usize],
    max_attempts: u32,
    mut accepts: impl FnMut(&Material<P>, Which, &mut Trial<P>, &mut Scratch) -> bool,
    keep: impl Fn(&mut Trial<P>) -> R,
    results: &mut [Result<R, Error>],
) {
    let allowed = max_attempts.min(MAX_ATTEMPTS);
    if allowed == 0 {
        for job in order {
            // A malformed input is told as it is told otherwise.
            let malformed = jobs[*job].source(e).err();
            let none = Error::TooManyAttempts { allowed };
            results[*job] = Err(malformed.unwrap_or(none));
        }
        return;
    }
    let mut queue = Queue::new::<E>(jobs, order);
    let count = E::STATES.min(order.len());
    let mut slots = made(count, Slot::<P>::free);
    let mut pool = Pool::new(count);
    // On the heap, so that what lies on the stack is small enough to be overwritten when it is over.
    let mut shared = boxed(|| Shared::ZERO);
    loop {
        for slot in slots.iter_mut().filter(|slot| slot.job.is_none()) {
            let refuse = &mut |job, error| results[job] = Err(error);
            let Some((job, pending)) = queue.next(e, refuse) else {
                break;
            };
            slot.take(job, pending, pool.hold(e, &jobs[job].key));
        }
        let mut live: Vec<_> = slots.iter_mut().filter(|slot| slot.job.is_some()).collect();
        if live.len() <= 1 && queue.is_empty() {
            break;
        }
        challenges(e, &mut live, &pool, &mut shared);
        for slot in live {
            let Some(which) = slot.which() else { continue };
            let (key, trial) = (pool.get(slot.key), &mut slot.making.trial);
            if accepts(key, which, trial, &mut shared.scratch) {
                results[which.job] = Ok(keep(trial));
            } else if slot.attempt + 1 == allowed {
                results[which.job] = Err(Error::TooManyAttempts { allowed });
            } else {
                // Algorithm 7, step 31.
                slot.attempt += 1;
                continue;
            }
            pool.release(slot.key);
            slot.job = None;
        }
    }
    for slot in &mut slots {
        if let Some(which) = slot.which() {
            let (key, making) = (pool.get(slot.key), &mut slot.making);
            let accepts =
                |which, trial: &mut _, scratch: &mut _| accepts(key, which, trial, scratch);
            results[which.job] =
                match attempts(e, key, which, allowed, making, &mut shared, accepts) {
                    Ok(()) => Ok(keep(&mut making.trial)),
                    Err(error) => Err(error),
                };
        }
    }
}

/// Steps 11 to 16 of the next attempt of jobs in flight, side by side.
fn challenges<P: ParameterSet, E: Engine>(
    e: E,
    slots: &mut [&mut Slot<'_, P>],
    pool: &Pool<'_, P>,
    shared: &mut Shared,
) {
    // Algorithm 7, step 11.
    let mut masks = slots.iter_mut().flat_map(|slot| slot.masks());
    e.mask::<P>(&mut masks, shared.masks.bytes::<E>(), None);
    drop(masks);
    for slot in &mut *slots {
        // Algorithm 7, steps 12 and 13.
        let key = pool.get(slot.key);
        let trial = &mut slot.making.trial;
        let y_hat = shared.masks.transform(e, trial.z.as_ref());
        trial.commit(e, key, y_hat);
    }
    let strings = slots.iter_mut().map(|slot| {
        let (w1, c_tilde) = slot.making.trial.committed();
        ([slot.making.mu.as_slice(), w1], c_tilde)
    });
    // Algorithm 7, step 15.
    hash_each(e, strings, CTilde::set);
    let strings = slots.iter_mut().map(|slot| {
        let (c_tilde, offsets) = slot.making.trial.challenge();
        ([c_tilde], offsets)
    });
    // Algorithm 7, step 16.
    hash_each(e, strings, |offsets, reader| offsets.sample::<P>(reader));
}

impl<'a, P: ParameterSet> Slot<'a, P> {
    fn free() -> Self {
        Slot {
            job: None,
            attempt: 0,
            key: Held::Made(0),
            making: Making::ZERO,
        }
    }

    fn take(&mut self, job: usize, pending: &Pending, key: Held<'a, P>) {
        self.job = Some(job);
        self.attempt = 0;
        self.key = key;
        self.making.mu.0 = pending.mu;
        let rho_second = &mut self.making.rho_second;
        rho_second.copy_from_slice(pending.rho_second.as_ref());
    }

    fn which(&self) -> Option<Which> {
        let attempt = self.attempt;
        self.job.map(|job| Which { job, attempt })
    }

    /// Step 11: what ExpandMask (Algorithm 34) samples for the next attempt.
    fn masks(&mut self) -> impl Iterator<Item = Target<'_, 64>> {
        let first = first_nonce::<P>(self.attempt).into();
        let Making {
            rho_second, trial, ..
        } = &mut self.making;
        counted(rho_second, first, trial.z.as_mut().iter_mut())
    }
}

/// Jobs not yet in flight.
struct Queue<'a, 'j, P: ParameterSet> {
    jobs: &'a [SignJob<'j, P>],
    /// Positions of the jobs that are not yet pending.
    order: &'a [usize],
    pending: Vec<Pending>,
    /// How many of `pending` have been given out, and how many are filled.
    given: usize,
    filled: usize,
}

impl<'a, 'j, P: ParameterSet> Queue<'a, 'j, P> {
    fn new<E: Engine>(jobs: &'a [SignJob<'j, P>], order: &'a [usize]) -> Self {
        let mut pending = Vec::new();
        pending.resize_with((AHEAD * E::STATES).min(order.len()), || Pending {
            job: 0,
            mu: [0; 64],
            rho_second: Secret::zero(),
        });
        Queue {
            jobs,
            order,
            pending,
            given: 0,
            filled: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.given == self.filled && self.order.is_empty()
    }

    /// The next job whose input is well-formed; `refuse` gets the others.
    fn next<E: Engine>(
        &mut self,
        e: E,
        refuse: &mut impl FnMut(usize, Error),
    ) -> Option<(usize, &Pending)> {
        while self.given == self.filled {
            if self.order.is_empty() {
                return None;
            }
            self.prepare(e, refuse);
        }
        let pending = &self.pending[self.given];
        self.given += 1;
        Some((pending.job, pending))
    }

    /// μ and ρ″ (steps 6 and 7) of the next jobs.
    fn prepare<E: Engine>(&mut self, e: E, refuse: &mut impl FnMut(usize, Error)) {
        let (now, later) = self
            .order
            .split_at(self.pending.len().min(self.order.len()));
        self.order = later;
        let mut sources = Vec::with_capacity(now.len());
        for job in now {
            match self.jobs[*job].source(e) {
                Ok(source) => sources.push((*job, source)),
                Err(error) => refuse(*job, error),
            }
        }
        (self.given, self.filled) = (0, sources.len());
        let pending = &mut self.pending[..sources.len()];
        let jobs = self.jobs;
        let strings = sources.iter().zip(&mut *pending);
        let strings = strings.filter_map(|((job, source), pending)| {
            pending.job = *job;
            match source {
                MuSource::Known(mu) => {
                    pending.mu = *mu.as_bytes();
                    None
                }
                MuSource::Hash(m_prime) => {
                    Some((m_prime.after(jobs[*job].key.tr()), &mut pending.mu))
                }
            }
        });
        // Algorithm 7, step 6.
        hash_each(e, strings, |mu, reader| reader.squeeze(mu));
        // A source that does not fill its place was moved there with what lay on the stack beside it:
        // secrets of the jobs before.
        sources.clear();
        let places = sources.spare_capacity_mut();
        places.fill_with(MaybeUninit::zeroed);
        zeroize::optimization_barrier(places);
        // Algorithm 7, step 7.
        let strings = pending.iter_mut().map(|pending| {
            let SignJob { key, rnd, .. } = &jobs[pending.job];
            let parts = [key.k(), *rnd, &pending.mu];
            (parts, &mut pending.rho_second)
        });
        hash_each(e, strings, |rho_second, reader| {
            reader.squeeze(rho_second.as_mut())
        });
    }
}

impl<'a, P: ParameterSet> SignJob<'a, P> {
    /// The input, for the key.
    fn source<E: Engine>(&self, e: E) -> Result<MuSource<'a>, Error> {
        let source = self.input.mu_source::<P>(e.permutation())?;
        source.check_key(self.key.tr())?;
        Ok(source)
    }
}

impl<P: ParameterSet> SignWith<'_, P> {
    /// K, 32 bytes.
    fn k(&self) -> &[u8] {
        match self {
            SignWith::Compact(key) => SigningKeyParts::k_of(key.sk.as_ref()),
            SignWith::Expanded(key) => key.material.k.as_ref(),
        }
    }

    fn tr(&self) -> &[u8; 64] {
        match self {
            SignWith::Compact(key) => SigningKeyParts::tr_of(key.sk.as_ref()),
            SignWith::Expanded(key) => &key.material.tr,
        }
    }
}

/// The keys expanded here: at most one for each slot.
struct Pool<'a, P: ParameterSet> {
    most: usize,
    made: Vec<Made<'a, P>>,
}

impl<'a, P: ParameterSet> Pool<'a, P> {
    fn new(most: usize) -> Self {
        Pool {
            most,
            made: Vec::new(),
        }
    }

    fn get<'b>(&'b self, held: Held<'b, P>) -> &'b Material<P> {
        match held {
            Held::Given(material) => material,
            Held::Made(place) => &self.made[place].material,
        }
    }

    /// The expanded form of `key` until `release`.
    fn hold<E: Engine>(&mut self, e: E, key: &SignWith<'a, P>) -> Held<'a, P> {
        let key = match key {
            SignWith::Expanded(key) => return Held::Given(&key.material),
            SignWith::Compact(key) => *key,
        };
        let known = self
            .made
            .iter()
            .position(|made| core::ptr::eq(made.from, key));
        let place = known.unwrap_or_else(|| self.make(e, key));
        self.made[place].users += 1;
        Held::Made(place)
    }

    fn release(&mut self, held: Held<'a, P>) {
        if let Held::Made(place) = held {
            self.made[place].users -= 1;
        }
    }

    /// By itself, as it takes the stack of a key.
    #[inline(never)]
    fn push(&mut self, from: &'a SigningKey<P>) {
        self.made.push(Made {
            from,
            users: 0,
            material: Material::ZERO,
        });
    }

    /// Expands `key`, in place of one that nobody uses.
    fn make<E: Engine>(&mut self, e: E, key: &'a SigningKey<P>) -> usize {
        if self.made.capacity() == 0 {
            // Once: secrets would be moved.
            self.made.reserve_exact(self.most);
        }
        let place = if self.made.len() < self.most {
            self.push(key);
            self.made.len() - 1
        } else {
            // The slot that asks holds none, so one of as many keys as slots is not in use.
            let unused = self.made.iter().position(|made| made.users == 0);
            unused.expect("a key for each slot")
        };
        let made = &mut self.made[place];
        made.from = key;
        made.material.fill(e, key.sk.as_ref(), None);
        place
    }
}
