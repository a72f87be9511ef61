//! Classical signatures for comparison. Their key pair comes from the input's seed.

use std::mem;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::agreement::{self, ECDH_P256};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair,
    Ed25519KeyPair, KeyPair, ParsedPublicKey, RSA_PSS_2048_8192_SHA256, RSA_PSS_SHA256, RsaKeyPair,
    VerificationAlgorithm,
};
use ed25519_dalek::Signer as _;
use secp256k1::{Keypair, Message, PublicKey, SecretKey, ecdsa, schnorr};
use sha2::{Digest, Sha256};

use crate::adapter::{
    Family, Inputs, Output, Prepared, Rnd, Scheme, Variant, WITH_KEY, describe, job, verdict,
};
use crate::build_info;
use crate::bytes::Bytes;
use crate::protocol::{Fields, Operation};
use crate::runs::{Answer, Group, Loop};

pub fn variants() -> Vec<Variant> {
    vec![
        variant(
            "aws-lc-ed25519",
            build_info::AWS_LC_RS,
            Rnd::Zero,
            "",
            "Ed25519",
            AwsEd25519,
        ),
        Variant {
            language: None,
            batch: true,
            ..variant(
                "dalek-ed25519",
                build_info::ED25519_DALEK,
                Rnd::Zero,
                "batches by verify_batch, which says of all signatures together whether they are \
                 good; of a batch that is not, each is verified by itself",
                "Ed25519",
                Dalek,
            )
        },
        variant(
            "aws-lc-ecdsa-p256",
            build_info::AWS_LC_RS,
            Rnd::None,
            "SHA-256, fixed-length signatures; the seed is the private scalar",
            "ECDSA-P256",
            AwsP256,
        ),
        Variant {
            schemes: vec![
                ("ECDSA-secp256k1", Box::new(Secp256k1)),
                ("Schnorr-secp256k1", Box::new(Bip340)),
            ],
            ..common(
                "libsecp256k1",
                build_info::SECP256K1,
                Rnd::Zero,
                "crate secp256k1; the seed is the private scalar. ECDSA: nonce of RFC 6979, \
                 SHA-256 of the message is timed. Schnorr: BIP 340, without auxiliary randomness",
            )
        },
        Variant {
            operations: WITH_KEY,
            schemes: vec![
                ("RSA-2048-PSS", Box::new(AwsRsa::new(KeySize::Rsa2048))),
                ("RSA-3072-PSS", Box::new(AwsRsa::new(KeySize::Rsa3072))),
            ],
            ..common(
                "aws-lc-rsa",
                build_info::AWS_LC_RS,
                Rnd::None,
                "SHA-256; one key per process for all seeds",
            )
        },
    ]
}

fn variant(
    implementation: &'static str,
    version: &'static str,
    rnd: Rnd,
    note: &str,
    set: &'static str,
    scheme: impl Scheme + 'static,
) -> Variant {
    Variant {
        schemes: vec![(set, Box::new(scheme))],
        ..common(implementation, version, rnd, note)
    }
}

fn common(implementation: &'static str, version: &'static str, rnd: Rnd, note: &str) -> Variant {
    Variant {
        family: Family::Classical,
        rnd,
        context: false,
        language: Some("C"),
        note: note.into(),
        ..Variant::new(implementation, version)
    }
}

/// Verification with a parsed key of `aws-lc-rs`.
fn aws_verdict(
    algorithm: &'static dyn VerificationAlgorithm,
    public: impl AsRef<[u8]>,
    input: &Fields,
) -> Prepared {
    let key = ParsedPublicKey::new(algorithm, public).map_err(|error| describe(&error))?;
    let (message, signature) = (input.message()?, input.signature()?);
    verdict(move || key.verify_sig(&message, &signature).is_ok())
}

struct AwsEd25519;

