//! Transforms and products.

use std::slice::from_ref;

use mldsa_lanes::internals::{self as lanes, Challenge, Poly};
use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet};

#[cfg(target_arch = "x86_64")]
use crate::case::Filled;
use crate::case::{Case, Kernels, case};
use crate::data::{N, Q, modulo, plain, spread, spread_vec};
#[cfg(target_arch = "x86_64")]
use crate::peers::{Avx2, Order, aws_lc, mldsa_native, pqclean};

pub fn collect(kernels: &mut Kernels) {
    let y = spread(1, 1 - (1 << 19), 1 << 19);
    kernels.kernel("ntt", "polynomial", |k| {
        k.ours(1, |backend| {
            case(y, move |p| lanes::ntt(backend, p), |p| modulo(from_ref(p)))
        });
        #[cfg(target_arch = "x86_64")]
        peer_ntt(k, &y);
    });
    let y_hat = spread(2, 1 - Q, Q - 1);
    kernels.kernel("inverse-ntt", "polynomial", |k| {
        k.ours(1, |backend| {
            case(
                y_hat,
                move |p| lanes::inverse_ntt(backend, p),
                |p| modulo(from_ref(p)),
            )
        });
        #[cfg(target_arch = "x86_64")]
        peer_inverse(k, &y_hat);
    });
    let (a, b) = (spread(3, 0, Q - 1), spread(4, 1 - Q, Q - 1));
    kernels.kernel("product", "polynomial", |k| {
        k.ours(1, |backend| {
            three(a, b, move |[a, b, out]| lanes::product(backend, a, b, out))
        });
        #[cfg(target_arch = "x86_64")]
        peer_product(k, &a, &b);
    });
    dot(kernels, "dot/44", 4);
    dot(kernels, "dot/65", 5);
    dot(kernels, "dot/87", 7);
    small_product::<MlDsa44>(kernels, "small-product/44");
    small_product::<MlDsa65>(kernels, "small-product/65");
    small_product::<MlDsa87>(kernels, "small-product/87");
}

/// A case whose third polynomial is the result.
fn three(a: Poly, b: Poly, call: impl Fn(&mut [Poly; 3]) + 'static) -> Box<dyn Case> {
    case([a, b, a], call, |[_, _, out]| modulo(from_ref(out)))
}

#[cfg(target_arch = "x86_64")]
fn peer_ntt(k: &mut Filled, y: &Poly) {
    let Some(avx2) = Avx2::detect() else { return };
    let mut add = |name, unpack: fn(Avx2, &mut Poly), ntt: fn(Avx2, &mut Poly)| {
        let order = Order::of(|p| unpack(avx2, p));
        let output = move |p: &Poly| modulo(from_ref(&order.to_standard(p)));
        k.peer(name, 1, case(*y, move |p| ntt(avx2, p), output));
    };
    add("mldsa-native", mldsa_native::nttunpack, mldsa_native::ntt);
    add("aws-lc", aws_lc::nttunpack, aws_lc::ntt);
    add("pqclean", pqclean::nttunpack, pqclean::ntt);
}

#[cfg(target_arch = "x86_64")]
fn peer_inverse(k: &mut Filled, y_hat: &Poly) {
    let Some(avx2) = Avx2::detect() else { return };
    let mut add = |name, unpack: fn(Avx2, &mut Poly), inverse: fn(Avx2, &mut Poly)| {
        let input = Order::of(|p| unpack(avx2, p)).to_peer(y_hat);
        let call = move |p: &mut Poly| inverse(avx2, p);
        k.peer(name, 1, case(input, call, |p| modulo(from_ref(p))));
    };
    add(
        "mldsa-native",
        mldsa_native::nttunpack,
        mldsa_native::inverse_ntt,
    );
    add("aws-lc", aws_lc::nttunpack, aws_lc::inverse_ntt);
    add("pqclean", pqclean::nttunpack, pqclean::inverse_ntt);
}

/// mldsa-native and AWS-LC overwrite a factor.
#[cfg(target_arch = "x86_64")]
fn peer_product(k: &mut Filled, a: &Poly, b: &Poly) {
    let Some(avx2) = Avx2::detect() else { return };
    let mut add = |name, product: fn(Avx2, &mut Poly, &Poly)| {
        let call = move |[_, b, out]: &mut [Poly; 3]| product(avx2, out, b);
        k.peer(name, 1, three(*a, *b, call));
    };
    add("mldsa-native", mldsa_native::product);
    add("aws-lc", aws_lc::product);
    let call = move |[a, b, out]: &mut [Poly; 3]| pqclean::product(avx2, out, a, b);
    k.peer("pqclean", 1, three(*a, *b, call));
}

/// Row and vector of `len` polynomials each, and the result.
type DotState = (Vec<Poly>, Vec<Poly>, Poly);

fn dot(kernels: &mut Kernels, name: &'static str, len: usize) {
    kernels.kernel(name, "row", |k| {
        let row = spread_vec(20, 0, Q - 1, len);
        let v = spread_vec(40, 1 - 9 * Q, 9 * Q - 1, len);
        let state: DotState = (row, v, spread(5, 0, 1));
        let output = |(_, _, out): &DotState| modulo(from_ref(out));
        k.ours(1, |backend| {
            case(
                state.clone(),
                move |(row, v, out)| lanes::dot(backend, row, v, out),
                output,
            )
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            type Dot = fn(Avx2, &mut Poly, &[Poly], &[Poly]);
            let peers: [(&'static str, Dot); 3] = match len {
                4 => [
                    ("mldsa-native", mldsa_native::dot_44),
                    ("aws-lc", aws_lc::dot_44),
                    ("pqclean", pqclean::dot_44),
                ],
                5 => [
                    ("mldsa-native", mldsa_native::dot_65),
                    ("aws-lc", aws_lc::dot_65),
                    ("pqclean", pqclean::dot_65),
                ],
                _ => [
                    ("mldsa-native", mldsa_native::dot_87),
                    ("aws-lc", aws_lc::dot_87),
                    ("pqclean", pqclean::dot_87),
                ],
            };
            for (name, dot) in peers {
                let call = move |(row, v, out): &mut DotState| dot(avx2, out, row, v);
                k.peer(name, 1, case(state.clone(), call, output));
            }
        }
    });
}

/// c·s without a transform, added to zeros; no peer has it.
fn small_product<P: ParameterSet>(kernels: &mut Kernels, name: &'static str) {
    kernels.kernel(name, "polynomial", |k| {
        let mut c = spread(6, 0, 0);
        lanes::challenge::<P>(Backend::portable(), &[7; 64][..P::C_TILDE_BYTES], &mut c);
        let s = lanes::small_poly::<P>(&spread(7, -P::ETA, P::ETA));
        let state = (Challenge::new(&c), s, lanes::poly([0; N]));
        k.ours(1, |backend| {
            case(
                state.clone(),
                move |(c, s, out)| {
                    *out = lanes::poly([0; N]);
                    lanes::add_small::<P>(backend, c, s, out, i32::MAX);
                },
                |(_, _, out)| plain(from_ref(out)),
            )
        });
    });
}
