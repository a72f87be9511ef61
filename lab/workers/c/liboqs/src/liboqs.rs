//! liboqs through OQS_SIG and OQS_KEM objects, its documented interface.

use std::ffi::CStr;

use mldsa_worker_loop::adapter::{
    Family, KEM, Output, Prepared, Scheme, Variant, job, ml_dsa_sets, ml_kem_sets, of_length,
    refused, verdict,
};
use mldsa_worker_loop::drawn;
use mldsa_worker_loop::protocol::Fields;
use oqs_sys::common::{OQS_STATUS, OQS_init, OQS_version};
use oqs_sys::kem::{OQS_KEM, OQS_KEM_decaps, OQS_KEM_encaps, OQS_KEM_keypair, OQS_KEM_new};
use oqs_sys::rand::OQS_randombytes_custom_algorithm;
use oqs_sys::sig::{
    OQS_SIG, OQS_SIG_keypair, OQS_SIG_new, OQS_SIG_sign_with_ctx_str, OQS_SIG_verify_with_ctx_str,
};

pub fn variants() -> Vec<Variant> {
    // SAFETY: called before anything else of the library, in its only thread.
    unsafe {
        OQS_init();
        OQS_randombytes_custom_algorithm(Some(drawn::take));
    }
    // SAFETY: the library returns a static string.
    let version = unsafe { CStr::from_ptr(OQS_version()) };
    let variant = |implementation, note: &str| Variant {
        language: Some("C"),
        note: note.into(),
        ..Variant::new(
            implementation,
            version.to_str().expect("a version in ASCII"),
        )
    };
    vec![
        Variant {
            schemes: ml_dsa_sets(
                Liboqs::new(c"ML-DSA-44"),
                Liboqs::new(c"ML-DSA-65"),
                Liboqs::new(c"ML-DSA-87"),
            ),
            ..variant(
                "liboqs",
                "OQS_SIG objects of crate oqs-sys, a distribution build: each call asks the CPU, then \
                 takes pqcrystals' AVX2 code or C, and Keccak of XKCP; keys stay byte strings; \
                 OQS_randombytes hands out xi and rnd, so the system's source is not timed; the AVX2 \
                 code of 0.13 verifies without the norm check of z (issue 113 of \
                 pq-crystals/dilithium)",
            )
        },
        Variant {
            family: Family::MlKem,
            operations: KEM,
            context: false,
            schemes: ml_kem_sets(
                MlKem::new(c"ML-KEM-512"),
                MlKem::new(c"ML-KEM-768"),
                MlKem::new(c"ML-KEM-1024"),
            ),
            ..variant(
                "liboqs-ml-kem",
                "OQS_KEM objects of crate oqs-sys, a distribution build: each call asks the CPU, then \
                 takes mlkem-native's assembly or C; keys stay byte strings; OQS_randombytes hands out \
                 d, z and m, so the system's source is not timed",
            )
        },
    ]
}

