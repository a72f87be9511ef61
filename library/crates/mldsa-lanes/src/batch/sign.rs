//! The messages of a batch, for [`rejection_sampling`]: the queue with the hashes before the loop, and the pool of
//! expanded keys.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use super::with_rnd::SignJob;
use super::{SignWith, boxed, vec_from_fn};
use crate::ParameterSet;
use crate::backend::Engine;
use crate::error::Error;
use crate::kernels::poly::{Secret, Zero};
use crate::keys::{Signature, SigningKey};
use crate::scheme::encode::SigningKeyParts;
use crate::scheme::hash_each;
use crate::scheme::message::MuSource;
use crate::scheme::sign::{
    Accepted, Iteration, Material, Messages, Shared, Signing, rejection_sampling,
};

/// Jobs whose μ and ρ″ are computed in one go, for each place. More than one, so that messages of
/// different lengths leave few lanes idle.
const AHEAD: usize = 4;

/// A message with steps 6 and 7 done.
struct Pending {
    message: usize,
    mu: [u8; 64],
    rho_second: Secret<[u8; 64]>,
}

/// The expanded key of a message in progress.
#[derive(Clone, Copy)]
enum KeyOfPlace<'a, P: ParameterSet> {
    Expanded(&'a Material<P>),
    /// A position in the pool.
    Pooled(usize),
}

/// A key of the pool.
struct Pooled<'a, P: ParameterSet> {
    from: &'a SigningKey<P>,
    /// How many places use it.
    users: usize,
    material: Material<P>,
}

/// Memory in bytes: for each message in progress; for each if the keys are compact; once.
#[cfg(all(test, mldsa_inside))]
pub(super) fn memory<P: ParameterSet>() -> [usize; 3] {
    let ahead = AHEAD * (size_of::<Pending>() + size_of::<(usize, MuSource<'_>)>());
    [
        size_of::<Signing<P>>() + size_of::<KeyOfPlace<'_, P>>() + ahead,
        size_of::<Pooled<'_, P>>(),
        size_of::<Shared>(),
    ]
}

/// Signs `count` messages, in as many places as there are Keccak states.
#[inline(never)]
pub(crate) fn sign_all<P: ParameterSet, E: Engine>(
    e: E,
    messages: &mut impl Messages<P>,
    count: usize,
    limit: u32,
) {
    // On the heap, so that what lies on the stack is small enough to be overwritten when it is over.
    let mut places = vec_from_fn(places::<E>(count), Signing::zero);
    let mut shared = boxed(|| Shared::ZERO);
    rejection_sampling(e, messages, &mut places, limit, &mut shared);
}

/// How many messages are in progress at a time.
fn places<E: Engine>(count: usize) -> usize {
    E::STATES.min(count)
}

/// The messages of a batch. A place whose message has ended takes the next one at once.
pub(crate) struct Many<'a, 'j, P: ParameterSet, E> {
    e: E,
    queue: Queue<'a, 'j, P>,
    pool: Pool<'j, P>,
    /// The key of each place.
    keys: Vec<KeyOfPlace<'j, P>>,
    /// Of all messages of the batch.
    results: &'a mut [Result<Signature<P>, Error>],
}

impl<'a, 'j, P: ParameterSet, E: Engine> Many<'a, 'j, P, E> {
    /// The messages at the positions in `order`, all with keys of `e`'s backend.
    pub(crate) fn new(
        e: E,
        jobs: &'a [SignJob<'j, P>],
        order: &'a [usize],
        results: &'a mut [Result<Signature<P>, Error>],
    ) -> Self {
        let places = places::<E>(order.len());
        Many {
            e,
            queue: Queue::new::<E>(jobs, order),
            pool: Pool::new(places),
            keys: alloc::vec![KeyOfPlace::Pooled(0); places],
            results,
        }
    }
}

impl<P: ParameterSet, E: Engine> Messages<P> for Many<'_, '_, P, E> {
    const SEVERAL: bool = true;

    fn refill(&mut self, places: &mut [Signing<P>]) -> bool {
        let Many {
            e,
            queue,
            pool,
            keys,
            results,
        } = self;
        for (signing, key) in places.iter_mut().zip(keys) {
            if signing.iteration.is_none() {
                let refuse = &mut |message: usize, error| results[message] = Err(error);
                let Some(pending) = queue.next(*e, refuse) else {
                    break;
                };
                let Pending {
                    message,
                    mu,
                    rho_second,
                } = pending;
                signing.rho_second.copy_from_slice(rho_second.as_ref());
                // Algorithm 7, steps 8 and 9.
                signing.begin(*message, 0, mu);
                *key = pool.hold(*e, &queue.jobs[*message].key);
            }
        }
        !queue.is_empty()
    }

    fn key(&self, place: usize) -> &Material<P> {
        self.pool.get(self.keys[place])
    }

    fn end(&mut self, place: usize, iteration: Iteration, outcome: Result<Accepted<'_>, Error>) {
        // Written in place: a moved result takes along what lay on the stack next to an error.
        let result = &mut self.results[iteration.message];
        match outcome {
            Ok(accepted) => *result = Ok(Signature(accepted.signature::<P, E>(self.e))),
            Err(error) => *result = Err(error),
        }
        self.pool.release(self.keys[place]);
    }
}

/// Jobs not yet in flight.
struct Queue<'a, 'j, P: ParameterSet> {
    jobs: &'a [SignJob<'j, P>],
    /// Positions of the jobs that are not yet pending.
    order: &'a [usize],
    pending: Vec<Pending>,
    /// How many of `pending` were taken, and how many are filled.
    taken: usize,
    filled: usize,
}

