//! Chains: what flows from stage to stage, and what is refused.

use std::mem;

use mldsa_worker_loop::adapter::{Inputs, Output, Prepared, Rnd, Scheme, Variant, job, verdict};
use mldsa_worker_loop::bytes::Bytes;
use mldsa_worker_loop::protocol::{Fields, Operation, format_hex};
use mldsa_worker_loop::runs::{Answer, Group};
use sha2::{Digest, Sha256};

use crate::session::talk_to;

/// Signs a message by its bytes in reverse, a batch of them by a zero byte before that; fails at
/// the message `ee`.
struct Reverse;

fn reversed(message: &[u8]) -> Result<Vec<u8>, String> {
    match message {
        [0xee] => Err("told to fail".into()),
        other => Ok(other.iter().rev().copied().collect()),
    }
}

impl Scheme for Reverse {
    fn sign(&self, input: &Fields) -> Prepared {
        let message = input.message()?;
        job(move || reversed(&message), Output::Bytes)
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let (message, signature) = (input.message()?, input.signature()?);
        verdict(move || reversed(&message).is_ok_and(|right| *right == *signature))
    }

    fn batch(&self, operation: Operation, inputs: Inputs<'_>) -> Option<Box<dyn Group>> {
        let messages = inputs.into_iter().map(|input| input?.message()).collect();
        (operation == Operation::Sign).then(|| Box::new(Batch(messages, Vec::new())) as _)
    }
}

struct Batch(Vec<Result<Bytes, String>>, Vec<Answer>);

impl Group for Batch {
    fn perform(&mut self, items: &[usize]) {
        let signed = |message: &[u8]| Ok(Output::bytes([&[0], &*reversed(message)?].concat()));
        let messages = items.iter().map(|&item| self.0[item].as_ref());
        self.1 = messages.map(|m| signed(m.map_err(Clone::clone)?)).collect();
    }

    fn outputs(&mut self, _items: &[usize]) -> Vec<Answer> {
        mem::take(&mut self.1)
    }
}

/// The replies after `ready`, with inputs numbered from 10: job 1 signs these messages, job 2 signs
/// one of its own, job 3 verifies them with signatures that are wrong.
fn talk(messages: &[&str], requests: &str) -> Vec<String> {
    let variant = Variant {
        backend: "test",
        rnd: Rnd::Zero,
        batch: true,
        schemes: vec![("ML-DSA-65", Box::new(Reverse))],
        ..Variant::new("reverse", "1")
    };
    let rnd = "00".repeat(32);
    let prepare = |job: u64, operation: &str, field: &dyn Fn(&str) -> String| {
        let inputs: String = (10..)
            .zip(messages)
            .map(|(id, message)| format!("input {id}\ncontext -\n{}\n", field(message)))
            .collect();
        let head = "variant reverse:test:compact\nset ML-DSA-65";
        format!("prepare {job}\n{head}\noperation {operation}\n{inputs}end\n")
    };
    let jobs = [
        prepare(1, "sign", &|m| format!("sk 00\nrnd {rnd}\nmessage {m}")),
        prepare(2, "sign", &|_| format!("sk 00\nrnd {rnd}\nmessage 77")),
        prepare(3, "verify", &|m| {
            format!("pk 00\nmessage {m}\nsignature 99")
        }),
    ];
    let mut replies = talk_to(variant, &(jobs.concat() + requests));
    assert_eq!(replies[..3], ["ready 1", "ready 2", "ready 3"]);
    replies.split_off(3)
}

/// Thread, first input and the digests of the stages; the stages' ticks must be within the whole.
fn link(line: &str) -> (u64, u64, Vec<String>) {
    let words: Vec<_> = line.split(' ').collect();
    let ["link", thread, input, wall, cpu, stages @ ..] = words.as_slice() else {
        panic!("{line}")
    };
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let of_stages: u64 = stages.iter().step_by(2).map(|ticks| number(ticks)).sum();
    assert!(of_stages <= number(wall), "{line}");
    number(cpu);
    let digests = stages.iter().skip(1).step_by(2);
    (
        number(thread),
        number(input),
        digests.map(|&d| d.into()).collect(),
    )
}

fn digest(parts: &[&[u8]]) -> String {
    format_hex(&Sha256::digest(parts.concat()))
}

#[test]
fn outputs_become_messages_and_signatures() {
    // Sign; sign the signature; verify the first message with the first signature.
    let replies = talk(&["a1b1", "a2b2"], "chain 2 0 1 1 0 0 0 2 0 1 0 3 0 0 1\n");
    assert_eq!(replies.len(), 2 * 3 + 1);
    for pass in replies[..6].chunks(3) {
        for (line, (id, a, b)) in pass.iter().zip([(10, 0xa1, 0xb1), (11, 0xa2, 0xb2)]) {
            let signed = [digest(&[&[b, a]]), digest(&[&[a, b]]), digest(&[&[1]])];
            assert_eq!(link(line), (0, id, signed.to_vec()));
        }
        assert!(pass[2].starts_with("pass "));
    }
    assert_eq!(replies[6], "done chain");
}

