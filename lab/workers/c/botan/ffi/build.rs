//! Builds what ML-DSA, ML-KEM and SLH-DSA need of Botan, by Botan's own minimized build.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../../../../library/verify/mldsa-acvp/package.rs"]
mod package;

/// Botan's modules; it adds what these need, and takes those for the CPU's family.
const MODULES: &str = "ffi,ml_dsa,ml_kem,slh_dsa_sha2,slh_dsa_shake,system_rng,keccak_perm_bmi2,\
                       keccak_perm_avx512,sha2_32_x86,sha2_32_simd,sha2_32_avx2,sha2_32_armv8,sha2_64_x86,\
                       sha2_64_avx2,sha2_64_avx512,sha2_64_armv8";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=source");
    println!("cargo::rerun-if-env-changed=CXXFLAGS");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("source/Cargo.toml");
    let source = package::folder(&manifest, "botan-src-0.31300.1")
        .unwrap_or_else(|reason| panic!("Botan's source: {reason}"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    run(Command::new("tar")
        .arg("-xJf")
        .arg(source.join("vendor/Botan-3.13.0.tar.xz"))
        .arg("-C")
        .arg(&out));
    let tree = out.join("Botan-3.13.0");
    let mut configure = Command::new("python3");
    configure
        .args([
            "configure.py",
            "--minimized-build",
            "--build-targets=static",
        ])
        .args(["--without-documentation", "--with-build-dir=built"])
        .arg(format!("--enable-modules={MODULES}"))
        .current_dir(&tree);
    if let Ok(flags) = env::var("CXXFLAGS") {
        configure.arg(format!("--extra-cxxflags={flags}"));
    }
    run(configure.env_remove("CXXFLAGS"));
    let mut make = Command::new("make");
    make.args(["-f", "built/Makefile", "libs"])
        .current_dir(&tree);
    if let Ok(flags) = env::var("CARGO_MAKEFLAGS") {
        make.env("MAKEFLAGS", flags);
    }
    run(make.env_remove("CXXFLAGS"));
    println!(
        "cargo::rustc-link-search=native={}",
        tree.join("built").display()
    );
    println!("cargo::rustc-link-lib=static=botan-3");
    println!("cargo::rustc-link-lib=stdc++");
}

fn run(command: &mut Command) {
    let status = command.status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?}");
}
