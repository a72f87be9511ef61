//! The program of `make figures PART=dudect` (library/evidence/constant-time.md): times operations on a fixed secret
//! and on random ones, in random order, and prints Welch's t. Figures, no verdict.
//!
//! ```text
//! mldsa-dudect SAMPLES [SET]...
//! ```
//!
//! All keys have one ρ, so Â is the same; a message is taken for a key only if its signature has the
//! trace of all others: an attempt that the first polynomial of r0 rejects, then one that is accepted.
//! Both classes sign as many messages; each key is brought to one place before it is timed. The parts of key generation
//! are timed with one ρ, and with the same rejected half-bytes in both classes. The method is dudect's
//! (Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?", DATE 2017).

use std::hint::black_box;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitXor};
use std::process::ExitCode;
use std::time::Instant;

use mldsa_lanes::batch::SignJob;
use mldsa_lanes::hazmat::{external_mu, with_rnd};
use mldsa_lanes::internals::{
    Group, N, Poly, accept_halves, add_center, bounded, dot, group, inverse_ntt, ntt, poly,
    power2round, uniform,
};
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
        self.bytes()
    }

    fn bytes<const LENGTH: usize>(&mut self) -> [u8; LENGTH] {
        let words: Vec<u64> = (0..LENGTH / 8).map(|_| self.next()).collect();
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
        let mu = external_mu(random.bytes());
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
    time_parts::<P>(backend, samples);
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
    let first = &classes[0][0];
    let (mut seed, mut mu) = (first.seed, first.mu);
    let mut bytes = first.bytes.clone();
    let mut compact = first.compact.clone();
    let mut place = Box::new(Place::<ExpandedSigningKey<P>>::new());
    let mut row = |name: &str, operation: &mut Operation<'_, P>| {
        let samples = samples / if name.contains("batch") { JOBS } else { 1 };
        let times = measure(samples.max(2000), &mut random, &mut |class, at| {
            let class = &classes[usize::from(class)];
            let entry = black_box(&class[at]);
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
            nanoseconds(|| operation(&staged, class, at))
        });
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

/// Bytes of a block of SHAKE256, and blocks that are enough for a polynomial of s1 or s2.
const BLOCK: usize = 136;
const BLOCKS: usize = 3;

/// Secret inputs of the parts of key generation. The alignment keeps polynomials within a page of memory.
#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Secrets {
    /// s1, s2, NTT(s1).
    polynomials: [Poly; 22],
    /// Output of SHAKE256 for each polynomial of s1 and s2.
    strings: [[u8; BLOCKS * BLOCK]; 15],
    rho_prime: [u8; 64],
    nonces: [u16; 15],
}

impl Secrets {
    /// Copies `b` if `second`, else `a`. It reads both: the place that was read last changes the time of the operation.
    fn select(&mut self, second: bool, a: &Secrets, b: &Secrets) {
        let mask = -i32::from(black_box(second));
        let pairs = a.polynomials.iter().zip(&b.polynomials);
        for (to, (a, b)) in self.polynomials.iter_mut().zip(pairs) {
            select(mask, &a.0, &b.0, &mut to.0);
        }
        let strings = self.strings.as_flattened_mut();
        let (a_strings, b_strings) = (a.strings.as_flattened(), b.strings.as_flattened());
        select(mask as u8, a_strings, b_strings, strings);
        select(mask as u8, &a.rho_prime, &b.rho_prime, &mut self.rho_prime);
        select(mask as u16, &a.nonces, &b.nonces, &mut self.nonces);
    }
}

/// Copies `b` where `mask` is all ones, `a` where it is zero.
fn select<T: Copy + BitXor<Output = T> + BitAnd<Output = T>>(
    mask: T,
    a: &[T],
    b: &[T],
    to: &mut [T],
) {
    for (to, (a, b)) in to.iter_mut().zip(a.iter().zip(b)) {
        *to = *a ^ ((*a ^ *b) & mask);
    }
}

/// The parts of key generation that take secrets.
struct Parts<P> {
    backend: Backend,
    set: &'static oracle::Params,
    parameters: PhantomData<P>,
}

impl<P: Parameters> Parts<P> {
    const COUNT: usize = P::K + P::L;

    fn new(backend: Backend) -> Self {
        Parts {
            backend,
            set: oracle::by_name(P::NAME).expect("a parameter set"),
            parameters: PhantomData,
        }
    }

    fn accepts(&self, half: u8) -> bool {
        oracle::coeff_from_half_byte(self.set, half).is_some()
    }

