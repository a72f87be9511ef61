//! The built worker: every announced variant on every set and operation, and all ML-DSA variants
//! against each other.

use std::collections::HashSet;

use crate::common::{Announced, Client, Input, bytes};
use mldsa_worker_rust::build_info::backend_name;
use mldsa_worker_rust::protocol::parse_hex;
use sha2::{Digest, Sha256};

pub const WORKER: &str = env!("CARGO_BIN_EXE_mldsa-worker-rust");
const INPUTS: u8 = 3;

fn words<'a>(variant: &'a Announced, key: &str) -> Vec<&'a str> {
    variant[key].split(' ').collect()
}

/// Measures a job and checks each sample against the expected outputs, where they are known.
fn check_samples(worker: &mut Client, job: u64, expected: Option<&[String]>) {
    let samples = worker.measure(job, 2);
    assert_eq!(samples.len(), 2 * usize::from(INPUTS));
    for (place, sample) in samples.iter().enumerate() {
        let input = place % usize::from(INPUTS);
        let parts: Vec<_> = sample.split(' ').collect();
        let ["sample", id, wall, cpu, "1", digest] = parts[..] else {
            panic!("{sample}")
        };
        assert_eq!(id, input.to_string());
        assert!(
            wall.parse::<u64>().is_ok() && cpu.parse::<u64>().is_ok(),
            "{sample}"
        );
        assert_eq!(digest.len(), 64);
        if let Some(expected) = expected {
            let output = parse_hex(&expected[input]).expect("outputs are hexadecimal");
            assert_eq!(
                parse_hex(digest).unwrap(),
                Sha256::digest(output).to_vec(),
                "{sample}"
            );
        }
    }
}

#[test]
fn the_announcement_describes_every_variant() {
    let mut worker = Client::start(WORKER, &[]);
    let (head, variants) = worker.hello();
    assert_eq!(head["worker"], "rust");
    assert_eq!(head["unit"], "ns");
    assert!(
        head["compiler"].starts_with("rustc "),
        "{}",
        head["compiler"]
    );
    assert!(head["flags"].starts_with("profile "), "{}", head["flags"]);
    let mut ids = HashSet::new();
    for variant in &variants {
        let id = &variant["variant"];
        assert!(ids.insert(id.clone()), "{id} is announced twice");
        let parts = [
            &variant["implementation"],
            &variant["backend"],
            &variant["key"],
        ];
        assert_eq!(*id, parts.map(String::as_str).join(":"));
        assert!(
            variant["version"].starts_with(|c: char| c.is_ascii_digit()),
            "{id}"
        );
    }
    for implementation in [
        "mldsa-lanes",
        "mldsa-lanes-hardened",
        "mldsa-native",
        "aws-lc",
        "libcrux",
        "rustcrypto",
        "fips204",
        "mldsa-oracle",
    ] {
        assert!(
            variants
                .iter()
                .any(|v| v["implementation"] == implementation),
            "{implementation}"
        );
    }
    for lanes in variants
        .iter()
        .filter(|v| v["implementation"] == "mldsa-lanes")
    {
        assert!(words(lanes, "operations").contains(&"trace"));
    }
    worker.send("quit\n");
    assert!(worker.finish().success());
}

#[test]
fn the_build_is_what_it_is_called() {
    let mut worker = Client::start(WORKER, &[]);
    let (head, variants) = worker.hello();
    let build = head.get("build").map(String::as_str);
    let beyond_baseline = cfg!(any(target_feature = "avx2", target_feature = "sha3"));
    if head["flags"] == "profile release (as Cargo has it); RUSTFLAGS none; CFLAGS none" {
        assert_eq!(build, Some("default"));
        assert!(!beyond_baseline);
    } else {
        assert_ne!(build, Some("default"), "{}", head["flags"]);
    }
    assert_eq!(
        build == Some("tuned"),
        head["flags"].starts_with("profile tuned (")
    );
    // No variant has the name of instructions beyond which the compiler was free to go.
    let free = cfg!(target_feature = "avx512vl");
    for variant in &variants {
        let id = &variant["variant"];
        let plain = matches!(variant["backend"].as_str(), "avx2" | "simd256");
        assert!(!(free && plain), "{id} of {}", head["flags"]);
        assert!(
            beyond_baseline || !variant["backend"].contains('+'),
            "{id} of {}",
            head["flags"]
        );
    }
}

