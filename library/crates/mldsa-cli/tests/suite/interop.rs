//! Keys and signatures exchanged with OpenSSL's command line and Python's `cryptography`, both
//! ways. `OPENSSL` and `PYTHON` name other programs than `openssl` and the project's Python.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::sandbox::{SETS, Sandbox};

/// A program that others have: signs and verifies the file `message`.
trait Other {
    /// Write a key pair of `set` to `other.pem` and `other.pub`.
    fn keygen(&self, sandbox: &Sandbox, set: &str);
    fn sign(&self, sandbox: &Sandbox, key: &str, signature: &str, context: &str);
    fn verify(&self, sandbox: &Sandbox, public: &str, signature: &str, context: &str) -> bool;
    /// Forms of private keys that it reads.
    fn forms(&self) -> &[&str];
    /// Write the private key `key` to `output`, decrypted or encrypted with `password`.
    fn decrypt(&self, sandbox: &Sandbox, key: &str, output: &str);
    fn encrypt(&self, sandbox: &Sandbox, key: &str, output: &str);
}

/// Its keys here, our keys there, and signatures in each direction.
fn exchange(other: &impl Other) {
    for (set, _) in SETS {
        let sandbox = Sandbox::with_keys(set);
        let mut keys = vec![("other.pem".to_string(), "other.pub".to_string())];
        other.keygen(&sandbox, set);
        for form in other.forms() {
            let (key, public) = (format!("{form}.pem"), format!("{form}.pub"));
            sandbox
                .mldsa(&["keygen", "--set", set, "--form", form, "-o", &key])
                .success();
            sandbox.mldsa(&["pubkey", &key, "-o", &public]).success();
            keys.push((key, public));
        }
        sandbox.write("password", b"password\n");
        let password = ["--password-file", "password"];
        for form in other.forms() {
            let keygen = [
                "keygen", "--set", set, "--form", form, "-o", "ours.enc", "--force",
            ];
            sandbox.mldsa(&[&keygen[..], &password].concat()).success();
            other.decrypt(&sandbox, "ours.enc", "plain.pem");
            other.encrypt(&sandbox, "plain.pem", "theirs.enc");
            let public = sandbox.mldsa(&["pubkey", "plain.pem"]).success();
            for key in ["ours.enc", "theirs.enc"] {
                let pubkey = [&["pubkey", key][..], &password].concat();
                assert_eq!(sandbox.mldsa(&pubkey).success(), public);
            }
        }
        for (key, public) in &keys {
            assert!(sandbox.mldsa(&["inspect", key]).success().contains(set));
            let derived = sandbox.mldsa(&["pubkey", key]).success();
            assert_eq!(derived.as_bytes(), sandbox.read(public));
            for context in ["", "a context"] {
                let context = ["--context", context];
                let verify = ["verify", "-p", public, "-s", "theirs", "message"];
                other.sign(&sandbox, key, "theirs", context[1]);
                sandbox.mldsa(&[&verify[..], &context].concat()).success();
                assert_eq!(
                    sandbox
                        .mldsa(&[&verify[..], &["--context=x"]].concat())
                        .code,
                    1
                );
                let sign = ["sign", "-k", key, "-o", "ours", "--force", "message"];
                sandbox.mldsa(&[&sign[..], &context].concat()).success();
                assert!(other.verify(&sandbox, public, "ours", context[1]));
                assert!(!other.verify(&sandbox, public, "ours", "x"));
            }
        }
    }
}

struct OpenSsl(String);

impl OpenSsl {
    fn run(&self, sandbox: &Sandbox, arguments: &[&str]) -> bool {
        sandbox.run(&self.0, arguments).code == 0
    }
}

impl Other for OpenSsl {
    fn keygen(&self, sandbox: &Sandbox, set: &str) {
        assert!(self.run(
            sandbox,
            &["genpkey", "-algorithm", set, "-out", "other.pem"]
        ));
        assert!(self.run(
            sandbox,
            &["pkey", "-in", "other.pem", "-pubout", "-out", "other.pub"]
        ));
    }

