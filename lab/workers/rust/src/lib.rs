//! The Rust worker: ML-DSA implementations behind the protocol of `lab/workers/PROTOCOL.md`, which
//! `mldsa-worker-loop` speaks.
//!
//! To add an implementation, write a file in `adapters` that implements [`adapter::Scheme`] and
//! name it in [`adapters::all`].

pub use mldsa_worker_loop::{adapter, bytes, job, protocol, run, runs, session, timing};

pub mod adapters;
pub mod build_info;
