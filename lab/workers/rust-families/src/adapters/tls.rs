//! Handshakes of TLS 1.3 in memory, by rustls: what both sides compute, without a network.
//!
//! The server sends a leaf and an intermediate certificate, which the client verifies up to a root that
//! it has; the keys of all three are of one algorithm. The client is not authenticated, no session is
//! resumed and no ticket is sent. Keys, certificates and configurations are made before the clock starts.

use std::sync::{Arc, OnceLock};

use mldsa_rustls::with_ml_dsa;
use mldsa_worker_rust::adapter::{Family, Output, Prepared, Rnd, Scheme, Variant, describe, job};
use mldsa_worker_rust::protocol::Operation;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PKCS_ML_DSA_44, PKCS_ML_DSA_65, PKCS_ML_DSA_87, SignatureAlgorithm,
};
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, Error, RootCertStore, ServerConfig,
    ServerConnection, SideData,
};

use crate::build_info;

type Group = &'static dyn SupportedKxGroup;
type Algorithm = &'static SignatureAlgorithm;

const HYBRID: Group = kx_group::X25519MLKEM768;
const SETS: [(&str, Group, Algorithm); 8] = [
    (
        "TLS-X25519-ECDSA-P256",
        kx_group::X25519,
        &PKCS_ECDSA_P256_SHA256,
    ),
    ("TLS-X25519-ML-DSA-44", kx_group::X25519, &PKCS_ML_DSA_44),
    ("TLS-X25519-ML-DSA-65", kx_group::X25519, &PKCS_ML_DSA_65),
    ("TLS-X25519-ML-DSA-87", kx_group::X25519, &PKCS_ML_DSA_87),
    (
        "TLS-X25519MLKEM768-ECDSA-P256",
        HYBRID,
        &PKCS_ECDSA_P256_SHA256,
    ),
    ("TLS-X25519MLKEM768-ML-DSA-44", HYBRID, &PKCS_ML_DSA_44),
    ("TLS-X25519MLKEM768-ML-DSA-65", HYBRID, &PKCS_ML_DSA_65),
    ("TLS-X25519MLKEM768-ML-DSA-87", HYBRID, &PKCS_ML_DSA_87),
];

pub fn variants() -> Vec<Variant> {
    let variant = |name, version, is_ours: bool, language, ml_dsa: String| Variant {
        family: Family::Tls,
        operations: &[Operation::Handshake, Operation::Accept],
        rnd: Rnd::None,
        context: false,
        language,
        note: format!(
            "rustls {} in memory; X25519, ML-KEM, ECDSA and AES of aws-lc-rs {}; {ml_dsa}; a leaf and an \
             intermediate certificate, the server authenticated alone, no resumption",
            build_info::RUSTLS,
            build_info::AWS_LC_RS
        ),
        schemes: SETS
            .into_iter()
            .filter(|(name, ..)| !is_ours || name.contains("ML-DSA"))
            .map(|(name, group, algorithm)| {
                let configs = OnceLock::new();
                let scheme = Tls {
                    group,
                    algorithm,
                    is_ours,
                    configs,
                };
                (name, Box::new(scheme) as Box<dyn Scheme>)
            })
            .collect(),
        ..Variant::new(name, version)
    };
    let lanes = format!("ML-DSA of mldsa-lanes {}", build_info::MLDSA_LANES);
    vec![
        variant("mldsa-rustls", build_info::MLDSA_LANES, true, None, lanes),
        variant(
            "rustls-aws-lc",
            build_info::RUSTLS,
            false,
            Some("C"),
            "ML-DSA of aws-lc-rs".into(),
        ),
    ]
}

/// `algorithm`: of the certificates' keys. `is_ours`: whether ML-DSA is that of mldsa-lanes.
struct Tls {
    group: Group,
    algorithm: Algorithm,
    is_ours: bool,
    configs: OnceLock<Result<Configs, String>>,
}

#[derive(Clone)]
struct Configs {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Scheme for Tls {
    fn handshake(&self) -> Prepared {
        let configs = self.configs()?;
        job(
            move || configs.handshake(),
            |(client, server)| Output::Bytes(agreed(&client, &server)),
        )
    }

    /// Every call answers one ClientHello, each with values of its own.
    fn accept(&self) -> Prepared {
        let Configs { client, server } = self.configs()?;
        let mut client = connect(client).map_err(|error| describe(&error))?;
        let hello = written(&mut client).map_err(|error| describe(&error))?;
        job(
            move || {
                let mut server = ServerConnection::new(Arc::clone(&server))?;
                read(&mut server, &hello)?;
                let flight = written(&mut server)?;
                Ok::<_, Error>((server, flight))
            },
            |(server, _)| Output::Bytes(negotiated(&server)),
        )
    }
}

impl Tls {
    fn configs(&self) -> Result<Configs, String> {
        let made = self
            .configs
            .get_or_init(|| self.make().map_err(|error| describe(&error)));
        made.clone()
    }

