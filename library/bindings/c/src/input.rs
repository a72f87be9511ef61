//! What is signed: messages, digests, and messages in pieces.

use mldsa_lanes::{Context, Input, Mu, MuHasher, PreHash};

use crate::bytes::{NewHandle, Room, changed, free, input, reference};
use crate::keys::mldsa_verifying_key;
use crate::{Outcome, barrier, error::*};

/// A hash function of HashML-DSA: the last arc of its object identifier 2.16.840.1.101.3.4.2.x.
/// MLDSA_HASH_NONE stands for pure ML-DSA.
pub type mldsa_hash = u32;

/// Pure ML-DSA: the message itself is signed.
pub const MLDSA_HASH_NONE: mldsa_hash = 0;
/// SHA-256, for ML-DSA-44.
pub const MLDSA_HASH_SHA2_256: mldsa_hash = 1;
/// SHA-384, for ML-DSA-44 and -65.
pub const MLDSA_HASH_SHA2_384: mldsa_hash = 2;
/// SHA-512, for every set.
pub const MLDSA_HASH_SHA2_512: mldsa_hash = 3;
/// SHA-224: only with MLDSA_INPUT_WEAK_HASH.
pub const MLDSA_HASH_SHA2_224: mldsa_hash = 4;
/// SHA-512/224: only with MLDSA_INPUT_WEAK_HASH.
pub const MLDSA_HASH_SHA2_512_224: mldsa_hash = 5;
/// SHA-512/256, for ML-DSA-44.
pub const MLDSA_HASH_SHA2_512_256: mldsa_hash = 6;
/// SHA3-224: only with MLDSA_INPUT_WEAK_HASH.
pub const MLDSA_HASH_SHA3_224: mldsa_hash = 7;
/// SHA3-256, for ML-DSA-44.
pub const MLDSA_HASH_SHA3_256: mldsa_hash = 8;
/// SHA3-384, for ML-DSA-44 and -65.
pub const MLDSA_HASH_SHA3_384: mldsa_hash = 9;
/// SHA3-512, for every set.
pub const MLDSA_HASH_SHA3_512: mldsa_hash = 10;
/// SHAKE128 with 32 bytes, for ML-DSA-44.
pub const MLDSA_HASH_SHAKE128: mldsa_hash = 11;
/// SHAKE256 with 64 bytes, for every set.
pub const MLDSA_HASH_SHAKE256: mldsa_hash = 12;

/// Flag of mldsa_input: message is the digest that hash made of the message.
pub const MLDSA_INPUT_DIGEST: u32 = 1;
/// Flag of mldsa_input: hash may be weaker than the parameter set asks for (FIPS 204, section
/// 5.4.1).
pub const MLDSA_INPUT_WEAK_HASH: u32 = 2;

/// What to sign or verify. Fill it with zeros first: then message and message_len alone make pure
/// ML-DSA with the empty context.
///
/// Ownership: the caller keeps everything it points to, unchanged until the call returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mldsa_input {
    /// message_len bytes: the message, or with MLDSA_INPUT_DIGEST its digest; may be NULL where
    /// message_len is 0.
    pub message: *const u8,
    /// Bytes of message.
    pub message_len: usize,
    /// context_len bytes; may be NULL where context_len is 0.
    pub context: *const u8,
    /// Bytes of context, at most 255.
    pub context_len: usize,
    /// MLDSA_HASH_NONE for pure ML-DSA, else the hash function of HashML-DSA.
    pub hash: mldsa_hash,
    /// 0, or a sum of MLDSA_INPUT_DIGEST and MLDSA_INPUT_WEAK_HASH, which need a hash.
    pub flags: u32,
    /// NULL, or a hasher that has had the message; then everything else is 0.
    pub mu: *const mldsa_mu_hasher,
}

/// Hashes a message that comes in pieces, for one key: the state of mu, FIPS 204's message
/// representative.
///
/// Thread safety: one thread at a time while pieces are added.
/// Wiping: not wiped; mu is no secret of the key, but tells whether a guess of the message is
/// right.
pub struct mldsa_mu_hasher(pub(crate) MuHasher);

pub(crate) fn pre_hash(hash: mldsa_hash) -> Outcome<Option<PreHash>> {
    Ok(Some(match hash {
        MLDSA_HASH_NONE => return Ok(None),
        MLDSA_HASH_SHA2_256 => PreHash::Sha2_256,
        MLDSA_HASH_SHA2_384 => PreHash::Sha2_384,
        MLDSA_HASH_SHA2_512 => PreHash::Sha2_512,
        MLDSA_HASH_SHA2_224 => PreHash::Sha2_224,
        MLDSA_HASH_SHA2_512_224 => PreHash::Sha2_512_224,
        MLDSA_HASH_SHA2_512_256 => PreHash::Sha2_512_256,
        MLDSA_HASH_SHA3_224 => PreHash::Sha3_224,
        MLDSA_HASH_SHA3_256 => PreHash::Sha3_256,
        MLDSA_HASH_SHA3_384 => PreHash::Sha3_384,
        MLDSA_HASH_SHA3_512 => PreHash::Sha3_512,
        MLDSA_HASH_SHAKE128 => PreHash::Shake128,
        MLDSA_HASH_SHAKE256 => PreHash::Shake256,
        _ => return Err(MLDSA_ERROR_HASH),
    }))
}

