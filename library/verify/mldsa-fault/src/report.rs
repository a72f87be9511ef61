//! Tables of records.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::worker::OUTCOMES;

/// Where instructions are executed.
const EXECUTED: [&str; 4] = ["library", "inlined", "caller", "other functions"];

type Row = [u64; OUTCOMES.len()];

/// Counts of the records, by mode and set, then by operation, kind or state. Faults at lines of the caller
/// itself are a row of their own, and no part of the others.
#[derive(Default)]
pub struct Report {
    executed: BTreeMap<(String, u64, String), Vec<u64>>,
    rows: BTreeMap<(String, u64), BTreeMap<String, Row>>,
    found: Vec<String>,
    missed: u64,
}

impl Report {
    pub fn add(&mut self, record: &Value) {
        let mode = record["mode"].as_str().unwrap_or_default().to_owned();
        let set = record["set"].as_u64().unwrap_or_default();
        for (operation, row) in record["executed"].as_object().into_iter().flatten() {
            let row = row.as_array().into_iter().flatten();
            let key = (mode.clone(), set, operation.clone());
            let row = row.filter_map(Value::as_u64).collect();
            self.executed.insert(key, row);
        }
        let state = match record["warm"].as_bool() {
            Some(true) => "warm",
            _ => "cold",
        };
        let rows = self.rows.entry((mode, set)).or_default();
        let counts = record["counts"].as_object();
        for (name, row) in counts.into_iter().flatten() {
            let mut names = name.split(' ');
            let mut next = || names.next().unwrap_or_default();
            let (operation, kind, place) = (next(), next(), next());
            let names = match place {
                "caller" => vec!["4 caller".to_owned()],
                _ => vec![
                    format!("0 {operation}"),
                    format!("1 {kind}"),
                    format!("2 {state}"),
                    format!("2 {place}"),
                    "3 all".into(),
                ],
            };
            for name in names {
                let sum = rows.entry(name).or_default();
                for (sum, count) in sum.iter_mut().zip(row.as_array().into_iter().flatten()) {
                    *sum += count.as_u64().unwrap_or_default();
                }
            }
        }
        let found = record["found"].as_array().into_iter().flatten();
        let found = found.filter_map(Value::as_str);
        self.found
            .extend(found.map(|line| format!("ML-DSA-{set}: {line}")));
        self.missed += record["missed"].as_u64().unwrap_or_default();
    }

    /// All faults of a mode, by outcome.
    pub fn of_mode(&self, mode: &str) -> BTreeMap<&'static str, u64> {
        let rows = self.rows.iter().filter(|((m, _), _)| m == mode);
        let mut sums = BTreeMap::new();
        for row in rows.filter_map(|(_, rows)| rows.get("3 all")) {
            for (name, count) in OUTCOMES.iter().zip(row) {
                *sums.entry(*name).or_default() += count;
            }
        }
        sums
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for ((mode, set), rows) in &self.rows {
            let _ = writeln!(text, "ML-DSA-{set}, {mode}");
            let _ = write!(text, "  {:13}{:>9}", "", "faults");
            for name in OUTCOMES {
                let _ = write!(text, "{name:>10}");
            }
            text.push('\n');
            for (name, row) in rows {
                let faults: u64 = row.iter().sum();
                let _ = write!(text, "  {:13}{faults:>9}", &name[2..]);
                for count in row {
                    let _ = write!(text, "{count:>10}");
                }
                text.push('\n');
            }
        }
        for ((mode, set, operation), row) in &self.executed {
            let all: u64 = row.iter().sum();
            let _ = write!(
                text,
                "ML-DSA-{set}, {mode}, {operation}: {all} instructions"
            );
            for (name, count) in EXECUTED.iter().zip(row) {
                let share = 100.0 * *count as f64 / all as f64;
                let _ = write!(text, ", {name} {share:.3} %");
            }
            text.push('\n');
        }
        for line in &self.found {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(
            text,
            "  {} more were drawn for places that were not reached again",
            self.missed
        );
        text
    }
}
