//! OpenSSL's EVP interface, as EVP_SIGNATURE-ML-DSA(7), EVP_SIGNATURE-SLH-DSA(7) and EVP_KEM-ML-KEM(7)
//! show it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::rc::Rc;

use mldsa_openssl_ffi as ffi;
use mldsa_worker_loop::adapter::{
    Family, KEM_WITH_KEY, Key as KeyForm, Output, Prepared, Scheme, Variant, job, ml_dsa_sets,
    ml_kem_sets, of_length, refused, shared, slh_dsa_sets, verdict,
};
use mldsa_worker_loop::protocol::{Fields, Operation};

pub fn variants() -> Vec<Variant> {
    // SAFETY: called before anything else of the library, whose configuration files it leaves unread.
    let started = unsafe { ffi::OPENSSL_init_crypto(ffi::INIT_NO_LOAD_CONFIG, null()) };
    assert_eq!(started, 1, "OpenSSL does not start");
    // SAFETY: the library returns a static string.
    let version = unsafe { CStr::from_ptr(ffi::OpenSSL_version(ffi::VERSION_STRING)) };
    let version = version.to_str().expect("a version in ASCII");
    let variant = |implementation, note: &str| Variant {
        language: Some("C"),
        note: note.into(),
        ..Variant::new(implementation, version)
    };
    let kem = |note| Variant {
        family: Family::MlKem,
        context: false,
        schemes: ml_kem_sets(
            MlKem::new(c"ML-KEM-512", 800, 1632, 768),
            MlKem::new(c"ML-KEM-768", 1184, 2400, 1088),
            MlKem::new(c"ML-KEM-1024", 1568, 3168, 1568),
        ),
        ..variant("openssl-ml-kem", note)
    };
    vec![
        Variant {
            schemes: ml_dsa_sets(
                Signature::new(c"ML-DSA-44", 1312, 2560, 2420),
                Signature::new(c"ML-DSA-65", 1952, 4032, 3309),
                Signature::new(c"ML-DSA-87", 2592, 4896, 4627),
            ),
            ..variant(
                "openssl",
                "EVP_PKEY_sign and EVP_PKEY_verify, each with its message_init, which takes context and \
                 rnd (parameter test-entropy, so RAND is not timed); a key object holds decoded \
                 vectors, neither A-hat nor NTT forms; key generation gives an EVP_PKEY and the public \
                 key's bytes",
            )
        },
        Variant {
            family: Family::SlhDsa,
            schemes: slh_dsa_sets(|name, n, signature| Signature {
                n: Some(n),
                ..Signature::new(name, 2 * n, 4 * n, signature)
            }),
            ..variant(
                "openssl-slh-dsa",
                "EVP_PKEY_sign and EVP_PKEY_verify, each with its message_init, which takes context and \
                 opt_rand (parameter test-entropy, so RAND is not timed); key generation gives an \
                 EVP_PKEY and the public key's bytes",
            )
        },
        Variant {
            operations: &[Operation::Keygen],
            ..kem("key generation gives an EVP_PKEY, which holds A-hat, and the public key's bytes")
        },
        Variant {
            key: KeyForm::Expanded,
            operations: KEM_WITH_KEY,
            ..kem(
                "EVP_PKEY_encapsulate and EVP_PKEY_decapsulate, each with its init, which takes m \
                 (parameter ikme, so RAND is not timed); a key object holds A-hat and NTT forms",
            )
        },
    ]
}

/// A set's name and the sizes of its encoded keys.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static CStr,
    public_key: usize,
    private_key: usize,
}

struct Signature {
    kind: Kind,
    signature: usize,
    algorithm: Algorithm,
    /// The security parameter of SLH-DSA.
    n: Option<usize>,
}

struct MlKem {
    kind: Kind,
    ciphertext: usize,
}

/// A fetched EVP_SIGNATURE, which lives as long as the process.
#[derive(Clone, Copy)]
struct Algorithm(*mut c_void);

// SAFETY: OpenSSL's threads(7): algorithm objects are immutable and counted atomically.
unsafe impl Sync for Algorithm {}

/// An EVP_PKEY.
struct Key(*mut c_void);

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the pointer is the library's, and this its only owner.
        unsafe { ffi::EVP_PKEY_free(self.0) }
    }
}

/// An EVP_PKEY_CTX.
struct Context(*mut c_void);

impl Context {
    /// By this alone: a closure that named the field would capture the pointer, and not keep it alive.
    fn raw(&self) -> *mut c_void {
        self.0
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the pointer is the library's, and this its only owner.
        unsafe { ffi::EVP_PKEY_CTX_free(self.0) }
    }
}

/// Why the last call failed, by the thread's queue of errors.
fn error() -> String {
    let mut text = [0 as c_char; 256];
    // SAFETY: `text` has the length given, and is zero-terminated in any case.
    let text = unsafe {
        ffi::ERR_error_string_n(ffi::ERR_get_error(), text.as_mut_ptr(), text.len());
        while ffi::ERR_get_error() != 0 {}
        CStr::from_ptr(text.as_ptr())
    };
    text.to_string_lossy().into_owned()
}

