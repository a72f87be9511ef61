//! Rows of Â that are used as soon as they are sampled, so that no matrix is kept.

use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::backend::Engine;
use crate::kernels::poly::{Poly, Zero};
use crate::params::Parameters;
use crate::scheme::sample;

/// Room for as many rows of Â as the engine has Keccak states: l groups without an idle lane. All of
/// it is public.
pub(super) struct Rows<P> {
    polynomials: Vec<Poly>,
    set: PhantomData<P>,
}

impl<P: Parameters> Rows<P> {
    /// Memory of a row while it is sampled, in bytes.
    #[cfg(all(test, mldsa_inside))]
    pub(super) const BYTES_PER_ROW: usize = P::L * size_of::<Poly>();

    pub(super) fn new<E: Engine>() -> Self {
        Rows {
            polynomials: alloc::vec![Poly::zero(); E::STATES * P::L],
            set: PhantomData,
        }
    }

    /// ExpandA (Algorithm 32) of each ρ in turn: calls `each` with the number of ρ, the number of
    /// the row and its l polynomials.
    pub(super) fn expand<E: Engine>(
        &mut self,
        e: E,
        rhos: &[&[u8; 32]],
        mut each: impl FnMut(usize, usize, &[Poly]),
    ) {
        let total = rhos.len() * P::K;
        for first in (0..total).step_by(E::STATES) {
            let rows = first..(first + E::STATES).min(total);
            let places = rows.clone().zip(self.polynomials.chunks_exact_mut(P::L));
            let mut targets = places.flat_map(|(row, polynomials)| {
                sample::expand_a_targets::<P>(rhos[row / P::K], row % P::K * P::L, polynomials)
            });
            e.uniform(&mut targets, None);
            drop(targets);
            for (row, polynomials) in rows.zip(self.polynomials.chunks_exact(P::L)) {
                each(row / P::K, row % P::K, polynomials);
            }
        }
    }
}
