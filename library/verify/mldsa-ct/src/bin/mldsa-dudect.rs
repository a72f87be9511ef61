//! The program of `make figures PART=dudect` (docs/constant-time.md): times operations on a fixed secret and on
//! random ones, in random order, and prints Welch's t. Figures, no verdict.
//!
//! ```text
//! mldsa-dudect SAMPLES [SET]...
//! ```
//!
//! All keys have one ρ, so Â is the same; a message is taken for a key only if its signature has the
//! trace of all others: an attempt that the first polynomial of r0 rejects, then one that is accepted.
//! Both classes sign as many messages; each key is brought to one place before it is timed. The method is dudect's
//! (Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?", DATE 2017).

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use mldsa_lanes::batch::SignJob;
use mldsa_lanes::hazmat::{external_mu, with_rnd};
use mldsa_lanes::{
    Backend, ExpandedSigningKey, Input, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, Parameters,
    Place, SigningKey, batch,
};
use mldsa_oracle as oracle;
use mldsa_trace::{Check, SignTraced};

/// Keys of a class.
const KEYS: usize = 64;
/// Jobs of a batch: a group of the widest backend, and some that fill up.
const JOBS: usize = 12;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let samples = arguments.first().and_then(|n| n.parse().ok());
    let Some(samples) = samples.filter(|n: &usize| *n >= 1000) else {
        eprintln!("usage: mldsa-dudect SAMPLES [SET]..., of at least 1000 samples for each row");
        return ExitCode::from(2);
    };
    let sets = &arguments[1..];
    let wanted = |name: &str| sets.is_empty() || sets.iter().any(|set| set == name);
    if let Some(other) = sets.iter().find(|set| oracle::by_name(set).is_none()) {
        eprintln!("mldsa-dudect: {other} is no parameter set");
        return ExitCode::from(2);
    }
    println!(
        "set         backend      operation                    samples    median    max|t|       |t|   shuffled"
    );
    for backend in Backend::available() {
        if wanted(MlDsa44::NAME) {
            set::<MlDsa44>(backend, samples);
        }
        if wanted(MlDsa65::NAME) {
            set::<MlDsa65>(backend, samples);
        }
        if wanted(MlDsa87::NAME) {
            set::<MlDsa87>(backend, samples);
        }
    }
    ExitCode::SUCCESS
}

/// xorshift64*: for the order of classes and for keys that nobody keeps.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn seed(&mut self) -> [u8; 32] {
        let words = [self.next(), self.next(), self.next(), self.next()];
        core::array::from_fn(|i| words[i / 8].to_le_bytes()[i % 8])
    }
}

/// A key, what it signs, and the seed from which s1, s2 and K came.
struct Entry<P: ParameterSet> {
    seed: [u8; 32],
    bytes: Vec<u8>,
    compact: SigningKey<P>,
    expanded: Box<ExpandedSigningKey<P>>,
    mu: Mu,
}

/// A key of the secrets that `seed` gives, with `rho` and its matrix in place of the seed's own.
fn key_bytes(
    set: &oracle::Params,
    rho: &[u8],
    a_hat: &[Vec<oracle::Poly>],
    seed: &[u8; 32],
) -> Vec<u8> {
    let (_, sk) = oracle::keygen_internal(set, seed);
    let mut key = oracle::sk_decode(set, &sk);
    let s1_hat: Vec<_> = key.s1.iter().map(|p| oracle::ntt(p)).collect();
    let sum = |(product, s2): (&oracle::Poly, &oracle::Poly)| -> oracle::Poly {
        let products = oracle::inverse_ntt(product);
        let sums = products
            .iter()
            .zip(s2)
            .map(|(x, y)| (x + y).rem_euclid(oracle::Q));
        sums.collect()
    };
    let products = oracle::matrix_vector_ntt(a_hat, &s1_hat);
    let t: Vec<_> = products.iter().zip(&key.s2).map(sum).collect();
    let part = |high: bool| -> Vec<oracle::Poly> {
        let of = |x: &i64| {
            if high {
                oracle::power2_round(*x).0
            } else {
                oracle::power2_round(*x).1
            }
        };
        t.iter().map(|p| p.iter().map(of).collect()).collect()
    };
    key.rho = rho.to_vec();
    key.tr = oracle::h(&[&oracle::pk_encode(set, rho, &part(true))], 64);
    key.t0 = part(false);
    oracle::sk_encode(set, &key)
}

/// Whether the first attempt ends at the first polynomial of r0 and the second is accepted.
fn has_the_trace<P: ParameterSet>(key: &ExpandedSigningKey<P>, mu: &Mu) -> bool {
    let mut ends = Vec::new();
    let result = key.sign_traced(&Input::Mu(mu), &[0; 32], |attempt| {
        ends.push((
            attempt.accepted(),
            attempt.first_failing[Check::R0 as usize],
        ));
    });
    result.is_ok() && ends == [(false, 0), (true, u8::MAX)]
}

