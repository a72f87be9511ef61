//! The worker of the families beside ML-DSA. With the argument `rust-all` it is the worker of that name,
//! which has the implementations of `lab/workers/rust` too: a pipeline runs in one process.

use std::process::ExitCode;

use mldsa_worker_rust::{run, session::Session};

mod adapters;
mod build_info;

fn main() -> ExitCode {
    // Whoever starts the lab may leave backends of mldsa-lanes out.
    if let Err(error) = mldsa_lanes::Backend::use_environment() {
        eprintln!("{error}");
        return ExitCode::from(2);
    }
    let (name, mut variants) = match std::env::args().nth(1).as_deref() {
        Some("rust-all") => ("rust-all", mldsa_worker_rust::adapters::all()),
        _ => ("rust-families", Vec::new()),
    };
    variants.extend(adapters::all());
    run(Session::new(name, build_info::BUILD, variants))
}
