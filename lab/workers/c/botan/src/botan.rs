//! Botan's ML-DSA, ML-KEM and SLH-DSA by the functions of `botan/ffi.h`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::rc::Rc;

use mldsa_botan_ffi as ffi;
use mldsa_worker_loop::adapter::{
    Family, KEM, KEM_WITH_KEY, Key, Output, Prepared, PrivateKey, Rnd, Scheme, Variant, WITH_KEY,
    job, ml_dsa_sets, ml_kem_sets, refused, shared, slh_dsa_sets, verdict,
};
use mldsa_worker_loop::drawn;
use mldsa_worker_loop::protocol::Fields;

pub fn variants() -> Vec<Variant> {
    // SAFETY: the functions take nothing and return numbers.
    let version = unsafe {
        let [major, minor] = [ffi::botan_version_major(), ffi::botan_version_minor()];
        format!("{major}.{minor}.{}", ffi::botan_version_patch())
    };
    let version: &'static str = version.leak();
    let variant = |implementation, note: &str| Variant {
        context: false,
        language: Some("C++"),
        note: note.into(),
        ..Variant::new(implementation, version)
    };
    let ml_dsa = |note: &str, kept| Variant {
        rnd: Rnd::Zero,
        private_key: PrivateKey::Seed,
        schemes: ml_dsa_sets(
            Signature::ml_dsa(c"ML-DSA-4x4", 2420, kept),
            Signature::ml_dsa(c"ML-DSA-6x5", 3309, kept),
            Signature::ml_dsa(c"ML-DSA-8x7", 4627, kept),
        ),
        ..variant(
            "botan",
            &format!("parameter Deterministic; its interface has no contexts; {note}"),
        )
    };
    let ml_kem = |note: &str, kept| Variant {
        family: Family::MlKem,
        schemes: ml_kem_sets(
            MlKem::new(c"ML-KEM-512", 768, kept),
            MlKem::new(c"ML-KEM-768", 1088, kept),
            MlKem::new(c"ML-KEM-1024", 1568, kept),
        ),
        ..variant(
            "botan-ml-kem",
            &format!("a source of randomness of the caller's hands out m; {note}"),
        )
    };
    vec![
        ml_dsa(
            "key objects hold decoded vectors; an object of the operation is made in each call; key \
             generation gives a key object and the public key's bytes",
            false,
        ),
        Variant {
            key: Key::Expanded,
            operations: WITH_KEY,
            ..ml_dsa(
                "an object of the operation is kept for all messages, and holds A-hat and NTT forms",
                true,
            )
        },
        Variant {
            operations: KEM,
            ..ml_kem(
                "key objects hold decoded vectors; an object of the operation, with A-hat, is made in \
                 each call; key generation gives a key object and the public key's bytes",
                false,
            )
        },
        Variant {
            key: Key::Expanded,
            operations: KEM_WITH_KEY,
            ..ml_kem(
                "an object of the operation is kept for all calls, and holds A-hat",
                true,
            )
        },
        Variant {
            family: Family::SlhDsa,
            schemes: slh_dsa_sets(Signature::slh_dsa),
            ..variant(
                "botan-slh-dsa",
                "parameter Randomized, for which a source of randomness of the caller's hands out \
                 opt_rand, or Deterministic; its interface has no contexts; an object of the operation \
                 is made in each call; key generation gives a key object and the public key's bytes",
            )
        },
    ]
}

/// Keys of a set, whose bytes two functions read.
#[derive(Clone, Copy)]
struct Keys {
    set: &'static CStr,
    private: Load,
    public: Load,
}

/// The place of the new object, bytes and their length, the set's name.
type Load = unsafe extern "C" fn(*mut *mut c_void, *const u8, usize, *const c_char) -> c_int;

impl Keys {
    fn private(&self, bytes: &[u8]) -> Result<Object, String> {
        // SAFETY: the bytes have the length given, the set's name is zero-terminated.
        Object::new(ffi::botan_privkey_destroy, |key| unsafe {
            (self.private)(key, bytes.as_ptr(), bytes.len(), self.set.as_ptr())
        })
    }

    fn shared_private(&self, bytes: &[u8]) -> Result<Rc<Object>, String> {
        shared(self.known_by(0, bytes), || self.private(bytes))
    }

    fn shared_public(&self, bytes: &[u8]) -> Result<Rc<Object>, String> {
        shared(self.known_by(1, bytes), || {
            // SAFETY: the bytes have the length given, the set's name is zero-terminated.
            Object::new(ffi::botan_pubkey_destroy, |key| unsafe {
                (self.public)(key, bytes.as_ptr(), bytes.len(), self.set.as_ptr())
            })
        })
    }

    /// What [`shared`] knows a key by: keys of all sets and kinds are of one type.
    fn known_by(&self, kind: u8, bytes: &[u8]) -> Vec<u8> {
        [&[kind], self.set.to_bytes(), bytes].concat()
    }

