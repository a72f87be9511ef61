//! Handles of keys: made, read, written, expanded, freed.

use std::ffi::c_char;
use std::sync::atomic::{AtomicI32, Ordering};

use mldsa_lanes::any::{
    AnyExpandedSigningKey, AnyExpandedVerifyingKey, AnySigningKey, AnyVerifyingKey, Set,
};
use mldsa_lanes::pkcs8::der::Decode;
use mldsa_lanes::pkcs8::der::asn1::SequenceRef;
use mldsa_lanes::pkcs8::der::pem::{LineEnding, PemLabel};
use mldsa_lanes::pkcs8::spki::{DecodePublicKey, EncodePublicKey, SubjectPublicKeyInfoRef};
use mldsa_lanes::pkcs8::{
    DecodePrivateKey, EncryptedPrivateKeyInfoRef, PrivateKeyInfoRef, SecretDocument,
};
use mldsa_lanes::{Backend, PrivateKeyForm, SysRng, encryption, pem};

use crate::bytes::{
    NewHandle, Room, SetOnce, check_heap, exactly, free, input, measured, reference,
};
use crate::{Outcome, barrier, error::*};

/// A parameter set of FIPS 204: MLDSA_44, MLDSA_65 or MLDSA_87.
pub type mldsa_set = u32;

/// ML-DSA-44, NIST security category 2.
pub const MLDSA_44: mldsa_set = 44;
/// ML-DSA-65, NIST security category 3.
pub const MLDSA_65: mldsa_set = 65;
/// ML-DSA-87, NIST security category 5.
pub const MLDSA_87: mldsa_set = 87;

/// Bytes of a seed (xi of FIPS 204), for every set.
pub const MLDSA_SEED_BYTES: usize = 32;
/// Bytes of the largest encoded private key: 2560, 4032, 4896 for ML-DSA-44, -65, -87.
pub const MLDSA_MAX_SIGNING_KEY_BYTES: usize = 4896;
/// Bytes of the largest public key: 1312, 1952, 2592 for ML-DSA-44, -65, -87.
pub const MLDSA_MAX_VERIFYING_KEY_BYTES: usize = 2592;
/// Bytes of the largest signature: 2420, 3309, 4627 for ML-DSA-44, -65, -87.
pub const MLDSA_MAX_SIGNATURE_BYTES: usize = 4627;

/// PKCS#8 with the 32-byte seed, which RFC 9881 recommends.
pub const MLDSA_FORM_SEED: u32 = 0;
/// PKCS#8 with the encoded private key, which RFC 9881 calls expandedKey.
pub const MLDSA_FORM_EXPANDED: u32 = 1;
/// PKCS#8 with both; readers check that they belong together.
pub const MLDSA_FORM_BOTH: u32 = 2;

/// Binary encoding.
pub const MLDSA_DER: u32 = 0;
/// Text: base64 between BEGIN and END lines, ended by line feeds. No NUL is appended.
pub const MLDSA_PEM: u32 = 1;

/// A private key.
///
/// Thread safety: functions that take it as const may use it from several threads at once.
/// Wiping: the memory of the key is overwritten when it is freed.
pub struct mldsa_signing_key {
    pub(crate) key: AnySigningKey,
    pub(crate) expanded: SetOnce<AnyExpandedSigningKey>,
}

/// A public key.
///
/// Thread safety: functions that take it as const may use it from several threads at once.
pub struct mldsa_verifying_key {
    pub(crate) key: AnyVerifyingKey,
    pub(crate) expanded: SetOnce<AnyExpandedVerifyingKey>,
}

impl From<AnySigningKey> for mldsa_signing_key {
    fn from(key: AnySigningKey) -> Self {
        let expanded = SetOnce::new();
        mldsa_signing_key { key, expanded }
    }
}

impl From<AnyVerifyingKey> for mldsa_verifying_key {
    fn from(key: AnyVerifyingKey) -> Self {
        let expanded = SetOnce::new();
        mldsa_verifying_key { key, expanded }
    }
}

