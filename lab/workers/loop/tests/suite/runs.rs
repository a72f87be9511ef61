//! Loops, batches and threads, on a scheme that tells how it was called.

use std::collections::HashSet;
use std::io::BufReader;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use crate::BUILD;
use mldsa_worker_loop::adapter::{
    Inputs, Output, Prepared, Rnd, Scheme, Variant, job, shared, verdict,
};
use mldsa_worker_loop::protocol::{Fields, Operation, Reader, parse_hex};
use mldsa_worker_loop::runs::{Answer, Group};
use mldsa_worker_loop::session::{Session, serve};
use sha2::{Digest, Sha256};

/// What was called, by whom: the messages of a batch, or of a single call.
type Log = Arc<Mutex<Vec<(ThreadId, Vec<Vec<u8>>)>>>;

const FAIL: &[u8] = &[0xee];
const PANIC: &[u8] = &[0xdd];

/// Signs a message by repeating it.
#[derive(Clone, Default)]
struct Twice(Log);

fn sign(message: &[u8]) -> Result<Vec<u8>, String> {
    match message {
        FAIL => Err("told to fail".into()),
        PANIC => panic!("told to panic"),
        other => Ok([other, other].concat()),
    }
}

fn note(log: &Log, messages: Vec<Vec<u8>>) {
    log.lock()
        .expect("nobody panicked with it")
        .push((thread::current().id(), messages));
}

impl Scheme for Twice {
    fn sign(&self, input: &Fields) -> Prepared {
        let (message, log) = (input.message()?, Arc::clone(&self.0));
        job(
            move || {
                note(&log, vec![message.to_vec()]);
                sign(&message)
            },
            Output::Bytes,
        )
    }

    fn verify(&self, _input: &Fields) -> Prepared {
        verdict(|| true)
    }

    fn batch(&self, operation: Operation, inputs: Inputs<'_>) -> Option<Box<dyn Group>> {
        let message = |input: Result<&Fields, String>| Ok(input?.message()?.to_vec());
        (operation == Operation::Sign).then(|| {
            Box::new(Batch {
                log: Arc::clone(&self.0),
                messages: inputs.into_iter().map(message).collect(),
                outputs: Vec::new(),
            }) as Box<dyn Group>
        })
    }
}

struct Batch {
    log: Log,
    messages: Vec<Result<Vec<u8>, String>>,
    outputs: Vec<Answer>,
}

impl Group for Batch {
    fn perform(&mut self, items: &[usize]) {
        let messages = items.iter().map(|&item| &self.messages[item]);
        note(&self.log, messages.clone().flatten().cloned().collect());
        let signed = |message: &Result<Vec<u8>, String>| {
            let message = message.as_ref().map_err(Clone::clone)?;
            sign(message).map(Output::Bytes)
        };
        self.outputs = messages.map(signed).collect();
    }

    fn outputs(&mut self, _items: &[usize]) -> Vec<Answer> {
        std::mem::take(&mut self.outputs)
    }
}

/// The replies to a whole conversation.
fn talk(scheme: &Twice, requests: &str) -> Vec<String> {
    let variant = Variant {
        backend: "test",
        rnd: Rnd::Zero,
        context: false,
        batch: true,
        note: String::new(),
        schemes: vec![("ML-DSA-65", Box::new(scheme.clone()))],
        ..Variant::new("twice", "1")
    };
    let mut session = Session::new("test", BUILD, vec![variant]);
    let mut reader = Reader::new(BufReader::new(requests.as_bytes()));
    let mut replies = Vec::new();
    serve(&mut session, &mut reader, &mut replies).expect("writing to memory");
    let text = String::from_utf8(replies).expect("replies are text");
    text.lines().map(str::to_owned).collect()
}

/// A job of these messages, numbered 10, 11, ...
fn prepare(messages: &[&str]) -> String {
    let rnd = "00".repeat(32);
    let inputs: String = (10..)
        .zip(messages)
        .map(|(id, message)| {
            format!("input {id}\nsk 00\nmessage {message}\ncontext -\nrnd {rnd}\n")
        })
        .collect();
    format!("prepare 1\nvariant twice:test:compact\nset ML-DSA-65\noperation sign\n{inputs}end\n")
}

