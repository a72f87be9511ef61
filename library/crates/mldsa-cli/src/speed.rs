//! Operations per second on this machine.

use std::hint::black_box;
use std::time::Instant;

use mldsa_lanes::any::batch::{self, AnySignJob, AnySignWith, AnyVerifyJob, AnyVerifyWith};
use mldsa_lanes::any::{AnySignature, AnySigningKey, Set};
use mldsa_lanes::{Backend, Error, Input, MlDsa44, MlDsa65, MlDsa87, SignOptions, SigningKey};

use crate::arguments::Speed;
use crate::failure::Failure;
use crate::files;

/// Timed blocks of each figure, interleaved with those of the others.
const ROUNDS: usize = 30;
/// Student's t for a 95 % confidence interval from `ROUNDS` blocks.
const T: f64 = 2.045;
/// Jobs of a batch.
const BATCH: usize = 256;
/// Signatures that verification takes in turn.
const SIGNATURES: u64 = 64;

/// Performs operations with the given numbers. Returns how many it performed.
type Operation = Box<dyn FnMut(u64) -> Result<usize, Error>>;

struct Row {
    set: Set,
    backend: Backend,
    name: &'static str,
    operation: Operation,
    /// Number of the next call, so that no message comes twice.
    calls: u64,
    /// Calls of each block.
    block: u64,
    /// Seconds for an operation, of each block.
    times: Vec<f64>,
}

impl Row {
    /// Run `count` calls. Returns seconds for an operation.
    fn time(&mut self, count: u64) -> Result<f64, Error> {
        let start = Instant::now();
        let mut operations = 0;
        for _ in 0..count {
            operations += (self.operation)(self.calls)?;
            self.calls += 1;
        }
        Ok(start.elapsed().as_secs_f64() / operations as f64)
    }

    /// Choose the length of a block; warms up.
    fn calibrate(&mut self, seconds: f64) -> Result<(), Error> {
        let start = Instant::now();
        let mut calls = 0;
        while calls == 0 || start.elapsed().as_secs_f64() < seconds {
            self.time(1)?;
            calls += 1;
        }
        self.block = calls;
        Ok(())
    }

    /// Mean and half the width of its confidence interval, in seconds.
    fn mean(&self) -> (f64, f64) {
        let count = self.times.len() as f64;
        let mean = self.times.iter().sum::<f64>() / count;
        let squares = self.times.iter().map(|time| (time - mean).powi(2));
        let variance = squares.sum::<f64>() / (count - 1.0);
        (mean, T * (variance / count).sqrt())
    }
}

/// Measure and print.
pub fn speed(options: &Speed) -> Result<(), Failure> {
    if !(0.001..=3600.0).contains(&options.seconds) {
        return Err(Failure::new(
            "--seconds",
            "out of range",
            "give a number from 0.001 to 3600",
        ));
    }
    let sets = if options.sets.is_empty() {
        Set::ALL.to_vec()
    } else {
        options.sets.clone()
    };
    let backends = backends(&options.backends)?;
    let failed = |error: Error| Failure::new("speed", error, "report this error");
    let mut rows = Vec::new();
    for set in sets {
        for &backend in &backends {
            rows.extend(operations(set, backend).map_err(failed)?);
        }
    }
    let block = options.seconds / ROUNDS as f64;
    for row in &mut rows {
        row.calibrate(block).map_err(failed)?;
    }
    for _ in 0..ROUNDS {
        for row in &mut rows {
            let time = row.time(row.block).map_err(failed)?;
            row.times.push(time);
        }
    }
    files::print(report(&rows))
}

/// The named backends, or all of this CPU.
fn backends(names: &[String]) -> Result<Vec<Backend>, Failure> {
    if names.is_empty() {
        return Ok(Backend::available().collect());
    }
    let find = |name: &String| {
        Backend::available()
            .find(|backend| backend.name() == name)
            .ok_or_else(|| {
                let known: Vec<_> = Backend::available().map(Backend::name).collect();
                Failure::new(
                    "--backend",
                    format_args!("no backend {name:?} on this CPU"),
                    format_args!("choose from {}", known.join(", ")),
                )
            })
    };
    names.iter().map(find).collect()
}

fn key(set: Set, backend: Backend, seed: u64) -> AnySigningKey {
    let mut xi = [0; 32];
    xi[..8].copy_from_slice(&seed.to_le_bytes());
    match set {
        Set::MlDsa44 => Box::new(SigningKey::<MlDsa44>::from_seed_on(backend, &xi)).into(),
        Set::MlDsa65 => Box::new(SigningKey::<MlDsa65>::from_seed_on(backend, &xi)).into(),
        Set::MlDsa87 => Box::new(SigningKey::<MlDsa87>::from_seed_on(backend, &xi)).into(),
    }
}

