//! The built worker announces its own implementations, or those of `workers/rust` too.

use std::collections::HashSet;

#[path = "../../rust/tests/common/mod.rs"]
mod common;

use common::Client;

const WORKER: &str = env!("CARGO_BIN_EXE_mldsa-worker-rust-families");

/// The worker's name, and the families of its variants.
fn announced(arguments: &[&str]) -> (String, HashSet<String>) {
    let mut worker = Client::start(WORKER, arguments);
    let (head, variants) = worker.hello();
    let ids: HashSet<_> = variants.iter().map(|v| &v["variant"]).collect();
    assert_eq!(ids.len(), variants.len());
    let families = variants.iter().map(|v| v["family"].clone()).collect();
    worker.send("quit\n");
    assert!(worker.finish().success());
    (head["worker"].clone(), families)
}

#[test]
fn names_and_families() {
    let own = ["ml-kem", "slh-dsa", "fn-dsa", "tls"];
    let (name, families) = announced(&["rust-families"]);
    assert_eq!(name, "rust-families");
    assert_eq!(families, own.map(String::from).into());
    let (name, families) = announced(&["rust-all"]);
    assert_eq!(name, "rust-all");
    let more = ["ml-dsa", "classical", "hash"].map(String::from);
    assert_eq!(
        families,
        own.map(String::from).into_iter().chain(more).collect()
    );
}
