//! The protocol of `lab/workers/PROTOCOL.md` for workers in Rust, and for libraries in C and C++ that
//! are called from Rust. A worker is its adapters, which implement [`adapter::Scheme`], and a `main`
//! that calls [`run`].
//!
//! Modules use those above them in this list alone: [`timing`], [`bytes`], [`protocol`], [`job`],
//! [`runs`], [`chain`], [`block`], [`adapter`], [`session`]; [`drawn`] is for adapters alone.

pub mod adapter;
pub mod block;
pub mod bytes;
pub mod chain;
pub mod drawn;
pub mod job;
pub mod protocol;
pub mod runs;
pub mod session;
pub mod timing;

use std::io::{self, BufReader, BufWriter};
use std::process::ExitCode;

/// Serves the session on standard input and output until `quit` or the end of input.
pub fn run(mut session: session::Session) -> ExitCode {
    let mut requests = protocol::Reader::new(BufReader::new(io::stdin().lock()));
    let mut replies = BufWriter::new(io::stdout().lock());
    match session::serve(&mut session, &mut requests, &mut replies) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the lab's pipe broke: {error}");
            ExitCode::FAILURE
        }
    }
}
