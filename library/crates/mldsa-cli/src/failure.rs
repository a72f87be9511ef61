//! What goes wrong, in one line: the place, the problem, the remedy.

use std::fmt::{self, Display};
use std::io::Write;
use std::path::Path;

use crate::streams::Standard;

/// A message for the user. Nothing in it depends on a secret.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// Join the parts to `place: problem; remedy`.
    pub fn new(place: impl Display, problem: impl Display, remedy: impl Display) -> Self {
        Failure::at(place, format_args!("{problem}; {remedy}"))
    }

    /// Add the place to an error that names problem and remedy.
    pub fn at(place: impl Display, error: impl Display) -> Self {
        let line = format!("{place}: {error}");
        Failure(line.chars().map(printable).collect())
    }

    /// Print the message and go on.
    pub fn warn(&self) {
        // Standard error may be closed.
        let _ = writeln!(std::io::stderr(), "mldsa: warning: {self}");
    }
}

impl From<Failure> for Vec<Failure> {
    fn from(failure: Failure) -> Self {
        vec![failure]
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The character, or `?` for one that would end the line or steer a terminal.
pub fn printable(character: char) -> char {
    if character.is_control() {
        '?'
    } else {
        character
    }
}

/// The path of an input as messages show it, on one line.
pub fn shown(path: &Path) -> String {
    shown_as(path, Standard::Input)
}

/// A path as messages show it, on one line. `standard` is the stream that `-` stands for.
pub fn shown_as(path: &Path, standard: Standard) -> String {
    if is_standard_stream(path) {
        return standard.name().into();
    }
    path.to_string_lossy().chars().map(printable).collect()
}

/// Whether the path is `-`.
pub fn is_standard_stream(path: &Path) -> bool {
    path == Path::new("-")
}
