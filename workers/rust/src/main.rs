//! Speaks the worker protocol on standard input and output.

use std::process::ExitCode;

use mldsa_worker_rust::{adapters, build_info, run, session::Session};

fn main() -> ExitCode {
    // Whoever starts the lab may leave backends of mldsa-lanes out.
    if let Err(error) = mldsa_lanes::Backend::use_environment() {
        eprintln!("{error}");
        return ExitCode::from(2);
    }
    run(Session::new("rust", build_info::BUILD, adapters::all()))
}
