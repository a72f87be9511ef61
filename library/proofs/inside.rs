//! Compiles functions that `make prove` reads and the library has no copy of: the rejection samplers of every backend,
//! and the kernels that the compiler merges into other functions on AArch64.

use std::hint::black_box;

use mldsa_lanes::internals::{
    accept_halves, accept_triples, add_center, center, exceeds, make_hint, poly, power2round, product, small_poly,
    small_set, split, use_hint,
};
use mldsa_lanes::{Backend, MlDsa44, MlDsa65};

fn main() {
    for backend in Backend::available() {
        let (block, mut p) = (black_box([0; 168]), black_box(poly([0; 256])));
        black_box(accept_triples(backend, &block, &mut p, 0));
        black_box(accept_halves::<MlDsa44>(backend, &block[..136], &mut p, 0));
        black_box(accept_halves::<MlDsa65>(backend, &block[..136], &mut p, 0));
        let (mut q, mut small) = (p, small_poly::<MlDsa44>(&p));
        split::<MlDsa44>(backend, &mut p, &mut q);
        split::<MlDsa65>(backend, &mut p, &mut q);
        make_hint::<MlDsa44>(backend, &mut p, &q);
        make_hint::<MlDsa65>(backend, &mut p, &q);
        use_hint::<MlDsa44>(backend, &mut p, &q);
        use_hint::<MlDsa65>(backend, &mut p, &q);
        power2round(backend, &mut p, &mut q);
        add_center(backend, &mut p, &q);
        black_box(center(backend, &mut p, 1) | exceeds(backend, &p, 1));
        small_set(backend, &q, 2, &mut small);
        product(backend, &p.clone(), &q, &mut p);
        black_box((p, q, small));
    }
}
