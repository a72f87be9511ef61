//! ExpandA, ExpandS and ExpandMask (FIPS 204, section 7.3): which nonces go where.

use core::ops::Range;

use crate::backend::Engine;
use crate::kernels::poly::{Poly, Secret};
use crate::kernels::sampling::MaskBytes;
use crate::kernels::sponge::Shadow;
use crate::params::{ParameterSet, PolyMatrix};

/// Most polynomials of one call: 8 × 7 for Â of ML-DSA-87.
const MOST: usize = 56;

/// ExpandA (Algorithm 32): Â[r][s] = RejNTTPoly(rho ‖ s ‖ r), for the polynomials with numbers in
/// `part`, row after row. Coefficients in [0, q). `shadow` is hashed as far as it goes meanwhile.
pub(crate) fn expand_a<P: ParameterSet, E: Engine>(
    e: E,
    rho: &[u8; 32],
    part: Range<usize>,
    a_hat: &mut P::Matrix,
    shadow: Option<&mut Shadow<'_>>,
) {
    let mut nonces = [0u16; MOST];
    for (i, nonce) in nonces.iter_mut().enumerate() {
        *nonce = ((i % P::L) | ((i / P::L) << 8)) as u16;
    }
    let out = &mut a_hat.flat_mut()[part.clone()];
    e.uniform(rho, &nonces[part], out, shadow);
}

/// ExpandS (Algorithm 33): s1 has nonces 0.., s2 goes on at l. Coefficients in [-η, η].
pub(crate) fn expand_s<P: ParameterSet, E: Engine>(
    e: E,
    rho_prime: &[u8; 64],
    s1: &mut [Poly],
    s2: &mut [Poly],
) {
    let nonces: [u16; 16] = core::array::from_fn(|i| i as u16);
    let mut places = s1.iter_mut().chain(s2);
    e.bounded::<P>(rho_prime, &nonces[..P::L + P::K], &mut places);
}

/// κ of an attempt: the nonce of its first mask. Below 2^16, as params.rs asserts.
pub(crate) fn first_nonce<P: ParameterSet>(attempt: u32) -> u16 {
    (attempt as usize * P::L) as u16
}

/// ExpandMask (Algorithm 34) of attempt after attempt. κ + r runs on without gaps from one attempt
/// to the next, so the masks of a signature are one stream of polynomials: it is sampled in full
/// groups of the engine's Keccak states, and what an attempt leaves over serves the next. Each
/// polynomial is handed out once.
pub(crate) struct MaskStream {
    /// l − 1 left over and one group of 8.
    polynomials: Secret<[Poly; 14]>,
    bytes: Secret<[MaskBytes; 8]>,
    /// Those not yet handed out.
    ready: Range<usize>,
    /// κ + r of the next to be sampled.
    nonce: u16,
}

impl MaskStream {
    /// The stream from attempt number `attempt` on.
    pub(crate) fn new<P: ParameterSet>(attempt: u32) -> Self {
        MaskStream {
            polynomials: Secret::zero(),
            bytes: Secret::zero(),
            ready: 0..0,
            nonce: first_nonce::<P>(attempt),
        }
    }

    /// The y of the next attempt. Coefficients in (-γ1, γ1].
    pub(crate) fn next<P: ParameterSet, E: Engine>(
        &mut self,
        e: E,
        rho_second: &[u8; 64],
        y: &mut [Poly],
    ) {
        self.polynomials.copy_within(self.ready.clone(), 0);
        self.ready = 0..self.ready.len();
        while self.ready.len() < P::L {
            let nonces: [u16; 8] = core::array::from_fn(|i| self.nonce + i as u16);
            let end = self.ready.end + E::STATES;
            let group = &mut self.polynomials[self.ready.end..end];
            let bytes = &mut self.bytes[..E::STATES];
            e.mask::<P>(rho_second, &nonces[..E::STATES], bytes, group);
            self.ready.end = end;
            self.nonce += E::STATES as u16;
        }
        y.copy_from_slice(&self.polynomials[..P::L]);
        self.ready.start = P::L;
    }
}