/// # Safety
/// As [`input`], for `'a`.
pub(crate) unsafe fn context<'a>(from: *const u8, count: usize) -> Outcome<Context<'a>> {
    // Before a pointer is looked at: its length is public.
    if count > 255 {
        return Err(MLDSA_ERROR_CONTEXT);
    }
    // SAFETY: the caller sees to it.
    Context::new(unsafe { input(from, count) }?).map_err(code)
}

impl mldsa_input {
    /// As the library has it; `mu` is a place for the hasher's.
    ///
    /// # Safety
    /// As the header says, for `'a`.
    pub(crate) unsafe fn read<'a>(&self, mu: &'a mut Option<Mu>) -> Outcome<Input<'a>> {
        let (hash, flags) = (pre_hash(self.hash)?, self.flags);
        let bits = MLDSA_INPUT_DIGEST | MLDSA_INPUT_WEAK_HASH;
        if flags & !bits != 0 || (flags != 0 && hash.is_none()) {
            return Err(MLDSA_ERROR_OPTION);
        }
        if !self.mu.is_null() {
            if hash.is_some() || self.message_len != 0 || self.context_len != 0 {
                return Err(MLDSA_ERROR_OPTION);
            }
            // SAFETY: the caller sees to it.
            let hasher = unsafe { reference(self.mu) }?;
            return Ok(Input::Mu(mu.insert(hasher.0.clone().finish())));
        }
        // SAFETY: the caller sees to it.
        let context = unsafe { context(self.context, self.context_len) }?;
        // SAFETY: the caller sees to it.
        let message = unsafe { input(self.message, self.message_len) }?;
        let Some(hash) = hash else {
            return Ok(Input::Pure { message, context });
        };
        let (digest, weak) = (
            flags & MLDSA_INPUT_DIGEST != 0,
            flags & MLDSA_INPUT_WEAK_HASH != 0,
        );
        Ok(match (digest, weak) {
            (false, false) => Input::PreHash {
                hash,
                message,
                context,
            },
            (false, true) => Input::WeakPreHash {
                hash,
                message,
                context,
            },
            (true, false) => Input::Digest {
                hash,
                digest: message,
                context,
            },
            (true, true) => Input::WeakDigest {
                hash,
                digest: message,
                context,
            },
        })
    }
}

/// Make a hasher for a message that comes in pieces. It serves for signing with the private key of
/// the pair, and for verification with this public key: put it into mldsa_input.
///
/// key      the public key of the pair; not needed any more after the call.
/// hash     MLDSA_HASH_NONE for pure ML-DSA, else the hash function of HashML-DSA.
/// context  context_len bytes, at most 255; may be NULL where context_len is 0.
/// hasher   where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, HASH, CONTEXT.
/// Thread safety: any thread, any time.
/// Ownership: the caller frees *hasher with mldsa_mu_hasher_free and keeps the rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_mu_hasher_new(
    key: *const mldsa_verifying_key,
    hash: mldsa_hash,
    context: *const u8,
    context_len: usize,
    hasher: *mut *mut mldsa_mu_hasher,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, key) = unsafe { (NewHandle::new(hasher)?, reference(key)?) };
        // SAFETY: as the header says.
        let context = unsafe { self::context(context, context_len) }?;
        let made = match (pre_hash(hash)?, key.expanded.get()) {
            (None, None) => key.key.mu_hasher(context),
            (None, Some(key)) => key.mu_hasher(context),
            (Some(hash), _) => key.key.prehash_mu_hasher(hash, context).map_err(code)?,
        };
        handle.write(mldsa_mu_hasher(made))
    })
}

/// Add the next piece of the message. Pieces may also be added after the hasher has been used in an
/// mldsa_input: every use stands for the message up to then.
///
/// piece  piece_len bytes; may be NULL where piece_len is 0.
///
/// Errors: NULL, LENGTH.
/// Thread safety: no other thread may be using hasher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_mu_hasher_update(
    hasher: *mut mldsa_mu_hasher,
    piece: *const u8,
    piece_len: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (hasher, piece) = unsafe { (changed(hasher, 1)?, input(piece, piece_len)?) };
        hasher[0].0.update(piece);
        Ok(())
    })
}

/// Write mu of the message up to now, 64 bytes. The hasher stays as it is.
///
/// mu  room for mu_len bytes, at least 64.
///
/// Errors: NULL, BUFFER.
/// Thread safety: no other thread may be adding pieces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_mu_hasher_mu(
    hasher: *const mldsa_mu_hasher,
    mu: *mut u8,
    mu_len: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (hasher, room) = unsafe { (reference(hasher)?, Room::new(mu, mu_len, 64)?) };
        room.write(hasher.0.clone().finish().as_bytes())
    })
}

/// Make a second hasher that has had the same pieces. Both take further pieces by themselves.
///
/// copy  where the handle is written; NULL is written there after an error.
///
/// Errors: NULL, MEMORY.
/// Thread safety: no other thread may be adding pieces to hasher.
/// Ownership: the caller frees *copy with mldsa_mu_hasher_free, before or after hasher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_mu_hasher_duplicate(
    hasher: *const mldsa_mu_hasher,
    copy: *mut *mut mldsa_mu_hasher,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (handle, hasher) = unsafe { (NewHandle::new(copy)?, reference(hasher)?) };
        handle.write(mldsa_mu_hasher(hasher.0.clone()))
    })
}

/// Free a hasher, and set *hasher to NULL. Does nothing where hasher or *hasher is NULL.
///
/// Thread safety: no other thread may be using *hasher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_mu_hasher_free(hasher: *mut *mut mldsa_mu_hasher) {
    // SAFETY: as the header says.
    unsafe { free(hasher) }
}
