//! One signature, one verification.

use std::hint::black_box;

use mldsa_lanes::any::{
    AnyExpandedSigningKey, AnyExpandedVerifyingKey, AnySigningKey, AnyVerifyingKey,
};
use mldsa_lanes::{
    Context, Error, Input, ParameterSet, SignOptions, Signature, SigningKey, SysRng, VerifyingKey,
    hardened,
};

use crate::bytes::{Room, check_heap, input, reference};
use crate::input::{context, mldsa_input};
use crate::keys::{mldsa_signing_key, mldsa_verifying_key};
use crate::{Outcome, barrier, error::*};

/// Signing draws 32 random bytes (rnd) from the operating system: FIPS 204's default.
pub const MLDSA_HEDGED: u32 = 0;
/// Signing is deterministic: rnd is 32 zero bytes.
pub const MLDSA_DETERMINISTIC: u32 = 1;

/// Bytes of heap with which a key is expanded for one signature.
const SIGN_HEAP: usize = 96 << 10;

/// Where `rnd` comes from.
#[derive(Clone, Copy)]
pub(crate) enum Randomness<'a> {
    Hedged,
    Deterministic,
    Given(&'a [[u8; 32]]),
}

impl<'a> Randomness<'a> {
    pub fn known(randomness: u32) -> Outcome<Self> {
        match randomness {
            MLDSA_HEDGED => Ok(Randomness::Hedged),
            MLDSA_DETERMINISTIC => Ok(Randomness::Deterministic),
            _ => Err(MLDSA_ERROR_OPTION),
        }
    }

    pub fn options(self, rng: &'a mut SysRng) -> SignOptions<'a> {
        match self {
            Randomness::Hedged => SignOptions::hedged(rng),
            Randomness::Deterministic => SignOptions::deterministic(),
            Randomness::Given(rnds) => mldsa_lanes::hazmat::with_rnd(rnds),
        }
    }
}

/// Signs into the caller's buffer.
///
/// # Safety
/// As the header says of `key`, `signature` and `signature_len`.
pub(crate) unsafe fn sign(
    key: *const mldsa_signing_key,
    input: Input<'_>,
    randomness: Randomness<'_>,
    signature: *mut u8,
    signature_len: usize,
) -> Outcome {
    // SAFETY: the caller sees to it.
    let key = unsafe { reference(key) }?;
    // SAFETY: the caller sees to it.
    let room = unsafe { Room::new(signature, signature_len, key.key.set().signature_bytes()) }?;
    let mut rng = SysRng;
    let options = randomness.options(&mut rng);
    // Each set by itself: no signature is moved into an enum.
    macro_rules! signed {
        ($any:ident, $key:expr) => {
            match $key {
                $any::MlDsa44(key) => written(key.sign_with(input, options), room),
                $any::MlDsa65(key) => written(key.sign_with(input, options), room),
                $any::MlDsa87(key) => written(key.sign_with(input, options), room),
            }
        };
    }
    match key.expanded.get() {
        Some(key) => signed!(AnyExpandedSigningKey, key),
        None => {
            check_heap(SIGN_HEAP)?;
            signed!(AnySigningKey, &key.key)
        }
    }
}

fn written(signature: Result<impl AsRef<[u8]>, Error>, room: Room) -> Outcome {
    room.write(signature.map_err(code)?.as_ref())
}

/// Verifies the caller's bytes.
///
/// # Safety
/// As the header says of `key`, `signature` and `signature_len`.
pub(crate) unsafe fn verify(
    key: *const mldsa_verifying_key,
    input: Input<'_>,
    signature: *const u8,
    signature_len: usize,
) -> Outcome {
    // SAFETY: the caller sees to it.
    let key = unsafe { reference(key) }?;
    // SAFETY: the caller sees to it.
    let signature = unsafe { self::input(signature, signature_len) }?;
    macro_rules! verified {
        ($any:ident, $key:expr) => {
            match $key {
                $any::MlDsa44(key) => key.verify_signature(input, &read(signature)?),
                $any::MlDsa65(key) => key.verify_signature(input, &read(signature)?),
                $any::MlDsa87(key) => key.verify_signature(input, &read(signature)?),
            }
        };
    }
    let judged = match key.expanded.get() {
        Some(key) => verified!(AnyExpandedVerifyingKey, key),
        None => verified!(AnyVerifyingKey, &key.key),
    };
    judged.map_err(code)
}

fn read<P: ParameterSet>(bytes: &[u8]) -> Outcome<Signature<P>> {
    Signature::from_bytes(bytes).map_err(code)
}

/// Signs twice into the caller's buffer, and compares what has arrived there.
fn sign_twice<P: ParameterSet>(
    key: &SigningKey<P>,
    input: Input<'_>,
    options: SignOptions<'_>,
    mut room: Room,
) -> Outcome {
    // Not moved: a move would leave a copy of the key behind.
    let checked = hardened::SigningKey::new(key);
    let checked = checked.as_ref().map_err(|&error| hardened_code(error))?;
    checked
        .confirm_encoded_bytes(key.encoded_bytes().as_ref(), key.verifying_key())
        .map_err(hardened_code)?;
    let mut signature = Signature::default();
    let proof = checked.sign_into(input, options, &mut signature);
    let proof = proof.map_err(hardened_code)?;
    let written = room.write_and_read(signature.as_ref())?;
    if proof.holds(key.verifying_key(), input, &read(written)?) {
        return Ok(());
    }
    written.fill(0);
    Err(MLDSA_ERROR_FAULT)
}

/// Verifies the caller's bytes twice, and compares what was verified with them.
fn verify_twice<P: ParameterSet>(key: &VerifyingKey<P>, input: Input<'_>, bytes: &[u8]) -> Outcome {
    let checked = hardened::VerifyingKey::new(key).map_err(hardened_code)?;
    checked.confirm_bytes(key.as_ref()).map_err(hardened_code)?;
    let proof = checked.verify_signature(input, &read(bytes)?);
    let proof = proof.map_err(hardened_code)?;
    if proof.holds(key, input, &read(black_box(bytes))?) {
        Ok(())
    } else {
        Err(MLDSA_ERROR_FAULT)
    }
}

/// A message with its context, pure ML-DSA.
///
/// # Safety
/// As [`input`], for `'a`.
unsafe fn pure<'a>(
    message: *const u8,
    message_len: usize,
    context: *const u8,
    context_len: usize,
) -> Outcome<Input<'a>> {
    // SAFETY: the caller sees to it.
    let context: Context<'_> = unsafe { self::context(context, context_len) }?;
    // SAFETY: the caller sees to it.
    let message = unsafe { input(message, message_len) }?;
    Ok(Input::Pure { message, context })
}

