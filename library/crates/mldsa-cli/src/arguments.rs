//! The options of each command.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use mldsa_lanes::any::Set;
use mldsa_lanes::{Context, PreHash, PrivateKeyForm};

use crate::failure::Failure;

/// Keys and signatures of ML-DSA (FIPS 204).
///
/// Keys are PEM or DER files of RFC 9881, which OpenSSL 3.5 and others read and write. Signatures
/// are detached: raw bytes or base64. `-` stands for standard input or output.
#[derive(Parser)]
#[command(
    name = "mldsa",
    version,
    after_help = "Exit codes: 0 success, 1 a signature is not valid, 2 wrong usage or input.\n\
    MLDSA_LANES_BACKEND=portable or MLDSA_LANES_DISABLE=avx512 choose the backend."
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Generate a private key.
    Keygen(Keygen),
    /// Write the public key of a private key.
    Pubkey(Pubkey),
    /// Sign files: FILE.sig beside each FILE, or standard output for `-`.
    Sign(Sign),
    /// Verify signatures: one line for each file.
    Verify(Verify),
    /// Describe keys and signatures, without secrets.
    Inspect(Inspect),
    /// Measure operations per second on this machine.
    Speed(Speed),
    /// Print a completion script for a shell.
    Completions { shell: clap_complete::Shell },
    /// Print the manual page, or that of a command.
    Man { command: Option<String> },
}

#[derive(Args)]
pub struct Keygen {
    /// Parameter set.
    #[arg(long, default_value = "ML-DSA-65", value_parser = set_parser())]
    pub set: Set,
    /// Private key file to create, mode 0600.
    #[arg(short, long, value_name = "KEY")]
    pub output: PathBuf,
    /// Content of the private key (RFC 9881).
    #[arg(long, value_enum, default_value = "seed")]
    pub form: Form,
    /// Encrypt the private key with a password, which the terminal asks for.
    #[arg(long)]
    pub encrypt: bool,
    /// File whose first line is the password to encrypt with.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long)]
    pub force: bool,
}

/// The password of an encrypted private key.
#[derive(Args)]
pub struct Password {
    /// File whose first line is the password of the private key; the terminal asks if none is given.
    #[arg(long = "password-file", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Form {
    /// The 32-byte seed.
    Seed,
    /// The encoded private key alone: the seed is lost.
    Expanded,
    /// Seed and encoded private key.
    Both,
}

impl From<Form> for PrivateKeyForm {
    fn from(form: Form) -> Self {
        match form {
            Form::Seed => PrivateKeyForm::Seed,
            Form::Expanded => PrivateKeyForm::ExpandedKey,
            Form::Both => PrivateKeyForm::Both,
        }
    }
}

#[derive(Args)]
pub struct Pubkey {
    /// Private key file.
    pub key: PathBuf,
    /// Public key file to create.
    #[arg(short, long, value_name = "PUBLIC", default_value = "-")]
    pub output: PathBuf,
    #[command(flatten)]
    pub password: Password,
    /// Replace an existing file.
    #[arg(long)]
    pub force: bool,
}

/// What is signed beside the file's bytes, and how carefully.
#[derive(Args)]
pub struct Mode {
    /// Context, at most 255 bytes.
    #[arg(long, value_name = "TEXT", conflicts_with = "context_hex")]
    context: Option<String>,
    /// Context in hexadecimal.
    #[arg(long, value_name = "HEX")]
    context_hex: Option<String>,
    /// HashML-DSA with this hash function.
    #[arg(long, value_name = "NAME", value_parser = prehash_parser())]
    pub prehash: Option<PreHash>,
    /// Compute everything twice and compare, against faults of the hardware.
    #[arg(long)]
    pub hardened: bool,
}

impl Mode {
    /// The bytes of the context.
    pub fn context_bytes(&self) -> Result<Vec<u8>, Failure> {
        let (option, bytes) = match (&self.context, &self.context_hex) {
            (_, Some(digits)) => ("--context-hex", from_hex(digits)?),
            (text, None) => ("--context", text.clone().unwrap_or_default().into_bytes()),
        };
        match Context::new(&bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(Failure::new(option, error, "shorten it")),
        }
    }
}

fn from_hex(digits: &str) -> Result<Vec<u8>, Failure> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? * 16 + digit(*low)?),
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(|| {
        Failure::new(
            "--context-hex",
            "not hexadecimal",
            "give two digits of 0-9 and a-f for each byte",
        )
    })
}

fn digit(character: u8) -> Option<u8> {
    let digit = char::from(character).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[derive(Args)]
pub struct Sign {
    /// Private key file.
    #[arg(short, long)]
    pub key: PathBuf,
    #[command(flatten)]
    pub password: Password,
    /// Files to sign.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Signature file to create, for a single FILE.
    #[arg(short, long, value_name = "SIG")]
    pub output: Option<PathBuf>,
    /// Write signatures in base64.
    #[arg(long)]
    pub base64: bool,
    /// Sign without randomness: the same bytes each time.
    #[arg(long)]
    pub deterministic: bool,
    #[command(flatten)]
    pub mode: Mode,
    /// Replace existing files.
    #[arg(long)]
    pub force: bool,
}

#[derive(Args)]
pub struct Verify {
    /// Public key file.
    #[arg(short, long)]
    pub public: PathBuf,
    /// Signature file, one for each FILE in its order; FILE.sig if none is given.
    #[arg(short, long = "signature", value_name = "SIG")]
    pub signatures: Vec<PathBuf>,
    /// Signed files.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub mode: Mode,
    /// Print nothing: the exit code alone answers.
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
pub struct Inspect {
    /// Keys and signatures.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub password: Password,
}

#[derive(Args)]
pub struct Speed {
    /// Parameter set, repeatable; all if none is given.
    #[arg(long = "set", value_name = "SET", value_parser = set_parser())]
    pub sets: Vec<Set>,
    /// Backend, repeatable; all of this CPU if none is given.
    #[arg(long = "backend", value_name = "NAME")]
    pub backends: Vec<String>,
    /// Seconds for each figure.
    #[arg(long, default_value_t = 0.2)]
    pub seconds: f64,
}

fn set_parser() -> impl TypedValueParser<Value = Set> {
    PossibleValuesParser::new(Set::ALL.map(Set::name)).try_map(|name| name.parse())
}

/// The names of the hash functions; those with a hyphen after `SHAKE` are hidden.
fn prehash_parser() -> impl TypedValueParser<Value = PreHash> {
    let names = PreHash::ALL.map(|hash| {
        let name = PossibleValue::new(hash.name());
        match hash {
            PreHash::Shake128 => name.alias("SHAKE-128"),
            PreHash::Shake256 => name.alias("SHAKE-256"),
            _ => name,
        }
    });
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}
