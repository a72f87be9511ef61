//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use mldsa_lanes::Backend;

pub const HELP: &str = "\
Times the kernels of mldsa-lanes, backend by backend, beside those of its peers.

usage: make bench-kernels ARGS=\"[OPTIONS]\"

  --kernels PART,...    only kernels whose name contains one of the parts
  --backends NAME,...   of our backends only these (portable is always measured)
  --rounds N            samples of each implementation (default 300)
  --json FILE           write every sample to FILE as JSON Lines
  --list                print the kernels and who has them
  --help                print this

Exit status 1: a kernel gave wrong answers, or a vector backend gains less over portable than it must.";

/// Rounds where none are given.
const ROUNDS: u32 = 300;

#[derive(Debug, PartialEq, Eq)]
pub enum Wish {
    Help,
    Run(Options),
}

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub kernels: Vec<String>,
    pub backends: Vec<Backend>,
    pub rounds: u32,
    pub json: Option<PathBuf>,
    pub list: bool,
}

/// The wish that `arguments` spell; an error is one line that names the argument and the rule.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Wish, String> {
    let mut options = Options {
        kernels: Vec::new(),
        backends: Backend::available().collect(),
        rounds: ROUNDS,
        json: None,
        list: false,
    };
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next().map_err(|e| e.to_string())? {
        use lexopt::prelude::*;
        match argument {
            Long("help") | Short('h') => return Ok(Wish::Help),
            Long("list") => options.list = true,
            Long("kernels") => options.kernels = names("--kernels", value(&mut parser)?)?,
            Long("backends") => {
                let names = names("--backends", value(&mut parser)?)?;
                options.backends = names.iter().map(|n| backend(n)).collect::<Result<_, _>>()?;
            }
            Long("rounds") => {
                let text = value(&mut parser)?;
                let number = text.to_str().and_then(|text| text.parse().ok());
                options.rounds = number.filter(|n| *n > 0).ok_or_else(|| {
                    format!("--rounds {}: not a whole number above 0", text.display())
                })?;
            }
            Long("json") => options.json = Some(value(&mut parser)?.into()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    Ok(Wish::Run(options))
}

fn value(parser: &mut lexopt::Parser) -> Result<OsString, String> {
    parser.value().map_err(|e| e.to_string())
}

fn names(option: &str, list: OsString) -> Result<Vec<String>, String> {
    let text = list
        .into_string()
        .map_err(|list| format!("{option} {}: not UTF-8", list.display()))?;
    let names: Vec<String> = text.split(',').map(str::to_owned).collect();
    if names.iter().any(String::is_empty) {
        return Err(format!("{option} '{text}': a name is empty"));
    }
    Ok(names)
}

fn backend(name: &str) -> Result<Backend, String> {
    Backend::by_name(name).ok_or_else(|| {
        let available: Vec<_> = Backend::available().map(Backend::name).collect();
        format!(
            "--backends: this CPU has no backend '{name}', only {}",
            available.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str]) -> Result<Wish, String> {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn everything_by_default() {
        let Ok(Wish::Run(options)) = of(&[]) else {
            panic!("no run")
        };
        assert!(options.kernels.is_empty() && !options.list && options.json.is_none());
        assert_eq!(options.backends.len(), Backend::available().count());
        assert_eq!(options.rounds, ROUNDS);
    }

    #[test]
    fn choices_are_taken() {
        let wish = of(&[
            "--kernels=ntt,dot",
            "--backends",
            "portable",
            "--rounds",
            "7",
        ]);
        let expected = Options {
            kernels: vec!["ntt".into(), "dot".into()],
            backends: vec![Backend::portable()],
            rounds: 7,
            json: None,
            list: false,
        };
        assert_eq!(wish, Ok(Wish::Run(expected)));
        assert_eq!(of(&["--rounds", "5", "--help"]), Ok(Wish::Help));
    }

    #[test]
    fn bad_arguments_are_named() {
        for (arguments, part) in [
            (&["--round", "3"][..], "--round"),
            (&["ntt"], "ntt"),
            (&["--rounds", "0"], "--rounds 0: not a whole number above 0"),
            (&["--rounds", "x"], "--rounds x: not a whole number above 0"),
            (&["--rounds"], "--rounds"),
            (&["--kernels", "a,,b"], "a name is empty"),
            (&["--backends", "avx3"], "no backend 'avx3', only portable"),
        ] {
            let error = of(arguments).expect_err("accepted");
            assert!(error.contains(part), "{error}");
        }
    }
}
