//! What the test files share. Every test runs on every *subject*: each parameter set on each
//! backend this machine has, with compact and with expanded keys.

mod backends;
pub mod batch;
pub mod forge;
pub mod kats;

pub use backends::backends;
use mldsa_lanes::hazmat::{external_mu, with_max_attempts, with_rnd};
use mldsa_lanes::{
    Backend, Context, Error, ExpandedSigningKey, ExpandedVerifyingKey, Input, MlDsa44, MlDsa65,
    MlDsa87, Mu, ParameterSet, Signature, SigningKey, VerifyingKey,
};
use mldsa_oracle as oracle;
use mldsa_oracle::Params;
use mldsa_trace::{Attempt, SignTraced};
use shake::{ExtendableOutput, Shake128, Shake128Reader, Update, XofReader};
use std::collections::VecDeque;
use std::slice;

/// How the library is called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Compact,
    Expanded,
    /// In a batch, side by side with a compact and with an expanded key.
    Batch,
}

/// One parameter set on one backend called in one form.
#[derive(Clone, Copy)]
pub struct Subject {
    pub p: &'static Params,
    pub backend: Backend,
    pub form: Form,
}

/// All subjects of one parameter set.
pub fn subjects_of(p: &'static Params) -> Vec<Subject> {
    let forms = |backend: Backend| {
        // With one Keccak state a batch has one job at a time.
        let batch = (backend.name() != "portable").then_some(Form::Batch);
        let forms = [Form::Compact, Form::Expanded].into_iter().chain(batch);
        forms.map(move |form| Subject { p, backend, form })
    };
    backends().into_iter().flat_map(forms).collect()
}

/// The subjects of one parameter set with expanded keys only, for tests that need many attempts.
pub fn expanded_subjects_of(p: &'static Params) -> Vec<Subject> {
    subjects_of(p)
        .into_iter()
        .filter(|subject| subject.form == Form::Expanded)
        .collect()
}

/// All subjects.
pub fn subjects() -> Vec<Subject> {
    oracle::PARAMETER_SETS
        .into_iter()
        .flat_map(subjects_of)
        .collect()
}

/// A signing key of a subject, with its encodings.
pub struct Key {
    pub public: Vec<u8>,
    pub secret: Vec<u8>,
    pub signer: Box<dyn Signer>,
}

