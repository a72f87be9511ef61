//! The injector finds what is weak, repeats itself, and does no harm of its own.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// A run with a file of this name, which is new: its exit code and its records.
fn run(name: &str, arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&file);
    again(&file, arguments)
}

fn again(file: &PathBuf, arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mldsa-fault"));
    let done = command.args(arguments).arg("--out").arg(file).output();
    let done = done.unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    print!("{}", String::from_utf8_lossy(&done.stdout));
    eprint!("{}", String::from_utf8_lossy(&done.stderr));
    // Parts run at once and are written as they end.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let records = lines.iter().map(|line| serde_json::from_str(line).unwrap());
    (done.status.code(), records.collect())
}

/// The column of all rows: right, other, refused, panic, crash, hang, unbounded, wrong, revealing.
fn sum(record: &Value, column: usize) -> u64 {
    let rows = record["counts"].as_object().unwrap().values();
    rows.map(|row| row[column].as_u64().unwrap()).sum()
}

/// Plain operations release wrong signatures and some that reveal the key; a seed repeats its run; a file that
/// has all parts stays as it is.
#[test]
fn plain_operations_are_weak() {
    let arguments = ["200", "--sets", "44", "--modes", "plain", "--seed", "3"];
    let (code, first) = run("plain.jsonl", &arguments);
    assert_eq!(code, Some(0));
    let all = |column| first.iter().map(|record| sum(record, column)).sum::<u64>();
    assert!(all(7) > 0 && all(8) > 0, "{first:?}");
    let sums = first
        .iter()
        .map(|record| (0..9).map(|column| sum(record, column)).sum());
    assert_eq!(sums.collect::<Vec<u64>>(), [100, 100]);
    let (_, second) = run("plain-again.jsonl", &arguments);
    assert_eq!(first, second);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("plain.jsonl");
    assert_eq!(again(&file, &arguments), (Some(0), first));
}

/// Children that are not disturbed give what the operation gives.
#[test]
fn without_faults_all_is_right() {
    for set in ["44", "65", "87"] {
        let (code, records) = run(
            &format!("idle-{set}.jsonl"),
            &["40", "--sets", set, "--idle"],
        );
        assert_eq!(code, Some(0));
        assert_eq!(records.len(), 4);
        assert!(
            records.iter().all(|record| sum(record, 0) == 20),
            "{records:?}"
        );
    }
}

/// Hardened operations give nothing that is wrong.
#[test]
fn hardened_operations_are_not() {
    let arguments = ["300", "--sets", "65", "--modes", "hardened", "--seed", "3"];
    let (code, records) = run("hardened.jsonl", &arguments);
    assert_eq!(code, Some(0), "{records:?}");
    assert!(sum(&records[0], 2) > 0, "nothing was refused");
}

/// Each instruction of a verification in turn, cold and after a call that accepted.
#[test]
fn a_sweep_is_survived() {
    let sweep = ["1", "--sweep", "--sets", "44", "--operations", "verify"];
    let hardened = [&sweep[..], &["--modes", "hardened"]].concat();
    let (code, records) = run("sweep.jsonl", &hardened);
    for record in &records {
        assert_eq!(code, Some(0), "{}", record["found"]);
        let all: u64 = (0..9).map(|column| sum(record, column)).sum();
        assert!(all > 5_000, "{all} faults");
    }
    assert_eq!(records.len(), 2);
}

/// A sweep of the caller's frame finds what no library helps against. At the library's inlined lines nothing wrong
/// is released, also where a public key is read.
#[test]
fn the_callers_frame_is_disturbed() {
    let sweep = ["1", "--sweep", "--places", "inlined,caller", "--sets", "44"];
    let hardened = [&sweep[..], &["--modes", "hardened"]].concat();
    let (code, records) = run("frame.jsonl", &hardened);
    assert_eq!(code, Some(0), "{records:?}");
    let wrong: u64 = records.iter().map(|record| sum(record, 7)).sum();
    assert!(wrong > 0, "{records:?}");
    for record in &records {
        // The answers of a key in a box come in registers: no skipped address leaves an earlier one.
        for kind in ["skip", "stale"] {
            let row = &record["counts"][format!("boxed {kind} caller")];
            let count = |column: usize| row[column].as_u64().unwrap();
            assert!((0..9).map(count).sum::<u64>() > 0, "{kind}: {record}");
            assert_eq!(count(7), 0, "{kind}: {record}");
        }
        let rows = record["counts"].as_object().unwrap().keys();
        let loads = rows.filter(|name| name.starts_with("load-public"));
        assert!(loads.count() > 0, "{record}");
    }
}

#[test]
fn unknown_operations_are_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mldsa-fault"));
    let done = command.args(["10", "--operations", "sign,fly"]).output();
    let done = done.unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).starts_with("usage:"));
}
