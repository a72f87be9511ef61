//! Times every operation of each parameter set on each vector backend; built with
//! `--cfg mldsa_shares`, the phases of each too. `make figures PART=shares` runs both builds.
//!
//! Prints, separated by tabs: set, backend, operation, nanoseconds (without what the timers take); of
//! the build with phases then the ticks and the name of each, the last what is in no phase.

use std::hint::black_box;
use std::time::Instant;

use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};

/// Messages, or seeds: enough that rejections even out.
const COUNT: usize = 64;
/// How often each is tried; the quickest counts.
const ROUNDS: usize = 40;

fn main() {
    for backend in Backend::available().filter(|backend| backend.name() != "portable") {
        operations::<MlDsa44>(backend);
        operations::<MlDsa65>(backend);
        operations::<MlDsa87>(backend);
    }
}

fn operations<P: ParameterSet>(backend: Backend) {
    let key = SigningKey::<P>::from_seed_on(backend, &[1; 32]);
    let public = key.verifying_key();
    let (expanded, expanded_public) = (key.expand(), public.expand());
    let messages: Vec<_> = (0..COUNT).map(|i| [i as u8; 32]).collect();
    let sign = |message: &[u8; 32]| expanded.sign_deterministic(message).expect("821 attempts");
    let signatures: Vec<_> = messages.iter().map(sign).collect();
    row::<P>(backend, "sign", &|i| {
        black_box(key.sign_deterministic(&messages[i])).expect("821 attempts");
    });
    row::<P>(backend, "sign, expanded key", &|i| {
        black_box(sign(&messages[i]));
    });
    row::<P>(backend, "verify", &|i| {
        let verified = public.verify_signature(&messages[i], &signatures[i]);
        verified.expect("valid");
    });
    row::<P>(backend, "verify, expanded key", &|i| {
        let verified = expanded_public.verify_signature(&messages[i], &signatures[i]);
        verified.expect("valid");
    });
    row::<P>(backend, "keygen", &|i| {
        black_box(SigningKey::<P>::from_seed_on(backend, &messages[i]));
    });
}

/// The means over messages of the quickest tries.
fn row<P: ParameterSet>(backend: Backend, operation: &str, run: &dyn Fn(usize)) {
    let mut sum = Try::default();
    for i in 0..COUNT {
        let tries = (0..ROUNDS).map(|_| Try::of(|| run(i)));
        let best = tries.min_by_key(|one| one.nanoseconds);
        sum.add(&best.expect("a round"));
    }
    let name = (P::NAME, backend.name());
    print!("{}\t{}\t{operation}", name.0, name.1);
    sum.print();
}

/// One try of an operation, or the sum of several.
#[derive(Default)]
struct Try {
    nanoseconds: u128,
    #[cfg(mldsa_shares)]
    ticks: u64,
    #[cfg(mldsa_shares)]
    phases: Vec<(u64, u64)>,
}

#[cfg(not(mldsa_shares))]
impl Try {
    fn of(run: impl FnOnce()) -> Self {
        let start = Instant::now();
        run();
        Try {
            nanoseconds: start.elapsed().as_nanos(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.nanoseconds += other.nanoseconds;
    }

    fn print(&self) {
        println!("\t{:.0}", self.nanoseconds as f64 / COUNT as f64);
    }
}

#[cfg(mldsa_shares)]
impl Try {
    fn of(run: impl FnOnce()) -> Self {
        mldsa_lanes::shares::read();
        let start = (Instant::now(), mldsa_lanes::shares::ticks());
        run();
        let ticks = mldsa_lanes::shares::ticks() - start.1;
        let nanoseconds = start.0.elapsed().as_nanos();
        let phases = mldsa_lanes::shares::read().to_vec();
        Try {
            nanoseconds,
            ticks,
            phases,
        }
    }

    fn add(&mut self, other: &Self) {
        self.nanoseconds += other.nanoseconds;
        self.ticks += other.ticks;
        self.phases.resize(other.phases.len(), (0, 0));
        for (sum, more) in self.phases.iter_mut().zip(&other.phases) {
            *sum = (sum.0 + more.0, sum.1 + more.1);
        }
    }

    /// A phase that does nothing: ticks that it counts, and all that it takes.
    fn empty() -> [f64; 2] {
        const CALLS: usize = 1000;
        let tries =
            (0..ROUNDS).map(|_| Try::of(|| (0..CALLS).for_each(|_| mldsa_lanes::shares::empty())));
        let best = tries.min_by_key(|one| one.ticks).expect("a round");
        let counted = best.phases.iter().map(|(ticks, _)| *ticks).sum::<u64>();
        [counted, best.ticks].map(|ticks| ticks as f64 / CALLS as f64)
    }

    fn print(&self) {
        let [counted, all] = Self::empty();
        let phases = self.phases.iter().map(|(ticks, calls)| {
            let own = *ticks as f64 - counted * *calls as f64;
            (own.max(0.0), *calls as f64 * all)
        });
        let phases: Vec<_> = phases.collect();
        let timers: f64 = phases.iter().map(|(_, timers)| timers).sum();
        let total = self.ticks as f64 - timers;
        let rest = total - phases.iter().map(|(own, _)| own).sum::<f64>();
        let scale = self.nanoseconds as f64 / self.ticks as f64;
        print!("\t{:.0}", total * scale / COUNT as f64);
        let names = mldsa_lanes::shares::PHASES.iter();
        let each = phases.iter().map(|(own, _)| *own).zip(names.copied());
        for (ticks, name) in each.chain([(rest, "what is in none")]) {
            print!("\t{:.0}\t{name}", ticks / COUNT as f64);
        }
        println!();
    }
}
