//! What the build script recorded: `COMPILER`, `FLAGS`, and one version constant per peer.

include!(concat!(env!("OUT_DIR"), "/build_info.rs"));
