// What the checks refuse, one at a time: keys, results and draws as a fault would leave them. A part of
// `src/hardened`.

use core::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};

use super::signing::SigningKey;
use super::verifying::{Verified, VerifyingKey, commitment, decide, described};
use super::{EQUAL, Error, KeyDamaged};
use crate::backend::Backend;
use crate::error::Error as Refusal;
use crate::hazmat::with_rnd;
use crate::keys::{self, SignOptions, Signature};
use crate::scheme::message::{Context, Input, PreHash};
use crate::scheme::sign::Request;
use crate::sets::MlDsa44;

type Plain = keys::SigningKey<MlDsa44>;
type Key = SigningKey<MlDsa44>;

const CONTEXT: Context<'static> = match Context::new(b"context") {
    Ok(context) => context,
    Err(_) => panic!("more than 255 bytes"),
};
const INPUT: Input<'static> = Input::Pure {
    message: b"message",
    context: CONTEXT,
};

fn plain() -> Plain {
    Plain::from_seed(&[7; 32])
}

fn hardened() -> Key {
    Key::new(&plain()).unwrap()
}

fn sign(key: &Plain, rnd: u8) -> Signature<MlDsa44> {
    key.sign_with(INPUT, with_rnd(&[[rnd; 32]])).unwrap()
}

/// The proof of [`INPUT`] before there is a signature.
fn refused(key: &Plain) -> Verified<MlDsa44> {
    let message = described::<MlDsa44>(key.backend(), &INPUT).unwrap();
    Verified::refused(key.verifying_key(), message)
}

/// What signing [`INPUT`] deterministically gives.
fn signed(key: &Key) -> Result<Signature<MlDsa44>, Error> {
    let mut signature = Signature::default();
    let proof = key.sign_into(INPUT, SignOptions::deterministic(), &mut signature)?;
    assert!(proof.holds(&key.key.public, INPUT, &signature));
    Ok(signature)
}

/// K, s1, t0 and the seed: whatever the signature is made of.
#[test]
fn a_private_key_that_changes_in_memory_is_not_used() {
    for at in [0, 40, 70, 200, 2559] {
        let mut key = hardened();
        key.key.sk.0[at] ^= 4;
        assert_eq!(signed(&key), Err(Error::KeyDamaged), "{at}");
        key.key.sk.0[at] ^= 4;
        assert_eq!(signed(&key), Ok(sign(&key.key, 0)));
    }
    let mut key = hardened();
    key.key.seed.as_mut().unwrap().0[31] ^= 1;
    assert_eq!(signed(&key), Err(Error::KeyDamaged));
    let mut key = hardened();
    key.digest.0[0] ^= 1;
    assert_eq!(signed(&key), Err(Error::KeyDamaged));
    let mut key = hardened();
    key.key.public.pk[100] ^= 1;
    assert_eq!(signed(&key), Err(Error::KeyDamaged));
    assert_eq!(key.verifying_key().err(), Some(KeyDamaged));
    let mut key = hardened();
    key.key.sk.0[2559] ^= 1;
    assert_eq!(key.verifying_key().err(), Some(KeyDamaged));
    assert_eq!(key.encoded_bytes().err(), Some(KeyDamaged));
}

/// A call that was skipped leaves an earlier key in its place, or a copy of the public key is wrong.
#[test]
fn a_key_is_confirmed_against_its_origin() {
    let (key, other) = (hardened(), Plain::from_seed(&[8; 32]));
    let public = key.verifying_key().unwrap();
    let bytes = plain();
    let bytes = bytes.encoded_bytes();
    key.confirm_seed(&[7; 32], public).unwrap();
    key.confirm_encoded_bytes(bytes, public).unwrap();
    let damaged = Err(KeyDamaged);
    assert_eq!(key.confirm_seed(&[8; 32], public), damaged);
    assert_eq!(key.confirm_seed(&[7; 32], other.verifying_key()), damaged);
    assert_eq!(
        key.confirm_encoded_bytes(other.encoded_bytes(), public),
        damaged
    );
    assert_eq!(
        key.confirm_encoded_bytes(bytes, other.verifying_key()),
        damaged
    );
}

