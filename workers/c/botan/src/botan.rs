//! Botan's ML-DSA by the functions of `botan/ffi.h`.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

use mldsa_botan_ffi as ffi;
use mldsa_worker_loop::adapter::{
    Key, Output, Prepared, PrivateKey, Rnd, Scheme, Variant, WITH_KEY, job, ml_dsa_sets, refused,
    shared, verdict,
};
use mldsa_worker_loop::protocol::Fields;

pub fn variants() -> Vec<Variant> {
    // SAFETY: the functions take nothing and return numbers.
    let version = unsafe {
        let [major, minor] = [ffi::botan_version_major(), ffi::botan_version_minor()];
        format!("{major}.{minor}.{}", ffi::botan_version_patch())
    };
    let version: &'static str = version.leak();
    let variant = |note: &str, kept| Variant {
        rnd: Rnd::Zero,
        context: false,
        private_key: PrivateKey::Seed,
        language: Some("C++"),
        note: format!("parameter Deterministic; its interface has no contexts; {note}"),
        schemes: ml_dsa_sets(
            Botan::new(c"ML-DSA-4x4", 2420, kept),
            Botan::new(c"ML-DSA-6x5", 3309, kept),
            Botan::new(c"ML-DSA-8x7", 4627, kept),
        ),
        ..Variant::new("botan", version)
    };
    vec![
        variant(
            "key objects hold decoded vectors; an object of the operation is made in each call; key \
             generation gives a key object and the public key's bytes",
            false,
        ),
        Variant {
            key: Key::Expanded,
            operations: WITH_KEY,
            ..variant(
                "an object of the operation is kept for all messages, and holds A-hat and NTT forms",
                true,
            )
        },
    ]
}

struct Botan {
    set: &'static CStr,
    signature: usize,
    /// Whether objects of operations are made before the clock starts.
    kept: bool,
    rng: Shared,
}

/// The system's source of randomness, which deterministic signing does not ask.
#[derive(Clone, Copy)]
struct Shared(*mut c_void);

// SAFETY: the object has no state but the system's.
unsafe impl Sync for Shared {}

/// An object of the library, with what frees it.
struct Object {
    raw: *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
}

impl Object {
    /// What `make` writes to the place it is given.
    fn new(
        destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
        make: impl FnOnce(*mut *mut c_void) -> c_int,
    ) -> Result<Self, String> {
        let mut raw = null_mut();
        done(make(&mut raw))?;
        Ok(Self { raw, destroy })
    }

    /// By this alone: a closure that named the field would capture the pointer, and not keep it alive.
    fn raw(&self) -> *mut c_void {
        self.raw
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: `raw` is the library's, and this its only owner.
        unsafe { (self.destroy)(self.raw) };
    }
}

fn done(status: c_int) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the library returns a static string for any number.
    let text = unsafe { CStr::from_ptr(ffi::botan_error_description(status)) };
    Err(text.to_string_lossy().into_owned())
}

/// Appends the bytes to the vector that `context` points to.
///
/// # Safety
/// `context` is a `Vec<u8>` that nothing else uses meanwhile, `data` has `size` bytes.
unsafe extern "C" fn append(context: *mut c_void, data: *const u8, size: usize) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let bytes = &mut *context.cast::<Vec<u8>>();
        bytes.extend_from_slice(std::slice::from_raw_parts(data, size));
    }
    0
}

fn private_key(set: &CStr, seed: &[u8; 32]) -> Result<Object, String> {
    // SAFETY: the seed has the length given, the set's name is zero-terminated.
    Object::new(ffi::botan_privkey_destroy, |key| unsafe {
        ffi::botan_privkey_load_ml_dsa(key, seed.as_ptr(), seed.len(), set.as_ptr())
    })
}

/// The public key's bytes of a private key.
fn public_bytes(key: &Object) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // SAFETY: `key` is a private key, and its public key is one; `append` gets the vector it expects.
    unsafe {
        let public = Object::new(ffi::botan_pubkey_destroy, |public| {
            ffi::botan_privkey_export_pubkey(public, key.raw())
        })?;
        let to = (&raw mut bytes).cast();
        done(ffi::botan_pubkey_view_raw(public.raw(), to, append))?;
    }
    Ok(bytes)
}

