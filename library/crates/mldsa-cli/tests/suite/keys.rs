//! `keygen`, `pubkey` and `inspect`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::{SETS, Sandbox};

#[test]
fn keys_of_each_set_and_form() {
    for (set, _) in SETS {
        for form in ["seed", "expanded", "both"] {
            let sandbox = Sandbox::new();
            let keygen = ["keygen", "--set", set, "--form", form, "-o", "key.pem"];
            assert_eq!(sandbox.mldsa(&keygen).success(), "");
            let public = sandbox.mldsa(&["pubkey", "key.pem"]).success();
            assert!(public.starts_with("-----BEGIN PUBLIC KEY-----\n"));
            sandbox.write("public.pem", public.as_bytes());
            let private = sandbox.mldsa(&["inspect", "key.pem"]).success();
            for part in ["private key", set, form, "belong together"] {
                assert!(private.contains(part), "{part}: {private}");
            }
            let public = sandbox.mldsa(&["inspect", "public.pem"]).success();
            let fingerprint = public.split_whitespace().last().unwrap();
            assert_eq!(fingerprint.len(), 64);
            assert!(private.contains(fingerprint) && public.contains(set));
            assert_eq!(sandbox.names(), ["key.pem", "public.pem"]);
        }
    }
}

#[test]
fn inspect_prints_no_secret() {
    let sandbox = Sandbox::with_keys("ML-DSA-65");
    let pem = String::from_utf8(sandbox.read("key.pem")).unwrap();
    let shown = sandbox.mldsa(&["inspect", "key.pem"]).success();
    let body = pem.lines().nth(1).unwrap();
    for at in 30..body.len() - 8 {
        assert!(!shown.contains(&body[at..at + 8]));
    }
}

