//! The headers in `include/` are those that cbindgen makes of the sources. `MLDSA_WRITE_HEADER=1`
//! rewrites them.

use std::path::{Path, PathBuf};
use std::{env, fs};

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};

/// `header` of these sources, beginning with `head`.
fn check(header: &str, guard: &str, head: &str, includes: &[&str], sources: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config {
        language: Language::C,
        style: Style::Type,
        cpp_compat: true,
        usize_is_size_t: true,
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        includes: includes.iter().map(|&name| name.into()).collect(),
        include_guard: Some(guard.into()),
        header: Some(head.into()),
        documentation_style: DocumentationStyle::Doxy,
        line_length: 100,
        ..Config::default()
    };
    let source = |name: &&str| -> PathBuf { root.join("src").join(name) };
    let builder = sources
        .iter()
        .fold(Builder::new().with_config(config), |builder, name| {
            builder.with_src(source(name))
        });
    let mut bytes = Vec::new();
    builder
        .generate()
        .expect("the sources have an interface")
        .write(&mut bytes);
    let fresh = String::from_utf8(bytes).expect("UTF-8");
    let path = root.join("include").join(header);
    if env::var_os("MLDSA_WRITE_HEADER").is_some() {
        fs::write(&path, fresh).expect("writable");
        return;
    }
    let kept = fs::read_to_string(&path).expect("readable");
    let how = "MLDSA_WRITE_HEADER=1 cargo test -p mldsa-capi --test header";
    assert!(
        kept == fresh,
        "{header} is not that of the sources; {how} rewrites it"
    );
}

const HEAD: &str = "\
/* ML-DSA (FIPS 204): the C interface of mldsa-lanes. Generated; edit bindings/c/src instead.
 *
 * Errors. Every function that can fail returns a code; all arguments are checked before any work.
 * After an error the contents of output buffers are undefined unless stated otherwise. No Rust
 * panic leaves the library. Where the heap has no memory left, the process ends.
 *
 * Pointers. A buffer is a pointer with its number of bytes, and may be NULL where that number is
 * 0. A pointer that is not NULL points to as much as stated. The caller owns all buffers; the
 * library keeps no pointer after a call. What is written overlaps nothing that is read.
 *
 * Handles. A function with a place for a new handle makes an object, which its ..._free gives
 * back. ..._free takes the place of the handle and sets it to NULL, so that a second call does
 * nothing and a later use is MLDSA_ERROR_NULL.
 *
 * Stack. Up to about 128 KiB for signing with ML-DSA-87: give threads 256 KiB.
 */";

const HAZMAT: &str = "\
/* ML-DSA (FIPS 204): functions that ask for care. Generated; edit bindings/c/src/hazmat.rs
 * instead.
 *
 * Ordinary signing and verification, HashML-DSA and messages in pieces need none of them: see
 * mldsa.h, whose rules for errors, pointers and handles hold here too.
 */";

#[test]
fn headers_are_those_of_the_sources() {
    let sources = ["error.rs", "keys.rs", "input.rs", "sign.rs", "batch.rs"];
    check("mldsa.h", "MLDSA_H", HEAD, &[], &sources);
    check(
        "mldsa_hazmat.h",
        "MLDSA_HAZMAT_H",
        HAZMAT,
        &["mldsa.h"],
        &["hazmat.rs"],
    );
}
