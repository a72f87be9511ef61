//! mldsa-lanes: each of its backends that this CPU has, with compact and with expanded keys.

use std::marker::PhantomData;
use std::rc::Rc;
use std::slice;

use mldsa_lanes::hazmat::with_rnd;
use mldsa_lanes::{
    Backend, Error, ExpandedSigningKey, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Signature,
    SigningKey, VerifyingKey,
};
use mldsa_trace::{SignTraced, mldsa_lanes as traced};

use super::lanes_batch::{
    Generation, Signer, Signing, ToSign, ToVerify, Verification, Verifier, pure,
};
use crate::adapter::{
    Inputs, Key, Output, Prepared, Scheme, Variant, attempt_word, job, ml_dsa_sets, refused,
    shared, verdict,
};
use crate::build_info;
use crate::protocol::{Fields, Operation};
use crate::runs::Group;

pub fn variants() -> Vec<Variant> {
    Backend::available()
        .flat_map(|backend| [variant::<false>(backend), variant::<true>(backend)])
        .collect()
}

fn variant<const EXPANDED: bool>(backend: Backend) -> Variant {
    const COMPACT: &[Operation] = &[
        Operation::Keygen,
        Operation::Sign,
        Operation::Verify,
        Operation::Trace,
    ];
    let (key, operations, note) = if EXPANDED {
        let cached = "A-hat, tr and NTT forms are cached in the key";
        (Key::Expanded, &COMPACT[1..], cached)
    } else {
        let parsed = "keys stay byte strings; checking an imported key is outside the timed call";
        (Key::Compact, COMPACT, parsed)
    };
    Variant {
        backend: build_info::backend_name(backend.name(), build_info::rust_allowed),
        key,
        operations,
        batch: true,
        note: note.into(),
        schemes: ml_dsa_sets(
            Lanes::<MlDsa44, EXPANDED>(backend, PhantomData),
            Lanes::<MlDsa65, EXPANDED>(backend, PhantomData),
            Lanes::<MlDsa87, EXPANDED>(backend, PhantomData),
        ),
        ..Variant::new("mldsa-lanes", build_info::MLDSA_LANES)
    }
}

struct Lanes<P, const EXPANDED: bool>(Backend, PhantomData<fn() -> P>);

/// The same set in the library of traces. This worker measures the published package, and traces come from
/// mldsa-inside, whose types are others: keys pass between them as bytes.
trait Traced {
    type Set: traced::ParameterSet;
}

impl Traced for MlDsa44 {
    type Set = traced::MlDsa44;
}

impl Traced for MlDsa65 {
    type Set = traced::MlDsa65;
}

impl Traced for MlDsa87 {
    type Set = traced::MlDsa87;
}

impl<P: ParameterSet, const EXPANDED: bool> Lanes<P, EXPANDED> {
    fn signing_key(&self, input: &Fields) -> Result<SigningKey<P>, String> {
        let key = SigningKey::from_encoded_bytes(input.sk()?).map_err(|e| e.to_string())?;
        Ok(key.with_backend(self.0))
    }

    fn expanded_signing_key(&self, input: &Fields) -> Result<Rc<ExpandedSigningKey<P>>, String> {
        self.shared(input.sk()?, || Ok(*self.signing_key(input)?.expand()))
    }

    /// The public key; the inner error is one that makes every signature invalid.
    fn verifying_key(&self, input: &Fields) -> Result<Result<VerifyingKey<P>, Error>, String> {
        let key = VerifyingKey::<P>::from_bytes(input.pk()?);
        Ok(key.map(|key| key.with_backend(self.0)))
    }

    fn to_sign(&self, input: &Fields) -> Result<ToSign<P>, String> {
        Ok(ToSign {
            key: if EXPANDED {
                Signer::Expanded(self.expanded_signing_key(input)?)
            } else {
                Signer::Compact(Box::new(self.signing_key(input)?))
            },
            message: input.message()?,
            context: input.context()?,
            rnd: input.rnd()?,
        })
    }