impl Scheme for AwsEd25519 {
    fn keygen(&self, input: &Fields) -> Prepared {
        let seed = input.seed()?;
        job(
            move || Ed25519KeyPair::from_seed_unchecked(&seed),
            |pair| Output::public_key(pair.public_key()),
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let pair = Ed25519KeyPair::from_seed_unchecked(&input.seed()?)
            .map_err(|error| describe(&error))?;
        let message = input.message()?;
        job(move || pair.try_sign(&message), Output::bytes)
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let pair = Ed25519KeyPair::from_seed_unchecked(&input.seed()?)
            .map_err(|error| describe(&error))?;
        aws_verdict(&ED25519, pair.public_key(), input)
    }
}

struct Dalek;

impl Scheme for Dalek {
    fn keygen(&self, input: &Fields) -> Prepared {
        let seed = input.seed()?;
        job(
            move || Ok::<_, ()>(ed25519_dalek::SigningKey::from_bytes(&seed)),
            |key| Output::public_key(key.verifying_key().as_bytes()),
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let key = ed25519_dalek::SigningKey::from_bytes(&input.seed()?);
        let message = input.message()?;
        job(
            move || key.try_sign(&message).map(|signature| signature.to_bytes()),
            Output::bytes,
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let key = ed25519_dalek::SigningKey::from_bytes(&input.seed()?).verifying_key();
        let (message, signature) = (input.message()?, input.signature()?);
        verdict(move || {
            ed25519_dalek::Signature::from_slice(&signature)
                .is_ok_and(|parsed| key.verify_strict(&message, &parsed).is_ok())
        })
    }

    fn batch(&self, operation: Operation, inputs: Inputs<'_>) -> Option<Box<dyn Group>> {
        let inputs = inputs.into_iter();
        Some(match operation {
            Operation::Verify => Box::new(DalekBatch {
                inputs: inputs.map(|input| DalekJob::new(input?)).collect(),
                verdicts: Vec::new(),
            }),
            // These the library has for one alone.
            Operation::Keygen => Box::new(Loop(inputs.map(|i| self.keygen(i?)).collect())),
            Operation::Sign => Box::new(Loop(inputs.map(|i| self.sign(i?)).collect())),
            _ => return None,
        })
    }
}

/// What is verified by `verify_batch`.
struct DalekJob {
    key: ed25519_dalek::VerifyingKey,
    message: Bytes,
    signature: Bytes,
}

impl DalekJob {
    fn new(input: &Fields) -> Result<Self, String> {
        Ok(Self {
            key: ed25519_dalek::SigningKey::from_bytes(&input.seed()?).verifying_key(),
            message: input.message()?,
            signature: input.signature()?,
        })
    }

    fn parsed(&self) -> Option<ed25519_dalek::Signature> {
        ed25519_dalek::Signature::from_slice(&self.signature).ok()
    }

    fn alone(&self) -> bool {
        self.parsed()
            .is_some_and(|parsed| self.key.verify_strict(&self.message, &parsed).is_ok())
    }
}

/// Verification in batches.
struct DalekBatch {
    inputs: Vec<Result<DalekJob, String>>,
    verdicts: Vec<bool>,
}

impl Group for DalekBatch {
    fn perform(&mut self, items: &[usize]) {
        let jobs: Vec<&DalekJob> = items
            .iter()
            .filter_map(|&item| self.inputs[item].as_ref().ok())
            .collect();
        let messages: Vec<&[u8]> = jobs.iter().map(|job| &*job.message).collect();
        let keys: Vec<_> = jobs.iter().map(|job| job.key).collect();
        let signatures: Option<Vec<_>> = jobs.iter().map(|job| job.parsed()).collect();
        let all =
            signatures.is_some_and(|s| ed25519_dalek::verify_batch(&messages, &s, &keys).is_ok());
        self.verdicts = jobs.iter().map(|job| all || job.alone()).collect();
    }

    fn outputs(&mut self, items: &[usize]) -> Vec<Answer> {
        let mut verdicts = mem::take(&mut self.verdicts).into_iter();
        let mut next = |&item: &usize| {
            self.inputs[item].as_ref().map_err(Clone::clone)?;
            let verdict = verdicts.next().ok_or("the batch gave too few verdicts")?;
            Ok(Output::Verdict(verdict))
        };
        items.iter().map(&mut next).collect()
    }
}

struct AwsP256;

/// The key pair of a private scalar: `aws-lc-rs` derives public keys only for key agreement.
fn p256_public(scalar: &[u8; 32]) -> Result<Vec<u8>, String> {
    let private = agreement::PrivateKey::from_private_key(&ECDH_P256, scalar)
        .map_err(|error| describe(&error))?;
    let public = private
        .compute_public_key()
        .map_err(|error| describe(&error))?;
    Ok(public.as_ref().to_vec())
}

impl Scheme for AwsP256 {
    fn keygen(&self, input: &Fields) -> Prepared {
        let seed = input.seed()?;
        job(
            move || {
                let public = p256_public(&seed)?;
                let pair = EcdsaKeyPair::from_private_key_and_public_key(
                    &ECDSA_P256_SHA256_FIXED_SIGNING,
                    &seed,
                    &public,
                );
                pair.map_err(|error| describe(&error))
            },
            |pair| Output::public_key(pair.public_key()),
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let seed = input.seed()?;
        let pair = EcdsaKeyPair::from_private_key_and_public_key(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            &seed,
            &p256_public(&seed)?,
        )
        .map_err(|error| describe(&error))?;
        let (message, random) = (input.message()?, SystemRandom::new());
        job(move || pair.sign(&random, &message), Output::bytes)
    }

    fn verify(&self, input: &Fields) -> Prepared {
        aws_verdict(
            &ECDSA_P256_SHA256_FIXED,
            p256_public(&input.seed()?)?,
            input,
        )
    }
}

struct Secp256k1;

fn hashed(message: &[u8]) -> Message {
    Message::from_digest(Sha256::digest(message).into())
}

impl Scheme for Secp256k1 {
    fn keygen(&self, input: &Fields) -> Prepared {
        let seed = input.seed()?;
        job(
            move || {
                let secret = SecretKey::from_secret_bytes(seed)?;
                Ok::<_, secp256k1::Error>(PublicKey::from_secret_key(&secret).serialize())
            },
            Output::public_key,
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let secret =
            SecretKey::from_secret_bytes(input.seed()?).map_err(|error| describe(&error))?;
        let message = input.message()?;
        job(
            move || Ok::<_, ()>(ecdsa::sign(hashed(&message), &secret).serialize_compact()),
            Output::bytes,
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let secret =
            SecretKey::from_secret_bytes(input.seed()?).map_err(|error| describe(&error))?;
        let public = PublicKey::from_secret_key(&secret);
        let (message, signature) = (input.message()?, input.signature()?);
        verdict(move || {
            ecdsa::Signature::from_compact(&signature)
                .is_ok_and(|parsed| ecdsa::verify(&parsed, hashed(&message), &public).is_ok())
        })
    }
}

/// Schnorr's signatures of BIP 340, of the message as it is.
struct Bip340;

fn keypair(input: &Fields) -> Result<Keypair, String> {
    let secret = SecretKey::from_secret_bytes(input.seed()?).map_err(|error| describe(&error))?;
    Ok(Keypair::from_secret_key(&secret))
}

impl Scheme for Bip340 {
    fn keygen(&self, input: &Fields) -> Prepared {
        let seed = input.seed()?;
        job(
            move || {
                let pair = Keypair::from_secret_key(&SecretKey::from_secret_bytes(seed)?);
                Ok::<_, secp256k1::Error>(pair.x_only_public_key().0.to_byte_array())
            },
            Output::public_key,
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let (pair, message) = (keypair(input)?, input.message()?);
        job(
            move || Ok::<_, ()>(schnorr::sign_no_aux_rand(&message, &pair).to_byte_array()),
            Output::bytes,
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let (public, _) = keypair(input)?.x_only_public_key();
        let (message, signature) = (input.message()?, input.signature()?);
        verdict(move || {
            <[u8; 64]>::try_from(&*signature).is_ok_and(|bytes| {
                let parsed = schnorr::Signature::from_byte_array(bytes);
                schnorr::verify(&parsed, &message, &public).is_ok()
            })
        })
    }
}

/// RSA keys cannot be derived from a seed here, and making one takes a good part of a second.
struct AwsRsa {
    size: KeySize,
    pair: OnceLock<Result<Arc<RsaKeyPair>, String>>,
}

impl AwsRsa {
    fn new(size: KeySize) -> Self {
        Self {
            size,
            pair: OnceLock::new(),
        }
    }

    /// The process's key pair.
    fn pair(&self) -> Result<Arc<RsaKeyPair>, String> {
        let make = || RsaKeyPair::generate(self.size).map_err(|error| describe(&error));
        self.pair.get_or_init(|| make().map(Arc::new)).clone()
    }
}

impl Scheme for AwsRsa {
    fn sign(&self, input: &Fields) -> Prepared {
        let (pair, message) = (self.pair()?, input.message()?);
        let random = SystemRandom::new();
        job(
            move || {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PSS_SHA256, &random, &message, &mut signature)
                    .map(|()| signature)
            },
            Output::Bytes,
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        aws_verdict(&RSA_PSS_2048_8192_SHA256, self.pair()?.public_key(), input)
    }
}