/// Bounds of the heap that an expanded key takes, and a file while it is read or written: three times its
/// text and its key.
const EXPANDED_HEAP: usize = 128 << 10;
const FILE_HEAP: usize = 64 << 10;
/// That of the scrypt parameters with which files are written.
const ENCRYPT_HEAP: usize = 17 << 20;

/// The reader rejects a longer file before it allocates.
fn file_heap(file: &[u8]) -> usize {
    FILE_HEAP.max(4 * file.len().min(pem::MAX_BYTES))
}

/// The heap of scrypt as a file asks for it. The reader rejects a file that asks for more than its limits
/// allow.
fn password_heap(der: &[u8]) -> usize {
    const LIMIT: u64 = 512 << 20;
    let info = EncryptedPrivateKeyInfoRef::try_from(der);
    let parameters = info.as_ref().map(|info| info.encryption_algorithm.pbes2());
    let Ok(Some(parameters)) = parameters else {
        return FILE_HEAP;
    };
    let Some(scrypt) = parameters.kdf.scrypt() else {
        return FILE_HEAP;
    };
    let blocks = scrypt
        .cost_parameter
        .saturating_add(u64::from(scrypt.parallelization))
        .saturating_add(1);
    let bytes = blocks.saturating_mul(128 * u64::from(scrypt.block_size));
    FILE_HEAP + usize::try_from(bytes.min(LIMIT)).unwrap_or(usize::MAX / 2)
}

pub(crate) fn known(set: mldsa_set) -> Outcome<Set> {
    match set {
        MLDSA_44 => Ok(Set::MlDsa44),
        MLDSA_65 => Ok(Set::MlDsa65),
        MLDSA_87 => Ok(Set::MlDsa87),
        _ => Err(MLDSA_ERROR_SET),
    }
}

fn number(set: Set) -> mldsa_set {
    match set {
        Set::MlDsa44 => MLDSA_44,
        Set::MlDsa65 => MLDSA_65,
        Set::MlDsa87 => MLDSA_87,
    }
}

/// Return the bytes of an encoded private key: 2560, 4032 or 4896; 0 for an unknown set.
///
/// Thread safety: any thread, any time.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_signing_key_bytes(set: mldsa_set) -> usize {
    known(set).map_or(0, Set::signing_key_bytes)
}

/// Return the bytes of a public key: 1312, 1952 or 2592; 0 for an unknown set.
///
/// Thread safety: any thread, any time.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_verifying_key_bytes(set: mldsa_set) -> usize {
    known(set).map_or(0, Set::verifying_key_bytes)
}

/// Return the bytes of a signature: 2420, 3309 or 4627; 0 for an unknown set.
///
/// Thread safety: any thread, any time.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_signature_bytes(set: mldsa_set) -> usize {
    known(set).map_or(0, Set::signature_bytes)
}

/// Return the library's version, MLDSA_VERSION of the header that it was built with. Never NULL.
///
/// Thread safety: any thread, any time. Ownership: static, ends with NUL, never freed.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Lets the environment choose the backend, once, before the first key. Threads that come at the same time
/// all ask it, since one that waited could wait for a thread that a child of `fork` lacks.
pub(crate) fn use_environment() -> Outcome {
    static ASKED: AtomicI32 = AtomicI32::new(-1);
    let mut outcome = ASKED.load(Ordering::Relaxed);
    if outcome < 0 {
        outcome = match Backend::use_environment() {
            Ok(_) => MLDSA_OK,
            Err(_) => MLDSA_ERROR_ENVIRONMENT,
        };
        ASKED.store(outcome, Ordering::Relaxed);
    }
    if outcome == MLDSA_OK {
        Ok(())
    } else {
        Err(outcome)
    }
}