    fn to_verify(&self, input: &Fields) -> Result<ToVerify<P>, String> {
        let key = match self.verifying_key(input)? {
            Err(_) => None,
            Ok(key) if EXPANDED => {
                let expanded = self.shared(input.pk()?, || Ok(*key.expand()))?;
                Some(Verifier::Expanded(expanded))
            }
            Ok(key) => Some(Verifier::Compact(Box::new(key))),
        };
        Ok(ToVerify {
            key,
            message: input.message()?,
            context: input.context()?,
            signature: input.signature()?,
        })
    }

    /// One object for all inputs with these key bytes on this backend.
    fn shared<K: 'static>(
        &self,
        bytes: &[u8],
        make: impl FnOnce() -> Result<K, String>,
    ) -> Result<Rc<K>, String> {
        shared([self.0.name().as_bytes(), bytes].concat(), make)
    }
}

impl<P: ParameterSet + Traced, const EXPANDED: bool> Scheme for Lanes<P, EXPANDED> {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (backend, seed) = (self.0, input.seed()?);
        job(
            move || Ok::<_, ()>(SigningKey::<P>::from_seed_on(backend, &seed)),
            |key| Output::key_pair(key.verifying_key().as_bytes(), key.encoded_bytes()),
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let (rnd, message, context) = (input.rnd()?, input.message()?, input.context()?);
        let convert = |signature: Signature<P>| Output::bytes(signature.as_bytes());
        if EXPANDED {
            let key = self.expanded_signing_key(input)?;
            job(
                move || key.sign_with(pure(&message, &context)?, with_rnd(slice::from_ref(&rnd))),
                convert,
            )
        } else {
            let key = self.signing_key(input)?;
            job(
                move || key.sign_with(pure(&message, &context)?, with_rnd(slice::from_ref(&rnd))),
                convert,
            )
        }
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let Ok(key) = self.verifying_key(input)? else {
            return refused();
        };
        let (message, context) = (input.message()?, input.context()?);
        let signature = input.signature()?;
        let parse = move || Signature::<P>::from_bytes(&signature);
        if EXPANDED {
            let key = self.shared(input.pk()?, || Ok(*key.expand()))?;
            verdict(move || {
                let verify = |input| key.verify_signature(input, &parse()?);
                pure(&message, &context).and_then(verify).is_ok()
            })
        } else {
            verdict(move || {
                let verify = |input| key.verify_signature(input, &parse()?);
                pure(&message, &context).and_then(verify).is_ok()
            })
        }
    }

    fn trace(&self, input: &Fields) -> Prepared {
        let backend = traced::Backend::by_name(self.0.name()).ok_or("a backend without traces")?;
        let key = traced::SigningKey::<P::Set>::from_encoded_bytes(input.sk()?)
            .map_err(|e| e.to_string())?
            .with_backend(backend);
        let (rnd, message, context) = (input.rnd()?, input.message()?, input.context()?);
        job(
            move || {
                let mut words = Vec::new();
                let record = |attempt: mldsa_trace::Attempt| {
                    words.push(attempt_word(attempt.failed, attempt.first_failing));
                };
                let input = traced::Input::Pure {
                    message: &message,
                    context: traced::Context::new(&context)?,
                };
                if EXPANDED {
                    key.expand().sign_traced(&input, &rnd, record)?;
                } else {
                    key.sign_traced(&input, &rnd, record)?;
                }
                Ok::<_, traced::Error>(words)
            },
            Output::Attempts,
        )
    }

    fn batch(&self, operation: Operation, inputs: Inputs<'_>) -> Option<Box<dyn Group>> {
        let inputs = inputs.into_iter();
        Some(match operation {
            Operation::Keygen => Box::new(Generation::<P> {
                backend: self.0,
                seeds: inputs.map(|input| input?.seed()).collect(),
                keys: Vec::new(),
            }),
            Operation::Sign => {
                let prepare = |input: Result<_, _>| self.to_sign(input?);
                Box::new(Signing::new(inputs.map(prepare).collect()))
            }
            Operation::Verify => {
                let prepare = |input: Result<_, _>| self.to_verify(input?);
                Box::new(Verification::new(inputs.map(prepare).collect()))
            }
            _ => return None,
        })
    }
}
