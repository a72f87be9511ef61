use std::sync::Arc;

use mldsa_rustls::mldsa_lanes::any::Set;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyUsagePurpose, PublicKeyData,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::loopback::CertificateKey;
use crate::pkcs8;

pub const TLS13: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// Certificates from the first set's CA down to the last set's leaf, for `localhost`.
pub struct Chain {
    pub root: CertificateDer<'static>,
    /// The leaf first.
    pub sent: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Chain {
    pub fn new(sets: &[Set]) -> Self {
        let (leaf, authorities) = sets.split_last().unwrap();
        let key = CertificateKey::generate(*leaf).unwrap();
        Chain::with_leaf(authorities, &key, pkcs8(&key.key))
    }

    /// The same with a leaf of any algorithm.
    pub fn with_leaf(
        authorities: &[Set],
        leaf: &impl PublicKeyData,
        key: PrivateKeyDer<'static>,
    ) -> Self {
        let mut sent = Vec::new();
        let mut issuer: Option<Issuer<'_, CertificateKey>> = None;
        for (depth, set) in authorities.iter().enumerate() {
            let mut params = CertificateParams::default();
            let name = format!("{set} at depth {depth}");
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            let key = CertificateKey::generate(*set).unwrap();
            let certificate = match &issuer {
                Some(issuer) => params.signed_by(&key, issuer),
                None => params.self_signed(&key),
            };
            sent.insert(0, certificate.unwrap().der().clone());
            issuer = Some(Issuer::new(params, key));
        }
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(leaf, &issuer.unwrap()).unwrap();
        sent.insert(0, certificate.der().clone());
        let root = sent.pop().unwrap();
        Chain { root, sent, key }
    }

    pub fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        roots
    }

    pub fn server(&self, provider: Arc<CryptoProvider>) -> ServerConfig {
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(self.sent.clone(), self.key.clone_key())
            .unwrap()
    }

    pub fn client(
        &self,
        provider: Arc<CryptoProvider>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ClientConfig {
        ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(self.roots())
            .with_no_client_auth()
    }
}
