//! Key generation with the lanes filled across seeds.

use alloc::vec::Vec;

use super::hash_each;
use super::rows::Rows;
use crate::backend::Engine;
use crate::declassify::{Site, public_slice};
use crate::kernels::poly::{Poly, Secret, Zero};
use crate::kernels::sampling_each::Target;
use crate::keys::SigningKey;
use crate::params::ParameterSet;
use crate::scheme::{encode, keygen};

/// A key in the making.
struct Slot<P: ParameterSet> {
    rho: [u8; 32],
    rho_prime: Secret<[u8; 64]>,
    k: Secret<[u8; 32]>,
    s1: Secret<P::VecL>,
    s1_hat: Secret<P::VecL>,
    s2: Secret<P::VecK>,
    t0: Secret<P::VecK>,
}

impl<P: ParameterSet> Slot<P> {
    fn zero() -> Self {
        Slot {
            rho: [0; 32],
            rho_prime: Secret::zero(),
            k: Secret::zero(),
            s1: Secret::zero(),
            s1_hat: Secret::zero(),
            s2: Secret::zero(),
            t0: Secret::zero(),
        }
    }
}

/// Memory in bytes for each key in the making.
#[cfg(test)]
pub(super) fn memory<P: ParameterSet>() -> usize {
    let targets = (P::L + P::K) * size_of::<Target<'_, 64>>();
    size_of::<Slot<P>>() + targets + Rows::<P>::BYTES_PER_ROW
}

/// Fills `keys`, one for each seed.
pub(super) fn run<P: ParameterSet, E: Engine>(
    e: E,
    seeds: &[[u8; 32]],
    keys: &mut [SigningKey<P>],
) {
    let mut slots = Vec::new();
    slots.resize_with(E::STATES.min(seeds.len()), Slot::zero);
    let mut rows = Rows::new::<E>();
    let groups = seeds.chunks(E::STATES).zip(keys.chunks_mut(E::STATES));
    for (seeds, keys) in groups {
        if let ([xi], [key]) = (seeds, &mut *keys) {
            // Nothing to fill lanes with.
            key.pk = keygen::keygen::<P, E>(e, xi, &mut key.sk);
            key.seed = Some(Secret(*xi));
            continue;
        }
        group(e, seeds, &mut slots[..seeds.len()], &mut rows, keys);
    }
}

/// As many seeds as there are slots, at most one for each Keccak state.
fn group<P: ParameterSet, E: Engine>(
    e: E,
    seeds: &[[u8; 32]],
    slots: &mut [Slot<P>],
    rows: &mut Rows<P>,
    keys: &mut [SigningKey<P>],
) {
    let set = [P::K as u8, P::L as u8];
    let strings = seeds.iter().map(|xi| [xi.as_slice(), &set]);
    hash_each(e, strings.zip(&mut *slots), |slot, reader| {
        reader.squeeze(&mut slot.rho);
        public_slice(Site::Rho, &mut slot.rho);
        reader.squeeze(slot.rho_prime.as_mut());
        reader.squeeze(slot.k.as_mut());
    });

    let mut targets = Vec::with_capacity(slots.len() * (P::L + P::K));
    targets.extend(slots.iter_mut().flat_map(secrets));
    e.bounded_each::<P>(&mut targets);
    for slot in &mut *slots {
        slot.s1_hat.as_mut().copy_from_slice(slot.s1.as_ref());
        for p in slot.s1_hat.as_mut() {
            e.ntt(p);
        }
    }

    let rhos: Vec<_> = slots.iter().map(|slot| slot.rho).collect();
    for (rho, key) in rhos.iter().zip(&mut *keys) {
        key.pk = encode::verifying_key_start::<P>(rho);
    }
    let mut t1 = Poly::zero();
    rows.expand(e, &rhos.iter().collect::<Vec<_>>(), |key, row, a_row| {
        let slot = &mut slots[key];
        let (s2, t) = (&slot.s2.as_ref()[row], &mut slot.t0.as_mut()[row]);
        keygen::row(e, a_row, slot.s1_hat.as_ref(), s2, t, &mut t1);
        encode::verifying_key_row(e, keys[key].pk.as_mut(), row, &t1);
    });

    let places = seeds.iter().zip(&*slots).zip(keys);
    let strings = places.map(|((xi, slot), key)| {
        let SigningKey { sk, pk, seed, .. } = key;
        *seed = Some(Secret(*xi));
        ([(*pk).as_ref()], (slot, sk))
    });
    hash_each(e, strings, |(slot, sk), reader| {
        let vectors = [slot.s1.as_ref(), slot.s2.as_ref(), slot.t0.as_ref()];
        let tr = reader.read();
        encode::signing_key::<P, E>(e, &slot.rho, slot.k.as_ref(), &tr, vectors, sk);
    });
}

/// What ExpandS (Algorithm 33) samples for a key: s1 and s2, one after the other as their nonces are.
fn secrets<P: ParameterSet>(slot: &mut Slot<P>) -> impl Iterator<Item = Target<'_, 64>> {
    let seed = &slot.rho_prime.0;
    let polynomials = slot.s1.as_mut().iter_mut().chain(slot.s2.as_mut());
    (0..)
        .zip(polynomials)
        .map(|(nonce, out)| Target { seed, nonce, out })
}
