//! Parameter sets known at run time: every answer is that of the types behind them.

use mldsa_lanes::any::batch::{self, AnySignJob, AnySignWith, AnyVerifyJob, AnyVerifyWith};
use mldsa_lanes::any::{AnySignature, AnySigningKey, AnyVerifyingKey, Set};
use mldsa_lanes::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePublicKey};
use mldsa_lanes::{
    Context, Error, Input, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreHash, PrivateKeyForm,
    SignOptions, SigningKey, SysRng, VerifyingKey,
};

const XI: [u8; 32] = [9; 32];

fn typed<P: ParameterSet>(set: Set)
where
    AnyVerifyingKey: From<VerifyingKey<P>>,
{
    let any = AnySigningKey::from_seed(set, &XI);
    let key = SigningKey::<P>::from_seed(&XI);
    assert_eq!((set.name(), any.set()), (P::NAME, set));
    assert_eq!(set.name().parse(), Ok(set));
    assert_eq!(any.seed(), Some(&XI));
    assert_eq!(any.encoded_bytes(), key.encoded_bytes().as_ref());
    assert_eq!(any.encoded_bytes().len(), set.signing_key_bytes());
    let public = any.verifying_key();
    assert_eq!(public, key.verifying_key().clone().into());
    assert_eq!(public.as_ref().len(), set.verifying_key_bytes());

    let context = Context::new(b"context").unwrap();
    let input = Input::PreHash {
        hash: PreHash::Sha2_512,
        message: b"message",
        context,
    };
    let signature = any.sign_deterministic(input).unwrap();
    assert_eq!(
        signature.as_ref(),
        key.sign_deterministic(input).unwrap().as_ref()
    );
    assert_eq!(signature.as_ref().len(), set.signature_bytes());
    assert_eq!(any.expand().sign_deterministic(input).unwrap(), signature);
    for way in [
        public.verify_signature(input, &signature),
        public.expand().verify_signature(input, &signature),
    ] {
        assert_eq!(way, Ok(()));
    }
    let other = public.verify_signature(b"message", &signature);
    assert_eq!(other, Err(Error::InvalidSignature));

    let mut hasher = any.mu_hasher(context);
    hasher.update(b"mess");
    hasher.update(b"age");
    let mu = hasher.finish();
    let hedged = any.sign_hedged(&mu, &mut SysRng).unwrap();
    assert_ne!(hedged, any.sign_hedged(&mu, &mut SysRng).unwrap());
    let message: (&[u8], _) = (b"message", context);
    assert_eq!(public.verify_signature(message, &hedged), Ok(()));
}

#[test]
fn each_set_is_that_of_its_types() {
    typed::<MlDsa44>(Set::MlDsa44);
    typed::<MlDsa65>(Set::MlDsa65);
    typed::<MlDsa87>(Set::MlDsa87);
    assert_eq!("ML-DSA-66".parse::<Set>(), Err(Error::UnknownSet));
}

#[test]
fn lengths_of_another_set_are_refused() {
    let [small, large] = [Set::MlDsa44, Set::MlDsa87].map(|set| AnySigningKey::from_seed(set, &XI));
    let bytes = small.encoded_bytes();
    assert!(matches!(
        AnySigningKey::from_encoded_bytes(Set::MlDsa87, bytes),
        Err(Error::SigningKeyLength {
            expected: 4896,
            actual: 2560
        })
    ));
    let again = AnySigningKey::from_encoded_bytes(Set::MlDsa44, bytes).unwrap();
    assert_eq!((again.encoded_bytes(), again.seed()), (bytes, None));
    assert!(matches!(
        AnyVerifyingKey::from_bytes(Set::MlDsa65, small.verifying_key().as_ref()),
        Err(Error::VerifyingKeyLength {
            expected: 1952,
            actual: 1312
        })
    ));
    let signature = small.sign_deterministic(b"").unwrap();
    let length = Err(Error::SignatureLength {
        expected: 4627,
        actual: 2420,
    });
    assert_eq!(
        large.verifying_key().verify_signature(b"", &signature),
        length
    );
    assert_eq!(
        large
            .verifying_key()
            .expand()
            .verify_signature(b"", &signature),
        length
    );
    assert_eq!(
        AnySignature::from_bytes(Set::MlDsa87, signature.as_ref()).map(|_| ()),
        length
    );
}

