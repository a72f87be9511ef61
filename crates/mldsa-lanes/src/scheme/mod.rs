//! The text of FIPS 204. No `unsafe`, no `cfg(target)`: what differs between CPUs is behind
//! [`Engine`](crate::backend::Engine).

#[cfg(all(test, mldsa_inside))]
mod bounds_tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/scheme/bounds_tests.rs"
    ));
}
pub(crate) mod encode;
pub(crate) mod keygen;
pub(crate) mod message;
#[cfg(feature = "prehash")]
mod prehash;
pub(crate) mod sample;
pub(crate) mod shapes;
pub(crate) mod sign;
pub(crate) mod verify;

use crate::backend::Engine;
use crate::kernels::sponge::Shake256Reader;
use crate::kernels::sponges::shake256_each;

/// H of many strings side by side: [`shake256_each`] on an engine.
pub(crate) fn hash_each<'a, E: Engine, T, const PARTS: usize>(
    e: E,
    strings: impl Iterator<Item = ([&'a [u8]; PARTS], T)>,
    digest: impl FnMut(T, &mut Shake256Reader),
) {
    shake256_each(
        &|states: &mut E::States| e.permute(states),
        e.permutation(),
        strings,
        digest,
    );
}
