//! Records the build and the versions of the measured packages for the announcement.

#[path = "../loop/build_info.rs"]
mod build_info;

/// The packages whose versions the worker announces.
const PACKAGES: [&str; 8] = [
    "aws-lc-rs",
    "aws-lc-sys",
    "fn-dsa",
    "libcrux-ml-kem",
    "ml-kem",
    "mldsa-lanes",
    "rustls",
    "slh-dsa",
];

fn main() {
    build_info::record(&PACKAGES, "");
}