    fn sign(&self, sandbox: &Sandbox, key: &str, signature: &str, context: &str) {
        let context = format!("context-string:{context}");
        let sign = [
            "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", "message",
        ];
        let more = ["-out", signature, "-pkeyopt", &context];
        assert!(self.run(sandbox, &[&sign[..], &more].concat()));
    }

    fn verify(&self, sandbox: &Sandbox, public: &str, signature: &str, context: &str) -> bool {
        let context = format!("context-string:{context}");
        let verify = ["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public];
        let more = [
            "-in", "message", "-sigfile", signature, "-pkeyopt", &context,
        ];
        self.run(sandbox, &[&verify[..], &more].concat())
    }

    fn forms(&self) -> &[&str] {
        &["seed", "expanded", "both"]
    }

    fn decrypt(&self, sandbox: &Sandbox, key: &str, output: &str) {
        let password = ["-passin", "pass:password"];
        let pkey = ["pkey", "-in", key, "-out", output];
        assert!(self.run(sandbox, &[&pkey[..], &password].concat()));
    }

    fn encrypt(&self, sandbox: &Sandbox, key: &str, output: &str) {
        let password = ["-aes-256-cbc", "-passout", "pass:password"];
        let pkey = ["pkey", "-in", key, "-out", output];
        assert!(self.run(sandbox, &[&pkey[..], &password].concat()));
    }
}

#[test]
fn openssl() {
    let program = env::var("OPENSSL").unwrap_or_else(|_| "openssl".into());
    let listed = Command::new(&program)
        .args(["list", "-signature-algorithms"])
        .output();
    match listed {
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains("ML-DSA-65") => {
            exchange(&OpenSsl(program));
        }
        _ => eprintln!(
            "openssl: SKIPPED, {program} has no ML-DSA; OPENSSL=… names version 3.5 or newer"
        ),
    }
}

struct Cryptography(String);

impl Cryptography {
    fn run(&self, sandbox: &Sandbox, arguments: &[&str]) -> bool {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cryptography_peer.py");
        let run = sandbox.run(&self.0, &[&[script], arguments].concat());
        assert!(run.code < 2 && run.stderr.is_empty(), "{}", run.stderr);
        run.code == 0
    }
}

impl Other for Cryptography {
    fn keygen(&self, sandbox: &Sandbox, set: &str) {
        assert!(self.run(sandbox, &["keygen", set]));
    }

    fn sign(&self, sandbox: &Sandbox, key: &str, signature: &str, context: &str) {
        assert!(self.run(sandbox, &["sign", key, signature, context]));
    }

    fn verify(&self, sandbox: &Sandbox, public: &str, signature: &str, context: &str) -> bool {
        self.run(sandbox, &["verify", public, signature, context])
    }

    fn forms(&self) -> &[&str] {
        &["seed"]
    }

    fn decrypt(&self, sandbox: &Sandbox, key: &str, output: &str) {
        assert!(self.run(sandbox, &["decrypt", key, output]));
    }

    fn encrypt(&self, sandbox: &Sandbox, key: &str, output: &str) {
        assert!(self.run(sandbox, &["encrypt", key, output]));
    }
}

#[test]
fn cryptography() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../.venv/bin/python");
    let fallback = if Path::new(own).exists() {
        own
    } else {
        "python3"
    };
    let program = env::var("PYTHON").unwrap_or_else(|_| fallback.into());
    let module = "import cryptography.hazmat.primitives.asymmetric.mldsa";
    match Command::new(&program).args(["-c", module]).output() {
        Ok(output) if output.status.success() => exchange(&Cryptography(program)),
        _ => eprintln!(
            "cryptography: SKIPPED, {program} has no ML-DSA in `cryptography`; \
             `make setup-test` installs it"
        ),
    }
}
