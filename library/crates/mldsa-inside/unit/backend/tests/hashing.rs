//! Permutations, and what is sampled from them: against one state and against the portable kernels.

use std::vec::Vec;

use super::{Engine, ROUNDS, Values, agree};
use crate::backend::portable::Portable;
use crate::kernels::keccak::{StateGroup, permute_one};
use crate::kernels::poly::Poly;
use crate::kernels::sampling::Target;
use crate::kernels::sponge::{Shadow, ShadowHash, h};
use crate::params::{N, Parameters};
use crate::sets::MlDsa65;

pub fn permutations_agree<E: Engine>(e: E) {
    let mut values = Values::new("permutations");
    let mut word = || u64::from_le_bytes(values.0.read());
    assert_eq!(E::STATES, E::States::COUNT);
    for _ in 0..ROUNDS {
        let mut states = E::States::zero();
        for i in 0..25 {
            states.row_mut(i).fill_with(&mut word);
        }
        let mut lanes: Vec<[u64; 25]> = (0..E::STATES)
            .map(|lane| core::array::from_fn(|i| states.row(i)[lane]))
            .collect();
        e.permute(&mut states);
        for (lane, one) in lanes.iter_mut().enumerate() {
            permute_one(one);
            assert!((0..25).all(|i| states.row(i)[lane] == one[i]));
            let mut ours = *one;
            e.permutation()(&mut ours);
            permute_one(one);
            assert_eq!(ours, *one);
        }
        let (mut a, mut b) = (lanes[0], core::array::from_fn(|_| word()));
        let expected = [a, b].map(|mut one| {
            permute_one(&mut one);
            one
        });
        e.permutation_of_two()(&mut a, &mut b);
        assert_eq!([a, b], expected);
    }
}

/// A string hashed beside ExpandA, growing as it goes, and one hashed in a lane of ExpandMask: the
/// digest and what is sampled come out as if alone.
pub fn shadows_agree<E: Engine>(e: E) {
    let text: Vec<u8> = (0..2600).map(|i| (i * 7) as u8).collect();
    for length in [0, 1, 135, 136, 137, 271, 272, 273, 1312, 1952, 2592] {
        for calls in [0, 1, 2, 9] {
            for complete in [false, true] {
                let text = &text[..length];
                let mut hash = ShadowHash::new(e.permutation());
                for call in 1..=calls {
                    let known = if complete {
                        length
                    } else {
                        length * call / calls
                    };
                    let mut shadow = Shadow {
                        hash: &mut hash,
                        known: &text[..known],
                        complete,
                    };
                    let mut beside = std::vec![Poly([0; N]); 8];
                    let mut alone = beside.clone();
                    let rho = [[call as u8; 32]];
                    e.uniform(&mut targets(&rho, &mut beside), Some(&mut shadow));
                    e.uniform(&mut targets(&rho, &mut alone), None);
                    assert_eq!(beside, alone);
                    if E::STATES > 1 && call % 2 == 1 {
                        let mut bytes = [[0; 680]; 8];
                        let bytes = &mut bytes[..E::STATES];
                        let seed = [[call as u8; 64]];
                        let fewer = &mut beside[..E::STATES - 1];
                        e.mask::<MlDsa65>(&mut targets(&seed, fewer), bytes, Some(&mut shadow));
                        let fewer = &mut alone[..E::STATES - 1];
                        e.mask::<MlDsa65>(&mut targets(&seed, fewer), bytes, None);
                        assert!(beside == alone);
                    }
                }
                let digest = hash.finish::<64>(text);
                assert_eq!(
                    digest,
                    h::<64>(permute_one, &[text]),
                    "{length} {calls} {complete}"
                );
            }
        }
    }
}

/// A target for each place, with the seeds in turn and nonces down from the largest.
fn targets<'a, const SEED: usize>(
    seeds: &'a [[u8; SEED]],
    out: &'a mut [Poly],
) -> impl Iterator<Item = Target<'a, SEED>> {
    let places = out.iter_mut().enumerate();
    places.map(|(i, out)| Target {
        seed: &seeds[i % seeds.len()],
        nonce: u16::MAX - i as u16 * 1170,
        out,
    })
}

/// Seeds of their own and one for all, groups full and not.
pub fn sampling_agrees<P: Parameters, E: Engine>(e: E) {
    for seeds in [1, 3, 56] {
        let rhos: Vec<[u8; 32]> = (0..seeds).map(|i| [i; 32]).collect();
        let seeds: Vec<[u8; 64]> = (0..seeds).map(|i| [200 - i; 64]).collect();
        for count in (1..=17).chain([56]) {
            agree!(e, "uniform", |e| {
                let mut out = std::vec![Poly([0; N]); count];
                e.uniform(&mut targets(&rhos, &mut out), None);
                out
            });
            agree!(e, "bounded", |e| {
                let mut out = std::vec![Poly([0; N]); count];
                e.bounded::<P>(&mut targets(&seeds, &mut out));
                assert!(out.iter().all(|p| p.0.iter().all(|x| x.abs() <= P::ETA)));
                out
            });
            agree!(e, "mask", |e| {
                let mut out = std::vec![Poly([0; N]); count];
                let mut bytes = [[0; 680]; 8];
                let bytes = &mut bytes[..E::STATES];
                e.mask::<P>(&mut targets(&seeds, &mut out), bytes, None);
                out
            });
        }
    }
}
