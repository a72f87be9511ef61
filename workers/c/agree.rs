//! What the test of each worker asks: agreement with the oracle, in every announced variant and set.

#[path = "../rust/tests/common/mod.rs"]
mod common;

use common::{Announced, Client, Input, bytes};
use mldsa_oracle::Params;
use mldsa_worker_loop::protocol::{format_hex, parse_hex};

/// A key pair of the oracle, and what is signed with it.
struct Case {
    seed: String,
    pk: String,
    sk: String,
    message: String,
    context: String,
    rnd: String,
    signature: String,
}

impl Case {
    /// As the variant can take it: its context of this length or empty, its rnd any or zero.
    fn new(params: &Params, variant: &Announced, number: u8, context: usize) -> Self {
        let text = |salt, length: usize| match length {
            0 => "-".into(),
            _ => bytes(salt, number, length),
        };
        let seed = text(1, 32);
        let rnd = match variant["rnd"].as_str() {
            "zero" => "00".repeat(32),
            _ => text(2, 32),
        };
        let message = text(3, usize::from(number) * 100);
        let context = text(
            4,
            if variant["context"] == "yes" {
                context
            } else {
                0
            },
        );
        let raw = |hex: &str| parse_hex(hex).unwrap();
        let fixed = |hex: &str| <[u8; 32]>::try_from(raw(hex)).unwrap();
        let (pk, sk) = mldsa_oracle::keygen(params, &fixed(&seed));
        let m_prime = mldsa_oracle::pure_m_prime(&raw(&message), &raw(&context)).unwrap();
        let (signature, _) = mldsa_oracle::sign_internal(params, &sk, &m_prime, &fixed(&rnd));
        Self {
            seed,
            pk: format_hex(&pk),
            sk: format_hex(&sk),
            message,
            context,
            rnd,
            signature: format_hex(&signature),
        }
    }

    fn signing(&self, variant: &Announced) -> Input {
        let (form, key) = match variant["private_keys"].as_str() {
            "seed" => ("seed", &self.seed),
            _ => ("sk", &self.sk),
        };
        let mut input = vec![
            (form, key.clone()),
            ("message", self.message.clone()),
            ("context", self.context.clone()),
        ];
        if variant["rnd"] != "none" {
            input.push(("rnd", self.rnd.clone()));
        }
        input
    }

    fn verifying(&self, signature: &str) -> Input {
        vec![
            ("pk", self.pk.clone()),
            ("message", self.message.clone()),
            ("context", self.context.clone()),
            ("signature", signature.into()),
        ]
    }
}

/// Panics where the worker's answers are not the oracle's.
pub fn check(worker: &str) {
    let mut worker = Client::start(worker, &[]);
    let (_, variants) = worker.hello();
    assert!(!variants.is_empty());
    for variant in &variants {
        let id = &variant["variant"];
        for set in ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"] {
            let params = mldsa_oracle::by_name(set).unwrap();
            let cases = [(0, 0), (1, 17), (2, 255)]
                .map(|(n, context)| Case::new(params, variant, n, context));
            for operation in variant["operations"].split(' ') {
                match operation {
                    "keygen" => makes_the_same_keys(&mut worker, id, set, &cases),
                    "sign" => signs_the_same(&mut worker, variant, set, params, &cases),
                    _ => accepts_and_refuses(&mut worker, id, set, &cases),
                }
            }
        }
    }
    assert!(worker.finish().success());
}

fn makes_the_same_keys(worker: &mut Client, id: &str, set: &str, cases: &[Case]) {
    let seeds = cases.iter().map(|case| vec![("seed", case.seed.clone())]);
    let job = worker.prepare(id, set, "keygen", &seeds.collect::<Vec<_>>());
    for (made, case) in worker.answer(job).iter().zip(cases) {
        let (pk, sk) = made.split_once(' ').unwrap();
        assert_eq!(pk, case.pk, "{id}, {set}");
        assert!(sk == "-" || sk == case.sk, "{id}, {set}");
    }
}

fn signs_the_same(
    worker: &mut Client,
    variant: &Announced,
    set: &str,
    params: &Params,
    cases: &[Case],
) {
    let id = &variant["variant"];
    let inputs: Vec<_> = cases.iter().map(|case| case.signing(variant)).collect();
    let job = worker.prepare(id, set, "sign", &inputs);
    let first = worker.answer(job);
    let again = worker.answer(job);
    for ((made, again), case) in first.iter().zip(&again).zip(cases) {
        let hedged = variant["rnd"] == "none";
        if !hedged {
            assert_eq!(*made, case.signature, "{id}, {set}");
        }
        assert_eq!(made == again, !hedged, "{id}, {set}");
        let raw = |hex: &str| parse_hex(hex).unwrap();
        let (pk, message, context) = (raw(&case.pk), raw(&case.message), raw(&case.context));
        let valid = mldsa_oracle::verify(params, &pk, &message, &raw(made), &context);
        assert!(valid, "{id}, {set}");
    }
}

fn accepts_and_refuses(worker: &mut Client, id: &str, set: &str, cases: &[Case]) {
    let right: Vec<_> = cases
        .iter()
        .map(|case| case.verifying(&case.signature))
        .collect();
    let job = worker.prepare(id, set, "verify", &right);
    assert_eq!(worker.answer(job), ["01", "01", "01"], "{id}, {set}");
    let signature = &cases[1].signature;
    let flipped = |at: usize| {
        let digit = if &signature[at..=at] == "0" { "1" } else { "0" };
        [&signature[..at], digit, &signature[at + 1..]].concat()
    };
    let mut wrong: Vec<_> = [
        flipped(0),
        flipped(signature.len() / 2),
        signature[2..].into(),
        format!("{signature}00"),
        "-".into(),
    ]
    .map(|altered| cases[1].verifying(&altered))
    .into();
    // The signature of another message, under another context, and under keys of other lengths.
    let mut other = |place: usize, value: String| {
        let mut input = cases[1].verifying(signature);
        input[place].1 = value;
        wrong.push(input);
    };
    other(1, "00".into());
    if cases[1].context != "-" {
        other(2, "-".into());
    }
    other(0, cases[1].pk[2..].into());
    other(0, format!("{}00", cases[1].pk));
    other(0, "-".into());
    let job = worker.prepare(id, set, "verify", &wrong);
    assert_eq!(worker.answer(job), vec!["00"; wrong.len()], "{id}, {set}");
}