fn entry<P: ParameterSet>(
    backend: Backend,
    seed: [u8; 32],
    bytes: Vec<u8>,
    random: &mut Random,
) -> Entry<P> {
    let compact = SigningKey::<P>::from_encoded_bytes_on(backend, &bytes).expect("a valid key");
    let expanded = compact.expand();
    let mu = loop {
        let (a, b) = (random.seed(), random.seed());
        let mu = external_mu(core::array::from_fn(
            |i| if i < 32 { a[i] } else { b[i - 32] },
        ));
        if has_the_trace(&expanded, &mu) {
            break mu;
        }
    };
    Entry {
        seed,
        bytes,
        compact,
        expanded,
        mu,
    }
}

/// A key at a place that all keys share, since where a key lies changes the time too.
struct Staged<'a, P: ParameterSet> {
    seed: &'a [u8; 32],
    bytes: &'a [u8],
    compact: &'a SigningKey<P>,
    expanded: &'a ExpandedSigningKey<P>,
    mu: &'a Mu,
}

/// What is timed: on a key, or for batches on a class from this number on.
type Operation<'a, P> = dyn FnMut(&Staged<'_, P>, &[Entry<P>], usize) + 'a;

fn set<P: ParameterSet>(backend: Backend, samples: usize) {
    let set = oracle::by_name(P::NAME).expect("a parameter set");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let rho = random.seed();
    let a_hat = oracle::expand_a(set, &rho);
    let fixed = random.seed();
    let fixed_bytes = key_bytes(set, &rho, &a_hat, &fixed);
    let classes: [Vec<Entry<P>>; 2] = [
        (0..KEYS)
            .map(|_| entry(backend, fixed, fixed_bytes.clone(), &mut random))
            .collect(),
        (0..KEYS)
            .map(|_| {
                let seed = random.seed();
                let bytes = key_bytes(set, &rho, &a_hat, &seed);
                entry(backend, seed, bytes, &mut random)
            })
            .collect(),
    ];
    let rnds = [[0; 32]; JOBS];
    let mut row = |name: &str, operation: &mut Operation<'_, P>| {
        let samples = samples / if name.contains("batch") { JOBS } else { 1 };
        let times = measure(&classes, samples.max(2000), &mut random, operation);
        print_row(P::NAME, backend.name(), name, times, &mut random);
    };
    let batch_of = |class: &[Entry<P>], at: usize| {
        let jobs: Vec<_> = (0..JOBS)
            .map(|i| {
                let entry = &class[(at + i) % KEYS];
                SignJob {
                    key: (&*entry.expanded).into(),
                    input: Input::Mu(&entry.mu),
                }
            })
            .collect();
        black_box(batch::sign(&jobs, with_rnd(&rnds))).ok();
    };
    row("key generation", &mut |key, _, _| {
        black_box(SigningKey::<P>::from_seed_on(backend, key.seed));
    });
    row("key import", &mut |key, _, _| {
        black_box(SigningKey::<P>::from_encoded_bytes_on(backend, key.bytes)).ok();
    });
    row("expand", &mut |key, _, _| {
        black_box(key.compact.expand());
    });
    row("sign, compact key", &mut |key, _, _| {
        black_box(key.compact.sign_with(key.mu, with_rnd(&rnds[..1]))).ok();
    });
    let expanded = |key: &Staged<'_, P>| {
        black_box(key.expanded.sign_with(key.mu, with_rnd(&rnds[..1]))).ok();
    };
    row("sign, expanded key", &mut |key, _, _| expanded(key));
    row("batch of key generation", &mut |_, class, at| {
        let seeds: [[u8; 32]; JOBS] = core::array::from_fn(|i| class[(at + i) % KEYS].seed);
        black_box(batch::keygen::<P>(backend, &seeds));
    });
    row("batch of signatures", &mut |_, class, at| {
        batch_of(class, at)
    });
    row("planted: sign, then compare", &mut |key, _, _| {
        expanded(key);
        // As far as K, s1 and s2 agree with a guess: the fixed key.
        let agree = |(a, b): &(&u8, &u8)| black_box(a) == black_box(b);
        let (bytes, guess) = (key.bytes[32..].iter(), &fixed_bytes[32..]);
        black_box(bytes.zip(guess).take_while(agree).count());
    });
}

