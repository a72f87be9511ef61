//! The built worker announces its own implementations, or those of `lab/workers/rust` too; BIP 340's signatures are those of
//! another library. That one compiles for longer than the tests of `lab/workers/rust`, so it is used here.

use std::collections::HashSet;

#[path = "../../rust/tests/common/mod.rs"]
mod common;

use common::{Client, bytes};
use k256::schnorr::SigningKey;
use mldsa_worker_rust::protocol::{format_hex, parse_hex};

const WORKER: &str = env!("CARGO_BIN_EXE_mldsa-worker-rust-families");

/// The worker's name, and the families of its variants.
fn announced(arguments: &[&str]) -> (String, HashSet<String>) {
    let mut worker = Client::start(WORKER, arguments);
    let (head, variants) = worker.hello();
    let ids: HashSet<_> = variants.iter().map(|v| &v["variant"]).collect();
    assert_eq!(ids.len(), variants.len());
    let families = variants.iter().map(|v| v["family"].clone()).collect();
    worker.send("quit\n");
    assert!(worker.finish().success());
    (head["worker"].clone(), families)
}

#[test]
fn names_and_families() {
    let own = ["ml-kem", "slh-dsa", "fn-dsa", "tls"];
    let (name, families) = announced(&["rust-families"]);
    assert_eq!(name, "rust-families");
    assert_eq!(families, own.map(String::from).into());
    let (name, families) = announced(&["rust-all"]);
    assert_eq!(name, "rust-all");
    let more = ["ml-dsa", "classical", "hash"].map(String::from);
    assert_eq!(
        families,
        own.map(String::from).into_iter().chain(more).collect()
    );
}

#[test]
fn bip_340_signatures_are_another_librarys_and_verify_there() {
    let mut worker = Client::start(WORKER, &["rust-all"]);
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
