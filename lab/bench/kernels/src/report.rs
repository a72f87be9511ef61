//! The table, and the samples as JSON Lines.

use std::fmt::Write as _;
use std::fs::{File, read_to_string};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::case::Kernel;
use crate::measure::Series;

/// Who a ratio is to: the first of these that has the kernel, else our portable backend.
const REFERENCES: [&str; 4] = ["mldsa-native", "pqclean", "aws-lc", "rustcrypto"];
pub const PORTABLE: &str = "portable";

/// Median and quartiles.
#[derive(Debug, PartialEq)]
pub struct Quartiles {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Quartiles {
    /// By linear interpolation between the two nearest values. `values` is not empty.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (values.len() - 1) as f64;
            let (below, above) = (values[place as usize], values[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Quartiles {
            median: at(0.5),
            low: at(0.25),
            high: at(0.75),
        }
    }
}

/// Nanoseconds for one unit, round by round.
pub fn per_unit(kernels: &[Kernel], series: &Series) -> Vec<f64> {
    let units = kernels[series.kernel].entries[series.entry].units;
    let divisor = f64::from(series.calls) * f64::from(units);
    series.nanoseconds.iter().map(|t| t / divisor).collect()
}

/// Which entry of the kernel the others are held against.
fn reference(kernel: &Kernel) -> usize {
    let place = |name: &str| kernel.entries.iter().position(|e| e.implementation == name);
    let peer = REFERENCES.iter().find_map(|name| place(name));
    peer.or_else(|| place(PORTABLE)).unwrap_or(0)
}

/// Median time, and median and quartiles of the ratios taken within each round.
pub fn table(kernels: &[Kernel], all: &[Series], rounds: u32) -> String {
    let mut text = format!(
        "{}\nthread CPU time, {rounds} interleaved rounds; ratio: to the implementation marked *, \
         in the same round (median, middle half)\n\n{:<17} {:<17} {:>10}    {:>7}\n",
        header()
            .iter()
            .map(|(key, value)| format!("{key}: {value}"))
            .collect::<Vec<_>>()
            .join("\n"),
        "kernel",
        "implementation",
        "ns",
        "ratio"
    );
    for (number, kernel) in kernels.iter().enumerate() {
        let mine: Vec<&Series> = all.iter().filter(|s| s.kernel == number).collect();
        let base = reference(kernel);
        let Some(base_series) = mine.iter().find(|s| s.entry == base) else {
            continue;
        };
        let base_times = per_unit(kernels, base_series);
        for (line, series) in mine.iter().enumerate() {
            let times = per_unit(kernels, series);
            let ratios = times.iter().zip(&base_times).map(|(t, b)| t / b).collect();
            let ratio = Quartiles::of(ratios);
            let mark = if series.entry == base { '*' } else { ' ' };
            let name = kernel.entries[series.entry].implementation;
            let _ = write!(
                text,
                "{:<17} {name:<17} {:>10.1} {mark}",
                if line == 0 { kernel.name } else { "" },
                Quartiles::of(times).median,
            );
            let _ = match series.entry == base {
                true => writeln!(text, "  {:>7}  a {}", "1", kernel.unit),
                false => writeln!(
                    text,
                    "  {:>7.3}  {:.3}-{:.3}",
                    ratio.median, ratio.low, ratio.high
                ),
            };
        }
    }
    text
}

/// The kernels and who has them.
pub fn list(kernels: &[Kernel]) -> String {
    let mut text = String::new();
    for kernel in kernels {
        let names: Vec<_> = kernel.entries.iter().map(|e| e.implementation).collect();
        let _ = writeln!(text, "{:<17} {}", kernel.name, names.join(", "));
    }
    text
}

/// What a reader must know of the machine and of the build.
fn header() -> Vec<(&'static str, String)> {
    let proc = |path: &str| read_to_string(path).unwrap_or_default();
    let model = proc("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or(String::from("unknown"), |(_, name)| name.to_owned());
    let load: Vec<String> = proc("/proc/loadavg")
        .split_whitespace()
        .take(3)
        .map(str::to_owned)
        .collect();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut lines = vec![
        ("cpu", format!("{model}, {cores} cores")),
        ("load", load.join(" ")),
    ];
    lines.extend(
        PEERS
            .iter()
            .map(|(name, package)| (*name, locked(package).unwrap_or("unknown").to_owned())),
    );
    lines
}

/// The peers and the packages whose versions they have.
const PEERS: [(&str, &str); 5] = [
    ("mldsa-native", "mldsa-native-rs"),
    ("aws-lc", "aws-lc-sys"),
    ("pqclean", "pqcrypto-mldsa"),
    ("libcrux", "libcrux-sha3"),
    ("rustcrypto", "shake"),
];

/// The package's version in the lock file that this was built with.
fn locked(package: &str) -> Option<&'static str> {
    const LOCK: &str = include_str!("../../../Cargo.lock");
    let mut lines = LOCK.lines();
    lines.find(|line| {
        line.strip_prefix("name = ")
            .is_some_and(|name| name.trim_matches('"') == package)
    })?;
    let version = lines.next()?.strip_prefix("version = ")?;
    Some(version.trim_matches('"'))
}

/// The file that the samples go to, made before anything is measured.
pub fn create(path: &Path) -> Result<(BufWriter<File>, PathBuf), String> {
    let file = File::create(path).map_err(|e| format!("--json {}: {e}", path.display()))?;
    Ok((BufWriter::new(file), path.to_owned()))
}

/// A line on the machine, then one for each implementation of each kernel with all its samples.
pub fn write(out: &mut impl Write, kernels: &[Kernel], all: &[Series]) -> std::io::Result<()> {
    let machine: serde_json::Map<String, Value> = header()
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    writeln!(
        out,
        "{}",
        json!({ "format": "mldsa-bench-kernels 1", "header": machine })
    )?;
    for series in all {
        let kernel = &kernels[series.kernel];
        let entry = &kernel.entries[series.entry];
        let line = json!({
            "kernel": kernel.name,
            "unit": kernel.unit,
            "implementation": entry.implementation,
            "units_per_call": entry.units,
            "calls_per_sample": series.calls,
            "reference": kernel.entries[reference(kernel)].implementation,
            "cpu_ns": series.nanoseconds,
        });
        writeln!(out, "{line}")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Entry, case};

    fn entry(implementation: &'static str, units: u32) -> Entry {
        Entry {
            implementation,
            units,
            case: case((), |()| (), |()| Vec::new()),
        }
    }

    #[test]
    fn quartiles_interpolate() {
        let of = |values: &[f64]| Quartiles::of(values.to_vec());
        let expected = Quartiles {
            median: 2.5,
            low: 1.75,
            high: 3.25,
        };
        assert_eq!(of(&[4.0, 1.0, 3.0, 2.0]), expected);
        let one = of(&[7.0]);
        assert_eq!((one.low, one.median, one.high), (7.0, 7.0, 7.0));
    }

    /// Ratios are taken within a round: where both slow down together nothing shows.
    #[test]
    fn the_table_compares_within_rounds() {
        let kernels = [Kernel {
            name: "k",
            unit: "state",
            entries: vec![entry("portable", 1), entry("mldsa-native", 4)],
        }];
        let series = |entry, calls, nanoseconds: [f64; 3]| Series {
            kernel: 0,
            entry,
            calls,
            nanoseconds: nanoseconds.to_vec(),
        };
        let all = [
            series(0, 10, [300.0, 6000.0, 330.0]),
            series(1, 5, [200.0, 4000.0, 220.0]),
        ];
        let text = table(&kernels, &all, 3);
        let lines: Vec<_> = text.lines().rev().take(2).collect();
        let fields =
            |line: &str| -> Vec<String> { line.split_whitespace().map(String::from).collect() };
        assert_eq!(
            fields(lines[1]),
            ["k", "portable", "33.0", "3.000", "3.000-3.000"]
        );
        assert_eq!(
            fields(lines[0]),
            ["mldsa-native", "11.0", "*", "1", "a", "state"]
        );

        let mut json = Vec::new();
        write(&mut json, &kernels, &all).expect("written to memory");
        let lines: Vec<Value> = json
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).expect("JSON"))
            .collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[2]["reference"], "mldsa-native");
        assert_eq!(lines[2]["cpu_ns"], json!([200.0, 4000.0, 220.0]));
    }

    #[test]
    fn the_versions_of_all_peers_are_known() {
        for (_, package) in PEERS {
            assert!(locked(package).is_some(), "{package}");
        }
        assert_eq!(locked("no-such-package"), None);
    }
}