/// Return the name of the backend that the library chose for this CPU, such as "avx2". Never NULL.
///
/// Thread safety: any thread, any time. Ownership: static, ends with NUL, never freed.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_backend() -> *const c_char {
    // An error is that of the first key.
    let _: Outcome = use_environment();
    Backend::detect().c_name().as_ptr()
}

/// Generate a private key with the operating system's random number generator.
///
/// set  MLDSA_44, MLDSA_65 or MLDSA_87.
/// key  where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, SET, RANDOM.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *key with mldsa_signing_key_free.
/// Wiping: the seed stays in the key only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_generate(
    set: mldsa_set,
    key: *mut *mut mldsa_signing_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let handle = unsafe { NewHandle::new(key) }?;
        let made = AnySigningKey::generate(known(set)?, &mut SysRng).map_err(code)?;
        handle.write(made.into())
    })
}

/// Make the private key of a seed (Algorithm 6 of FIPS 204).
///
/// set        MLDSA_44, MLDSA_65 or MLDSA_87.
/// seed       seed_len bytes, which must be 32 secret random bytes.
/// key        where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, SET, LENGTH.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *key with mldsa_signing_key_free and keeps seed.
/// Wiping: the caller wipes seed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_from_seed(
    set: mldsa_set,
    seed: *const u8,
    seed_len: usize,
    key: *mut *mut mldsa_signing_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, seed) = unsafe { (NewHandle::new(key)?, exactly(seed, seed_len)?) };
        handle.write(AnySigningKey::from_seed(known(set)?, seed).into())
    })
}

/// Import an encoded private key (skEncode of FIPS 204). The public key is computed again: a key
/// whose parts do not belong together is refused.
///
/// set      MLDSA_44, MLDSA_65 or MLDSA_87.
/// raw      raw_len bytes, which must be mldsa_signing_key_bytes(set).
/// key      where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, SET, LENGTH, KEY.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *key with mldsa_signing_key_free and keeps raw.
/// Wiping: the caller wipes raw.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_from_raw(
    set: mldsa_set,
    raw: *const u8,
    raw_len: usize,
    key: *mut *mut mldsa_signing_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, raw) = unsafe { (NewHandle::new(key)?, input(raw, raw_len)?) };
        let read = AnySigningKey::from_encoded_bytes(known(set)?, raw).map_err(code)?;
        handle.write(read.into())
    })
}

/// Import a private key from PKCS#8, in DER or in PEM, in each of the three forms of RFC 9881. The
/// file names the parameter set.
///
/// In PEM, lines may have any length, and text, certificates and the public key may precede or
/// follow the private key. ENCODING is also the error for two private keys, and PEM of more than
/// 64 KiB. `mldsa inspect FILE` prints the reason.
///
/// file      file_len bytes, which need no NUL.
/// key       where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, ENCODING, KEY, ENCRYPTION for an encrypted key.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *key with mldsa_signing_key_free and keeps file.
/// Wiping: the caller wipes file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_from_pkcs8(
    file: *const u8,
    file_len: usize,
    key: *mut *mut mldsa_signing_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, file) = unsafe { (NewHandle::new(key)?, input(file, file_len)?) };
        check_heap(file_heap(file))?;
        let read: AnySigningKey = if PrivateKeyInfoRef::try_from(file).is_ok() {
            AnySigningKey::from_pkcs8_der(file).map_err(file_code)?
        } else if EncryptedPrivateKeyInfoRef::try_from(file).is_ok() {
            return Err(MLDSA_ERROR_ENCRYPTION);
        } else {
            let read = pem::read_private_key(file);
            read.map_err(|error| pem_code(error, file, EncryptedPrivateKeyInfoRef::PEM_LABEL))?
        };
        handle.write(read.into())
    })
}

