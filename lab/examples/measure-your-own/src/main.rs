//! Signs every input of an ML-DSA-65 selection with a third party's implementation and refuses
//! to go on where a signature is not the expected one.
//!
//! ```text
//! slow-target selection.rsp
//! ```
//!
//! prints the number of each input, in order. What a signature costs is counted from outside: the
//! function `measured` is all that counts.

use std::error::Error;
use std::process::ExitCode;

use fips204::ml_dsa_65::{PrivateKey, SIG_LEN};
use fips204::traits::{SerDes, Signer};

/// What is measured: one signature, from a private key in bytes.
#[inline(never)]
fn measured(
    sk: [u8; 4032],
    message: &[u8],
    context: &[u8],
    rnd: &[u8; 32],
) -> Result<[u8; SIG_LEN], &'static str> {
    PrivateKey::try_from_bytes(sk)?.try_sign_with_seed(rnd, message, context)
}

/// The fields of one input.
#[derive(Default)]
struct Input {
    count: String,
    msg: Vec<u8>,
    ctx: Vec<u8>,
    rnd: Vec<u8>,
    sk: Vec<u8>,
    sig: Vec<u8>,
}

fn run(path: &str) -> Result<(), Box<dyn Error>> {
    let mut inputs: Vec<Input> = Vec::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let Some((name, value)) = line.split_once('=') else {
            continue; // an empty line or a comment
        };
        let value = value.trim();
        if name.trim() == "count" {
            inputs.push(Input {
                count: value.into(),
                ..Input::default()
            });
        }
        let Some(input) = inputs.last_mut() else {
            continue;
        };
        match name.trim() {
            "msg" => input.msg = bytes(value)?,
            "ctx" => input.ctx = bytes(value)?,
            "rnd" => input.rnd = bytes(value)?,
            "sk" => input.sk = bytes(value)?,
            "sig" => input.sig = bytes(value)?,
            _ => {}
        }
    }
    for input in &inputs {
        let sk = input.sk.as_slice().try_into()?;
        let rnd = input.rnd.as_slice().try_into()?;
        let signature = measured(sk, &input.msg, &input.ctx, rnd)?;
        if signature.as_slice() != input.sig {
            return Err(format!("input {}: wrong signature", input.count).into());
        }
        println!("{}", input.count);
    }
    Ok(())
}

fn bytes(hex: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    (0..hex.len())
        .step_by(2)
        .map(|at| {
            let pair = hex.get(at..at + 2).ok_or("odd number of digits")?;
            Ok(u8::from_str_radix(pair, 16)?)
        })
        .collect()
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: slow-target selection.rsp");
        return ExitCode::from(2);
    };
    match run(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slow-target: {path}: {error}");
            ExitCode::from(2)
        }
    }
}
