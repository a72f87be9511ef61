//! mldsa-lanes by the functions of `mldsa.h` and `mldsa_hazmat.h`, linked statically and not
//! inlined: what a C program gets.

use std::cell::RefCell;
use std::ffi::CStr;
use std::ptr::{null, null_mut};
use std::rc::Rc;

use mldsa::hazmat::mldsa_hazmat_sign_with_rnd;
use mldsa::*;
use mldsa_worker_loop::adapter::{
    Inputs, Key, Output, Prepared, Scheme, Variant, WITH_KEY, job, ml_dsa_sets, refused, shared,
    verdict,
};
use mldsa_worker_loop::protocol::{Fields, Operation};
use mldsa_worker_loop::runs::Group;

use crate::batches::{Generation, Signing, ToSign, ToVerify, Verification};
use crate::build_info;

pub fn variants() -> Vec<Variant> {
    // SAFETY: the function returns a static string.
    let backend = unsafe { CStr::from_ptr(mldsa_backend()) }.to_string_lossy();
    let variant = |note: &str, expanded| Variant {
        backend: "c",
        batch: true,
        note: format!("the C interface, on the backend {backend}; {note}"),
        schemes: ml_dsa_sets(
            Lanes {
                set: MLDSA_44,
                expanded,
            },
            Lanes {
                set: MLDSA_65,
                expanded,
            },
            Lanes {
                set: MLDSA_87,
                expanded,
            },
        ),
        ..Variant::new("mldsa-lanes-c", build_info::MLDSA_CAPI)
    };
    vec![
        variant(
            "keys stay byte strings; checking an imported key is outside the timed call",
            false,
        ),
        Variant {
            key: Key::Expanded,
            operations: WITH_KEY,
            ..variant("A-hat, tr and NTT forms are cached in the key", true)
        },
    ]
}

#[derive(Clone, Copy)]
struct Lanes {
    set: mldsa_set,
    expanded: bool,
}

/// A handle, freed by its function.
pub struct Handle<T: 'static>(pub *mut T, pub unsafe extern "C" fn(*mut *mut T));

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: the handle is the library's, and this its only owner.
        unsafe { (self.1)(&mut self.0) }
    }
}

pub type SigningKey = Handle<mldsa_signing_key>;
pub type VerifyingKey = Handle<mldsa_verifying_key>;

/// The error of a code.
pub fn done(code: mldsa_error) -> Result<(), String> {
    if code == MLDSA_OK {
        return Ok(());
    }
    // SAFETY: the function returns a static string for any number.
    let text = unsafe { CStr::from_ptr(mldsa_error_string(code)) };
    Err(text.to_string_lossy().into_owned())
}

/// A message with its context, pure ML-DSA.
pub fn pure(message: &[u8], context: &[u8]) -> mldsa_input {
    mldsa_input {
        message: message.as_ptr(),
        message_len: message.len(),
        context: context.as_ptr(),
        context_len: context.len(),
        hash: MLDSA_HASH_NONE,
        flags: 0,
        mu: null(),
    }
}

/// The bytes of both keys.
pub fn key_pair(set: mldsa_set, key: &SigningKey) -> Output {
    let mut public = Handle(null_mut(), mldsa_verifying_key_free);
    let mut pk = vec![0; mldsa_verifying_key_bytes(set)];
    let mut sk = vec![0; mldsa_signing_key_bytes(set)];
    // SAFETY: `key` is one or NULL, the handle has its place, the buffers the lengths given.
    unsafe {
        mldsa_signing_key_verifying_key(key.0, &mut public.0);
        mldsa_verifying_key_raw(public.0, pk.as_mut_ptr(), pk.len());
        mldsa_signing_key_raw(key.0, sk.as_mut_ptr(), sk.len());
    }
    Output::key_pair(pk, sk)
}

impl Lanes {
    /// What [`shared`] knows a key by: compact and expanded ones are of one type.
    fn known_by(&self, bytes: &[u8]) -> Vec<u8> {
        [&[self.set as u8, self.expanded.into()], bytes].concat()
    }

