//! Passwords of private keys: from a file, or typed at the terminal. None is an argument, which other users see.

use std::path::Path;

use zeroize::Zeroizing;

use crate::arguments::Password;
use crate::failure::{Failure, shown};
use crate::files;
use crate::streams::Standard;

type Secret = Zeroizing<Vec<u8>>;

/// The password of the encrypted private key in `key`.
pub fn of_key(key: &Path, options: &Password) -> Result<Secret, Failure> {
    match &options.file {
        Some(file) => from_file(file),
        None => ask(&format!("Password of {}: ", shown(key)))?.ok_or_else(|| {
            Failure::new(
                shown(key),
                "is encrypted, and there is no terminal to ask for its password",
                "add --password-file FILE",
            )
        }),
    }
}

/// The first line of a file, as in OpenSSL.
pub fn from_file(path: &Path) -> Result<Secret, Failure> {
    let wrong = |problem| Failure::new(shown(path), problem, "name a file with the password");
    let bytes = files::read_small(path)?.ok_or_else(|| wrong("longer than 64 KiB"))?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(&[]);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return Err(wrong("its first line is empty"));
    }
    files::warn_if_shared(path, Standard::Input, "password");
    Ok(Zeroizing::new(line.to_vec()))
}

/// Ask twice for the password of the new private key in `key`.
pub fn ask_for_new(key: &Path) -> Result<Secret, Failure> {
    let no_terminal = || {
        Failure::new(
            "--encrypt",
            "there is no terminal to ask for the password",
            "add --password-file FILE",
        )
    };
    let first = ask(&format!("New password of {}: ", shown(key)))?.ok_or_else(no_terminal)?;
    let second = ask("The same password again: ")?.ok_or_else(no_terminal)?;
    if first != second {
        return Err(Failure::new(
            "terminal",
            "the two passwords differ",
            "type the same password twice",
        ));
    }
    Ok(first)
}

/// A line of the terminal, which does not show it. `None` without a terminal.
#[cfg(unix)]
fn ask(question: &str) -> Result<Option<Secret>, Failure> {
    use std::fs::OpenOptions;
    use std::io::Write;

    use crate::descriptors;

    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let Ok(terminal) = terminal else {
        return Ok(None);
    };
    let unusable = |error| {
        Failure::new(
            "terminal",
            format_args!("cannot be used: {error}"),
            "add --password-file FILE",
        )
    };
    let mut out = &terminal;
    let line = {
        let _hidden = descriptors::hide_typing(&terminal).map_err(unusable)?;
        out.write_all(question.as_bytes()).map_err(unusable)?;
        let line = type_line(&terminal).map_err(unusable)?;
        out.write_all(b"\n").map_err(unusable)?;
        line
    };
    match line {
        Some(line) if !line.is_empty() => Ok(Some(line)),
        _ => Err(Failure::new(
            "terminal",
            "no password was typed",
            "type one of at most 1,000 bytes, or add --password-file FILE",
        )),
    }
}

#[cfg(not(unix))]
fn ask(_: &str) -> Result<Option<Secret>, Failure> {
    Ok(None)
}

/// Read to the end of a line. `None` for ^C and for a line that is too long.
#[cfg(unix)]
fn type_line(mut terminal: &std::fs::File) -> std::io::Result<Option<Secret>> {
    use std::io::{ErrorKind, Read};

    /// Terminals take no line of more than 4,096 bytes.
    const LONGEST: usize = 1000;
    // Of full length at once: a vector that grows leaves copies behind.
    let mut line = Zeroizing::new(vec![0; LONGEST + 1]);
    let mut filled = 0;
    while filled < line.len() {
        match terminal.read(&mut line[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        match line[filled - 1] {
            b'\n' => {
                line.truncate(filled - 1);
                return Ok(Some(line));
            }
            crate::descriptors::INTERRUPT => return Ok(None),
            _ => {}
        }
    }
    if filled > LONGEST {
        return Ok(None);
    }
    line.truncate(filled);
    Ok(Some(line))
}