#[test]
fn files_name_their_set() {
    for set in Set::ALL {
        let key = AnySigningKey::generate(set, &mut SysRng).unwrap();
        let public = key.verifying_key();
        for form in [
            PrivateKeyForm::Seed,
            PrivateKeyForm::ExpandedKey,
            PrivateKeyForm::Both,
        ] {
            let der = key.to_pkcs8_der_as(form).unwrap();
            let read = AnySigningKey::from_pkcs8_der(der.as_bytes()).unwrap();
            assert_eq!(
                (read.set(), read.encoded_bytes()),
                (set, key.encoded_bytes())
            );
            let mut wrong = der.as_bytes().to_vec();
            *wrong.last_mut().unwrap() ^= 1;
            let read = AnySigningKey::from_pkcs8_der(&wrong);
            // A seed with another bit is another key.
            assert_eq!(read.is_ok(), form == PrivateKeyForm::Seed);
        }
        let mut der = public.to_public_key_der().unwrap().into_vec();
        assert_eq!(AnyVerifyingKey::from_public_key_der(&der).unwrap(), public);
        let oid = der.windows(3).position(|bytes| bytes == [3, 4, 3]).unwrap();
        der[oid + 3] = 99;
        assert!(AnyVerifyingKey::from_public_key_der(&der).is_err());
    }
}

#[test]
fn batches_of_several_sets_keep_their_order() {
    // Not the global pool, which another test must find unused.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let keys: Vec<_> = Set::ALL
        .into_iter()
        .flat_map(|set| batch::keygen(set, &[[1; 32], [2; 32]]))
        .collect();
    for (at, key) in keys.iter().enumerate() {
        let xi = [1 + at as u8 % 2; 32];
        assert_eq!(
            key.encoded_bytes(),
            AnySigningKey::from_seed(key.set(), &xi).encoded_bytes()
        );
    }
    let expanded: Vec<_> = keys.iter().map(AnySigningKey::expand).collect();
    let messages: Vec<[u8; 2]> = (0..20).map(|at| [at, 0]).collect();
    let jobs: Vec<_> = messages
        .iter()
        .enumerate()
        .map(|(at, message)| AnySignJob {
            key: match at % 3 {
                0 => AnySignWith::Expanded(&expanded[at % 6]),
                _ => AnySignWith::Compact(&keys[at % 6]),
            },
            input: message.into(),
        })
        .collect();
    let signed = batch::sign(&jobs, SignOptions::deterministic()).unwrap();
    assert_eq!(
        signed,
        pool.install(|| batch::parallel::sign(&jobs, SignOptions::deterministic()))
            .unwrap()
    );
    let signatures: Vec<_> = signed.into_iter().map(Result::unwrap).collect();
    for (at, signature) in signatures.iter().enumerate() {
        assert_eq!(
            *signature,
            keys[at % 6].sign_deterministic(&messages[at]).unwrap()
        );
    }

    let public: Vec<_> = keys.iter().map(AnySigningKey::verifying_key).collect();
    let expanded: Vec<_> = public.iter().map(AnyVerifyingKey::expand).collect();
    // Every seventh signature is that of the job before, mostly of another set.
    let of = |at: usize| if at % 7 == 6 { at - 1 } else { at };
    let jobs: Vec<_> = (0..20)
        .map(|at| AnyVerifyJob {
            key: match at % 2 {
                0 => AnyVerifyWith::Expanded(&expanded[at % 6]),
                _ => AnyVerifyWith::Compact(&public[at % 6]),
            },
            input: (&messages[at]).into(),
            signature: &signatures[of(at)],
        })
        .collect();
    let judged = batch::verify(&jobs);
    assert_eq!(judged, pool.install(|| batch::parallel::verify(&jobs)));
    for (at, outcome) in judged.into_iter().enumerate() {
        assert_eq!(
            outcome,
            public[at % 6].verify_signature(&messages[at], &signatures[of(at)])
        );
        assert_eq!(outcome.is_ok(), at % 7 != 6);
    }
    assert_eq!(
        batch::generate(Set::MlDsa44, 3, &mut SysRng).unwrap().len(),
        3
    );
    let refused = batch::generate(Set::MlDsa44, usize::MAX, &mut SysRng).err();
    assert_eq!(refused, Some(Error::OutOfMemory));
}
