//! Encrypted private keys, by a file with the password and by a terminal.

use crate::sandbox::{MLDSA, SETS, Sandbox};

const ENCRYPTED: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n";

/// With a pair of keys, of which `key.pem` is encrypted with the password of the file `password`.
fn encrypted(set: &str, form: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("password", b"correct horse\nsecond line\n");
    sandbox.write("message", b"a message\n");
    let keygen = ["keygen", "--set", set, "--form", form, "-o", "key.pem"];
    let password = ["--password-file", "password"];
    sandbox.mldsa(&[&keygen[..], &password].concat()).success();
    let pubkey = ["pubkey", "key.pem", "-o", "public.pem"];
    sandbox.mldsa(&[&pubkey[..], &password].concat()).success();
    sandbox
}

#[test]
fn keys_of_each_set_and_form() {
    for ((set, _), form) in SETS.into_iter().zip(["seed", "expanded", "both"]) {
        let sandbox = encrypted(set, form);
        let pem = String::from_utf8(sandbox.read("key.pem")).unwrap();
        assert!(pem.starts_with(ENCRYPTED), "{pem}");
        let password = ["--password-file", "password"];
        let shown = sandbox.mldsa(&[&["inspect", "key.pem"][..], &password].concat());
        let shown = shown.success();
        for part in ["encrypted private key", set, "belong together"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let public = sandbox.mldsa(&["inspect", "public.pem"]).success();
        assert!(shown.contains(public.split_whitespace().last().unwrap()));
        let sign = ["sign", "-k", "key.pem", "message"];
        sandbox.mldsa(&[&sign[..], &password].concat()).success();
        sandbox
            .mldsa(&["verify", "-p", "public.pem", "message"])
            .success();
    }
}

#[test]
fn the_password_is_the_first_line() {
    let sandbox = encrypted("ML-DSA-44", "seed");
    let public = String::from_utf8(sandbox.read("public.pem")).unwrap();
    for file in [
        &b"correct horse"[..],
        b"correct horse\r\n",
        b"correct horse\n\n",
    ] {
        let pubkey = ["pubkey", "key.pem", "--password-file", "-"];
        assert_eq!(sandbox.pipe(&pubkey, file).success(), public);
    }
    // Text around the key, and DER.
    let mut text = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
    text.extend(sandbox.read("key.pem"));
    sandbox.write("text", &text);
    let pem = String::from_utf8(sandbox.read("key.pem")).unwrap();
    let body: Vec<_> = pem.lines().filter(|line| !line.starts_with('-')).collect();
    sandbox.write("body", (body.join("\n") + "\n").as_bytes());
    let script = "umask 077; openssl base64 -d -in body -out key.der";
    sandbox.run("sh", &["-c", script]).success();
    for key in ["text", "key.der"] {
        let pubkey = ["pubkey", key, "--password-file", "password"];
        assert_eq!(sandbox.mldsa(&pubkey).success(), public);
    }
}

#[test]
fn wrong_passwords_and_keys() {
    let sandbox = encrypted("ML-DSA-44", "seed");
    let wrong = "wrong password, or damaged private key; check the password";
    let long = vec![b'x'; 70_000];
    for (password, part) in [
        (&b"Correct horse\n"[..], wrong),
        (b"correct horse \n", wrong),
        (
            b"",
            "its first line is empty; name a file with the password",
        ),
        (b"\ncorrect horse\n", "its first line is empty"),
        (&long, "longer than 64 KiB"),
    ] {
        sandbox.write("wrong", password);
        for command in [
            &["pubkey", "key.pem"][..],
            &["inspect", "key.pem"],
            &["sign", "-k", "key.pem", "message"],
        ] {
            let password = ["--password-file", "wrong"];
            sandbox
                .mldsa(&[command, &password].concat())
                .failure(&[part]);
        }
    }
    for command in [
        "pubkey key.pem --password-file missing",
        "keygen -o new.pem --password-file missing",
        "keygen -o new.pem --password-file wrong",
        // An input of the command is none of its outputs.
        "keygen -o password --force --password-file password",
        "pubkey key.pem -o password --force --password-file password",
        "pubkey - --password-file -",
    ] {
        let run = sandbox.sh(&format!("\"$0\" {command} <key.pem"));
        run.failure(&["; "]);
    }
    sandbox
        .mldsa(&["keygen", "--set", "ML-DSA-44", "-o", "plain.pem"])
        .success();
    sandbox
        .mldsa(&["pubkey", "plain.pem", "--password-file", "password"])
        .failure(&["plain.pem: is not encrypted; leave out --password-file"]);
    // The file asks for much more work: scrypt's p is 127.
    let script = r#"umask 077; grep -v -- - key.pem | openssl base64 -d | xxd -p | tr -d '\n' |
        sed s/02024000020108020105/0202400002010802017f/ | xxd -r -p >costly.der"#;
    sandbox.run("sh", &["-c", script]).success();
    sandbox
        .mldsa(&["pubkey", "costly.der", "--password-file", "password"])
        .failure(&["above the limit; encrypt the key again"]);
    assert!(!sandbox.names().contains(&"new.pem".into()));
    assert_eq!(sandbox.read("password"), b"correct horse\nsecond line\n");
}

#[test]
fn passwords_that_others_can_read_get_a_warning() {
    let sandbox = encrypted("ML-DSA-44", "seed");
    let run = sandbox.sh("chmod 644 password; \"$0\" pubkey key.pem --password-file password");
    assert_eq!(run.code, 0);
    let warning = "mldsa: warning: password: mode 0644 gives other users access to a password; ";
    assert!(run.stderr.starts_with(warning), "{}", run.stderr);
}

/// Without a terminal there is nobody to ask.
#[test]
fn without_a_terminal() {
    let sandbox = encrypted("ML-DSA-44", "seed");
    for command in [
        &["pubkey", "key.pem"][..],
        &["inspect", "key.pem"],
        &["sign", "-k", "key.pem", "message"],
        &["keygen", "--encrypt", "-o", "new.pem"],
    ] {
        let run = sandbox.run("setsid", &[&["-w", MLDSA], command].concat());
        run.failure(&["no terminal", "; add --password-file FILE"]);
    }
    assert!(!sandbox.names().contains(&"new.pem".into()));
}

/// Run a command of `mldsa` on a terminal, at which a line is typed after each question.
fn at_a_terminal(sandbox: &Sandbox, command: &str, lines: &[&str]) -> String {
    let mut typing = String::new();
    for (asked, line) in (1..).zip(lines) {
        typing += &format!(
            "i=0; until [ $(grep -c assword log) -ge {asked} ] || [ $((i += 1)) -gt 100 ]; do
            sleep 0.1; done; printf '{line}'\n"
        );
    }
    let script = format!(
        ": >log; {{ {typing} sleep 1; }} |
        script -qfec '{MLDSA} {command}; echo code $?; stty -a' log"
    );
    let run = sandbox.run("sh", &["-c", &script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = run.text();
    // The terminal is as it was, and has not shown the password.
    assert!(text.contains(" echo ") && text.contains("isig"), "{text}");
    assert!(!text.contains("horse"), "{text}");
    text
}

#[test]
fn a_terminal_asks() {
    let sandbox = encrypted("ML-DSA-44", "seed");
    let keygen = "keygen --set ML-DSA-44 --encrypt -o new.pem";
    let text = at_a_terminal(&sandbox, keygen, &["a horse\\n", "another horse\\n"]);
    assert!(text.contains("the two passwords differ"), "{text}");
    assert!(!sandbox.names().contains(&"new.pem".into()));
    let text = at_a_terminal(&sandbox, keygen, &["a horse\\n", "a horse\\n"]);
    assert!(
        text.contains("New password of new.pem: ") && text.contains("code 0"),
        "{text}"
    );
    assert!(sandbox.read("new.pem").starts_with(ENCRYPTED.as_bytes()));

    let inspect = "inspect new.pem";
    let text = at_a_terminal(&sandbox, inspect, &["a horse\\n"]);
    assert!(
        text.contains("Password of new.pem: ") && text.contains("belong together"),
        "{text}"
    );
    for (typed, problem) in [
        ("the horse\\n", "wrong password"),
        ("a horse\\003", "no password was typed"),
        ("\\n", "no password was typed"),
    ] {
        let text = at_a_terminal(&sandbox, inspect, &[typed]);
        assert!(text.contains(problem) && text.contains("code 2"), "{text}");
    }
}
