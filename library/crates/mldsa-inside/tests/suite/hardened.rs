//! The hardened mode gives what the ordinary one gives and refuses what it refuses, on NIST's cases. What
//! it does about faults is tested beside it (`unit/hardened/tests.rs`).

use crate::acvp::message;
use crate::common::{Stream, TestRng, backends};
use mldsa_acvp::Mode;
use mldsa_lanes::hardened::{self, Error};
use mldsa_lanes::{
    Context, Error as Refusal, Input, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreHash,
    SignOptions, Signature, SigningKey, VerifyingKey,
};
use mldsa_oracle as oracle;

fn agreement<P: ParameterSet>() {
    for backend in backends() {
        for case in Mode::KeyGen.cases(P::NAME) {
            let key =
                hardened::SigningKey::<P>::from_seed_on(backend, &case.array("seed")).unwrap();
            assert_eq!(key.verifying_key().unwrap().as_ref(), case.bytes("pk"));
        }
        let mut hedged = 0;
        for case in Mode::SigGen.cases(P::NAME) {
            let at = format!("{} on {}: {}", P::NAME, backend.name(), case.id());
            let sk = case.bytes("sk");
            let key = hardened::SigningKey::<P>::from_encoded_bytes_on(backend, &sk).unwrap();
            let message = message(
                &case,
                &oracle::h(&[key.verifying_key().unwrap().as_ref()], 64),
            );
            let mut rng = TestRng::new(&case.rnd());
            let options = if case.rnd() == [0; 32] {
                SignOptions::deterministic()
            } else {
                hedged += 1;
                SignOptions::hedged(&mut rng)
            };
            let mut signature = Signature::default();
            let proof = key.sign_into(message.input(), options, &mut signature);
            let proof = proof.unwrap_or_else(|error| panic!("{at}: {error}"));
            let public = key.verifying_key().unwrap();
            assert!(proof.holds(public, message.input(), &signature), "{at}");
            assert_eq!(signature.as_ref(), case.bytes("signature"), "{at}");
        }
        assert!(hedged > 0);
        for case in Mode::SigVer.cases(P::NAME) {
            let at = format!("{} on {}: {}", P::NAME, backend.name(), case.id());
            let pk = case.bytes("pk");
            let public = VerifyingKey::<P>::from_bytes(&pk).unwrap();
            let key = hardened::VerifyingKey::new(&public.clone().with_backend(backend)).unwrap();
            let message = message(&case, &oracle::h(&[&pk], 64));
            let signature = Signature::from_bytes(&case.bytes("signature")).unwrap();
            let verdict = key.verify_signature(message.input(), &signature);
            if case.passes() {
                let proof = verdict.unwrap();
                assert!(proof.holds(&public, message.input(), &signature), "{at}");
            } else {
                let error = Error::Refused(Refusal::InvalidSignature);
                assert_eq!(verdict.err(), Some(error), "{at}");
            }
        }
    }
}

#[test]
fn agrees_with_the_ordinary_mode_44() {
    agreement::<MlDsa44>();
}

#[test]
fn agrees_with_the_ordinary_mode_65() {
    agreement::<MlDsa65>();
}

#[test]
fn agrees_with_the_ordinary_mode_87() {
    agreement::<MlDsa87>();
}

#[test]
fn refuses_what_the_ordinary_mode_refuses() {
    let xi = Stream::new("a seed").array();
    let plain = SigningKey::<MlDsa65>::from_seed(&xi);
    let mut drawn = [0; 32];
    let key =
        hardened::SigningKey::<MlDsa65>::generate(&mut TestRng::new(&xi), &mut drawn).unwrap();
    assert_eq!(drawn, xi);
    assert_eq!(key.verifying_key(), Ok(plain.verifying_key()));
    let public = hardened::VerifyingKey::<MlDsa65>::from_bytes(plain.verifying_key().as_ref());
    let public = public.unwrap();
    let weak = Input::PreHash {
        hash: PreHash::Sha2_256,
        message: b"",
        context: Context::EMPTY,
    };
    let (needed, actual) = (192, 128);
    let refusal = Error::Refused(Refusal::WeakPreHash { needed, actual });
    let mut signature = Signature::default();
    let mut sign = |input: Input<'_>, options: SignOptions<'_>| {
        key.sign_into(input, options, &mut signature).err()
    };
    let deterministic = SignOptions::deterministic;
    assert_eq!(sign(weak, deterministic()), Some(refusal));
    let own = plain.mu_hasher(Context::EMPTY).finish();
    assert_eq!(sign((&own).into(), deterministic()), None);
    let foreign = SigningKey::<MlDsa65>::from_seed(&[1; 32]).mu_hasher(Context::EMPTY);
    let foreign = foreign.finish();
    let another = Some(Error::Refused(Refusal::MuOfAnotherKey));
    assert_eq!(sign((&foreign).into(), deterministic()), another);
    // The generator's own error, each time.
    let mut rng = TestRng::new(&xi);
    assert_eq!(sign(b"".into(), SignOptions::hedged(&mut rng)), None);
    for _ in 0..2 {
        let refused = sign(b"".into(), SignOptions::hedged(&mut rng));
        assert_eq!(refused, Some(Error::Refused(Refusal::Rng)));
    }
    let verdict = public.verify_signature(weak, &signature);
    assert_eq!(verdict.err(), Some(refusal));
    let verdict = public.verify_signature(&foreign, &signature);
    assert_eq!(verdict.err(), another);

    for (at, bytes) in [(128, 0xff), (64, 1), (4031, 1)] {
        let mut sk = *plain.encoded_bytes();
        sk[at] ^= bytes;
        let refused = hardened::SigningKey::<MlDsa65>::from_encoded_bytes(&sk).err();
        let expected = SigningKey::<MlDsa65>::from_encoded_bytes(&sk).err();
        assert_eq!(refused, expected.map(Error::Refused));
    }
    let short = hardened::VerifyingKey::<MlDsa65>::from_bytes(&[0; 3]).err();
    let (expected, actual) = (1952, 3);
    let length = Refusal::VerifyingKeyLength { expected, actual };
    assert_eq!(short, Some(Error::Refused(length)));
}
