// Every backend's kernels against the portable ones, at the edges of their ranges and at random,
// and the portable ones against schoolbook arithmetic.

mod arithmetic;
#[cfg(debug_assertions)]
mod bounds;
mod features;
mod hashing;
mod whole;
pub(crate) mod wide;

use arithmetic::{
    arithmetic_agrees, packing_agrees, rounding_agrees, small_products_are_exact,
    transforms_multiply,
};
use hashing::{permutations_agree, sampling_agrees, shadows_agree};

use super::Engine;
use super::portable::Portable;
use crate::kernels::keccak::permute_one;
use crate::kernels::poly::Poly;
use crate::kernels::sponge::{Reader, Sponge};
use crate::params::{N, Q};
use crate::sets::{MlDsa44, MlDsa65, MlDsa87};

/// A stream of test values from SHAKE128.
struct Values(Reader<168, 0x1f>);

impl Values {
    fn new(label: &str) -> Self {
        Values(Sponge::new(permute_one).absorb(label.as_bytes()).finish())
    }

    /// A polynomial with coefficients in [low, high]: one in four at an end of the range.
    fn poly(&mut self, low: i32, high: i32) -> Poly {
        let mut p = Poly([0; N]);
        for x in &mut p.0 {
            let word = u64::from_le_bytes(self.0.read());
            *x = match word & 7 {
                0 => low,
                1 => high,
                _ => low + ((word >> 3) % (i64::from(high) - i64::from(low) + 1) as u64) as i32,
            };
        }
        p
    }
}

const ROUNDS: usize = 40;

/// Runs `f` on both engines and compares.
macro_rules! agree {
    ($e:ident, $label:literal, |$engine:ident| $body:expr) => {{
        let ours = {
            let $engine = $e;
            $body
        };
        let portable = {
            let $engine = Portable;
            $body
        };
        assert_eq!(ours, portable, "{}", $label);
    }};
}
use agree;

/// Coefficients modulo q, each below `bound`: which representative a transform gives is up to the backend.
fn residues(p: &Poly, bound: i32) -> [i32; N] {
    p.0.map(|x| {
        assert!(x.abs() < bound, "{x}");
        x.rem_euclid(Q)
    })
}

fn all<E: Engine>(e: E) {
    #[cfg(debug_assertions)]
    bounds::bounds_are_asserted(e);
    whole::whole_domains(e);
    packing_agrees(e);
    permutations_agree(e);
    shadows_agree(e);
    transforms_multiply(e);
    arithmetic_agrees(e);
    rounding_agrees::<MlDsa44, E>(e);
    rounding_agrees::<MlDsa65, E>(e);
    rounding_agrees::<MlDsa87, E>(e);
    small_products_are_exact::<MlDsa44, E>(e);
    small_products_are_exact::<MlDsa65, E>(e);
    small_products_are_exact::<MlDsa87, E>(e);
    sampling_agrees::<MlDsa44, E>(e);
    sampling_agrees::<MlDsa65, E>(e);
    sampling_agrees::<MlDsa87, E>(e);
}

#[test]
fn portable_kernels() {
    all(Portable);
}

/// Runs all tests on a detected engine; a missing one must not be among the expected.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
))]
fn all_if_present<E: Engine>(name: &str, engine: Option<E>) {
    let expected = std::env::var("MLDSA_EXPECT_BACKENDS").unwrap_or_default();
    match engine {
        Some(e) => all(e),
        None => assert!(
            !expected.split(',').any(|expected| expected == name),
            "MLDSA_EXPECT_BACKENDS names {name}, which this CPU lacks"
        ),
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx2_kernels() {
    all_if_present("avx2", super::avx2::Avx2::detect());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx512_kernels() {
    all_if_present("avx512", super::avx512::Avx512::detect());
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
#[test]
fn neon_kernels() {
    all_if_present("neon", super::neon::Neon::detect());
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
#[test]
fn neon_sha3_kernels() {
    all_if_present("neon-sha3", super::neon::NeonSha3::detect());
}
