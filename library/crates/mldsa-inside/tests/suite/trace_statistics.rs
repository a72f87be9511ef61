//! Traces against the exact probabilities of the checks.
//!
//! z_i = y_i + (c·s1)_i with y_i uniform on 2·γ1 values and |c·s1| <= β, so a coefficient passes
//! with probability (2(γ1 - β) - 1) / (2γ1), exactly, whatever the key is. w - c·s2 is uniform on
//! Z_q to all appearances, and `good` of its q values have |r0| < γ2 - β. The two are independent.
//! The probability that the hint is too heavy depends on t0; it was measured.
//!
//! Seeds are fixed: the figures of one build never change. Every bound is four standard
//! deviations.

use crate::common::{Message, Stream, expanded_subjects_of};
use mldsa_oracle::{Attempt, ML_DSA_44, ML_DSA_65, ML_DSA_87, Params, Q};

/// Attempts per parameter set whose shares are compared with the probabilities, on one backend.
const ATTEMPTS: usize = 20_000;
/// Attempts per parameter set on every other backend: they must be the first of these.
const COMPARED: usize = 4_000;
/// Signatures per key; p_h differs a little from key to key.
const PER_KEY: usize = 60;

/// Probability that one polynomial of z passes.
fn z_polynomial(p: &Params) -> f64 {
    let good = 2 * (p.gamma1 - p.beta) - 1;
    (good as f64 / (2 * p.gamma1) as f64).powi(256)
}

/// Probability that one polynomial of r0 passes.
fn r0_polynomial(p: &Params) -> f64 {
    let per_step = 2 * (p.gamma2 - p.beta) - 1;
    // The last step is shared by the two ends of Z_q and holds one value less.
    let good = ((Q - 1) / (2 * p.gamma2) - 1) * per_step + 2 * (p.gamma2 - p.beta) - 1;
    (good as f64 / Q as f64).powi(256)
}

/// Measured share of too heavy hints among attempts whose z and r0 pass, and its standard error.
fn heavy_hint(p: &Params) -> (f64, f64) {
    match p.name {
        "ML-DSA-44" => (0.014_20, 0.000_19),
        "ML-DSA-65" => (0.003_98, 0.000_18),
        _ => (0.007_50, 0.000_25),
    }
}

/// Asserts that `count` of `total` is what the probability makes of it, within four standard
/// deviations; `error` is the probability's own standard error.
fn assert_share(what: &str, count: usize, total: usize, probability: f64, error: f64) {
    let n = total as f64;
    let share = count as f64 / n;
    let sigma = (probability * (1.0 - probability) / n + error * error).sqrt();
    assert!(
        (share - probability).abs() <= 4.0 * sigma,
        "{what}: {count} of {total} is {share:.5}; expected {probability:.5} ± {sigma:.5}"
    );
}

fn count(attempts: &[Attempt], condition: impl Fn(&Attempt) -> bool) -> usize {
    attempts.iter().filter(|attempt| condition(attempt)).count()
}

/// The first `wanted` attempts of a stream of signatures, and how many signatures they make up.
/// Attempts are independent of each other, so where signatures end does not matter.
fn collect(subject: &crate::common::Subject, wanted: usize) -> (Vec<Attempt>, usize) {
    let mut stream = Stream::new(&format!("trace statistics, {}", subject.p.name));
    let mut attempts = Vec::new();
    let mut key = subject.key(&stream.array());
    let mut signatures = 0;
    while attempts.len() < wanted {
        if signatures % PER_KEY == 0 {
            key = subject.key(&stream.array());
        }
        let message = Message::of_mu(stream.array());
        attempts.extend(key.signer.traced(&message.input(), &[0; 32]).unwrap().trace);
        signatures += 1;
    }
    attempts.truncate(wanted);
    (attempts, signatures)
}

/// P(first failing polynomial is i) = a^i·(1 - a) for polynomials that pass with probability a.
fn assert_first_failing(
    what: &str,
    attempts: &[Attempt],
    check: usize,
    polynomials: usize,
    a: f64,
) {
    for i in 0..polynomials {
        let here = count(attempts, |attempt| {
            usize::from(attempt.first_failing[check]) == i
        });
        let probability = a.powi(i as i32) * (1.0 - a);
        assert_share(
            &format!("{what}, first failing {i}"),
            here,
            attempts.len(),
            probability,
            0.0,
        );
    }
}

