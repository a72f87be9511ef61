//! One binary for all tests: linking the peers is what takes time.

#[path = "../common/mod.rs"]
mod common;

mod classical;
mod encodings;
mod worker;
