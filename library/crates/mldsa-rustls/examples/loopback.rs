//! A TLS 1.3 server and a client on this machine, with an ML-DSA-65 certificate made by rcgen:
//!
//! `cargo run -p mldsa-rustls --example loopback`

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use mldsa_rustls::mldsa_lanes::any::{AnySigningKey, AnyVerifyingKey, Set};
use mldsa_rustls::mldsa_lanes::{SysRng, pkcs8::EncodePrivateKey};
use mldsa_rustls::with_ml_dsa;
use rcgen::{CertificateParams, PublicKeyData, SignatureAlgorithm};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A private key that signs rcgen's certificates.
pub struct CertificateKey {
    pub key: AnySigningKey,
    public: AnyVerifyingKey,
}

impl CertificateKey {
    pub fn generate(set: Set) -> Result<Self, mldsa_rustls::mldsa_lanes::Error> {
        let key = AnySigningKey::generate(set, &mut SysRng)?;
        let public = key.verifying_key();
        Ok(CertificateKey { key, public })
    }
}

impl PublicKeyData for CertificateKey {
    fn der_bytes(&self) -> &[u8] {
        self.public.as_ref()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        match self.key.set() {
            Set::MlDsa44 => &rcgen::PKCS_ML_DSA_44,
            Set::MlDsa65 => &rcgen::PKCS_ML_DSA_65,
            Set::MlDsa87 => &rcgen::PKCS_ML_DSA_87,
        }
    }
}

impl rcgen::SigningKey for CertificateKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signature = self.key.sign_hedged(message, &mut SysRng);
        let signature = signature.map_err(|_| rcgen::Error::RemoteKeyError)?;
        Ok(signature.as_ref().to_vec())
    }
}

pub fn main() -> Result<(), Failure> {
    let key = CertificateKey::generate(Set::MlDsa65)?;
    let certificate = CertificateParams::new(["localhost".to_owned()])?.self_signed(&key)?;
    let pkcs8 = PrivatePkcs8KeyDer::from(key.key.to_pkcs8_der()?.as_bytes().to_vec());
    let provider = Arc::new(with_ml_dsa(rustls::crypto::ring::default_provider()));

    let server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::from(pkcs8))?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone())?; // self-signed: trusted by itself
    let client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();

    let listener = TcpListener::bind("localhost:0")?;
    let address = listener.local_addr()?;
    let served = thread::spawn(move || -> Result<(), Failure> {
        let connection = ServerConnection::new(Arc::new(server))?;
        let mut stream = rustls::StreamOwned::new(connection, listener.accept()?.0);
        stream.write_all(b"hello over ML-DSA-65\n")?;
        stream.conn.send_close_notify();
        stream.flush()?;
        Ok(())
    });

    let connection = ClientConnection::new(Arc::new(client), "localhost".try_into()?)?;
    let mut stream = rustls::StreamOwned::new(connection, TcpStream::connect(address)?);
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    print!("{text}");
    served
        .join()
        .map_err(|_| "the server's thread panicked")??;
    Ok(())
}