#[test]
fn a_backend_keeps_its_name_if_the_compiler_was_held_to_it() {
    let names = ["portable", "avx2", "simd256", "avx512", "neon", "neon-sha3"];
    let called = |allowed: &[&str]| names.map(|n| backend_name(n, |f| allowed.contains(&f)));
    assert_eq!(called(&[]), names);
    assert_eq!(called(&["avx2"]), names);
    let called = called(&["avx512vl", "avx512vbmi", "sha3"]);
    assert_eq!(
        called,
        [
            "portable",
            "avx2+native",
            "simd256+native",
            "avx512+native",
            "neon+native",
            "neon-sha3"
        ]
    );
}

#[test]
fn all_ml_dsa_variants_agree_and_verify_each_other() {
    let mut worker = Client::start(WORKER, &[]);
    let (_, variants) = worker.hello();
    let variants: Vec<_> = variants
        .iter()
        .filter(|v| v["family"] == "ml-dsa")
        .collect();
    assert!(variants.len() >= 9);
    for set in ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"] {
        let variants: Vec<_> = variants
            .iter()
            .filter(|variant| words(variant, "sets").contains(&set))
            .collect();
        let mut keys: Option<Vec<String>> = None;
        for variant in &variants {
            if !words(variant, "operations").contains(&"keygen") {
                continue;
            }
            let inputs: Vec<Input> = (0..INPUTS)
                .map(|input| vec![("seed", bytes(1, input, 32))])
                .collect();
            let job = worker.prepare(&variant["variant"], set, "keygen", &inputs);
            let made = worker.answer(job);
            assert_eq!(
                *keys.get_or_insert_with(|| made.clone()),
                made,
                "{}",
                variant["variant"]
            );
            let public: Vec<_> = made
                .iter()
                .map(|pair| pair.split(' ').next().unwrap().to_owned())
                .collect();
            check_samples(&mut worker, job, Some(&public));
        }
        let keys: Vec<(String, String)> = keys
            .expect("some variant makes keys")
            .iter()
            .map(|pair| pair.split_once(' ').expect("two values"))
            .map(|(pk, sk)| (pk.into(), sk.into()))
            .collect();

        // Signing with a context where the interface has them, and with a non-zero rnd where it
        // takes one. Signatures of the same kind must be identical.
        let kinds = [
            ("-".to_owned(), "00".repeat(32)),
            (bytes(7, 0, 17), bytes(8, 0, 32)),
        ];
        for (context, rnd) in &kinds {
            let plain = context == "-";
            let mut deterministic: Option<Vec<String>> = None;
            let mut to_verify: Vec<Vec<String>> = Vec::new();
            let inputs: Vec<Input> = (0..INPUTS)
                .zip(&keys)
                .map(|(input, (pk, sk))| {
                    vec![
                        ("seed", bytes(1, input, 32)),
                        ("sk", sk.clone()),
                        ("pk", pk.clone()),
                        ("message", bytes(9, input, usize::from(input) * 100)),
                        ("context", context.clone()),
                        ("rnd", rnd.clone()),
                    ]
                })
                .map(|mut input: Input| {
                    for (_, value) in &mut input {
                        if value.is_empty() {
                            *value = "-".into();
                        }
                    }
                    input
                })
                .collect();
            let suits = |variant: &Announced| {
                plain || (variant["context"] == "yes" && variant["rnd"] == "given")
            };
            let mut traces: Option<Vec<String>> = None;
            for variant in variants.iter().filter(|variant| suits(variant)) {
                let id = &variant["variant"];
                let job = worker.prepare(id, set, "sign", &inputs);
                let signatures = worker.answer(job);
                if variant["rnd"] == "none" {
                    assert_ne!(
                        Some(&signatures),
                        deterministic.as_ref(),
                        "{id} is not hedged"
                    );
                    to_verify.push(signatures);
                    check_samples(&mut worker, job, None);
                } else {
                    let wanted = deterministic.get_or_insert_with(|| signatures.clone());
                    assert_eq!(*wanted, signatures, "{id}, {set}");
                    check_samples(&mut worker, job, Some(&signatures));
                }
                if words(variant, "operations").contains(&"trace") {
                    let job = worker.prepare(id, set, "trace", &inputs);
                    let found = worker.answer(job);
                    assert!(found.iter().all(|trace| trace.ends_with("ok")), "{found:?}");
                    assert_eq!(
                        *traces.get_or_insert_with(|| found.clone()),
                        found,
                        "{id}, {set}"
                    );
                }
            }
            to_verify.extend(deterministic);
            assert!(traces.is_some() && to_verify.len() == 1 + usize::from(plain));

            for signatures in &to_verify {
                for variant in variants.iter().filter(|v| plain || v["context"] == "yes") {
                    verify_and_refuse(&mut worker, &variant["variant"], set, &inputs, signatures);
                }
            }
        }
    }
    assert!(worker.finish().success());
}

