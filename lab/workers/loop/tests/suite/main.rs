//! The loop on schemes made for the purpose; the workers' own tests are about implementations.

mod adapter;
mod block;
mod chain;
mod protocol;
mod runs;
mod session;

use mldsa_worker_loop::session::Build;

/// What the announcements of the tests say of their build.
const BUILD: Build = Build {
    compiler: "rustc",
    flags: "none",
    name: None,
};
