//! Compiles the library by the compiler that ZIG names, and records the build.

use std::env;
use std::process::Command;

#[path = "../../loop/build_info.rs"]
mod build_info;

fn main() {
    build_info::record(&[], "");
    println!("cargo::rerun-if-changed=src/library.zig");
    println!("cargo::rerun-if-env-changed=ZIG");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let zig = env::var("ZIG").expect("ZIG names Zig's compiler: the registry's set-up fetches it");
    let mut compile = Command::new(zig);
    compile
        .args(["build-lib", "-OReleaseFast", "-fPIC", "src/library.zig"])
        .arg(format!("-femit-bin={out}/libzig_library.a"))
        .args(["--cache-dir", &out, "--global-cache-dir", &out]);
    let status = compile.status();
    assert!(status.is_ok_and(|status| status.success()), "{compile:?}");
    println!("cargo::rustc-link-search=native={out}");
    println!("cargo::rustc-link-lib=static=zig_library");
}
