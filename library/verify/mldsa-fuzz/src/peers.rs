//! Two implementations that share no code with mldsa-lanes: `fips204` and RustCrypto's `ml-dsa`. Where
//! a message is hashed first, the oracle does it for them.

use crate::common::Message;
use fips204::traits::{KeyGen, SerDes, Signer, Verifier};
use ml_dsa::{EncodedVerifyingKey, ExpandedSigningKeyBytes, Keypair, MlDsaParams};
use mldsa_oracle::{Params, PreHash};

/// An implementation in one parameter set; `None` is what its interface cannot be asked.
pub trait Peer {
    fn keygen(&self, xi: &[u8; 32]) -> (Vec<u8>, Vec<u8>);
    fn sign(&self, sk: &[u8], message: &Message, rnd: &[u8; 32]) -> Option<Vec<u8>>;
    fn verify(&self, pk: &[u8], message: &Message, signature: &[u8]) -> Option<bool>;
}

/// The peers of a set.
pub fn peers(p: &Params) -> [Box<dyn Peer>; 2] {
    match p.name {
        "ML-DSA-44" => [
            Box::new(Fips44),
            Box::new(RustCrypto::<ml_dsa::MlDsa44>(Default::default())),
        ],
        "ML-DSA-65" => [
            Box::new(Fips65),
            Box::new(RustCrypto::<ml_dsa::MlDsa65>(Default::default())),
        ],
        _ => [
            Box::new(Fips87),
            Box::new(RustCrypto::<ml_dsa::MlDsa87>(Default::default())),
        ],
    }
}

/// What an implementation without the hash functions is told: a function's identifier and the digest.
fn hashed(hash: PreHash, message: &[u8]) -> ([u8; 11], Vec<u8>) {
    (hash.oid().try_into().unwrap(), hash.digest(message))
}

macro_rules! fips204 {
    ($name:ident, $set:ident) => {
        struct $name;

        impl Peer for $name {
            fn keygen(&self, xi: &[u8; 32]) -> (Vec<u8>, Vec<u8>) {
                let (pk, sk) = fips204::$set::KG::keygen_from_seed(xi);
                (pk.into_bytes().to_vec(), sk.into_bytes().to_vec())
            }

            fn sign(&self, sk: &[u8], message: &Message, rnd: &[u8; 32]) -> Option<Vec<u8>> {
                let sk = fips204::$set::PrivateKey::try_from_bytes(sk.try_into().unwrap()).unwrap();
                let (message, context, hash) = message.parts().ok()?;
                let signature = match hash.map(|hash| hashed(hash, message)) {
                    None => sk.try_sign_with_seed(rnd, message, context),
                    Some((oid, digest)) => sk.try_hash_sign_with_seed(rnd, &digest, context, &oid),
                };
                Some(signature.unwrap().to_vec())
            }

            fn verify(&self, pk: &[u8], message: &Message, signature: &[u8]) -> Option<bool> {
                let pk = fips204::$set::PublicKey::try_from_bytes(pk.try_into().unwrap()).unwrap();
                let signature = signature.try_into().unwrap();
                let (message, context, hash) = message.parts().ok()?;
                Some(match hash.map(|hash| hashed(hash, message)) {
                    None => pk.verify(message, &signature, context),
                    Some((oid, digest)) => pk.hash_verify(&digest, &signature, context, &oid),
                })
            }
        }
    };
}
fips204!(Fips44, ml_dsa_44);
fips204!(Fips65, ml_dsa_65);
fips204!(Fips87, ml_dsa_87);

/// It signs and verifies pure messages, and signs with rnd of zeros.
struct RustCrypto<P>(std::marker::PhantomData<P>);

// The encoded private key is deprecated there in favour of the seed; the oracle's keys have it.
#[allow(deprecated)]
impl<P: MlDsaParams> Peer for RustCrypto<P> {
    fn keygen(&self, xi: &[u8; 32]) -> (Vec<u8>, Vec<u8>) {
        let key = ml_dsa::SigningKey::<P>::from_seed(&(*xi).into());
        (
            key.verifying_key().encode().to_vec(),
            key.expanded_key().to_expanded().to_vec(),
        )
    }

    fn sign(&self, sk: &[u8], message: &Message, rnd: &[u8; 32]) -> Option<Vec<u8>> {
        let Message::Pure { message, context } = message else {
            return None;
        };
        let bytes = ExpandedSigningKeyBytes::<P>::try_from(sk).unwrap();
        let key = ml_dsa::ExpandedSigningKey::<P>::from_expanded(&bytes);
        let zero = *rnd == [0; 32];
        zero.then(|| {
            key.sign_deterministic(message, context)
                .unwrap()
                .encode()
                .to_vec()
        })
    }

    fn verify(&self, pk: &[u8], message: &Message, signature: &[u8]) -> Option<bool> {
        let Message::Pure { message, context } = message else {
            return None;
        };
        let pk = EncodedVerifyingKey::<P>::try_from(pk).unwrap();
        let key = ml_dsa::VerifyingKey::<P>::decode(&pk);
        // It reads no signature whose hint is malformed.
        let accepted = ml_dsa::Signature::<P>::try_from(signature)
            .is_ok_and(|signature| key.verify_with_context(message, context, &signature));
        Some(accepted)
    }
}