/// Sign a message with pure ML-DSA, hedged (Algorithm 2 of FIPS 204): rnd comes from the operating
/// system.
///
/// message    message_len bytes; may be NULL where message_len is 0.
/// context    context_len bytes, at most 255; may be NULL where context_len is 0.
/// signature  room for signature_len bytes, at least mldsa_signature_bytes of the key's set (2420,
///            3309, 4627), which are written. Overlaps nothing that is read.
///
/// Errors: NULL, LENGTH, BUFFER, CONTEXT, RANDOM, ITERATIONS, MEMORY.
/// Thread safety: any thread, any time. Ownership: the caller keeps everything.
/// Wiping: the library wipes what depends on the key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_sign(
    key: *const mldsa_signing_key,
    message: *const u8,
    message_len: usize,
    context: *const u8,
    context_len: usize,
    signature: *mut u8,
    signature_len: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let input = unsafe { pure(message, message_len, context, context_len) }?;
        // SAFETY: as the header says.
        unsafe { sign(key, input, Randomness::Hedged, signature, signature_len) }
    })
}

/// Sign as mldsa_sign does, deterministically: rnd is 32 zero bytes. Hedged signatures withstand
/// fault and power analysis better.
///
/// Errors, thread safety, ownership, wiping: as mldsa_sign, without RANDOM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_sign_deterministic(
    key: *const mldsa_signing_key,
    message: *const u8,
    message_len: usize,
    context: *const u8,
    context_len: usize,
    signature: *mut u8,
    signature_len: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let input = unsafe { pure(message, message_len, context, context_len) }?;
        // SAFETY: as the header says.
        unsafe {
            sign(
                key,
                input,
                Randomness::Deterministic,
                signature,
                signature_len,
            )
        }
    })
}

/// Sign any input: HashML-DSA of a message or of its digest, or a message that came in pieces.
///
/// input          what to sign.
/// randomness     MLDSA_HEDGED or MLDSA_DETERMINISTIC.
/// signature      as for mldsa_sign.
///
/// Errors: those of mldsa_sign, OPTION, HASH, LENGTH of a digest, MU for a hasher of another key.
/// Thread safety, ownership, wiping: as mldsa_sign.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_sign_input(
    key: *const mldsa_signing_key,
    input: *const mldsa_input,
    randomness: u32,
    signature: *mut u8,
    signature_len: usize,
) -> mldsa_error {
    barrier(|| {
        let (mut mu, randomness) = (None, Randomness::known(randomness)?);
        // SAFETY: as the header says.
        let input = unsafe { reference(input)?.read(&mut mu) }?;
        // SAFETY: as the header says.
        unsafe { sign(key, input, randomness, signature, signature_len) }
    })
}

