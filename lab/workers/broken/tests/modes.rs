//! Each mode makes its mistake, and that one only.

#[path = "../../rust/tests/common/mod.rs"]
mod common;

use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{Client, Input, bytes};

const WORKER: &str = env!("CARGO_BIN_EXE_mldsa-worker-broken");
const SET: &str = "ML-DSA-44";

struct Made {
    worker: Client,
    id: String,
    pk: String,
    sk: String,
    signature: String,
}

fn signing(sk: &str) -> Vec<Input> {
    vec![vec![
        ("sk", sk.into()),
        ("message", "aa".into()),
        ("context", "-".into()),
        ("rnd", "00".repeat(32)),
    ]]
}

/// A key pair and a signature as the mode makes them.
fn make(mode: &str) -> Made {
    let mut worker = Client::start(WORKER, &[mode]);
    let (_, variants) = worker.hello();
    let [variant] = variants.as_slice() else {
        panic!("{variants:?}")
    };
    let id = variant["variant"].clone();
    assert_eq!(id, format!("broken-{mode}:test:compact"));
    let job = worker.prepare(&id, SET, "keygen", &[vec![("seed", bytes(1, 0, 32))]]);
    let pair = worker.answer(job).remove(0);
    let (pk, sk) = pair.split_once(' ').unwrap();
    let job = worker.prepare(&id, SET, "sign", &signing(sk));
    let signature = worker.answer(job).remove(0);
    Made {
        worker,
        id,
        pk: pk.into(),
        sk: sk.into(),
        signature,
    }
}

impl Made {
    fn verify(&mut self, signature: &str) -> bool {
        let input: Input = vec![
            ("pk", self.pk.clone()),
            ("message", "aa".into()),
            ("context", "-".into()),
            ("signature", signature.into()),
        ];
        let job = self
            .worker
            .prepare(&self.id.clone(), SET, "verify", &[input]);
        match self.worker.answer(job).remove(0).as_str() {
            "01" => true,
            "00" => false,
            other => panic!("{other}"),
        }
    }

    /// A job to measure with four samples.
    fn job(&mut self) -> u64 {
        let inputs = [signing(&self.sk), signing(&self.sk)].concat();
        self.worker.prepare(&self.id.clone(), SET, "sign", &inputs)
    }
}

/// A signature refused for the norm of z alone, from the same key and message.
fn z_violation(sk: &str) -> String {
    use mldsa_worker_rust::protocol::{format_hex, parse_hex};
    let m_prime = mldsa_oracle::pure_m_prime(&[0xaa], &[]).unwrap();
    let sk = parse_hex(sk).unwrap();
    let params = mldsa_oracle::by_name(SET).unwrap();
    let signature = mldsa_oracle::sign_z_violation(params, &sk, &m_prime, &[0; 32], 1000);
    format_hex(&signature.expect("an attempt fails z alone"))
}

#[test]
fn modes_of_the_protocol_compute_rightly() {
    for mode in ["hang", "crash", "garbage", "short"] {
        let mut made = make(mode);
        let (right, wrong) = (made.signature.clone(), z_violation(&made.sk));
        assert!(made.verify(&right) && !made.verify(&wrong), "{mode}");
        assert!(made.worker.finish().success());
    }
}

#[test]
fn flip_byte_makes_signatures_it_refuses_itself() {
    let mut made = make("flip-byte");
    let signature = made.signature.clone();
    assert!(!made.verify(&signature));
    let right = make("short");
    assert_eq!(right.sk, made.sk);
    let bytes = |text: &str| mldsa_worker_rust::protocol::parse_hex(text).unwrap();
    let (right, flipped) = (bytes(&right.signature), bytes(&signature));
    let differing = right.iter().zip(&flipped).filter(|(a, b)| a != b).count();
    assert_eq!((right.len(), differing), (flipped.len(), 1));
}

#[test]
fn skip_z_check_accepts_what_only_the_norm_refuses() {
    let mut made = make("skip-z-check");
    let (right, too_long) = (made.signature.clone(), z_violation(&made.sk));
    assert!(made.verify(&right) && made.verify(&too_long));
    let mut altered = right;
    altered.replace_range(
        0..2,
        if altered.starts_with("00") {
            "01"
        } else {
            "00"
        },
    );
    assert!(!made.verify(&altered));
}

#[test]
fn wrong_key_is_consistent_but_not_the_seeds() {
    let mut made = make("wrong-key");
    let signature = made.signature.clone();
    assert!(made.verify(&signature));
    assert_ne!(made.pk, make("short").pk);
}

#[test]
fn accept_all_accepts_nonsense() {
    let mut made = make("accept-all");
    assert!(made.verify("00") && made.verify("-"));
}

#[test]
fn short_drops_one_sample() {
    let mut made = make("short");
    let job = made.job();
    assert_eq!(made.worker.measure(job, 2).len(), 3);
    assert!(made.worker.finish().success());
}

#[test]
fn crash_ends_in_the_middle_of_the_answer() {
    let mut made = make("crash");
    let job = made.job();
    made.worker.send(&format!("measure {job} 2 1 0\n"));
    let said = made.worker.rest();
    assert!(
        said.starts_with(b"sample 0 ") && !said.ends_with(b"\n"),
        "{said:?}"
    );
    assert_eq!(made.worker.finish().code(), Some(70));
}

#[test]
fn garbage_is_not_of_the_protocols_form() {
    let mut made = make("garbage");
    let job = made.job();
    made.worker.send(&format!("measure {job} 2 1 0\nquit\n"));
    let said = made.worker.rest();
    assert!(std::str::from_utf8(&said).is_err());
    assert!(!said.starts_with(b"error"));
}

#[test]
fn hang_never_answers() {
    let mut made = make("hang");
    let job = made.job();
    made.worker.send(&format!("measure {job} 2 1 0\n"));
    let (answered, answer) = mpsc::channel();
    let pid = made.worker.process.id();
    thread::scope(|scope| {
        scope.spawn(|| {
            // Returns when the worker is killed.
            let said = made.worker.rest();
            answered.send(said).expect("the test waits");
        });
        let early = answer.recv_timeout(Duration::from_millis(300));
        assert!(
            Command::new("kill")
                .args(["-9", &pid.to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert!(early.is_err(), "{early:?}");
        assert_eq!(answer.recv().unwrap(), b"");
    });
}

#[test]
fn an_unknown_mode_is_refused_with_the_list() {
    for arguments in [&[][..], &["no-such-mode"]] {
        let output = Command::new(WORKER).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("skip-z-check"), "{said}");
    }
}