/// An OQS_SIG, which lives as long as the process.
#[derive(Clone, Copy)]
struct Liboqs(&'static OQS_SIG);

// SAFETY: the object holds sizes and functions, and nothing writes to it once it is made.
unsafe impl Sync for Liboqs {}

fn done(status: OQS_STATUS) -> Result<(), String> {
    match status {
        OQS_STATUS::OQS_SUCCESS => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

impl Liboqs {
    fn new(name: &CStr) -> Self {
        // SAFETY: the name is zero-terminated; the object is never freed.
        Self(unsafe { OQS_SIG_new(name.as_ptr()).as_ref() }.expect("liboqs is built with ML-DSA"))
    }
}

impl Scheme for Liboqs {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (Self(sig), seed) = (*self, input.seed()?);
        let operation = move || {
            drawn::give(&seed);
            let mut public = vec![0; sig.length_public_key];
            let mut private = vec![0; sig.length_secret_key];
            // SAFETY: both have the lengths that the library writes.
            let status = unsafe { OQS_SIG_keypair(sig, public.as_mut_ptr(), private.as_mut_ptr()) };
            done(status).map(|()| (public, private))
        };
        job(operation, |(public, private)| {
            Output::key_pair(public, private)
        })
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let Self(sig) = *self;
        let sk = of_length(input.sk()?, "sk", sig.length_secret_key)?;
        let (rnd, message, context) = (input.rnd()?, input.message()?, input.context()?);
        let operation = move || {
            drawn::give(&rnd);
            let mut length = sig.length_signature;
            let mut signature = vec![0; length];
            // SAFETY: `signature` and `sk` have the lengths that the library expects, the others
            // those given.
            let status = unsafe {
                OQS_SIG_sign_with_ctx_str(
                    sig,
                    signature.as_mut_ptr(),
                    &mut length,
                    message.as_ptr(),
                    message.len(),
                    context.as_ptr(),
                    context.len(),
                    sk.as_ptr(),
                )
            };
            signature.truncate(length);
            done(status).map(|()| signature)
        };
        job(operation, Output::Bytes)
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let Self(sig) = *self;
        let Ok(pk) = of_length(input.pk()?, "pk", sig.length_public_key) else {
            return refused();
        };
        let (message, context) = (input.message()?, input.context()?);
        let signature = input.signature()?;
        verdict(move || {
            // SAFETY: `pk` has the length that the library expects, the others those given.
            let status = unsafe {
                OQS_SIG_verify_with_ctx_str(
                    sig,
                    message.as_ptr(),
                    message.len(),
                    signature.as_ptr(),
                    signature.len(),
                    context.as_ptr(),
                    context.len(),
                    pk.as_ptr(),
                )
            };
            status == OQS_STATUS::OQS_SUCCESS
        })
    }
}

/// An OQS_KEM, which lives as long as the process.
#[derive(Clone, Copy)]
struct MlKem(&'static OQS_KEM);

// SAFETY: as of an OQS_SIG.
unsafe impl Sync for MlKem {}

impl MlKem {
    fn new(name: &CStr) -> Self {
        // SAFETY: the name is zero-terminated; the object is never freed.
        Self(unsafe { OQS_KEM_new(name.as_ptr()).as_ref() }.expect("liboqs is built with ML-KEM"))
    }
}

impl Scheme for MlKem {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (Self(kem), seed) = (*self, input.kem_seed()?);
        let operation = move || {
            drawn::give(&seed);
            let mut public = vec![0; kem.length_public_key];
            let mut private = vec![0; kem.length_secret_key];
            // SAFETY: both have the lengths that the library writes.
            let status = unsafe { OQS_KEM_keypair(kem, public.as_mut_ptr(), private.as_mut_ptr()) };
            done(status).map(|()| (public, private))
        };
        job(operation, |(public, private)| {
            Output::key_pair(public, private)
        })
    }

    fn encaps(&self, input: &Fields) -> Prepared {
        let Self(kem) = *self;
        let pk = of_length(input.pk()?, "pk", kem.length_public_key)?;
        let m = input.rnd()?;
        let operation = move || {
            drawn::give(&m);
            let mut ciphertext = vec![0; kem.length_ciphertext];
            let mut secret = vec![0; kem.length_shared_secret];
            // SAFETY: all have the lengths that the library expects.
            let status = unsafe {
                OQS_KEM_encaps(
                    kem,
                    ciphertext.as_mut_ptr(),
                    secret.as_mut_ptr(),
                    pk.as_ptr(),
                )
            };
            done(status).map(|()| (ciphertext, secret))
        };
        job(operation, |(ciphertext, secret)| {
            Output::encapsulated(ciphertext, secret)
        })
    }

    fn decaps(&self, input: &Fields) -> Prepared {
        let Self(kem) = *self;
        let sk = of_length(input.sk()?, "sk", kem.length_secret_key)?;
        let ciphertext = of_length(&input.ciphertext()?, "ciphertext", kem.length_ciphertext)?;
        let operation = move || {
            let mut secret = vec![0; kem.length_shared_secret];
            // SAFETY: all have the lengths that the library expects.
            let status = unsafe {
                OQS_KEM_decaps(kem, secret.as_mut_ptr(), ciphertext.as_ptr(), sk.as_ptr())
            };
            done(status).map(|()| secret)
        };
        job(operation, Output::Bytes)
    }
}
