//! Key generation with the lanes filled across seeds.

use alloc::vec::Vec;

use super::rows::Rows;
use super::{boxed, vec_from_fn};
use crate::ParameterSet;
use crate::backend::Engine;
use crate::declassify::{Site, public_slice};
use crate::kernels::poly::{Poly, Secret, Zero};
use crate::keys::{ExpandedSigningKey, SigningKey};
use crate::scheme::encode::{self, SigningKeyWriter};
use crate::scheme::hash_each;
use crate::scheme::shapes::Shapes;
use crate::scheme::sign::Material;
use crate::scheme::{keygen, sample};

/// The values of a key while it is generated.
pub(super) struct PendingKey<P: ParameterSet> {
    rho: [u8; 32],
    rho_prime: Secret<[u8; 64]>,
    k: Secret<[u8; 32]>,
    /// s1, then NTT(s1).
    s1: Secret<P::VecL>,
    s2: Secret<P::VecK>,
    t0: Secret<P::VecK>,
}

impl<P: ParameterSet> PendingKey<P> {
    fn zero() -> Self {
        PendingKey {
            rho: [0; 32],
            rho_prime: Secret::zero(),
            k: Secret::zero(),
            s1: Secret::zero(),
            s2: Secret::zero(),
            t0: Secret::zero(),
        }
    }
}

/// Memory in bytes: for each key in the making; for a last one that is alone.
#[cfg(all(test, mldsa_inside))]
pub(super) fn memory<P: ParameterSet>() -> [usize; 2] {
    [
        size_of::<PendingKey<P>>() + Rows::<P>::BYTES_PER_ROW,
        size_of::<keygen::Memory<P>>(),
    ]
}

/// A key that is filled from a seed.
pub(super) trait NewKey<P: ParameterSet> {
    /// The public key, which is written first, row after row.
    fn pk(&mut self) -> &mut P::VerifyingKeyBytes;
    /// A row of Â.
    fn row(&mut self, _number: usize, _row: &[Poly]) {}
    /// s1 and s2.
    fn secrets<E: Engine>(&mut self, e: E, s1: &[Poly], s2: &[Poly]);
    /// The rest.
    fn finish<E: Engine>(&mut self, e: E, values: &PendingKey<P>, tr: &[u8; 64]);
}

impl<P: ParameterSet> NewKey<P> for SigningKey<P> {
    fn pk(&mut self) -> &mut P::VerifyingKeyBytes {
        &mut self.public.pk
    }
    fn secrets<E: Engine>(&mut self, e: E, s1: &[Poly], s2: &[Poly]) {
        SigningKeyWriter::new::<P>(self.sk.as_mut()).secrets::<P, E>(e, s1, s2);
    }
    fn finish<E: Engine>(&mut self, e: E, values: &PendingKey<P>, tr: &[u8; 64]) {
        let mut sk = SigningKeyWriter::new::<P>(self.sk.as_mut());
        sk.head(&values.rho, values.k.as_ref(), tr);
        for (row, t0) in values.t0.as_ref().iter().enumerate() {
            sk.t0(e, row, t0);
        }
    }
}

impl<P: ParameterSet> NewKey<P> for ExpandedSigningKey<P> {
    fn pk(&mut self) -> &mut P::VerifyingKeyBytes {
        &mut self.public.pk
    }
    fn row(&mut self, number: usize, row: &[Poly]) {
        self.material.set_row(number, row);
    }
    fn secrets<E: Engine>(&mut self, e: E, s1: &[Poly], s2: &[Poly]) {
        self.material.set_secrets(e, s1, s2);
    }
    fn finish<E: Engine>(&mut self, e: E, values: &PendingKey<P>, tr: &[u8; 64]) {
        let k = values.k.as_ref();
        self.material.set_rest(e, values.t0.as_ref(), k, tr);
    }
}

/// Fills `keys`, one for each seed.
#[inline(never)]
pub(crate) fn run<P: ParameterSet, E: Engine>(
    e: E,
    seeds: &[[u8; 32]],
    keys: &mut [SigningKey<P>],
) {
    let mut group_memory = GroupMemory::new(e, seeds.len());
    let mut single = None;
    let groups = seeds.chunks(E::STATES).zip(keys.chunks_mut(E::STATES));
    for (seeds, keys) in groups {
        if let ([xi], [key]) = (seeds, &mut *keys) {
            // Nothing to fill lanes with.
            let memory = single.get_or_insert_with(|| boxed(|| keygen::Memory::<P>::ZERO));
            keygen::keygen::<P, E>(e, xi, memory.values(), &mut key.sk, &mut key.public.pk);
        } else {
            group(e, seeds, &mut group_memory, keys);
        }
        for (key, xi) in keys.iter_mut().zip(seeds) {
            key.seed.insert(Secret::zero()).copy_from_slice(xi);
        }
    }
}

