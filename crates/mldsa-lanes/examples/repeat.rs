//! Repeats one operation of ML-DSA-65, for a profiler:
//!
//! ```text
//! cargo build --release -p mldsa-lanes --example repeat
//! valgrind --tool=callgrind target/release/examples/repeat sign-expanded avx2 200
//! ```

use std::hint::black_box;
use std::process::ExitCode;

use mldsa_lanes::Backend;
use mldsa_lanes::mldsa65::SigningKey;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [operation, backend, count] => Backend::by_name(backend)
            .zip(count.parse::<usize>().ok())
            .map(|(backend, count)| (operation.as_str(), backend, count)),
        _ => None,
    };
    let Some((operation, backend, count)) = parsed else {
        let backends: Vec<_> = Backend::available().map(Backend::name).collect();
        eprintln!("usage: repeat OPERATION BACKEND COUNT; backends here: {backends:?}");
        return ExitCode::from(2);
    };
    let key = SigningKey::from_seed_on(backend, &[1; 32]);
    let public = key.verifying_key();
    let (expanded, expanded_public) = (key.expand(), public.expand());
    let signature = key
        .sign_deterministic(b"a", b"")
        .expect("within 821 attempts");
    for i in 0..count {
        let message = i.to_le_bytes();
        match operation {
            "keygen" => {
                black_box(SigningKey::from_seed_on(backend, &[i as u8; 32]));
            }
            "sign" => {
                black_box(key.sign_deterministic(&message, b"")).expect("within 821 attempts");
            }
            "sign-expanded" => {
                black_box(expanded.sign_deterministic(&message, b"")).expect("within 821 attempts");
            }
            "verify" => public
                .verify(b"a", b"", &signature)
                .expect("a valid signature"),
            "verify-expanded" => expanded_public
                .verify(b"a", b"", &signature)
                .expect("a valid signature"),
            _ => {
                eprintln!("operations: keygen, sign, sign-expanded, verify, verify-expanded");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}
