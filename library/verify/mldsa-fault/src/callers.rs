//! Programs that call the library as its documentation says, one function for each operation: the frame in
//! which the library's inlined lines run. What lies between `open` and `close` is disturbed.
//!
//! A caller is called twice on one stack where the operation is disturbed *warm*: with another key or
//! message first, whose results then lie where those of the second call belong. It leaves its output where
//! the library has checked it, in a place of its own caller's: a fault may change a register that the
//! library restores, and with it what this function would still do. A refusal is reported by `close`, for the same
//! reason.

use std::hint::black_box;

use mldsa_lanes::{
    Backend, Error, ExpandedSigningKey, ParameterSet, SignOptions, Signature, SigningKey,
    VerifyingKey, hardened,
};

use crate::machine::{close, open};
use crate::operations::{Rng, Text};

#[inline(never)]
pub fn sign<P: ParameterSet>(
    key: &ExpandedSigningKey<P>,
    text: &Text,
    rng: Option<&mut Rng>,
    out: &mut Signature<P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let (message, context) = (black_box(&*text.message), black_box(text.context()));
    let result = match rng {
        Some(rng) => key.sign_hedged((message, context), rng),
        None => key.sign_deterministic((message, context)),
    };
    let is_made = result.map(|signature| *out = signature).is_ok();
    close(is_disturbed, is_made);
    is_made
}

#[inline(never)]
pub fn sign_hardened<P: ParameterSet>(
    key: &hardened::SigningKey<P>,
    public: &VerifyingKey<P>,
    text: &Text,
    out: &mut Signature<P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let (message, context) = (black_box(&*text.message), black_box(text.context()));
    let made = key.sign_into((message, context), SignOptions::deterministic(), out);
    let holds = made.is_ok_and(|proof| proof.holds(public, (message, context), out));
    close(is_disturbed, holds);
    holds
}

#[inline(never)]
pub fn hedge_hardened<P: ParameterSet>(
    key: &hardened::SigningKey<P>,
    public: &VerifyingKey<P>,
    text: &Text,
    rng: &mut Rng,
    out: &mut Signature<P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let (message, context) = (black_box(&*text.message), black_box(text.context()));
    let made = key.sign_into((message, context), SignOptions::hedged(rng), out);
    let holds = made.is_ok_and(|proof| proof.holds(public, (message, context), out));
    close(is_disturbed, holds);
    holds
}

#[inline(never)]
pub fn verify<P: ParameterSet>(
    key: &VerifyingKey<P>,
    text: &Text,
    signature: &Signature<P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let (message, context) = (black_box(&*text.message), black_box(text.context()));
    let is_valid = key.verify_signature((message, context), signature).is_ok();
    close(is_disturbed, is_valid);
    is_valid
}

#[inline(never)]
pub fn verify_hardened<P: ParameterSet>(
    key: &hardened::VerifyingKey<P>,
    text: &Text,
    signature: &Signature<P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let (message, context) = (black_box(&*text.message), black_box(text.context()));
    let verdict = key.verify_signature((message, context), signature);
    let public = key.verifying_key();
    let holds = verdict.is_ok_and(|proof| proof.holds(public, (message, context), signature));
    close(is_disturbed, holds);
    holds
}

/// Leaves the address of `bytes` in the register of the first argument, as a program that hashes what it
/// loads.
#[inline(never)]
fn keep_address(bytes: &[u8]) {
    black_box(bytes);
}

/// Reads a public key and verifies with it: whether the signature was accepted, or nothing if the key was
/// refused.
#[inline(never)]
pub fn load_public<P: ParameterSet>(
    stored: &[u8],
    text: &Text,
    signature: &Signature<P>,
    place: &mut Option<VerifyingKey<P>>,
    is_disturbed: bool,
) -> Option<bool> {
    open(is_disturbed);
    let stored = black_box(stored);
    let (message, context) = (black_box(&*text.message), black_box(text.context()));
    keep_address(stored);
    let key = VerifyingKey::from_bytes(stored);
    let key = key.ok().map(|key| &*place.insert(key));
    let is_valid = key.map(|key| key.verify_signature((message, context), signature).is_ok());
    close(is_disturbed, is_valid.is_some());
    is_valid
}

/// The same with a second copy of the stored key.
#[inline(never)]
pub fn load_public_hardened<P: ParameterSet>(
    stored: &[Vec<u8>; 2],
    text: &Text,
    signature: &Signature<P>,
    place: &mut Option<hardened::VerifyingKey<P>>,
    is_disturbed: bool,
) -> Option<bool> {
    open(is_disturbed);
    let [stored, second] = [black_box(&*stored[0]), black_box(&*stored[1])];
    let (message, context) = (black_box(&*text.message), black_box(text.context()));
    keep_address(stored);
    let mut load = || -> Result<bool, hardened::Error> {
        let key = place.insert(hardened::VerifyingKey::from_bytes(stored)?);
        key.confirm_bytes(second)?;
        let proof = key.verify_signature((message, context), signature)?;
        Ok(proof.holds(key.verifying_key(), (message, context), signature))
    };
    let holds = match load() {
        Err(hardened::Error::Refused(Error::InvalidSignature)) => Some(false),
        holds => holds.ok(),
    };
    close(is_disturbed, holds.is_some());
    holds
}

