//! Jobs for the batch functions, and what the single ones say of them.

use super::{Signer, Stream, TestRng, Traced, Verifier, backends, context};
use mldsa_lanes::batch::{self, SignWith, VerifyJob, VerifyWith};
use mldsa_lanes::hazmat::{self, with_max_attempts, with_rnd};
use mldsa_lanes::{
    Backend, Context, Error, ExpandedSigningKey, ExpandedVerifyingKey, Input, Mu, ParameterSet,
    PreHash, Signature, SigningKey, VerifyingKey,
};

/// A job and its `rnd`.
#[derive(Clone, Copy)]
pub struct SignJob<'a, P: ParameterSet> {
    pub key: SignWith<'a, P>,
    pub input: Input<'a>,
    pub rnd: &'a [u8; 32],
}

/// What a batch takes of the jobs, and the values of `rnd`.
pub fn parts<'a, P: ParameterSet>(
    jobs: &[SignJob<'a, P>],
) -> (Vec<batch::SignJob<'a, P>>, Vec<[u8; 32]>) {
    let part = |job: &SignJob<'a, P>| {
        let SignJob { key, input, rnd } = *job;
        (batch::SignJob { key, input }, *rnd)
    };
    jobs.iter().map(part).unzip()
}

/// [`batch::sign`] with the `rnd` of each job.
pub fn sign<P: ParameterSet>(jobs: &[SignJob<'_, P>]) -> Vec<Result<Signature<P>, Error>> {
    sign_bounded(jobs, 821)
}

/// [`sign`] with at most `max` attempts.
pub fn sign_bounded<P: ParameterSet>(
    jobs: &[SignJob<'_, P>],
    max: u32,
) -> Vec<Result<Signature<P>, Error>> {
    let (jobs, rnds) = parts(jobs);
    batch::sign(&jobs, with_max_attempts(with_rnd(&rnds), max)).expect("a value of rnd for each")
}

/// A key in all its forms.
pub struct Key<P: ParameterSet> {
    pub signing: SigningKey<P>,
    pub signing_expanded: Box<ExpandedSigningKey<P>>,
    pub verifying: VerifyingKey<P>,
    pub verifying_expanded: Box<ExpandedVerifyingKey<P>>,
}

impl<P: ParameterSet> Key<P> {
    pub fn new(backend: Backend, seed: &[u8; 32]) -> Self {
        let signing = SigningKey::from_seed_on(backend, seed);
        let verifying: VerifyingKey<P> = signing.verifying_key().clone();
        Key {
            signing_expanded: signing.expand(),
            verifying_expanded: verifying.expand(),
            signing,
            verifying,
        }
    }

    pub fn sign_with(&self, expanded: bool) -> SignWith<'_, P> {
        if expanded {
            (&self.signing_expanded).into()
        } else {
            (&self.signing).into()
        }
    }

    pub fn verify_with(&self, expanded: bool) -> VerifyWith<'_, P> {
        if expanded {
            (&self.verifying_expanded).into()
        } else {
            (&self.verifying).into()
        }
    }
}

/// What a job is made of, with the bytes it refers to.
pub struct Case {
    pub key: usize,
    pub expanded: bool,
    pub kind: usize,
    pub message: Vec<u8>,
    pub context: Vec<u8>,
    pub mu: Mu,
    pub rnd: [u8; 32],
}

impl Case {
    pub fn new(stream: &mut Stream, keys: usize) -> Self {
        let kind = stream.below(8);
        let length = match stream.below(8) {
            0 => 0,
            1 => 3000,
            _ => stream.below(300),
        };
        let context = stream.below(40);
        Case {
            key: stream.below(keys),
            expanded: stream.below(2) == 0,
            kind,
            message: stream.bytes(length),
            context: stream.bytes(context),
            mu: match kind {
                0 => hazmat::mu_hasher(&stream.array(), Context::EMPTY).finish(),
                _ => hazmat::external_mu(stream.array()),
            },
            rnd: if stream.below(2) == 0 {
                [0; 32]
            } else {
                stream.array()
            },
        }
    }

    /// μ of another key, a digest of a wrong length, pre-hashed, a digest, μ; else pure.
    pub fn input(&self) -> Input<'_> {
        let (message, context) = (&self.message[..], context(&self.context));
        let hash = PreHash::Sha2_256;
        match self.kind {
            1 => Input::WeakDigest {
                hash,
                digest: self.mu.as_bytes(),
                context,
            },
            2 => Input::PreHash {
                hash: PreHash::Shake256,
                message,
                context,
            },
            3 => Input::WeakDigest {
                hash,
                digest: &self.mu.as_bytes()[..32],
                context,
            },
            0 | 4 => Input::Mu(&self.mu),
            _ => Input::Pure { message, context },
        }
    }

    pub fn sign_job<'a, P: ParameterSet>(&'a self, keys: &'a [Key<P>]) -> SignJob<'a, P> {
        SignJob {
            key: keys[self.key].sign_with(self.expanded),
            input: self.input(),
            rnd: &self.rnd,
        }
    }
}

