//! Finds the vectors: they are files of the package `oqs-sys`, which Cargo downloads and checks like
//! any dependency, but which is not built. `ACVP_FOLDER` tells the library where they are.

use std::path::{Path, PathBuf};

mod package;

const PACKAGE: &str = "oqs-sys-0.11.0";
const FOLDER: &str = "liboqs/tests/ACVP_Vectors";

fn main() {
    for read in ["build.rs", "package.rs", "source"] {
        println!("cargo::rerun-if-changed={read}");
    }
    match folder() {
        Ok(folder) => {
            let folder = folder.to_str().expect("a path in UTF-8");
            println!("cargo::rerun-if-changed={folder}");
            println!("cargo::rustc-env=ACVP_FOLDER={folder}");
        }
        Err(reason) => {
            for line in reason.lines() {
                println!("cargo::error={line}");
            }
        }
    }
}

fn folder() -> Result<PathBuf, String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("source/Cargo.toml");
    let folder = package::folder(&manifest, PACKAGE)
        .map_err(|reason| format!("the ACVP vectors are files of {PACKAGE}: {reason}"))?
        .join(FOLDER);
    folder
        .is_dir()
        .then_some(folder)
        .ok_or_else(|| format!("no {FOLDER} in the package {PACKAGE}"))
}