fn done(status: c_int) -> Result<(), String> {
    if status == 1 { Ok(()) } else { Err(error()) }
}

fn context(pointer: *mut c_void) -> Result<Context, String> {
    if pointer.is_null() {
        return Err(error());
    }
    Ok(Context(pointer))
}

/// Parameters that borrow their bytes, with the end that OSSL_PARAM(3) asks for.
fn octets<const N: usize>(named: [(&'static CStr, &[u8]); N]) -> Vec<ffi::Param> {
    let param = |key: *const c_char, data_type, bytes: &[u8]| ffi::Param {
        key,
        data_type,
        data: bytes.as_ptr().cast_mut().cast(),
        data_size: bytes.len(),
        return_size: ffi::UNMODIFIED,
    };
    let mut params: Vec<_> = named
        .iter()
        .map(|(key, bytes)| param(key.as_ptr(), ffi::OCTET_STRING, bytes))
        .collect();
    params.push(param(null(), 0, &[]));
    params
}

impl Kind {
    /// A context for making or importing keys.
    fn maker(&self) -> Result<Context, String> {
        // SAFETY: the name is zero-terminated; null stands for the default library and provider.
        context(unsafe { ffi::EVP_PKEY_CTX_new_from_name(null_mut(), self.name.as_ptr(), null()) })
    }

    fn import(&self, kind: &'static CStr, bytes: &[u8]) -> Result<Key, String> {
        let maker = self.maker()?;
        let (selection, params) = match kind.to_bytes() {
            b"pub" => (ffi::PUBLIC_KEY, octets([(kind, bytes)])),
            _ => (ffi::KEY_PAIR, octets([(kind, bytes)])),
        };
        let mut key = Key(null_mut());
        // SAFETY: `maker` is a context, `params` ends as it must and its bytes outlive the calls.
        unsafe {
            done(ffi::EVP_PKEY_fromdata_init(maker.raw()))?;
            done(ffi::EVP_PKEY_fromdata(
                maker.raw(),
                &mut key.0,
                selection,
                params.as_ptr(),
            ))?;
        }
        Ok(key)
    }

    /// The key object of these bytes, which are `pub` or `priv`.
    fn key(&self, kind: &'static CStr, bytes: &[u8]) -> Result<Rc<Key>, String> {
        let known_by = [self.name.to_bytes(), kind.to_bytes(), bytes].concat();
        shared(known_by, || self.import(kind, bytes))
    }

    fn keygen(&self, seed: Vec<u8>) -> Prepared {
        let maker = self.maker()?;
        let (public_key, private_key) = (self.public_key, self.private_key);
        let operation = move || {
            let params = octets([(c"seed", &seed)]);
            let mut key = Key(null_mut());
            // SAFETY: `maker` is a context, `params` ends as it must and its bytes outlive the calls.
            unsafe {
                done(ffi::EVP_PKEY_keygen_init(maker.raw()))?;
                done(ffi::EVP_PKEY_CTX_set_params(maker.raw(), params.as_ptr()))?;
                done(ffi::EVP_PKEY_generate(maker.raw(), &mut key.0))?;
            }
            bytes(&key, c"pub", public_key).map(|public| (key, public))
        };
        job(operation, move |(key, public)| Output::KeyPair {
            public,
            private: bytes(&key, c"priv", private_key).ok(),
        })
    }
}

/// The context of operations with a key, which it keeps alive.
fn context_of(key: &Key) -> Result<Context, String> {
    // SAFETY: `key` is a key; the context counts it.
    context(unsafe { ffi::EVP_PKEY_CTX_new_from_pkey(null_mut(), key.0, null()) })
}

/// The bytes of a key, at most `size`.
fn bytes(key: &Key, kind: &CStr, size: usize) -> Result<Vec<u8>, String> {
    let (mut bytes, mut length) = (vec![0; size], 0);
    // SAFETY: `bytes` has the size given.
    done(unsafe {
        ffi::EVP_PKEY_get_octet_string_param(
            key.0,
            kind.as_ptr(),
            bytes.as_mut_ptr(),
            size,
            &mut length,
        )
    })?;
    bytes.truncate(length);
    Ok(bytes)
}

impl Signature {
    fn new(name: &'static CStr, public_key: usize, private_key: usize, signature: usize) -> Self {
        // SAFETY: the name is zero-terminated; null stands for the default library and provider.
        let algorithm = unsafe { ffi::EVP_SIGNATURE_fetch(null_mut(), name.as_ptr(), null()) };
        assert!(!algorithm.is_null(), "OpenSSL has no {name:?}");
        Self {
            kind: Kind {
                name,
                public_key,
                private_key,
            },
            signature,
            algorithm: Algorithm(algorithm),
            n: None,
        }
    }
}

impl Scheme for Signature {
    fn keygen(&self, input: &Fields) -> Prepared {
        self.kind.keygen(match self.n {
            Some(n) => input.slh_seed(n)?,
            None => input.seed()?.to_vec(),
        })
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let signer = context_of(&*self.kind.key(c"priv", input.sk()?)?)?;
        let rnd = match self.n {
            Some(n) => input.opt_rand(n)?,
            None => Some(input.rnd()?.to_vec()),
        };
        let (message, context) = (input.message()?, input.context()?);
        let (size, algorithm) = (self.signature, self.algorithm);
        let operation = move || {
            let params = match &rnd {
                Some(rnd) => octets([(c"context-string", &context), (c"test-entropy", rnd)]),
                None => [
                    vec![ffi::Param::of_int(c"deterministic", &1)],
                    octets([(c"context-string", &context)]),
                ]
                .concat(),
            };
            let (mut signature, mut length) = (vec![0; size], size);
            // SAFETY: `signer` is a context of a key and `algorithm` of its kind; `params` ends as it
            // must; `signature` and `message` have the sizes given.
            unsafe {
                done(ffi::EVP_PKEY_sign_message_init(
                    signer.raw(),
                    algorithm.0,
                    params.as_ptr(),
                ))?;
                done(ffi::EVP_PKEY_sign(
                    signer.raw(),
                    signature.as_mut_ptr(),
                    &mut length,
                    message.as_ptr(),
                    message.len(),
                ))?;
            }
            signature.truncate(length);
            Ok::<_, String>(signature)
        };
        job(operation, Output::Bytes)
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let imported = self.kind.key(c"pub", input.pk()?);
        let Ok(verifier) = imported.and_then(|key| context_of(&key)) else {
            return refused();
        };
        let (message, context) = (input.message()?, input.context()?);
        let (signature, algorithm) = (input.signature()?, self.algorithm);
        verdict(move || {
            let params = octets([(c"context-string", &context)]);
            // SAFETY: as in `sign`.
            let status = unsafe {
                if ffi::EVP_PKEY_verify_message_init(verifier.raw(), algorithm.0, params.as_ptr())
                    != 1
                {
                    return false;
                }
                ffi::EVP_PKEY_verify(
                    verifier.raw(),
                    signature.as_ptr(),
                    signature.len(),
                    message.as_ptr(),
                    message.len(),
                )
            };
            status == 1
        })
    }
}

impl MlKem {
    fn new(name: &'static CStr, public_key: usize, private_key: usize, ciphertext: usize) -> Self {
        let kind = Kind {
            name,
            public_key,
            private_key,
        };
        Self { kind, ciphertext }
    }
}

impl Scheme for MlKem {
    fn keygen(&self, input: &Fields) -> Prepared {
        self.kind.keygen(input.kem_seed()?.to_vec())
    }

    fn encaps(&self, input: &Fields) -> Prepared {
        let sender = context_of(&*self.kind.key(c"pub", input.pk()?)?)?;
        let (m, size) = (input.rnd()?, self.ciphertext);
        let operation = move || {
            let params = octets([(c"ikme", &m)]);
            let (mut ciphertext, mut length) = (vec![0; size], size);
            let (mut secret, mut secret_length) = ([0; 32], 32);
            // SAFETY: `sender` is a context of a key; `params` ends as it must; the bytes have the sizes
            // given.
            unsafe {
                done(ffi::EVP_PKEY_encapsulate_init(
                    sender.raw(),
                    params.as_ptr(),
                ))?;
                done(ffi::EVP_PKEY_encapsulate(
                    sender.raw(),
                    ciphertext.as_mut_ptr(),
                    &mut length,
                    secret.as_mut_ptr(),
                    &mut secret_length,
                ))?;
            }
            Ok::<_, String>((ciphertext, secret))
        };
        job(operation, |(ciphertext, secret)| {
            Output::encapsulated(ciphertext, secret)
        })
    }

    fn decaps(&self, input: &Fields) -> Prepared {
        let receiver = context_of(&*self.kind.key(c"priv", input.sk()?)?)?;
        let ciphertext = of_length(&input.ciphertext()?, "ciphertext", self.ciphertext)?;
        let operation = move || {
            let (mut secret, mut length) = ([0; 32], 32);
            // SAFETY: as in `encaps`; there are no parameters.
            unsafe {
                done(ffi::EVP_PKEY_decapsulate_init(receiver.raw(), null()))?;
                done(ffi::EVP_PKEY_decapsulate(
                    receiver.raw(),
                    secret.as_mut_ptr(),
                    &mut length,
                    ciphertext.as_ptr(),
                    ciphertext.len(),
                ))?;
            }
            Ok::<_, String>(secret)
        };
        job(operation, Output::bytes)
    }
}
