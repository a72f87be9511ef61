//! Private keys, and the signatures of handshakes.

use std::fmt;
use std::sync::Arc;

use mldsa_lanes::any::{AnyExpandedSigningKey, AnySigningKey, Set};
use mldsa_lanes::pkcs8::der::zeroize::Zeroizing;
use mldsa_lanes::pkcs8::spki::SubjectPublicKeyInfoRef;
use mldsa_lanes::pkcs8::{ObjectIdentifier, PrivateKeyInfoRef};
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
            // Not left to the provider: its own ML-DSA may read what RFC 9881 does not allow.
            if let Some(damage) = damage(&der) {
                drop(Zeroizing::new(der));
                return Err(Error::General(damage));
            }
            let problem = problem(&der);
            let loaded = self.otherwise.load_private_key(der);
            return loaded.map_err(|error| match problem {
                Some(problem) => Error::General(problem.to_string()),
                None => error,
            });
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

/// The DER of an object identifier of RFC 9881, without the last byte.
const ML_DSA: &[u8] = &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3];
/// The DER of the object identifiers of PKCS#5, without the last byte.
const ENCRYPTION: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5];
/// The algorithms whose keys a provider reports itself: RSA, elliptic curves, Ed25519.
const OTHERS: [&str; 3] = ["1.2.840.113549.1.1.1", "1.2.840.10045.2.1", "1.3.101.112"];

/// Return the byte after a pattern in an algorithm identifier.
///
/// The identifier starts before byte 12. The secret of a valid key comes later, so the search does not read it.
fn byte_after(bytes: &[u8], pattern: &[u8]) -> Option<u8> {
    let mut places = bytes.windows(pattern.len() + 1).take(12);
    let place = places.find(|place| place.starts_with(pattern))?;
    place.last().copied()
}

/// Explain why a file with an identifier of ML-DSA is no private key in PKCS#8.
fn damage(der: &PrivateKeyDer<'_>) -> Option<String> {
    let bytes = der.secret_der();
    let set = match byte_after(bytes, ML_DSA)? {
        17 => Set::MlDsa44,
        18 => Set::MlDsa65,
        19 => Set::MlDsa87,
        _ => return None,
    };
    Some(match der {
        PrivateKeyDer::Pkcs8(_) if SubjectPublicKeyInfoRef::try_from(bytes).is_ok() => {
            format!("{set} public key where the private key is needed: load the private key")
        }
        PrivateKeyDer::Pkcs8(_) => {
            format!("{set} private key in damaged PKCS#8: export the key again")
        }
        _ => format!("{set} private key with a wrong label: use PrivateKeyDer::Pkcs8"),
    })
}

/// The reason why another file that the provider rejects is no ML-DSA key.
#[derive(Clone, Copy)]
enum Problem {
    Pem,
    Encrypted,
    Algorithm(ObjectIdentifier),
    RawKey(Set),
    RawSeed,
    NoPkcs8,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Pem => f.write_str(
                "private key in PEM where DER is needed: read it with PrivateKeyDer::from_pem_slice",
            ),
            Problem::Encrypted => f.write_str("encrypted private key: decrypt the file first"),
            Problem::Algorithm(oid) => write!(
                f,
                "private key of the algorithm {oid}, which the provider does not have: ML-DSA (RFC 9881) is \
                 2.16.840.1.101.3.4.3.17 to 2.16.840.1.101.3.4.3.19"
            ),
            Problem::RawKey(set) => write!(
                f,
                "{} bytes, the length of a raw {set} private key: pass AnySigningKey::from_encoded_bytes to signing_key",
                set.signing_key_bytes()
            ),
            Problem::RawSeed => f.write_str(
                "32 bytes, the length of a raw seed: pass AnySigningKey::from_seed to signing_key",
            ),
            Problem::NoPkcs8 => {
                f.write_str("no PKCS#8: ML-DSA private keys need PKCS#8 (RFC 9881)")
            }
        }
    }
}

/// Find the problem of a file before the provider takes it. `None` if it is a key of the provider's algorithms.
fn problem(der: &PrivateKeyDer<'_>) -> Option<Problem> {
    if let Some(info) = info(der) {
        let oid = info.algorithm.oid;
        let mut others = OTHERS.into_iter().map(ObjectIdentifier::new_unwrap);
        let is_provided = others.any(|other| oid == other);
        return (!is_provided).then_some(Problem::Algorithm(oid));
    }
    let bytes = der.secret_der();
    let raw = |set: &Set| set.signing_key_bytes() == bytes.len();
    // Keys in DER start with the tag of a SEQUENCE. The search takes variable time.
    let is_der = bytes.first() == Some(&0x30);
    if !is_der && bytes.windows(11).any(|text| text == b"-----BEGIN ") {
        Some(Problem::Pem)
    } else if byte_after(bytes, ENCRYPTION).is_some() {
        Some(Problem::Encrypted)
    } else if let Some(set) = Set::ALL.into_iter().find(raw) {
        Some(Problem::RawKey(set))
    } else if bytes.len() == 32 {
        Some(Problem::RawSeed)
    } else if let PrivateKeyDer::Pkcs8(_) = der {
        Some(Problem::NoPkcs8)
    } else {
        None
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