/// What a skipped move leaves: an earlier proof, an earlier signature, or another key, message or context.
#[test]
fn a_proof_holds_for_one_key_message_and_signature() {
    let (key, other) = (hardened(), Plain::from_seed(&[8; 32]));
    let public = key.verifying_key().unwrap();
    let mut signature = Signature::default();
    let options = SignOptions::deterministic;
    let proof = key.sign_into(INPUT, options(), &mut signature).unwrap();
    assert!(proof.holds(public, INPUT, &signature));
    assert!(!proof.holds(other.verifying_key(), INPUT, &signature));
    let weak = PreHash::Sha2_224;
    for other in [
        (&b"messag"[..], CONTEXT).into(),
        (b"message", Context::new(b"contex").unwrap()).into(),
        b"message".into(),
        (b"", CONTEXT).into(),
        Input::PreHash {
            hash: weak,
            message: b"message",
            context: CONTEXT,
        },
    ] {
        let other: Input<'_> = other;
        assert!(!proof.holds(public, other, &signature));
    }
    let (mut later, another) = (Signature::default(), (b"another", CONTEXT));
    let proof_later = key.sign_into(another, options(), &mut later).unwrap();
    assert!(!proof.holds(public, another, &later));
    assert!(!proof_later.holds(public, another, &signature));
    for bit in [0, 8 * 32, 8 * 2419] {
        let mut bent = signature.clone();
        bent.0[bit / 8] ^= 1;
        assert!(!proof.holds(public, INPUT, &bent), "{bit}");
    }
    for word in 0..2 {
        let mut refused = proof.clone();
        refused.words[word] ^= 1 << 40;
        assert!(!refused.holds(public, INPUT, &signature));
    }
}

/// The places of both signatures before anything is signed: a call to `run` that is skipped leaves them.
#[test]
fn two_signatures_that_were_not_made_differ() {
    let key = plain();
    let proof = refused(&key);
    let none = Signature::default();
    for equal in EQUAL {
        assert_ne!(Key::agree(equal, &none.0, &proof.signature), equal);
    }
    assert!(!proof.holds(key.verifying_key(), INPUT, &none));
    // Nor does a refusal leave a signature or a source's draw.
    let mut out = sign(&key, 0);
    let weak = Input::PreHash {
        hash: PreHash::Sha2_224,
        message: b"",
        context: CONTEXT,
    };
    let options = SignOptions::deterministic;
    let refused = hardened().sign_into(weak, options(), &mut out);
    assert!(matches!(refused, Err(Error::Refused(_))));
    let mut damaged = hardened();
    damaged.key.sk.0[0] ^= 1;
    let refused = damaged.sign_into(INPUT, options(), &mut out);
    assert_eq!(refused.err(), Some(Error::KeyDamaged));
    assert_eq!(out, none);
}

/// A fault between the digest and the end, which both signatures share.
#[test]
fn a_private_key_that_changes_while_it_signs_gives_nothing() {
    // rho, tr, s1, s2, t0.
    for at in [3, 80, 130, 128 + 96 * 4 + 5, 2500] {
        let mut key = hardened();
        let (mut one, two) = (sign(&key.key, 0), sign(&key.key, 0));
        key.key.sk.0[at] ^= 1;
        assert_eq!(
            key.release(&INPUT, &mut one.0, &two.0),
            Err(Error::KeyDamaged),
            "{at}"
        );
    }
}

#[test]
fn two_signatures_that_differ_are_not_released() {
    let key = hardened();
    let good = sign(&key.key, 0);
    key.release(&INPUT, &mut good.clone().0, &good.0).unwrap();
    // Each is valid: verification would pass them. Their masks are not those of the order.
    let other = sign(&key.key, 1);
    for (mut one, two) in [(other.clone(), &good), (good.clone(), &other)] {
        let released = key.release(&INPUT, &mut one.0, &two.0);
        assert_eq!(released, Err(Error::Disagreement));
    }
    for at in [0, 32, 2419] {
        let mut bent = good.clone();
        bent.0[at] ^= 1;
        assert_eq!(
            key.release(&INPUT, &mut bent.0, &good.0),
            Err(Error::Disagreement)
        );
    }
}

#[test]
fn a_signature_that_is_not_valid_is_not_released() {
    let key = hardened();
    let mut bent = sign(&key.key, 0);
    bent.0[40] ^= 1;
    let again = bent.clone();
    assert_eq!(
        key.release(&INPUT, &mut bent.0, &again.0),
        Err(Error::Disagreement)
    );
}