    fn make(&self) -> Result<Configs, Box<dyn std::error::Error>> {
        let chain = Chain::new(self.algorithm)?;
        let provider = if self.is_ours {
            with_ml_dsa(default_provider())
        } else {
            default_provider()
        };
        let provider = Arc::new(CryptoProvider {
            kx_groups: vec![self.group],
            ..provider
        });
        let mut roots = RootCertStore::empty();
        roots.add(chain.root)?;
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.resumption = Resumption::disabled();
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .with_no_client_auth()
            .with_single_cert(chain.sent, chain.key)?;
        server.send_tls13_tickets = 0;
        let (client, server) = (Arc::new(client), Arc::new(server));
        Ok(Configs { client, server })
    }
}

impl Configs {
    /// The two sides' work in turn.
    fn handshake(&self) -> Result<(ClientConnection, ServerConnection), Error> {
        let mut client = connect(Arc::clone(&self.client))?;
        let mut server = ServerConnection::new(Arc::clone(&self.server))?;
        let hello = written(&mut client)?;
        read(&mut server, &hello)?;
        let flight = written(&mut server)?;
        read(&mut client, &flight)?;
        let finished = written(&mut client)?;
        read(&mut server, &finished)?;
        if client.is_handshaking() || server.is_handshaking() {
            return Err(Error::HandshakeNotComplete);
        }
        Ok((client, server))
    }
}

fn connect(config: Arc<ClientConfig>) -> Result<ClientConnection, Error> {
    let name = "localhost".try_into().expect("a DNS name");
    ClientConnection::new(config, name)
}

/// What a side has to send.
fn written<S: SideData>(from: &mut ConnectionCommon<S>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes)
            .map_err(|error| Error::General(error.to_string()))?;
    }
    Ok(bytes)
}

fn read<S: SideData>(to: &mut ConnectionCommon<S>, mut bytes: &[u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        to.read_tls(&mut bytes)
            .map_err(|error| Error::General(error.to_string()))?;
        to.process_new_packets()?;
    }
    Ok(())
}

/// The code points of version, cipher suite and group, two bytes each; empty before they are known.
fn negotiated<S: SideData>(side: &ConnectionCommon<S>) -> Vec<u8> {
    let version = side.protocol_version().map(u16::from);
    let suite = side.negotiated_cipher_suite();
    let suite = suite.map(|suite| u16::from(suite.suite()));
    let group = side.negotiated_key_exchange_group();
    let group = group.map(|group| u16::from(group.name()));
    let points = [version, suite, group].into_iter().flatten();
    points.flat_map(u16::to_be_bytes).collect()
}

/// What both sides negotiated; empty, which the lab refuses, where their secrets differ.
fn agreed(client: &ClientConnection, server: &ServerConnection) -> Vec<u8> {
    let label = b"EXPORTER-mldsa-lab";
    let ours = client.export_keying_material([0u8; 32], label, None);
    let theirs = server.export_keying_material([0u8; 32], label, None);
    let both = negotiated(client);
    let same = ours.is_ok() && ours == theirs && both == negotiated(server);
    if same { both } else { Vec::new() }
}

/// A root, and the certificates and the private key that the server has, the leaf first.
struct Chain {
    root: CertificateDer<'static>,
    sent: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Chain {
    fn new(algorithm: Algorithm) -> Result<Self, rcgen::Error> {
        let authority = |name: &str| {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            params
        };
        let generate = || KeyPair::generate_for(algorithm);
        let (top, top_key) = (authority("root"), generate()?);
        let root = top.self_signed(&top_key)?.der().clone();
        let top = Issuer::new(top, top_key);
        let (middle, middle_key) = (authority("intermediate"), generate()?);
        let intermediate = middle.signed_by(&middle_key, &top)?.der().clone();
        let middle = Issuer::new(middle, middle_key);
        let (leaf, leaf_key) = (
            CertificateParams::new(["localhost".to_owned()])?,
            generate()?,
        );
        let leaf = leaf.signed_by(&leaf_key, &middle)?.der().clone();
        let key = PrivatePkcs8KeyDer::from(leaf_key.serialize_der()).into();
        let sent = vec![leaf, intermediate];
        Ok(Self { root, sent, key })
    }
}
