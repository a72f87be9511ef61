//! wolfSSL: its ML-DSA by the functions of `wolfssl/wolfcrypt/wc_mldsa.h`, of two libraries: as it is by
//! default, and with the caches of keys that it can be built with.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

use mldsa_worker_loop::adapter::{
    Family, KEM, Key, Output, Prepared, Scheme, Variant, WITH_KEY, job, ml_dsa_sets, ml_kem_sets,
    refused, shared, verdict,
};
use mldsa_worker_loop::protocol::Fields;

use crate::build_info;
use crate::mlkem::MlKem;

/// A key object, which the library allocates.
pub type Raw = *mut c_void;

/// The interface of one of the two libraries.
struct Library {
    new: unsafe extern "C" fn(*mut c_void, c_int) -> Raw,
    delete: unsafe extern "C" fn(Raw, *mut Raw) -> c_int,
    set_params: unsafe extern "C" fn(Raw, c_uchar) -> c_int,
    make: unsafe extern "C" fn(Raw, *const u8) -> c_int,
    import_sk: unsafe extern "C" fn(Raw, *const u8, c_uint) -> c_int,
    import_pk: unsafe extern "C" fn(Raw, *const u8, c_uint) -> c_int,
    export_sk: unsafe extern "C" fn(Raw, *mut u8, *mut c_uint) -> c_int,
    export_pk: unsafe extern "C" fn(Raw, *mut u8, *mut c_uint) -> c_int,
    sign: Sign,
    verify: Verify,
}

/// Key, context and its length, signature and its length, message and its length, rnd.
type Sign = unsafe extern "C" fn(
    Raw,
    *const u8,
    c_uchar,
    *mut u8,
    *mut c_uint,
    *const u8,
    c_uint,
    *const u8,
) -> c_int;
/// Key, signature and its length, context and its length, message and its length, verdict.
type Verify = unsafe extern "C" fn(
    Raw,
    *const u8,
    c_uint,
    *const u8,
    c_uchar,
    *const u8,
    c_uint,
    *mut c_int,
) -> c_int;

/// Declares the interface under its names with a prefix, and gathers it.
macro_rules! library {
    ($name:ident, $prefix:literal) => {
        mod $name {
            use super::*;

            unsafe extern "C" {
                #[link_name = concat!($prefix, "wolfCrypt_Init")]
                fn init() -> c_int;
                #[link_name = concat!($prefix, "wc_MlDsaKey_New")]
                fn new(heap: *mut c_void, device: c_int) -> Raw;
                #[link_name = concat!($prefix, "wc_MlDsaKey_Delete")]
                fn delete(key: Raw, place: *mut Raw) -> c_int;
                #[link_name = concat!($prefix, "wc_MlDsaKey_SetParams")]
                fn set_params(key: Raw, level: c_uchar) -> c_int;
                #[link_name = concat!($prefix, "wc_MlDsaKey_MakeKeyFromSeed")]
                fn make(key: Raw, seed: *const u8) -> c_int;
                #[link_name = concat!($prefix, "wc_MlDsaKey_ImportPrivRaw")]
                fn import_sk(key: Raw, from: *const u8, size: c_uint) -> c_int;
                #[link_name = concat!($prefix, "wc_MlDsaKey_ImportPubRaw")]
                fn import_pk(key: Raw, from: *const u8, size: c_uint) -> c_int;
                #[link_name = concat!($prefix, "wc_MlDsaKey_ExportPrivRaw")]
                fn export_sk(key: Raw, to: *mut u8, size: *mut c_uint) -> c_int;
                #[link_name = concat!($prefix, "wc_MlDsaKey_ExportPubRaw")]
                fn export_pk(key: Raw, to: *mut u8, size: *mut c_uint) -> c_int;
                #[link_name = concat!($prefix, "wc_MlDsaKey_SignCtxWithSeed")]
                fn sign(
                    key: Raw,
                    context: *const u8,
                    context_size: c_uchar,
                    to: *mut u8,
                    size: *mut c_uint,
                    message: *const u8,
                    message_size: c_uint,
                    rnd: *const u8,
                ) -> c_int;
                #[link_name = concat!($prefix, "wc_MlDsaKey_VerifyCtx")]
                fn verify(
                    key: Raw,
                    signature: *const u8,
                    size: c_uint,
                    context: *const u8,
                    context_size: c_uchar,
                    message: *const u8,
                    message_size: c_uint,
                    verdict: *mut c_int,
                ) -> c_int;
            }

            pub fn start() -> &'static Library {
                // SAFETY: called before anything else of the library, in its only thread.
                assert_eq!(unsafe { init() }, 0, "wolfSSL does not start");
                &Library {
                    new,
                    delete,
                    set_params,
                    make,
                    import_sk,
                    import_pk,
                    export_sk,
                    export_pk,
                    sign,
                    verify,
                }
            }
        }
    };
}

