//! The table of PEM files that all layers share, through the commands.

use std::env;

use mldsa_lanes::pem;

use crate::sandbox::Sandbox;

#[path = "../../../../verify/pem/cases.rs"]
mod cases;
use cases::{LABELS, cases};

#[test]
fn every_case_of_the_shared_table() {
    let sandbox = Sandbox::with_keys("ML-DSA-65");
    let public = sandbox.read("public.pem");
    sandbox
        .mldsa(&["sign", "-k", "key.pem", "message"])
        .success();
    let verify = ["verify", "-p", "file", "-s", "message.sig", "message"];
    for (name, label) in ["key.pem", "public.pem"].into_iter().zip(LABELS) {
        let pem = String::from_utf8(sandbox.read(name)).unwrap();
        for case in cases(&pem) {
            sandbox.write("file", &case.file);
            let is_public = name == "public.pem";
            let command = if is_public {
                &verify[..]
            } else if case.name == "an encrypted key" {
                &["pubkey", "file", "--password-file", "message"][..]
            } else {
                &["pubkey", "file"]
            };
            let run = sandbox.mldsa(command);
            let at = format!("{label} {}: {}", case.name, run.stderr);
            let Some((error, text)) = case.error else {
                assert_eq!(run.code, 0, "{at}");
                assert!(is_public || run.stdout == public, "{at}");
                continue;
            };
            // The command line reads DER too, and describes the key in the block itself.
            let text = match error.as_str() {
                "NoBlock" => format!("not a {} in PEM or DER", label.to_lowercase()),
                "Key" => "export the key again".into(),
                "OtherLabel" if command.contains(&"message") && !is_public => {
                    "not encrypted".into()
                }
                _ => text,
            };
            assert!(run.code == 2 && run.stderr.contains(&text), "{at}");
        }
    }
}

/// A file that `openssl pkey` reads has the same key for the library, in the words of the table.
#[test]
fn openssl_reads_the_same_key() {
    let openssl = env::var("OPENSSL").unwrap_or_else(|_| "openssl".into());
    let sandbox = Sandbox::new();
    let generate = ["genpkey", "-algorithm", "ed25519", "-out", "key.pem"];
    assert_eq!(sandbox.run(&openssl, &generate).code, 0);
    let private = sandbox.read("key.pem");
    let decoded = |file: &[u8]| {
        let block = pem::find_block(file, LABELS[0]).unwrap();
        block.decode().unwrap()
    };
    let key = decoded(&private);
    let cases = cases(std::str::from_utf8(&private).unwrap());
    let mut common = 0;
    for case in cases.iter().filter(|case| case.error.is_none()) {
        assert!(
            decoded(&case.file).as_bytes() == key.as_bytes(),
            "{}",
            case.name
        );
        sandbox.write("file", &case.file);
        let convert = ["pkey", "-in", "file", "-outform", "DER", "-out", "der"];
        if sandbox.run(&openssl, &convert).code == 0 {
            assert!(sandbox.read("der") == key.as_bytes(), "{}", case.name);
            common += 1;
        }
    }
    // OpenSSL 3.0 reads 47 of them.
    assert!(common >= 40, "{common}");
}
