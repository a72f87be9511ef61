//! Requests carried out on schemes made for the purpose.

use std::io::BufReader;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::BUILD;
use mldsa_worker_loop::adapter::{
    Output, Prepared, PrivateKey, Rnd, Scheme, Variant, job, verdict,
};
use mldsa_worker_loop::protocol::{Fields, Reader, parse_hex};
use mldsa_worker_loop::session::{Session, serve};
use sha2::{Digest, Sha256};

/// Answers with the input's own bytes and counts its calls; a message of one byte tells it to
/// misbehave.
#[derive(Clone, Default)]
struct Echo {
    calls: Arc<AtomicU64>,
}

const PANIC: u8 = 0xdd;
const FAIL: u8 = 0xee;
const PANIC_EARLY: u8 = 0xcc;

impl Scheme for Echo {
    fn keygen(&self, input: &Fields) -> Prepared {
        let seed = input.seed()?;
        job(
            move || Ok::<_, ()>(seed),
            |seed| Output::key_pair(seed, [seed, seed].concat()),
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let (message, calls) = (input.message()?, self.calls.clone());
        assert_ne!(*message, [PANIC_EARLY], "refuses to prepare");
        job(
            move || {
                calls.fetch_add(1, Ordering::Relaxed);
                match &*message {
                    [PANIC] => panic!("told to\npanic"),
                    [FAIL] => Err("told to fail"),
                    other => Ok(other.to_vec()),
                }
            },
            Output::Bytes,
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let right = input.message()? == input.signature()?;
        verdict(move || right)
    }
}

fn variant(echo: &Echo) -> Variant {
    Variant {
        backend: "test",
        rnd: Rnd::Zero,
        context: false,
        batch: true,
        note: String::new(),
        schemes: vec![("ML-DSA-65", Box::new(echo.clone()))],
        ..Variant::new("echo", "1")
    }
}

/// The replies to a whole conversation.
fn talk(echo: &Echo, requests: &str) -> Vec<String> {
    talk_to(variant(echo), requests)
}

pub(crate) fn talk_to(variant: Variant, requests: &str) -> Vec<String> {
    let mut session = Session::new("test", BUILD, vec![variant]);
    let mut reader = Reader::new(BufReader::new(requests.as_bytes()));
    let mut replies = Vec::new();
    serve(&mut session, &mut reader, &mut replies).expect("writing to memory");
    let text = String::from_utf8(replies).expect("replies are text");
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

const ZERO_RND: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn prepare(job: u64, operation: &str, inputs: &[String]) -> String {
    let inputs = inputs.concat();
    format!(
        "prepare {job}\nvariant echo:test:compact\nset ML-DSA-65\noperation {operation}\n{inputs}end\n"
    )
}

fn to_sign(id: u64, message: &str) -> String {
    format!("input {id}\nsk 00\nmessage {message}\ncontext -\nrnd {ZERO_RND}\n")
}

#[test]
fn a_job_sent_again_replaces_the_old_one() {
    let first = prepare(1, "sign", &[to_sign(0, "aa"), to_sign(1, "ab")]);
    let second = prepare(1, "sign", &[to_sign(5, "bb")]);
    let replies = talk(
        &Echo::default(),
        &format!("{first}answer 1\n{second}answer 1\nforget 1\nanswer 1\nforget 1\n"),
    );
    assert_eq!(
        replies,
        [
            "ready 1",
            "output 0 aa",
            "output 1 ab",
            "done 1",
            "ready 1",
            "output 5 bb",
            "done 1",
            "done 1",
            "error line 29: job 1 is not prepared",
            "error line 30: job 1 is not prepared",
        ]
    );
}

#[test]
fn a_refused_prepare_leaves_the_old_job_in_place() {
    let good = prepare(1, "sign", &[to_sign(0, "aa")]);
    let bad = prepare(1, "sign", &["input 0\nmessage aa\ncontext -\n".into()]);
    let replies = talk(&Echo::default(), &format!("{good}{bad}answer 1\n"));
    assert_eq!(
        replies,
        [
            "ready 1",
            "error line 15: input 0 of sign has no `rnd`",
            "output 0 aa",
            "done 1"
        ]
    );
}

#[test]
fn what_is_not_announced_is_refused() {
    for (from, to, rule) in [
        (
            "echo:test:compact",
            "echo:test:expanded",
            "unknown variant `echo:test:expanded`",
        ),
        (
            "ML-DSA-65",
            "ML-DSA-44",
            "variant echo:test:compact has no set `ML-DSA-44`",
        ),
        (
            "operation sign",
            "operation trace",
            "variant echo:test:compact has no operation trace",
        ),
        ("message aa\n", "", "input 0 of sign has no `message`"),
        ("sk 00\n", "", "input 0 of sign has no `sk`"),
    ] {
        let request = prepare(1, "sign", &[to_sign(0, "aa")]).replace(from, to);
        let replies = talk(&Echo::default(), &request);
        let [reply] = replies.as_slice() else {
            panic!("{replies:?}")
        };
        assert!(
            reply.starts_with("error line ") && reply.ends_with(rule),
            "{reply}"
        );
    }
    let replies = talk(&Echo::default(), "hello 2\n");
    assert_eq!(
        replies,
        ["error line 1: protocol version 2 is unknown, this is 1"]
    );
}

#[test]
fn a_variant_that_reads_seeds_says_so_and_needs_one() {
    let variant = || Variant {
        private_key: PrivateKey::Seed,
        language: Some("C"),
        ..variant(&Echo::default())
    };
    let replies = talk_to(variant(), "hello 1\n");
    for line in ["private_keys seed", "language C"] {
        assert!(replies.iter().any(|reply| reply == line), "{replies:?}");
    }
    let with_sk = prepare(1, "sign", &[to_sign(0, "aa")]);
    let [reply] = &talk_to(variant(), &with_sk)[..] else {
        panic!("one reply")
    };
    assert!(reply.ends_with("input 0 of sign has no `seed`"), "{reply}");
    let with_seed = with_sk.replace("sk 00", "seed 00");
    assert_eq!(talk_to(variant(), &with_seed), ["ready 1"]);
}

#[test]
fn an_input_the_interface_cannot_take_fails_alone() {
    let hedged = to_sign(1, "aa").replace(ZERO_RND, &"11".repeat(32));
    let short = to_sign(2, "aa").replace(ZERO_RND, "00");
    let context = to_sign(3, "aa").replace("context -", "context 00");
    let requests = prepare(1, "sign", &[to_sign(0, "aa"), hedged, short, context]);
    let replies = talk(&Echo::default(), &format!("{requests}answer 1\n"));
    assert_eq!(
        replies,
        [
            "ready 1",
            "output 0 aa",
            "failed 1 this interface signs deterministically, so rnd must be zero",
            "failed 2 rnd must be 32 bytes, got 1",
            "failed 3 this interface has no contexts, so context must be empty",
            "done 1",
        ]
    );
    let seed = prepare(1, "keygen", &["input 0\nseed 00\n".into()]);
    let replies = talk(&Echo::default(), &format!("{seed}answer 1\n"));
    assert_eq!(replies[1], "failed 0 seed must be 32 bytes, got 1");
}

#[test]
fn a_panic_or_an_error_is_a_failed_input_and_the_worker_lives_on() {
    let messages = [
        format!("{PANIC:x}"),
        format!("{FAIL:x}"),
        format!("{PANIC_EARLY:x}"),
    ];
    let inputs: Vec<_> = (0..)
        .zip(&messages)
        .map(|(id, message)| to_sign(id, message))
        .collect();
    let requests = prepare(1, "sign", &inputs);
    let replies = talk(
        &Echo::default(),
        &format!("{requests}answer 1\nmeasure 1 2 3 10\n"),
    );
    let panicked = "failed 0 panicked: told to panic";
    let failed = "failed 1 told to fail";
    assert_eq!(replies.len(), 12, "{replies:?}");
    for place in [1, 5, 8] {
        assert_eq!(&replies[place..place + 2], [panicked, failed]);
        assert!(
            replies[place + 2].starts_with("failed 2 panicked: "),
            "{}",
            replies[place + 2]
        );
    }
    assert_eq!([&replies[4], &replies[11]], ["done 1", "done 1"]);
}

#[test]
fn measuring_takes_passes_over_all_inputs_with_the_calls_asked_for() {
    let echo = Echo::default();
    let requests = prepare(3, "sign", &[to_sign(9, "aa"), to_sign(4, "bb")]);
    let replies = talk(&echo, &format!("{requests}measure 3 5 7 0\n"));
    // One call of warm-up, as its time has passed at once.
    assert_eq!(echo.calls.load(Ordering::Relaxed), 1 + 5 * 2 * 7);
    assert_eq!(replies.len(), 1 + 5 * 2 + 1);
    for (place, reply) in replies[1..11].iter().enumerate() {
        let words: Vec<_> = reply.split(' ').collect();
        let [key, id, wall, cpu, calls, digest] = words.as_slice() else {
            panic!("{reply}")
        };
        let (input, byte) = if place % 2 == 0 {
            ("9", 0xaa)
        } else {
            ("4", 0xbb)
        };
        assert_eq!([*key, *id, *calls], ["sample", input, "7"]);
        assert!(
            wall.parse::<u64>().is_ok() && cpu.parse::<u64>().is_ok(),
            "{reply}"
        );
        assert_eq!(parse_hex(digest).unwrap(), Sha256::digest([byte]).to_vec());
    }
    assert_eq!(replies[11], "done 3");
}

#[test]
fn the_digest_of_a_key_pair_is_that_of_the_public_key() {
    let seed = "05".repeat(32);
    let request = prepare(1, "keygen", &[format!("input 0\nseed {seed}\n")]);
    let replies = talk(
        &Echo::default(),
        &format!("{request}answer 1\nmeasure 1 1 1 0\n"),
    );
    assert_eq!(replies[1], format!("output 0 {seed} {seed}{seed}"));
    let digest = replies[3].rsplit(' ').next().unwrap();
    assert_eq!(parse_hex(digest).unwrap(), Sha256::digest([5; 32]).to_vec());
}

#[test]
fn verdicts_are_one_byte() {
    let input = |id, signature| {
        format!("input {id}\npk 00\nmessage aa\ncontext -\nsignature {signature}\n")
    };
    let request = prepare(
        1,
        "verify",
        &[input(0, "aa"), input(1, "ab"), input(2, "-")],
    );
    let replies = talk(&Echo::default(), &format!("{request}answer 1\n"));
    assert_eq!(replies[1..4], ["output 0 01", "output 1 00", "output 2 00"]);
}

#[test]
fn the_conversation_ends_with_quit_or_the_input() {
    assert_eq!(
        talk(&Echo::default(), "quit\nanswer 1\n"),
        Vec::<String>::new()
    );
    assert_eq!(talk(&Echo::default(), ""), Vec::<String>::new());
    assert_eq!(talk(&Echo::default(), "answer 1").len(), 1);
}