library!(plain, "");
library!(cached, "cached_");

/// `INVALID_DEVID`: no hardware.
pub const NO_DEVICE: c_int = -2;

pub fn variants() -> Vec<Variant> {
    let schemes = |library| {
        let set = |level, public_key, private_key, signature| WolfSsl {
            library,
            level,
            public_key,
            private_key,
            signature,
        };
        ml_dsa_sets(
            set(2, 1312, 2560, 2420),
            set(3, 1952, 4032, 3309),
            set(5, 2592, 4896, 4627),
        )
    };
    let kem = |kind, public_key, private_key, ciphertext| MlKem {
        kind,
        public_key,
        private_key,
        ciphertext,
    };
    let speed_up = if cfg!(target_arch = "x86_64") {
        "built with USE_INTEL_SPEEDUP: AVX2 or AVX-512 where the CPU has them"
    } else {
        "C alone"
    };
    let optimised = if build_info::BUILD.name == Some("tuned") {
        ""
    } else {
        ", with -O2 as its own build makes it"
    };
    let of = |implementation, note: &str| Variant {
        language: Some("C"),
        note: format!("{speed_up}{optimised}; {note}"),
        ..Variant::new(implementation, build_info::VERSION)
    };
    let variant = |note, library| Variant {
        schemes: schemes(library),
        ..of("wolfssl", note)
    };
    vec![
        variant(
            "key objects hold the key bytes only; key generation gives a wc_MlDsaKey and the public \
             key's bytes",
            plain::start(),
        ),
        Variant {
            key: Key::Expanded,
            operations: WITH_KEY,
            ..variant(
                "built with WC_MLDSA_CACHE_PRIV_VECTORS and _PUB_VECTORS: A-hat and NTT forms are \
                 cached when a key is imported",
                cached::start(),
            )
        },
        Variant {
            family: Family::MlKem,
            operations: KEM,
            context: false,
            schemes: ml_kem_sets(
                kem(0, 800, 1632, 768),
                kem(1, 1184, 2400, 1088),
                kem(2, 1568, 3168, 1568),
            ),
            ..of(
                "wolfssl-ml-kem",
                "key objects hold the decoded vectors; key generation gives an MlKemKey and the public \
                 key's bytes",
            )
        },
    ]
}

#[derive(Clone, Copy)]
struct WolfSsl {
    library: &'static Library,
    level: c_uchar,
    public_key: usize,
    private_key: usize,
    signature: usize,
}

/// A `wc_MlDsaKey` of a set.
struct MlDsaKey {
    of: WolfSsl,
    raw: Raw,
}

impl Drop for MlDsaKey {
    fn drop(&mut self) {
        // SAFETY: `raw` is the library's, and this its only owner.
        unsafe { (self.of.library.delete)(self.raw, null_mut()) };
    }
}

/// The length of input as the interface takes it; the lab's lines are far shorter.
pub fn count(bytes: &[u8]) -> Result<c_uint, String> {
    c_uint::try_from(bytes.len()).map_err(|_| "more than 4 GiB".into())
}

/// The length of a context; 255 bytes is the standard's limit, and that of the interface.
fn context_count(context: &[u8]) -> Result<c_uchar, String> {
    c_uchar::try_from(context.len())
        .map_err(|_| format!("a context has at most 255 bytes, got {}", context.len()))
}

/// The error of a status, whose texts are the same in both libraries.
pub fn done(status: c_int) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the library returns a static string for any number.
    let text = unsafe { CStr::from_ptr(wc_GetErrorString(status)) };
    Err(text.to_string_lossy().into_owned())
}

unsafe extern "C" {
    fn wc_GetErrorString(error: c_int) -> *const c_char;
}