/// A private key and its public key, as a program stores them.
pub struct Pair<K, P: ParameterSet> {
    pub key: Option<K>,
    pub public: Option<VerifyingKey<P>>,
}

impl<K, P: ParameterSet> Default for Pair<K, P> {
    fn default() -> Self {
        let (key, public) = (None, None);
        Pair { key, public }
    }
}

#[inline(never)]
pub fn load<P: ParameterSet>(
    backend: Backend,
    stored: &[u8],
    pair: &mut Pair<SigningKey<P>, P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let made = SigningKey::from_encoded_bytes_on(backend, black_box(stored));
    let is_made = match made {
        Ok(key) => {
            pair.public = Some(key.verifying_key().clone());
            pair.key = Some(key);
            true
        }
        Err(_) => false,
    };
    close(is_disturbed, is_made);
    is_made
}

#[inline(never)]
pub fn load_hardened<P: ParameterSet>(
    backend: Backend,
    stored: &[u8],
    pair: &mut Pair<hardened::SigningKey<P>, P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let stored = black_box(stored);
    pair.key = hardened::SigningKey::from_encoded_bytes_on(backend, stored).ok();
    let key = pair.key.as_ref();
    pair.public = key.and_then(|key| key.verifying_key().ok().cloned());
    let is_right = match (&pair.key, &pair.public) {
        (Some(key), Some(public)) => key.confirm_encoded_bytes(stored, public).is_ok(),
        _ => false,
    };
    close(is_disturbed, is_right);
    is_right
}

#[inline(never)]
pub fn keygen<P: ParameterSet>(
    backend: Backend,
    xi: &[u8; 32],
    pair: &mut Pair<SigningKey<P>, P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let key = SigningKey::from_seed_on(backend, black_box(xi));
    pair.public = Some(key.verifying_key().clone());
    pair.key = Some(key);
    close(is_disturbed, true);
    true
}

#[inline(never)]
pub fn keygen_hardened<P: ParameterSet>(
    backend: Backend,
    xi: &[u8; 32],
    pair: &mut Pair<hardened::SigningKey<P>, P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let xi = black_box(xi);
    pair.key = hardened::SigningKey::from_seed_on(backend, xi).ok();
    let key = pair.key.as_ref();
    pair.public = key.and_then(|key| key.verifying_key().ok().cloned());
    let is_right = match (&pair.key, &pair.public) {
        (Some(key), Some(public)) => key.confirm_seed(xi, public).is_ok(),
        _ => false,
    };
    close(is_disturbed, is_right);
    is_right
}

#[inline(never)]
pub fn boxed_hardened<P: ParameterSet>(
    backend: Backend,
    xi: &[u8; 32],
    pair: &mut Pair<Box<hardened::SigningKey<P>>, P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let xi = black_box(xi);
    let mut make = || -> Result<(), hardened::Error> {
        let key = Box::new(hardened::SigningKey::from_seed_on(backend, xi)?);
        let key = pair.key.insert(key);
        let public = pair.public.insert(key.verifying_key()?.clone());
        key.confirm_seed(xi, public)?;
        Ok(())
    };
    let is_right = make().is_ok();
    close(is_disturbed, is_right);
    is_right
}

#[inline(never)]
pub fn generate<P: ParameterSet>(
    rng: &mut Rng,
    pair: &mut Pair<SigningKey<P>, P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let made = SigningKey::generate(rng);
    let is_made = match made {
        Ok(key) => {
            pair.public = Some(key.verifying_key().clone());
            pair.key = Some(key);
            true
        }
        Err(_) => false,
    };
    close(is_disturbed, is_made);
    is_made
}

#[inline(never)]
pub fn generate_hardened<P: ParameterSet>(
    rng: &mut Rng,
    pair: &mut Pair<hardened::SigningKey<P>, P>,
    is_disturbed: bool,
) -> bool {
    open(is_disturbed);
    let mut xi = [0; 32];
    pair.key = hardened::SigningKey::generate(rng, &mut xi).ok();
    let key = pair.key.as_ref();
    pair.public = key.and_then(|key| key.verifying_key().ok().cloned());
    let is_right = match (&pair.key, &pair.public) {
        (Some(key), Some(public)) => key.confirm_seed(&xi, public).is_ok(),
        _ => false,
    };
    close(is_disturbed, is_right);
    is_right
}
