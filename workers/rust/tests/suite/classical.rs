//! Classical signatures: another library's, and batches.

use k256::schnorr::SigningKey;
use mldsa_worker_rust::protocol::{format_hex, parse_hex};

use crate::common::{Client, bytes};
use crate::worker::WORKER;

#[test]
fn bip_340_signatures_are_another_librarys_and_verify_there() {
    let mut worker = Client::start(WORKER, &[]);
    for input in 0..4 {
        let (seed, message) = (bytes(5, input, 32), bytes(9, input, 7 * usize::from(input)));
        let message = if message.is_empty() {
            "-".into()
        } else {
            message
        };
        let fields = vec![
            ("seed", seed.clone()),
            ("message", message.clone()),
            ("context", "-".into()),
        ];
        let variant = "libsecp256k1:native:compact";
        let mut answer = |operation: &str, fields: Vec<(&'static str, String)>| {
            let job = worker.prepare(variant, "Schnorr-secp256k1", operation, &[fields]);
            worker.answer(job).remove(0)
        };
        let raw = |hex: &str| parse_hex(hex).expect("hexadecimal");
        let other = SigningKey::from_slice(&raw(&seed)).expect("a key");
        let public = answer("keygen", vec![("seed", seed.clone())]);
        let key = other.verifying_key().to_bytes();
        assert_eq!(public, format!("{} -", format_hex(&key)));
        let signature = answer("sign", fields.clone());
        let theirs = other.sign_raw(&raw(&message), &[0; 32]).expect("signs");
        assert_eq!(signature, format_hex(&theirs.to_bytes()));
        let verified =
            |signature: &str| [fields.clone(), vec![("signature", signature.into())]].concat();
        assert_eq!(answer("verify", verified(&signature)), "01");
        let short = &signature[2..];
        assert_eq!(answer("verify", verified(short)), "00");
    }
    assert!(worker.finish().success());
}

#[test]
fn one_bad_signature_of_a_batch_is_told_apart() {
    let mut worker = Client::start(WORKER, &[]);
    let variant = "dalek-ed25519:native:compact";
    let inputs: Vec<_> = (0..6)
        .map(|input| {
            vec![
                ("seed", bytes(5, input, 32)),
                ("message", bytes(9, input, 20)),
                ("context", "-".to_string()),
            ]
        })
        .collect();
    let job = worker.prepare(variant, "Ed25519", "sign", &inputs);
    let signatures = worker.answer(job);
    let mut signed = inputs.clone();
    for (input, signature) in signed.iter_mut().zip(&signatures) {
        input.push(("signature", signature.clone()));
    }
    for (bad, short) in [(None, false), (Some(4), false), (Some(0), true)] {
        let mut given = signed.clone();
        if let Some(place) = bad {
            let field = given[place].last_mut().expect("the signature");
            field.1 = if short {
                "00".into()
            } else {
                signatures[1].clone()
            };
        }
        let job = worker.prepare(variant, "Ed25519", "verify", &given);
        worker.send(&format!("answer {job} batch 6\n"));
        let lines = worker.until(&format!("done {job}"));
        let expected: Vec<_> = (0..6)
            .map(|i| format!("output {i} {}", if bad == Some(i) { "00" } else { "01" }))
            .collect();
        assert_eq!(lines, expected);
    }
    assert!(worker.finish().success());
}
