//! `mldsa-ct leaks`: shows that the check can fail.

use std::hint::black_box;

use mldsa_lanes::ct::Site;
use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet, ct};

use crate::cases::{self, Case};
use crate::operations::{Operation, generate};

/// True if Valgrind reports every leak.
pub fn run(backends: &[Backend]) -> bool {
    black_box(divides_on_purpose(black_box(7), black_box(2)));
    let mut passed = true;
    for backend in backends {
        passed &= set::<MlDsa44>(*backend);
        passed &= set::<MlDsa65>(*backend);
        passed &= set::<MlDsa87>(*backend);
    }
    passed
}

fn set<P: ParameterSet>(backend: Backend) -> bool {
    let case = &cases::of::<P>()[0];
    let mut missed = Vec::new();
    let mut leaks = 0;
    let mut expect = |name: String, leak: &dyn Fn()| {
        let before = ct::errors();
        leak();
        leaks += 1;
        if ct::errors() == before {
            missed.push(name);
        }
    };
    expect("a branch on K".into(), &|| branch_on_k::<P>(backend, case));
    expect("an index from K".into(), &|| {
        index_from_k::<P>(backend, case)
    });
    for site in Site::ALL {
        for operation in needing(*site) {
            expect(format!("{} without {site:?}", operation.name()), &|| {
                ct::withhold(Some(*site));
                operation.run::<P>(backend, case);
                ct::withhold(None);
            });
        }
    }
    println!(
        "{:<9} {} {}",
        backend.name(),
        P::NAME,
        if missed.is_empty() {
            format!("each of {leaks} leaks is reported")
        } else {
            format!("FAILED: not reported: {}", missed.join("; "))
        }
    );
    missed.is_empty()
}

/// The operations in which a branch or an index depends on the value that `site` declassifies.
fn needing(site: Site) -> &'static [Operation] {
    match site {
        Site::Rho | Site::RefusedHalfBytes => &[
            Operation::Keygen,
            Operation::BatchKeygen,
            Operation::BatchKeygenExpanded,
        ],
        Site::PublicKey => &[Operation::Import],
        Site::KeyImport => &[Operation::Import, Operation::ImportRefused],
        Site::Challenge
        | Site::RejectedByR0
        | Site::RejectedByZ
        | Site::RejectedByCt0
        | Site::RejectedByHint
        | Site::Hint => &[
            Operation::Sign,
            Operation::SignExpanded,
            Operation::BatchSign,
        ],
        Site::Agreement => &[Operation::SignHardened],
    }
}

/// A byte of K, as the key generated from a secret ξ holds it.
fn byte_of_k<P: ParameterSet>(backend: Backend, case: &Case) -> u8 {
    generate::<P>(backend, case).encoded_bytes().as_ref()[32]
}

fn branch_on_k<P: ParameterSet>(backend: Backend, case: &Case) {
    if byte_of_k::<P>(backend, case) & 1 == 1 {
        // In both arms something the compiler cannot merge into arithmetic.
        black_box([1u8; 3]);
    } else {
        black_box([2u8; 5]);
    }
}

fn index_from_k<P: ParameterSet>(backend: Backend, case: &Case) {
    let table: [u8; 256] = core::array::from_fn(|i| i as u8 ^ 0x5a);
    black_box(black_box(&table)[usize::from(byte_of_k::<P>(backend, case))]);
}

/// What the search for divisions in library/scripts/ct.sh has to find.
#[inline(never)]
pub fn divides_on_purpose(a: u64, b: u64) -> u64 {
    a / b
}