impl WolfSsl {
    fn key(&self) -> Result<MlDsaKey, String> {
        // SAFETY: a null heap is the ordinary one.
        let raw = unsafe { (self.library.new)(null_mut(), NO_DEVICE) };
        if raw.is_null() {
            return Err("wolfSSL has no memory for a key".into());
        }
        let key = MlDsaKey { of: *self, raw };
        // SAFETY: `raw` is a key.
        done(unsafe { (self.library.set_params)(raw, self.level) })?;
        Ok(key)
    }

    fn import(
        &self,
        import: unsafe extern "C" fn(Raw, *const u8, c_uint) -> c_int,
        bytes: &[u8],
    ) -> Result<RefCell<MlDsaKey>, String> {
        let key = self.key()?;
        // SAFETY: `raw` is a key, `bytes` has the length given.
        done(unsafe { import(key.raw, bytes.as_ptr(), count(bytes)?) })?;
        Ok(RefCell::new(key))
    }

    /// What [`shared`] knows a key by: keys of both libraries are of one type.
    fn known_by(&self, bytes: &[u8]) -> Vec<u8> {
        let library = std::ptr::from_ref(self.library).addr().to_ne_bytes();
        [&library, &[self.level][..], bytes].concat()
    }
}

/// The bytes of a key, which are `size`.
fn export(
    key: &MlDsaKey,
    export: unsafe extern "C" fn(Raw, *mut u8, *mut c_uint) -> c_int,
    size: usize,
) -> Result<Vec<u8>, String> {
    let (mut bytes, mut length) = (vec![0; size], size as c_uint);
    // SAFETY: `raw` is a key, `bytes` has the length given.
    done(unsafe { export(key.raw, bytes.as_mut_ptr(), &mut length) })?;
    Ok(bytes)
}

impl Scheme for WolfSsl {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (set, seed) = (*self, input.seed()?);
        let operation = move || {
            let key = set.key()?;
            // SAFETY: `raw` is a key, the seed has its 32 bytes.
            done(unsafe { (set.library.make)(key.raw, seed.as_ptr()) })?;
            let public = export(&key, set.library.export_pk, set.public_key)?;
            Ok::<_, String>((key, public))
        };
        job(operation, move |(key, public)| Output::KeyPair {
            public,
            private: export(&key, set.library.export_sk, set.private_key).ok(),
        })
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let (set, sk) = (*self, input.sk()?);
        let key: Rc<RefCell<MlDsaKey>> =
            shared(self.known_by(sk), || set.import(set.library.import_sk, sk))?;
        let (rnd, message, context) = (input.rnd()?, input.message()?, input.context()?);
        let context_size = context_count(&context)?;
        let operation = move || {
            let (key, message_size) = (key.borrow_mut(), count(&message)?);
            let (mut signature, mut length) = (vec![0; set.signature], set.signature as c_uint);
            // SAFETY: `raw` is a key that nothing else uses meanwhile; all bytes have the lengths given,
            // rnd its 32.
            let status = unsafe {
                (set.library.sign)(
                    key.raw,
                    context.as_ptr(),
                    context_size,
                    signature.as_mut_ptr(),
                    &mut length,
                    message.as_ptr(),
                    message_size,
                    rnd.as_ptr(),
                )
            };
            done(status).map(|()| signature)
        };
        job(operation, Output::Bytes)
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let (set, pk) = (*self, input.pk()?);
        let imported = shared(self.known_by(pk), || set.import(set.library.import_pk, pk));
        let (message, context) = (input.message()?, input.context()?);
        let signature = input.signature()?;
        let (Ok::<Rc<RefCell<MlDsaKey>>, _>(key), Ok(context_size)) =
            (imported, context_count(&context))
        else {
            return refused();
        };
        verdict(move || {
            let (Ok(message_size), Ok(signature_size)) = (count(&message), count(&signature))
            else {
                return false;
            };
            let key = key.borrow_mut();
            let mut valid = 0;
            // SAFETY: as in `sign`.
            let status = unsafe {
                (set.library.verify)(
                    key.raw,
                    signature.as_ptr(),
                    signature_size,
                    context.as_ptr(),
                    context_size,
                    message.as_ptr(),
                    message_size,
                    &mut valid,
                )
            };
            status == 0 && valid == 1
        })
    }
}
