//! Records what the announcement says about the build: the compilers, their flags, and the exact
//! versions of the measured packages as `Cargo.lock` has them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The packages whose versions the worker announces.
const PACKAGES: [&str; 10] = [
    "aws-lc-rs",
    "aws-lc-sys",
    "ed25519-dalek",
    "fips204",
    "libcrux-ml-dsa",
    "ml-dsa",
    "mldsa-lanes",
    "mldsa-native-rs",
    "mldsa-oracle",
    "secp256k1",
];

fn main() {
    let lock = find_lock(Path::new(&variable("CARGO_MANIFEST_DIR")));
    println!("cargo::rerun-if-changed={}", lock.display());
    println!("cargo::rerun-if-changed=build.rs");
    let text = fs::read_to_string(&lock).expect("Cargo.lock is readable");

    let mut source = String::new();
    for package in PACKAGES {
        let version = locked_version(&text, package)
            .unwrap_or_else(|| panic!("Cargo.lock holds no single version of {package}"));
        let name = package.to_uppercase().replace('-', "_");
        source += &format!("pub const {name}: &str = {version:?};\n");
    }
    source += &format!("pub const COMPILER: &str = {:?};\n", compilers());
    source += &format!("pub const FLAGS: &str = {:?};\n", flags());
    let out = PathBuf::from(variable("OUT_DIR")).join("build_info.rs");
    fs::write(out, source).expect("the output folder is writable");
}

/// The nearest `Cargo.lock` at or above `folder`: the workspace's.
fn find_lock(folder: &Path) -> PathBuf {
    folder
        .ancestors()
        .map(|parent| parent.join("Cargo.lock"))
        .find(|path| path.is_file())
        .expect("the workspace has a Cargo.lock")
}

/// The version of `package`; none if it is missing or locked in several versions.
fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let wanted = format!("name = \"{package}\"");
    let mut versions = lock
        .split("[[package]]")
        .filter(|entry| entry.lines().any(|line| line == wanted))
        .filter_map(|entry| {
            entry
                .lines()
                .find_map(|line| line.strip_prefix("version = \""))
        })
        .map(|rest| rest.trim_end_matches('"'));
    let version = versions.next()?;
    versions.next().is_none().then_some(version)
}

/// rustc and the C compiler, which builds the C and assembly peers.
fn compilers() -> String {
    println!("cargo::rerun-if-env-changed=CC");
    let rustc = first_line(&variable("RUSTC")).unwrap_or_else(|| "rustc (unknown)".into());
    let cc = env::var("CC").unwrap_or_else(|_| "cc".into());
    match first_line(&cc) {
        Some(line) => format!("{rustc}; C: {line}"),
        None => rustc,
    }
}

fn first_line(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.lines().next()?.trim().to_owned())
}

/// Flags as the two compilers saw them; the profile's own settings stand in the manifest.
fn flags() -> String {
    println!("cargo::rerun-if-env-changed=CFLAGS");
    let rust = env::var("CARGO_ENCODED_RUSTFLAGS")
        .unwrap_or_default()
        .replace('\x1f', " ");
    let c = env::var("CFLAGS").unwrap_or_default();
    let shown = |text: String| {
        if text.is_empty() {
            "(none)".to_owned()
        } else {
            text
        }
    };
    format!(
        "RUSTFLAGS {}; opt-level {} ({}); CFLAGS {}",
        shown(rust),
        variable("OPT_LEVEL"),
        variable("PROFILE"),
        shown(c),
    )
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
