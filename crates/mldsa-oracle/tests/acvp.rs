//! The oracle against NIST's ACVP vectors: all keyGen, sigGen and sigVer cases.

use mldsa_oracle as oracle;
use mldsa_oracle::{Params, PreHash};
use serde_json::Value;

fn vectors() -> Value {
    let default = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../target/vectors/acvp-mldsa.json"
    );
    let path = std::env::var("MLDSA_ACVP").unwrap_or_else(|_| default.into());
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{path}: {error}; run `make vectors` first"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn cases<'a>(vectors: &'a Value, mode: &str, count: usize) -> &'a [Value] {
    let cases = vectors[mode].as_array().expect("a list of cases");
    assert_eq!(cases.len(), count, "{mode} cases");
    cases
}

fn params(case: &Value) -> &'static Params {
    oracle::by_name(case["parameterSet"].as_str().unwrap()).expect("a parameter set")
}

fn bytes(case: &Value, field: &str) -> Vec<u8> {
    let hex = case[field]
        .as_str()
        .unwrap_or_else(|| panic!("no {field} in {case}"));
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect()
}

fn array<const L: usize>(case: &Value, field: &str) -> [u8; L] {
    bytes(case, field).try_into().expect("exact length")
}

/// μ of a case, whichever interface it is for; `None` if its context is too long.
fn mu(case: &Value, tr: &[u8]) -> Option<[u8; 64]> {
    if case["externalMu"] == true {
        return Some(array(case, "mu"));
    }
    let message = bytes(case, "message");
    let m_prime = match (
        case["signatureInterface"].as_str(),
        case["preHash"].as_str(),
    ) {
        (Some("internal"), _) => Some(message),
        (Some("external"), Some("pure")) => oracle::pure_m_prime(&message, &bytes(case, "context")),
        (Some("external"), Some("preHash")) => {
            let hash = PreHash::by_name(case["hashAlg"].as_str().unwrap()).expect("a hash");
            oracle::hash_m_prime(&message, &bytes(case, "context"), hash)
        }
        other => panic!("unknown interface {other:?}"),
    };
    m_prime.map(|m_prime| oracle::message_representative(tr, &m_prime))
}

#[test]
fn key_generation() {
    let vectors = vectors();
    for case in cases(&vectors, "keyGen", 75) {
        let (pk, sk) = oracle::keygen(params(case), &array(case, "seed"));
        assert!(
            pk == bytes(case, "pk") && sk == bytes(case, "sk"),
            "case {}",
            case["tcId"]
        );
    }
}

#[test]
fn signing() {
    let vectors = vectors();
    for case in cases(&vectors, "sigGen", 360) {
        let sk = bytes(case, "sk");
        let p = params(case);
        let rnd = if case["deterministic"] == true {
            [0; 32]
        } else {
            array(case, "rnd")
        };
        let mu = mu(case, &oracle::sk_decode(p, &sk).tr).expect("a context that fits");
        let (signature, trace) = oracle::sign_mu(p, &sk, &mu, &rnd);
        assert!(
            signature == bytes(case, "signature"),
            "case {}",
            case["tcId"]
        );
        let (last, rejected) = trace.split_last().unwrap();
        assert!(last.failed == 0 && rejected.iter().all(|attempt| attempt.failed != 0));
    }
}

#[test]
fn verification() {
    let vectors = vectors();
    for case in cases(&vectors, "sigVer", 180) {
        let pk = bytes(case, "pk");
        let verdict = mu(case, &oracle::h(&[&pk], 64))
            .is_some_and(|mu| oracle::verify_mu(params(case), &pk, &mu, &bytes(case, "signature")));
        assert_eq!(verdict, case["testPassed"] == true, "case {}", case["tcId"]);
    }
}
