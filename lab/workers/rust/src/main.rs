//! Speaks the worker protocol on standard input and output. With a name as its argument it is the worker of
//! that name of `lab/workers/counted`: it runs in an emulator and counts instructions.

use std::env;
use std::process::ExitCode;

use mldsa_worker_rust::{adapters, build_info, run, session::Session, timing};

/// What is counted: mldsa-lanes, and implementations with vector code for Arm or users there.
const COUNTED: [&str; 4] = ["mldsa-lanes", "mldsa-native", "aws-lc", "libcrux"];

fn main() -> ExitCode {
    // Whoever starts the lab may leave backends of mldsa-lanes out.
    if let Err(error) = mldsa_lanes::Backend::use_environment() {
        eprintln!("{error}");
        return ExitCode::from(2);
    }
    let mut variants = adapters::all();
    let name: &str = match env::args().nth(1) {
        None => "rust",
        Some(name) => name.leak(),
    };
    if name != "rust" {
        if let Err(error) = timing::count_instructions() {
            eprintln!("worker {name} needs the emulator of lab/workers/counted: {error}");
            return ExitCode::from(2);
        }
        // The correctness reference is that of the worker `rust`, whose variants have other names.
        variants.retain(|variant| COUNTED.contains(&variant.implementation));
        for variant in &mut variants {
            variant.backend = format!("{}+{name}", variant.backend).leak();
        }
    }
    run(Session::new(name, build_info::BUILD, variants))
}
