//! `mldsa`: keys and signatures of ML-DSA (FIPS 204) on the command line.
//!
//! Exit codes: 0 success, 1 a signature is not valid, 2 wrong usage or input.

mod arguments;
mod collisions;
mod descriptors;
mod failure;
mod files;
mod inspect;
mod keys;
mod passwords;
mod signatures;
mod speed;
mod streams;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use arguments::{Arguments, Command, Keygen, Pubkey};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use failure::Failure;
use files::{Access, Target};
use mldsa_lanes::any::AnySigningKey;
use mldsa_lanes::{Backend, SysRng};

/// A signature is not valid.
const NOT_VALID: u8 = 1;
/// Wrong usage or input.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => return failed(usage(&error)),
        Err(help) => return done(files::print(help.render().to_string())),
    };
    if let Err(error) = Backend::use_environment() {
        return failed(format!("{error}; correct or unset the variable"));
    }
    match arguments.command {
        Command::Keygen(options) => done(keygen(&options)),
        Command::Pubkey(options) => done(pubkey(&options)),
        Command::Sign(options) => done(signatures::sign(&options)),
        Command::Verify(options) => match signatures::verify(&options) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(NOT_VALID),
            Err(failures) => {
                for failure in failures {
                    failed(failure);
                }
                ExitCode::from(FAILED)
            }
        },
        Command::Inspect(options) => done(inspect::inspect(&options)),
        Command::Speed(options) => done(speed::speed(&options)),
        Command::Completions { shell } => done(completions(shell)),
        Command::Man { command } => done(manual(command.as_deref())),
    }
}

fn done(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failed(failure),
    }
}

fn failed(line: impl std::fmt::Display) -> ExitCode {
    // Nobody is left to be told where standard error is closed.
    let _ = writeln!(std::io::stderr(), "mldsa: {line}");
    ExitCode::from(FAILED)
}

/// The first paragraph of clap's message, on one line.
fn usage(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "no command given; see `mldsa --help`".into();
    }
    let text = error.render().to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{line}; see `mldsa --help`")
        .chars()
        .map(failure::printable)
        .collect()
}

fn keygen(options: &Keygen) -> Result<(), Failure> {
    let password_file = options.password_file.as_deref();
    collisions::refuse(password_file, [options.output.as_path()])?;
    let target = Target::plan(&options.output, options.force)?;
    let password = match password_file {
        Some(file) => Some(passwords::from_file(file)?),
        None if options.encrypt => Some(passwords::ask_for_new(&options.output)?),
        None => None,
    };
    let key = AnySigningKey::generate(options.set, &mut SysRng).map_err(|error| {
        Failure::new(
            "operating system",
            error,
            "check that its generator is ready",
        )
    })?;
    let pem = keys::private_pem(&key, options.form.into(), password.as_ref())?;
    target.write(pem.as_bytes(), Access::Owner)
}

fn pubkey(options: &Pubkey) -> Result<(), Failure> {
    let inputs = [&options.key].into_iter().chain(&options.password.file);
    collisions::refuse(inputs.map(PathBuf::as_path), [options.output.as_path()])?;
    let target = Target::plan(&options.output, options.force)?;
    let key = keys::read_private(&options.key, &options.password)?;
    let pem = keys::public_pem(&key.verifying_key())?;
    target.write(pem.as_bytes(), Access::Umask)
}

fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "mldsa", &mut script);
    files::print(script)
}

fn manual(name: Option<&str>) -> Result<(), Failure> {
    let mut command = Arguments::command();
    command.build();
    if let Some(name) = name {
        command = command.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::new(
                "man",
                format_args!("no command {name:?}"),
                "see `mldsa --help`",
            )
        })?;
    }
    let mut page = Vec::new();
    // Writing to a vector does not fail.
    let _ = clap_mangen::Man::new(command).render(&mut page);
    files::print(page)
}