/// The variant accepts the signatures, and refuses them altered in any part or of another length.
fn verify_and_refuse(
    worker: &mut Client,
    id: &str,
    set: &str,
    signing: &[Input],
    signatures: &[String],
) {
    let field = |input: &Input, key| {
        input
            .iter()
            .find(|(name, _)| *name == key)
            .expect("the field is there")
            .1
            .clone()
    };
    let right: Vec<Input> = signing
        .iter()
        .zip(signatures)
        .map(|(input, signature)| {
            vec![
                ("pk", field(input, "pk")),
                ("message", field(input, "message")),
                ("context", field(input, "context")),
                ("signature", signature.clone()),
            ]
        })
        .collect();
    let job = worker.prepare(id, set, "verify", &right);
    assert_eq!(worker.answer(job), ["01", "01", "01"], "{id}, {set}");
    check_samples(worker, job, Some(&["01".into(), "01".into(), "01".into()]));

    let alter = |place: usize, change: &dyn Fn(&str) -> String| {
        let mut input = right[1].clone();
        input[place].1 = change(&input[place].1);
        input
    };
    let invert = |at: usize| {
        move |hex: &str| {
            let mut text = hex.to_owned();
            let digit = if &hex[at..=at] == "0" { "1" } else { "0" };
            text.replace_range(at..=at, digit);
            text
        }
    };
    let (pk, message, signature) = (0, 1, 3);
    let length = signatures[1].len();
    let wrong: Vec<Input> = vec![
        alter(pk, &invert(70)),
        alter(pk, &|_| "-".into()),
        alter(pk, &|hex| hex[2..].into()),
        alter(pk, &|hex| format!("{hex}00")),
        alter(message, &invert(3)),
        alter(signature, &invert(0)),
        alter(signature, &invert(length / 2)),
        // The last hint counter out of range.
        alter(signature, &|hex| format!("{}ff", &hex[..length - 2])),
        alter(signature, &|_| "-".into()),
        alter(signature, &|hex| hex[..length - 2].into()),
        alter(signature, &|hex| format!("{hex}00")),
    ];
    let job = worker.prepare(id, set, "verify", &wrong);
    assert_eq!(worker.answer(job), vec!["00"; wrong.len()], "{id}, {set}");
}

