//! What fuzzers, bounded sessions and the soak test run: functions that take any bytes and panic
//! where mldsa-lanes is wrong.
//!
//! The bytes decide what happens: which set, how many jobs, which byte is bent. Where they end their
//! own SHAKE128 goes on, so that 16 of them are a whole case and a longer string can say everything.

// Shared with the library's tests, which use more of it.
#[allow(dead_code)]
#[path = "../../../crates/mldsa-inside/tests/suite/common/mod.rs"]
mod common;

mod batch;
mod peers;
pub mod session;
mod single;
pub mod soak;
mod verify;

/// A target.
pub struct Target {
    /// Its name, and that of its folder in `corpus/`.
    pub name: &'static str,
    /// What it holds.
    pub about: &'static str,
    /// Panics where that is not so.
    pub run: fn(&[u8]),
}

/// All targets.
pub static TARGETS: [Target; 5] = [
    Target {
        name: "verify",
        about: "verdicts on bent signatures are the oracle's and the peers'",
        run: verify::verify,
    },
    Target {
        name: "decode",
        about: "exactly the encodings that key generation writes are read, in PEM of any layout",
        run: single::decode,
    },
    Target {
        name: "agree",
        about: "keys and signatures are those of two other implementations",
        run: single::agree,
    },
    Target {
        name: "backends",
        about: "every backend does what the portable one does",
        run: single::backends_agree,
    },
    Target {
        name: "batch",
        about: "a batch gives what its jobs give one by one",
        run: batch::batch,
    },
];

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Runs an input through the target of that name: what libFuzzer calls.
///
/// # Panics
/// If no target has that name, and where the target does.
pub fn run(name: &str, input: &[u8]) {
    (target(name).expect("a target of that name").run)(input)
}

/// A parameter set.
fn set(stream: &mut common::Stream) -> &'static mldsa_oracle::Params {
    mldsa_oracle::PARAMETER_SETS[stream.below(3)]
}
