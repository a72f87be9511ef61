//! mldsa-native: C and assembly through the safe interface of `mldsa-native-rs`.

use std::marker::PhantomData;

use mldsa_native_rs::parameter_sets::{ML_DSA_44, ML_DSA_65, ML_DSA_87};
use mldsa_native_rs::{
    MlDsaSeed, ParameterSet, Signature, SigningKey, VerifyingKey, keygen_from_seed,
};

use crate::adapter::{
    Output, Prepared, Scheme, Variant, describe, job, ml_dsa_sets, refused, verdict,
};
use crate::build_info;
use crate::protocol::Fields;

pub fn variants() -> Vec<Variant> {
    // The crate's C is compiled for CPUs with the SHA3 extension, whatever this one is (library/evidence/arm.md).
    #[cfg(target_arch = "aarch64")]
    if !std::arch::is_aarch64_feature_detected!("sha3") {
        return Vec::new();
    }
    vec![Variant {
        backend: backend(),
        language: Some("C"),
        note: "crate mldsa-native-rs, feature native; keys stay byte strings".into(),
        schemes: ml_dsa_sets(
            MldsaNative::<ML_DSA_44>(PhantomData),
            MldsaNative::<ML_DSA_65>(PhantomData),
            MldsaNative::<ML_DSA_87>(PhantomData),
        ),
        ..Variant::new("mldsa-native", build_info::MLDSA_NATIVE_RS)
    }]
}

/// The backend the library's own check at run time selects; it asks for these CPU features.
fn backend() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
    {
        return build_info::backend_name("avx2", build_info::c_allowed);
    }
    if cfg!(target_arch = "aarch64") {
        "aarch64"
    } else {
        "portable"
    }
}

struct MldsaNative<P>(PhantomData<fn() -> P>);

impl<P: ParameterSet + 'static> Scheme for MldsaNative<P> {
    fn keygen(&self, input: &Fields) -> Prepared {
        let seed = MlDsaSeed::from(input.seed()?);
        job(
            move || keygen_from_seed::<P>(&seed),
            |(sk, pk)| Output::key_pair(pk, sk),
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let key = SigningKey::<P>::try_from(input.sk()?).map_err(|error| describe(&error))?;
        let rnd = MlDsaSeed::from(input.rnd()?);
        let (message, context) = (input.message()?, input.context()?);
        job(
            move || key.try_sign_with_ctx_seeded(&message, &context, &rnd),
            |signature: Signature<P>| Output::bytes(signature),
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let Ok(key) = VerifyingKey::<P>::try_from(input.pk()?) else {
            return refused();
        };
        let (message, context) = (input.message()?, input.context()?);
        let signature = input.signature()?;
        verdict(move || {
            Signature::<P>::try_from(&signature[..])
                .is_ok_and(|parsed| key.verify_with_ctx(&message, &context, &parsed).is_ok())
        })
    }
}