/// Signing, whatever the set and the form of the key.
pub trait Signer {
    fn sign(&self, input: &Input<'_>, rnd: &[u8; 32]) -> Result<Vec<u8>, Error>;
    fn traced(&self, input: &Input<'_>, rnd: &[u8; 32]) -> Result<Traced, Error>;
    fn bounded(&self, input: &Input<'_>, rnd: &[u8; 32], max: u32) -> Result<Vec<u8>, Error>;
    fn deterministic(&self, message: &[u8], context: &[u8]) -> Result<Vec<u8>, Error>;
    fn hedged(&self, message: &[u8], context: &[u8], rng: &mut TestRng) -> Result<Vec<u8>, Error>;
}

/// A signature and the attempts that led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    pub signature: Vec<u8>,
    pub trace: Vec<oracle::Attempt>,
}

/// Verification, whatever the set and the form of the key.
pub trait Verifier {
    fn verify(&self, input: &Input<'_>, signature: &[u8]) -> Result<(), Error>;
    fn verify_pure(&self, message: &[u8], context: &[u8], sig: &[u8]) -> Result<(), Error>;
    fn tr(&self) -> [u8; 64];
}

/// The library's attempt as the oracle writes it.
pub fn attempt(attempt: Attempt) -> oracle::Attempt {
    let Attempt {
        kappa,
        failed,
        first_failing,
        ..
    } = attempt;
    oracle::Attempt {
        kappa,
        failed,
        first_failing,
    }
}

fn raw(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Vec<u8> {
    bytes.as_ref().to_vec()
}

macro_rules! signer {
    ($($key:ident)*) => { $(
        impl<P: ParameterSet> Signer for $key<P> {
            fn sign(&self, input: &Input<'_>, rnd: &[u8; 32]) -> Result<Vec<u8>, Error> {
                let options = with_rnd(slice::from_ref(rnd));
                self.sign_with(*input, options).map(|signature| raw(signature.as_bytes()))
            }
            fn traced(&self, input: &Input<'_>, rnd: &[u8; 32]) -> Result<Traced, Error> {
                let mut trace = Vec::new();
                let signature = self.sign_traced(input, rnd, |one| trace.push(attempt(one)))?;
                Ok(Traced { signature: raw(signature.as_bytes()), trace })
            }
            fn bounded(
                &self,
                input: &Input<'_>,
                rnd: &[u8; 32],
                max: u32,
            ) -> Result<Vec<u8>, Error> {
                let options = with_max_attempts(with_rnd(slice::from_ref(rnd)), max);
                self.sign_with(*input, options).map(|signature| raw(signature.as_bytes()))
            }
            fn deterministic(&self, message: &[u8], context: &[u8]) -> Result<Vec<u8>, Error> {
                let signature = self.sign_deterministic((message, Context::new(context)?))?;
                Ok(raw(signature.as_bytes()))
            }
            fn hedged(
                &self,
                message: &[u8],
                context: &[u8],
                rng: &mut TestRng,
            ) -> Result<Vec<u8>, Error> {
                let signature = self.sign_hedged((message, Context::new(context)?), rng)?;
                Ok(raw(signature.as_bytes()))
            }
        }
    )* };
}
signer!(SigningKey ExpandedSigningKey);

macro_rules! verifier {
    ($($key:ident)*) => { $(
        impl<P: ParameterSet> Verifier for $key<P> {
            fn verify(&self, input: &Input<'_>, signature: &[u8]) -> Result<(), Error> {
                self.verify_signature(*input, &Signature::from_bytes(signature)?)
            }
            fn verify_pure(
                &self,
                message: &[u8],
                context: &[u8],
                signature: &[u8],
            ) -> Result<(), Error> {
                let input = (message, Context::new(context)?);
                self.verify_signature(input, &Signature::from_bytes(signature)?)
            }
            fn tr(&self) -> [u8; 64] {
                self.tr()
            }
        }
    )* };
}
verifier!(VerifyingKey ExpandedVerifyingKey);

/// Calls a function that is generic over the parameter set.
macro_rules! dispatch {
    ($p:expr, $function:ident($($argument:expr),*)) => {
        match $p.name {
            "ML-DSA-44" => $function::<MlDsa44>($($argument),*),
            "ML-DSA-65" => $function::<MlDsa65>($($argument),*),
            "ML-DSA-87" => $function::<MlDsa87>($($argument),*),
            other => panic!("no set is called {other}"),
        }
    };
}

fn key_of<P: ParameterSet>(key: SigningKey<P>, form: Form) -> Key {
    Key {
        public: raw(key.verifying_key().as_bytes()),
        secret: raw(key.encoded_bytes()),
        signer: match form {
            Form::Compact => Box::new(key),
            Form::Expanded => key.expand(),
            Form::Batch => Box::new(batch::Signing(key.expand(), key)),
        },
    }
}

fn key_from_seed<P: ParameterSet>(subject: &Subject, xi: &[u8; 32]) -> Key {
    key_of::<P>(SigningKey::from_seed_on(subject.backend, xi), subject.form)
}

fn key_from_bytes<P: ParameterSet>(subject: &Subject, sk: &[u8]) -> Result<Key, Error> {
    Ok(key_of::<P>(
        SigningKey::from_encoded_bytes_on(subject.backend, sk)?,
        subject.form,
    ))
}

fn verifier_of<P: ParameterSet>(subject: &Subject, pk: &[u8]) -> Result<Box<dyn Verifier>, Error> {
    let key = VerifyingKey::<P>::from_bytes(pk)?.with_backend(subject.backend);
    Ok(match subject.form {
        Form::Compact => Box::new(key),
        Form::Expanded => key.expand(),
        Form::Batch => Box::new(batch::Verifying(key.expand(), key)),
    })
}

impl Subject {
    /// What a failing assertion says of the subject.
    pub fn label(&self) -> String {
        let (set, backend) = (self.p.name, self.backend.name());
        format!("{set} on {backend}, {:?}", self.form)
    }

    /// The key of a seed, derived on this subject's backend.
    pub fn key(&self, xi: &[u8; 32]) -> Key {
        dispatch!(self.p, key_from_seed(self, xi))
    }

    /// The key of an `skEncode` string.
    pub fn import(&self, sk: &[u8]) -> Result<Key, Error> {
        dispatch!(self.p, key_from_bytes(self, sk))
    }

    /// The verifier of a public key.
    pub fn verifier(&self, pk: &[u8]) -> Result<Box<dyn Verifier>, Error> {
        dispatch!(self.p, verifier_of(self, pk))
    }

    /// The verdict on a signature, public keys and signatures of wrong length being refused.
    pub fn accepts(&self, pk: &[u8], input: &Input<'_>, signature: &[u8]) -> bool {
        self.verifier(pk)
            .is_ok_and(|verifier| verifier.verify(input, signature).is_ok())
    }
}

/// A context of at most 255 bytes.
pub fn context(bytes: &[u8]) -> Context<'_> {
    Context::new(bytes).expect("at most 255 bytes")
}

/// A message, its context, and the function that hashes it first, if one does.
pub type Parts<'m> = (&'m [u8], &'m [u8], Option<oracle::PreHash>);

/// An input that owns its bytes and knows the oracle's μ for it.
#[derive(Clone, Debug)]
pub enum Message {
    Pure {
        message: Vec<u8>,
        context: Vec<u8>,
    },
    PreHash {
        hash: oracle::PreHash,
        message: Vec<u8>,
        context: Vec<u8>,
    },
    Digest {
        hash: oracle::PreHash,
        digest: Vec<u8>,
        message: Vec<u8>,
        context: Vec<u8>,
    },
    Mu(Mu),
}

impl Message {
    pub fn of_mu(mu: [u8; 64]) -> Self {
        Message::Mu(external_mu(mu))
    }

    pub fn input(&self) -> Input<'_> {
        match self {
            Message::Pure { message, context } => Input::Pure {
                message,
                context: self::context(context),
            },
            Message::PreHash {
                hash,
                message,
                context,
            } => match prehash(*hash) {
                // Half of the hash functions are too weak for some set.
                hash if hash.collision_bits() == 256 => Input::PreHash {
                    hash,
                    message,
                    context: self::context(context),
                },
                hash => Input::WeakPreHash {
                    hash,
                    message,
                    context: self::context(context),
                },
            },
            Message::Digest {
                hash,
                digest,
                context,
                ..
            } => match prehash(*hash) {
                hash if hash.collision_bits() == 256 => Input::Digest {
                    hash,
                    digest,
                    context: self::context(context),
                },
                hash => Input::WeakDigest {
                    hash,
                    digest,
                    context: self::context(context),
                },
            },
            Message::Mu(mu) => Input::Mu(mu),
        }
    }

    /// What it consists of; or the μ that it is.
    pub fn parts(&self) -> Result<Parts<'_>, &Mu> {
        match self {
            Message::Pure { message, context } => Ok((message, context, None)),
            Message::PreHash {
                hash,
                message,
                context,
            }
            | Message::Digest {
                hash,
                message,
                context,
                ..
            } => Ok((message, context, Some(*hash))),
            Message::Mu(mu) => Err(mu),
        }
    }

    /// μ by the oracle; `tr` is the hash of the public key.
    pub fn mu(&self, tr: &[u8]) -> [u8; 64] {
        let m_prime = match self.parts() {
            Err(mu) => return *mu.as_bytes(),
            Ok((message, context, None)) => oracle::pure_m_prime(message, context),
            Ok((message, context, Some(hash))) => oracle::hash_m_prime(message, context, hash),
        };
        oracle::message_representative(tr, &m_prime.expect("a context of at most 255 bytes"))
    }
}

/// The library's name of a pre-hash function.
pub fn prehash(hash: oracle::PreHash) -> mldsa_lanes::PreHash {
    hash.name().parse().unwrap()
}

/// What the oracle says of signing one message.
pub fn oracle_signature(p: &Params, sk: &[u8], message: &Message, rnd: &[u8; 32]) -> Traced {
    let mu = message.mu(&oracle::sk_decode(p, sk).tr);
    let (signature, trace) = oracle::sign_mu(p, sk, &mu, rnd);
    Traced { signature, trace }
}

/// A reproducible stream of test data: SHAKE128 of a label, after bytes that are given.
pub struct Stream {
    given: VecDeque<u8>,
    rest: Shake128Reader,
}

impl Stream {
    pub fn new(label: &str) -> Self {
        Stream {
            given: VecDeque::new(),
            ..Stream::after(label.as_bytes())
        }
    }