    fn string(&self, rho_prime: &[u8; 64], nonce: u16) -> [u8; BLOCKS * BLOCK] {
        let string = oracle::h(&[rho_prime, &nonce.to_le_bytes()], BLOCKS * BLOCK);
        string.try_into().expect("of this length")
    }

    /// Half-bytes that RejBoundedPoly uses.
    fn used(&self, string: &[u8]) -> usize {
        let halves = string.iter().flat_map(|byte| [byte & 15, byte >> 4]);
        let mut accepted = (1..).zip(halves).filter(|(_, half)| self.accepts(*half));
        accepted.nth(N - 1).expect("enough blocks").0
    }

    /// Random secrets. With `like`, polynomials get nonces for which RejBoundedPoly uses as many half-bytes as there,
    /// and the strings reject the same half-bytes as there.
    fn secrets(&self, random: &mut Random, like: Option<&Secrets>) -> Secrets {
        let rho_prime = random.bytes();
        let mut nonces: [u16; 15] = core::array::from_fn(|i| i as u16);
        let mut strings = nonces.map(|nonce| self.string(&rho_prime, nonce));
        if let Some(like) = like {
            let mut candidates = 0..=u16::MAX;
            for (nonce, string) in nonces.iter_mut().zip(&like.strings).take(Self::COUNT) {
                let used = self.used(string);
                let equal = |nonce: &u16| self.used(&self.string(&rho_prime, *nonce)) == used;
                *nonce = candidates.find(equal).expect("a nonce");
            }
            strings = like.strings;
            for byte in strings.as_flattened_mut() {
                let [low, high] = [*byte & 15, *byte >> 4].map(|half| self.redraw(random, half));
                *byte = low | (high << 4);
            }
        }
        let mut polynomials = [poly([0; N]); 22];
        let (s, s1_hat) = polynomials.split_at_mut(Self::COUNT);
        bounded::<P>(self.backend, &rho_prime, &nonces[..Self::COUNT], s);
        s1_hat[..P::L].copy_from_slice(&s[..P::L]);
        self.ntt(&mut s1_hat[..P::L]);
        Secrets {
            polynomials,
            strings,
            rho_prime,
            nonces,
        }
    }

    /// A random half-byte in place of an accepted one.
    fn redraw(&self, random: &mut Random, half: u8) -> u8 {
        if !self.accepts(half) {
            return half;
        }
        loop {
            let half = (random.next() >> 60) as u8;
            if self.accepts(half) {
                return half;
            }
        }
    }

    fn ntt(&self, s1: &mut [Poly]) {
        for p in s1 {
            ntt(self.backend, p);
        }
    }

    fn expand_s(&self, at: &mut Secrets) {
        let (nonces, s) = (&at.nonces[..Self::COUNT], &mut at.polynomials);
        bounded::<P>(self.backend, &at.rho_prime, nonces, s);
    }

    /// ExpandS from the strings: SHAKE256 of ρ′, whose output nobody uses, then RejBoundedPoly.
    fn expand_strings(&self, group: &mut dyn Group, at: &mut Secrets) {
        let words = at.rho_prime.as_chunks().0;
        for nonces in at.nonces[..Self::COUNT].chunks(group.count()) {
            for (lane, nonce) in nonces.iter().enumerate() {
                let mut state = [0; 25];
                for (word, bytes) in state.iter_mut().zip(words) {
                    *word = u64::from_le_bytes(*bytes);
                }
                state[8] = (*nonce).into();
                group.set(lane, &state);
            }
            group.permute();
            group.permute();
        }
        let places = at.polynomials[..Self::COUNT].iter_mut();
        for (p, string) in places.zip(&at.strings) {
            string.chunks(BLOCK).fold(0, |filled, block| {
                accept_halves::<P>(self.backend, block, p, filled)
            });
        }
    }

    /// t = A∘s1 + s2, split.
    fn t(&self, a_hat: &[Poly], s1_hat: &[Poly], s2: &[Poly]) {
        let (mut t, mut t1) = (poly([0; N]), poly([0; N]));
        for (row, s2) in a_hat.chunks(P::L).zip(s2) {
            dot(self.backend, row, s1_hat, &mut t);
            inverse_ntt(self.backend, &mut t);
            add_center(self.backend, &mut t, s2);
            power2round(self.backend, &mut t, &mut t1);
            black_box((&t, &t1));
        }
    }
}

