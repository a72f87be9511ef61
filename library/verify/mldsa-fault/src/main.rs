//! `mldsa-fault FAULTS [--sets 44,65,87] [--modes plain,hardened] [--backend portable] [--seed 1]
//! [--jobs N] [--out FILE] [--operations sign,verify,...] [--idle] [--sweep [--places inlined,...]]
//! [--count]`: injects this many faults for each set and mode, one at a time, into mldsa-lanes as it runs,
//! and counts the outcomes (library/evidence/faults.md). With `--out` it adds a line for each part and resumes an
//! interrupted run. `--sweep` draws nothing: for this many cases of each operation it skips every
//! instruction, turns every conditional jump and flips bits of the results. `--count` injects nothing and
//! counts the executed instructions by the place that they belong to.
//!
//! Exit code 0 if plain operations gave wrong signatures, so that the faults do something, and hardened
//! ones none outside the caller's own lines; 1 if not; 2 if the run itself is wrong.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod callers;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod code;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod judge;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod machine;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod numbers;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod operations;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod plan;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod report;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod run;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod worker;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> std::process::ExitCode {
    eprintln!("mldsa-fault: written for Linux on x86-64");
    std::process::ExitCode::from(2)
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    run::main()
}
