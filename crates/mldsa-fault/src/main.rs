//! `mldsa-fault FAULTS [--sets 44,65,87] [--modes plain,hardened] [--backend portable] [--seed 1]
//! [--jobs N] [--out FILE] [--operations sign,verify,...] [--idle] [--sweep]`: so many faults for each set
//! and mode, one at a time, in mldsa-lanes as it runs, and what came out (docs/faults.md). With a file it adds a line for each part
//! and goes on where an earlier run stopped. With `--sweep` nothing is drawn: of so many cases of each
//! operation every instruction is left out and every conditional jump turned.
//!
//! Exit code 0 if plain operations gave wrong signatures, so that the faults do something, and hardened
//! ones none; 1 if not; 2 if the run itself is wrong.

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
