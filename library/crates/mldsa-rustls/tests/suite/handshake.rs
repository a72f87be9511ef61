//! In memory.

use std::sync::Arc;

use mldsa_rustls::mldsa_lanes::any::Set;
use mldsa_rustls::{signing_key, with_ml_dsa};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Connection, Error,
    InconsistentKeys, PeerIncompatible, ProtocolVersion, ServerConfig, ServerConnection,
};

use crate::chain::{Chain, TLS13};
use crate::loopback::CertificateKey;
use crate::{der, ours, pkcs8};

fn aws_lc() -> Arc<CryptoProvider> {
    aws_lc_rs::default_provider().into()
}

/// The first error of each side, and both sides.
pub struct Handshake {
    client: Connection,
    server: Connection,
    client_error: Option<Error>,
    server_error: Option<Error>,
}

impl Handshake {
    pub fn run(client: ClientConfig, server: ServerConfig) -> Self {
        let name = "localhost".try_into().unwrap();
        let client = ClientConnection::new(Arc::new(client), name).unwrap();
        let mut handshake = Handshake {
            client: client.into(),
            server: ServerConnection::new(Arc::new(server)).unwrap().into(),
            client_error: None,
            server_error: None,
        };
        let mut is_moving = true;
        while is_moving {
            let Handshake {
                client,
                server,
                client_error,
                server_error,
            } = &mut handshake;
            is_moving = send(client, server, server_error);
            is_moving |= send(server, client, client_error);
        }
        handshake
    }

    /// Both sides are done, in TLS 1.3.
    pub fn assert_done(&self) {
        self.assert_done_in(ProtocolVersion::TLSv1_3);
    }

    fn assert_done_in(&self, version: ProtocolVersion) {
        assert_eq!((&self.client_error, &self.server_error), (&None, &None));
        for side in [&self.client, &self.server] {
            assert!(!side.is_handshaking());
            assert_eq!(side.protocol_version(), Some(version));
        }
    }

    fn assert_errors(&self, client: impl Into<Error>, server: impl Into<Error>) {
        let expected = (Some(client.into()), Some(server.into()));
        assert_eq!(
            (&self.client_error, &self.server_error),
            (&expected.0, &expected.1)
        );
    }
}

/// Whether `from` had something to send.
fn send(from: &mut Connection, to: &mut Connection, error: &mut Option<Error>) -> bool {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).unwrap();
    }
    let mut rest = &bytes[..];
    while error.is_none() && !rest.is_empty() {
        to.read_tls(&mut rest).unwrap();
        *error = to.process_new_packets().err();
    }
    !bytes.is_empty()
}

fn alert(description: AlertDescription) -> Error {
    Error::AlertReceived(description)
}

#[test]
fn each_set_with_itself_and_with_aws_lc() {
    for set in Set::ALL {
        let chain = Chain::new(&[set, set]);
        let both = || Arc::new(with_ml_dsa(aws_lc_rs::default_provider()));
        for (client, server) in [
            (ours(), ours()),
            (ours(), aws_lc()),
            (aws_lc(), ours()),
            (both(), both()),
        ] {
            Handshake::run(chain.client(client, TLS13), chain.server(server)).assert_done();
        }
    }
}

#[test]
fn a_chain_of_all_sets() {
    let chain = Chain::new(&[Set::MlDsa87, Set::MlDsa65, Set::MlDsa44]);
    let handshake = Handshake::run(chain.client(ours(), TLS13), chain.server(ours()));
    handshake.assert_done();
    assert_eq!(handshake.client.peer_certificates().unwrap(), chain.sent);

    let chain = Chain::new(&[Set::MlDsa87, Set::MlDsa44]);
    Handshake::run(chain.client(ours(), TLS13), chain.server(aws_lc())).assert_done();
}

#[test]
fn client_certificates() {
    let chain = Chain::new(&[Set::MlDsa65, Set::MlDsa44]);
    for (client, server) in [(ours(), ours()), (ours(), aws_lc()), (aws_lc(), ours())] {
        let verifier =
            WebPkiClientVerifier::builder_with_provider(chain.roots().into(), server.clone());
        let server = ServerConfig::builder_with_provider(server)
            .with_protocol_versions(TLS13)
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(chain.sent.clone(), chain.key.clone_key())
            .unwrap();
        let client = ClientConfig::builder_with_provider(client)
            .with_protocol_versions(TLS13)
            .unwrap()
            .with_root_certificates(chain.roots())
            .with_client_auth_cert(chain.sent.clone(), chain.key.clone_key())
            .unwrap();
        let handshake = Handshake::run(client, server);
        handshake.assert_done();
        assert_eq!(handshake.server.peer_certificates().unwrap(), chain.sent);
    }
}

