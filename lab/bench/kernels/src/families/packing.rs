//! Polynomials to strings and back.

use std::slice::from_ref;

use mldsa_lanes::internals::{self as lanes, Poly};
use mldsa_lanes::{Backend, MlDsa44, MlDsa65, ParameterSet};

use crate::case::{Case, Kernels, case};
use crate::data::{N, bytes, plain, spread};
#[cfg(target_arch = "x86_64")]
use crate::peers::{Avx2, SLACK, aws_lc, mldsa_native, pqclean};

#[cfg(target_arch = "x86_64")]
type Pack = fn(Avx2, &mut [u8], &Poly);
#[cfg(target_arch = "x86_64")]
type Unpack = fn(Avx2, &mut Poly, &[u8]);

/// Room behind a string, for the peers that read or write it in whole registers.
#[cfg(not(target_arch = "x86_64"))]
const SLACK: usize = 0;

pub fn collect(kernels: &mut Kernels) {
    pack_w1::<MlDsa44>(kernels, "pack-w1/44");
    pack_w1::<MlDsa65>(kernels, "pack-w1/65");
    pack_z::<MlDsa44>(kernels, "pack-z/44");
    pack_z::<MlDsa65>(kernels, "pack-z/65");
    unpack_z::<MlDsa44>(kernels, "unpack-z/44");
    unpack_z::<MlDsa65>(kernels, "unpack-z/65");
    pack_t1(kernels);
    unpack_t1(kernels);
    unpack_t0(kernels);
}

/// A string where all strings begin alike: at a cache line.
#[derive(Clone)]
#[repr(align(64))]
struct Line([u8; 640 + SLACK]);

/// A case that packs `p` into `len` bytes.
fn packing(p: Poly, len: usize, call: impl Fn(&Poly, &mut [u8]) + 'static) -> Box<dyn Case> {
    case(
        (p, Line([0; 640 + SLACK])),
        move |(p, out)| call(p, &mut out.0),
        move |(_, out)| out.0[..len].to_vec(),
    )
}

/// A case that unpacks the front of `string`.
fn unpacking(string: &Line, call: impl Fn(&[u8], &mut Poly) + 'static) -> Box<dyn Case> {
    case(
        (string.clone(), lanes::poly([0; N])),
        move |(from, p)| call(&from.0, p),
        |(_, p)| plain(from_ref(p)),
    )
}

fn pack_w1<P: ParameterSet>(kernels: &mut Kernels, name: &'static str) {
    kernels.kernel(name, "polynomial", |k| {
        let len = 32 * P::W1_BITS;
        let w1 = spread(200, 0, if P::W1_BITS == 6 { 43 } else { 15 });
        k.ours(1, |backend| {
            packing(w1, len, move |p, out| {
                lanes::pack_w1::<P>(backend, p, &mut out[..len])
            })
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let pack: Pack = if P::L == 4 {
                pqclean::pack_w1_44
            } else {
                pqclean::pack_w1_65
            };
            k.peer(
                "pqclean",
                1,
                packing(w1, len, move |p, out| pack(avx2, out, p)),
            );
        }
    });
}

fn pack_z<P: ParameterSet>(kernels: &mut Kernels, name: &'static str) {
    kernels.kernel(name, "polynomial", |k| {
        let len = 32 * P::Z_BITS;
        let z = spread(210, 1 - P::GAMMA1, P::GAMMA1);
        k.ours(1, |backend| {
            packing(z, len, move |p, out| {
                lanes::pack_z::<P>(backend, p, &mut out[..len])
            })
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let pack: Pack = if P::L == 4 {
                pqclean::pack_z_44
            } else {
                pqclean::pack_z_65
            };
            k.peer(
                "pqclean",
                1,
                packing(z, len, move |p, out| pack(avx2, out, p)),
            );
        }
    });
}

fn unpack_z<P: ParameterSet>(kernels: &mut Kernels, name: &'static str) {
    kernels.kernel(name, "polynomial", |k| {
        let len = 32 * P::Z_BITS;
        let string = &Line(bytes(220));
        k.ours(1, |backend| {
            unpacking(string, move |from, p| {
                lanes::unpack_z::<P>(backend, &from[..len], p)
            })
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let peers: [(&'static str, Unpack); 3] = if P::L == 4 {
                [
                    ("mldsa-native", mldsa_native::unpack_z_44),
                    ("aws-lc", aws_lc::unpack_z_44),
                    ("pqclean", pqclean::unpack_z_44),
                ]
            } else {
                [
                    ("mldsa-native", mldsa_native::unpack_z_65),
                    ("aws-lc", aws_lc::unpack_z_65),
                    ("pqclean", pqclean::unpack_z_65),
                ]
            };
            for (name, unpack) in peers {
                k.peer(
                    name,
                    1,
                    unpacking(string, move |from, p| unpack(avx2, p, from)),
                );
            }
        }
    });
}

fn pack_t1(kernels: &mut Kernels) {
    kernels.kernel("pack-t1", "polynomial", |k| {
        let t1 = spread(230, 0, 1023);
        k.ours(1, |backend| {
            packing(t1, 320, move |p, out| {
                lanes::pack_t1(backend, p, &mut out[..320])
            })
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let call = move |p: &Poly, out: &mut [u8]| pqclean::pack_t1(avx2, out, p);
            k.peer("pqclean", 1, packing(t1, 320, call));
        }
    });
}

/// With the scaling by 2^d.
fn unpack_t1(kernels: &mut Kernels) {
    kernels.kernel("unpack-t1", "polynomial", |k| {
        let string = Line(bytes(240));
        k.ours(1, |backend: Backend| {
            unpacking(&string, move |from, p| {
                lanes::unpack_t1_scaled(backend, &from[..320], p)
            })
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let call = move |from: &[u8], p: &mut Poly| {
                pqclean::unpack_t1(avx2, p, from);
                pqclean::shiftl(avx2, p);
            };
            k.peer("pqclean", 1, unpacking(&string, call));
        }
    });
}

fn unpack_t0(kernels: &mut Kernels) {
    kernels.kernel("unpack-t0", "polynomial", |k| {
        let string = Line(bytes(250));
        k.ours(1, |backend| {
            unpacking(&string, move |from, p| {
                lanes::unpack_t0(backend, &from[..416], p)
            })
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            let call = move |from: &[u8], p: &mut Poly| pqclean::unpack_t0(avx2, p, from);
            k.peer("pqclean", 1, unpacking(&string, call));
        }
    });
}