    /// Key generation from a seed that is a form of the private key.
    fn keygen(self, seed: impl AsRef<[u8]> + 'static) -> Prepared {
        let operation = move || {
            let key = self.private(seed.as_ref())?;
            public_bytes(&key).map(|public| (key, public))
        };
        job(operation, |(_, public)| Output::public_key(public))
    }
}

/// The source of randomness, which hands out what the input gives.
#[derive(Clone, Copy)]
struct Source(*mut c_void);

// SAFETY: the object has no state but that of `drawn`, which each thread has of its own.
unsafe impl Sync for Source {}

/// # Safety
/// `to` must point to `count` bytes that may be written.
unsafe extern "C" fn given(_: *mut c_void, to: *mut u8, count: usize) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { drawn::take(to, count) };
    0
}

impl Source {
    fn new() -> Self {
        let mut rng = null_mut();
        // SAFETY: the name is zero-terminated, no context is used; the object is never freed.
        let status = unsafe {
            ffi::botan_rng_init_custom(&mut rng, c"given".as_ptr(), null_mut(), given, None, None)
        };
        assert_eq!(status, 0, "Botan takes no source of randomness");
        Self(rng)
    }
}

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

/// The bytes of a key by one of the functions that show them.
///
/// # Safety
/// `key` is an object that `view` takes.
unsafe fn viewed(
    key: &Object,
    view: unsafe extern "C" fn(*mut c_void, *mut c_void, ffi::View) -> c_int,
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // SAFETY: `append` gets the vector it expects, `view` what the caller promises.
    done(unsafe { view(key.raw(), (&raw mut bytes).cast(), append) })?;
    Ok(bytes)
}

/// The public key's bytes of a private key.
fn public_bytes(key: &Object) -> Result<Vec<u8>, String> {
    // SAFETY: `key` is a private key, and its public key is one.
    unsafe {
        let public = Object::new(ffi::botan_pubkey_destroy, |public| {
            ffi::botan_privkey_export_pubkey(public, key.raw())
        })?;
        viewed(&public, ffi::botan_pubkey_view_raw)
    }
}

fn signer(key: &Object, params: &CStr) -> Result<Object, String> {
    // SAFETY: `key` is a private key, which the new object counts.
    Object::new(ffi::botan_pk_op_sign_destroy, |op| unsafe {
        ffi::botan_pk_op_sign_create(op, key.raw(), params.as_ptr(), 0)
    })
}

fn verifier(key: &Object) -> Result<Object, String> {
    // SAFETY: `key` is a public key, which the new object counts.
    Object::new(ffi::botan_pk_op_verify_destroy, |op| unsafe {
        ffi::botan_pk_op_verify_create(op, key.raw(), c"".as_ptr(), 0)
    })
}