fn called(scheme: &Twice) -> Vec<String> {
    let log = scheme.0.lock().unwrap();
    let text = |messages: &[Vec<u8>]| {
        messages
            .iter()
            .map(|m| format!("{:02x}", m[0]))
            .collect::<String>()
    };
    log.iter().map(|(_, messages)| text(messages)).collect()
}

/// The input and digest of a sample line.
fn sample(line: &str) -> (u64, Vec<u8>) {
    let words: Vec<_> = line.split(' ').collect();
    let ["sample", input, wall, cpu, _, digest] = words.as_slice() else {
        panic!("{line}")
    };
    assert!(wall.parse::<u64>().is_ok() && cpu.parse::<u64>().is_ok());
    (input.parse().unwrap(), parse_hex(digest).unwrap())
}

fn digest_of(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

#[test]
fn batches_are_answered_in_order_the_last_one_short() {
    let scheme = Twice::default();
    let request = prepare(&["a1", "a2", "ee", "a4", "a5"]);
    let replies = talk(&scheme, &format!("{request}answer 1 batch 2\n"));
    assert_eq!(
        replies[1..],
        [
            "output 10 a1a1",
            "output 11 a2a2",
            "failed 12 told to fail",
            "output 13 a4a4",
            "output 14 a5a5",
            "done 1",
        ]
    );
    assert_eq!(called(&scheme), ["a1a2", "eea4", "a5"]);
}

#[test]
fn an_input_that_is_refused_spoils_no_other_of_its_batch() {
    let hedged = prepare(&["a1", "a2"]).replacen(&"00".repeat(32), &"11".repeat(32), 1);
    let replies = talk(&Twice::default(), &format!("{hedged}answer 1 batch 8\n"));
    let refused = "failed 10 this interface signs deterministically, so rnd must be zero";
    assert_eq!(replies[1..3], [refused, "output 11 a2a2"]);
}

#[test]
fn runs_take_the_inputs_in_turn_and_over_again() {
    for (form, calls) in [
        ("batch", vec!["a1a2", "a2a3", "a3a1"]),
        ("loop", vec!["a1", "a2", "a2", "a3", "a3", "a1"]),
    ] {
        let scheme = Twice::default();
        let request = prepare(&["a1", "a2", "a3"]);
        let replies = talk(&scheme, &format!("{request}measure 1 1 1 0 {form} 2 3 1\n"));
        assert_eq!(called(&scheme), calls);
        assert_eq!(replies.len(), 5, "{replies:?}");
        for (line, (id, bytes)) in replies[1..4].iter().zip([
            (10, [0xa1, 0xa1, 0xa2, 0xa2]),
            (11, [0xa2, 0xa2, 0xa3, 0xa3]),
            (12, [0xa3, 0xa3, 0xa1, 0xa1]),
        ]) {
            assert_eq!(sample(line), (id, digest_of(&bytes)), "{form}");
        }
    }
}

#[test]
fn a_run_may_be_larger_than_its_job() {
    for form in ["batch", "loop"] {
        let request = prepare(&["a1", "a2"]);
        let replies = talk(
            &Twice::default(),
            &format!("{request}measure 1 2 3 0 {form} 5 1 1\n"),
        );
        let bytes = parse_hex("a1a1a2a2a1a1a2a2a1a1").unwrap();
        assert_eq!(replies.len(), 4);
        assert_eq!(sample(&replies[1]), (10, digest_of(&bytes)), "{form}");
        assert_eq!(sample(&replies[2]), (10, digest_of(&bytes)), "{form}");
        assert!(replies[1].contains(" 3 "), "{}", replies[1]);
    }
}

#[test]
fn passes_calls_and_warm_up_are_as_asked_for() {
    let scheme = Twice::default();
    let request = prepare(&["a1", "a2"]);
    talk(&scheme, &format!("{request}measure 1 3 4 0 batch 2 5 1\n"));
    assert_eq!(called(&scheme).len(), 3 * 4 * 5);
    let warm = Twice::default();
    talk(
        &warm,
        &format!("{request}measure 1 1 1 2000000 batch 2 1 1\n"),
    );
    assert!(called(&warm).len() > 1);
}

#[test]
fn every_thread_performs_an_equal_share_from_a_place_of_its_own() {
    for form in ["batch", "loop"] {
        let scheme = Twice::default();
        let request = prepare(&["a1", "a2", "a3", "a4"]);
        let replies = talk(&scheme, &format!("{request}measure 1 2 1 0 {form} 3 1 2\n"));
        // The second thread begins two further on.
        let first = parse_hex("a1a1a2a2a3a3a3a3a4a4a1a1").unwrap();
        for line in &replies[1..3] {
            assert_eq!(sample(line), (10, digest_of(&first)), "{form}");
        }
        let log = scheme.0.lock().unwrap();
        let threads: HashSet<_> = log.iter().map(|(thread, _)| *thread).collect();
        assert_eq!(threads.len(), 2);
        for thread in threads {
            let calls = log.iter().filter(|(of, _)| *of == thread);
            let performed: usize = calls.map(|(_, messages)| messages.len()).sum();
            assert_eq!(performed, 2 * 3);
        }
    }
}

#[test]
fn a_run_with_a_failure_or_a_panic_is_failed_and_the_worker_lives_on() {
    for threads in [1, 3] {
        for form in ["batch", "loop"] {
            for (message, text) in [("ee", "told to fail"), ("dd", "panicked: told to panic")] {
                let request = prepare(&["a1", message, "a3"]);
                let replies = talk(
                    &Twice::default(),
                    &format!("{request}measure 1 2 1 5 {form} 3 1 {threads}\nanswer 9\n"),
                );
                let failed = format!("failed 10 {text}");
                assert_eq!(replies[1..4], [failed.as_str(), &failed, "done 1"]);
                assert!(replies[4].starts_with("error line"), "{}", replies[4]);
            }
        }
    }
}

#[test]
fn what_cannot_be_done_in_runs_is_refused() {
    for (request, rule) in [
        ("measure 2 1 1 0 loop 1 1 1", "job 2 is not prepared"),
        ("answer 2 batch 1", "job 2 is not prepared"),
        (
            "measure 1 1 1 0 loop 100001 1 1",
            "a run has at most 100000 operations, got 100001",
        ),
        (
            "measure 1 1 1 0 batch 1 1 257",
            "a run has at most 256 threads, got 257",
        ),
        (
            "answer 1 batch 100001",
            "a batch has at most 100000 operations, got 100001",
        ),
    ] {
        let prepared = prepare(&["a1"]);
        let replies = talk(&Twice::default(), &format!("{prepared}{request}\n"));
        assert!(replies[1].ends_with(rule), "{}", replies[1]);
    }
    let verify = "prepare 1\nvariant twice:test:compact\nset ML-DSA-65\noperation verify\n\
                  input 0\npk 00\nmessage -\ncontext -\nsignature -\nend\n";
    for request in ["answer 1 batch 1", "measure 1 1 1 0 batch 1 1 2"] {
        let replies = talk(&Twice::default(), &format!("{verify}{request}\n"));
        let rule = "variant twice:test:compact has no batch interface";
        assert!(replies[1].ends_with(rule), "{}", replies[1]);
    }
}

#[test]
fn a_job_without_inputs_has_no_runs() {
    let request = prepare(&[]);
    let replies = talk(
        &Twice::default(),
        &format!("{request}answer 1 batch 4\nmeasure 1 2 1 9 batch 4 2 2\n"),
    );
    assert_eq!(replies, ["ready 1", "done 1", "done 1"]);
}

#[test]
fn a_thread_makes_one_object_of_equal_keys_that_follow_each_other() {
    let make = |bytes: &[u8]| shared(bytes.to_vec(), || Ok(bytes.to_vec())).unwrap();
    let (first, again, other) = (make(b"a"), make(b"a"), make(b"b"));
    assert!(std::rc::Rc::ptr_eq(&first, &again));
    assert_eq!((first.as_slice(), other.as_slice()), (&b"a"[..], &b"b"[..]));
    let failed = shared::<Vec<u8>>(b"c".to_vec(), || Err("no".into()));
    assert_eq!(failed, Err("no".into()));
    let elsewhere = thread::spawn(|| *shared(b"n".to_vec(), || Ok(7)).unwrap());
    assert_eq!(elsewhere.join().unwrap(), 7);
    // Another type of the same bytes is another object.
    assert_eq!(*shared(b"b".to_vec(), || Ok(5_u8)).unwrap(), 5);
}
