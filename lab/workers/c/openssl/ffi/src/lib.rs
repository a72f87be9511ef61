//! The functions and constants of `openssl/evp.h`, `crypto.h` and `err.h` that the worker calls. Those of
//! the manual pages apply; null for a library or a query is the default.
#![allow(clippy::missing_safety_doc)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};

/// OSSL_PARAM(3).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Param {
    pub key: *const c_char,
    pub data_type: c_uint,
    pub data: *mut c_void,
    pub data_size: usize,
    pub return_size: usize,
}
impl Param {
    /// That of a number, which must outlive it.
    pub fn of_int(key: &'static CStr, value: &c_int) -> Self {
        Self {
            key: key.as_ptr(),
            data_type: INTEGER,
            data: std::ptr::from_ref(value).cast_mut().cast(),
            data_size: size_of::<c_int>(),
            return_size: UNMODIFIED,
        }
    }
}
pub const INTEGER: c_uint = 1;
pub const OCTET_STRING: c_uint = 5;
pub const UNMODIFIED: usize = usize::MAX;

pub const PUBLIC_KEY: c_int = 0x86;
pub const KEY_PAIR: c_int = 0x87;
pub const VERSION_STRING: c_int = 6;
pub const INIT_NO_LOAD_CONFIG: u64 = 0x80;

#[rustfmt::skip]
unsafe extern "C" {
    pub fn OPENSSL_init_crypto(options: u64, settings: *const c_void) -> c_int;
    pub fn OpenSSL_version(what: c_int) -> *const c_char;
    pub fn ERR_get_error() -> c_ulong;
    pub fn ERR_error_string_n(error: c_ulong, text: *mut c_char, size: usize);
    pub fn EVP_SIGNATURE_fetch(library: *mut c_void, name: *const c_char, query: *const c_char) -> *mut c_void;
    pub fn EVP_PKEY_CTX_new_from_name(library: *mut c_void, name: *const c_char, query: *const c_char) -> *mut c_void;
    pub fn EVP_PKEY_CTX_new_from_pkey(library: *mut c_void, key: *mut c_void, query: *const c_char) -> *mut c_void;
    pub fn EVP_PKEY_CTX_free(context: *mut c_void);
    pub fn EVP_PKEY_CTX_set_params(context: *mut c_void, params: *const Param) -> c_int;
    pub fn EVP_PKEY_keygen_init(context: *mut c_void) -> c_int;
    pub fn EVP_PKEY_generate(context: *mut c_void, key: *mut *mut c_void) -> c_int;
    pub fn EVP_PKEY_fromdata_init(context: *mut c_void) -> c_int;
    pub fn EVP_PKEY_fromdata(context: *mut c_void, key: *mut *mut c_void, selection: c_int, params: *const Param) -> c_int;
    pub fn EVP_PKEY_get_octet_string_param(key: *const c_void, name: *const c_char, to: *mut u8, size: usize, length: *mut usize) -> c_int;
    pub fn EVP_PKEY_free(key: *mut c_void);
    pub fn EVP_PKEY_sign_message_init(context: *mut c_void, algorithm: *mut c_void, params: *const Param) -> c_int;
    pub fn EVP_PKEY_sign(context: *mut c_void, to: *mut u8, length: *mut usize, message: *const u8, size: usize) -> c_int;
    pub fn EVP_PKEY_verify_message_init(context: *mut c_void, algorithm: *mut c_void, params: *const Param) -> c_int;
    pub fn EVP_PKEY_verify(context: *mut c_void, signature: *const u8, length: usize, message: *const u8, size: usize) -> c_int;
    pub fn EVP_PKEY_encapsulate_init(context: *mut c_void, params: *const Param) -> c_int;
    pub fn EVP_PKEY_encapsulate(context: *mut c_void, to: *mut u8, length: *mut usize, secret: *mut u8, size: *mut usize) -> c_int;
    pub fn EVP_PKEY_decapsulate_init(context: *mut c_void, params: *const Param) -> c_int;
    pub fn EVP_PKEY_decapsulate(context: *mut c_void, secret: *mut u8, size: *mut usize, ciphertext: *const u8, length: usize) -> c_int;
}