/// Times of both classes in nanoseconds, in random order; a twentieth as many before, which do not count.
fn measure<P: ParameterSet>(
    classes: &[Vec<Entry<P>>; 2],
    samples: usize,
    random: &mut Random,
    operation: &mut Operation<'_, P>,
) -> Vec<(bool, f64)> {
    let warm_up = samples / 20;
    let mut times = Vec::with_capacity(samples);
    let first = &classes[0][0];
    let (mut seed, mut mu);
    let mut bytes = first.bytes.clone();
    let mut compact = first.compact.clone();
    let mut place = Box::new(Place::<ExpandedSigningKey<P>>::new());
    for number in 0..samples + warm_up {
        let draw = random.next();
        let (class, at) = (draw >> 63 == 1, (draw >> 32) as usize % KEYS);
        let class_of = &classes[usize::from(class)];
        let entry = black_box(&class_of[at]);
        (seed, mu) = (entry.seed, entry.mu);
        bytes.copy_from_slice(&entry.bytes);
        compact.clone_from(&entry.compact);
        let staged = black_box(Staged {
            seed: &seed,
            bytes: &bytes,
            compact: &compact,
            expanded: place.fill(&compact),
            mu: &mu,
        });
        let start = Instant::now();
        operation(&staged, class_of, at);
        let time = start.elapsed().as_nanos() as f64;
        if number >= warm_up {
            times.push((class, time));
        }
    }
    times
}

fn print_row(
    set: &str,
    backend: &str,
    name: &str,
    mut times: Vec<(bool, f64)>,
    random: &mut Random,
) {
    let (greatest, whole) = statistics(&times);
    // The same times under labels that mean nothing: what chance alone makes of the greatest of all crops.
    let labels: Vec<bool> = times.iter().map(|(class, _)| *class).collect();
    for i in (1..labels.len()).rev() {
        let j = (random.next() >> 16) as usize % (i + 1);
        let time = times[i].1;
        times[i].1 = times[j].1;
        times[j].1 = time;
    }
    let (shuffled, _) = statistics(&times);
    let mut all: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
    all.sort_by(f64::total_cmp);
    println!(
        "{set:<11} {backend:<12} {name:<28} {:>7} {:>6.1} µs {greatest:>9.1} {whole:>9.1} {shuffled:>10.1}",
        times.len(),
        all[all.len() / 2] / 1000.0,
    );
}

/// |t| at its greatest over all crops, and of all times. A crop leaves out the times above a percentile,
/// 1 − 2^(−i/10) for i of 1 to 100; one of fewer than 500 times in a class is not looked at.
fn statistics(times: &[(bool, f64)]) -> (f64, f64) {
    let mut sorted: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
    sorted.sort_by(f64::total_cmp);
    let whole = welch(times, f64::INFINITY).unwrap_or(0.0);
    let crops = (1..=100).filter_map(|i| {
        let percentile = 1.0 - 0.5f64.powf(f64::from(i) / 10.0);
        let limit = sorted[(percentile * (sorted.len() - 1) as f64) as usize];
        welch(times, limit)
    });
    (crops.fold(whole, f64::max), whole)
}

/// |t| of Welch's test of the times up to `limit`.
fn welch(times: &[(bool, f64)], limit: f64) -> Option<f64> {
    // Number, mean, sum of squared deviations (Welford).
    let mut classes = [(0.0, 0.0, 0.0); 2];
    for (class, time) in times.iter().filter(|(_, time)| *time <= limit) {
        let (n, mean, squares) = &mut classes[usize::from(*class)];
        *n += 1.0;
        let deviation = time - *mean;
        *mean += deviation / *n;
        *squares += deviation * (time - *mean);
    }
    let [(n0, mean0, squares0), (n1, mean1, squares1)] = classes;
    if n0 < 500.0 || n1 < 500.0 {
        return None;
    }
    let error = squares0 / (n0 - 1.0) / n0 + squares1 / (n1 - 1.0) / n1;
    (error > 0.0).then(|| (mean0 - mean1).abs() / error.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(shift: f64) -> Vec<(bool, f64)> {
        let mut random = Random(1);
        (0..20_000)
            .map(|_| {
                let class = random.next() >> 63 == 1;
                let noise: f64 = (0..4).map(|_| (random.next() >> 40) as f64 / 1e6).sum();
                (class, 1000.0 + noise + if class { shift } else { 0.0 })
            })
            .collect()
    }

    /// Worked by hand.
    #[test]
    fn t_is_welchs() {
        let a = [4.0, 6.0, 8.0, 10.0].map(|x| (false, x));
        let b = [1.0, 2.0, 3.0, 6.0].map(|x| (true, x));
        let many: Vec<_> = a.iter().chain(&b).copied().cycle().take(8 * 500).collect();
        // Means 7 and 3, variances 5 and 3.5 of the whole: 4 / sqrt(5/1999 + 3.5/1999).
        let t = welch(&many, f64::INFINITY).expect("500 of each");
        assert!((t - 4.0 / (8.5f64 / 1999.0).sqrt()).abs() < 1e-9, "{t}");
    }

    #[test]
    fn a_difference_is_seen_and_none_is_not() {
        assert!(statistics(&drawn(3.0)).0 > 10.0);
        assert!(statistics(&drawn(0.0)).0 < 5.0);
    }
}