/// Import a private key from encrypted PKCS#8 (PBES2 of RFC 8018), in DER or in PEM. The key comes
/// from the password by scrypt or PBKDF2, which may take seconds; the cipher is AES in CBC or GCM.
///
/// file      file_len bytes, which need no NUL.
/// password  password_len bytes, without a NUL; may be NULL where password_len is 0.
/// key       where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, ENCODING, KEY, PASSWORD, MEMORY, ENCRYPTION for a key without encryption, another
/// algorithm, or a cost above 10000000 iterations of PBKDF2 or 128 MiB of scrypt.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *key with mldsa_signing_key_free and keeps file and password.
/// Wiping: the caller wipes password. The library wipes the decrypted file, but not the memory of
/// scrypt.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_from_encrypted_pkcs8(
    file: *const u8,
    file_len: usize,
    password: *const u8,
    password_len: usize,
    key: *mut *mut mldsa_signing_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, file) = unsafe { (NewHandle::new(key)?, input(file, file_len)?) };
        // SAFETY: as the header says.
        let password = unsafe { input(password, password_len) }?;
        check_heap(file_heap(file))?;
        let block;
        let der = if <&SequenceRef>::from_der(file).is_ok() && file.len() <= pem::MAX_BYTES {
            file
        } else {
            let found = pem::find_block(file, EncryptedPrivateKeyInfoRef::PEM_LABEL);
            block = found
                .and_then(|block| block.decode())
                .map_err(|error| pem_code(error, file, PrivateKeyInfoRef::PEM_LABEL))?;
            block.as_bytes()
        };
        check_heap(password_heap(der))?;
        let read: AnySigningKey =
            encryption::read_private_key(der, password).map_err(encryption_code)?;
        handle.write(read.into())
    })
}

/// Wipe and free a private key, and set *key to NULL. Does nothing where key or *key is NULL.
///
/// Thread safety: no other thread may be using *key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_free(key: *mut *mut mldsa_signing_key) {
    // SAFETY: as the header says.
    unsafe { free(key) }
}

/// Return the key's parameter set; 0 where key is NULL.
///
/// Thread safety: any thread, any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_set(key: *const mldsa_signing_key) -> mldsa_set {
    // SAFETY: as the header says.
    unsafe { key.as_ref() }.map_or(0, |key| number(key.key.set()))
}

/// Keep an expanded form of the key in the handle, with which signing is faster: A-hat and the NTT
/// forms, about 27, 46 and 78 KiB for ML-DSA-44, -65, -87. Later calls do nothing.
///
/// Errors: NULL.
/// Thread safety: any thread, any time.
/// Wiping: wiped with the key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_expand(key: *const mldsa_signing_key) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let key = unsafe { reference(key) }?;
        if key.expanded.get().is_some() {
            return Ok(());
        }
        check_heap(EXPANDED_HEAP)?;
        key.expanded.set(key.key.expand())
    })
}

/// Make a handle of the public key.
///
/// public_key  where the handle is written; NULL is written there after an error.
///
/// Errors: NULL.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *public_key with mldsa_verifying_key_free; it does not depend on
/// key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_verifying_key(
    key: *const mldsa_signing_key,
    public_key: *mut *mut mldsa_verifying_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, key) = unsafe { (NewHandle::new(public_key)?, reference(key)?) };
        handle.write(key.key.verifying_key().into())
    })
}

/// Make a second handle of the same private key, a copy that does not depend on key. It has no
/// expanded form.
///
/// copy  where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, MEMORY.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *copy with mldsa_signing_key_free, before or after key.
/// Wiping: each of the two is wiped when it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_duplicate(
    key: *const mldsa_signing_key,
    copy: *mut *mut mldsa_signing_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, key) = unsafe { (NewHandle::new(copy)?, reference(key)?) };
        handle.write(key.key.clone().into())
    })
}

/// Check that a public key is the one of this private key. It takes no longer than a comparison of
/// their bytes.
///
/// Return MLDSA_OK if they belong together, and only then.
/// Errors: MISMATCH if they do not, also if their sets differ; NULL.
/// Thread safety: any thread, any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_match(
    key: *const mldsa_signing_key,
    public_key: *const mldsa_verifying_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (key, public_key) = unsafe { (reference(key)?, reference(public_key)?) };
        if key.key.verifying_key() == public_key.key {
            Ok(())
        } else {
            Err(MLDSA_ERROR_MISMATCH)
        }
    })
}

