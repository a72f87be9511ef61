//! Speaks the worker protocol on standard input and output.

use std::io::{self, BufReader, BufWriter};
use std::process::ExitCode;

use mldsa_worker_rust::{adapters, protocol::Reader, session};

fn main() -> ExitCode {
    // Whoever starts the lab may leave backends of mldsa-lanes out.
    if let Err(error) = mldsa_lanes::Backend::use_environment() {
        eprintln!("{error}");
        return ExitCode::from(2);
    }
    let mut session = session::Session::new("rust", adapters::all());
    let mut requests = Reader::new(BufReader::new(io::stdin().lock()));
    let mut replies = BufWriter::new(io::stdout().lock());
    match session::serve(&mut session, &mut requests, &mut replies) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the lab's pipe broke: {error}");
            ExitCode::FAILURE
        }
    }
}
