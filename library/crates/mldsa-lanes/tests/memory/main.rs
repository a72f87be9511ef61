//! What operations leave in memory, and how much stack they take. A binary of its own, because it
//! replaces the allocator and runs operations on stacks of its own.
#![cfg(all(unix, feature = "alloc"))]

#[path = "../../../mldsa-inside/tests/suite/common/backends.rs"]
mod backends;
mod heap;
mod needles;
mod operations;
mod own_stack;
mod registers;
mod residue;
mod stack;

use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet};
use mldsa_oracle as oracle;
use operations::{Given, Keys, Operation};

/// Calls `each` with every operation, set by set: on each backend of this CPU, in order.
fn every_operation(mut each: impl FnMut(&'static oracle::Params, &Given, Backend, &Operation<'_>)) {
    fn of<P: ParameterSet>(
        each: &mut impl FnMut(&'static oracle::Params, &Given, Backend, &Operation<'_>),
    ) {
        let p = oracle::by_name(P::NAME).unwrap();
        let given = Given::new(p);
        for backend in backends::backends() {
            for operation in Keys::<P>::new(backend, &given).operations() {
                each(p, &given, backend, &operation);
            }
        }
    }
    of::<MlDsa44>(&mut each);
    of::<MlDsa65>(&mut each);
    of::<MlDsa87>(&mut each);
}