pub fn sign_alone<P: ParameterSet>(job: &SignJob<'_, P>) -> Result<Signature<P>, Error> {
    sign_alone_bounded(job, 821)
}

pub fn sign_alone_bounded<P: ParameterSet>(
    job: &SignJob<'_, P>,
    max: u32,
) -> Result<Signature<P>, Error> {
    let options = with_max_attempts(with_rnd(std::slice::from_ref(job.rnd)), max);
    match job.key {
        SignWith::Compact(key) => key.sign_with(job.input, options),
        SignWith::Expanded(key) => key.sign_with(job.input, options),
    }
}

pub fn verify_alone<P: ParameterSet>(job: &VerifyJob<'_, P>) -> Result<(), Error> {
    match job.key {
        VerifyWith::Compact(key) => key.verify_signature(job.input, job.signature),
        VerifyWith::Expanded(key) => key.verify_signature(job.input, job.signature),
    }
}

/// Some keys on each backend of this machine.
pub fn keys<P: ParameterSet>(stream: &mut Stream) -> Vec<Key<P>> {
    let seeds: [[u8; 32]; 3] = [stream.array(), stream.array(), stream.array()];
    let pairs = backends()
        .into_iter()
        .flat_map(|b| seeds.map(|seed| (b, seed)));
    pairs
        .map(|(backend, seed)| Key::new(backend, &seed))
        .collect()
}

/// Both forms of a key. Signs in a batch of both, which must agree; what a batch cannot do is done by
/// the expanded key.
pub struct Signing<P: ParameterSet>(pub Box<ExpandedSigningKey<P>>, pub SigningKey<P>);

impl<P: ParameterSet> Signing<P> {
    fn jobs<'a>(&'a self, input: &Input<'a>, rnd: &'a [u8; 32]) -> [SignJob<'a, P>; 2] {
        [(&*self.0).into(), (&self.1).into()].map(|key| SignJob {
            key,
            input: *input,
            rnd,
        })
    }
}

/// The one result of two jobs that are the same.
fn both<P: ParameterSet>(results: &[Result<Signature<P>, Error>]) -> Result<Vec<u8>, Error> {
    assert_eq!(results[0], results[1], "{}", P::NAME);
    let first = results[0].as_ref().map_err(|error| *error)?;
    Ok(first.as_ref().to_vec())
}

impl<P: ParameterSet> Signer for Signing<P> {
    fn sign(&self, input: &Input<'_>, rnd: &[u8; 32]) -> Result<Vec<u8>, Error> {
        both(&sign(&self.jobs(input, rnd)))
    }
    fn traced(&self, input: &Input<'_>, rnd: &[u8; 32]) -> Result<Traced, Error> {
        let traced = self.0.traced(input, rnd);
        assert_eq!(
            self.sign(input, rnd).as_ref().ok(),
            traced.as_ref().ok().map(|t| &t.signature)
        );
        traced
    }
    fn bounded(&self, input: &Input<'_>, rnd: &[u8; 32], max: u32) -> Result<Vec<u8>, Error> {
        both(&sign_bounded(&self.jobs(input, rnd), max))
    }
    fn deterministic(&self, message: &[u8], context: &[u8]) -> Result<Vec<u8>, Error> {
        let context = Context::new(context)?;
        Signer::sign(self, &Input::Pure { message, context }, &[0; 32])
    }
    fn hedged(&self, message: &[u8], context: &[u8], rng: &mut TestRng) -> Result<Vec<u8>, Error> {
        self.0.hedged(message, context, rng)
    }
}

/// Both forms of a public key, which verify side by side and must agree.
pub struct Verifying<P: ParameterSet>(pub Box<ExpandedVerifyingKey<P>>, pub VerifyingKey<P>);

impl<P: ParameterSet> Verifier for Verifying<P> {
    fn verify(&self, input: &Input<'_>, signature: &[u8]) -> Result<(), Error> {
        let signature = &Signature::from_bytes(signature)?;
        let job = |key| VerifyJob {
            key,
            input: *input,
            signature,
        };
        let results = batch::verify(&[job((&self.0).into()), job((&self.1).into())]);
        assert_eq!(results[0], results[1], "{}", P::NAME);
        results[0]
    }
    fn verify_pure(&self, message: &[u8], context: &[u8], sig: &[u8]) -> Result<(), Error> {
        let context = Context::new(context)?;
        Verifier::verify(self, &Input::Pure { message, context }, sig)
    }
    fn tr(&self) -> [u8; 64] {
        self.0.tr()
    }
}
