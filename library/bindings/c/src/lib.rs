//! The C interface of mldsa-lanes, `libmldsa`. The headers in `include/` are generated from the
//! sources here (`tests/header.rs`); docs/c.md shows how to build and use it.
//!
//! Every function checks its arguments before any work and returns a code; a panic ends in
//! [`barrier`].

#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
// The names are those of C, and the comments the header's: they state the rules for C callers.
#![allow(non_camel_case_types, clippy::missing_safety_doc)]

mod batch;
mod bytes;
mod error;
pub mod hazmat;
mod input;
mod keys;
mod sign;

pub use batch::*;
pub use error::*;
pub use input::*;
pub use keys::*;
pub use sign::*;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function does until the first error, whose code it returns.
type Outcome<T = ()> = Result<T, mldsa_error>;

/// The code of a call's outcome. A panic ends here.
fn barrier(work: impl FnOnce() -> Outcome) -> mldsa_error {
    // A call changes its own memory and the caller's outputs, undefined after an error.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => MLDSA_OK,
        Ok(Err(code)) => code,
        Err(_) => MLDSA_ERROR_INTERNAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        assert_eq!(barrier(|| panic!("a defect")), MLDSA_ERROR_INTERNAL);
        assert_eq!(barrier(|| Err(MLDSA_ERROR_SET)), MLDSA_ERROR_SET);
        assert_eq!(barrier(|| Ok(())), MLDSA_OK);
    }
}
