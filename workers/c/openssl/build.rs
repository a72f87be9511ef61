//! Builds OpenSSL from the package's source as `openssl-sys` would, and records the build.

#[path = "../../loop/build_info.rs"]
mod build_info;

fn main() {
    build_info::record(&[], "");
    println!("cargo::rerun-if-env-changed=CC");
    openssl_src::Build::new().build().print_cargo_metadata();
}
