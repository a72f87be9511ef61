//! What the checks refuse, one at a time: keys, results and draws as a fault would leave them.

use core::convert::Infallible;
use std::vec::Vec;

use rand_core::{TryCryptoRng, TryRng};

use super::signing::SigningKey;
use super::verifying::{Verified, VerifyingKey, commitment, decide, described};
use super::{EQUAL, Error, Source};
use crate::backend::Backend;
use crate::error::Error as Refusal;
use crate::keys::{self, Signature};
use crate::params::MlDsa44;
use crate::scheme::message::Input;

type Plain = keys::SigningKey<MlDsa44>;
type Key = SigningKey<MlDsa44>;

const INPUT: Input<'static> = Input::Pure {
    message: b"message",
    context: b"context",
};

fn plain() -> Plain {
    Plain::from_seed(&[7; 32])
}

fn hardened() -> Key {
    Key::new(&plain()).unwrap()
}

fn sign(key: &Plain, rnd: u8) -> Signature<MlDsa44> {
    key.run(&INPUT, &[rnd; 32], 821).unwrap()
}

/// The proof of [`INPUT`] before there is a signature.
fn refused(key: &Plain) -> Verified<MlDsa44> {
    let message = described::<MlDsa44>(key.backend(), &INPUT).unwrap();
    Verified::refused(key.verifying_key(), message)
}

/// K, s1, t0 and the seed: whatever the signature is made of.
#[test]
fn a_private_key_that_changes_in_memory_is_not_used() {
    for at in [0, 40, 70, 200, 2559] {
        let mut key = hardened();
        key.key.sk.0[at] ^= 4;
        assert_eq!(
            key.sign_deterministic(b"", b""),
            Err(Error::KeyDamaged),
            "{at}"
        );
        key.key.sk.0[at] ^= 4;
        key.sign_deterministic(b"", b"").unwrap();
    }
    let mut key = hardened();
    key.key.seed.as_mut().unwrap().0[31] ^= 1;
    assert_eq!(key.sign_deterministic(b"", b""), Err(Error::KeyDamaged));
    let mut key = hardened();
    key.digest.0[0] ^= 1;
    assert_eq!(key.sign_deterministic(b"", b""), Err(Error::KeyDamaged));
    let mut key = hardened();
    key.key.public.pk[100] ^= 1;
    assert_eq!(key.sign_deterministic(b"", b""), Err(Error::KeyDamaged));
    assert_eq!(key.verifying_key().err(), Some(Error::KeyDamaged));
    let mut key = hardened();
    key.key.sk.0[2559] ^= 1;
    assert_eq!(key.verifying_key().err(), Some(Error::KeyDamaged));
    assert_eq!(key.expanded_bytes().err(), Some(Error::KeyDamaged));
}

/// A call that was skipped leaves an earlier key in its place, or a copy of the public key is wrong.
#[test]
fn a_key_is_confirmed_against_its_origin() {
    let (key, other) = (hardened(), Plain::from_seed(&[8; 32]));
    let public = key.verifying_key().unwrap();
    let bytes = plain();
    let bytes = bytes.expanded_bytes();
    key.confirm_seed(&[7; 32], public).unwrap();
    key.confirm_expanded_bytes(bytes, public).unwrap();
    let mut source = Source::new(Given(0, good)).unwrap();
    let drawn = Key::generate(&mut source).unwrap();
    let drawn_public = drawn.verifying_key().unwrap();
    drawn.confirm_draw(&source, drawn_public).unwrap();
    let damaged = Err(Error::KeyDamaged);
    assert_eq!(key.confirm_seed(&[8; 32], public), damaged);
    assert_eq!(key.confirm_seed(&[7; 32], other.verifying_key()), damaged);
    assert_eq!(
        key.confirm_expanded_bytes(other.expanded_bytes(), public),
        damaged
    );
    assert_eq!(
        key.confirm_expanded_bytes(bytes, other.verifying_key()),
        damaged
    );
    assert_eq!(key.confirm_draw(&source, public), damaged);
    assert_eq!(drawn.confirm_draw(&source, public), damaged);
    source.draw().unwrap();
    assert_eq!(drawn.confirm_draw(&source, drawn_public), damaged);
}

