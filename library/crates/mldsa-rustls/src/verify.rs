//! Signatures of certificates and handshakes, verified.

use mldsa_lanes::any::{AnySignature, AnyVerifyingKey, Set};
use rustls::SignatureScheme;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};

use crate::{algorithm, scheme};

/// Verification with ML-DSA-44, for webpki and rustls.
pub static ML_DSA_44: &dyn SignatureVerificationAlgorithm = &MlDsa(Set::MlDsa44);
/// Verification with ML-DSA-65, for webpki and rustls.
pub static ML_DSA_65: &dyn SignatureVerificationAlgorithm = &MlDsa(Set::MlDsa65);
/// Verification with ML-DSA-87, for webpki and rustls.
pub static ML_DSA_87: &dyn SignatureVerificationAlgorithm = &MlDsa(Set::MlDsa87);

type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

static MAPPING: [(SignatureScheme, Algorithms); 3] = [
    (scheme(Set::MlDsa44), &[&MlDsa(Set::MlDsa44)]),
    (scheme(Set::MlDsa65), &[&MlDsa(Set::MlDsa65)]),
    (scheme(Set::MlDsa87), &[&MlDsa(Set::MlDsa87)]),
];

/// Those of `provider`, with this crate's ML-DSA first and no other.
pub(crate) fn with_ml_dsa(provider: &WebPkiSupportedAlgorithms) -> WebPkiSupportedAlgorithms {
    let is_ml_dsa = |id: AlgorithmIdentifier| Set::ALL.map(algorithm).contains(&id);
    let others = provider.all.iter().copied();
    let others = others.filter(|other| !is_ml_dsa(other.signature_alg_id()));
    let all = [ML_DSA_44, ML_DSA_65, ML_DSA_87].into_iter().chain(others);

    let is_mapped = |scheme| MAPPING.iter().any(|(of, _)| *of == scheme);
    let others = provider.mapping.iter().copied();
    let others = others.filter(|(scheme, _)| !is_mapped(*scheme));
    WebPkiSupportedAlgorithms {
        all: all.collect::<Vec<_>>().leak(),
        mapping: MAPPING.into_iter().chain(others).collect::<Vec<_>>().leak(),
    }
}

#[derive(Debug)]
struct MlDsa(Set);

impl SignatureVerificationAlgorithm for MlDsa {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let verify = || {
            let signature = AnySignature::from_bytes(self.0, signature)?;
            AnyVerifyingKey::from_bytes(self.0, public_key)?.verify_signature(message, &signature)
        };
        verify().map_err(|_: mldsa_lanes::Error| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        algorithm(self.0)
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        algorithm(self.0)
    }
}
