//! Files that are input and output, or output twice, under different names.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use crate::sandbox::Sandbox;

const FILES: [&str; 3] = ["key.pem", "message", "public.pem"];

/// A key pair and a message with links to each.
fn with_links() -> Sandbox {
    let sandbox = Sandbox::with_keys("ML-DSA-44");
    symlink(".", sandbox.path("folder")).unwrap();
    for name in FILES {
        symlink(name, sandbox.path(&format!("link-{name}"))).unwrap();
        symlink(format!("link-{name}"), sandbox.path(&format!("far-{name}"))).unwrap();
        fs::hard_link(sandbox.path(name), sandbox.path(&format!("hard-{name}"))).unwrap();
    }
    sandbox
}

/// Names, inodes, modes and bytes.
fn state(sandbox: &Sandbox) -> Vec<(String, u64, u32, Vec<u8>)> {
    let names = sandbox.names().into_iter().filter(|name| name != "folder");
    names
        .map(|name| {
            let metadata = fs::symlink_metadata(sandbox.path(&name)).unwrap();
            let bytes = fs::read(sandbox.path(&name)).unwrap_or_default();
            (name, metadata.ino(), metadata.mode(), bytes)
        })
        .collect()
}

#[test]
fn no_output_replaces_an_input() {
    let sandbox = with_links();
    let before = state(&sandbox);
    let aliases = |name: &str| {
        let path = sandbox.path(name).display().to_string();
        let prefixes = [
            "",
            "./",
            "link-",
            "far-",
            "hard-",
            "folder/",
            "/proc/self/cwd/",
        ];
        let names = prefixes.map(|prefix| format!("{prefix}{name}"));
        names.into_iter().chain([path])
    };
    for force in ["", "--force"] {
        let mut commands = Vec::new();
        for alias in aliases("key.pem") {
            commands.extend([
                format!("pubkey key.pem -o {alias}"),
                format!("pubkey {alias} -o key.pem"),
                format!("pubkey - -o {alias} <key.pem"),
                format!("pubkey /dev/fd/3 -o {alias} 3<key.pem"),
                format!("pubkey {alias} >>key.pem"),
                format!("pubkey {alias} -o /dev/stdout >>key.pem"),
                format!("pubkey {alias} -o /dev/fd/3 3>>key.pem"),
                format!("pubkey {alias} -o /proc/$$/fd/3 3>>key.pem"),
                format!("sign -k key.pem -o {alias} message"),
                format!("sign -k {alias} -o key.pem message"),
            ]);
        }
        for alias in aliases("message") {
            commands.extend([
                format!("sign -k key.pem -o {alias} message"),
                format!("sign -k key.pem -o message {alias}"),
                format!("sign -k key.pem -o {alias} - <message"),
                format!("sign -k key.pem -o - {alias} >>message"),
                format!("sign -k key.pem /dev/stdin <{alias} >>message"),
            ]);
        }
        for command in commands {
            let run = sandbox.sh(&format!("exec \"$0\" {command} {force}"));
            assert!(
                run.stderr.contains("the same file as the input"),
                "{command}: {}",
                run.stderr
            );
            run.failure(&["choose another output"]);
            assert!(state(&sandbox) == before, "{command}");
        }
    }
    // Reports are outputs too.
    for command in [
        "inspect link-key.pem >>key.pem",
        "verify -p public.pem -s public.pem message >>hard-message",
        "verify -p public.pem -s message message >>public.pem",
    ] {
        let run = sandbox.sh(&format!("\"$0\" {command}"));
        run.failure(&["standard output: the same file as the input"]);
        assert!(state(&sandbox) == before, "{command}");
    }
}

#[test]
fn signatures_replace_neither_inputs_nor_each_other() {
    let sandbox = with_links();
    sandbox.write("other", b"another message");
    let sign = ["sign", "-k", "key.pem"];
    let refused = |files: &[&str], part: &str| {
        let before = state(&sandbox);
        for force in [&[][..], &["--force"]] {
            let run = sandbox.mldsa(&[&sign, force, files].concat());
            run.failure(&[part]);
            assert!(state(&sandbox) == before, "{files:?}");
        }
    };
    let same = "the same output as";
    refused(&["message", "./message"], same);
    refused(&["message", "other", "message"], same);
    refused(&["message", "folder/message"], same);
    let path = sandbox.path("message").display().to_string();
    refused(&["message", &path], same);

    sandbox
        .mldsa(&[&sign[..], &["message", "other"]].concat())
        .success();
    let input = "the same file as the input";
    refused(&["message", "message.sig"], input);
    refused(&["message", "other", "other.sig", "message.sig"], input);
    refused(&["message", "folder/message.sig"], input);
    fs::hard_link(sandbox.path("message.sig"), sandbox.path("hard.sig")).unwrap();
    refused(&["message", "hard.sig"], input);

    // Two names of signatures for one file.
    fs::remove_file(sandbox.path("other.sig")).unwrap();
    symlink("message.sig", sandbox.path("other.sig")).unwrap();
    let before = state(&sandbox);
    let both = [&sign[..], &["--force", "message", "other"]].concat();
    sandbox.mldsa(&both).failure(&[same]);
    assert!(state(&sandbox) == before);

    // Two signatures on standard output.
    let run = sandbox.sh("\"$0\" sign -k key.pem - /dev/fd/3 <message 3<other");
    run.failure(&["standard output: the same output as"]);

    // Different names of one message are no collision.
    sandbox
        .mldsa(&[&sign[..], &["--force", "message", "hard-message"]].concat())
        .success();
}
