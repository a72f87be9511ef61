//! Runs every operation of every parameter set on every backend of this CPU and prints the least
//! time that each took: `make builds PART=dependent` looks at this program's object code, and
//! `make figures PART=compare` compares the times of two builds of it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use mldsa_lanes::batch::{self, SignJob, SignWith, VerifyJob, VerifyWith};
use mldsa_lanes::{
    Backend, Input, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SignOptions, SigningKey, Workspace,
};

/// How long an operation is tried.
const BUDGET: Duration = Duration::from_millis(4);
/// Messages a try signs, and jobs of a batch: enough that rejections even out.
const COUNT: usize = 32;

fn main() {
    for backend in Backend::available() {
        operations::<MlDsa44>(backend);
        operations::<MlDsa65>(backend);
        operations::<MlDsa87>(backend);
    }
}

/// Prints set, backend, operation and nanoseconds an item.
fn row<P: ParameterSet>(backend: Backend, operation: &str, items: usize, mut run: impl FnMut()) {
    let start = Instant::now();
    let mut least = Duration::MAX;
    let mut tries = 0;
    while tries < 2 || start.elapsed() < BUDGET {
        let before = Instant::now();
        run();
        least = least.min(before.elapsed());
        tries += 1;
    }
    let nanoseconds = least.as_nanos() as usize / items;
    println!(
        "{}\t{}\t{operation}\t{nanoseconds}",
        P::NAME,
        backend.name()
    );
}

fn operations<P: ParameterSet>(backend: Backend) {
    let seeds = [[1; 32]; COUNT];
    let messages: Vec<_> = (0..COUNT).map(|i| i.to_le_bytes()).collect();
    let key = SigningKey::<P>::from_seed_on(backend, &seeds[0]);
    let public = key.verifying_key();
    let (expanded, expanded_public) = (key.expand(), public.expand());
    let signature = |message: &[u8; 8]| {
        let signature = expanded.sign_deterministic(message);
        signature.expect("within 821 attempts")
    };
    let signatures: Vec<_> = messages.iter().map(signature).collect();
    let row = |operation: &str, items: usize, run: &mut dyn FnMut()| {
        row::<P>(backend, operation, items, run);
    };

    row("keygen", 1, &mut || {
        black_box(SigningKey::<P>::from_seed_on(backend, &seeds[0]));
    });
    row("import", 1, &mut || {
        let key = SigningKey::<P>::from_encoded_bytes_on(backend, key.encoded_bytes().as_ref());
        black_box(key).expect("a key");
    });
    row("expand", 1, &mut || {
        black_box(key.expand());
    });
    row("sign", COUNT, &mut || {
        for message in &messages {
            black_box(key.sign_deterministic(message)).expect("within 821 attempts");
        }
    });
    row("sign-expanded", COUNT, &mut || {
        for message in &messages {
            black_box(signature(message));
        }
    });
    let mut workspace = Box::new(Workspace::new());
    row("sign-in-workspace", COUNT, &mut || {
        for message in &messages {
            let options = SignOptions::deterministic();
            let signature = expanded.sign_in(&mut workspace, message, options);
            black_box(signature).expect("within 821 attempts");
        }
    });
    row("verify", COUNT, &mut || {
        for (message, signature) in messages.iter().zip(&signatures) {
            public.verify_signature(message, signature).expect("valid");
        }
    });
    row("verify-expanded", COUNT, &mut || {
        for (message, signature) in messages.iter().zip(&signatures) {
            let verified = expanded_public.verify_signature(message, signature);
            verified.expect("valid");
        }
    });

    let input = |i: usize| Input::from(&messages[i]);
    let options = SignOptions::deterministic;
    let sign_jobs: Vec<_> = (0..COUNT)
        .map(|i| SignJob {
            key: SignWith::Expanded(&expanded),
            input: input(i),
        })
        .collect();
    let verify_jobs = |key| {
        let job = |i: usize| VerifyJob {
            key,
            input: input(i),
            signature: &signatures[i],
        };
        (0..COUNT).map(job).collect::<Vec<_>>()
    };
    let verify_expanded = verify_jobs(VerifyWith::Expanded(&expanded_public));
    // Keys that differ: each job expands its own, beside others.
    let keys: Vec<_> = (0..COUNT).map(|_| public.clone()).collect();
    let mut verify_compact = verify_jobs(VerifyWith::Compact(public));
    for (job, key) in verify_compact.iter_mut().zip(&keys) {
        job.key = VerifyWith::Compact(key);
    }
    row("batch-keygen", COUNT, &mut || {
        black_box(batch::keygen::<P>(backend, &seeds));
    });
    let mut expanded_keys = Vec::new();
    row("batch-keygen-expanded", COUNT, &mut || {
        batch::keygen_expanded::<P>(backend, &seeds, &mut expanded_keys);
    });
    let signing_keys = batch::keygen::<P>(backend, &seeds);
    let mut sign_compact = sign_jobs.clone();
    for (job, key) in sign_compact.iter_mut().zip(&signing_keys) {
        job.key = SignWith::Compact(key);
    }
    row("batch-sign-compact", COUNT, &mut || {
        black_box(batch::sign(&sign_compact, options())).expect("no generator");
    });
    row("batch-sign", COUNT, &mut || {
        black_box(batch::sign(&sign_jobs, options())).expect("no generator");
    });
    row("batch-verify", COUNT, &mut || {
        assert!(batch::verify(&verify_compact).iter().all(Result::is_ok));
    });
    row("batch-verify-expanded", COUNT, &mut || {
        assert!(batch::verify(&verify_expanded).iter().all(Result::is_ok));
    });
}
