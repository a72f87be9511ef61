//! Builds OpenSSL from the package's source as `openssl-sys` would.

fn main() {
    for read in ["CC", "CFLAGS"] {
        println!("cargo::rerun-if-env-changed={read}");
    }
    openssl_src::Build::new().build().print_cargo_metadata();
}