/// Check that two handles have the same private key, in constant time. Known seeds and expanded
/// forms do not matter.
///
/// Return MLDSA_OK if they have, and only then.
/// Errors: MISMATCH if they have not, also if their sets differ; NULL.
/// Thread safety: any thread, any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_equal(
    key: *const mldsa_signing_key,
    other: *const mldsa_signing_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (key, other) = unsafe { (reference(key)?, reference(other)?) };
        if key.key == other.key {
            Ok(())
        } else {
            Err(MLDSA_ERROR_MISMATCH)
        }
    })
}

/// Write the seed, 32 bytes.
///
/// seed  room for seed_len bytes, at least 32.
///
/// Errors: NULL, BUFFER, NO_SEED for a key that was imported without its seed.
/// Thread safety: any thread, any time.
/// Wiping: the caller wipes seed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_seed(
    key: *const mldsa_signing_key,
    seed: *mut u8,
    seed_len: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (key, room) = unsafe { (reference(key)?, Room::new(seed, seed_len, 32)?) };
        room.write(key.key.seed().ok_or(MLDSA_ERROR_NO_SEED)?)
    })
}

/// Write the encoded private key (skEncode of FIPS 204): 2560, 4032 or 4896 bytes.
///
/// raw  room for raw_len bytes, at least mldsa_signing_key_bytes of the key's set.
///
/// Errors: NULL, BUFFER.
/// Thread safety: any thread, any time.
/// Wiping: the caller wipes raw.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_raw(
    key: *const mldsa_signing_key,
    raw: *mut u8,
    raw_len: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let bytes = unsafe { reference(key) }?.key.encoded_bytes();
        // SAFETY: as the header says.
        unsafe { Room::new(raw, raw_len, bytes.len()) }?.write(bytes)
    })
}

/// Write the private key as PKCS#8 (RFC 9881).
///
/// form      MLDSA_FORM_SEED, MLDSA_FORM_EXPANDED or MLDSA_FORM_BOTH.
/// encoding  MLDSA_DER or MLDSA_PEM.
/// file      room for file_len bytes; may be NULL where file_len is 0.
/// needed    where the bytes of the file are written, also after BUFFER.
///
/// Bytes in DER: 54 with the seed; 2588, 4060, 4924 with the encoded private key; 2626, 4098, 4962
/// with both.
///
/// Errors: NULL, OPTION, BUFFER, NO_SEED.
/// Thread safety: any thread, any time.
/// Wiping: the caller wipes file. The library wipes its own copies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_pkcs8(
    key: *const mldsa_signing_key,
    form: u32,
    encoding: u32,
    file: *mut u8,
    file_len: usize,
    needed: *mut usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let key = &unsafe { reference(key) }?.key;
        let is_pem = is_pem(encoding)?;
        let der = pkcs8(key, form)?;
        // SAFETY: as the header says.
        unsafe {
            write_file(
                &der,
                is_pem.then_some(PrivateKeyInfoRef::PEM_LABEL),
                file,
                file_len,
                needed,
            )
        }
    })
}