/// Verify a signature of a message with pure ML-DSA (Algorithm 3 of FIPS 204).
///
/// message    message_len bytes; may be NULL where message_len is 0.
/// context    context_len bytes, at most 255; may be NULL where context_len is 0.
/// signature  signature_len bytes, which must be mldsa_signature_bytes of the key's set (2420,
///            3309, 4627).
///
/// Return MLDSA_OK for a valid signature, and for it only.
/// Errors: SIGNATURE for one that is not valid; NULL, LENGTH, CONTEXT.
/// Thread safety: any thread, any time. Ownership: the caller keeps everything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verify(
    key: *const mldsa_verifying_key,
    message: *const u8,
    message_len: usize,
    context: *const u8,
    context_len: usize,
    signature: *const u8,
    signature_len: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let input = unsafe { pure(message, message_len, context, context_len) }?;
        // SAFETY: as the header says.
        unsafe { verify(key, input, signature, signature_len) }
    })
}

/// Verify a signature of any input: HashML-DSA of a message or of its digest, or a message that
/// came in pieces.
///
/// input      what was signed.
/// signature  as for mldsa_verify.
///
/// Return MLDSA_OK for a valid signature, and for it only.
/// Errors: those of mldsa_verify, OPTION, HASH, LENGTH of a digest, MU for a hasher of another key.
/// Thread safety, ownership: as mldsa_verify.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verify_input(
    key: *const mldsa_verifying_key,
    input: *const mldsa_input,
    signature: *const u8,
    signature_len: usize,
) -> mldsa_error {
    barrier(|| {
        let mut mu = None;
        // SAFETY: as the header says.
        let input = unsafe { reference(input)?.read(&mut mu) }?;
        // SAFETY: as the header says.
        unsafe { verify(key, input, signature, signature_len) }
    })
}

/// Sign as mldsa_sign_input does, with protection against a single hardware fault. The key is
/// computed again, the signature is made twice, compared and verified. It is the one that
/// mldsa_sign_input makes with the same rnd.
///
/// It takes 3 to 4 times as long as mldsa_sign_input; an expanded form does not change that. It does
/// not protect what the caller does: a call that is skipped whole, the branch on the code, memory
/// that changes before the call.
///
/// Errors: those of mldsa_sign_input, RANDOM also if the generator gives 32 zero bytes; FAULT. After
/// an error signature contains no signature.
/// Thread safety, ownership, wiping: as mldsa_sign.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_sign_hardened(
    key: *const mldsa_signing_key,
    input: *const mldsa_input,
    randomness: u32,
    signature: *mut u8,
    signature_len: usize,
) -> mldsa_error {
    barrier(|| {
        let (mut mu, randomness) = (None, Randomness::known(randomness)?);
        // SAFETY: as the header says.
        let input = unsafe { reference(input)?.read(&mut mu) }?;
        // SAFETY: as the header says.
        let key = &unsafe { reference(key) }?.key;
        let size = key.set().signature_bytes();
        // SAFETY: as the header says.
        let room = unsafe { Room::new(signature, signature_len, size) }?;
        check_heap(SIGN_HEAP)?;
        let mut rng = SysRng;
        let options = randomness.options(&mut rng);
        match key {
            AnySigningKey::MlDsa44(key) => sign_twice(key, input, options, room),
            AnySigningKey::MlDsa65(key) => sign_twice(key, input, options, room),
            AnySigningKey::MlDsa87(key) => sign_twice(key, input, options, room),
        }
    })
}

/// Verify as mldsa_verify_input does, with protection against a single hardware fault: twice, with
/// two copies of the public key.
///
/// It takes 2 to 3 times as long as mldsa_verify_input; an expanded form does not change that. What
/// it does not protect is as for mldsa_sign_hardened.
///
/// Return MLDSA_OK for a valid signature, and for it only.
/// Errors: those of mldsa_verify_input; FAULT.
/// Thread safety, ownership: as mldsa_verify.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verify_hardened(
    key: *const mldsa_verifying_key,
    input: *const mldsa_input,
    signature: *const u8,
    signature_len: usize,
) -> mldsa_error {
    barrier(|| {
        let mut mu = None;
        // SAFETY: as the header says.
        let input = unsafe { reference(input)?.read(&mut mu) }?;
        // SAFETY: as the header says.
        let key = &unsafe { reference(key) }?.key;
        // SAFETY: as the header says.
        let signature = unsafe { self::input(signature, signature_len) }?;
        match key {
            AnyVerifyingKey::MlDsa44(key) => verify_twice(key, input, signature),
            AnyVerifyingKey::MlDsa65(key) => verify_twice(key, input, signature),
            AnyVerifyingKey::MlDsa87(key) => verify_twice(key, input, signature),
        }
    })
}
