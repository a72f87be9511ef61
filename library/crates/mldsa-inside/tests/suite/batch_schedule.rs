//! Batches that are hard on the scheduler: traces of all lengths in every order, keys that change at
//! every job, copies of one job. The single call says what must come out.

use crate::common::batch::{Key, SignJob, keys, sign};
use crate::common::{Stream, backends};
use mldsa_lanes::{
    Error, Input, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, Signature, batch, hazmat,
};
use mldsa_trace::SignTraced;

/// A message under one key, with its signature and the attempts that it takes.
struct Traced<P: ParameterSet> {
    mu: Mu,
    signature: Signature<P>,
    attempts: usize,
}

/// Messages under `key`, those of the fewest attempts first.
fn traced<P: ParameterSet>(key: &Key<P>, count: usize, stream: &mut Stream) -> Vec<Traced<P>> {
    let one = |_| {
        let mu = hazmat::external_mu(stream.array());
        let mut attempts = 0;
        let expanded = &key.signing_expanded;
        let signature = expanded.sign_traced(&Input::Mu(&mu), &[0; 32], |_| attempts += 1);
        Traced {
            mu,
            signature: signature.unwrap(),
            attempts,
        }
    };
    let mut all: Vec<_> = (0..count).map(one).collect();
    all.sort_by_key(|traced| traced.attempts);
    all
}

fn check<P: ParameterSet>(key: &Key<P>, expanded: bool, batch: &[&Traced<P>], what: &str) {
    let jobs: Vec<_> = batch
        .iter()
        .map(|traced| SignJob {
            key: key.sign_with(expanded),
            input: Input::Mu(&traced.mu),
            rnd: &[0; 32],
        })
        .collect();
    for (i, (result, traced)) in sign(&jobs).iter().zip(batch).enumerate() {
        assert_eq!(
            result.as_ref(),
            Ok(&traced.signature),
            "{}, {what}: {i}",
            P::NAME
        );
    }
}

/// Long and short traces in every order.
fn mixes<P: ParameterSet>() {
    for backend in backends() {
        let mut stream = Stream::new(&format!("batch schedule, {}", P::NAME));
        let key = Key::<P>::new(backend, &stream.array());
        let all = traced(&key, 150, &mut stream);
        let short: Vec<_> = all.iter().filter(|traced| traced.attempts == 1).collect();
        let long: Vec<_> = all.iter().rev().take(20).collect();
        assert!(short.len() >= 10, "{} {}", P::NAME, short.len());
        assert!(long[19].attempts >= 7, "{} {}", P::NAME, long[19].attempts);
        for size in [2, 3, 4, 5, 8, 9, 10] {
            check(&key, true, &short[..size], "accepted at once");
            check(&key, true, &long[..size], "long tails");
            let at_the_end = [&short[..size], &long[..1]].concat();
            check(&key, true, &at_the_end, "a long tail at the end");
            let at_the_start = [&long[..1], &short[..size]].concat();
            check(&key, true, &at_the_start, "a long tail at the start");
            let pairs: Vec<_> = short.iter().zip(&long).take(size).collect();
            let alternating: Vec<_> = pairs.iter().flat_map(|(a, b)| [**a, **b]).collect();
            check(&key, false, &alternating, "alternating");
            check(&key, false, &vec![long[size]; size], "copies of a long one");
            check(
                &key,
                true,
                &vec![short[size - 1]; size],
                "copies of a short one",
            );
        }
        let rising: Vec<_> = all.iter().collect();
        check(&key, true, &rising, "ever longer");
        let falling: Vec<_> = all.iter().rev().collect();
        check(&key, false, &falling, "ever shorter");
    }
}

#[test]
fn traces_of_all_lengths() {
    mixes::<MlDsa44>();
    mixes::<MlDsa65>();
    mixes::<MlDsa87>();
}

/// Which of `count` jobs has which key, in which form: one key, in runs, alternating, every one
/// another, with more keys than slots.
fn key_patterns(keys: usize, count: usize) -> Vec<Vec<(usize, bool)>> {
    let pattern = |of: &dyn Fn(usize) -> (usize, bool)| (0..count).map(of).collect();
    vec![
        pattern(&|_| (0, false)),
        pattern(&|i| (0, i % 2 == 0)),
        pattern(&|i| (i / 5 % keys, false)),
        pattern(&|i| (i % 2, false)),
        pattern(&|i| (i % keys, false)),
        pattern(&|i| (i % keys, i % 3 == 0)),
        pattern(&|i| (i * i % keys, i % 4 == 1)),
    ]
}

/// Keys of this machine's backends and of both forms, in all orders.
fn keys_mixed<P: ParameterSet>() {
    const COUNT: usize = 37;
    let mut stream = Stream::new(&format!("batch key mixes, {}", P::NAME));
    let mut keys = keys::<P>(&mut stream);
    // More compact keys than an engine has slots.
    for backend in backends() {
        keys.extend((0..9).map(|_| Key::new(backend, &stream.array())));
    }
    let mus = (0..COUNT).map(|_| hazmat::external_mu(stream.array()));
    let mus: Vec<Mu> = mus.collect();
    let backend_sorted = key_patterns(keys.len(), COUNT);
    for pattern in backend_sorted {
        let jobs: Vec<_> = pattern
            .iter()
            .zip(&mus)
            .map(|((key, expanded), mu)| SignJob {
                key: keys[*key].sign_with(*expanded),
                input: Input::Mu(mu),
                rnd: &[9; 32],
            })
            .collect();
        let signatures = sign(&jobs);
        for (i, ((key, _), mu)) in pattern.iter().zip(&mus).enumerate() {
            let alone = keys[*key]
                .signing_expanded
                .sign_with(mu, hazmat::with_rnd(&[[9; 32]]));
            assert_eq!(signatures[i], alone, "{} {i} of {pattern:?}", P::NAME);
        }
        let signatures: Vec<_> = signatures.into_iter().map(Result::unwrap).collect();
        verify_mixed(&keys, &pattern, &mus, &signatures);
    }
}

/// The same jobs verified, every third with the signature of the job before it.
fn verify_mixed<P: ParameterSet>(
    keys: &[Key<P>],
    pattern: &[(usize, bool)],
    mus: &[Mu],
    signatures: &[Signature<P>],
) {
    let jobs: Vec<_> = (0..mus.len())
        .map(|i| batch::VerifyJob {
            key: keys[pattern[i].0].verify_with(pattern[i].1),
            input: Input::Mu(&mus[i]),
            signature: &signatures[if i % 3 == 2 { i - 1 } else { i }],
        })
        .collect();
    for (i, verdict) in batch::verify(&jobs).into_iter().enumerate() {
        let expected = if i % 3 == 2 {
            Err(Error::InvalidSignature)
        } else {
            Ok(())
        };
        assert_eq!(verdict, expected, "{} {i} of {pattern:?}", P::NAME);
    }
}

#[test]
fn keys_of_all_kinds() {
    keys_mixed::<MlDsa44>();
    keys_mixed::<MlDsa65>();
    keys_mixed::<MlDsa87>();
}
