//! The oracle against NIST's ACVP vectors: all keyGen, sigGen and sigVer cases.

use mldsa_acvp::{Case, Input, Mode, wrong};
use mldsa_oracle as oracle;
use mldsa_oracle::{ML_DSA_44, PARAMETER_SETS, PreHash};

/// μ of a case, whichever interface it is for; `None` if its context is too long.
fn mu(case: &Case, tr: &[u8]) -> Option<[u8; 64]> {
    let m_prime = match case.input() {
        Input::Mu(mu) => return Some(mu),
        Input::Formatted(m_prime) => Some(m_prime),
        Input::Pure { message, context } => oracle::pure_m_prime(&message, &context),
        Input::PreHash {
            hash,
            message,
            context,
        } => oracle::hash_m_prime(&message, &context, PreHash::by_name(hash).expect("a hash")),
    };
    m_prime.map(|m_prime| oracle::message_representative(tr, &m_prime))
}

#[test]
fn key_generation() {
    for p in PARAMETER_SETS {
        for case in Mode::KeyGen.cases(p.name) {
            let (pk, sk) = oracle::keygen(p, &case.array("seed"));
            assert!(
                pk == case.bytes("pk") && sk == case.bytes("sk"),
                "{}",
                case.id()
            );
        }
    }
}

#[test]
fn signing() {
    for p in PARAMETER_SETS {
        for case in Mode::SigGen.cases(p.name) {
            let sk = case.bytes("sk");
            let mu = mu(&case, &oracle::sk_decode(p, &sk).tr).expect("a context that fits");
            let (signature, trace) = oracle::sign_mu(p, &sk, &mu, &case.rnd());
            assert!(signature == case.bytes("signature"), "{}", case.id());
            let (last, rejected) = trace.split_last().unwrap();
            assert!(last.failed == 0 && rejected.iter().all(|attempt| attempt.failed != 0));
        }
    }
}

/// The case that is left out is wrong by itself: with none of the hashes does its signature verify.
#[test]
fn wrong_case() {
    let case = wrong();
    let (pk, signature) = (case.bytes("pk"), case.bytes("signature"));
    assert_eq!(
        oracle::sk_decode(&ML_DSA_44, &case.bytes("sk")).tr,
        oracle::h(&[&pk], 64)
    );
    let Input::PreHash {
        message, context, ..
    } = case.input()
    else {
        panic!("{} is one of HashML-DSA", case.id())
    };
    for hash in PreHash::ALL {
        let valid = oracle::hash_verify(&ML_DSA_44, &pk, &message, &signature, &context, hash);
        assert!(!valid, "{}", hash.name());
    }
    assert!(!oracle::verify(
        &ML_DSA_44, &pk, &message, &signature, &context
    ));
}

#[test]
fn verification() {
    for p in PARAMETER_SETS {
        for case in Mode::SigVer.cases(p.name) {
            let pk = case.bytes("pk");
            let verdict = mu(&case, &oracle::h(&[&pk], 64))
                .is_some_and(|mu| oracle::verify_mu(p, &pk, &mu, &case.bytes("signature")));
            assert_eq!(verdict, case.passes(), "{}", case.id());
        }
    }
}
