//! The functions of `botan/ffi.h` that the worker calls, with its types of objects as plain pointers.
#![allow(clippy::missing_safety_doc)]

use std::ffi::{c_char, c_int, c_void};

pub type Get = unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> c_int;
pub type View = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int;

#[rustfmt::skip]
unsafe extern "C" {
    pub fn botan_version_major() -> u32;
    pub fn botan_version_minor() -> u32;
    pub fn botan_version_patch() -> u32;
    pub fn botan_error_description(error: c_int) -> *const c_char;
    pub fn botan_rng_init(rng: *mut *mut c_void, kind: *const c_char) -> c_int;
    pub fn botan_rng_init_custom(rng: *mut *mut c_void, name: *const c_char, context: *mut c_void, get: Get, add: Option<View>, destroy: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;
    pub fn botan_privkey_create(key: *mut *mut c_void, algorithm: *const c_char, set: *const c_char, rng: *mut c_void) -> c_int;
    pub fn botan_privkey_load_slh_dsa(key: *mut *mut c_void, bytes: *const u8, size: usize, set: *const c_char) -> c_int;
    pub fn botan_privkey_load_ml_kem(key: *mut *mut c_void, bytes: *const u8, size: usize, set: *const c_char) -> c_int;
    pub fn botan_privkey_view_raw(key: *mut c_void, context: *mut c_void, view: View) -> c_int;
    pub fn botan_privkey_load_ml_dsa(key: *mut *mut c_void, seed: *const u8, size: usize, set: *const c_char) -> c_int;
    pub fn botan_privkey_export_pubkey(public: *mut *mut c_void, key: *mut c_void) -> c_int;
    pub fn botan_privkey_destroy(key: *mut c_void) -> c_int;
    pub fn botan_pubkey_load_ml_dsa(key: *mut *mut c_void, bytes: *const u8, size: usize, set: *const c_char) -> c_int;
    pub fn botan_pubkey_load_slh_dsa(key: *mut *mut c_void, bytes: *const u8, size: usize, set: *const c_char) -> c_int;
    pub fn botan_pubkey_load_ml_kem(key: *mut *mut c_void, bytes: *const u8, size: usize, set: *const c_char) -> c_int;
    pub fn botan_pubkey_view_raw(key: *mut c_void, context: *mut c_void, view: View) -> c_int;
    pub fn botan_pubkey_destroy(key: *mut c_void) -> c_int;
    pub fn botan_pk_op_sign_create(op: *mut *mut c_void, key: *mut c_void, params: *const c_char, flags: u32) -> c_int;
    pub fn botan_pk_op_sign_update(op: *mut c_void, message: *const u8, size: usize) -> c_int;
    pub fn botan_pk_op_sign_finish(op: *mut c_void, rng: *mut c_void, to: *mut u8, size: *mut usize) -> c_int;
    pub fn botan_pk_op_sign_destroy(op: *mut c_void) -> c_int;
    pub fn botan_pk_op_verify_create(op: *mut *mut c_void, key: *mut c_void, params: *const c_char, flags: u32) -> c_int;
    pub fn botan_pk_op_verify_update(op: *mut c_void, message: *const u8, size: usize) -> c_int;
    pub fn botan_pk_op_verify_finish(op: *mut c_void, signature: *const u8, size: usize) -> c_int;
    pub fn botan_pk_op_verify_destroy(op: *mut c_void) -> c_int;
    pub fn botan_pk_op_kem_encrypt_create(op: *mut *mut c_void, key: *mut c_void, kdf: *const c_char) -> c_int;
    pub fn botan_pk_op_kem_encrypt_create_shared_key(op: *mut c_void, rng: *mut c_void, salt: *const u8, salt_size: usize, wanted: usize, secret: *mut u8, secret_size: *mut usize, to: *mut u8, size: *mut usize) -> c_int;
    pub fn botan_pk_op_kem_encrypt_destroy(op: *mut c_void) -> c_int;
    pub fn botan_pk_op_kem_decrypt_create(op: *mut *mut c_void, key: *mut c_void, kdf: *const c_char) -> c_int;
    pub fn botan_pk_op_kem_decrypt_shared_key(op: *mut c_void, salt: *const u8, salt_size: usize, ciphertext: *const u8, size: usize, wanted: usize, secret: *mut u8, secret_size: *mut usize) -> c_int;
    pub fn botan_pk_op_kem_decrypt_destroy(op: *mut c_void) -> c_int;
}