/// Write the private key as encrypted PKCS#8 (PBES2 of RFC 8018): with scrypt (N = 2^14, r = 8,
/// p = 5) and AES-256-CBC, which OpenSSL reads. It takes a fraction of a second and 17 MiB of heap.
///
/// form      MLDSA_FORM_SEED, MLDSA_FORM_EXPANDED or MLDSA_FORM_BOTH.
/// encoding  MLDSA_DER or MLDSA_PEM.
/// password  password_len bytes, at least 1, without a NUL.
/// file      room for file_len bytes; 8192 suffice for every set, form and encoding.
/// needed    where the bytes of the file are written, also after BUFFER.
///
/// Errors: NULL, OPTION, BUFFER, NO_SEED, LENGTH for an empty password, RANDOM, MEMORY.
/// Thread safety: any thread, any time.
/// Wiping: the caller wipes password. The library wipes its own copies of the key, but not the
/// memory of scrypt.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_encrypted_pkcs8(
    key: *const mldsa_signing_key,
    form: u32,
    encoding: u32,
    password: *const u8,
    password_len: usize,
    file: *mut u8,
    file_len: usize,
    needed: *mut usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let key = &unsafe { reference(key) }?.key;
        // SAFETY: as the header says.
        let password = unsafe { input(password, password_len) }?;
        if password.is_empty() {
            return Err(MLDSA_ERROR_LENGTH);
        }
        let is_pem = is_pem(encoding)?;
        let der = pkcs8(key, form)?;
        check_heap(ENCRYPT_HEAP)?;
        let der = encryption::encrypt(&der, password, &mut SysRng).map_err(encryption_code)?;
        let label = EncryptedPrivateKeyInfoRef::PEM_LABEL;
        // SAFETY: as the header says.
        unsafe { write_file(&der, is_pem.then_some(label), file, file_len, needed) }
    })
}

/// A private key in a form of RFC 9881.
fn pkcs8(key: &AnySigningKey, form: u32) -> Outcome<SecretDocument> {
    let form = match form {
        MLDSA_FORM_SEED => PrivateKeyForm::Seed,
        MLDSA_FORM_EXPANDED => PrivateKeyForm::ExpandedKey,
        MLDSA_FORM_BOTH => PrivateKeyForm::Both,
        _ => return Err(MLDSA_ERROR_OPTION),
    };
    if form != PrivateKeyForm::ExpandedKey && key.seed().is_none() {
        return Err(MLDSA_ERROR_NO_SEED);
    }
    check_heap(FILE_HEAP)?;
    key.to_pkcs8_der_as(form).map_err(file_code)
}

/// Writes a document in DER, or in PEM with a label.
///
/// # Safety
/// As [`measured`].
unsafe fn write_file(
    der: &SecretDocument,
    label: Option<&'static str>,
    file: *mut u8,
    file_len: usize,
    needed: *mut usize,
) -> Outcome {
    let pem;
    let bytes = match label {
        Some(label) => {
            pem = der.to_pem(label, LineEnding::LF);
            pem.as_ref().map_err(|_| MLDSA_ERROR_INTERNAL)?.as_bytes()
        }
        None => der.as_bytes(),
    };
    // SAFETY: the caller sees to it.
    unsafe { measured(bytes, file, file_len, needed) }
}

fn is_pem(encoding: u32) -> Outcome<bool> {
    match encoding {
        MLDSA_DER => Ok(false),
        MLDSA_PEM => Ok(true),
        _ => Err(MLDSA_ERROR_OPTION),
    }
}

/// Import a public key (pkEncode of FIPS 204). Any bytes are a public key.
///
/// set      MLDSA_44, MLDSA_65 or MLDSA_87.
/// raw      raw_len bytes, which must be mldsa_verifying_key_bytes(set).
/// key      where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, SET, LENGTH.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *key with mldsa_verifying_key_free and keeps raw.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verifying_key_from_raw(
    set: mldsa_set,
    raw: *const u8,
    raw_len: usize,
    key: *mut *mut mldsa_verifying_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, raw) = unsafe { (NewHandle::new(key)?, input(raw, raw_len)?) };
        let read = AnyVerifyingKey::from_bytes(known(set)?, raw).map_err(code)?;
        handle.write(read.into())
    })
}

