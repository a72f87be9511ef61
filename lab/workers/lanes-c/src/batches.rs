//! The batch functions of the C interface. The jobs are made anew for each call, as its users do.

use std::ptr::{null, null_mut};
use std::rc::Rc;

use mldsa::hazmat::mldsa_hazmat_sign_batch_with_rnd;
use mldsa::*;
use mldsa_worker_loop::adapter::Output;
use mldsa_worker_loop::bytes::Bytes;
use mldsa_worker_loop::runs::{Answer, Group};

use crate::lanes_c::{Handle, SigningKey, VerifyingKey, done, key_pair, pure};

/// What is signed.
pub struct ToSign {
    pub key: Rc<SigningKey>,
    pub message: Bytes,
    pub context: Vec<u8>,
    pub rnd: [u8; 32],
}

/// What is verified; a public key that cannot be read is NULL.
pub struct ToVerify {
    pub key: Option<Rc<VerifyingKey>>,
    pub message: Bytes,
    pub context: Vec<u8>,
    pub signature: Bytes,
}

/// Signing in batches; `size` is that of a signature.
pub struct Signing {
    pub inputs: Vec<Result<ToSign, String>>,
    pub size: usize,
    pub signatures: Vec<u8>,
    pub outcomes: Vec<mldsa_error>,
}

impl Group for Signing {
    fn perform(&mut self, items: &[usize]) {
        let taken = items
            .iter()
            .filter_map(|&item| self.inputs[item].as_ref().ok());
        let taken: Vec<&ToSign> = taken.collect();
        self.signatures = vec![0; taken.len() * self.size];
        let places = self.signatures.chunks_exact_mut(self.size);
        let job = |(input, place): (&&ToSign, &mut [u8])| mldsa_sign_job {
            key: input.key.0,
            input: pure(&input.message, &input.context),
            signature: place.as_mut_ptr(),
            signature_len: place.len(),
            outcome: MLDSA_OK,
        };
        let mut jobs: Vec<_> = taken.iter().zip(places).map(job).collect();
        let rnds: Vec<_> = taken.iter().map(|input| input.rnd).collect();
        let rnds = rnds.as_flattened();
        // SAFETY: the jobs hold keys, and pointers with their lengths.
        let code = unsafe {
            let (first, count) = (jobs.as_mut_ptr(), jobs.len());
            mldsa_hazmat_sign_batch_with_rnd(first, count, rnds.as_ptr(), rnds.len(), 1)
        };
        let outcome = |job: &mldsa_sign_job| if code == MLDSA_OK { job.outcome } else { code };
        self.outcomes = jobs.iter().map(outcome).collect();
    }

    fn outputs(&mut self, items: &[usize]) -> Vec<Answer> {
        let signatures = self.signatures.chunks_exact(self.size);
        let mut results = self.outcomes.iter().zip(signatures);
        let mut next = |&item: &usize| {
            self.inputs[item].as_ref().map_err(Clone::clone)?;
            let (&code, signature) = results.next().ok_or("the batch gave too few results")?;
            done(code).map(|()| Output::bytes(signature))
        };
        items.iter().map(&mut next).collect()
    }
}

/// Verification in batches.
pub struct Verification {
    pub inputs: Vec<Result<ToVerify, String>>,
    pub outcomes: Vec<mldsa_error>,
}

impl Group for Verification {
    fn perform(&mut self, items: &[usize]) {
        let taken = items
            .iter()
            .filter_map(|&item| self.inputs[item].as_ref().ok());
        let job = |input: &ToVerify| mldsa_verify_job {
            key: input.key.as_ref().map_or(null(), |key| key.0),
            input: pure(&input.message, &input.context),
            signature: input.signature.as_ptr(),
            signature_len: input.signature.len(),
            outcome: MLDSA_ERROR_SIGNATURE,
        };
        let mut jobs: Vec<_> = taken.map(job).collect();
        // SAFETY: the jobs hold keys, and pointers with their lengths.
        let code = unsafe { mldsa_verify_batch(jobs.as_mut_ptr(), jobs.len(), 1) };
        let outcome = |job: &mldsa_verify_job| if code == MLDSA_OK { job.outcome } else { code };
        self.outcomes = jobs.iter().map(outcome).collect();
    }

    fn outputs(&mut self, items: &[usize]) -> Vec<Answer> {
        let mut results = self.outcomes.iter();
        let mut next = |&item: &usize| {
            self.inputs[item].as_ref().map_err(Clone::clone)?;
            Ok(Output::Verdict(results.next() == Some(&MLDSA_OK)))
        };
        items.iter().map(&mut next).collect()
    }
}

/// Key generation in batches.
pub struct Generation {
    pub set: mldsa_set,
    pub seeds: Vec<Result<[u8; 32], String>>,
    pub keys: Vec<SigningKey>,
}

impl Group for Generation {
    fn perform(&mut self, items: &[usize]) {
        let seeds = items
            .iter()
            .filter_map(|&item| self.seeds[item].clone().ok());
        let seeds: Vec<_> = seeds.collect();
        let mut keys = vec![null_mut(); seeds.len()];
        let bytes = seeds.as_flattened();
        if !keys.is_empty() {
            let (from, length, to) = (bytes.as_ptr(), bytes.len(), keys.as_mut_ptr());
            // SAFETY: the pointers have the lengths given.
            unsafe { mldsa_signing_key_generate_batch(self.set, keys.len(), from, length, to, 1) };
        }
        let own = |key| Handle(key, mldsa_signing_key_free);
        self.keys = keys.into_iter().map(own).collect();
    }

    fn outputs(&mut self, items: &[usize]) -> Vec<Answer> {
        let mut keys = self.keys.iter();
        let mut next = |&item: &usize| {
            self.seeds[item].as_ref().map_err(Clone::clone)?;
            let key = keys.next().ok_or("the batch gave too few keys")?;
            Ok(key_pair(self.set, key))
        };
        items.iter().map(&mut next).collect()
    }
}
