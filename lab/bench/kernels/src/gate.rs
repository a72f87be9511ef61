//! No kernel is timed before its output equals the portable backend's.

use crate::case::{Case, Entry, Kernel};

/// An implementation that was left out, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub kernel: &'static str,
    pub implementation: &'static str,
    pub reason: String,
}

/// What one call makes of the inputs.
fn answer(case: &mut dyn Case) -> Vec<u8> {
    case.reset();
    case.run(1);
    case.output()
}

/// Takes out every entry whose output differs from that of the kernel's first.
pub fn check(kernels: &mut [Kernel]) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for kernel in kernels {
        let name = kernel.name;
        let Some(first) = kernel.entries.first_mut() else {
            continue;
        };
        let expected = answer(&mut *first.case);
        kernel.entries.retain_mut(
            |Entry {
                 implementation,
                 case,
                 ..
             }| {
                let Some(reason) = difference(&expected, &answer(&mut **case)) else {
                    return true;
                };
                refusals.push(Refusal {
                    kernel: name,
                    implementation,
                    reason,
                });
                false
            },
        );
    }
    refusals
}

fn difference(expected: &[u8], got: &[u8]) -> Option<String> {
    if expected.len() != got.len() {
        return Some(format!(
            "gives {} bytes where the portable backend gives {}",
            got.len(),
            expected.len()
        ));
    }
    let at = expected.iter().zip(got).position(|(a, b)| a != b)?;
    Some(format!(
        "byte {at} of {} differs from the portable backend's",
        got.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Kernels, case};
    use crate::families;
    use mldsa_lanes::Backend;

    fn adds(step: u8, len: usize) -> Box<dyn Case> {
        case(
            vec![7u8; len],
            move |bytes| bytes[len - 1] += step,
            |bytes| bytes.clone(),
        )
    }

    fn kernel(cases: Vec<(&'static str, Box<dyn Case>)>) -> Kernel {
        let entries = cases.into_iter().map(|(implementation, case)| Entry {
            implementation,
            units: 1,
            case,
        });
        Kernel {
            name: "adds",
            unit: "call",
            entries: entries.collect(),
        }
    }

    #[test]
    fn a_wrong_kernel_is_left_out_by_name() {
        let cases = vec![
            ("portable", adds(1, 9)),
            ("right", adds(1, 9)),
            ("wrong", adds(2, 9)),
            ("short", adds(1, 8)),
        ];
        let mut kernels = [kernel(cases)];
        let refusals = check(&mut kernels);
        let names: Vec<_> = refusals.iter().map(|r| r.implementation).collect();
        assert_eq!(names, ["wrong", "short"]);
        assert!(refusals[0].reason.starts_with("byte 8 of 9 differs"));
        assert!(refusals[1].reason.starts_with("gives 8 bytes"));
        let left: Vec<_> = kernels[0]
            .entries
            .iter()
            .map(|e| e.implementation)
            .collect();
        assert_eq!(left, ["portable", "right"]);
    }

    #[test]
    fn a_case_starts_from_its_inputs_each_time() {
        let mut adds = adds(3, 4);
        adds.run(5);
        assert_eq!(answer(&mut *adds), [7, 7, 7, 10]);
        assert_eq!(answer(&mut *adds), [7, 7, 7, 10]);
    }

    /// Every kernel runs once on every backend and peer of this machine, and they agree.
    #[test]
    fn all_kernels_agree() {
        let backends: Vec<_> = Backend::available().collect();
        let mut kernels = Kernels::new(&[], &backends);
        families::collect(&mut kernels);
        assert_eq!(check(&mut kernels.list), []);
        for kernel in &mut kernels.list {
            assert!(kernel.entries.len() >= backends.len(), "{}", kernel.name);
            let output = answer(&mut *kernel.entries[0].case);
            assert!(output.iter().any(|byte| *byte != 0), "{}", kernel.name);
        }
    }
}