fn sign(signer: &Object, rng: Source, message: &[u8], size: usize) -> Result<Vec<u8>, String> {
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

struct Signature {
    keys: Keys,
    signature: usize,
    /// Whether objects of operations are made before the clock starts.
    kept: bool,
    /// The security parameter of SLH-DSA.
    n: Option<usize>,
    rng: Source,
}

impl Signature {
    fn ml_dsa(set: &'static CStr, signature: usize, kept: bool) -> Self {
        Self {
            keys: Keys {
                set,
                private: ffi::botan_privkey_load_ml_dsa,
                public: ffi::botan_pubkey_load_ml_dsa,
            },
            signature,
            kept,
            n: None,
            rng: Source::new(),
        }
    }

    fn slh_dsa(set: &'static CStr, n: usize, signature: usize) -> Self {
        Self {
            keys: Keys {
                set,
                private: ffi::botan_privkey_load_slh_dsa,
                public: ffi::botan_pubkey_load_slh_dsa,
            },
            signature,
            kept: false,
            n: Some(n),
            rng: Source::new(),
        }
    }
}

impl Scheme for Signature {
    fn keygen(&self, input: &Fields) -> Prepared {
        let Some(n) = self.n else {
            return self.keys.keygen(input.seed()?);
        };
        let (set, rng, seed) = (self.keys.set, self.rng, input.slh_seed(n)?);
        let operation = move || {
            drawn::give(&seed);
            // SAFETY: the names are zero-terminated, `rng` is a source of randomness.
            let key = Object::new(ffi::botan_privkey_destroy, |key| unsafe {
                ffi::botan_privkey_create(key, c"SLH-DSA".as_ptr(), set.as_ptr(), rng.0)
            })?;
            public_bytes(&key).map(|public| (key, public))
        };
        job(operation, |(key, public)| Output::KeyPair {
            public,
            // SAFETY: `key` is a private key.
            private: unsafe { viewed(&key, ffi::botan_privkey_view_raw) }.ok(),
        })
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let message = input.message()?;
        let (key, rnd) = match self.n {
            Some(n) => (self.keys.shared_private(input.sk()?)?, input.opt_rand(n)?),
            None => (self.keys.shared_private(&input.seed()?)?, None),
        };
        let (rng, size) = (self.rng, self.signature);
        let params = match rnd {
            Some(_) => c"Randomized",
            None => c"Deterministic",
        };
        if self.kept {
            let signer = signer(&key, params)?;
            return job(move || sign(&signer, rng, &message, size), Output::Bytes);
        }
        let operation = move || {
            drawn::give(rnd.as_deref().unwrap_or_default());
            sign(&signer(&key, params)?, rng, &message, size)
        };
        job(operation, Output::Bytes)
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let (message, signature) = (input.message()?, input.signature()?);
        let Ok(key) = self.keys.shared_public(input.pk()?) else {
            return refused();
        };
        if self.kept {
            let verifier = verifier(&key)?;
            return verdict(move || accepts(&verifier, &message, &signature));
        }
        verdict(move || verifier(&key).is_ok_and(|op| accepts(&op, &message, &signature)))
    }
}

#[derive(Clone, Copy)]
struct MlKem {
    keys: Keys,
    ciphertext: usize,
    /// Whether objects of operations are made before the clock starts.
    kept: bool,
    rng: Source,
}

impl MlKem {
    fn new(set: &'static CStr, ciphertext: usize, kept: bool) -> Self {
        Self {
            keys: Keys {
                set,
                private: ffi::botan_privkey_load_ml_kem,
                public: ffi::botan_pubkey_load_ml_kem,
            },
            ciphertext,
            kept,
            rng: Source::new(),
        }
    }

    /// A ciphertext and its secret, of a sender's m.
    fn send(&self, sender: &Object, m: &[u8; 32]) -> Result<(Vec<u8>, [u8; 32]), String> {
        let (mut ciphertext, mut length) = (vec![0; self.ciphertext], self.ciphertext);
        let (mut secret, mut size) = ([0; 32], 32);
        drawn::give(m);
        // SAFETY: `sender` encapsulates, `rng` is a source of randomness; the bytes have the sizes given.
        done(unsafe {
            ffi::botan_pk_op_kem_encrypt_create_shared_key(
                sender.raw(),
                self.rng.0,
                null(),
                0,
                size,
                secret.as_mut_ptr(),
                &mut size,
                ciphertext.as_mut_ptr(),
                &mut length,
            )
        })?;
        Ok((ciphertext, secret))
    }
}

fn sender(key: &Object) -> Result<Object, String> {
    // SAFETY: `key` is a public key, which the new object counts.
    Object::new(ffi::botan_pk_op_kem_encrypt_destroy, |op| unsafe {
        ffi::botan_pk_op_kem_encrypt_create(op, key.raw(), c"Raw".as_ptr())
    })
}

fn receiver(key: &Object) -> Result<Object, String> {
    // SAFETY: `key` is a private key, which the new object counts.
    Object::new(ffi::botan_pk_op_kem_decrypt_destroy, |op| unsafe {
        ffi::botan_pk_op_kem_decrypt_create(op, key.raw(), c"Raw".as_ptr())
    })
}

fn receive(receiver: &Object, ciphertext: &[u8]) -> Result<[u8; 32], String> {
    let (mut secret, mut size) = ([0; 32], 32);
    // SAFETY: `receiver` decapsulates; the bytes have the sizes given.
    done(unsafe {
        ffi::botan_pk_op_kem_decrypt_shared_key(
            receiver.raw(),
            null(),
            0,
            ciphertext.as_ptr(),
            ciphertext.len(),
            size,
            secret.as_mut_ptr(),
            &mut size,
        )
    })?;
    Ok(secret)
}

impl Scheme for MlKem {
    fn keygen(&self, input: &Fields) -> Prepared {
        self.keys.keygen(input.kem_seed()?)
    }

    fn encaps(&self, input: &Fields) -> Prepared {
        let (of, m) = (*self, input.rnd()?);
        let key = self.keys.shared_public(input.pk()?)?;
        let convert = |(ciphertext, secret)| Output::encapsulated(ciphertext, secret);
        if self.kept {
            let sender = sender(&key)?;
            return job(move || of.send(&sender, &m), convert);
        }
        job(move || of.send(&sender(&key)?, &m), convert)
    }

    fn decaps(&self, input: &Fields) -> Prepared {
        let key = self.keys.shared_private(input.sk()?)?;
        let ciphertext = input.ciphertext()?;
        if self.kept {
            let receiver = receiver(&key)?;
            return job(move || receive(&receiver, &ciphertext), Output::bytes);
        }
        job(
            move || receive(&receiver(&key)?, &ciphertext),
            Output::bytes,
        )
    }
}
