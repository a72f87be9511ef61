//! The least gain of a vector backend over the portable one. A kernel whose entry point loses its CPU features still
//! gives right answers, 6 to 30 times slower; no test shows that.

use crate::case::Kernel;
use crate::measure::Series;
use crate::report::{PORTABLE, Quartiles, per_unit};

/// How many times as fast as portable a backend's kernel must be; none for a peer, or where the backend has the same
/// code. At most two thirds of what was measured on a Xeon and a Zen 5 (library/evidence/kernels.md), and above what is
/// left without the CPU features.
fn floor(kernel: &str, backend: &str) -> Option<f64> {
    let [transforms, unpacking, others] = match backend {
        "avx2" => [2.0, 3.0, 1.2],
        "avx512" => [3.0, 3.0, 1.3],
        // Not measured: no machine with NEON was at hand.
        "neon" | "neon-sha3" => [1.2; 3],
        _ => return None,
    };
    match kernel.split('/').next() {
        // One Keccak state has no lanes.
        Some("keccak" | "challenge" | "shake256") => None,
        Some("ntt" | "inverse-ntt" | "product" | "dot") => Some(transforms),
        Some("unpack-z" | "unpack-t0" | "unpack-t1") => Some(unpacking),
        _ => Some(others),
    }
}

/// A line for each kernel of a backend that is below its floor.
pub fn missed(kernels: &[Kernel], all: &[Series]) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, kernel) in kernels.iter().enumerate() {
        let mine = || all.iter().filter(|s| s.kernel == number);
        let name = |series: &Series| kernel.entries[series.entry].implementation;
        let Some(portable) = mine().find(|s| name(s) == PORTABLE) else {
            continue;
        };
        let portable = per_unit(kernels, portable);
        for series in mine() {
            let Some(floor) = floor(kernel.name, name(series)) else {
                continue;
            };
            let times = per_unit(kernels, series);
            let gains = portable.iter().zip(&times).map(|(p, t)| p / t).collect();
            let gain = Quartiles::of(gains).median;
            if gain < floor {
                lines.push(format!(
                    "floor missed: {} of {} is {gain:.2} times as fast as portable, less than {floor}: \
                     does its entry point still have the CPU features (`kernels!`)?",
                    kernel.name,
                    name(series)
                ));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Entry, case};

    #[test]
    fn a_kernel_below_its_floor_is_named() {
        let entry = |implementation, units| Entry {
            implementation,
            units,
            case: case((), |()| (), |()| Vec::new()),
        };
        let kernel = |name| Kernel {
            name,
            unit: "polynomial",
            entries: vec![entry("portable", 1), entry("avx2", 2), entry("pqclean", 1)],
        };
        let kernels = [kernel("ntt"), kernel("dot/44"), kernel("challenge/44")];
        let series = |kernel, entry, nanoseconds| Series {
            kernel,
            entry,
            calls: 10,
            nanoseconds: vec![nanoseconds; 3],
        };
        let all = [
            series(0, 0, 600.0),
            series(0, 1, 599.0),
            series(0, 2, 600.0),
            series(1, 0, 600.0),
            series(1, 1, 601.0),
            series(2, 0, 600.0),
            series(2, 1, 1200.0),
        ];
        let lines = missed(&kernels, &all);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("floor missed: dot/44 of avx2 is 2.00 times"));
    }
}