/// Keys whose parts do not belong together, as a fault while they were made would leave them.
#[test]
fn a_key_is_computed_again() {
    for seed in [true, false] {
        for at in [40, 70, 200, 2559] {
            let mut key = plain();
            if !seed {
                key.seed = None;
                if at == 40 {
                    continue; // Any K is one.
                }
            }
            key.sk.0[at] ^= 1;
            assert_eq!(Key::new(&key).err(), Some(Error::KeyDamaged), "{seed} {at}");
        }
        let mut key = plain();
        key.seed = key.seed.filter(|_| seed);
        key.public.pk[50] ^= 1;
        assert_eq!(Key::new(&key).err(), Some(Error::KeyDamaged), "{seed}");
    }
    let mut key = plain();
    key.seed.as_mut().unwrap().0[0] ^= 1;
    assert_eq!(Key::new(&key).err(), Some(Error::KeyDamaged));
}

/// What reaches one of two places alone.
#[test]
fn what_came_in_is_compared_with_what_was_used() {
    let (backend, xi) = (Backend::detect(), [7; 32]);
    assert!(Key::seeded(backend, &xi, &xi).is_ok());
    let made = Key::seeded(backend, &xi, &[8; 32]);
    assert_eq!(made.err(), Some(Error::KeyDamaged));
    let bytes = *plain().encoded_bytes();
    let mut others = bytes;
    others[40] ^= 1;
    assert!(Key::read(backend, &bytes, &bytes).is_ok());
    let made = Key::read(backend, &bytes, &others);
    assert_eq!(made.err(), Some(Error::KeyDamaged));
    let other = (b"messagf", CONTEXT).into();
    let key = hardened();
    let run = |input: &_, again: &_, first: &mut _, second: &mut _| {
        let request = Request::new(key.key.public.backend, input, &[0; 32], 821);
        key.run(request, again, first, second)
    };
    for (input, again) in [(INPUT, other), (other, INPUT)] {
        let (mut first, mut second) = ([0; 2420], [0; 2420]);
        let made = run(&input, &again, &mut first, &mut second);
        assert_eq!(made, Err(Error::Disagreement));
        assert_eq!((first, second), ([0; 2420], [0xff; 2420]));
    }
    let (mut first, mut second) = ([0; 2420], [0; 2420]);
    let made = run(&INPUT, &INPUT, &mut first, &mut second);
    made.unwrap();
    assert_eq!(first, sign(&plain(), 0).0);
    assert_eq!(Key::agree(EQUAL[1], &first, &second), EQUAL[1]);
    second[2419] ^= 1;
    assert_ne!(Key::agree(EQUAL[1], &first, &second), EQUAL[1]);
}

#[test]
fn a_public_key_that_changes_in_memory_is_not_used() {
    let plain = plain();
    let signature = sign(&plain, 0);
    let mut key = VerifyingKey::new(plain.verifying_key()).unwrap();
    let proof = key.verify_signature(INPUT, &signature).unwrap();
    assert!(proof.holds(key.verifying_key(), INPUT, &signature));
    key.inverted[1311] ^= 0x80;
    assert_eq!(
        key.verify_signature(INPUT, &signature).err(),
        Some(Error::KeyDamaged)
    );
    let mut key = VerifyingKey::new(plain.verifying_key()).unwrap();
    key.public.pk[0] ^= 1;
    assert_eq!(
        key.verify_signature(INPUT, &signature).err(),
        Some(Error::KeyDamaged)
    );
}

/// A second copy of the bytes finds a key that the call did not write, and bytes that changed before it read.
#[test]
fn a_public_key_is_confirmed_against_its_bytes() {
    let (plain, other) = (plain(), Plain::from_seed(&[8; 32]));
    let bytes = plain.verifying_key().as_ref();
    let mut key = VerifyingKey::<MlDsa44>::from_bytes(bytes).unwrap();
    assert_eq!(key.confirm_bytes(bytes), Ok(()));
    let others = other.verifying_key().as_ref();
    for wrong in [others, &bytes[1..], &[]] {
        assert_eq!(key.confirm_bytes(wrong), Err(KeyDamaged));
    }
    key.public = other.verifying_key().clone();
    for bytes in [bytes, others] {
        assert_eq!(key.confirm_bytes(bytes), Err(KeyDamaged));
    }
}