/// What a skipped move leaves: an earlier proof, an earlier signature, or another key, message or context.
#[test]
fn a_proof_holds_for_one_key_message_and_signature() {
    let (key, other) = (hardened(), Plain::from_seed(&[8; 32]));
    let public = key.verifying_key().unwrap();
    let mut signature = Signature::default();
    let proof = key.sign_deterministic_into(b"message", b"context", &mut signature);
    let proof = proof.unwrap();
    assert!(proof.holds(public, b"message", b"context", &signature));
    assert!(proof.holds_input(public, &INPUT, &signature));
    assert!(!proof.holds(other.verifying_key(), b"message", b"context", &signature));
    for (message, context) in [
        (&b"messag"[..], &b"context"[..]),
        (b"message", b"contex"),
        (b"message", b""),
        (b"", b"context"),
        (b"message", &[0; 256]),
    ] {
        assert!(!proof.holds(public, message, context, &signature));
    }
    let mut later = Signature::default();
    let proof_later = key.sign_deterministic_into(b"another", b"context", &mut later);
    assert!(!proof.holds(public, b"another", b"context", &later));
    assert!(
        !proof_later
            .unwrap()
            .holds(public, b"another", b"context", &signature)
    );
    for bit in [0, 8 * 32, 8 * 2419] {
        let mut bent = signature.clone();
        bent.0[bit / 8] ^= 1;
        assert!(!proof.holds(public, b"message", b"context", &bent), "{bit}");
    }
    for word in 0..2 {
        let mut refused = proof.clone();
        refused.words[word] ^= 1 << 40;
        assert!(!refused.holds(public, b"message", b"context", &signature));
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
    assert!(!proof.holds_input(key.verifying_key(), &INPUT, &none));
    // Nor does a refusal leave a signature or a source's draw.
    let mut out = sign(&key, 0);
    let refused = hardened().sign_deterministic_into(b"", &[0; 256], &mut out);
    assert!(matches!(refused, Err(Error::Refused(_))));
    let mut damaged = hardened();
    damaged.key.sk.0[0] ^= 1;
    let refused = damaged.sign_deterministic_into(b"message", b"context", &mut out);
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
    let bytes = *plain().expanded_bytes();
    let mut others = bytes;
    others[40] ^= 1;
    assert!(Key::read(backend, &bytes, &bytes).is_ok());
    let made = Key::read(backend, &bytes, &others);
    assert_eq!(made.err(), Some(Error::KeyDamaged));
    let other = Input::Pure {
        message: b"messagf",
        context: b"context",
    };
    for (input, again) in [(INPUT, other), (other, INPUT)] {
        let (mut first, mut second) = ([0; 2420], [0; 2420]);
        let made = hardened().run(&input, &again, &[0; 32], &mut first, &mut second);
        assert_eq!(made, Err(Error::Disagreement));
        assert_eq!((first, second), ([0; 2420], [0xff; 2420]));
    }
    let (mut first, mut second) = ([0; 2420], [0; 2420]);
    let made = hardened().run(&INPUT, &INPUT, &[0; 32], &mut first, &mut second);
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
    let proof = key.verify_input(&INPUT, &signature).unwrap();
    assert!(proof.holds_input(key.verifying_key(), &INPUT, &signature));
    key.inverted[1311] ^= 0x80;
    assert_eq!(
        key.verify_input(&INPUT, &signature).err(),
        Some(Error::KeyDamaged)
    );
    let mut key = VerifyingKey::new(plain.verifying_key()).unwrap();
    key.public.pk[0] ^= 1;
    assert_eq!(
        key.verify_input(&INPUT, &signature).err(),
        Some(Error::KeyDamaged)
    );
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
    assert!(proof.holds_input(key.verifying_key(), &INPUT, &good));
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

/// A generator that gives what a function of the draw's number says.
struct Given<F>(u64, F);

impl<F: FnMut(u64, &mut [u8])> TryRng for Given<F> {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("draws are whole")
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("draws are whole")
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        (self.1)(self.0, out);
        self.0 += 1;
        Ok(())
    }
}
impl<F: FnMut(u64, &mut [u8])> TryCryptoRng for Given<F> {}

/// SHAKE256 of the number: a good source.
fn good(number: u64, out: &mut [u8]) {
    let permute = Backend::detect().permutation();
    out.copy_from_slice(&crate::kernels::sponge::h::<32>(
        permute,
        &[&number.to_le_bytes()],
    ));
}

/// How many draws a source gives before it fails, of 100,000 and the first window.
fn draws(give: impl FnMut(u64, &mut [u8])) -> Option<u64> {
    let mut given = Given(0, give);
    let Ok(mut source) = Source::new(&mut given) else {
        return Some(given.0);
    };
    for _ in 0..100_000 {
        if let Err(error) = source.draw() {
            assert_eq!(error, Error::SourceFailed);
            assert_eq!(source.latest.0, [0; 32], "what failed is given out");
            assert_eq!(source.draw(), Err(error), "it serves again");
            drop(source);
            return Some(given.0);
        }
    }
    None
}

#[test]
fn a_good_source_passes() {
    assert_eq!(draws(good), None);
}

/// What a draw that is left out leaves: zeros, the one before, or a bit that changed since.
#[test]
fn what_was_not_drawn_is_seen() {
    let mut source = Source::new(Given(0, good)).unwrap();
    let mut before = [0; 32];
    for number in 64..200 {
        source.draw().unwrap();
        let mut expected = [0; 32];
        good(number, &mut expected);
        assert_eq!(source.latest.0, expected);
        source.gave(&expected).unwrap();
        assert_eq!(source.gave(&before), Err(Error::Disagreement));
        before = expected;
        expected[number as usize % 32] ^= 16;
        assert_eq!(source.gave(&expected), Err(Error::Disagreement));
    }
    let key = Key::generate(&mut source).unwrap();
    assert_eq!(source.latest.0, [0; 32]);
    let mut expected = [0; 32];
    good(200, &mut expected);
    assert_eq!(key.key.seed.as_ref().unwrap().0, expected);
}

#[test]
fn sources_that_fail_are_seen() {
    // After a window, so that each is seen by the test of its kind.
    let after = |bad: fn(u64, &mut [u8])| {
        draws(move |number, out| {
            good(number, out);
            if number >= 100 {
                bad(number, out);
            }
        })
    };
    let nothing: fn(u64, &mut [u8]) = |_, out| out.fill(0);
    assert_eq!(after(nothing), Some(101));
    // It is given again what it gave once.
    assert_eq!(after(|number, out| good(number - 63, out)), Some(101));
    assert_eq!(after(|_, out| good(1 << 40, out)), Some(102));
    // A word twice, and equal bytes in a row.
    assert_eq!(after(|_, out| out.copy_within(3 * 8.., 0)), Some(101));
    assert_eq!(after(|_, out| out[5..13].fill(9)), Some(101));
    // Not seven.
    let seven = draws(|number, out| {
        good(number, out);
        if number == 100 {
            out[5..13].copy_from_slice(&[9, 9, 9, 9, 9, 9, 9, 8]);
        }
    });
    assert_eq!(seven, None);
}

#[test]
fn biased_sources_are_seen() {
    // One bit of a byte is always 1: half-bytes of eight values are missing.
    let bit = draws(|number, out| {
        good(number, out);
        out.iter_mut().for_each(|byte| *byte |= 8);
    });
    assert_eq!(bit, Some(64));
    // A bit is 1 with probability 9/16.
    let ones = draws(|number, out| {
        let mut more: Vec<u8> = (0..4)
            .flat_map(|i| {
                let mut out = [0; 32];
                good(4 * number + i, &mut out);
                out
            })
            .collect();
        let (a, rest) = more.split_at_mut(32);
        for (i, byte) in a.iter_mut().enumerate() {
            *byte |= rest[i] & rest[32 + i] & rest[64 + i];
        }
        out.copy_from_slice(a);
    });
    assert!(ones.is_some_and(|draws| draws < 100), "{ones:?}");
}

/// Every half-byte is as probable, but begins with the bit that the one before ends with, or never does.
#[test]
fn sources_with_too_few_or_many_changes_are_seen() {
    for flip in [0, 1] {
        let found = draws(|number, out| {
            good(number, out);
            let mut last = 0;
            for byte in out {
                let low = *byte & 0x0e | (last ^ flip);
                let high = *byte >> 4 & 0x0e | (low >> 3 ^ flip);
                *byte = high << 4 | low;
                last = high >> 3;
            }
        });
        assert_eq!(found, Some(64));
    }
}
