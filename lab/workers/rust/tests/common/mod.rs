//! A client of the worker protocol, as small as a test needs it.
#![allow(dead_code)] // each test file uses its part

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

pub struct Client {
    pub process: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    jobs: u64,
}

/// The announced lines of a variant.
pub type Announced = HashMap<String, String>;

/// The fields of an input with their values.
pub type Input = Vec<(&'static str, String)>;

impl Client {
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the worker starts");
        let requests = process.stdin.take();
        let replies = BufReader::new(process.stdout.take().expect("standard output is a pipe"));
        Self {
            process,
            requests,
            replies,
            jobs: 0,
        }
    }

    pub fn send(&mut self, text: &str) {
        let pipe = self.requests.as_mut().expect("the worker is running");
        pipe.write_all(text.as_bytes())
            .and_then(|()| pipe.flush())
            .expect("the worker reads");
    }

    /// Lines up to and without `last`; panics on an `error` line or the end of output.
    pub fn until(&mut self, last: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.replies.read_line(&mut line).expect("replies are text");
            let line = line.trim_end_matches('\n');
            assert!(
                read > 0 && !line.starts_with("error "),
                "after {lines:?}: {line:?}"
            );
            if line == last {
                return lines;
            }
            lines.push(line.into());
        }
    }

    pub fn hello(&mut self) -> (Announced, Vec<Announced>) {
        self.send("hello 1\n");
        let mut blocks = vec![Announced::new()];
        for line in self.until("end") {
            let (key, value) = line.split_once(' ').expect("key and value");
            if key == "variant" {
                blocks.push(Announced::new());
            }
            let replaced = blocks
                .last_mut()
                .expect("one block")
                .insert(key.into(), value.into());
            assert!(replaced.is_none(), "{key} is given twice");
        }
        let variants = blocks.split_off(1);
        (blocks.remove(0), variants)
    }

    /// Prepares inputs 0, 1, ... and returns the job.
    pub fn prepare(&mut self, variant: &str, set: &str, operation: &str, inputs: &[Input]) -> u64 {
        self.jobs += 1;
        let mut text = format!(
            "prepare {}\nvariant {variant}\nset {set}\noperation {operation}\n",
            self.jobs
        );
        for (id, input) in inputs.iter().enumerate() {
            text += &format!("input {id}\n");
            for (key, value) in input {
                text += &format!("{key} {value}\n");
            }
        }
        self.send(&(text + "end\n"));
        assert!(self.until(&format!("ready {}", self.jobs)).is_empty());
        self.jobs
    }

    /// The values of the outputs in order; panics if one failed.
    pub fn answer(&mut self, job: u64) -> Vec<String> {
        self.send(&format!("answer {job}\n"));
        let lines = self.until(&format!("done {job}"));
        lines
            .iter()
            .enumerate()
            .map(|(id, line)| {
                let value = line
                    .strip_prefix("output ")
                    .or_else(|| line.strip_prefix("trace "));
                let value = value.and_then(|rest| rest.strip_prefix(&format!("{id} ")));
                value
                    .unwrap_or_else(|| panic!("job {job}: {line}"))
                    .to_owned()
            })
            .collect()
    }

    pub fn measure(&mut self, job: u64, passes: u64) -> Vec<String> {
        self.send(&format!("measure {job} {passes} 1 0\n"));
        self.until(&format!("done {job}"))
    }

    /// What is left of the output until the worker closes it.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.replies
            .read_to_end(&mut bytes)
            .expect("the pipe can be read");
        bytes
    }

    /// Closes the worker's input and waits for it.
    pub fn finish(mut self) -> ExitStatus {
        self.requests = None;
        self.process.wait().expect("the worker ends")
    }
}

/// What all sets of ML-DSA are tested on: distinct bytes per input.
pub fn bytes(salt: u8, input: u8, length: usize) -> String {
    (0..length)
        .map(|at| format!("{:02x}", salt ^ input.wrapping_mul(31) ^ at as u8))
        .collect()
}
