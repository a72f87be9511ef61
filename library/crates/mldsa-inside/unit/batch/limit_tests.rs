// Paths that no key reaches which a key generation writes: all 821 attempts, κ at its end, c·t0
// rejected in every set.

use std::vec::Vec;

use mldsa_oracle as oracle;

use super::tests::AllowedIf;
use super::with_rnd::SignJob;
use super::*;
use crate::backend::tests::wide::{Wide2, Wide4, Wide8};
use crate::backend::{Engine, with_engine};
use crate::hazmat::{external_mu, with_rnd};
use crate::internals::observed;
use crate::kernels::poly::Poly;
use crate::params::{MAX_ATTEMPTS, N, Q};
use crate::scheme::sign::Iteration;
use crate::sets::{MlDsa44, MlDsa65, MlDsa87};
use crate::tests::attempt::{Check, Checks};
use crate::tests::checks::Tracing;

const SEED: [u8; 32] = [0x61; 32];
const LAST: u32 = MAX_ATTEMPTS - 1;

fn set<P: ParameterSet>() -> &'static oracle::Params {
    oracle::by_name(P::NAME).unwrap()
}

/// A key whose t0 has coefficients of all sizes below q/2, so that c·t0 is never below γ2 in all of
/// its own: whatever the set, no attempt is accepted. The rest of it is the key of [`SEED`].
fn hopeless<P: ParameterSet>(backend: Backend) -> Box<ExpandedSigningKey<P>> {
    let key = SigningKey::<P>::from_seed_on(backend, &SEED);
    let secret = oracle::sk_decode(set::<P>(), key.encoded_bytes().as_ref());
    let large = |i: usize| (i as u32).wrapping_mul(0x9e37_79b9) % Q as u32;
    let t0: Vec<Poly> = (0..P::K)
        .map(|row| {
            Poly(core::array::from_fn(|i| {
                large(row * N + i + 1) as i32 - Q / 2
            }))
        })
        .collect();
    let mut expanded = key.expand();
    with_engine!(backend, e => expanded.material.set_rest(e, &t0, &secret.key, &key.tr()));
    expanded
}

/// Signing gives up after 821 attempts, alone and in a batch, where the others are signed; each of
/// them fails what the oracle says of z and r0, which do not depend on t0, and c·t0.
fn gives_up<P: ParameterSet>() {
    let mu = external_mu([0x62; 64]);
    let rnd = [0x63; 32];
    let p = set::<P>();
    for backend in Backend::available() {
        let label = std::format!("{} on {}", P::NAME, backend.name());
        let good = SigningKey::<P>::from_seed_on(backend, &SEED);
        let key = hopeless::<P>(backend);
        let input = Input::Mu(&mu);
        let allowed = MAX_ATTEMPTS;
        let up = Err(Error::TooManyAttempts { allowed });

        let mut trace = Vec::new();
        let mut observer = Tracing {
            checks: Checks::All,
            on_attempt: |_, attempt| trace.push(attempt),
        };
        let job = SignJob {
            key: (&key).into(),
            input,
            rnd: &rnd,
        };
        let mut results = [Err(Error::InvalidSignature)];
        with_engine!(backend, e => observed(e, &[job], &[0], allowed, &mut observer, &mut results));
        assert_eq!(results[0], up);
        assert_eq!(trace.len(), MAX_ATTEMPTS as usize, "{label}");
        let mut signer = oracle::Signer::new(p, good.encoded_bytes().as_ref(), mu.as_bytes(), &rnd);
        for (number, attempt) in trace.iter().enumerate() {
            assert!(attempt.fails(Check::Ct0), "{label}: attempt {number}");
            if number == 4 {
                signer = signer.at_attempt(LAST as usize - 3);
            }
            if !(4..LAST as usize - 3).contains(&number) {
                let expected = signer.attempt().attempt;
                assert_eq!(attempt.kappa, expected.kappa, "{label}");
                assert_eq!(
                    attempt.failed & 3,
                    expected.failed & 3,
                    "{label}: attempt {number}"
                );
                assert_eq!(
                    attempt.first_failing[..2],
                    expected.first_failing[..2],
                    "{label}"
                );
            }
        }

        assert_eq!(key.sign_with(input, with_rnd(&[rnd])), up, "{label}");
        let expected = good.sign_with(input, with_rnd(&[rnd]));
        assert!(expected.is_ok());
        let jobs = [false, false, true, false, false, false].map(|hopeless| super::SignJob {
            key: if hopeless {
                (&key).into()
            } else {
                (&good).into()
            },
            input,
        });
        let results = sign(&jobs, with_rnd(&[rnd; 6])).unwrap();
        for (number, result) in results.into_iter().enumerate() {
            assert_eq!(
                result,
                if number == 2 {
                    up.clone()
                } else {
                    expected.clone()
                },
                "{label}"
            );
        }
    }
}

