//! Certificates and handshakes. The other side is rustls's own ML-DSA of aws-lc, ring, which has none,
//! or OpenSSL.

mod chain;
mod handshake;
mod keys;
#[path = "../../examples/loopback.rs"]
mod loopback;
mod openssl;

use std::sync::Arc;

use mldsa_rustls::mldsa_lanes::any::AnySigningKey;
use mldsa_rustls::mldsa_lanes::pkcs8::EncodePrivateKey;
use mldsa_rustls::with_ml_dsa;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

fn ours() -> Arc<CryptoProvider> {
    with_ml_dsa(ring::default_provider()).into()
}

fn pkcs8(key: &AnySigningKey) -> PrivateKeyDer<'static> {
    der(key.to_pkcs8_der().unwrap().as_bytes())
}

fn der(bytes: &[u8]) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(bytes.to_vec()).into()
}

#[test]
fn the_example_runs() {
    loopback::main().unwrap();
}
