//! Pipes, large files, and commands that only print.

use std::fs::File;
use std::process::Stdio;

use crate::sandbox::{MLDSA, Run, Sandbox};

#[test]
fn everything_through_pipes() {
    let sandbox = Sandbox::with_keys("ML-DSA-65");
    let script = "set -e
        \"$0\" keygen -o - >k
        \"$0\" pubkey - <k >p
        printf text | \"$0\" sign -k k - >s
        printf text | \"$0\" verify -p p -s s -
        printf text >text
        \"$0\" verify -p p -s - text <s
        cat p | \"$0\" verify -p - -s s text
        cat s | \"$0\" inspect -";
    let shown = sandbox.run("sh", &["-c", script, MLDSA]).success();
    assert!(shown.starts_with("standard input: valid\ntext: valid\ntext: valid\nstandard input\n"));

    let verify = ["verify", "-p", "public.pem", "-"];
    sandbox
        .pipe(&verify, b"")
        .failure(&["name the signature with -s"]);
    let twice = ["verify", "-p", "public.pem", "-s", "-", "-"];
    sandbox.pipe(&twice, b"").failure(&["more than once"]);
    sandbox
        .pipe(&["sign", "-k", "-", "-"], b"")
        .failure(&["more than once"]);
    sandbox
        .pipe(&["pubkey", "-"], b"")
        .failure(&["standard input: not a private key"]);
}

#[test]
fn closed_pipes_are_errors_and_no_panics() {
    let sandbox = Sandbox::with_keys("ML-DSA-65");
    sandbox
        .mldsa(&["sign", "-k", "key.pem", "message"])
        .success();
    let closed = |arguments: &[&str]| -> Run {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sandbox.command(MLDSA);
        command.args(arguments).stdout(writer).stdin(Stdio::null());
        command.stderr(Stdio::piped()).output().unwrap().into()
    };
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["man"],
        &["completions", "zsh"],
        &["pubkey", "key.pem"],
        &["keygen", "-o", "-"],
        &["sign", "-k", "key.pem", "-o", "-", "message"],
        &["inspect", "message.sig"],
        &[
            "speed",
            "--set=ML-DSA-44",
            "--backend=portable",
            "--seconds=0.001",
        ],
    ] {
        closed(arguments).failure(&["standard output: cannot be written"]);
    }
    // The exit code is the answer of `verify`.
    let verify = ["verify", "-p", "public.pem", "message"];
    assert_eq!(closed(&verify).code, 0);
    assert_eq!(closed(&[&verify[..], &["--context", "x"]].concat()).code, 1);

    // Closed standard error, input and output altogether.
    let script = "\"$0\" verify -p public.pem missing >&- 2>&- <&-";
    assert_eq!(sandbox.run("sh", &["-c", script, MLDSA]).code, 2);
}

/// 512 MiB in an address space of 256 MiB.
#[test]
fn large_files_in_bounded_memory() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    File::create(sandbox.path("large"))
        .unwrap()
        .set_len(512 << 20)
        .unwrap();
    let script = "set -e
        ulimit -v 262144
        export RAYON_NUM_THREADS=1
        \"$0\" sign -k key.pem large
        \"$0\" verify -p public.pem large
        \"$0\" sign -k key.pem --prehash SHA2-512 - <large >piped.sig
        verify=\"verify -p public.pem --prehash SHA2-512 -s piped.sig -\"
        dd if=large bs=1M 2>/dev/null | \"$0\" $verify";
    let shown = sandbox.run("sh", &["-c", script, MLDSA]).success();
    assert_eq!(shown, "large: valid\nstandard input: valid\n");
}

#[test]
fn speed_prints_a_row_for_each_operation() {
    let sandbox = Sandbox::new();
    let speed = [
        "speed",
        "--set=ML-DSA-44",
        "--backend=portable",
        "--seconds=0.01",
    ];
    let text = sandbox.mldsa(&speed).success();
    let rows: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("ML-DSA-44"))
        .collect();
    assert_eq!(rows.len(), 7, "{text}");
    for part in ["95 %", "rejected iterations", "mldsa-lab"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn completions_and_manual_pages() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.mldsa(&["completions", shell]).success();
        assert!(script.contains("keygen") && script.contains("deterministic"));
    }
    let page = sandbox.mldsa(&["man"]).success();
    assert!(page.contains(".TH mldsa 1") && page.contains("Exit codes"));
    let page = sandbox.mldsa(&["man", "sign"]).success();
    assert!(page.contains("mldsa\\-sign") && page.contains("deterministic"));
    let help = sandbox.mldsa(&["--help"]).success();
    assert!(help.contains("0 success"));
    let version = sandbox.mldsa(&["--version"]).success();
    assert_eq!(version, concat!("mldsa ", env!("CARGO_PKG_VERSION"), "\n"));
}
