//! Deliberately broken workers. **Nothing here is an implementation to measure**: each mode makes
//! one mistake, and exists to prove that the lab's correctness gate or its handling of faults
//! notices it. `mldsa-worker-broken MODE` speaks the worker protocol and announces the one variant
//! `broken-MODE:test:compact`.
//!
//! Apart from its mistake a mode computes with mldsa-lanes' portable backend.

mod faults;
mod schemes;

use std::io::{self, BufReader, BufWriter};
use std::process::ExitCode;

use mldsa_worker_rust::build_info::BUILD;
use mldsa_worker_rust::protocol::Reader;
use mldsa_worker_rust::session::Session;

use faults::Fault;

/// The modes and what each breaks.
const MODES: [(&str, &str); 9] = [
    ("flip-byte", "one byte of every signature is flipped"),
    (
        "skip-z-check",
        "verification leaves out the norm check of z",
    ),
    (
        "wrong-key",
        "key generation returns the key of another seed",
    ),
    ("accept-all", "verification accepts everything"),
    (
        "spoil-batch",
        "one bad operation makes all others of its batch fail",
    ),
    ("hang", "a measure request is never answered"),
    (
        "crash",
        "the process ends in the middle of a measure request",
    ),
    ("garbage", "a measure request is answered by nonsense"),
    (
        "short",
        "a measure request is answered with a sample too few",
    ),
];

fn main() -> ExitCode {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let Some(&(mode, mistake)) = MODES.iter().find(|(name, _)| *name == mode) else {
        eprintln!("usage: mldsa-worker-broken MODE, where MODE is one of");
        for (name, mistake) in MODES {
            eprintln!("  {name:<13} {mistake}");
        }
        return ExitCode::from(2);
    };
    let mut session = Session::new("broken", BUILD, vec![schemes::variant(mode, mistake)]);
    let mut requests = Reader::new(BufReader::new(io::stdin().lock()));
    let mut replies = BufWriter::new(io::stdout().lock());
    match faults::serve(Fault::of(mode), &mut session, &mut requests, &mut replies) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the lab's pipe broke: {error}");
            ExitCode::FAILURE
        }
    }
}
