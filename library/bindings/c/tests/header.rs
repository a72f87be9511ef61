//! The headers in `include/` are those that cbindgen makes of the sources. `MLDSA_WRITE_HEADER=1`
//! rewrites them.

use std::path::{Path, PathBuf};
use std::{env, fs};

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};

/// `header` of these sources, beginning with `head`.
fn check(
    header: &str,
    guard: &str,
    head: &str,
    includes: &[&str],
    defines: &str,
    sources: &[&str],
) {
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
        after_includes: (!defines.is_empty()).then(|| defines.into()),
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
    // C90 has no other comments.
    let fresh = fresh
        .replace("// __cplusplus", "/* __cplusplus */")
        .replace("// extern \"C\"", "/* extern \"C\" */");
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
 * panic leaves the library.
 *
 * Memory. Verifying, signing with an expanded key and freeing allocate nothing. Other functions
 * first ask the heap for a bound of what they allocate, and return MLDSA_ERROR_MEMORY if the heap
 * lacks it: 16 KiB for a handle, 96 KiB for signing, 128 KiB for an expanded key, four times its
 * length for a file, at least 64 and at most 256 KiB; for an encrypted file 17 MiB to write, and to
 * read what its scrypt asks for, at most 512 MiB; for each thread of a batch 1 MiB, its stack, and
 * 20 KiB for each of at most 512 jobs at a time. The process ends only if another thread takes the
 * memory between this check and its use.
 *
 * Environment. MLDSA_LANES_BACKEND names the backend and MLDSA_LANES_DISABLE CPU features to do
 * without. Both are read before the first key. If they cannot be followed, every function that makes
 * a handle returns MLDSA_ERROR_ENVIRONMENT.
 *
 * Pointers. A buffer is a pointer with its number of bytes, and may be NULL where that number is
 * 0. A pointer that is not NULL points to as much as stated. The caller owns all buffers; the
 * library keeps no pointer after a call. What is written overlaps nothing that is read.
 *
 * Handles. A function with a place for a new handle makes an object, which its ..._free gives
 * back. ..._free takes the place of the handle and sets it to NULL, so that a second call does
 * nothing and a later use is MLDSA_ERROR_NULL.
 *
 * Stack. Up to about 128 KiB for signing with ML-DSA-87, 144 KiB if hardened: give threads 256 KiB.
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
    let [major, minor, patch] = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ];
    let version = format!(
        "
/**
 * The version of this header. mldsa_version() is that of the library.
 */
#define MLDSA_VERSION \"{major}.{minor}.{patch}\"
#define MLDSA_VERSION_MAJOR {major}
#define MLDSA_VERSION_MINOR {minor}
#define MLDSA_VERSION_PATCH {patch}"
    );
    check("mldsa.h", "MLDSA_H", HEAD, &[], &version, &sources);
    check(
        "mldsa_hazmat.h",
        "MLDSA_HAZMAT_H",
        HAZMAT,
        &["mldsa.h"],
        "",
        &["hazmat.rs"],
    );
}
