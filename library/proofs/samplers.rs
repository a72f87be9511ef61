//! Compiles the rejection samplers of every backend as functions of their own, for proofs/sampling.py.

use std::hint::black_box;

use mldsa_lanes::internals::{accept_halves, accept_triples, poly};
use mldsa_lanes::{Backend, MlDsa44, MlDsa65};

fn main() {
    for backend in Backend::available() {
        let (block, mut p) = (black_box([0; 168]), black_box(poly([0; 256])));
        black_box(accept_triples(backend, &block, &mut p, 0));
        black_box(accept_halves::<MlDsa44>(backend, &block[..136], &mut p, 0));
        black_box(accept_halves::<MlDsa65>(backend, &block[..136], &mut p, 0));
        black_box(p);
    }
}
