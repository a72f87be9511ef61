//! ExpandA, ExpandS and ExpandMask (FIPS 204, section 7.3): which nonces go where.

use crate::backend::Engine;
use crate::kernels::poly::Poly;
use crate::params::{ParameterSet, PolyMatrix};

/// Most polynomials of one call: 8 × 7 for Â of ML-DSA-87.
const MOST: usize = 56;

/// ExpandA (Algorithm 32): Â[r][s] = RejNTTPoly(rho ‖ s ‖ r). Coefficients in [0, q).
pub(crate) fn expand_a<P: ParameterSet, E: Engine>(e: E, rho: &[u8; 32], a_hat: &mut P::Matrix) {
    let mut nonces = [0u16; MOST];
    for (i, nonce) in nonces.iter_mut().enumerate() {
        *nonce = (i % P::L | i / P::L << 8) as u16;
    }
    e.uniform(rho, &nonces[..P::K * P::L], a_hat.flat_mut());
}

/// ExpandS (Algorithm 33): s1 has nonces 0.., s2 goes on at l. Coefficients in [-η, η].
pub(crate) fn expand_s<P: ParameterSet, E: Engine>(
    e: E,
    rho_prime: &[u8; 64],
    s1: &mut [Poly],
    s2: &mut [Poly],
) {
    let nonces: [u16; 16] = core::array::from_fn(|i| i as u16);
    e.bounded::<P>(rho_prime, &nonces[..P::L], s1);
    e.bounded::<P>(rho_prime, &nonces[P::L..P::L + P::K], s2);
}

/// ExpandMask (Algorithm 34): y[r] from nonce κ + r. Coefficients in (-γ1, γ1].
pub(crate) fn expand_mask<P: ParameterSet, E: Engine>(
    e: E,
    rho_second: &[u8; 64],
    kappa: u16,
    y: &mut [Poly],
) {
    let nonces: [u16; 8] = core::array::from_fn(|i| kappa + i as u16);
    e.mask::<P>(rho_second, &nonces[..P::L], y);
}