fn signer(key: &Object) -> Result<Object, String> {
    // SAFETY: `key` is a private key, which the new object counts.
    Object::new(ffi::botan_pk_op_sign_destroy, |op| unsafe {
        ffi::botan_pk_op_sign_create(op, key.raw(), c"Deterministic".as_ptr(), 0)
    })
}

fn verifier(key: &Object) -> Result<Object, String> {
    // SAFETY: `key` is a public key, which the new object counts.
    Object::new(ffi::botan_pk_op_verify_destroy, |op| unsafe {
        ffi::botan_pk_op_verify_create(op, key.raw(), c"".as_ptr(), 0)
    })
}

fn sign(signer: &Object, rng: Shared, message: &[u8], size: usize) -> Result<Vec<u8>, String> {
    let (mut signature, mut length) = (vec![0; size], size);
    // SAFETY: `signer` signs; the bytes have the lengths given.
    unsafe {
        done(ffi::botan_pk_op_sign_update(
            signer.raw(),
            message.as_ptr(),
            message.len(),
        ))?;
        done(ffi::botan_pk_op_sign_finish(
            signer.raw(),
            rng.0,
            signature.as_mut_ptr(),
            &mut length,
        ))?;
    }
    signature.truncate(length);
    Ok(signature)
}

fn accepts(verifier: &Object, message: &[u8], signature: &[u8]) -> bool {
    // SAFETY: `verifier` verifies; the bytes have the lengths given.
    unsafe {
        ffi::botan_pk_op_verify_update(verifier.raw(), message.as_ptr(), message.len()) == 0
            && ffi::botan_pk_op_verify_finish(verifier.raw(), signature.as_ptr(), signature.len())
                == 0
    }
}

impl Botan {
    fn new(set: &'static CStr, signature: usize, kept: bool) -> Self {
        let mut rng = null_mut();
        // SAFETY: the name is zero-terminated; the object is never freed.
        let status = unsafe { ffi::botan_rng_init(&mut rng, c"system".as_ptr()) };
        assert_eq!(status, 0, "Botan has no source of randomness");
        Self {
            set,
            signature,
            kept,
            rng: Shared(rng),
        }
    }

    /// What [`shared`] knows a key by: keys of all sets and kinds are of one type.
    fn known_by(&self, kind: u8, bytes: &[u8]) -> Vec<u8> {
        [&[kind], self.set.to_bytes(), bytes].concat()
    }
}

impl Scheme for Botan {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (set, seed) = (self.set, input.seed()?);
        let operation = move || {
            let key = private_key(set, &seed)?;
            public_bytes(&key).map(|public| (key, public))
        };
        job(operation, |(_, public)| Output::public_key(public))
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let (seed, message) = (input.seed()?, input.message()?);
        let key: Rc<Object> = shared(self.known_by(0, &seed), || private_key(self.set, &seed))?;
        let (rng, size) = (self.rng, self.signature);
        if self.kept {
            let signer = signer(&key)?;
            return job(move || sign(&signer, rng, &message, size), Output::Bytes);
        }
        job(
            move || sign(&signer(&key)?, rng, &message, size),
            Output::Bytes,
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let (pk, message, signature) = (input.pk()?, input.message()?, input.signature()?);
        let parsed = shared(self.known_by(1, pk), || {
            // SAFETY: the key has the length given, the set's name is zero-terminated.
            Object::new(ffi::botan_pubkey_destroy, |key| unsafe {
                ffi::botan_pubkey_load_ml_dsa(key, pk.as_ptr(), pk.len(), self.set.as_ptr())
            })
        });
        let Ok::<Rc<Object>, _>(key) = parsed else {
            return refused();
        };
        if self.kept {
            let verifier = verifier(&key)?;
            return verdict(move || accepts(&verifier, &message, &signature));
        }
        verdict(move || verifier(&key).is_ok_and(|op| accepts(&op, &message, &signature)))
    }
}
