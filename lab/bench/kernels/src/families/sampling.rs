//! Samplers, eight polynomials a call with their hashing, and the challenge.

use std::slice::from_ref;

use mldsa_lanes::internals::{self as lanes, MaskSpace, Poly};
use mldsa_lanes::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};

use crate::case::{Case, Kernels, case};
use crate::data::{N, bytes, plain};
#[cfg(target_arch = "x86_64")]
use crate::peers::{Avx2, pqclean};

/// Polynomials of a call: whole groups on every backend.
const COUNT: usize = 8;
const NONCES: [u16; COUNT] = [0, 1, 2, 3, 256, 257, 258, 259];

#[cfg(target_arch = "x86_64")]
type Sample4<const LEN: usize> = fn(Avx2, &[u8; LEN], [u16; 4], &mut [Poly; 4]);

pub fn collect(kernels: &mut Kernels) {
    let rho = bytes::<32>(300);
    kernels.kernel("uniform", "polynomial", |k| {
        k.ours(COUNT as u32, |backend| {
            sampling(move |out| lanes::uniform(backend, &rho, &NONCES, out))
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            k.peer(
                "pqclean",
                COUNT as u32,
                by_fours(avx2, rho, pqclean::uniform),
            );
        }
    });
    bounded::<MlDsa44>(kernels, "bounded/44");
    bounded::<MlDsa65>(kernels, "bounded/65");
    mask::<MlDsa44>(kernels, "mask/44");
    mask::<MlDsa65>(kernels, "mask/65");
    challenge::<MlDsa44>(kernels, "challenge/44");
    challenge::<MlDsa65>(kernels, "challenge/65");
    challenge::<MlDsa87>(kernels, "challenge/87");
}

fn sampling(call: impl Fn(&mut [Poly; COUNT]) + 'static) -> Box<dyn Case> {
    case([lanes::poly([0; N]); COUNT], call, |polys| plain(polys))
}

/// A peer that samples four polynomials at a time.
#[cfg(target_arch = "x86_64")]
fn by_fours<const LEN: usize>(avx2: Avx2, seed: [u8; LEN], sample: Sample4<LEN>) -> Box<dyn Case> {
    sampling(move |out| {
        let (fours, _) = out.as_chunks_mut::<4>();
        let (nonces, _) = NONCES.as_chunks::<4>();
        for (out, nonces) in fours.iter_mut().zip(nonces) {
            sample(avx2, &seed, *nonces, out);
        }
    })
}

fn bounded<P: ParameterSet>(kernels: &mut Kernels, name: &'static str) {
    kernels.kernel(name, "polynomial", |k| {
        let seed = bytes::<64>(310);
        k.ours(COUNT as u32, |backend| {
            sampling(move |out| lanes::bounded::<P>(backend, &seed, &NONCES, out))
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let sample = if P::ETA == 2 {
                pqclean::bounded_44
            } else {
                pqclean::bounded_65
            };
            k.peer("pqclean", COUNT as u32, by_fours(avx2, seed, sample));
        }
    });
}

fn mask<P: ParameterSet>(kernels: &mut Kernels, name: &'static str) {
    kernels.kernel(name, "polynomial", |k| {
        let seed = bytes::<64>(320);
        k.ours(COUNT as u32, |backend| {
            case(
                ([lanes::poly([0; N]); COUNT], MaskSpace::new()),
                move |(out, space)| lanes::mask::<P>(backend, &seed, &NONCES, space, out),
                |(polys, _)| plain(polys),
            )
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let sample = if P::L == 4 {
                pqclean::mask_44
            } else {
                pqclean::mask_65
            };
            k.peer("pqclean", COUNT as u32, by_fours(avx2, seed, sample));
        }
    });
}

fn challenge<P: ParameterSet>(kernels: &mut Kernels, name: &'static str) {
    kernels.kernel(name, "challenge", |k| {
        // With room behind for a peer's reads.
        let c_tilde = bytes::<96>(330);
        let start = lanes::poly([0; N]);
        let output = |c: &Poly| plain(from_ref(c));
        k.ours(1, |backend| {
            let call = move |c: &mut Poly| {
                lanes::challenge::<P>(backend, &c_tilde[..P::C_TILDE_BYTES], c);
            };
            case(start, call, output)
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let sample = match P::L {
                4 => pqclean::challenge_44,
                5 => pqclean::challenge_65,
                _ => pqclean::challenge_87,
            };
            k.peer(
                "pqclean",
                1,
                case(start, move |c| sample(avx2, c, &c_tilde), output),
            );
        }
    });
}
