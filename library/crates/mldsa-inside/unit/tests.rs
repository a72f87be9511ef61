// The checks of library/crates/mldsa-trace over this crate's own engines, including the engines for tests: mldsa-trace
// itself sees only the engines that `internals` exports.

pub(crate) mod attempt {
    include!("../../mldsa-trace/src/attempt.rs");
}
pub(crate) mod checks {
    include!("../../mldsa-trace/src/checks.rs");
}
