//! Speaks the worker protocol on standard input and output.

mod batches;
mod build_info {
    include!(concat!(env!("OUT_DIR"), "/build_info.rs"));
}
mod lanes_c;

use std::process::ExitCode;

use mldsa_worker_loop::{run, session::Session};

fn main() -> ExitCode {
    run(Session::new(
        "lanes-c",
        build_info::BUILD,
        lanes_c::variants(),
    ))
}
