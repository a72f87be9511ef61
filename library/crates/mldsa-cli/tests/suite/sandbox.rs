//! An empty folder in which `mldsa` and other programs run.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub const MLDSA: &str = env!("CARGO_BIN_EXE_mldsa");

pub const SETS: [(&str, usize); 3] = [
    ("ML-DSA-44", 2420),
    ("ML-DSA-65", 3309),
    ("ML-DSA-87", 4627),
];

pub struct Sandbox(tempfile::TempDir);

/// Exit code, standard output and standard error.
pub struct Run {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Run {
            code: output.status.code().expect("ends by itself"),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    /// Standard output of a successful run.
    pub fn success(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""));
        String::from_utf8(self.stdout).unwrap()
    }

    /// The error of a run that ended with 2: one line, which has each of `parts`.
    pub fn failure(self, parts: &[&str]) {
        assert_eq!(self.code, 2, "{}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        assert!(self.stderr.starts_with("mldsa: "), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?}: {}", self.stderr);
        }
    }
}

impl Sandbox {
    pub fn new() -> Self {
        Sandbox(tempfile::tempdir().unwrap())
    }

    /// With a key pair `key.pem`, `public.pem` and the file `message`.
    pub fn with_keys(set: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox
            .mldsa(&["keygen", "--set", set, "-o", "key.pem"])
            .success();
        sandbox
            .mldsa(&["pubkey", "key.pem", "-o", "public.pem"])
            .success();
        sandbox.write("message", b"a message\n");
        sandbox
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Write a file, mode 0600 as for a private key.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(self.path(name)).unwrap();
        file.write_all(bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Names of the files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path());
        command
    }

    pub fn mldsa(&self, arguments: &[&str]) -> Run {
        self.run(MLDSA, arguments)
    }

    pub fn run(&self, program: &str, arguments: &[&str]) -> Run {
        self.command(program)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| {
                panic!("test-cli: {program}: {error}: apt-get install {program}")
            })
            .into()
    }

    /// Run a script in which `$0` is `mldsa`.
    pub fn sh(&self, script: &str) -> Run {
        self.run("sh", &["-c", script, MLDSA])
    }

    /// Run `mldsa` with `input` on its standard input.
    pub fn pipe(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut child = self
            .command(MLDSA)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that has ended reads no more.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap().into()
    }
}
