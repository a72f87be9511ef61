//! The batch interface of mldsa-lanes. The list of jobs that it takes is made anew for each call,
//! as its users do.

use std::mem;
use std::rc::Rc;

use mldsa_lanes::batch::{self, SignJob, SignWith, VerifyJob, VerifyWith};
use mldsa_lanes::hazmat::with_rnd;
use mldsa_lanes::{
    Backend, Context, Error, ExpandedSigningKey, ExpandedVerifyingKey, Input, ParameterSet,
    Signature, SigningKey, VerifyingKey,
};

use crate::adapter::{Output, describe};
use crate::bytes::Bytes;
use crate::runs::{Answer, Group};

/// A private key as signing takes it.
pub enum Signer<P: ParameterSet> {
    Compact(Box<SigningKey<P>>),
    Expanded(Rc<ExpandedSigningKey<P>>),
}

/// A public key as verification takes it.
pub enum Verifier<P: ParameterSet> {
    Compact(Box<VerifyingKey<P>>),
    Expanded(Rc<ExpandedVerifyingKey<P>>),
}

/// What is signed.
pub struct ToSign<P: ParameterSet> {
    pub key: Signer<P>,
    pub message: Bytes,
    pub context: Vec<u8>,
    pub rnd: [u8; 32],
}

/// What is verified; a public key that cannot be read is none.
pub struct ToVerify<P: ParameterSet> {
    pub key: Option<Verifier<P>>,
    pub message: Bytes,
    pub context: Vec<u8>,
    pub signature: Bytes,
}

/// Signing in batches.
pub struct Signing<P: ParameterSet> {
    inputs: Vec<Result<ToSign<P>, String>>,
    results: Vec<Result<Signature<P>, Error>>,
}

impl<P: ParameterSet> Signing<P> {
    pub fn new(inputs: Vec<Result<ToSign<P>, String>>) -> Self {
        let results = Vec::new();
        Self { inputs, results }
    }
}

impl<P: ParameterSet> Group for Signing<P> {
    fn perform(&mut self, items: &[usize]) {
        let jobs = items.iter().filter_map(|&item| {
            let to_sign = self.inputs[item].as_ref().ok()?;
            let job = SignJob {
                key: match &to_sign.key {
                    Signer::Compact(key) => SignWith::Compact(key),
                    Signer::Expanded(key) => SignWith::Expanded(key),
                },
                input: pure(&to_sign.message, &to_sign.context).ok()?,
            };
            Some((job, to_sign.rnd))
        });
        let (jobs, rnds): (Vec<_>, Vec<_>) = jobs.unzip();
        self.results = batch::sign(&jobs, with_rnd(&rnds)).unwrap_or_default();
    }

    fn outputs(&mut self, items: &[usize]) -> Vec<Answer> {
        let mut results = mem::take(&mut self.results).into_iter();
        let mut next = |&item: &usize| match &self.inputs[item] {
            Err(text) => Err(text.clone()),
            Ok(to_sign) => match Context::new(&to_sign.context).map(|_| results.next()) {
                Ok(Some(Ok(signature))) => Ok(Output::bytes(signature.as_bytes())),
                Ok(Some(Err(error))) | Err(error) => Err(describe(&error)),
                Ok(None) => Err("the batch gave too few results".into()),
            },
        };
        items.iter().map(&mut next).collect()
    }
}

/// Verification in batches.
pub struct Verification<P: ParameterSet> {
    inputs: Vec<Result<ToVerify<P>, String>>,
    /// Of each input the signature as it was read last: reading is part of verification.
    signatures: Vec<Option<Signature<P>>>,
    results: Vec<Result<(), Error>>,
}

impl<P: ParameterSet> Verification<P> {
    pub fn new(inputs: Vec<Result<ToVerify<P>, String>>) -> Self {
        Self {
            signatures: vec![None; inputs.len()],
            inputs,
            results: Vec::new(),
        }
    }
}

impl<P: ParameterSet> Group for Verification<P> {
    fn perform(&mut self, items: &[usize]) {
        for &item in items {
            if let Ok(to_verify) = &self.inputs[item] {
                self.signatures[item] = Signature::from_bytes(&to_verify.signature).ok();
            }
        }
        let jobs = items.iter().filter_map(|&item| {
            let to_verify = self.inputs[item].as_ref().ok()?;
            Some(VerifyJob {
                key: match to_verify.key.as_ref()? {
                    Verifier::Compact(key) => VerifyWith::Compact(key),
                    Verifier::Expanded(key) => VerifyWith::Expanded(key),
                },
                input: pure(&to_verify.message, &to_verify.context).ok()?,
                signature: self.signatures[item].as_ref()?,
            })
        });
        self.results = batch::verify(&jobs.collect::<Vec<_>>());
    }

    fn outputs(&mut self, items: &[usize]) -> Vec<Answer> {
        let mut results = mem::take(&mut self.results).into_iter();
        let mut next = |&item: &usize| {
            let to_verify = self.inputs[item].as_ref().map_err(Clone::clone)?;
            let read = to_verify.key.is_some()
                && self.signatures[item].is_some()
                && Context::new(&to_verify.context).is_ok();
            let verdict = read && results.next().is_some_and(|result| result.is_ok());
            Ok(Output::Verdict(verdict))
        };
        items.iter().map(&mut next).collect()
    }
}

/// Key generation in batches.
pub struct Generation<P: ParameterSet> {
    pub backend: Backend,
    pub seeds: Vec<Result<[u8; 32], String>>,
    pub keys: Vec<SigningKey<P>>,
}

impl<P: ParameterSet> Group for Generation<P> {
    fn perform(&mut self, items: &[usize]) {
        let seeds = items
            .iter()
            .filter_map(|&item| self.seeds[item].clone().ok());
        self.keys = batch::keygen(self.backend, &seeds.collect::<Vec<_>>());
    }

    fn outputs(&mut self, items: &[usize]) -> Vec<Answer> {
        let mut keys = mem::take(&mut self.keys).into_iter();
        let mut next = |&item: &usize| {
            self.seeds[item].as_ref().map_err(Clone::clone)?;
            let key = keys.next().ok_or("the batch gave too few keys")?;
            let public = key.verifying_key();
            Ok(Output::key_pair(public.as_bytes(), key.encoded_bytes()))
        };
        items.iter().map(&mut next).collect()
    }
}

pub(super) fn pure<'a>(message: &'a [u8], context: &'a [u8]) -> Result<Input<'a>, Error> {
    let context = Context::new(context)?;
    Ok(Input::Pure { message, context })
}
