//! ExpandA, ExpandS and ExpandMask (FIPS 204, section 7.3): which nonces go where.

use core::ops::Range;

use crate::backend::Engine;
use crate::kernels::poly::{Poly, Secret, Wipe, Zero};
use crate::kernels::sampling::{MaskBytes, Target};
use crate::kernels::sponge::{Shadow, ShadowStates};
use crate::params::Parameters;

/// Polynomials of Â from number `first` on, row after row: their nonces are s ‖ r (Algorithm 32).
pub(crate) fn expand_a_targets<'a, P: Parameters>(
    rho: &'a [u8; 32],
    first: usize,
    out: &'a mut [Poly],
) -> impl Iterator<Item = Target<'a, 32>> {
    (first..).zip(out).map(move |(i, out)| Target {
        seed: rho,
        nonce: ((i % P::L) | ((i / P::L) << 8)) as u16,
        out,
    })
}

/// Polynomials whose nonces count from `first`.
pub(crate) fn consecutive_targets<'a>(
    seed: &'a [u8; 64],
    first: usize,
    out: impl Iterator<Item = &'a mut Poly>,
) -> impl Iterator<Item = Target<'a, 64>> {
    (first..).zip(out).map(move |(i, out)| Target {
        seed,
        nonce: i as u16,
        out,
    })
}

/// ExpandA (Algorithm 32): Â[r][s] = RejNTTPoly(rho ‖ s ‖ r), row after row. Coefficients in
/// [0, q). `shadow` is hashed as far as it goes meanwhile.
pub(crate) fn expand_a<P: Parameters, E: Engine>(
    e: E,
    rho: &[u8; 32],
    a_hat: &mut [Poly],
    shadow: Option<&mut dyn ShadowStates>,
) {
    e.uniform(&mut expand_a_targets::<P>(rho, 0, a_hat), shadow);
}

/// ExpandS (Algorithm 33): s1 has nonces 0.., s2 goes on at l. Coefficients in [-η, η].
pub(crate) fn expand_s_targets<'a>(
    rho_prime: &'a [u8; 64],
    s1: &'a mut [Poly],
    s2: &'a mut [Poly],
) -> impl Iterator<Item = Target<'a, 64>> {
    consecutive_targets(rho_prime, 0, s1.iter_mut().chain(s2))
}

/// A stream of polynomials: rows of Â, or masks. They are sampled in full groups of the engine's Keccak states and
/// taken l at a time. The next l begin with the remainder of the last group. Each polynomial is taken once.
pub(crate) struct Stream {
    /// A remainder of l − 1 and one group of 8.
    polynomials: [Poly; 14],
    /// The places of those not yet taken.
    ready: Range<usize>,
    /// The number of the next to be sampled.
    next: usize,
}

impl Stream {
    pub(crate) const ZERO: Self = Stream {
        polynomials: Zero::ZERO,
        ready: 0..0,
        next: 0,
    };

    /// Drops the remainder and continues at number `next`.
    fn begin(&mut self, next: usize) {
        self.ready = 0..0;
        self.next = next;
    }

    /// Samples until `count` are ready. `sample` is given the number of the next and room for a
    /// group, and says how many it sampled.
    #[inline(always)]
    fn fill(&mut self, count: usize, mut sample: impl FnMut(usize, &mut [Poly]) -> usize) {
        if self.ready.len() >= count {
            return;
        }
        self.polynomials.copy_within(self.ready.clone(), 0);
        self.ready = 0..self.ready.len();
        while self.ready.len() < count {
            let room = &mut self.polynomials[self.ready.end..][..8];
            let sampled = sample(self.next, room);
            self.ready.end += sampled;
            self.next += sampled;
        }
    }

    /// The next `count` polynomials; `sample` as in [`Self::fill`].
    #[inline(always)]
    fn take(
        &mut self,
        count: usize,
        sample: impl FnMut(usize, &mut [Poly]) -> usize,
    ) -> &mut [Poly] {
        self.fill(count, sample);
        let first = self.ready.start;
        self.ready.start += count;
        &mut self.polynomials[first..][..count]
    }

    /// To the first row of Â.
    pub(crate) fn begin_rows(&mut self) {
        self.begin(0);
    }

    /// ExpandA (Algorithm 32), one row at a time, so that no matrix is kept: the l polynomials of the next row.
    /// `shadow` is hashed as far as it goes meanwhile.
    pub(crate) fn next_row<P: Parameters, E: Engine>(
        &mut self,
        e: E,
        rho: &[u8; 32],
        shadow: &mut dyn ShadowStates,
    ) -> &[Poly] {
        const { assert!(P::L <= 7 && E::STATES <= 8) };
        self.take(P::L, |first, room| {
            let group = E::STATES.min(P::K * P::L - first);
            e.uniform(
                &mut expand_a_targets::<P>(rho, first, &mut room[..group]),
                Some(shadow),
            );
            group
        })
    }
}

