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

use core::cell::Cell;

use crate::backend::Engine;
use crate::kernels::sponge::Shake256Reader;
use crate::kernels::sponges::{MOST, Parts, shake256_lanes};

/// H of many strings side by side, given as parts to be concatenated: [`shake256_lanes`] on an engine. `digest` takes
/// the value that came with a string and the reader of its output.
pub(crate) fn hash_each<'a, E: Engine, T, const PARTS: usize>(
    e: E,
    strings: impl Iterator<Item = ([&'a [u8]; PARTS], T)>,
    mut digest: impl FnMut(T, &mut Shake256Reader),
) {
    let mut strings = strings.fuse();
    let values = [const { Cell::new(None) }; MOST];
    let mut next = |lane: usize| {
        let (parts, value) = strings.next()?;
        values[lane].set(Some(value));
        let mut all = Parts::default();
        all[..PARTS].copy_from_slice(&parts);
        Some(all)
    };
    let mut digest = |lane: usize, reader: &mut Shake256Reader| {
        if let Some(value) = values[lane].take() {
            digest(value, reader);
        }
    };
    let permute = |states: &mut E::States| e.permute(states);
    shake256_lanes(&permute, e.permutation(), &mut next, &mut digest);
}