    fn signing_key(&self, sk: &[u8]) -> Result<Rc<SigningKey>, String> {
        shared(self.known_by(sk), || {
            let mut key = Handle(null_mut(), mldsa_signing_key_free);
            // SAFETY: the bytes have the length given, the handle its place.
            done(unsafe {
                mldsa_signing_key_from_raw(self.set, sk.as_ptr(), sk.len(), &mut key.0)
            })?;
            if self.expanded {
                // SAFETY: `key` is one.
                done(unsafe { mldsa_signing_key_expand(key.0) })?;
            }
            Ok(key)
        })
    }

    fn verifying_key(&self, pk: &[u8]) -> Result<Rc<VerifyingKey>, String> {
        shared(self.known_by(pk), || {
            let mut key = Handle(null_mut(), mldsa_verifying_key_free);
            // SAFETY: the bytes have the length given, the handle its place.
            done(unsafe {
                mldsa_verifying_key_from_raw(self.set, pk.as_ptr(), pk.len(), &mut key.0)
            })?;
            if self.expanded {
                // SAFETY: `key` is one.
                done(unsafe { mldsa_verifying_key_expand(key.0) })?;
            }
            Ok(key)
        })
    }

    fn to_sign(self, input: &Fields) -> Result<ToSign, String> {
        Ok(ToSign {
            key: self.signing_key(input.sk()?)?,
            message: input.message()?,
            context: input.context()?,
            rnd: input.rnd()?,
        })
    }

    fn to_verify(self, input: &Fields) -> Result<ToVerify, String> {
        Ok(ToVerify {
            key: self.verifying_key(input.pk()?).ok(),
            message: input.message()?,
            context: input.context()?,
            signature: input.signature()?,
        })
    }
}

impl Scheme for Lanes {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (set, seed) = (self.set, input.seed()?);
        let operation = move || {
            let mut key = Handle(null_mut(), mldsa_signing_key_free);
            // SAFETY: the seed has the length given, the handle its place.
            done(unsafe { mldsa_signing_key_from_seed(set, seed.as_ptr(), 32, &mut key.0) })?;
            Ok::<_, String>(key)
        };
        job(operation, move |key| key_pair(set, &key))
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let (rnd, message, context) = (input.rnd()?, input.message()?, input.context()?);
        let key = self.signing_key(input.sk()?)?;
        // The caller's buffer is there before the call, and a later call of the job reuses it.
        let buffer = Rc::new(RefCell::new(vec![0; mldsa_signature_bytes(self.set)]));
        let place = Rc::clone(&buffer);
        let operation = move || {
            let mut signature = place.borrow_mut();
            let input = pure(&message, &context);
            let (to, room) = (signature.as_mut_ptr(), signature.len());
            // SAFETY: `key` is one, the pointers have the lengths given.
            done(unsafe { mldsa_hazmat_sign_with_rnd(key.0, &input, rnd.as_ptr(), 32, to, room) })
        };
        job(operation, move |()| Output::bytes(&*buffer.borrow()))
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let Ok(key) = self.verifying_key(input.pk()?) else {
            return refused();
        };
        let (message, context) = (input.message()?, input.context()?);
        let signature = input.signature()?;
        verdict(move || {
            // SAFETY: `key` is one, the pointers have the lengths given.
            let code = unsafe {
                mldsa_verify(
                    key.0,
                    message.as_ptr(),
                    message.len(),
                    context.as_ptr(),
                    context.len(),
                    signature.as_ptr(),
                    signature.len(),
                )
            };
            code == MLDSA_OK
        })
    }

    fn batch(&self, operation: Operation, inputs: Inputs<'_>) -> Option<Box<dyn Group>> {
        let inputs = inputs.into_iter();
        Some(match operation {
            Operation::Keygen => Box::new(Generation {
                set: self.set,
                seeds: inputs.map(|input| input?.seed()).collect(),
                keys: Vec::new(),
            }),
            Operation::Sign => {
                let prepare = |input: Result<&Fields, String>| self.to_sign(input?);
                Box::new(Signing {
                    inputs: inputs.map(prepare).collect(),
                    size: mldsa_signature_bytes(self.set),
                    signatures: Vec::new(),
                    outcomes: Vec::new(),
                })
            }
            Operation::Verify => {
                let prepare = |input: Result<&Fields, String>| self.to_verify(input?);
                Box::new(Verification {
                    inputs: inputs.map(prepare).collect(),
                    outcomes: Vec::new(),
                })
            }
            _ => return None,
        })
    }
}
