//! The checks of crates/mldsa-trace over this crate's own engines, those for tests among them: the crate
//! itself sees the library as others do.

#[path = "../../mldsa-trace/src/attempt.rs"]
pub(crate) mod attempt;
#[path = "../../mldsa-trace/src/checks.rs"]
pub(crate) mod checks;
