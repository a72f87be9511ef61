//! Accumulated digests (C2SP CCTV, "Accumulated ML-DSA tests"): seeds are read from SHAKE128 of
//! nothing; public keys and deterministic signatures of the empty message go into another
//! SHAKE128, whose first 32 bytes are the digest.
//!
//! 10,000 keys and signatures per parameter set on every backend, with expanded keys, and 100 in
//! batches. `MLDSA_ACCUMULATED=1000000` asks for another number. The published digests at 100, 10,000
//! and 60,000,000 are asserted wherever the run passes them; a run that ends elsewhere is compared
//! with `fips204`, an implementation that shares no code with ours.

use crate::common::{Form, hex, subjects_of};
use fips204::traits::{KeyGen, SerDes, Signer, Verifier};
use fips204::{ml_dsa_44, ml_dsa_65, ml_dsa_87};
use mldsa_lanes::{Context, Input};
use mldsa_oracle::{ML_DSA_44, ML_DSA_65, ML_DSA_87, Params};
use shake::{ExtendableOutput, Shake128, Update, XofReader};

const EMPTY: Input<'_> = Input::Pure {
    message: &[],
    context: Context::EMPTY,
};

fn count() -> u32 {
    match std::env::var("MLDSA_ACCUMULATED") {
        Ok(text) => text.parse().expect("MLDSA_ACCUMULATED is a number"),
        Err(_) => 10_000,
    }
}

/// The digest published for that many iterations, if there is one.
fn published(p: &Params, iterations: u32) -> Option<&'static str> {
    Some(match (p.name, iterations) {
        ("ML-DSA-44", 100) => "d51148e1f9f4fa1a723a6cf42e25f2a99eb5c1b378b3d2dbbd561b1203beeae4",
        ("ML-DSA-44", 10_000) => "e7fd21f6a59bcba60d65adc44404bb29a7c00e5d8d3ec06a732c00a306a7d143",
        ("ML-DSA-44", 60_000_000) => {
            "080b48049257f5cd30dee17d6aa393d6c42fe52a29099df84a460ebaf4b02330"
        }
        ("ML-DSA-65", 100) => "8358a1843220194417cadbc2651295cd8fc65125b5a5c1a239a16dc8b57ca199",
        ("ML-DSA-65", 10_000) => "5ff5e196f0b830c3b10a9eb5358e7c98a3a20136cb677f3ae3b90175c3ace329",
        ("ML-DSA-65", 60_000_000) => {
            "0af0165db2b180f7a83dbecad1ccb758b9c2d834b7f801fc49dd572a9d4b1e83"
        }
        ("ML-DSA-87", 100) => "8c3ad714777622b8f21ce31bb35f71394f23bc0fcf3c78ace5d608990f3b061b",
        ("ML-DSA-87", 10_000) => "80a8cf39317f7d0be0e24972c51ac152bd2a3e09bc0c32ce29dd82c4e7385e60",
        ("ML-DSA-87", 60_000_000) => {
            "011166e9d5032c9bdc5c9bbb5dbb6c86df1c3d9bf3570b65ebae942dd9830057"
        }
        _ => return None,
    })
}

/// Runs the accumulation; `pair` gives the public key and the signature of a seed.
fn accumulate(
    p: &Params,
    who: &str,
    iterations: u32,
    mut pair: impl FnMut(&[u8; 32]) -> (Vec<u8>, Vec<u8>),
) -> String {
    let mut seeds = Shake128::default().finalize_xof();
    let mut accumulator = Shake128::default();
    let digest = |accumulator: &Shake128| {
        let mut out = [0; 32];
        accumulator.clone().finalize_xof().read(&mut out);
        hex(&out)
    };
    for done in 1..=iterations {
        let mut seed = [0; 32];
        seeds.read(&mut seed);
        let (pk, signature) = pair(&seed);
        accumulator.update(&pk);
        accumulator.update(&signature);
        if let Some(expected) = published(p, done) {
            assert_eq!(
                digest(&accumulator),
                expected,
                "{who}, {} after {done}",
                p.name
            );
        }
    }
    digest(&accumulator)
}

fn ours_against(p: &'static Params, independent: impl FnMut(&[u8; 32]) -> (Vec<u8>, Vec<u8>)) {
    let count = count();
    let whole = match published(p, count) {
        Some(digest) => digest.to_owned(),
        None => accumulate(p, "fips204", count, independent),
    };
    for subject in subjects_of(p) {
        let who = subject.label();
        let (iterations, expected) = match subject.form {
            Form::Compact => continue,
            Form::Expanded => (count, whole.as_str()),
            Form::Batch => (100, published(p, 100).unwrap()),
        };
        let digest = accumulate(p, &who, iterations, |seed| {
            let key = subject.key(seed);
            let signature = key.signer.sign(&EMPTY, &[0; 32]).unwrap();
            assert!(subject.accepts(&key.public, &EMPTY, &signature), "{who}");
            (key.public, signature)
        });
        assert_eq!(digest, expected, "{who}");
    }
}

macro_rules! accumulated {
    ($($test:ident: $params:ident, $module:ident)*) => { $(
        #[test]
        fn $test() {
            ours_against(&$params, |seed| {
                let (pk, sk) = $module::KG::keygen_from_seed(seed);
                let signature = sk.try_sign_with_seed(&[0; 32], &[], &[]).unwrap();
                assert!(pk.verify(&[], &signature, &[]));
                (pk.into_bytes().to_vec(), signature.to_vec())
            });
        }
    )* };
}
accumulated! {
    ml_dsa_44: ML_DSA_44, ml_dsa_44
    ml_dsa_65: ML_DSA_65, ml_dsa_65
    ml_dsa_87: ML_DSA_87, ml_dsa_87
}
