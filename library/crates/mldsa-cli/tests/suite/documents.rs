//! The commands of the documents, as a reader copies them.

use std::env;
use std::path::Path;

use crate::sandbox::{MLDSA, Sandbox};

/// Run the blocks marked `sh` of a document, in one folder.
fn run_examples(text: &str) {
    let parts = text.split("```sh\n").skip(1);
    let examples: String = parts.filter_map(|part| part.split("```").next()).collect();
    assert!(examples.contains("mldsa sign"));
    let sandbox = Sandbox::new();
    let folder = Path::new(MLDSA).parent().unwrap();
    let path = format!("{}:{}", folder.display(), env::var("PATH").unwrap());
    let script = format!("set -eu\n{examples}");
    let run = sandbox
        .command("sh")
        .args(["-c", &script])
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

#[test]
fn the_readme() {
    run_examples(include_str!("../../README.md"));
}

#[test]
fn the_guide() {
    run_examples(include_str!("../../../../../docs/command-line.md"));
}