#[test]
fn modes_of_files() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    sandbox
        .mldsa(&["sign", "-k", "key.pem", "message"])
        .success();
    fs::write(sandbox.path("ordinary"), "").unwrap();
    let mode = |name| {
        fs::metadata(sandbox.path(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("key.pem"), 0o600);
    // What the umask leaves to an ordinary file.
    assert_eq!(
        [mode("public.pem"), mode("message.sig")],
        [mode("ordinary"); 2]
    );

    fs::set_permissions(sandbox.path("key.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    sandbox
        .mldsa(&["keygen", "-o", "key.pem", "--force"])
        .success();
    assert_eq!(mode("key.pem"), 0o600);
}

#[test]
fn existing_files_stay() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    sandbox.write("message.sig", b"old");
    let before = sandbox.read("key.pem");
    for command in [
        &["keygen", "-o", "key.pem"][..],
        &["pubkey", "key.pem", "-o", "public.pem"],
        &["sign", "-k", "key.pem", "message"],
        &["sign", "-k", "key.pem", "-o", "public.pem", "message"],
    ] {
        sandbox
            .mldsa(command)
            .failure(&["exists already", "--force"]);
    }
    assert_eq!(sandbox.read("key.pem"), before);
    assert_eq!(sandbox.read("message.sig"), b"old");

    std::os::unix::fs::symlink("key.pem", sandbox.path("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", sandbox.path("dangling")).unwrap();
    sandbox
        .mldsa(&["keygen", "-o", "link"])
        .failure(&["link: exists already"]);
    sandbox
        .mldsa(&["keygen", "-o", "dangling"])
        .failure(&["dangling: exists already"]);
    sandbox
        .mldsa(&["keygen", "-o", "link", "--force"])
        .success();
    assert!(
        fs::symlink_metadata(sandbox.path("link"))
            .unwrap()
            .is_symlink()
    );
    assert_ne!(sandbox.read("key.pem"), before);
}

#[test]
fn outputs_that_are_no_files() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    sandbox
        .mldsa(&["pubkey", "key.pem", "-o", "/dev/null"])
        .success();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    sandbox
        .mldsa(&["keygen", "-o", "."])
        .failure(&["is a folder"]);
    sandbox
        .mldsa(&["keygen", "-o", "missing/key"])
        .failure(&["missing/key", "cannot be written"]);
    sandbox
        .mldsa(&["pubkey", "key.pem", "-o", "/dev/full"])
        .failure(&["/dev/full"]);
    assert_eq!(sandbox.names(), ["key.pem", "message", "public.pem"]);
}

#[test]
fn wrong_key_files() {
    let sandbox = Sandbox::with_keys("ML-DSA-65");
    let block = |label: &str, body: &str| {
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    };
    let rsa = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";
    for (content, parts) in [
        (String::new(), "not a private key"),
        ("text\u{7}".into(), "not a private key"),
        ("x".repeat(70_000), "longer than 65536 bytes"),
        (
            block("CERTIFICATE", "AAAA"),
            "\"CERTIFICATE\" in line 1 where \"PRIVATE KEY\" is needed; pass an ML-DSA private key",
        ),
        (
            block("ENCRYPTED PRIVATE KEY", "AAAA"),
            "\"ENCRYPTED PRIVATE KEY\" in line 1",
        ),
        (block("RSA PRIVATE KEY", "AAAA"), "PKCS#8"),
        (
            block("PUBLIC KEY", rsa),
            "a public key where the private key is needed",
        ),
        (block("PRIVATE KEY", "AAAA"), "export the key again"),
        (block("PRIVATE KEY", "?"), "in line 1 is not valid base64"),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA".into(),
            "in line 1 has no line -----END PRIVATE KEY-----",
        ),
        ("-----BEGIN ".into(), "not a private key"),
    ] {
        sandbox.write("wrong", content.as_bytes());
        sandbox
            .mldsa(&["pubkey", "wrong"])
            .failure(&["wrong: ", parts]);
        sandbox
            .mldsa(&["sign", "-k", "wrong", "message"])
            .failure(&["wrong: ", parts]);
    }
    sandbox.write("ed25519", block("PUBLIC KEY", rsa).as_bytes());
    let verify = ["verify", "-p", "ed25519", "message", "-s", "message"];
    sandbox
        .mldsa(&verify)
        .failure(&["another algorithm", "1.3.101.112"]);
    let verify = ["verify", "-p", "key.pem", "message", "-s", "message"];
    sandbox.mldsa(&verify).failure(&["key.pem", "mldsa pubkey"]);
    sandbox.write("certificate", block("CERTIFICATE", "AAAA").as_bytes());
    let verify = ["verify", "-p", "certificate", "message", "-s", "message"];
    sandbox.mldsa(&verify).failure(&["openssl x509 -pubkey"]);
    sandbox
        .mldsa(&["inspect", "message"])
        .failure(&["neither a key nor a signature"]);
    sandbox
        .mldsa(&["inspect", "missing"])
        .failure(&["missing: cannot be read"]);
    sandbox
        .mldsa(&["inspect", "."])
        .failure(&["cannot be read"]);
    assert_eq!(sandbox.names().len(), 6);
}

/// DER has no label; its structure identifies it.
#[test]
fn der_that_is_no_key() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    let script = "set -e
        openssl genpkey -algorithm ed25519 -out other.pem
        openssl pkcs8 -topk8 -in other.pem -passout pass:x -out encrypted.pem
        openssl pkcs8 -topk8 -in other.pem -passout pass:x -outform DER -out encrypted.der
        openssl req -x509 -new -key other.pem -subj /CN=x -out certificate.pem
        openssl x509 -in certificate.pem -outform DER -out certificate.der";
    let run = sandbox.run("sh", &["-c", script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let extract = "; extract its public key with `openssl x509 -pubkey -noout`";
    let private = "; pass an ML-DSA private key in PKCS#8";
    for (name, problem, remedies) in [
        (
            "certificate.pem",
            "certificate",
            [extract, private, extract],
        ),
        (
            "certificate.der",
            "a certificate",
            [extract, private, extract],
        ),
    ] {
        let [inspect, sign, verify] = remedies;
        for (command, remedy) in [
            (&["inspect", name][..], inspect),
            (&["pubkey", name], sign),
            (&["sign", "-k", name, "message"], sign),
            (&["verify", "-p", name, "-s", "message", "message"], verify),
        ] {
            let run = sandbox.mldsa(command);
            assert!(
                run.stderr.to_lowercase().contains(problem),
                "{}",
                run.stderr
            );
            run.failure(&[remedy]);
        }
    }
    let public = "; pass an ML-DSA public key";
    sandbox.write("password", b"x");
    for name in ["encrypted.pem", "encrypted.der"] {
        for command in [
            &["inspect", name][..],
            &["pubkey", name],
            &["sign", "-k", name, "message"],
        ] {
            sandbox
                .mldsa(&[command, &["--password-file", "password"]].concat())
                .failure(&["a key of another algorithm", "1.3.101.112"]);
        }
        sandbox
            .mldsa(&["verify", "-p", name, "-s", "message", "message"])
            .failure(&[public]);
    }
}

#[test]
fn private_keys_that_others_can_read_get_a_warning() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    let set_mode = |name: &str, mode| {
        fs::set_permissions(sandbox.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let uses = [
        "pubkey key.pem -o p --force",
        "pubkey link -o p --force",
        "pubkey - -o p --force <key.pem",
        "sign -k key.pem message --force",
        "inspect key.pem",
    ];
    std::os::unix::fs::symlink("key.pem", sandbox.path("link")).unwrap();
    for (mode, shown) in [(0o644, "0644"), (0o640, "0640"), (0o606, "0606")] {
        set_mode("key.pem", mode);
        for arguments in uses {
            let run = sandbox.sh(&format!("\"$0\" {arguments}"));
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert_eq!(run.stderr.lines().count(), 1, "{arguments}: {}", run.stderr);
            for part in ["mldsa: warning: ", shown, "chmod 600"] {
                assert!(run.stderr.contains(part), "{arguments}: {}", run.stderr);
            }
        }
    }
    for mode in [0o600, 0o400] {
        set_mode("key.pem", mode);
        for arguments in uses {
            sandbox.sh(&format!("\"$0\" {arguments}")).success();
        }
    }
    set_mode("public.pem", 0o644);
    sandbox.mldsa(&["inspect", "public.pem"]).success();

    // A private key on standard output.
    let run = sandbox.sh("umask 022; \"$0\" keygen -o - >new");
    assert_eq!(run.code, 0);
    assert!(
        run.stderr
            .starts_with("mldsa: warning: standard output: mode 0644")
    );
    sandbox
        .sh("umask 077; \"$0\" keygen -o - >private")
        .success();
    sandbox.sh("\"$0\" keygen -o - | cat >piped").success();
}

/// A name that is not on the disk is lost with the power.
#[test]
fn new_keys_are_on_the_disk() {
    let sandbox = Sandbox::new();
    let folder = fs::canonicalize(sandbox.path(".")).unwrap();
    for more in [&[][..], &["--force"]] {
        let strace = [
            "-y",
            "-e",
            "trace=fsync,fdatasync,link,linkat,rename,renameat,renameat2",
        ];
        let keygen = [crate::sandbox::MLDSA, "keygen", "-o", "key.pem"];
        let run = sandbox.run("strace", &[&strace[..], &keygen, more].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let calls: Vec<&str> = run
            .stderr
            .lines()
            .filter(|line| line.ends_with("= 0"))
            .collect();
        let position = |part: &str| calls.iter().position(|call| call.contains(part));
        let file = position(".mldsa-").filter(|at| calls[*at].starts_with("fsync"));
        let name = position("key.pem");
        let synced = position(&format!("<{}>)", folder.display()));
        let in_order = file.is_some() && file < name && name < synced;
        assert!(in_order, "{}", run.stderr);
    }
}

#[test]
fn parts_that_do_not_belong_together() {
    let sandbox = Sandbox::new();
    for (form, at) in [("both", 60), ("both", 30), ("expanded", 40)] {
        sandbox
            .mldsa(&["keygen", "--form", form, "-o", "key.pem", "--force"])
            .success();
        let script = "umask 077; openssl base64 -d -in body -out key.der";
        let pem = String::from_utf8(sandbox.read("key.pem")).unwrap();
        let body: Vec<_> = pem.lines().filter(|line| !line.starts_with('-')).collect();
        sandbox.write("body", (body.join("\n") + "\n").as_bytes());
        sandbox.run("sh", &["-c", script]).success();
        // DER is read as well as PEM.
        assert!(
            sandbox
                .mldsa(&["inspect", "key.der"])
                .success()
                .contains("belong together")
        );
        let mut der = sandbox.read("key.der");
        let at = der.len() - at;
        der[at] ^= 1;
        sandbox.write("key.der", &der);
        let shown = sandbox.mldsa(&["inspect", "key.der"]);
        assert!(
            shown.text().contains("parts        NOT VALID"),
            "{}",
            shown.text()
        );
        shown.failure(&["key.der: invalid private key"]);
    }
    let [first, second] = ["a", "b"].map(|name| {
        sandbox.mldsa(&["keygen", "-o", name]).success();
        sandbox.mldsa(&["pubkey", name]).success()
    });
    let private = String::from_utf8(sandbox.read("a")).unwrap();
    sandbox.write("pair", format!("My key\n{private}\r\n{first}").as_bytes());
    sandbox.mldsa(&["inspect", "pair"]).success();
    sandbox.write("mixed", format!("{private}{second}").as_bytes());
    sandbox
        .mldsa(&["inspect", "mixed"])
        .failure(&["do not belong together"]);
}

#[test]
fn truncated_and_altered_keys_are_errors() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    sandbox
        .mldsa(&[
            "keygen",
            "--set",
            "ML-DSA-44",
            "--form",
            "both",
            "-o",
            "both",
        ])
        .success();
    for name in ["key.pem", "public.pem", "both"] {
        let bytes = sandbox.read(name);
        for step in 0..24 {
            let mut wrong = bytes[..bytes.len() * step / 24].to_vec();
            sandbox.write("wrong", &wrong);
            sandbox.mldsa(&["inspect", "wrong"]).failure(&["wrong: "]);
            if let Some(last) = wrong.last_mut() {
                *last = 0xff;
            }
            sandbox.write("wrong", &wrong);
            sandbox.mldsa(&["inspect", "wrong"]).failure(&["wrong: "]);
        }
    }
}

/// One line, whatever a file is named or holds.
#[test]
fn strange_names_and_random_files() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let sandbox = Sandbox::with_keys("ML-DSA-44");
    for name in [
        &b"two\nlines"[..],
        b"\xff\xfe",
        b"\x1b[31mred",
        "é".as_bytes(),
        b"",
    ] {
        for command in ["inspect", "pubkey"] {
            let mut run = sandbox.command(crate::sandbox::MLDSA);
            let output = run
                .arg(command)
                .arg(OsStr::from_bytes(name))
                .output()
                .unwrap();
            assert!(!output.stderr.contains(&0x1b));
            crate::sandbox::Run::from(output).failure(&[]);
        }
    }
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    let starts = [&b"0\x82\x01\x00"[..], b"-----BEGIN PRIVATE KEY-----\n", b""];
    for round in 0..60 {
        let length = usize::from(random()) * 8;
        let mut bytes = starts[round % starts.len()].to_vec();
        bytes.extend((0..length).map(|_| random()));
        sandbox.write("random", &bytes);
        sandbox.mldsa(&["inspect", "random"]).failure(&["random: "]);
        sandbox
            .mldsa(&["sign", "-k", "random", "message"])
            .failure(&["random: "]);
        sandbox
            .mldsa(&["verify", "-p", "random", "-s", "message", "message"])
            .failure(&["random: "]);
        let run = sandbox.mldsa(&["verify", "-p", "public.pem", "-s", "random", "message"]);
        assert_eq!(run.code, 1);
    }
}
