//! `sign` and `verify`.

use crate::sandbox::{SETS, Sandbox};

#[test]
fn each_set_and_mode() {
    for (set, length) in SETS {
        let sandbox = Sandbox::with_keys(set);
        for mode in [
            &[][..],
            &["--hardened"],
            &["--context", "firmware"],
            &["--context-hex", "00FF0a"],
            &["--prehash", "SHA2-512"],
            &["--prehash", "SHAKE-256", "--context", "é", "--hardened"],
        ] {
            let sign = ["sign", "-k", "key.pem", "message", "--force"];
            sandbox.mldsa(&[&sign, mode].concat()).success();
            assert_eq!(sandbox.read("message.sig").len(), length);
            let verify = ["verify", "-p", "public.pem", "message"];
            let run = sandbox.mldsa(&[&verify, mode].concat());
            assert_eq!(run.success(), "message: valid\n");
            let other = if mode.contains(&"--context") {
                "other"
            } else {
                "firmware"
            };
            let altered = sandbox.mldsa(&[&verify[..], &["--context", other]].concat());
            assert_eq!((altered.code, altered.stderr.as_str()), (1, ""));
            assert!(
                altered
                    .text()
                    .starts_with("message: NOT VALID (message.sig: ")
            );
            if let Some(at) = mode.iter().position(|word| *word == "SHAKE-256") {
                let mut mode = mode.to_vec();
                mode[at] = "SHAKE256";
                sandbox.mldsa(&[&verify, &mode[..]].concat()).success();
            }
            // A mode of its own for every signature.
            if mode.len() > 1 {
                assert_eq!(sandbox.mldsa(&verify).code, 1);
            }
        }
        let shown = sandbox.mldsa(&["inspect", "message.sig"]).success();
        assert!(shown.contains("signature") && shown.contains(set));
    }
}

#[test]
fn deterministic_and_hedged() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    let sign = |output, more: &[&str]| {
        let sign = ["sign", "-k", "key.pem", "message", "-o", output];
        sandbox.mldsa(&[&sign, more].concat()).success();
        sandbox.read(output)
    };
    let first = sign("1", &["--deterministic"]);
    assert_eq!(first, sign("2", &["--deterministic"]));
    assert_eq!(first, sign("3", &["--deterministic", "--hardened"]));
    assert_ne!(sign("4", &[]), sign("5", &[]));
    assert_ne!(sign("6", &["--hardened"]), sign("7", &["--hardened"]));
}

#[test]
fn base64() {
    let sandbox = Sandbox::with_keys("ML-DSA-65");
    sandbox
        .mldsa(&["sign", "-k", "key.pem", "message", "--base64"])
        .success();
    let text = String::from_utf8(sandbox.read("message.sig")).unwrap();
    assert!(text.lines().all(|line| line.len() <= 76) && text.ends_with("\n"));
    let verify = ["verify", "-p", "public.pem", "message"];
    assert_eq!(sandbox.mldsa(&verify).code, 0);
    assert!(
        sandbox
            .mldsa(&["inspect", "message.sig"])
            .success()
            .contains("base64")
    );
    sandbox.write("message.sig", text.replace('\n', "\r\n").as_bytes());
    assert_eq!(sandbox.mldsa(&verify).code, 0);
    sandbox.write("message.sig", text.replace('\n', "").as_bytes());
    assert_eq!(sandbox.mldsa(&verify).code, 0);
    sandbox.write("message.sig", &text.as_bytes()[..text.len() - 20]);
    assert_eq!(sandbox.mldsa(&verify).code, 1);
}

/// Base64 of ML-DSA-44 in lines of 40 characters has as many bytes as a signature of ML-DSA-65.
#[test]
fn base64_in_lines_of_any_length() {
    for (set, length) in SETS {
        let sandbox = Sandbox::with_keys(set);
        sandbox
            .mldsa(&["sign", "-k", "key.pem", "message", "--base64"])
            .success();
        let text = String::from_utf8(sandbox.read("message.sig")).unwrap();
        let text: Vec<u8> = text.bytes().filter(|byte| *byte != b'\n').collect();
        for columns in [1, 40, 48, 64, 70, text.len()] {
            for end in ["\n", "\r\n"] {
                let lines = text
                    .chunks(columns)
                    .map(|line| [line, end.as_bytes()].concat());
                let lines = lines.collect::<Vec<_>>().concat();
                if (set, columns, end) == ("ML-DSA-44", 40, "\n") {
                    assert_eq!(lines.len(), 3309);
                }
                sandbox.write("message.sig", &lines);
                let shown = sandbox.mldsa(&["inspect", "message.sig"]).success();
                let size = format!("{length} bytes, base64");
                assert!(shown.contains(set) && shown.contains(&size), "{shown}");
                let verify = ["verify", "-p", "public.pem", "message"];
                sandbox.mldsa(&verify).success();
            }
        }
    }
}