fn probabilities(p: &'static Params) {
    let a_z = z_polynomial(p);
    let a_r0 = r0_polynomial(p);
    let p_z = a_z.powi(p.l as i32);
    let p_r0 = a_r0.powi(p.k as i32);
    let (p_h, p_h_error) = heavy_hint(p);
    let mut subjects = expanded_subjects_of(p);
    // The last backend is the fastest.
    let subject = subjects.pop().unwrap();
    let at = subject.label();
    let (attempts, signatures) = collect(&subject, ATTEMPTS);
    let n = attempts.len();
    assert_eq!(n, ATTEMPTS);

    let z_passes = |attempt: &Attempt| attempt.failed & 1 == 0;
    let r0_passes = |attempt: &Attempt| attempt.failed & 2 == 0;
    let both = |attempt: &Attempt| attempt.failed & 3 == 0;
    assert_share(&format!("{at}: z"), count(&attempts, z_passes), n, p_z, 0.0);
    assert_share(
        &format!("{at}: r0"),
        count(&attempts, r0_passes),
        n,
        p_r0,
        0.0,
    );
    // Independence: each of the four cells of the table of z and r0.
    for (bits, probability) in [
        (0, p_z * p_r0),
        (1, (1.0 - p_z) * p_r0),
        (2, p_z * (1.0 - p_r0)),
        (3, (1.0 - p_z) * (1.0 - p_r0)),
    ] {
        let cell = count(&attempts, |attempt| attempt.failed & 3 == bits);
        assert_share(
            &format!("{at}: z and r0 cell {bits}"),
            cell,
            n,
            probability,
            0.0,
        );
    }
    let passing = count(&attempts, both);
    let heavy = count(&attempts, |attempt| {
        both(attempt) && attempt.failed & 12 != 0
    });
    assert_share(&format!("{at}: hint"), heavy, passing, p_h, p_h_error);
    // The product of the three is the chance of an attempt to be the last one.
    let accepted = p_z * p_r0 * (1.0 - p_h);
    assert_share(
        &format!("{at}: accepted"),
        signatures,
        n,
        accepted,
        p_z * p_r0 * p_h_error,
    );

    assert_first_failing(&format!("{at}: z"), &attempts, 0, p.l, a_z);
    assert_first_failing(&format!("{at}: r0"), &attempts, 1, p.k, a_r0);
    // Where both fail, the places at which they do are independent as well.
    let same = count(&attempts, |attempt| {
        attempt.failed & 3 == 3 && attempt.first_failing[0] == attempt.first_failing[1]
    });
    let law = |a: f64, i: i32| a.powi(i) * (1.0 - a);
    let probability = (0..p.l as i32).map(|i| law(a_z, i) * law(a_r0, i)).sum();
    assert_share(&format!("{at}: same place"), same, n, probability, 0.0);
    assert_eq!(
        count(&attempts, |attempt| attempt.failed & 4 != 0),
        0,
        "{at}: ct0"
    );

    for subject in subjects {
        let (others, _) = collect(&subject, COMPARED);
        assert!(
            others == attempts[..COMPARED],
            "{}: another trace than {at}",
            subject.label()
        );
    }
}

#[test]
fn probabilities_44() {
    probabilities(&ML_DSA_44);
}

#[test]
fn probabilities_65() {
    probabilities(&ML_DSA_65);
}

#[test]
fn probabilities_87() {
    probabilities(&ML_DSA_87);
}

/// The formulas of this file give the figures that are in use everywhere else.
#[test]
fn table_of_expectations() {
    for (p, p_z, p_r0, attempts) in [
        (&ML_DSA_44, 0.5415, 0.4298, 4.36),
        (&ML_DSA_65, 0.6189, 0.3157, 5.14),
        (&ML_DSA_87, 0.6624, 0.3895, 3.91),
    ] {
        let z = z_polynomial(p).powi(p.l as i32);
        let r0 = r0_polynomial(p).powi(p.k as i32);
        assert!(
            (z - p_z).abs() < 6e-5 && (r0 - p_r0).abs() < 6e-5,
            "{} {z} {r0}",
            p.name
        );
        let expected = 1.0 / (z * r0 * (1.0 - heavy_hint(p).0));
        assert!((expected - attempts).abs() < 0.006, "{} {expected}", p.name);
    }
}
