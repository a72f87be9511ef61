//! The tests from outside, in one program: linked once. `memory` has an allocator of its own and
//! `selection` asks for the process's choice of a backend, so those are programs of their own.

mod common;

mod accumulated;
mod acvp;
mod any;
mod bad_input;
mod batch;
mod batch_parallel;
mod batch_schedule;
mod batch_trace;
mod documents;
mod hardened;
mod interface;
mod interop_encryption;
mod interop_pem;
mod interop_pkcs8;
mod interop_serde;
mod interop_traits;
mod oracle_agreement;
mod past_bugs_sign;
mod past_bugs_verify;
mod rejection_paths;
mod source;
mod swap;
mod trace_statistics;
mod wycheproof;
