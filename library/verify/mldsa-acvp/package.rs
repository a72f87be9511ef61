//! For build scripts (`#[path]`): where the files of a package of the registry are that is not built.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of `package`, as `name-version`, which the lock file beside `manifest` pins. Cargo
/// downloads and checks it like any dependency.
///
/// # Errors
/// What Cargo said, or that the lock file has no such package.
pub fn folder(manifest: &Path, package: &str) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").map_err(|_| "CARGO is not set")?;
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1"])
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "Cargo could not get the package {package}:\n{said}"
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let paths = text.split("\"manifest_path\":\"").skip(1);
    let packages = paths.filter_map(|rest| Some(rest.split_once("/Cargo.toml\"")?.0));
    let found = packages
        .map(Path::new)
        .find(|path| path.to_string_lossy().contains(package));
    found
        .map(Path::to_owned)
        .ok_or_else(|| format!("{} does not pin {package}", manifest.display()))
}
