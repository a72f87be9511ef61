//! Pipes, large files, and commands that only print.

use std::fs::File;
use std::io::Write;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use crate::sandbox::{MLDSA, Run, Sandbox};

#[test]
fn everything_through_pipes() {
    let sandbox = Sandbox::with_keys("ML-DSA-65");
    let script = "set -e
        umask 077
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
    sandbox.pipe(&twice, b"").failure(&["is an input twice"]);
    sandbox
        .pipe(&["sign", "-k", "-", "-"], b"")
        .failure(&["is an input twice"]);
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

/// `/dev/stdin`, `/dev/fd/3` and links to them are streams with a position and a mode of writing.
#[test]
fn streams_by_other_names() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    let script = "set -e
        ln -s /dev/stdout out
        ln -s out out2
        ln -s /dev/stdin in
        for name in - /dev/stdout /dev/fd/1 /proc/self/fd/1 /proc/thread-self/fd/1 out out2; do
            for force in '' --force; do
                \"$0\" pubkey key.pem -o $name $force >file
                cmp file public.pem
                echo head >log
                \"$0\" pubkey key.pem -o $name $force >>log
                { echo head; cat public.pem; } | cmp - log
                { echo head; \"$0\" pubkey key.pem -o $name $force; echo tail; } >log
                { echo head; cat public.pem; echo tail; } | cmp - log
                \"$0\" pubkey key.pem -o $name $force | cmp - public.pem
            done
        done
        echo head >log
        \"$0\" pubkey key.pem -o /dev/fd/3 3>>log
        { echo head; cat public.pem; } | cmp - log
        \"$0\" pubkey key.pem -o /dev/fd/3 3>file
        cmp file public.pem
        { echo head >&3; \"$0\" pubkey key.pem -o /dev/fd/3; echo tail >&3; } 3>log
        { echo head; cat public.pem; echo tail; } | cmp - log

        echo first >two
        cat message >>two
        sign='sign -k key.pem --deterministic'
        \"$0\" $sign -o expected message
        for name in - /dev/stdin /dev/fd/0 in; do
            \"$0\" $sign $name <message | cmp - expected
            cat message | \"$0\" $sign $name | cmp - expected
            { read line; \"$0\" $sign $name; } <two | cmp - expected
            \"$0\" verify -q -p public.pem -s expected $name <message
            \"$0\" verify -q -p public.pem -s $name message <expected
            \"$0\" sign -k $name --deterministic -o - message <key.pem | cmp - expected
        done
        \"$0\" $sign /dev/fd/3 3<message | cmp - expected
        { read line <&3; \"$0\" $sign /dev/fd/3; } 3<two | cmp - expected
        mkfifo fifo
        cat message >fifo & \"$0\" $sign fifo
        cmp fifo.sig expected
        test ! -e /dev/stdin.sig";
    sandbox.sh(script).success();
    let names = ["in.sig", "out.sig", "two.sig"];
    assert!(
        sandbox
            .names()
            .iter()
            .all(|name| !names.contains(&name.as_str()))
    );

    for arguments in [
        "sign -k - /dev/stdin",
        "sign -k /dev/fd/0 in <key.pem",
        "sign -k fifo fifo",
        "verify -p public.pem -s fifo ./fifo",
        "inspect - /dev/stdin",
    ] {
        let run = sandbox.sh(&format!("\"$0\" {arguments}"));
        run.failure(&["is an input twice; name it once and use files for the others"]);
    }
    sandbox
        .sh("\"$0\" verify -p public.pem /dev/stdin <message")
        .failure(&["/dev/stdin", "name the signature with -s"]);
}

/// A socket cannot be opened by its path.
#[test]
fn sockets_by_their_descriptors() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    let sign = "\"$0\" sign -k key.pem --deterministic";
    sandbox.sh(&format!("{sign} message")).success();
    for name in ["-", "/dev/fd/0", "/dev/fd/3"] {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(&sandbox.read("message")).unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        let script = format!("{sign} {name} 3<&0 | cmp - message.sig");
        let mut command = sandbox.command("sh");
        command.args(["-c", &script, MLDSA]);
        command.stdin(OwnedFd::from(theirs));
        Run::from(command.output().unwrap()).success();
    }
}

/// Rust's runtime opens `/dev/null` in the place of a closed stream.
#[test]
fn closed_streams_are_errors() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    let sh = |arguments: &str| sandbox.sh(&format!("\"$0\" {arguments}"));
    for arguments in [
        "sign -k key.pem - <&-",
        "sign -k key.pem /dev/stdin <&-",
        "sign -k - message <&-",
        "verify -p public.pem -s public.pem - <&-",
        "inspect - <&-",
    ] {
        sh(arguments).failure(&["is closed"]);
    }
    for arguments in [
        "--help >&-",
        "pubkey key.pem >&-",
        "pubkey key.pem -o /dev/stdout >&-",
        "keygen -o - >&-",
        "sign -k key.pem - <message >&-",
        "inspect key.pem >&-",
    ] {
        sh(arguments).failure(&["standard output: is closed"]);
    }
    assert_eq!(sandbox.names(), ["key.pem", "message", "public.pem"]);

    // Streams that a command does not use, and an empty message.
    sh("sign -k key.pem message <&- >&-").success();
    sh("verify -p public.pem message <&- >&-").success();
    for null in ["</dev/null", "<>/dev/null"] {
        let shown = sh(&format!("sign -k key.pem - >empty {null}")).success();
        assert_eq!(shown, "");
        assert_eq!(sandbox.read("empty").len(), 2420);
    }
    sh("pubkey key.pem >/dev/null").success();
    sh("pubkey key.pem 1<>/dev/null").success();
}

/// The stack of a thread does not fit into this address space. A limit on processes has the same
/// effect, but not for root.
#[test]
fn the_calling_thread_works_where_no_other_can_start() {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    let script = "set -e
        for number in $(seq 40); do echo $number >file$number; done
        ulimit -v 262144
        export RUST_MIN_STACK=1073741824
        \"$0\" sign -k key.pem file*
        for file in file*.sig; do set -- \"$@\" ${file%.sig}; done
        \"$0\" verify -p public.pem \"$@\"";
    let shown = sandbox.sh(script).success();
    assert_eq!(shown.matches(": valid\n").count(), 40, "{shown}");
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
