//! AWS-LC's ML-KEM through `aws-lc-rs`. Its interface draws m itself and makes no keys of a seed.

use aws_lc_rs::kem::{
    Algorithm, AlgorithmId, Ciphertext, DecapsulationKey, EncapsulationKey, ML_KEM_512, ML_KEM_768,
    ML_KEM_1024,
};

use crate::build_info;
use mldsa_worker_rust::adapter::{
    Family, KEM_WITH_KEY, Output, Prepared, Rnd, Scheme, Variant, describe, job, ml_kem_sets,
};
use mldsa_worker_rust::protocol::Fields;

pub fn variants() -> Vec<Variant> {
    vec![Variant {
        family: Family::MlKem,
        operations: KEM_WITH_KEY,
        rnd: Rnd::None,
        context: false,
        language: Some("C"),
        note: format!(
            "crate aws-lc-rs over aws-lc-sys {}; parsed keys hold the key bytes only; it makes keys, but \
             not of a given seed",
            build_info::AWS_LC_SYS
        ),
        schemes: ml_kem_sets(AwsLc(&ML_KEM_512), AwsLc(&ML_KEM_768), AwsLc(&ML_KEM_1024)),
        ..Variant::new("aws-lc-ml-kem", build_info::AWS_LC_RS)
    }]
}

struct AwsLc(&'static Algorithm<AlgorithmId>);

impl Scheme for AwsLc {
    fn encaps(&self, input: &Fields) -> Prepared {
        let key = EncapsulationKey::new(self.0, input.pk()?).map_err(|error| describe(&error))?;
        job(
            move || key.encapsulate(),
            |(ciphertext, secret)| Output::encapsulated(ciphertext, secret),
        )
    }

    fn decaps(&self, input: &Fields) -> Prepared {
        let key = DecapsulationKey::new(self.0, input.sk()?).map_err(|error| describe(&error))?;
        let ciphertext = input.ciphertext()?;
        job(
            move || key.decapsulate(Ciphertext::from(&ciphertext[..])),
            Output::bytes,
        )
    }
}