impl Wipe for Stream {
    fn wipe(&mut self) {
        self.polynomials.wipe();
    }
}

/// κ of an iteration: the nonce of its first mask. Below 2^16, as params.rs asserts.
pub fn kappa<P: Parameters>(iteration: u32) -> u16 {
    (iteration as usize * P::L) as u16
}

/// ExpandMask (Algorithm 34) of iteration after iteration. κ + r has no gaps from one iteration to the next, so
/// the masks of a signature are one stream of polynomials.
pub(crate) struct MaskStream {
    stream: Secret<Stream>,
    bytes: Secret<[MaskBytes; 8]>,
}

impl Zero for MaskStream {
    const ZERO: Self = MaskStream {
        stream: Secret(Stream::ZERO),
        bytes: Secret::ZERO,
    };
}

impl Wipe for MaskStream {
    fn wipe(&mut self) {
        self.stream.wipe();
        self.bytes.wipe();
    }
}

impl MaskStream {
    #[cfg(all(test, mldsa_inside))]
    pub(crate) fn is_zero(&self) -> bool {
        let polynomials = self.stream.polynomials.iter().all(|p| *p == Poly::ZERO);
        polynomials && self.bytes.as_flattened().iter().all(|byte| *byte == 0)
    }

    /// Its memory for rows of Â.
    pub(crate) fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Continues with the masks of iteration number `iteration`.
    pub(crate) fn begin<P: Parameters>(&mut self, iteration: u32) {
        self.stream.begin(kappa::<P>(iteration).into());
    }

    /// Its room for bytes, for masks of several streams.
    pub(crate) fn bytes<E: Engine>(&mut self) -> &mut [MaskBytes] {
        &mut self.bytes[..E::STATES]
    }

    /// The y of the next iteration, with coefficients in (-γ1, γ1]; gives NTT(y).
    pub(crate) fn next<P: Parameters, E: Engine>(
        &mut self,
        e: E,
        rho_second: &[u8; 64],
        y: &mut [Poly],
    ) -> &[Poly] {
        const { assert!(P::L <= 7 && E::STATES <= 8) };
        let bytes = &mut self.bytes[..E::STATES];
        // Algorithm 7, step 31: the next iteration goes on where this one ends.
        let masks = self.stream.take(P::L, |first, room| {
            mask_group::<P, E>(e, rho_second, first, bytes, room, None)
        });
        for (y, mask) in y.iter_mut().zip(&mut *masks) {
            *y = *mask;
            e.ntt(mask);
        }
        masks
    }

    /// NTT of a y that was sampled elsewhere. It overwrites the masks, so [`Self::begin`] comes before
    /// [`Self::next`].
    pub(crate) fn transform<E: Engine>(&mut self, e: E, y: &[Poly]) -> &[Poly] {
        self.stream.ready = 0..0;
        let y_hat = &mut self.stream.polynomials[..y.len()];
        for (y_hat, y) in y_hat.iter_mut().zip(y) {
            *y_hat = *y;
            e.ntt(y_hat);
        }
        y_hat
    }

    /// Samples now what [`Self::next`] would have to. Meanwhile `shadow`, of which all is known, is
    /// hashed in a lane of each group.
    pub(crate) fn prepare<P: Parameters, E: Engine>(
        &mut self,
        e: E,
        rho_second: &[u8; 64],
        mut shadow: Shadow<'_>,
    ) {
        if E::STATES == 1 {
            return;
        }
        let bytes = &mut self.bytes[..E::STATES];
        self.stream.fill(P::L, |first, room| {
            let shadow: Option<&mut dyn ShadowStates> = if shadow.hash.is_padded() {
                None
            } else {
                Some(&mut shadow)
            };
            mask_group::<P, E>(e, rho_second, first, bytes, room, shadow)
        });
    }
}

/// Samples masks from number `first` on, one for each free lane; returns their count.
#[inline(always)]
fn mask_group<P: Parameters, E: Engine>(
    e: E,
    rho_second: &[u8; 64],
    first: usize,
    bytes: &mut [MaskBytes],
    room: &mut [Poly],
    shadow: Option<&mut dyn ShadowStates>,
) -> usize {
    let count = E::STATES - usize::from(shadow.is_some());
    let mut targets = consecutive_targets(rho_second, first, room[..count].iter_mut());
    e.mask::<P>(&mut targets, bytes, shadow);
    count
}
