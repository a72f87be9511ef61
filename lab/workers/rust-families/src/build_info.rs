//! What the build script recorded, and the names of backends.

include!(concat!(env!("OUT_DIR"), "/build_info.rs"));

pub use mldsa_worker_rust::build_info::{backend_name, rust_allowed};
