//! Records the build and the versions of the measured packages for the announcement.

use std::env;
use std::process::Command;

#[path = "../loop/build_info.rs"]
mod build_info;

/// The packages whose versions the worker announces.
const PACKAGES: [&str; 12] = [
    "aws-lc-rs",
    "aws-lc-sys",
    "ed25519-dalek",
    "fips204",
    "libcrux-ml-dsa",
    "libcrux-sha3",
    "ml-dsa",
    "mldsa-lanes",
    "mldsa-native-rs",
    "mldsa-oracle",
    "secp256k1",
    "sha3",
];

fn main() {
    let cflags = env::var("CFLAGS").unwrap_or_default();
    let besides = format!("pub const C_AVX512VL: bool = {};\n", c_avx512vl(&cflags));
    build_info::record(&PACKAGES, &besides);
}

/// Whether the C compiler may use AVX-512VL, by its own word.
fn c_avx512vl(cflags: &str) -> bool {
    let cc = env::var("CC").unwrap_or_else(|_| "cc".into());
    let macros = Command::new(cc)
        .args(cflags.split_whitespace())
        .args(["-dM", "-E", "-x", "c", "/dev/null"])
        .output();
    macros.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("__AVX512VL__"))
}
