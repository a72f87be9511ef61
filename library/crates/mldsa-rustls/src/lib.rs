#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod sign;
mod verify;

pub use mldsa_lanes;
pub use rustls;
pub use sign::signing_key;
pub use verify::{ML_DSA_44, ML_DSA_65, ML_DSA_87};

use rustls::SignatureScheme;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{AlgorithmIdentifier, alg_id};

use mldsa_lanes::any::Set;

/// Add ML-DSA to `provider`: verification with its three sets for certificates and handshakes of
/// TLS 1.3, and private keys in PKCS#8 by RFC 9881.
///
/// ML-DSA comes first in the order of preference and replaces the provider's own ML-DSA. The provider
/// loads all other private keys. Its `secure_random` gives the randomness of hedged signatures.
///
/// rustls requires lists of static lifetime. Each call allocates less than 2 KiB and never frees it,
/// so call it once for each provider.
pub fn with_ml_dsa(provider: CryptoProvider) -> CryptoProvider {
    CryptoProvider {
        signature_verification_algorithms: verify::with_ml_dsa(
            &provider.signature_verification_algorithms,
        ),
        key_provider: Box::leak(Box::new(sign::MlDsaKeys::new(&provider))),
        ..provider
    }
}

/// The code point of draft-ietf-tls-mldsa.
const fn scheme(set: Set) -> SignatureScheme {
    match set {
        Set::MlDsa44 => SignatureScheme::ML_DSA_44,
        Set::MlDsa65 => SignatureScheme::ML_DSA_65,
        Set::MlDsa87 => SignatureScheme::ML_DSA_87,
    }
}

/// The algorithm identifier of RFC 9881, the same for keys and signatures.
const fn algorithm(set: Set) -> AlgorithmIdentifier {
    match set {
        Set::MlDsa44 => alg_id::ML_DSA_44,
        Set::MlDsa65 => alg_id::ML_DSA_65,
        Set::MlDsa87 => alg_id::ML_DSA_87,
    }
}

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/rustls.md")]
struct Guide;
