//! What the test of each worker asks, in every announced variant and set: agreement with the oracle of
//! ML-DSA; of the other families, for which there is none, agreement with itself, and known answers in
//! the lab's gate.

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
    for set in ["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"] {
        shares_secrets(&mut worker, &variants, set);
    }
    for set in ["SLH-DSA-SHA2-128f", "SLH-DSA-SHAKE-256f"] {
        verifies_its_own(&mut worker, &variants, set);
    }
    for variant in &variants {
        let id = &variant["variant"];
        for set in variant["sets"].split(' ') {
            let Some(params) = mldsa_oracle::by_name(set) else {
                continue;
            };
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

/// The variant with an operation in a set; none where the worker has not the set.
fn having<'a>(variants: &'a [Announced], set: &str, operation: &str) -> Option<&'a Announced> {
    let has = |variant: &&Announced, key: &str, name| variant[key].split(' ').any(|n| n == name);
    let mut found = variants.iter().filter(|v| has(v, "sets", set));
    found.find(|v| has(v, "operations", operation))
}

/// Answers of one input by the variant that has the operation.
fn ask(
    worker: &mut Client,
    variants: &[Announced],
    set: &str,
    operation: &str,
    input: Input,
) -> String {
    let id = &having(variants, set, operation).unwrap()["variant"];
    let job = worker.prepare(id, set, operation, &[input]);
    worker.answer(job).remove(0)
}

/// The private key as a variant reads it.
fn private(variant: &Announced, seed: &str, sk: &str) -> (&'static str, String) {
    match variant["private_keys"].as_str() {
        "seed" => ("seed", seed.into()),
        _ => ("sk", sk.into()),
    }
}

/// The same with its first byte another.
fn altered(hex: &str) -> String {
    let mut bytes = parse_hex(hex).unwrap();
    bytes[0] ^= 1;
    format_hex(&bytes)
}

fn shares_secrets(worker: &mut Client, variants: &[Announced], set: &str) {
    let Some(receiver) = having(variants, set, "decaps") else {
        return;
    };
    let mut ask = |operation, input| ask(worker, variants, set, operation, input);
    let seed = bytes(1, 1, 64);
    let keys = ask("keygen", vec![("seed", seed.clone())]);
    let (pk, sk) = keys.split_once(' ').unwrap();
    let mut input = vec![("pk", pk.into())];
    if having(variants, set, "encaps").unwrap()["rnd"] != "none" {
        input.push(("rnd", bytes(2, 1, 32)));
    }
    let both = ask("encaps", input);
    let (ciphertext, secret) = both.split_at(both.len() - 64);
    let key = private(receiver, &seed, sk);
    let mut decaps = |ciphertext| ask("decaps", vec![key.clone(), ("ciphertext", ciphertext)]);
    assert_eq!(decaps(ciphertext.into()), secret, "{set}");
    let rejected = decaps(altered(ciphertext));
    assert_ne!(rejected, secret, "{set}");
    assert_eq!(rejected, decaps(altered(ciphertext)), "{set}");
}

fn verifies_its_own(worker: &mut Client, variants: &[Announced], set: &str) {
    let Some(signer) = having(variants, set, "sign") else {
        return;
    };
    let mut ask = |operation, input| ask(worker, variants, set, operation, input);
    let n: usize = set[set.len() - 4..][..3].parse::<usize>().unwrap() / 8;
    let seed = bytes(1, 1, 3 * n);
    let keys = ask("keygen", vec![("seed", seed.clone())]);
    let (pk, sk) = keys.split_once(' ').unwrap();
    let shared = [("message", bytes(3, 1, 100)), ("context", "-".into())];
    let mut input = vec![private(signer, &seed, sk)];
    input.extend(shared.clone());
    if signer["rnd"] != "none" {
        input.push(("rnd", "-".into()));
    }
    let signature = ask("sign", input.clone());
    if signer["rnd"] != "none" {
        assert_eq!(signature, ask("sign", input), "{set}");
    }
    let mut verify = |signature| {
        let mut input = vec![("pk", pk.into()), ("signature", signature)];
        input.extend(shared.clone());
        ask("verify", input)
    };
    assert_eq!(verify(signature.clone()), "01", "{set}");
    assert_eq!(verify(altered(&signature)), "00", "{set}");
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