/// Certificate and key are made by aws-lc.
#[test]
fn keys_and_certificates_of_aws_lc() {
    for algorithm in [
        &rcgen::PKCS_ML_DSA_44,
        &rcgen::PKCS_ML_DSA_65,
        &rcgen::PKCS_ML_DSA_87,
    ] {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let root = params.self_signed(&key).unwrap().der().clone();
        let chain = Chain {
            sent: vec![root.clone()],
            root,
            key: der(key.serialized_der()),
        };
        Handshake::run(chain.client(ours(), TLS13), chain.server(ours())).assert_done();
    }
}

#[test]
fn other_certificates_stay_with_the_provider() {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let root = params.self_signed(&key).unwrap().der().clone();
    let chain = Chain {
        sent: vec![root.clone()],
        root,
        key: der(key.serialized_der()),
    };
    Handshake::run(chain.client(ours(), TLS13), chain.server(ours())).assert_done();
}

#[test]
fn a_wrong_signature_of_a_certificate() {
    let mut chain = Chain::new(&[Set::MlDsa87, Set::MlDsa44]);
    let server = chain.server(ours());
    let bad = || CertificateError::BadSignature;

    // The same name and another key.
    let other = Chain::new(&[Set::MlDsa87, Set::MlDsa44]);
    Handshake::run(other.client(ours(), TLS13), server)
        .assert_errors(bad(), alert(AlertDescription::DecryptError));

    let mut bent = chain.sent[0].to_vec();
    bent[chain.sent[0].len() - 100] ^= 1;
    chain.sent[0] = bent.into();
    Handshake::run(chain.client(ours(), TLS13), chain.server(ours()))
        .assert_errors(bad(), alert(AlertDescription::DecryptError));
}

#[test]
fn a_handshake_signed_with_another_key() {
    let chain = Chain::new(&[Set::MlDsa65, Set::MlDsa65]);
    let other = CertificateKey::generate(Set::MlDsa65).unwrap();
    let provider = ours();

    let server = || {
        ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(TLS13)
            .unwrap()
            .with_no_client_auth()
    };
    let noticed = server().with_single_cert(chain.sent.clone(), pkcs8(&other.key));
    let mismatch = Error::InconsistentKeys(InconsistentKeys::KeyMismatch);
    assert_eq!(noticed.err(), Some(mismatch));

    let key = signing_key(&other.key, provider.secure_random);
    let certified = CertifiedKey::new(chain.sent.clone(), key);
    let server = server().with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    Handshake::run(chain.client(ours(), TLS13), server).assert_errors(
        CertificateError::BadSignature,
        alert(AlertDescription::DecryptError),
    );
}

#[test]
fn a_client_without_ml_dsa() {
    let chain = Chain::new(&[Set::MlDsa65, Set::MlDsa65]);
    let client = chain.client(ring::default_provider().into(), TLS13);
    Handshake::run(client, chain.server(ours())).assert_errors(
        alert(AlertDescription::HandshakeFailure),
        PeerIncompatible::NoSignatureSchemesInCommon,
    );
}

/// rustls tells a verifier of certificates no version of TLS, so a chain is verified in TLS 1.2 too. The handshake is
/// signed with ECDSA.
#[test]
fn an_ecdsa_leaf_of_an_ml_dsa_root_in_each_version() {
    let key = KeyPair::generate().unwrap();
    let chain = Chain::with_leaf(&[Set::MlDsa65], &key, der(key.serialized_der()));
    for (version, negotiated) in [
        (&rustls::version::TLS12, ProtocolVersion::TLSv1_2),
        (&rustls::version::TLS13, ProtocolVersion::TLSv1_3),
    ] {
        let client = chain.client(ours(), &[version]);
        Handshake::run(client, chain.server(ours())).assert_done_in(negotiated);
    }
    // A client with TLS 1.3 only has no handshake with a server that has TLS 1.2 only.
    let server = ServerConfig::builder_with_provider(ours())
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.sent.clone(), chain.key.clone_key())
        .unwrap();
    Handshake::run(chain.client(ours(), TLS13), server).assert_errors(
        alert(AlertDescription::ProtocolVersion),
        PeerIncompatible::Tls12NotOfferedOrEnabled,
    );
}

#[test]
fn no_handshake_is_signed_in_tls_1_2() {
    let chain = Chain::new(&[Set::MlDsa65, Set::MlDsa65]);
    let client = chain.client(ours(), &[&rustls::version::TLS12]);
    Handshake::run(client, chain.server(ours())).assert_errors(
        alert(AlertDescription::HandshakeFailure),
        PeerIncompatible::NoCipherSuitesInCommon,
    );
}
