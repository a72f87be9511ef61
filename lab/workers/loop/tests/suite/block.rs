//! Blocks: every input once, in the order asked for, shared out to threads.

use std::collections::HashSet;
use std::mem;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use mldsa_worker_loop::adapter::{Inputs, Output, Prepared, Rnd, Scheme, Variant, job};
use mldsa_worker_loop::bytes::Bytes;
use mldsa_worker_loop::protocol::{Fields, Operation, format_hex};
use mldsa_worker_loop::runs::{Answer, Group};
use sha2::{Digest, Sha256};

use crate::session::talk_to;

/// Who performed which messages together.
type Log = Arc<Mutex<Vec<(ThreadId, Vec<u8>)>>>;

/// Signs a message of one byte by itself, in batches by it and a zero; fails at `ee`.
struct Echo(Log);

fn note(log: &Log, messages: Vec<u8>) {
    let mut log = log.lock().expect("nobody panicked with it");
    log.push((thread::current().id(), messages));
}

impl Scheme for Echo {
    fn sign(&self, input: &Fields) -> Prepared {
        let (message, log) = (input.message()?, Arc::clone(&self.0));
        job(
            move || {
                note(&log, message.to_vec());
                match message[0] {
                    0xee => Err("told to fail".to_string()),
                    byte => Ok(vec![byte]),
                }
            },
            Output::Bytes,
        )
    }

    fn batch(&self, operation: Operation, inputs: Inputs<'_>) -> Option<Box<dyn Group>> {
        let messages = inputs.into_iter().map(|input| input?.message()).collect();
        let log = Arc::clone(&self.0);
        (operation == Operation::Sign).then(|| Box::new(Batch(messages, Vec::new(), log)) as _)
    }
}

struct Batch(Vec<Result<Bytes, String>>, Vec<Answer>, Log);

impl Group for Batch {
    fn perform(&mut self, items: &[usize]) {
        let message = |&item: &usize| self.0[item].as_ref().expect("prepared")[0];
        let messages: Vec<u8> = items.iter().map(message).collect();
        self.1 = messages
            .iter()
            .map(|&m| Ok(Output::bytes([m, 0])))
            .collect();
        note(&self.2, messages);
    }

    fn outputs(&mut self, _items: &[usize]) -> Vec<Answer> {
        mem::take(&mut self.1)
    }
}

/// The replies to a request on job 1, which signs these messages numbered from 10; and the calls.
fn talk(messages: &[u8], request: &str) -> (Vec<String>, Vec<(ThreadId, Vec<u8>)>) {
    let log = Log::default();
    let variant = Variant {
        backend: "test",
        rnd: Rnd::Zero,
        batch: true,
        schemes: vec![("ML-DSA-65", Box::new(Echo(Arc::clone(&log))))],
        ..Variant::new("echo", "1")
    };
    let rnd = "00".repeat(32);
    let inputs: String = (10..)
        .zip(messages)
        .map(|(id, m)| format!("input {id}\ncontext -\nsk 00\nrnd {rnd}\nmessage {m:02x}\n"))
        .collect();
    let head = "prepare 1\nvariant echo:test:compact\nset ML-DSA-65\noperation sign\n";
    let mut replies = talk_to(variant, &format!("{head}{inputs}end\n{request}\n"));
    assert_eq!(replies.remove(0), "ready 1");
    let calls = mem::take(&mut *log.lock().expect("nobody panicked with it"));
    (replies, calls)
}

fn sample(line: &str) -> (&str, &str, &str) {
    let words: Vec<_> = line.split(' ').collect();
    let ["sample", input, wall, cpu, calls, digest] = words.as_slice() else {
        panic!("{line}")
    };
    assert!(wall.parse::<u64>().expect("ticks") > 0 && cpu.parse::<u64>().is_ok());
    (input, calls, digest)
}

fn digest(bytes: &[u8]) -> String {
    format_hex(&Sha256::digest(bytes))
}

#[test]
fn inputs_are_visited_once_in_strides() {
    // Of seven inputs in steps of three: 0 3 6 2 5 1 4; one pass before the two that are kept.
    let (replies, calls) = talk(&[0, 1, 2, 3, 4, 5, 6], "block 1 2 0 1 3 0");
    assert_eq!(replies.len(), 3);
    for line in &replies[..2] {
        assert_eq!(
            sample(line),
            ("10", "1", digest(&[0, 3, 6, 2, 5, 1, 4]).as_str())
        );
    }
    assert_eq!(replies[2], "done 1");
    let visited: Vec<u8> = calls
        .into_iter()
        .flat_map(|(_, messages)| messages)
        .collect();
    assert_eq!(visited, [0, 3, 6, 2, 5, 1, 4].repeat(3));
}

#[test]
fn threads_have_parts_that_differ_by_one_at_most() {
    let (replies, calls) = talk(&[0, 1, 2, 3, 4, 5, 6], "block 1 1 0 3 3 100000");
    assert_eq!(sample(&replies[0]).2, digest(&[0, 3, 6, 2, 5, 1, 4]));
    let threads: HashSet<ThreadId> = calls.iter().map(|(thread, _)| *thread).collect();
    let mut parts: Vec<Vec<u8>> = threads
        .iter()
        .map(|of| {
            let own = calls.iter().filter(|(thread, _)| thread == of);
            own.flat_map(|(_, messages)| messages.clone()).collect()
        })
        .collect();
    parts.sort();
    // Each twice: a pass before the one that is kept.
    assert_eq!(
        parts,
        [[0, 3, 6].repeat(2), [1, 4].repeat(2), [2, 5].repeat(2)]
    );
}

#[test]
fn batches_are_cut_to_a_threads_part() {
    let (replies, calls) = talk(&[0, 1, 2, 3, 4, 5, 6], "block 1 1 2 2 1 0");
    let outputs: Vec<u8> = (0..7).flat_map(|m| [m, 0]).collect();
    assert_eq!(sample(&replies[0]).2, digest(&outputs));
    let mut sizes: Vec<usize> = calls.iter().map(|(_, messages)| messages.len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 1, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn a_failure_fails_the_block() {
    for threads in [1, 2] {
        let (replies, _) = talk(&[1, 0xee, 3], &format!("block 1 1 0 {threads} 1 0"));
        assert_eq!(replies, ["failed 10 told to fail", "done 1"]);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (request, said) in [
        ("block 2 1 0 1 1 0", "job 2 is not prepared"),
        ("block 1 1 0 0 1 0", "THREADS must be at least 1"),
        (
            "block 1 1 0 4 1 0",
            "this block has at most 3 threads, got 4",
        ),
        (
            "block 1 1 0 1 3 0",
            "STRIDE 3 and the number of inputs, 3, have a common divisor",
        ),
        (
            "block 1 1 0 1 0 0",
            "STRIDE 0 and the number of inputs, 3, have a common divisor",
        ),
        (
            "block 1 1 100001 1 1 0",
            "a batch has at most 100000 operations",
        ),
        (
            "block 1 1 0 1 1 8589934593",
            "memory to read has at most 8589934592 bytes",
        ),
        ("block 1 1 0 1 1", "`block` takes 6 numbers, got 5"),
    ] {
        let (replies, calls) = talk(&[1, 2, 3], request);
        assert!(
            replies[0].starts_with("error ") && replies[0].contains(said),
            "{replies:?}"
        );
        assert!(calls.is_empty());
    }
}
