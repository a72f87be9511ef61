//! Mistakes of the cryptography: schemes that wrap a right one.

use mldsa_oracle::{ML_DSA_44, ML_DSA_65, ML_DSA_87, Params, verify_without_z_check};
use mldsa_worker_rust::adapter::{
    Inputs, Job, Key, Output, Prepared, Scheme, TIMED, Variant, verdict,
};
use mldsa_worker_rust::adapters::lanes;
use mldsa_worker_rust::protocol::{Fields, Operation};
use mldsa_worker_rust::runs::{Answer, Group};
use mldsa_worker_rust::timing::Ticks;

/// The variant of a mode; a mode whose mistake is one of the protocol computes rightly.
pub fn variant(mode: &str, mistake: &str) -> Variant {
    let right = lanes::variants()
        .into_iter()
        .find(|variant| variant.backend == "portable" && variant.key == Key::Compact)
        .expect("the portable backend is always there");
    let parameters = [&ML_DSA_44, &ML_DSA_65, &ML_DSA_87];
    let schemes = right
        .schemes
        .into_iter()
        .zip(parameters)
        .map(|((set, scheme), params)| {
            let broken: Box<dyn Scheme> = match mode {
                "flip-byte" => Box::new(FlipByte(scheme)),
                "wrong-key" => Box::new(WrongKey(scheme)),
                "accept-all" => Box::new(AcceptAll(scheme)),
                "spoil-batch" => Box::new(SpoilBatch(scheme)),
                "skip-z-check" => Box::new(SkipZCheck(scheme, params)),
                _ => scheme,
            };
            (set, broken)
        });
    Variant {
        implementation: format!("broken-{mode}").leak(),
        version: env!("CARGO_PKG_VERSION"),
        backend: "test",
        operations: TIMED,
        batch: mode == "spoil-batch",
        note: format!("deliberately broken: {mistake}"),
        schemes: schemes.collect(),
        ..right
    }
}

struct FlipByte(Box<dyn Scheme>);

impl Scheme for FlipByte {
    fn keygen(&self, input: &Fields) -> Prepared {
        self.0.keygen(input)
    }
    fn sign(&self, input: &Fields) -> Prepared {
        Ok(Box::new(Flipped(self.0.sign(input)?)))
    }
    fn verify(&self, input: &Fields) -> Prepared {
        self.0.verify(input)
    }
}

/// A job whose signature has one bit of one byte of z inverted.
struct Flipped(Box<dyn Job>);

fn flip(output: Output) -> Output {
    match output {
        Output::Bytes(mut signature) => {
            let middle = signature.len() / 2;
            signature[middle] ^= 1;
            Output::Bytes(signature)
        }
        other => other,
    }
}

impl Job for Flipped {
    fn answer(&mut self) -> Result<Output, String> {
        self.0.answer().map(flip)
    }
    fn measure(&mut self, calls: u64) -> (Ticks, Result<Output, String>) {
        let (ticks, output) = self.0.measure(calls);
        (ticks, output.map(flip))
    }
    fn perform(&mut self) {
        self.0.perform();
    }
    fn kept(&mut self) -> Vec<Result<Output, String>> {
        let kept = self.0.kept().into_iter();
        kept.map(|output| output.map(flip)).collect()
    }
}

struct WrongKey(Box<dyn Scheme>);

impl Scheme for WrongKey {
    fn keygen(&self, input: &Fields) -> Prepared {
        let mut other = input.clone();
        other.seed = input.seed.as_deref().map(|seed| {
            let mut seed = seed.to_vec();
            if let Some(byte) = seed.first_mut() {
                *byte ^= 1;
            }
            seed.into()
        });
        self.0.keygen(&other)
    }
    fn sign(&self, input: &Fields) -> Prepared {
        self.0.sign(input)
    }
    fn verify(&self, input: &Fields) -> Prepared {
        self.0.verify(input)
    }
}

struct AcceptAll(Box<dyn Scheme>);

impl Scheme for AcceptAll {
    fn keygen(&self, input: &Fields) -> Prepared {
        self.0.keygen(input)
    }
    fn sign(&self, input: &Fields) -> Prepared {
        self.0.sign(input)
    }
    fn verify(&self, _input: &Fields) -> Prepared {
        verdict(|| true)
    }
}

struct SpoilBatch(Box<dyn Scheme>);

impl Scheme for SpoilBatch {
    fn keygen(&self, input: &Fields) -> Prepared {
        self.0.keygen(input)
    }
    fn sign(&self, input: &Fields) -> Prepared {
        self.0.sign(input)
    }
    fn verify(&self, input: &Fields) -> Prepared {
        self.0.verify(input)
    }
    fn batch(&self, operation: Operation, inputs: Inputs<'_>) -> Option<Box<dyn Group>> {
        Some(Box::new(Spoiled(self.0.batch(operation, inputs)?)))
    }
}

/// A batch that is as good as its worst operation.
struct Spoiled(Box<dyn Group>);

impl Group for Spoiled {
    fn perform(&mut self, items: &[usize]) {
        self.0.perform(items);
    }
    fn outputs(&mut self, items: &[usize]) -> Vec<Answer> {
        let outputs = self.0.outputs(items);
        let bad = |output: &&Answer| matches!(output, Err(_) | Ok(Output::Verdict(false)));
        match outputs.iter().find(bad) {
            Some(bad) => vec![bad.clone(); outputs.len()],
            None => outputs,
        }
    }
}

struct SkipZCheck(Box<dyn Scheme>, &'static Params);

impl Scheme for SkipZCheck {
    fn keygen(&self, input: &Fields) -> Prepared {
        self.0.keygen(input)
    }
    fn sign(&self, input: &Fields) -> Prepared {
        self.0.sign(input)
    }
    fn verify(&self, input: &Fields) -> Prepared {
        let (params, pk, signature) = (self.1, input.pk()?.to_vec(), input.signature()?);
        let m_prime = mldsa_oracle::pure_m_prime(&input.message()?, &input.context()?);
        verdict(move || {
            m_prime
                .as_ref()
                .is_some_and(|m_prime| verify_without_z_check(params, &pk, m_prime, &signature))
        })
    }
}
