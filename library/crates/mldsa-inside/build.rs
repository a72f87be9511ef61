//! Opens the library's internals.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=mldsa_inside");
}
