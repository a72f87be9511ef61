//! `mldsa-fuzz TARGET FILE...` runs files through a target; `mldsa-fuzz soak HOURS [REPORT]` is the
//! soak test (`make fuzz HOURS=1`).

use mldsa_fuzz::session::{fresh_seed, number};
use mldsa_fuzz::{TARGETS, soak, target};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["soak", hours, report @ ..] if report.len() <= 1 => {
            let time = hours.parse().ok().and_then(|hours: f64| {
                let some = hours > 0.0;
                some.then(|| Duration::try_from_secs_f64(3600.0 * hours).ok())?
            });
            match time {
                Some(time) => soaked(time, report.first().copied()),
                None => complain(&format!("{hours} is not a number of hours")),
            }
        }
        [name, files @ ..] if !files.is_empty() => match target(name) {
            Some(target) => {
                for file in files {
                    match std::fs::read(file) {
                        Ok(input) => (target.run)(&input),
                        Err(error) => return complain(&format!("{file}: {error}")),
                    }
                }
                ExitCode::SUCCESS
            }
            None => complain(&format!("no target is called {name}")),
        },
        _ => {
            let targets = TARGETS
                .iter()
                .map(|t| format!("\n  {}: {}", t.name, t.about));
            complain(&format!(
                "usage: mldsa-fuzz TARGET FILE... | mldsa-fuzz soak HOURS [REPORT]{}",
                targets.collect::<String>()
            ))
        }
    }
}

fn complain(what: &str) -> ExitCode {
    eprintln!("mldsa-fuzz: {what}");
    ExitCode::from(2)
}

fn soaked(time: Duration, report: Option<&str>) -> ExitCode {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let done = soak::soak(time, threads, number("MLDSA_FUZZ_SEED", fresh_seed()));
    print!("{done}");
    if let Some(path) = report
        && let Err(error) = std::fs::write(path, done.to_string())
    {
        return complain(&format!("{path}: {error}"));
    }
    if done.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