#[test]
fn signing_gives_up_after_821_attempts() {
    gives_up::<MlDsa44>();
    gives_up::<MlDsa65>();
    gives_up::<MlDsa87>();
}

/// The signature of attempt 821, with the largest κ that there is, is the oracle's: alone and in
/// groups, where one job more is refused at its last attempt.
fn last_attempt_on<P: ParameterSet, E: Engine>(e: E) {
    let p = set::<P>();
    let rnd = [0; 32];
    let key = SigningKey::<P>::from_seed(&SEED);
    let sk = key.encoded_bytes().as_ref();
    let last = |mu: &[u8; 64]| {
        oracle::Signer::new(p, sk, mu, &rnd)
            .at_attempt(LAST as usize)
            .attempt()
    };
    // Both kinds of message are among the first few dozen.
    let mut mus = (0..=u8::MAX).map(|number| ([number; 64], last(&[number; 64])));
    let (good, candidate) = mus.find(|(_, last)| last.attempt.failed == 0).unwrap();
    let (bad, _) = mus.find(|(_, last)| last.attempt.failed != 0).unwrap();
    assert_eq!(usize::from(candidate.attempt.kappa), LAST as usize * P::L);
    let signature = oracle::sig_encode(p, &candidate.c_tilde, &candidate.z, &candidate.h);
    let signature = Signature::<P>::from_bytes(&signature);
    let allowed = MAX_ATTEMPTS;
    let up = Err(Error::TooManyAttempts { allowed });

    let expanded = key.expand();
    let [good, bad] = [good, bad].map(external_mu);
    let jobs = [&good, &bad, &good].map(|mu| SignJob {
        key: (&expanded).into(),
        input: Input::Mu(mu),
        rnd: &rnd,
    });
    let signed = |order: &[usize], max_attempts| {
        let mut results = [const { Err(Error::InvalidSignature) }; 3];
        // All iterations but the last that is allowed are rejected.
        let mut late = AllowedIf(|iteration: Iteration| iteration.number == LAST);
        observed(e, &jobs, order, max_attempts, &mut late, &mut results);
        results
    };
    let all = signed(&[0, 1, 2], allowed);
    assert_eq!(
        all,
        [signature.clone(), up, signature.clone()],
        "{}",
        P::NAME
    );
    assert_eq!(signed(&[0], allowed)[0], signature, "{}", P::NAME);
    let allowed = LAST;
    let up = Err(Error::TooManyAttempts { allowed });
    assert_eq!(signed(&[0], allowed)[0], up, "{}", P::NAME);
}

#[test]
fn the_last_attempt_is_the_oracles() {
    for backend in Backend::available() {
        with_engine!(backend, e => {
            last_attempt_on::<MlDsa44, _>(e);
            last_attempt_on::<MlDsa65, _>(e);
            last_attempt_on::<MlDsa87, _>(e);
        });
    }
    last_attempt_on::<MlDsa87, _>(Wide2);
    last_attempt_on::<MlDsa87, _>(Wide4);
    last_attempt_on::<MlDsa87, _>(Wide8);
}
