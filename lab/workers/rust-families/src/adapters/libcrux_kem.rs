//! libcrux-ml-kem: its AVX2 code where the CPU has AVX2, and its portable code; with keys as byte
//! strings, and unpacked.

use crate::build_info;
use mldsa_worker_rust::adapter::{
    Family, KEM, KEM_WITH_KEY, Key, Output, Prepared, Scheme, Variant, job, ml_kem_sets, shared,
};
use mldsa_worker_rust::protocol::Fields;

const LENGTH: &str = "a key or ciphertext of another length than the set's";

/// A set with one backend, and the same with unpacked keys. The interface leaves the checks of keys
/// (FIPS 203, sections 7.2 and 7.3) to its caller, who makes them once for each.
macro_rules! scheme {
    ($name:ident, $unpacked:ident, $set:ident, $backend:ident, $public:ident, $private:ident) => {
        pub struct $name;
        pub struct $unpacked;

        impl $name {
            fn public(input: &Fields) -> Result<libcrux_ml_kem::$set::$public, String> {
                let key = input.pk()?.try_into().map_err(|_| LENGTH)?;
                libcrux_ml_kem::$set::$backend::validate_public_key(&key)
                    .then_some(key)
                    .ok_or_else(|| "validate_public_key refuses it".into())
            }

            fn private(input: &Fields) -> Result<libcrux_ml_kem::$set::$private, String> {
                let key = input.sk()?.try_into().map_err(|_| LENGTH)?;
                libcrux_ml_kem::$set::$backend::validate_private_key_only(&key)
                    .then_some(key)
                    .ok_or_else(|| "validate_private_key_only refuses it".into())
            }
        }

        impl Scheme for $name {
            fn keygen(&self, input: &Fields) -> Prepared {
                let seed = input.kem_seed()?;
                job(
                    move || Ok::<_, ()>(libcrux_ml_kem::$set::$backend::generate_key_pair(seed)),
                    |pair| Output::key_pair(pair.pk(), pair.sk()),
                )
            }

            fn encaps(&self, input: &Fields) -> Prepared {
                let (key, m) = ($name::public(input)?, input.rnd()?);
                job(
                    move || Ok::<_, ()>(libcrux_ml_kem::$set::$backend::encapsulate(&key, m)),
                    |(ciphertext, secret)| Output::encapsulated(ciphertext, secret),
                )
            }

            fn decaps(&self, input: &Fields) -> Prepared {
                let (key, ciphertext) = ($name::private(input)?, input.ciphertext()?);
                job(
                    move || {
                        let parsed = ciphertext[..].try_into().map_err(|_| LENGTH)?;
                        Ok::<_, &str>(libcrux_ml_kem::$set::$backend::decapsulate(&key, &parsed))
                    },
                    Output::bytes,
                )
            }
        }

        impl Scheme for $unpacked {
            fn encaps(&self, input: &Fields) -> Prepared {
                use libcrux_ml_kem::$set::$backend::unpacked;

                let (bytes, m) = ($name::public(input)?, input.rnd()?);
                let key = shared(bytes.as_ref().to_vec(), || {
                    let mut key = unpacked::init_public_key();
                    unpacked::unpacked_public_key(&bytes, &mut key);
                    Ok(key)
                })?;
                job(
                    move || Ok::<_, ()>(unpacked::encapsulate(&key, m)),
                    |(ciphertext, secret)| Output::encapsulated(ciphertext, secret),
                )
            }

            fn decaps(&self, input: &Fields) -> Prepared {
                use libcrux_ml_kem::$set::$backend::unpacked;

                let (bytes, ciphertext) = ($name::private(input)?, input.ciphertext()?);
                let key = shared(bytes.as_ref().to_vec(), || {
                    let mut key = unpacked::init_key_pair();
                    unpacked::key_pair_from_private_mut(&bytes, &mut key);
                    Ok(key)
                })?;
                job(
                    move || {
                        let parsed = ciphertext[..].try_into().map_err(|_| LENGTH)?;
                        Ok::<_, &str>(unpacked::decapsulate(&key, &parsed))
                    },
                    Output::bytes,
                )
            }
        }
    };
}

/// The three sets of a backend as two variants, of compact and of expanded keys.
macro_rules! backend {
    ($module:ident, $backend:ident) => {
        mod $module {
            use super::*;

            scheme!(Set512, Unpacked512, mlkem512, $backend, MlKem512PublicKey, MlKem512PrivateKey);
            scheme!(Set768, Unpacked768, mlkem768, $backend, MlKem768PublicKey, MlKem768PrivateKey);
            scheme!(
                Set1024, Unpacked1024, mlkem1024, $backend, MlKem1024PublicKey,
                MlKem1024PrivateKey
            );

            pub fn variants(name: &'static str) -> [Variant; 2] {
                let compact = Variant {
                    backend: name,
                    family: Family::MlKem,
                    operations: KEM,
                    context: false,
                    note: "keys stay byte strings; the checks of keys, which the caller makes, are \
                           before the clock"
                        .into(),
                    schemes: ml_kem_sets(Set512, Set768, Set1024),
                    ..Variant::new("libcrux-ml-kem", build_info::LIBCRUX_ML_KEM)
                };
                let expanded = Variant {
                    key: Key::Expanded,
                    operations: KEM_WITH_KEY,
                    note: "the interface `unpacked`, whose keys hold A-hat and the vectors in NTT form; \
                           the checks of keys, which the caller makes, are before the clock"
                        .into(),
                    schemes: ml_kem_sets(Unpacked512, Unpacked768, Unpacked1024),
                    backend: name,
                    family: Family::MlKem,
                    context: false,
                    ..Variant::new("libcrux-ml-kem", build_info::LIBCRUX_ML_KEM)
                };
                [compact, expanded]
            }
        }
    };
}

backend!(of_portable, portable);
#[cfg(target_arch = "x86_64")]
backend!(of_avx2, avx2);

pub fn variants() -> Vec<Variant> {
    let mut variants = Vec::new();
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        let name = build_info::backend_name("simd256", build_info::rust_allowed);
        variants.extend(of_avx2::variants(name));
    }
    variants.extend(of_portable::variants("portable"));
    variants
}