#[test]
fn classical_variants_sign_and_verify_with_a_key_from_the_seed() {
    let mut worker = Client::start(WORKER, &[]);
    let (_, variants) = worker.hello();
    let mut sets = HashSet::new();
    for variant in variants.iter().filter(|v| v["family"] == "classical") {
        let (id, operations) = (&variant["variant"], words(variant, "operations"));
        for set in words(variant, "sets") {
            sets.insert(set);
            let input = |input: u8| -> Input {
                vec![
                    ("seed", bytes(1, input, 32)),
                    ("message", bytes(9, input, 59)),
                    ("context", "-".into()),
                ]
            };
            let inputs: Vec<_> = (0..INPUTS).map(input).collect();
            if operations.contains(&"keygen") {
                let job = worker.prepare(id, set, "keygen", &inputs);
                let keys = worker.answer(job);
                let distinct: HashSet<_> = keys.iter().collect();
                assert_eq!(distinct.len(), keys.len(), "{id}: {keys:?}");
                let public: Vec<_> = keys
                    .iter()
                    .map(|key| key.strip_suffix(" -").unwrap().to_owned())
                    .collect();
                check_samples(&mut worker, job, Some(&public));
            }
            let job = worker.prepare(id, set, "sign", &inputs);
            let signatures = worker.answer(job);
            let expected = (variant["rnd"] != "none").then_some(&signatures[..]);
            check_samples(&mut worker, job, expected);

            let mut right = inputs.clone();
            for (input, signature) in right.iter_mut().zip(&signatures) {
                input.push(("signature", signature.clone()));
            }
            let mut wrong = right.clone();
            wrong[0][1].1 = bytes(10, 0, 59);
            wrong[1][3].1 = signatures[2].clone();
            wrong[2][3].1 = "00".into();
            let job = worker.prepare(id, set, "verify", &right);
            assert_eq!(worker.answer(job), ["01", "01", "01"], "{id}");
            let job = worker.prepare(id, set, "verify", &wrong);
            assert_eq!(worker.answer(job), ["00", "00", "00"], "{id}");
        }
    }
    assert_eq!(sets.len(), 6);
    assert!(worker.finish().success());
}

#[test]
fn a_private_key_that_cannot_be_used_fails_and_nothing_crashes() {
    let mut worker = Client::start(WORKER, &[]);
    let (_, variants) = worker.hello();
    for variant in variants.iter().filter(|v| v["family"] == "ml-dsa") {
        let id = &variant["variant"];
        let inputs: Vec<Input> = ["-".into(), "00".into(), bytes(3, 0, 4031)]
            .into_iter()
            .map(|sk: String| {
                vec![
                    ("sk", sk),
                    ("message", "-".into()),
                    ("context", "-".into()),
                    ("rnd", "00".repeat(32)),
                ]
            })
            .collect();
        let job = worker.prepare(id, "ML-DSA-65", "sign", &inputs);
        worker.send(&format!("answer {job}\n"));
        let lines = worker.until(&format!("done {job}"));
        assert!(
            lines.iter().all(|line| line.starts_with("failed ")),
            "{id}: {lines:?}"
        );
    }
    worker.send("nonsense\n");
    worker.send("quit\n");
    assert!(worker.finish().success());
}

#[test]
fn the_oracle_makes_a_signature_that_only_the_norm_check_refuses() {
    let mut worker = Client::start(WORKER, &[]);
    let id = "mldsa-oracle:literal:compact";
    let (_, variants) = worker.hello();
    assert!(variants.iter().any(|variant| variant["variant"] == id));
    let seed = vec![vec![("seed", bytes(1, 0, 32))]];
    let job = worker.prepare(id, "ML-DSA-44", "keygen", &seed);
    let made = worker.answer(job);
    let (pk, sk) = made[0].split_once(' ').unwrap();
    let signing: Vec<Input> = vec![vec![
        ("sk", sk.into()),
        ("message", "aa".into()),
        ("context", "-".into()),
        ("rnd", "00".repeat(32)),
    ]];
    let job = worker.prepare(id, "ML-DSA-44", "z_violation", &signing);
    let signature = worker.answer(job).remove(0);
    assert_eq!(signature.len(), 2 * 2420);
    for variant in variants.iter().filter(|v| v["family"] == "ml-dsa") {
        let input: Vec<Input> = vec![vec![
            ("pk", pk.into()),
            ("message", "aa".into()),
            ("context", "-".into()),
            ("signature", signature.clone()),
        ]];
        let job = worker.prepare(&variant["variant"], "ML-DSA-44", "verify", &input);
        assert_eq!(worker.answer(job), ["00"], "{}", variant["variant"]);
    }
    assert!(worker.finish().success());
}