/// Times the parts of key generation with one ρ.
fn time_parts<P: Parameters>(backend: Backend, samples: usize) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let parts = Parts::<P>::new(backend);
    let mut a_hat = vec![poly([0; N]); P::K * P::L];
    let nonces: Vec<u16> = (0..P::K as u16)
        .flat_map(|row| (0..P::L as u16).map(move |column| column | (row << 8)))
        .collect();
    uniform(backend, &random.seed(), &nonces, &mut a_hat);
    let fixed = parts.secrets(&mut random, None);
    let [equal, other] = [Some(&fixed), None].map(|like| -> Vec<Secrets> {
        (0..KEYS)
            .map(|_| parts.secrets(&mut random, like))
            .collect()
    });
    let mut group = group(backend);
    let mut staged = Box::new(fixed);
    let mut row = |name: &str, varied: &[Secrets], part: &mut dyn FnMut(&mut Secrets)| {
        let times = measure(10 * samples, &mut random, &mut |class, at| {
            staged.select(class, &fixed, &varied[at]);
            let staged = black_box(&mut *staged);
            nanoseconds(|| part(staged))
        });
        print_row(P::NAME, backend.name(), name, times, &mut random);
    };
    row("ExpandS, any rejections", &other, &mut |at| {
        parts.expand_s(at)
    });
    row("ExpandS, equal counts", &equal, &mut |at| {
        parts.expand_s(at)
    });
    row("ExpandS, equal rejections", &equal, &mut |at| {
        parts.expand_strings(&mut *group, at)
    });
    row("NTT(s1)", &equal, &mut |at| {
        parts.ntt(&mut at.polynomials[..P::L])
    });
    row("t = A s1 + s2, split", &equal, &mut |at| {
        let (s, s1_hat) = at.polynomials.split_at(Parts::<P>::COUNT);
        parts.t(&a_hat, &s1_hat[..P::L], &s[P::L..]);
    });
    let mut all = |at: &mut Secrets| {
        parts.expand_strings(&mut *group, at);
        parts.ntt(&mut at.polynomials[..P::L]);
        let (s1_hat, s2) = at.polynomials[..Parts::<P>::COUNT].split_at(P::L);
        parts.t(&a_hat, s1_hat, s2);
    };
    row("all three, any rejections", &other, &mut all);
    row("all three, equal rejections", &equal, &mut all);
}

fn nanoseconds(operation: impl FnOnce()) -> f64 {
    let start = Instant::now();
    operation();
    start.elapsed().as_nanos() as f64
}

/// Times of both classes in nanoseconds, in random order; a twentieth as many before, which do not count. `time` takes
/// the time of an entry of a class.
fn measure(
    samples: usize,
    random: &mut Random,
    time: &mut dyn FnMut(bool, usize) -> f64,
) -> Vec<(bool, f64)> {
    let warm_up = samples / 20;
    let mut times = Vec::with_capacity(samples);
    for number in 0..samples + warm_up {
        let draw = random.next();
        let (class, at) = (draw >> 63 == 1, (draw >> 32) as usize % KEYS);
        let time = time(class, at);
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

    fn the_same_half_bytes_are_rejected<P: Parameters>() {
        for backend in Backend::available() {
            let parts = Parts::<P>::new(backend);
            let mut random = Random(1);
            let fixed = parts.secrets(&mut random, None);
            let mut copy = fixed;
            copy.polynomials = [poly([0; N]); 22];
            parts.expand_strings(&mut *group(backend), &mut copy);
            let s = ..Parts::<P>::COUNT;
            assert_eq!(copy.polynomials[s], fixed.polynomials[s]);

            let varied = parts.secrets(&mut random, Some(&fixed));
            assert_ne!(varied.polynomials[s], fixed.polynomials[s]);
            for (i, string) in fixed.strings[s].iter().enumerate() {
                let halves = |string: &[u8]| -> Vec<bool> {
                    let halves = string.iter().flat_map(|byte| [byte & 15, byte >> 4]);
                    halves.map(|half| parts.accepts(half)).collect()
                };
                assert_eq!(halves(&varied.strings[i]), halves(string));
                assert_ne!(varied.strings[i], *string);
                let sampled = parts.string(&varied.rho_prime, varied.nonces[i]);
                assert_eq!(parts.used(&sampled), parts.used(string));
            }
            copy.select(true, &fixed, &varied);
            assert_eq!(copy.polynomials, varied.polynomials);
            copy.select(false, &fixed, &varied);
            assert_eq!(copy.strings, fixed.strings);
        }
    }

    #[test]
    fn classes_of_the_parts_reject_the_same_half_bytes() {
        the_same_half_bytes_are_rejected::<MlDsa44>();
        the_same_half_bytes_are_rejected::<MlDsa65>();
        the_same_half_bytes_are_rejected::<MlDsa87>();
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