    /// The given bytes, then their SHAKE128.
    pub fn after(given: &[u8]) -> Self {
        let mut hash = Shake128::default();
        hash.update(given);
        Stream {
            given: given.iter().copied().collect(),
            rest: hash.finalize_xof(),
        }
    }

    fn fill(&mut self, out: &mut [u8]) {
        let given = out.len().min(self.given.len());
        let (first, rest) = out.split_at_mut(given);
        first
            .iter_mut()
            .zip(self.given.drain(..given))
            .for_each(|(to, from)| *to = from);
        self.rest.read(rest);
    }

    pub fn array<const L: usize>(&mut self) -> [u8; L] {
        let mut out = [0; L];
        self.fill(&mut out);
        out
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut out = vec![0; length];
        self.fill(&mut out);
        out
    }

    /// A number below `bound`; the bias is below 2^-32 for the small bounds of tests.
    pub fn below(&mut self, bound: usize) -> usize {
        (u64::from_le_bytes(self.array()) % bound as u64) as usize
    }

    /// A pure message of up to 300 bytes with a context of `context` bytes.
    pub fn pure(&mut self, context: usize) -> Message {
        let length = self.below(300);
        Message::Pure {
            message: self.bytes(length),
            context: self.bytes(context),
        }
    }
}

/// A generator that hands out given bytes, and fails when they are used up.
pub struct TestRng {
    bytes: VecDeque<u8>,
}

impl TestRng {
    pub fn new(bytes: &[u8]) -> Self {
        TestRng {
            bytes: bytes.iter().copied().collect(),
        }
    }

    pub fn left(&self) -> usize {
        self.bytes.len()
    }
}

/// The generator has no more bytes.
#[derive(Debug)]
pub struct Empty;

impl core::fmt::Display for Empty {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the test generator is empty")
    }
}

impl core::error::Error for Empty {}

impl rand_core::TryRng for TestRng {
    type Error = Empty;

    fn try_next_u32(&mut self) -> Result<u32, Empty> {
        let mut out = [0; 4];
        self.try_fill_bytes(&mut out)
            .map(|()| u32::from_le_bytes(out))
    }

    fn try_next_u64(&mut self) -> Result<u64, Empty> {
        let mut out = [0; 8];
        self.try_fill_bytes(&mut out)
            .map(|()| u64::from_le_bytes(out))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Empty> {
        for byte in out {
            *byte = self.bytes.pop_front().ok_or(Empty)?;
        }
        Ok(())
    }
}

impl rand_core::TryCryptoRng for TestRng {}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
