//! Repeats one operation, for a profiler:
//!
//! ```text
//! cargo build --release -p mldsa-lanes --example repeat
//! valgrind --tool=callgrind target/release/examples/repeat ML-DSA-65 sign-expanded avx2 200
//! ```

use std::hint::black_box;
use std::process::ExitCode;

use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [set, operation, backend, count] => Backend::by_name(backend)
            .zip(count.parse::<usize>().ok())
            .and_then(|(backend, count)| match set.as_str() {
                "ML-DSA-44" => repeat::<MlDsa44>(operation, backend, count),
                "ML-DSA-65" => repeat::<MlDsa65>(operation, backend, count),
                "ML-DSA-87" => repeat::<MlDsa87>(operation, backend, count),
                _ => None,
            }),
        _ => None,
    };
    if parsed.is_some() {
        return ExitCode::SUCCESS;
    }
    let backends: Vec<_> = Backend::available().map(Backend::name).collect();
    eprintln!("usage: repeat SET OPERATION BACKEND COUNT");
    eprintln!("sets: ML-DSA-44, ML-DSA-65, ML-DSA-87");
    eprintln!("operations: keygen, sign, sign-expanded, verify, verify-expanded");
    eprintln!("backends here: {}", backends.join(", "));
    ExitCode::from(2)
}

/// Nothing if there is no such operation.
fn repeat<P: ParameterSet>(operation: &str, backend: Backend, count: usize) -> Option<()> {
    let key = SigningKey::<P>::from_seed_on(backend, &[1; 32]);
    let public = key.verifying_key();
    let (expanded, expanded_public) = (key.expand(), public.expand());
    let signature = key.sign_deterministic(b"a").expect("within 821 attempts");
    for i in 0..count {
        let message = i.to_le_bytes();
        match operation {
            "keygen" => {
                black_box(SigningKey::<P>::from_seed_on(backend, &[i as u8; 32]));
            }
            "sign" => {
                black_box(key.sign_deterministic(&message)).expect("within 821 attempts");
            }
            "sign-expanded" => {
                black_box(expanded.sign_deterministic(&message)).expect("within 821 attempts");
            }
            "verify" => public
                .verify_signature(b"a", &signature)
                .expect("a valid signature"),
            "verify-expanded" => expanded_public
                .verify_signature(b"a", &signature)
                .expect("a valid signature"),
            _ => return None,
        }
    }
    Some(())
}