/// Import a public key from SubjectPublicKeyInfo, in DER or in PEM. The file names the parameter
/// set. In PEM, it may have what mldsa_signing_key_from_pkcs8 describes.
///
/// file      file_len bytes, which need no NUL.
/// key       where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, ENCODING.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *key with mldsa_verifying_key_free and keeps file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verifying_key_from_spki(
    file: *const u8,
    file_len: usize,
    key: *mut *mut mldsa_verifying_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, file) = unsafe { (NewHandle::new(key)?, input(file, file_len)?) };
        check_heap(file_heap(file))?;
        let read = if SubjectPublicKeyInfoRef::try_from(file).is_ok() {
            AnyVerifyingKey::from_public_key_der(file).ok()
        } else {
            pem::read_public_key(file).ok()
        };
        handle.write(read.ok_or(MLDSA_ERROR_ENCODING)?.into())
    })
}

/// Make a second handle of the same public key, a copy that does not depend on key. It has no
/// expanded form.
///
/// copy  where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, MEMORY.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *copy with mldsa_verifying_key_free, before or after key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verifying_key_duplicate(
    key: *const mldsa_verifying_key,
    copy: *mut *mut mldsa_verifying_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, key) = unsafe { (NewHandle::new(copy)?, reference(key)?) };
        handle.write(key.key.clone().into())
    })
}

/// Free a public key, and set *key to NULL. Does nothing where key or *key is NULL.
///
/// Thread safety: no other thread may be using *key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verifying_key_free(key: *mut *mut mldsa_verifying_key) {
    // SAFETY: as the header says.
    unsafe { free(key) }
}

/// Return the key's parameter set; 0 where key is NULL.
///
/// Thread safety: any thread, any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verifying_key_set(key: *const mldsa_verifying_key) -> mldsa_set {
    // SAFETY: as the header says.
    unsafe { key.as_ref() }.map_or(0, |key| number(key.key.set()))
}

/// Keep an expanded form of the key in the handle, with which verification is faster: A-hat, the
/// NTT form of t1 and the key's hash, about 20, 36 and 64 KiB for ML-DSA-44, -65, -87. Later calls
/// do nothing.
///
/// Errors: NULL.
/// Thread safety: any thread, any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verifying_key_expand(
    key: *const mldsa_verifying_key,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let key = unsafe { reference(key) }?;
        if key.expanded.get().is_some() {
            return Ok(());
        }
        check_heap(EXPANDED_HEAP)?;
        key.expanded.set(key.key.expand())
    })
}

/// Write the public key (pkEncode of FIPS 204): 1312, 1952 or 2592 bytes.
///
/// raw  room for raw_len bytes, at least mldsa_verifying_key_bytes of the key's set.
///
/// Errors: NULL, BUFFER.
/// Thread safety: any thread, any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verifying_key_raw(
    key: *const mldsa_verifying_key,
    raw: *mut u8,
    raw_len: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let bytes = unsafe { reference(key) }?.key.as_ref();
        // SAFETY: as the header says.
        unsafe { Room::new(raw, raw_len, bytes.len()) }?.write(bytes)
    })
}

/// Write the public key as SubjectPublicKeyInfo (RFC 9881): 1334, 1974 or 2614 bytes in DER.
///
/// encoding  MLDSA_DER or MLDSA_PEM.
/// file      room for file_len bytes; may be NULL where file_len is 0.
/// needed    where the bytes of the file are written, also after BUFFER.
///
/// Errors: NULL, OPTION, BUFFER.
/// Thread safety: any thread, any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verifying_key_spki(
    key: *const mldsa_verifying_key,
    encoding: u32,
    file: *mut u8,
    file_len: usize,
    needed: *mut usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let key = &unsafe { reference(key) }?.key;
        check_heap(FILE_HEAP)?;
        let bytes = if is_pem(encoding)? {
            let pem = key.to_public_key_pem(LineEnding::LF);
            pem.map_err(|_| MLDSA_ERROR_INTERNAL)?.into_bytes()
        } else {
            let der = key.to_public_key_der();
            der.map_err(|_| MLDSA_ERROR_INTERNAL)?.into_vec()
        };
        // SAFETY: as the header says.
        unsafe { measured(&bytes, file, file_len, needed) }
    })
}
