//! Speaks the worker protocol on standard input and output.

mod build_info {
    include!(concat!(env!("OUT_DIR"), "/build_info.rs"));
}
mod mlkem;
mod wolfssl;

use std::process::ExitCode;

use mldsa_worker_loop::{run, session::Session};

fn main() -> ExitCode {
    run(Session::new(
        "wolfssl",
        build_info::BUILD,
        wolfssl::variants(),
    ))
}
