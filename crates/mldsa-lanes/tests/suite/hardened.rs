//! The hardened mode gives what the ordinary one gives and refuses what it refuses, on NIST's cases. What
//! it does about faults is tested beside it (`src/hardened/tests.rs`).

use crate::acvp::message;
use crate::common::{Stream, backends};
use mldsa_acvp::Mode;
use mldsa_lanes::hardened::{self, Error, Source};
use mldsa_lanes::{
    Error as Refusal, Input, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Signature, SigningKey,
    VerifyingKey,
};
use mldsa_oracle as oracle;
use rand_core::{TryCryptoRng, TryRng};

/// A good source for a window, then `then`, then an error.
struct Then {
    first: Stream,
    drawn: usize,
    then: [u8; 32],
}

impl TryRng for Then {
    type Error = std::fmt::Error;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        unreachable!("draws are whole")
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        unreachable!("draws are whole")
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        self.drawn += 1;
        match self.drawn {
            ..=64 => out.copy_from_slice(&self.first.array::<32>()),
            65 => out.copy_from_slice(&self.then),
            _ => return Err(std::fmt::Error),
        }
        Ok(())
    }
}
impl TryCryptoRng for Then {}

fn source(then: [u8; 32]) -> Source<Then> {
    let first = Stream::new("a source");
    let drawn = 0;
    Source::new(Then { first, drawn, then }).unwrap()
}

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
            let key = hardened::SigningKey::<P>::from_expanded_bytes_on(backend, &sk).unwrap();
            let message = message(
                &case,
                &oracle::h(&[key.verifying_key().unwrap().as_ref()], 64),
            );
            let signature = if case.rnd() == [0; 32] {
                key.sign_input_deterministic(&message.input())
            } else {
                hedged += 1;
                key.sign_input(&message.input(), &mut source(case.rnd()))
            };
            let signature = signature.unwrap_or_else(|error| panic!("{at}: {error}"));
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
            let verdict = key.verify_input(&message.input(), &signature);
            if case.passes() {
                let proof = verdict.unwrap();
                assert!(
                    proof.holds_input(&public, &message.input(), &signature),
                    "{at}"
                );
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
    let key = hardened::SigningKey::<MlDsa65>::generate(&mut source(xi)).unwrap();
    assert_eq!(key.verifying_key(), Ok(plain.verifying_key()));
    let public = hardened::VerifyingKey::<MlDsa65>::from_bytes(plain.verifying_key().as_ref());
    let public = public.unwrap();
    let long = Error::Refused(Refusal::ContextTooLong { actual: 256 });
    assert_eq!(key.sign_deterministic(b"", &[0; 256]).err(), Some(long));
    let signature = key.sign_deterministic(b"", b"").unwrap();
    let verdict = public.verify(b"", &[0; 256], &signature);
    assert_eq!(verdict.err(), Some(long));

    for (at, bytes) in [(128, 0xff), (64, 1), (4031, 1)] {
        let mut sk = *plain.expanded_bytes();
        sk[at] ^= bytes;
        let refused = hardened::SigningKey::<MlDsa65>::from_expanded_bytes(&sk).err();
        let expected = SigningKey::<MlDsa65>::from_expanded_bytes(&sk).err();
        assert_eq!(refused, expected.map(Error::Refused));
    }
    let short = hardened::VerifyingKey::<MlDsa65>::from_bytes(&[0; 3]).err();
    let (expected, actual) = (1952, 3);
    let length = Refusal::VerifyingKeyLength { expected, actual };
    assert_eq!(short, Some(Error::Refused(length)));
    // The generator's own error, each time.
    let mut source = source(xi);
    key.sign(b"", b"", &mut source).unwrap();
    for _ in 0..2 {
        let refused = key.sign_input(
            &Input::Pure {
                message: b"",
                context: b"",
            },
            &mut source,
        );
        assert_eq!(refused, Err(Error::Refused(Refusal::Rng)));
    }
}
