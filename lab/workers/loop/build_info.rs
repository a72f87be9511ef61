//! For the build script of each worker (`#[path]`): records what the announcement says about the
//! build, that is the compilers, profile and flags, what they make of it, and the exact versions of
//! the measured packages as `Cargo.lock` has them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Writes `build_info.rs` into the output folder: `BUILD`, one version constant for each package, and
/// the lines that the worker has besides.
pub fn record(packages: &[&str], besides: &str) {
    let lock = find_lock(Path::new(&variable("CARGO_MANIFEST_DIR")));
    let manifest = lock.with_file_name("Cargo.toml");
    for path in [&lock, &manifest] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    let text = fs::read_to_string(&lock).expect("Cargo.lock is readable");
    let manifest = fs::read_to_string(&manifest).expect("the workspace's Cargo.toml is readable");
    let build = Build::of(&manifest);

    let mut source = format!(
        "pub const BUILD: mldsa_worker_loop::session::Build = mldsa_worker_loop::session::Build {{\n\
         compiler: {:?},\nflags: {:?},\nname: {:?},\n}};\n",
        compilers(),
        build.flags(),
        build.name()
    );
    for package in packages {
        let version = locked_version(&text, package)
            .unwrap_or_else(|| panic!("Cargo.lock holds no single version of {package}"));
        let name = package.to_uppercase().replace('-', "_");
        source += &format!("pub const {name}: &str = {version:?};\n");
    }
    let out = PathBuf::from(variable("OUT_DIR")).join("build_info.rs");
    fs::write(out, source + besides).expect("the output folder is writable");
}

/// The nearest `Cargo.lock` at or above `folder`: the workspace's.
fn find_lock(folder: &Path) -> PathBuf {
    folder
        .ancestors()
        .map(|parent| parent.join("Cargo.lock"))
        .find(|path| path.is_file())
        .expect("the workspace has a Cargo.lock")
}

/// The version of `package`; of several that are locked the one that this crate depends on.
fn locked_version(lock: &str, package: &str) -> Option<String> {
    let lines = |name: &str| {
        let wanted = format!("name = \"{name}\"");
        let entries = lock.split("[[package]]");
        let found = entries.filter(move |entry| entry.lines().any(|line| line == wanted));
        found.flat_map(str::lines).map(str::trim)
    };
    let own = variable("CARGO_PKG_NAME");
    let mut told = lines(&own).filter_map(|line| line.strip_prefix(&format!("\"{package} ")));
    if let Some(rest) = told.next() {
        return Some(rest.trim_end_matches(['"', ',']).into());
    }
    let mut versions = lines(package).filter_map(|line| line.strip_prefix("version = \""));
    let version = versions.next()?.trim_end_matches('"');
    versions.next().is_none().then(|| version.into())
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

/// What decides the code that comes out, as the two compilers and Cargo saw it.
struct Build {
    profile: String,
    /// The profile's lines in the workspace's manifest: none where it is as Cargo has it.
    settings: Vec<String>,
    rustflags: String,
    cflags: String,
}

impl Build {
    fn of(manifest: &str) -> Self {
        println!("cargo::rerun-if-env-changed=CFLAGS");
        let out = PathBuf::from(variable("OUT_DIR"));
        // target/PROFILE/build/PACKAGE/out: Cargo tells a build script no other way.
        let profile = out.ancestors().nth(3).and_then(Path::file_name);
        let profile = profile.map_or("unknown".into(), |name| name.to_string_lossy().into_owned());
        let heading = format!("[profile.{profile}]");
        let of_manifest = manifest
            .lines()
            .skip_while(|line| line.trim() != heading)
            .skip(1)
            .take_while(|line| !line.starts_with('['));
        let mut settings: Vec<String> = of_manifest
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        for setting in ["LTO", "CODEGEN_UNITS", "OPT_LEVEL"] {
            let name = format!("CARGO_PROFILE_{}_{setting}", profile.to_uppercase());
            println!("cargo::rerun-if-env-changed={name}");
            settings.extend(env::var(&name).map(|value| format!("{name}={value}")));
        }
        Self {
            profile,
            settings,
            rustflags: env::var("CARGO_ENCODED_RUSTFLAGS")
                .unwrap_or_default()
                .replace('\x1f', " "),
            cflags: env::var("CFLAGS").unwrap_or_default(),
        }
    }

    /// The build's name in the protocol; none for one that is neither.
    fn name(&self) -> Option<&'static str> {
        let plain = self.settings.is_empty() && self.rustflags.is_empty() && self.cflags.is_empty();
        match self.profile.as_str() {
            "release" if plain => Some("default"),
            "tuned" => Some("tuned"),
            _ => None,
        }
    }

    fn flags(&self) -> String {
        let shown = |text: &str| if text.is_empty() { "none" } else { text }.to_owned();
        let settings = match self.settings.as_slice() {
            [] => "as Cargo has it".into(),
            lines => lines.join(", "),
        };
        format!(
            "profile {} ({settings}); RUSTFLAGS {}; CFLAGS {}",
            self.profile,
            shown(&self.rustflags),
            shown(&self.cflags),
        )
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
