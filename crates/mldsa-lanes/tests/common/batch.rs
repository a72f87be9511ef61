//! Jobs for the batch functions, and what the single ones say of them.

use super::{Stream, backends};
use mldsa_lanes::batch::{SignJob, SignWith, VerifyJob, VerifyWith};
use mldsa_lanes::{
    Backend, Error, ExpandedSigningKey, ExpandedVerifyingKey, Input, ParameterSet, PreHash,
    Signature, SigningKey, VerifyingKey,
};

/// A key in all its forms.
pub struct Key<P: ParameterSet> {
    pub signing: SigningKey<P>,
    pub signing_expanded: ExpandedSigningKey<P>,
    pub verifying: VerifyingKey<P>,
    pub verifying_expanded: ExpandedVerifyingKey<P>,
}

impl<P: ParameterSet> Key<P> {
    pub fn new(backend: Backend, seed: &[u8; 32]) -> Self {
        let signing = SigningKey::from_seed_on(backend, seed);
        let verifying = signing.verifying_key();
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
    pub mu: [u8; 64],
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
        let context = match kind {
            0 => 256,
            _ => stream.below(40),
        };
        Case {
            key: stream.below(keys),
            expanded: stream.below(2) == 0,
            kind,
            message: stream.bytes(length),
            context: stream.bytes(context),
            mu: stream.array(),
            rnd: if stream.below(2) == 0 {
                [0; 32]
            } else {
                stream.array()
            },
        }
    }

    /// A context too long, a digest of a wrong length, pre-hashed, a digest, μ; else pure.
    pub fn input(&self) -> Input<'_> {
        let (message, context) = (&self.message[..], &self.context[..]);
        let hash = PreHash::Sha2_256;
        match self.kind {
            1 => Input::Digest {
                hash,
                digest: &self.mu,
                context,
            },
            2 => Input::PreHash {
                hash: PreHash::Shake256,
                message,
                context,
            },
            3 => Input::Digest {
                hash,
                digest: &self.mu[..32],
                context,
            },
            4 => Input::Mu(&self.mu),
            _ => Input::Pure { message, context },
        }
    }

    pub fn sign_job<'a, P: ParameterSet>(&'a self, keys: &'a [Key<P>]) -> SignJob<'a, P> {
        SignJob {
            key: keys[self.key].sign_with(self.expanded),
            input: self.input(),
            rnd: self.rnd,
        }
    }
}

pub fn sign_alone<P: ParameterSet>(job: &SignJob<'_, P>) -> Result<Signature<P>, Error> {
    match job.key {
        SignWith::Compact(key) => key.sign_input(&job.input, &job.rnd),
        SignWith::Expanded(key) => key.sign_input(&job.input, &job.rnd),
    }
}

pub fn verify_alone<P: ParameterSet>(job: &VerifyJob<'_, P>) -> Result<(), Error> {
    match job.key {
        VerifyWith::Compact(key) => key.verify_input(&job.input, job.signature),
        VerifyWith::Expanded(key) => key.verify_input(&job.input, job.signature),
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
