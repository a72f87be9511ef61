//! Decompose, hints and norm checks.

use std::slice::from_ref;

use mldsa_lanes::internals::{self as lanes, Poly};
use mldsa_lanes::{MlDsa44, MlDsa65, ParameterSet, Parameters};

use crate::case::{Case, Kernels, case};
use crate::data::{Q, plain, spread};
#[cfg(target_arch = "x86_64")]
use crate::peers::{Avx2, SLACK, aws_lc, mldsa_native, pqclean};

pub fn collect(kernels: &mut Kernels) {
    split::<MlDsa44>(kernels, "split/44");
    split::<MlDsa65>(kernels, "split/65");
    use_hint::<MlDsa44>(kernels, "use-hint/44");
    use_hint::<MlDsa65>(kernels, "use-hint/65");
    make_hint::<MlDsa44>(kernels, "make-hint/44");
    make_hint::<MlDsa65>(kernels, "make-hint/65");
    power2round(kernels);
    add_center(kernels);
    exceeds(kernels);
}

/// A case of two polynomials, both results.
fn two(a: Poly, b: Poly, call: impl Fn(&mut [Poly; 2]) + 'static) -> Box<dyn Case> {
    case([a, b], call, |polys| plain(polys))
}

/// The low part takes the place of w, the high part another.
fn split<P: ParameterSet>(kernels: &mut Kernels, name: &'static str) {
    kernels.kernel(name, "polynomial", |k| {
        let (w, w1) = (spread(100, 1 - Q, Q - 1), spread(101, 0, 0));
        k.ours(1, |backend| {
            two(w, w1, move |[w, w1]| lanes::split::<P>(backend, w, w1))
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let small = P::L == 4;
            let mut add =
                |name, caddq: fn(Avx2, &mut Poly), split: fn(Avx2, &mut Poly, &mut Poly)| {
                    let call = move |[w, w1]: &mut [Poly; 2]| {
                        caddq(avx2, w);
                        split(avx2, w1, w);
                    };
                    k.peer(name, 1, two(w, w1, call));
                };
            let native = if small {
                mldsa_native::decompose_44
            } else {
                mldsa_native::decompose_65
            };
            add("mldsa-native", mldsa_native::caddq, native);
            let aws = if small {
                aws_lc::decompose_44
            } else {
                aws_lc::decompose_65
            };
            add("aws-lc", aws_lc::caddq, aws);
            let decompose = if small {
                pqclean::decompose_44
            } else {
                pqclean::decompose_65
            };
            // Its own callers give one polynomial as input and output, too.
            let call = move |[w, w1]: &mut [Poly; 2]| {
                pqclean::caddq(avx2, w);
                let input = *w;
                decompose(avx2, w1, w, &input);
            };
            k.peer("pqclean", 1, two(w, w1, call));
        }
    });
}

fn use_hint<P: ParameterSet>(kernels: &mut Kernels, name: &'static str) {
    kernels.kernel(name, "polynomial", |k| {
        let (w, hint) = (spread(110, 1 - Q, Q - 1), spread(111, 0, 1));
        k.ours(1, |backend| {
            two(w, hint, move |[w, hint]| {
                lanes::use_hint::<P>(backend, w, hint)
            })
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let small = P::L == 4;
            let mut add =
                |name, caddq: fn(Avx2, &mut Poly), hint_in: fn(Avx2, &mut Poly, &Poly)| {
                    let call = move |[w, hint]: &mut [Poly; 2]| {
                        caddq(avx2, w);
                        hint_in(avx2, w, hint);
                    };
                    k.peer(name, 1, two(w, hint, call));
                };
            let native = if small {
                mldsa_native::use_hint_44
            } else {
                mldsa_native::use_hint_65
            };
            add("mldsa-native", mldsa_native::caddq, native);
            let aws = if small {
                aws_lc::use_hint_44
            } else {
                aws_lc::use_hint_65
            };
            add("aws-lc", aws_lc::caddq, aws);
            let clean = if small {
                pqclean::use_hint_44
            } else {
                pqclean::use_hint_65
            };
            let call = move |[w, hint, out]: &mut [Poly; 3]| {
                pqclean::caddq(avx2, w);
                clean(avx2, out, w, hint);
            };
            let output = |[_, hint, out]: &[Poly; 3]| plain(&[*out, *hint]);
            k.peer("pqclean", 1, case([w, hint, w], call, output));
        }
    });
}

fn make_hint<P: ParameterSet>(kernels: &mut Kernels, name: &'static str) {
    kernels.kernel(name, "polynomial", |k| {
        // Most signatures have a few hints in a polynomial; here about one in a hundred.
        let reach = P::GAMMA2 + P::GAMMA2 / 100;
        let (low, w1) = (spread(120, -reach, reach), spread(121, 0, 15));
        k.ours(1, |backend| {
            two(low, w1, move |[low, w1]| {
                lanes::make_hint::<P>(backend, low, w1)
            })
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let make = if P::L == 4 {
                pqclean::make_hint_44
            } else {
                pqclean::make_hint_65
            };
            // The hints as places.
            type State = ([Poly; 2], [u8; 256 + SLACK], u32);
            let state: State = ([low, w1], [0; 256 + SLACK], 0);
            let call = move |([low, w1], places, count): &mut State| {
                *count = make(avx2, places, low, w1);
            };
            let output = |([_, w1], places, count): &State| {
                let mut hint = [0; 256];
                for place in &places[..*count as usize] {
                    hint[usize::from(*place)] = 1;
                }
                plain(&[lanes::poly(hint), *w1])
            };
            k.peer("pqclean", 1, case(state, call, output));
        }
    });
}

fn power2round(kernels: &mut Kernels) {
    kernels.kernel("power2round", "polynomial", |k| {
        let (t, t1) = (spread(130, 1 - Q, Q - 1), spread(131, 0, 0));
        k.ours(1, |backend| {
            two(t, t1, move |[t, t1]| lanes::power2round(backend, t, t1))
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let call = move |[t, t1, t0]: &mut [Poly; 3]| {
                pqclean::caddq(avx2, t);
                pqclean::power2round(avx2, t1, t0, t);
            };
            let output = |[_, t1, t0]: &[Poly; 3]| plain(&[*t0, *t1]);
            k.peer("pqclean", 1, case([t, t1, t], call, output));
        }
    });
}

/// A sum, centered.
fn add_center(kernels: &mut Kernels) {
    const MOST: i32 = MlDsa65::GAMMA1 - MlDsa65::BETA;
    kernels.kernel("add-center", "polynomial", |k| {
        let state = (spread(140, 1 - MOST, MOST), spread(141, -196, 196));
        k.ours(1, |backend| {
            let call = move |(a, b): &mut (Poly, Poly)| lanes::add_center(backend, a, b);
            case(state, call, |(sum, _)| plain(from_ref(sum)))
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let call = move |((a, b), sum): &mut ((Poly, Poly), Poly)| {
                pqclean::add(avx2, sum, a, b);
                pqclean::reduce(avx2, sum);
            };
            k.peer(
                "pqclean",
                1,
                case((state, state.0), call, |(_, sum)| plain(from_ref(sum))),
            );
        }
    });
}

fn exceeds(kernels: &mut Kernels) {
    kernels.kernel("exceeds", "polynomial", |k| {
        // Within the bound, as the z of every valid signature: nothing may end early.
        let bound = MlDsa65::GAMMA1 - MlDsa65::BETA;
        let state = (spread(150, 1 - bound, bound - 1), true);
        type State = (Poly, bool);
        let output = |(p, beyond): &State| [plain(from_ref(p)), vec![u8::from(*beyond)]].concat();
        k.ours(1, |backend| {
            let call = move |(p, beyond): &mut State| *beyond = lanes::exceeds(backend, p, bound);
            case(state, call, output)
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let mut add = |name, exceeds: fn(Avx2, &Poly, i32) -> bool| {
                let call = move |(p, beyond): &mut State| *beyond = exceeds(avx2, p, bound);
                k.peer(name, 1, case(state, call, output));
            };
            add("mldsa-native", mldsa_native::exceeds);
            add("aws-lc", aws_lc::exceeds);
            add("pqclean", pqclean::exceeds);
        }
    });
}
