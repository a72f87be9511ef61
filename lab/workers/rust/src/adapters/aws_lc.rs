//! AWS-LC's ML-DSA through `aws-lc-rs`. Its interface signs hedged only and has no contexts.

use aws_lc_rs::encoding::AsRawBytes;
use aws_lc_rs::signature::{
    KeyPair, ML_DSA_44, ML_DSA_44_SIGNING, ML_DSA_65, ML_DSA_65_SIGNING, ML_DSA_87,
    ML_DSA_87_SIGNING, ParsedPublicKey, PqdsaKeyPair, PqdsaSigningAlgorithm,
    PqdsaVerificationAlgorithm,
};

use crate::adapter::{
    Output, Prepared, Rnd, Scheme, Variant, describe, job, ml_dsa_sets, refused, verdict,
};
use crate::build_info;
use crate::protocol::Fields;

pub fn variants() -> Vec<Variant> {
    vec![Variant {
        rnd: Rnd::None,
        context: false,
        language: Some("C"),
        note: format!(
            "crate aws-lc-rs over aws-lc-sys {}; parsed keys hold the key bytes only; signing draws \
             its own rnd",
            build_info::AWS_LC_SYS
        ),
        schemes: ml_dsa_sets(
            AwsLc {
                signing: &ML_DSA_44_SIGNING,
                verification: &ML_DSA_44,
            },
            AwsLc {
                signing: &ML_DSA_65_SIGNING,
                verification: &ML_DSA_65,
            },
            AwsLc {
                signing: &ML_DSA_87_SIGNING,
                verification: &ML_DSA_87,
            },
        ),
        ..Variant::new("aws-lc", build_info::AWS_LC_RS)
    }]
}

struct AwsLc {
    signing: &'static PqdsaSigningAlgorithm,
    verification: &'static PqdsaVerificationAlgorithm,
}

impl Scheme for AwsLc {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (algorithm, seed) = (self.signing, input.seed()?);
        job(
            move || PqdsaKeyPair::from_seed(algorithm, &seed),
            |pair| Output::KeyPair {
                public: pair.public_key().as_ref().to_vec(),
                private: pair
                    .private_key()
                    .as_raw_bytes()
                    .ok()
                    .map(|sk| sk.as_ref().to_vec()),
            },
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let pair = PqdsaKeyPair::from_raw_private_key(self.signing, input.sk()?)
            .map_err(|error| describe(&error))?;
        let (length, message) = (self.signing.signature_len(), input.message()?);
        job(
            move || {
                let mut signature = vec![0; length];
                pair.sign(&message, &mut signature).map(|_| signature)
            },
            Output::Bytes,
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let Ok(key) = ParsedPublicKey::new(self.verification, input.pk()?) else {
            return refused();
        };
        let (message, signature) = (input.message()?, input.signature()?);
        verdict(move || key.verify_sig(&message, &signature).is_ok())
    }
}
