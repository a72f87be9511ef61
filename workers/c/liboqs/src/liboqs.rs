//! liboqs through OQS_SIG objects, its documented interface.

use std::cell::Cell;
use std::ffi::CStr;

use mldsa_worker_loop::adapter::{
    Output, Prepared, Scheme, Variant, job, ml_dsa_sets, refused, verdict,
};
use mldsa_worker_loop::protocol::Fields;
use oqs_sys::common::{OQS_STATUS, OQS_init, OQS_version};
use oqs_sys::rand::OQS_randombytes_custom_algorithm;
use oqs_sys::sig::{
    OQS_SIG, OQS_SIG_keypair, OQS_SIG_new, OQS_SIG_sign_with_ctx_str, OQS_SIG_verify_with_ctx_str,
};

thread_local! {
    /// What the library draws next in this thread: xi or rnd.
    static DRAWN: Cell<[u8; 32]> = const { Cell::new([0; 32]) };
}

/// The library's source of randomness, which hands out what the input gives.
///
/// # Safety
/// `to` must point to `count` bytes that may be written.
unsafe extern "C" fn given(to: *mut u8, count: usize) {
    // FIPS 204 draws nothing else; it cannot unwind into C.
    if count != 32 {
        std::process::abort();
    }
    // SAFETY: `to` has room for 32 bytes, as the caller promises.
    unsafe { to.cast::<[u8; 32]>().write_unaligned(DRAWN.get()) }
}

pub fn variants() -> Vec<Variant> {
    // SAFETY: called before anything else of the library, in its only thread; `given` lives on.
    unsafe {
        OQS_init();
        OQS_randombytes_custom_algorithm(Some(given));
    }
    // SAFETY: the library returns a static string.
    let version = unsafe { CStr::from_ptr(OQS_version()) };
    vec![Variant {
        language: Some("C"),
        note:
            "OQS_SIG objects of crate oqs-sys, a distribution build: each call asks the CPU, then \
               takes pqcrystals' AVX2 code or C, and Keccak of XKCP; keys stay byte strings; \
               OQS_randombytes hands out xi and rnd, so the system's source is not timed; the AVX2 code of \
               0.13 verifies without the norm check of z (issue 113 of pq-crystals/dilithium)"
                .into(),
        schemes: ml_dsa_sets(
            Liboqs::new(c"ML-DSA-44"),
            Liboqs::new(c"ML-DSA-65"),
            Liboqs::new(c"ML-DSA-87"),
        ),
        ..Variant::new("liboqs", version.to_str().expect("a version in ASCII"))
    }]
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

/// A key of the length that the library reads without asking.
fn key(bytes: &[u8], name: &str, length: usize) -> Result<Vec<u8>, String> {
    if bytes.len() != length {
        return Err(format!(
            "{name} must be {length} bytes, got {}",
            bytes.len()
        ));
    }
    Ok(bytes.to_vec())
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
            DRAWN.set(seed);
            let mut public = vec![0; sig.length_public_key];
            let mut private = vec![0; sig.length_secret_key];
            // SAFETY: both have the lengths that the library writes.
            let status = unsafe { OQS_SIG_keypair(sig, public.as_mut_ptr(), private.as_mut_ptr()) };
            done(status).map(|()| (public, private))
        };
        job(operation, |(public, private)| Output::KeyPair {
            public,
            private: Some(private),
        })
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let Self(sig) = *self;
        let sk = key(input.sk()?, "sk", sig.length_secret_key)?;
        let (rnd, message, context) = (input.rnd()?, input.message()?, input.context()?);
        let operation = move || {
            DRAWN.set(rnd);
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
        let Ok(pk) = key(input.pk()?, "pk", sig.length_public_key) else {
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
