//! Finds the vectors: they are files of the package `oqs-sys`, which Cargo downloads and checks like
//! any dependency, but which is not built. `ACVP_FOLDER` tells the library where they are.

use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "oqs-sys-0.11.0";
const FOLDER: &str = "liboqs/tests/ACVP_Vectors";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=source");
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
    let cargo = std::env::var("CARGO").map_err(|_| "CARGO is not set")?;
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("source/Cargo.toml");
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1"])
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "the ACVP vectors are files of {PACKAGE}, which Cargo could not get:\n{said}"
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let paths = text.split("\"manifest_path\":\"").skip(1);
    let packages = paths.filter_map(|rest| Some(rest.split_once("/Cargo.toml\"")?.0));
    let found = packages
        .map(Path::new)
        .find(|path| path.to_string_lossy().contains(PACKAGE));
    let folder = found.map(|path| path.join(FOLDER));
    folder
        .filter(|folder| folder.is_dir())
        .ok_or_else(|| format!("no {FOLDER} in the package {PACKAGE}"))
}