impl<'a, 'j, P: ParameterSet> Queue<'a, 'j, P> {
    fn new<E: Engine>(jobs: &'a [SignJob<'j, P>], order: &'a [usize]) -> Self {
        let mut pending = Vec::new();
        pending.resize_with((AHEAD * E::STATES).min(order.len()), || Pending {
            message: 0,
            mu: [0; 64],
            rho_second: Secret::zero(),
        });
        Queue {
            jobs,
            order,
            pending,
            taken: 0,
            filled: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.taken == self.filled && self.order.is_empty()
    }

    /// The next message whose input is well-formed; `refuse` gets the others.
    fn next<E: Engine>(&mut self, e: E, refuse: &mut impl FnMut(usize, Error)) -> Option<&Pending> {
        while self.taken == self.filled {
            if self.order.is_empty() {
                return None;
            }
            self.prepare(e, refuse);
        }
        self.taken += 1;
        Some(&self.pending[self.taken - 1])
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
        (self.taken, self.filled) = (0, sources.len());
        let pending = &mut self.pending[..sources.len()];
        let jobs = self.jobs;
        let strings = sources.iter().zip(&mut *pending);
        let strings = strings.filter_map(|((job, source), pending)| {
            pending.message = *job;
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
        // A source can be smaller than its place. The move copied the rest from the stack, where secrets of earlier
        // jobs may be, so overwrite the places.
        sources.clear();
        let places = sources.spare_capacity_mut();
        places.fill_with(MaybeUninit::zeroed);
        zeroize::optimization_barrier(places);
        // Algorithm 7, step 7.
        let strings = pending.iter_mut().map(|pending| {
            let SignJob { key, rnd, .. } = &jobs[pending.message];
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

/// Keys that are expanded here: at most one for each place.
struct Pool<'a, P: ParameterSet> {
    most: usize,
    keys: Vec<Pooled<'a, P>>,
}

impl<'a, P: ParameterSet> Pool<'a, P> {
    fn new(most: usize) -> Self {
        Pool {
            most,
            keys: Vec::new(),
        }
    }

    fn get<'b>(&'b self, held: KeyOfPlace<'b, P>) -> &'b Material<P> {
        match held {
            KeyOfPlace::Expanded(material) => material,
            KeyOfPlace::Pooled(place) => &self.keys[place].material,
        }
    }

    /// The expanded form of `key` until `release`.
    fn hold<E: Engine>(&mut self, e: E, key: &SignWith<'a, P>) -> KeyOfPlace<'a, P> {
        let key = match key {
            SignWith::Expanded(key) => return KeyOfPlace::Expanded(&key.material),
            SignWith::Compact(key) => *key,
        };
        let known = self
            .keys
            .iter()
            .position(|pooled| core::ptr::eq(pooled.from, key));
        let place = known.unwrap_or_else(|| self.make(e, key));
        self.keys[place].users += 1;
        KeyOfPlace::Pooled(place)
    }

    fn release(&mut self, held: KeyOfPlace<'a, P>) {
        if let KeyOfPlace::Pooled(place) = held {
            self.keys[place].users -= 1;
        }
    }

    /// By itself, as it takes the stack of a key.
    #[inline(never)]
    fn push(&mut self, from: &'a SigningKey<P>) {
        self.keys.push(Pooled {
            from,
            users: 0,
            material: Material::ZERO,
        });
    }

    /// Expands `key`, in place of one that nobody uses.
    fn make<E: Engine>(&mut self, e: E, key: &'a SigningKey<P>) -> usize {
        if self.keys.capacity() == 0 {
            // Once: secrets would be moved.
            self.keys.reserve_exact(self.most);
        }
        let place = if self.keys.len() < self.most {
            self.push(key);
            self.keys.len() - 1
        } else {
            // The place that asks has no key, so one of the keys, which are as many as the places, is not in use.
            let unused = self.keys.iter().position(|pooled| pooled.users == 0);
            unused.expect("a key for each place")
        };
        let pooled = &mut self.keys[place];
        pooled.from = key;
        pooled.material.fill(e, key.sk.as_ref());
        place
    }
}