/// [`run`] and [`SigningKey::expand`] in one: Â is sampled once.
#[inline(never)]
pub(crate) fn run_expanded<P: ParameterSet, E: Engine>(
    e: E,
    seeds: &[[u8; 32]],
    keys: &mut [ExpandedSigningKey<P>],
) {
    let mut group_memory = GroupMemory::new(e, seeds.len());
    let groups = seeds.chunks(E::STATES).zip(keys.chunks_mut(E::STATES));
    for (seeds, keys) in groups {
        group(e, seeds, &mut group_memory, keys);
    }
}

/// Memory that the groups use one after the other.
struct GroupMemory<P: ParameterSet> {
    pending: Vec<PendingKey<P>>,
    rows: Rows<P>,
}

impl<P: ParameterSet> GroupMemory<P> {
    fn new<E: Engine>(_: E, seeds: usize) -> Self {
        GroupMemory {
            pending: vec_from_fn(E::STATES.min(seeds), PendingKey::zero),
            rows: Rows::new::<E>(),
        }
    }
}

/// As many seeds as there are pending, at most one for each Keccak state.
fn group<P: ParameterSet, E: Engine>(
    e: E,
    seeds: &[[u8; 32]],
    group_memory: &mut GroupMemory<P>,
    keys: &mut [impl NewKey<P>],
) {
    let pending = &mut group_memory.pending[..seeds.len()];
    let set = [P::K as u8, P::L as u8];
    // Algorithm 6, step 1.
    let strings = seeds.iter().map(|xi| [xi.as_slice(), &set]);
    hash_each(e, strings.zip(&mut *pending), |values, reader| {
        reader.squeeze(&mut values.rho);
        public_slice(Site::Rho, &mut values.rho);
        reader.squeeze(values.rho_prime.as_mut());
        reader.squeeze(values.k.as_mut());
    });

    // Algorithm 6, step 4.
    e.bounded::<P>(&mut pending.iter_mut().flat_map(|values| {
        let (s1, s2) = (values.s1.as_mut(), values.s2.as_mut());
        sample::expand_s_targets(&values.rho_prime, s1, s2)
    }));
    for (values, key) in pending.iter_mut().zip(&mut *keys) {
        // Algorithm 6, steps 10 and 11: as much as is known.
        key.secrets(e, values.s1.as_ref(), values.s2.as_ref());
        // Algorithm 6, step 5: NTT(s1).
        for p in values.s1.as_mut() {
            e.ntt(p);
        }
    }

    let rhos: Vec<_> = pending.iter().map(|values| values.rho).collect();
    for (rho, key) in rhos.iter().zip(&mut *keys) {
        key.pk().as_mut()[..32].copy_from_slice(rho);
    }
    let mut t1 = Poly::zero();
    let rhos: Vec<_> = rhos.iter().collect();
    // Algorithm 6, step 3.
    group_memory.rows.expand(e, &rhos, |number, row, a_row| {
        let (values, key) = (&mut pending[number], &mut keys[number]);
        let (s2, t) = (&values.s2.as_ref()[row], &mut values.t0.as_mut()[row]);
        // Algorithm 6, steps 5 and 6.
        keygen::row(e, a_row, values.s1.as_ref(), s2, t, &mut t1);
        // Algorithm 6, step 8.
        encode::verifying_key_row(e, key.pk().as_mut(), row, &t1);
        key.row(row, a_row);
    });

    // Algorithm 6, step 9.
    let mut trs = alloc::vec![[0; 64]; seeds.len()];
    let strings = keys.iter_mut().map(|key| [(*key.pk()).as_ref()]);
    hash_each(e, strings.zip(&mut trs), |tr, reader| reader.squeeze(tr));
    for ((key, values), tr) in keys.iter_mut().zip(&*pending).zip(&trs) {
        // Algorithm 6, steps 10 and 11.
        key.finish(e, values, tr);
    }
}

/// A key that is filled part by part.
impl<P: Shapes> Material<P> {
    /// Sets a row of Â.
    pub(crate) fn set_row(&mut self, number: usize, row: &[Poly]) {
        self.a_hat.as_mut()[number * P::L..][..P::L].copy_from_slice(row);
    }

    /// Sets s1 and s2.
    pub(crate) fn set_secrets<E: Engine>(&mut self, e: E, s1: &[Poly], s2: &[Poly]) {
        let places = self.s1.as_mut().iter_mut().chain(self.s2.as_mut());
        for (p, small) in s1.iter().chain(s2).zip(places) {
            e.small_set(p, P::ETA, small);
        }
    }

    /// Sets t0, K and tr.
    pub(crate) fn set_rest<E: Engine>(&mut self, e: E, t0: &[Poly], k: &[u8], tr: &[u8; 64]) {
        for (p, t0_hat) in t0.iter().zip(self.t0_hat.as_mut()) {
            *t0_hat = *p;
            e.ntt(t0_hat);
        }
        self.k.copy_from_slice(k);
        self.tr = *tr;
    }
}
