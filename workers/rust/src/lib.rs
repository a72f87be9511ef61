//! The Rust worker: ML-DSA implementations behind the protocol of `workers/PROTOCOL.md`.
//!
//! To add an implementation, write a file in `adapters` that implements [`adapter::Scheme`] and
//! name it in [`adapters::all`].
//!
//! Modules use those above them in this list alone: [`timing`], [`protocol`], [`job`], [`runs`],
//! [`adapter`], [`build_info`], [`adapters`], [`session`].

pub mod adapter;
pub mod adapters;
pub mod build_info;
pub mod job;
pub mod protocol;
pub mod runs;
pub mod session;
pub mod timing;
