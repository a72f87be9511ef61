//! Private keys, and the signatures of handshakes.

use std::fmt;
use std::sync::Arc;

use mldsa_lanes::any::{AnyExpandedSigningKey, AnySigningKey, Set};
use mldsa_lanes::pkcs8::PrivateKeyInfoRef;
use mldsa_lanes::pkcs8::der::zeroize::Zeroizing;
use mldsa_lanes::rand_core::{TryCryptoRng, TryRng};
use rustls::crypto::{CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom};
use rustls::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use rustls::sign::{Signer, SigningKey, public_key_to_spki};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

use crate::{algorithm, scheme};

/// Make a private key ready for rustls, for a [`CertifiedKey`](rustls::sign::CertifiedKey).
///
/// The key is expanded once: it takes 20 to 78 KiB of memory and signs faster.
/// Signatures are hedged with `random`, a provider's `secure_random`.
pub fn signing_key(key: &AnySigningKey, random: &'static dyn SecureRandom) -> Arc<dyn SigningKey> {
    let set = key.set();
    Arc::new(MlDsaKey(Arc::new(Expanded {
        public: public_key_to_spki(&algorithm(set), key.verifying_key()),
        set,
        key: key.expand(),
        random,
    })))
}

/// Loads ML-DSA keys, and leaves others to `otherwise`.
#[derive(Debug)]
pub(crate) struct MlDsaKeys {
    otherwise: &'static dyn KeyProvider,
    random: &'static dyn SecureRandom,
}

impl MlDsaKeys {
    pub(crate) fn new(provider: &CryptoProvider) -> Self {
        MlDsaKeys {
            otherwise: provider.key_provider,
            random: provider.secure_random,
        }
    }
}

impl KeyProvider for MlDsaKeys {
    fn load_private_key(&self, der: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        let Some(set) = info(&der).and_then(|info| Set::from_algorithm(&info.algorithm).ok())
        else {
            return self.otherwise.load_private_key(der);
        };
        let der = Zeroizing::new(der);
        let key = info(&der).map(AnySigningKey::try_from);
        match key {
            Some(Ok(key)) => Ok(signing_key(&key, self.random)),
            _ => Err(Error::General(format!(
                "invalid {set} private key in PKCS#8: RFC 9881 has a seed, an expanded key or both \
                 that match, and no algorithm parameters"
            ))),
        }
    }
}

/// `None` for what is not PKCS#8.
fn info<'a>(der: &'a PrivateKeyDer<'_>) -> Option<PrivateKeyInfoRef<'a>> {
    match der {
        PrivateKeyDer::Pkcs8(der) => PrivateKeyInfoRef::try_from(der.secret_pkcs8_der()).ok(),
        _ => None,
    }
}

struct Expanded {
    set: Set,
    key: AnyExpandedSigningKey,
    public: SubjectPublicKeyInfoDer<'static>,
    random: &'static dyn SecureRandom,
}

/// The key, and what signs with it: an ML-DSA key has one scheme.
#[derive(Clone)]
struct MlDsaKey(Arc<Expanded>);

impl fmt::Debug for MlDsaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = f.debug_tuple("MlDsaKey");
        key.field(&self.0.set).finish_non_exhaustive()
    }
}

impl SigningKey for MlDsaKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let is_offered = offered.contains(&self.scheme());
        is_offered.then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(self.0.public.clone())
    }

    /// None that TLS 1.2 has, so that rustls takes no cipher suite of TLS 1.2 with this key.
    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::Unknown(0)
    }
}

impl Signer for MlDsaKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut random = Random(self.0.random);
        match self.0.key.sign_hedged(message, &mut random) {
            Ok(signature) => Ok(signature.as_ref().to_vec()),
            Err(mldsa_lanes::Error::Rng) => Err(Error::FailedToGetRandomBytes),
            Err(error) => Err(Error::General(format!(
                "cannot sign with {}: {error}",
                self.0.set
            ))),
        }
    }

    fn scheme(&self) -> SignatureScheme {
        scheme(self.0.set)
    }
}

/// A provider's generator in the traits of `rand_core`.
struct Random(&'static dyn SecureRandom);

#[derive(Debug)]
struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the provider's random number generator failed")
    }
}

impl std::error::Error for Failed {}

impl From<GetRandomFailed> for Failed {
    fn from(_: GetRandomFailed) -> Self {
        Failed
    }
}

impl TryRng for Random {
    type Error = Failed;

    fn try_next_u32(&mut self) -> Result<u32, Failed> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Failed> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Failed> {
        Ok(self.0.fill(bytes)?)
    }
}

impl TryCryptoRng for Random {}