#[test]
fn what_is_not_fed_stays_as_it_was_prepared() {
    let replies = talk(
        &["a1"],
        "chain 1 0 1 1 0 0 0 3 0 0 0\nchain 1 0 1 2 0 0 0 3 0 0 1\n",
    );
    // The prepared signature is wrong, and so is one of another message.
    for (place, signed) in [(0, 0xa1), (3, 0x77)] {
        let digests = vec![digest(&[&[signed]]), digest(&[&[0]])];
        assert_eq!(link(&replies[place]), (0, 10, digests));
    }
}

#[test]
fn batches_take_their_inputs_together() {
    // Batches of 4 and of 2: links of 4, each stage's outputs in order.
    let messages = ["01", "02", "03", "04", "05", "06", "07", "08"];
    let replies = talk(&messages, "chain 1 0 1 1 4 0 0 2 2 1 0\n");
    assert_eq!(replies.len(), 2 + 2);
    for (line, first) in replies.iter().zip([1u8, 5]) {
        let once: Vec<_> = (first..first + 4).map(|m| [0, m]).collect();
        let twice: Vec<_> = (first..first + 4).map(|m| [0, m, 0]).collect();
        let once = digest(&once.iter().map(<[u8; 2]>::as_slice).collect::<Vec<_>>());
        let twice = digest(&twice.iter().map(<[u8; 3]>::as_slice).collect::<Vec<_>>());
        assert_eq!(link(line), (0, 9 + u64::from(first), vec![once, twice]));
    }
}

#[test]
fn every_thread_takes_all_inputs_and_begins_elsewhere() {
    let replies = talk(
        &["01", "02", "03", "04"],
        "chain 1 1000000 2 1 0 0 0 3 0 0 1\n",
    );
    let links: Vec<_> = replies[..8].iter().map(|line| link(line)).collect();
    let order: Vec<_> = links
        .iter()
        .map(|(thread, input, _)| (*thread, *input))
        .collect();
    let first = [10, 11, 12, 13].map(|input| (0, input));
    let second = [12, 13, 10, 11].map(|input| (1, input));
    assert_eq!(order, [first, second].concat());
    assert!(
        links
            .iter()
            .all(|(_, _, stages)| stages[1] == digest(&[&[1]]))
    );
    assert_eq!(replies[9..], ["done chain"]);
}

#[test]
fn a_failure_is_the_links_own() {
    let replies = talk(&["a1", "ee", "a3"], "chain 1 0 1 1 0 0 0 3 0 0 1\n");
    assert_eq!(link(&replies[0]).1, 10);
    assert_eq!(replies[1], "failed 11 told to fail");
    assert_eq!(link(&replies[2]).1, 12);
}

#[test]
fn chains_that_cannot_be_are_errors() {
    let form = "`chain` takes PASSES WARMUP THREADS and four numbers for each stage";
    for (request, rule) in [
        ("chain 1 0 1", form),
        ("chain 1 0 1 1 0 0", form),
        ("chain 1 0 0 1 0 0 0", "THREADS must be at least 1"),
        (
            "chain 1 0 1 1 0 1 0",
            "stage 1 takes from one that is not before it",
        ),
        (
            "chain 1 0 1 1 0 0 0 3 0 0 2",
            "stage 2 takes from one that is not before it",
        ),
        ("chain 1 0 1 9 0 0 0", "job 9 is not prepared"),
        (
            "chain 1 0 1 1 3 0 0 2 2 1 0",
            "the largest batch must be a multiple of every other",
        ),
        ("chain 1 0 1 1 2 0 0", "3 inputs are no whole batches of 2"),
        (
            "chain 1 0 1 3 3 0 0",
            "variant reverse:test:compact has no batch interface",
        ),
        (
            "chain 1 0 1000 1 0 0 0",
            "a chain has at most 256 threads, got 1000",
        ),
    ] {
        let replies = talk(&["01", "02", "03"], &format!("{request}\n"));
        assert_eq!(replies.len(), 1, "{request}: {replies:?}");
        assert!(
            replies[0].starts_with("error ") && replies[0].ends_with(rule),
            "{replies:?}"
        );
    }
}

#[test]
fn the_jobs_of_a_chain_have_the_same_inputs() {
    let rnd = "00".repeat(32);
    let other = format!(
        "prepare 4\nvariant reverse:test:compact\nset ML-DSA-65\noperation sign\n\
         input 5\nsk 00\nmessage 01\ncontext -\nrnd {rnd}\nend\n"
    );
    let replies = talk(&["01"], &format!("{other}chain 1 0 1 1 0 0 0 4 0 1 0\n"));
    assert!(
        replies[1].ends_with("must have the same inputs in the same order"),
        "{replies:?}"
    );
}
