//! Keys and messages: the known answers of the ACVP draft, which were searched for rare rejections
//! and for many of them.

use mldsa_lanes::{Backend, Input, Mu, ParameterSet, SigningKey, hazmat};
use mldsa_oracle::{PreHash, message_representative};
use mldsa_trace::{Check, SignTraced};

#[path = "../../../crates/mldsa-inside/tests/suite/common/kats.rs"]
#[allow(dead_code)]
mod kats;

/// A key and a message, both without marks.
pub struct Case {
    pub xi: [u8; 32],
    /// skEncode's bytes.
    pub sk: Vec<u8>,
    pub mu: Mu,
    /// SHA2-256 of the signature with rnd = 0.
    digest: Vec<u8>,
    /// For each attempt the check that ends it; nothing for the last.
    pub ends: Vec<Option<Check>>,
}

impl Case {
    pub fn input(&self) -> Input<'_> {
        Input::Mu(&self.mu)
    }

    /// Whether `signature` is the known answer.
    pub fn is_answer(&self, signature: &[u8]) -> bool {
        PreHash::Sha2_256.digest(signature) == self.digest
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |i: usize| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal digits");
    (0..text.len()).step_by(2).map(digit).collect()
}

/// The cases of a parameter set: first those that take every path, then those of many attempts.
pub fn of<P: ParameterSet>() -> Vec<Case> {
    let many = kats::MANY_REJECTIONS.iter().map(|(_, kat)| kat);
    let all = kats::REJECTION_PATHS.iter().chain(many);
    all.filter(|kat| kat.set == P::NAME)
        .map(case::<P>)
        .collect()
}

fn case<P: ParameterSet>(kat: &kats::Kat) -> Case {
    let xi = unhex(kat.seed).try_into().expect("32 bytes");
    let key = SigningKey::<P>::from_seed_on(Backend::portable(), &xi);
    let mu = message_representative(&key.verifying_key().tr(), &unhex(kat.message));
    let mu = hazmat::external_mu(mu);
    let mut ends = Vec::new();
    let order = [Check::R0, Check::Z, Check::Ct0, Check::Hint];
    key.sign_traced(&Input::Mu(&mu), &[0; 32], |attempt| {
        ends.push(order.into_iter().find(|check| attempt.fails(*check)));
    })
    .expect("a known answer");
    Case {
        xi,
        sk: key.encoded_bytes().as_ref().to_vec(),
        mu,
        digest: unhex(kat.signature),
        ends,
    }
}
