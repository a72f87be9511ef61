//! `mldsa-ct check`.

use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet, ct};
use mldsa_trace::Check;

use crate::cases::{self, Case};
use crate::operations::Operation;

/// Runs every operation on every case, a line for each backend and operation; true if Valgrind
/// reports nothing.
pub fn run(backends: &[Backend]) -> bool {
    let (cases44, cases65, cases87) = (
        cases::of::<MlDsa44>(),
        cases::of::<MlDsa65>(),
        cases::of::<MlDsa87>(),
    );
    coverage::<MlDsa44>(&cases44, &[Check::R0, Check::Z, Check::Ct0, Check::Hint]);
    // ‖c·t0‖∞ is at most τ·2^(d−1), which is below γ2 for these two.
    coverage::<MlDsa65>(&cases65, &[Check::R0, Check::Z, Check::Hint]);
    coverage::<MlDsa87>(&cases87, &[Check::R0, Check::Z, Check::Hint]);
    let mut passed = ct::errors() == 0;
    for backend in backends {
        for operation in Operation::ALL {
            let before = ct::errors();
            for case in &cases44 {
                operation.run::<MlDsa44>(*backend, case);
            }
            for case in &cases65 {
                operation.run::<MlDsa65>(*backend, case);
            }
            for case in &cases87 {
                operation.run::<MlDsa87>(*backend, case);
            }
            let reports = ct::errors() - before;
            passed &= reports == 0;
            println!(
                "{:<9} {:<24} {}",
                backend.name(),
                operation.name(),
                match reports {
                    0 => "nothing depends on a secret".to_owned(),
                    n => format!("FAILED: {n} reports above"),
                }
            );
        }
    }
    passed
}

/// Says what the cases of a set make a signer do, and panics if it misses a way to be rejected.
fn coverage<P: ParameterSet>(cases: &[Case], wanted: &[Check]) {
    let ends: Vec<_> = cases.iter().flat_map(|case| &case.ends).collect();
    let counts = wanted.iter().map(|check| {
        let count = ends.iter().filter(|end| ***end == Some(*check)).count();
        assert!(count > 0, "{}: no attempt ends at {check:?}", P::NAME);
        format!("{check:?} {count}")
    });
    println!(
        "{}: {} keys and messages, {} attempts, rejected at {}",
        P::NAME,
        cases.len(),
        ends.len(),
        counts.collect::<Vec<_>>().join(", ")
    );
}