/// Whatever a signature file holds, it is not valid rather than wrong input.
#[test]
fn signatures_that_are_none() {
    let sandbox = Sandbox::with_keys("ML-DSA-65");
    sandbox
        .mldsa(&["sign", "-k", "key.pem", "message"])
        .success();
    let valid = sandbox.read("message.sig");
    let mut altered = valid.clone();
    altered[1000] ^= 4;
    for wrong in [
        vec![],
        b"no signature".to_vec(),
        valid[..valid.len() - 1].to_vec(),
        [&valid[..], &[0]].concat(),
        altered,
        vec![0; valid.len()],
        vec![0xff; valid.len()],
        vec![0; 2420],
        vec![b'A'; 100_000],
    ] {
        sandbox.write("message.sig", &wrong);
        for more in [&[][..], &["--hardened"]] {
            let verify = ["verify", "-p", "public.pem", "message"];
            let run = sandbox.mldsa(&[&verify, more].concat());
            assert_eq!((run.code, run.stderr.as_str()), (1, ""));
            assert_eq!(run.text().lines().count(), 1);
        }
    }
    let quiet = sandbox.mldsa(&["verify", "-q", "-p", "public.pem", "message"]);
    assert_eq!((quiet.code, quiet.text().as_str()), (1, ""));
}

#[test]
fn a_batch_with_one_wrong_signature() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    let names: Vec<String> = (0..20).map(|number| format!("file {number:02}")).collect();
    for name in &names {
        sandbox.write(name, name.as_bytes());
    }
    let files: Vec<&str> = names.iter().map(String::as_str).collect();
    sandbox
        .mldsa(&[&["sign", "-k", "key.pem"], &files[..]].concat())
        .success();
    let verify = [&["verify", "-p", "public.pem"], &files[..]].concat();
    let all: String = names
        .iter()
        .map(|name| format!("{name}: valid\n"))
        .collect();
    assert_eq!(sandbox.mldsa(&verify).success(), all);

    sandbox.write("file 13", b"something else");
    for more in [&[][..], &["--hardened"]] {
        let run = sandbox.mldsa(&[&verify, more].concat());
        assert_eq!(run.code, 1);
        for (line, name) in run.text().lines().zip(&names) {
            let is_valid = *line == format!("{name}: valid");
            assert_eq!(is_valid, name != "file 13", "{line}");
        }
    }

    // A file that is missing is an error, and the others are still judged.
    std::fs::remove_file(sandbox.path("file 04.sig")).unwrap();
    let run = sandbox.mldsa(&verify);
    assert_eq!(run.text().lines().count(), 19);
    run.failure(&["file 04.sig: cannot be read"]);

    let [a, b] = ["file 01", "file 02"];
    let [a_sig, b_sig] = ["file 01.sig", "file 02.sig"];
    let verify = |more: &[&str]| sandbox.mldsa(&[&["verify", "-p", "public.pem"], more].concat());
    assert_eq!(verify(&["-s", a_sig, "-s", b_sig, a, b]).code, 0);
    assert_eq!(verify(&["-s", b_sig, "-s", a_sig, a, b]).code, 1);
    verify(&["-s", a_sig, a, b]).failure(&["1 signatures for 2 files"]);
}

#[test]
fn one_unreadable_file_and_nothing_is_signed() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    sandbox
        .mldsa(&["sign", "-k", "key.pem", "message", "missing"])
        .failure(&["missing"]);
    assert_eq!(sandbox.names(), ["key.pem", "message", "public.pem"]);
    let two = ["sign", "-k", "key.pem", "-o", "x", "message", "public.pem"];
    sandbox.mldsa(&two).failure(&["--output"]);
}

#[test]
fn another_key() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    sandbox
        .mldsa(&["sign", "-k", "key.pem", "message"])
        .success();
    for (set, _) in SETS {
        sandbox
            .mldsa(&["keygen", "--set", set, "-o", "other.pem", "--force"])
            .success();
        sandbox
            .mldsa(&["pubkey", "other.pem", "-o", "other.pub", "--force"])
            .success();
        assert_eq!(
            sandbox
                .mldsa(&["verify", "-p", "other.pub", "message"])
                .code,
            1
        );
    }
}

#[test]
fn wrong_usage() {
    let sandbox = Sandbox::with_keys("ML-DSA-65");
    let long = "x".repeat(256);
    let sign = ["sign", "-k", "key.pem", "message"];
    for (more, part) in [
        (["--context", long.as_str()], "256 bytes"),
        (["--context-hex", "1"], "not hexadecimal"),
        (["--context-hex", "é"], "not hexadecimal"),
        (["--prehash", "SHA2-256"], "SHA2-512"),
        (["--prehash", "MD5"], "SHAKE256"),
        (["--context=a", "--context-hex=61"], "cannot be used with"),
        (["-o", ""], "--output"),
    ] {
        sandbox.mldsa(&[&sign[..], &more].concat()).failure(&[part]);
    }
    for (arguments, part) in [
        (&[][..], "no command"),
        (&["frobnicate"], "frobnicate"),
        (&["sign"], "--key"),
        (&["keygen", "--set", "ML-DSA-66", "-o", "x"], "ML-DSA-65"),
        (&["speed", "--seconds=-1"], "--seconds"),
        (&["speed", "--seconds=nan"], "--seconds"),
        (&["speed", "--backend", "abacus"], "portable"),
        (&["man", "nothing"], "no command"),
        (&["completions", "dos"], "bash"),
    ] {
        sandbox.mldsa(arguments).failure(&[part]);
    }
    let mut command = sandbox.command(crate::sandbox::MLDSA);
    command
        .args(["keygen", "-o", "x"])
        .env("MLDSA_LANES_BACKEND", "abacus");
    crate::sandbox::Run::from(command.output().unwrap()).failure(&["abacus", "portable"]);
    assert_eq!(sandbox.names(), ["key.pem", "message", "public.pem"]);
}
