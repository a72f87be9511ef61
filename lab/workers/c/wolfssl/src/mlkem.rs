//! wolfSSL's ML-KEM by the functions of `wolfssl/wolfcrypt/wc_mlkem.h`, of the library as it is by default.

use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

use mldsa_worker_loop::adapter::{Output, Prepared, Scheme, job, shared};
use mldsa_worker_loop::protocol::Fields;

use crate::wolfssl::{NO_DEVICE, Raw, count, done};

#[rustfmt::skip]
unsafe extern "C" {
    fn wc_MlKemKey_New(kind: c_int, heap: *mut c_void, device: c_int) -> Raw;
    fn wc_MlKemKey_Delete(key: Raw, place: *mut Raw) -> c_int;
    fn wc_MlKemKey_MakeKeyWithRandom(key: Raw, seed: *const u8, size: c_int) -> c_int;
    fn wc_MlKemKey_EncapsulateWithRandom(key: Raw, to: *mut u8, secret: *mut u8, m: *const u8, size: c_int) -> c_int;
    fn wc_MlKemKey_Decapsulate(key: Raw, secret: *mut u8, ciphertext: *const u8, size: c_uint) -> c_int;
    fn wc_MlKemKey_DecodePrivateKey(key: Raw, from: *const u8, size: c_uint) -> c_int;
    fn wc_MlKemKey_DecodePublicKey(key: Raw, from: *const u8, size: c_uint) -> c_int;
    fn wc_MlKemKey_EncodePrivateKey(key: Raw, to: *mut u8, size: c_uint) -> c_int;
    fn wc_MlKemKey_EncodePublicKey(key: Raw, to: *mut u8, size: c_uint) -> c_int;
}

#[derive(Clone, Copy)]
pub struct MlKem {
    pub kind: c_int,
    pub public_key: usize,
    pub private_key: usize,
    pub ciphertext: usize,
}

/// An `MlKemKey`.
struct Key(Raw);

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the pointer is the library's, and this its only owner.
        unsafe { wc_MlKemKey_Delete(self.0, null_mut()) };
    }
}

impl MlKem {
    fn key(&self) -> Result<Key, String> {
        // SAFETY: a null heap is the ordinary one.
        let raw = unsafe { wc_MlKemKey_New(self.kind, null_mut(), NO_DEVICE) };
        if raw.is_null() {
            return Err("wolfSSL has no memory for a key".into());
        }
        Ok(Key(raw))
    }

    /// The key object of these bytes, which operations change while they work.
    fn decoded(
        &self,
        decode: unsafe extern "C" fn(Raw, *const u8, c_uint) -> c_int,
        bytes: &[u8],
    ) -> Result<Rc<RefCell<Key>>, String> {
        shared(bytes.to_vec(), || {
            let key = self.key()?;
            // SAFETY: `key` is one, `bytes` has the length given.
            done(unsafe { decode(key.0, bytes.as_ptr(), count(bytes)?) })?;
            Ok(RefCell::new(key))
        })
    }
}

/// The bytes of a key, which are `size`.
fn encoded(
    key: &Key,
    encode: unsafe extern "C" fn(Raw, *mut u8, c_uint) -> c_int,
    size: usize,
) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; size];
    // SAFETY: `key` is one, `bytes` has the length given.
    done(unsafe { encode(key.0, bytes.as_mut_ptr(), size as c_uint) })?;
    Ok(bytes)
}

impl Scheme for MlKem {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (of, seed) = (*self, input.kem_seed()?);
        let operation = move || {
            let key = of.key()?;
            // SAFETY: `key` is one, the seed has its 64 bytes.
            done(unsafe { wc_MlKemKey_MakeKeyWithRandom(key.0, seed.as_ptr(), 64) })?;
            let public = encoded(&key, wc_MlKemKey_EncodePublicKey, of.public_key)?;
            Ok::<_, String>((key, public))
        };
        job(operation, move |(key, public)| Output::KeyPair {
            public,
            private: encoded(&key, wc_MlKemKey_EncodePrivateKey, of.private_key).ok(),
        })
    }

    fn encaps(&self, input: &Fields) -> Prepared {
        let (size, m) = (self.ciphertext, input.rnd()?);
        let key = self.decoded(wc_MlKemKey_DecodePublicKey, input.pk()?)?;
        let operation = move || {
            let (mut ciphertext, mut secret) = (vec![0; size], [0; 32]);
            // SAFETY: `key` is a public one that nothing else uses meanwhile; the bytes have the lengths of
            // the set, m its 32.
            let status = unsafe {
                wc_MlKemKey_EncapsulateWithRandom(
                    key.borrow_mut().0,
                    ciphertext.as_mut_ptr(),
                    secret.as_mut_ptr(),
                    m.as_ptr(),
                    32,
                )
            };
            done(status).map(|()| (ciphertext, secret))
        };
        job(operation, |(ciphertext, secret)| {
            Output::encapsulated(ciphertext, secret)
        })
    }

    fn decaps(&self, input: &Fields) -> Prepared {
        let key = self.decoded(wc_MlKemKey_DecodePrivateKey, input.sk()?)?;
        let ciphertext = input.ciphertext()?;
        let size = count(&ciphertext)?;
        let operation = move || {
            let mut secret = [0; 32];
            // SAFETY: `key` is a private one that nothing else uses meanwhile; the ciphertext has the length
            // given, the secret that of the set.
            let status = unsafe {
                wc_MlKemKey_Decapsulate(
                    key.borrow_mut().0,
                    secret.as_mut_ptr(),
                    ciphertext.as_ptr(),
                    size,
                )
            };
            done(status).map(|()| secret)
        };
        job(operation, Output::bytes)
    }
}