/// A wipe at a wrong address leaves a public key with t1 = 0. Anybody can sign for it, whatever ρ.
#[test]
fn a_public_key_without_t1_is_refused() {
    for rho in [0, 7] {
        let mut bytes = [0; 1312];
        bytes[..32].fill(rho);
        let zero = Some(Error::ZeroPublicKey);
        assert_eq!(VerifyingKey::<MlDsa44>::from_bytes(&bytes).err(), zero);
        let public = keys::VerifyingKey::<MlDsa44>::from_array(&bytes);
        assert_eq!(VerifyingKey::new(&public).err(), zero);
        bytes[1311] = 1;
        let key = VerifyingKey::<MlDsa44>::from_bytes(&bytes).unwrap();
        assert_eq!(key.verifying_key().as_bytes(), &bytes);
    }
}

/// A result in the caller's memory could be written to a wrong address, with an earlier `Ok` in its place.
#[test]
fn answers_about_a_key_fit_a_register() {
    assert_eq!(size_of::<Result<(), KeyDamaged>>(), 1);
    let pointer = size_of::<Result<&Plain, KeyDamaged>>();
    assert_eq!(pointer, size_of::<usize>());
}

/// Whichever of the two passes alone, and however it comes to do so.
#[test]
fn one_verification_alone_does_not_accept() {
    let key = plain();
    let (backend, pk) = (key.backend(), &key.public.pk);
    let good = sign(&key, 0);
    let run = |signature: &[u8; 2420]| commitment::<MlDsa44>(backend, pk, &INPUT, signature);
    let decide = |signature: &Signature<MlDsa44>, pair| {
        let mut proof = refused(&key);
        proof.signature = signature.0;
        decide(&signature.0, pair, proof)
    };
    let proof = decide(&good, [run(&good.0); 2]).unwrap();
    assert!(proof.holds(key.verifying_key(), INPUT, &good));
    // Of z, and of the hints.
    for at in [100, 2419] {
        let mut bad = good.clone();
        bad.0[at] ^= 0x81;
        let (refused, accepted) = (run(&bad.0), run(&good.0));
        assert_eq!(refused.1.is_err(), at == 2419);
        for pair in [[refused, accepted], [accepted, refused]] {
            let verdict = decide(&bad, pair);
            assert_eq!(verdict.err(), Some(Error::Disagreement));
        }
        let verdict = decide(&bad, [refused; 2]);
        assert_eq!(
            verdict.err(),
            Some(Error::Refused(Refusal::InvalidSignature))
        );
    }
}

/// What is left if nothing is computed: no c_tilde of an attacker's choice is it.
#[test]
fn a_malformed_signature_has_no_commitment() {
    let key = plain();
    let pk = &key.public.pk;
    for byte in [0, 0xff] {
        let bad = [byte; 2420];
        let (expected, result) = commitment::<MlDsa44>(Backend::detect(), pk, &INPUT, &bad);
        assert!(result.is_err());
        assert!(expected[..32].iter().all(|other| *other == !byte));
    }
}

#[test]
fn the_words_of_a_verdict_are_far_apart() {
    let [a, b] = EQUAL;
    for far in [a, b, a ^ b] {
        assert_eq!(far.count_ones(), 32, "{far:x}");
    }
}

/// A generator that gives the same bytes each time.
struct Same([u8; 32]);

impl TryRng for Same {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("draws are whole")
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("draws are whole")
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        out.copy_from_slice(&self.0);
        Ok(())
    }
}
impl TryCryptoRng for Same {}

/// A draw that is left out leaves zeros: a key that everybody knows.
#[test]
fn what_was_not_drawn_is_seen() {
    let undrawn = Error::Refused(Refusal::Rng);
    let mut xi = [0; 32];
    let made = Key::generate(&mut Same([0; 32]), &mut xi);
    assert_eq!(made.err(), Some(undrawn));
    let mut signature = Signature::default();
    let key = hardened();
    let refused = key.sign_into(
        INPUT,
        SignOptions::hedged(&mut Same([0; 32])),
        &mut signature,
    );
    assert_eq!(refused.err(), Some(undrawn));
    let mut drawn = [0; 32];
    drawn[31] = 1;
    let made = Key::generate(&mut Same(drawn), &mut xi).unwrap();
    assert_eq!(xi, drawn);
    let public = made.verifying_key().unwrap();
    made.confirm_seed(&xi, public).unwrap();
    let mut rng = Same(drawn);
    let options = SignOptions::hedged(&mut rng);
    let proof = key.sign_into(INPUT, options, &mut signature).unwrap();
    assert!(proof.holds(&key.key.public, INPUT, &signature));
    let expected = key.key.sign_with(INPUT, with_rnd(&[drawn]));
    assert_eq!(expected, Ok(signature));
}
