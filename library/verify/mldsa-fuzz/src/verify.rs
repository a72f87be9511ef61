//! Verification of bent signatures.

use crate::common::forge::{self, Forger};
use crate::common::{Stream, Verifier, subjects_of};
use crate::peers::{Peer, peers};
use crate::set;
use crate::single::message;
use mldsa_oracle as oracle;
use mldsa_oracle::{PARAMETER_SETS, Params, Poly};
use std::cell::OnceCell;

/// What verifies in one set, made once for each thread.
struct Bench {
    forger: Forger,
    pk: Vec<u8>,
    sk: Vec<u8>,
    verifiers: Vec<(String, Box<dyn Verifier>)>,
    peers: [Box<dyn Peer>; 2],
}

impl Bench {
    fn new(p: &'static Params) -> Self {
        let (pk, sk) = oracle::keygen(p, &[0x71; 32]);
        let verifiers = subjects_of(p)
            .into_iter()
            .map(|subject| (subject.label(), subject.verifier(&pk).unwrap()))
            .collect();
        Bench {
            forger: Forger::new(p, &[0x72; 32], [0x73; 64]),
            pk,
            sk,
            verifiers,
            peers: peers(p),
        }
    }
}

thread_local! {
    static BENCHES: [OnceCell<Bench>; 3] = const { [const { OnceCell::new() }; 3] };
}

/// Signatures of a key that lets any z and hint pass, and honest ones, bent or not: the verdict is the
/// oracle's on every backend in every form, and for honest keys the peers' too.
pub fn verify(data: &[u8]) {
    let mut stream = Stream::after(data);
    let p = set(&mut stream);
    BENCHES.with(|benches| {
        let place = PARAMETER_SETS
            .iter()
            .position(|q| q.name == p.name)
            .unwrap();
        let bench = benches[place].get_or_init(|| Bench::new(p));
        if stream.below(4) == 0 {
            honest(p, bench, &mut stream);
        } else {
            forged(p, bench, &mut stream);
        }
    });
}

/// Any z, some of it near the ends of what is allowed and of what can be written; any hint, some of it
/// no hint at all.
fn forged(p: &'static Params, bench: &Bench, stream: &mut Stream) {
    let forger = &bench.forger;
    let largest = p.gamma1 - p.beta - 1;
    let inside = stream.below(2 * largest as usize + 1) as i64 - largest;
    let mut z = forge::constant_z(p, inside);
    for _ in 0..stream.below(4) {
        let poly: &mut Poly = &mut z[stream.below(p.l)];
        let ends = [
            largest,
            largest + 1,
            p.gamma1,
            -largest,
            -largest - 1,
            1 - p.gamma1,
        ];
        poly[stream.below(256)] = ends[stream.below(ends.len())];
    }
    let mut hint = forge::no_hint(p);
    let weights = [0, 1, p.omega - 1, p.omega, stream.below(p.omega)];
    for _ in 0..weights[stream.below(weights.len())] {
        hint[stream.below(p.k)][stream.below(256)] = 1;
    }
    let mut signature = forger.signature(&z, &hint);
    bend_hint(p, &mut signature, stream);
    let start = signature.len() - p.omega - p.k;
    // A challenge for the bent hint, if it is one: then z alone decides.
    if stream.below(4) != 0
        && let Some(hint) = oracle::hint_bit_unpack(p, &signature[start..])
    {
        let c_tilde = forger.challenge(&z, &hint);
        signature[..c_tilde.len()].copy_from_slice(&c_tilde);
    }
    if stream.below(4) == 0 {
        signature[stream.below(p.lambda / 4)] ^= 1 << stream.below(8);
    }
    let expected = oracle::verify_mu(p, &forger.pk, &forger.mu, &signature);
    forger.assert_verdict(&signature, expected, "forged");
}

/// Up to three changes in the bytes of the hint: positions, counters, what follows the last position.
fn bend_hint(p: &Params, signature: &mut [u8], stream: &mut Stream) {
    let start = signature.len() - p.omega - p.k;
    for _ in 0..stream.below(4) {
        let (positions, counters) = signature[start..].split_at_mut(p.omega);
        let at = stream.below(p.omega);
        match stream.below(6) {
            0 => positions[at] = stream.below(256) as u8,
            1 => positions[at] = positions[at.saturating_sub(1)],
            2 => positions.swap(at, at.saturating_sub(1)),
            3 => counters[stream.below(p.k)] = stream.below(p.omega + 3) as u8,
            4 => counters[p.k - 1] = counters[p.k - 1].wrapping_add(1),
            _ => counters[stream.below(p.k)] = stream.below(256) as u8,
        }
    }
}

/// A signature of an honest key, whole or bent in its c_tilde, z or hint; or any bytes.
fn honest(p: &'static Params, bench: &Bench, stream: &mut Stream) {
    let message = message(stream);
    let mu = message.mu(&oracle::h(&[&bench.pk], 64));
    let (mut signature, _) = oracle::sign_mu(p, &bench.sk, &mu, &[0; 32]);
    match stream.below(5) {
        0 => {}
        1 => signature[stream.below(p.lambda / 4)] ^= 1 << stream.below(8),
        2 => bend_hint(p, &mut signature, stream),
        3 => {
            let at = stream.below(signature.len());
            signature[at] = stream.below(256) as u8;
        }
        _ => signature = stream.bytes(signature.len()),
    }
    let expected = oracle::verify_mu(p, &bench.pk, &mu, &signature);
    for (label, verifier) in &bench.verifiers {
        let verdict = verifier.verify(&message.input(), &signature).is_ok();
        assert_eq!(verdict, expected, "{label}");
    }
    for peer in &bench.peers {
        let verdict = peer.verify(&bench.pk, &message, &signature);
        assert!(
            verdict.is_none_or(|verdict| verdict == expected),
            "a peer of {}",
            p.name
        );
    }
}