/// The rows of a set on a backend. All calls are single but those of batches; all take one thread.
fn operations(set: Set, backend: Backend) -> Result<Vec<Row>, Error> {
    let compact = key(set, backend, 0);
    let public = compact.verifying_key();
    let signatures: Vec<AnySignature> = (0..SIGNATURES)
        .map(|number| compact.sign_deterministic(&number.to_le_bytes()))
        .collect::<Result<_, _>>()?;
    let same = signatures.clone();
    let many = signatures.clone();
    let (expanded, expanded_public) = (compact.expand(), public.expand());
    let (batch_key, batch_public) = (compact.clone(), public.clone());
    let operations: [(&str, Operation); 7] = [
        (
            "keygen",
            Box::new(move |number| {
                black_box(key(set, backend, number));
                Ok(1)
            }),
        ),
        (
            "sign",
            Box::new(move |number| {
                black_box(compact.sign_deterministic(&number.to_le_bytes())?);
                Ok(1)
            }),
        ),
        (
            "sign, expanded key",
            Box::new(move |number| {
                black_box(expanded.sign_deterministic(&number.to_le_bytes())?);
                Ok(1)
            }),
        ),
        (
            "sign, batch",
            Box::new(move |number| {
                let messages = messages(number * BATCH as u64);
                let job = |message| AnySignJob {
                    key: AnySignWith::Compact(&batch_key),
                    input: Input::from(message),
                };
                let jobs: Vec<_> = messages.iter().map(job).collect();
                for signature in black_box(batch::sign(&jobs, SignOptions::deterministic())?) {
                    signature?;
                }
                Ok(BATCH)
            }),
        ),
        (
            "verify",
            Box::new(move |number| {
                let number = number % SIGNATURES;
                public.verify_signature(&number.to_le_bytes(), &signatures[number as usize])?;
                Ok(1)
            }),
        ),
        (
            "verify, expanded key",
            Box::new(move |number| {
                let number = number % SIGNATURES;
                expanded_public.verify_signature(&number.to_le_bytes(), &same[number as usize])?;
                Ok(1)
            }),
        ),
        (
            "verify, batch",
            Box::new(move |_| {
                let messages = messages(0);
                let job = |at: usize| AnyVerifyJob {
                    key: AnyVerifyWith::Compact(&batch_public),
                    input: Input::from(&messages[at % many.len()]),
                    signature: &many[at % many.len()],
                };
                let jobs: Vec<_> = (0..BATCH).map(job).collect();
                batch::verify(&jobs)
                    .into_iter()
                    .collect::<Result<(), _>>()?;
                Ok(BATCH)
            }),
        ),
    ];
    let row = |(name, operation)| Row {
        set,
        backend,
        name,
        operation,
        calls: SIGNATURES,
        block: 1,
        times: Vec::new(),
    };
    Ok(operations.into_iter().map(row).collect())
}

/// The messages of a batch, numbered from `first`.
fn messages(first: u64) -> Vec<[u8; 8]> {
    (first..first + BATCH as u64)
        .map(u64::to_le_bytes)
        .collect()
}

fn report(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<10} {:<10} {:<21} {:>10} {:>23} {:>10}\n",
        "set", "backend", "operation", "per second", "95 % interval", "µs"
    );
    for row in rows {
        let (mean, half) = row.mean();
        // A wide interval may reach 0: then there is no upper bound of the rate.
        let most = match mean - half {
            least if least > 0.0 => format!("{:.0}", 1.0 / least),
            _ => "∞".into(),
        };
        let interval = format!("{:.0} to {most}", 1.0 / (mean + half));
        text.push_str(&format!(
            "{:<10} {:<10} {:<21} {:>10.0} {interval:>23} {:>10.1}\n",
            row.set.name(),
            row.backend.name(),
            row.name,
            1.0 / mean,
            mean * 1e6,
        ));
    }
    text.push_str(&format!(
        "\nOne thread, this machine as loaded now. Mean of {ROUNDS} interleaved blocks, 95 % \
         confidence interval. Batches have {BATCH} jobs of one key.\n\
         Signing repeats rejected iterations (4.36, 5.14 and 3.91 of them on average for \
         ML-DSA-44, -65 and -87), so its time varies from message to message; each call signs \
         another message.\n\
         To compare libraries, and for percentiles from inputs with known iterations: mldsa-lab, \
         the benchmark of this project.\n"
    ));
    text
}
