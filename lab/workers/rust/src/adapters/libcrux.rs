//! libcrux-ml-dsa: its AVX2 code where the CPU has AVX2, its NEON code on AArch64, and its portable code.

use libcrux_ml_dsa::{MLDSASignature, MLDSASigningKey, MLDSAVerificationKey};

use crate::adapter::{Output, Prepared, Scheme, Variant, job, ml_dsa_sets, refused, verdict};
use crate::build_info;
use crate::protocol::Fields;

macro_rules! scheme {
    ($name:ident, $set:ident, $backend:ident) => {
        pub struct $name;

        impl Scheme for $name {
            fn keygen(&self, input: &Fields) -> Prepared {
                let seed = input.seed()?;
                job(
                    move || Ok::<_, ()>(libcrux_ml_dsa::$set::$backend::generate_key_pair(seed)),
                    |pair| {
                        Output::key_pair(
                            pair.verification_key.as_slice(),
                            pair.signing_key.as_slice(),
                        )
                    },
                )
            }

            fn sign(&self, input: &Fields) -> Prepared {
                let key = MLDSASigningKey::new(array(input.sk()?, "sk")?);
                let rnd = input.rnd()?;
                let (message, context) = (input.message()?, input.context()?);
                job(
                    move || libcrux_ml_dsa::$set::$backend::sign(&key, &message, &context, rnd),
                    |signature| Output::bytes(signature.as_slice()),
                )
            }

            fn verify(&self, input: &Fields) -> Prepared {
                let Ok(key) = array(input.pk()?, "pk").map(MLDSAVerificationKey::new) else {
                    return refused();
                };
                let (message, context) = (input.message()?, input.context()?);
                let signature = input.signature()?;
                verdict(move || {
                    <[u8; _]>::try_from(&signature[..])
                        .map(MLDSASignature::new)
                        .is_ok_and(|parsed| {
                            libcrux_ml_dsa::$set::$backend::verify(
                                &key, &message, &context, &parsed,
                            )
                            .is_ok()
                        })
                })
            }
        }
    };
}

scheme!(Portable44, ml_dsa_44, portable);
scheme!(Portable65, ml_dsa_65, portable);
scheme!(Portable87, ml_dsa_87, portable);

#[cfg(target_arch = "x86_64")]
mod simd256 {
    use super::*;

    scheme!(Simd256With44, ml_dsa_44, avx2);
    scheme!(Simd256With65, ml_dsa_65, avx2);
    scheme!(Simd256With87, ml_dsa_87, avx2);
}

#[cfg(target_arch = "aarch64")]
mod simd128 {
    use super::*;

    scheme!(Simd128With44, ml_dsa_44, neon);
    scheme!(Simd128With65, ml_dsa_65, neon);
    scheme!(Simd128With87, ml_dsa_87, neon);
}

pub fn variants() -> Vec<Variant> {
    let mut variants = Vec::new();
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        use simd256::{Simd256With44, Simd256With65, Simd256With87};
        variants.push(Variant {
            schemes: ml_dsa_sets(Simd256With44, Simd256With65, Simd256With87),
            backend: build_info::backend_name("simd256", build_info::rust_allowed),
            ..common()
        });
    }
    #[cfg(target_arch = "aarch64")]
    {
        use simd128::{Simd128With44, Simd128With65, Simd128With87};
        variants.push(Variant {
            schemes: ml_dsa_sets(Simd128With44, Simd128With65, Simd128With87),
            backend: build_info::backend_name("simd128", build_info::rust_allowed),
            ..common()
        });
    }
    variants.push(common());
    variants
}

fn common() -> Variant {
    Variant {
        backend: "portable",
        note: "crate libcrux-ml-dsa; keys stay byte strings".into(),
        schemes: ml_dsa_sets(Portable44, Portable65, Portable87),
        ..Variant::new("libcrux", build_info::LIBCRUX_ML_DSA)
    }
}

fn array<const N: usize>(bytes: &[u8], name: &str) -> Result<[u8; N], String> {
    bytes
        .try_into()
        .map_err(|_| format!("{name} must be {N} bytes, got {}", bytes.len()))
}
