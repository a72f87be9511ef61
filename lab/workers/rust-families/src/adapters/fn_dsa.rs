//! Thomas Pornin's `fn-dsa`, ahead of FIPS 206. Its key objects hold the private basis in FFT form and
//! the public key in NTT form: the expanded variant prepares them, the compact variant decodes them in
//! the timed call.

use aws_lc_rs::rand;
use fn_dsa::{
    CryptoRng, DomainContext, FN_DSA_LOGN_512, FN_DSA_LOGN_1024, HASH_ID_RAW, KeyPairGenerator,
    KeyPairGenerator512, KeyPairGenerator1024, RngCore, RngError, SHAKE256, SigningKey,
    SigningKey512, SigningKey1024, VerifyingKey, VerifyingKey512, VerifyingKey1024, sign_key_size,
    signature_size, vrfy_key_size,
};

use crate::build_info;
use mldsa_worker_rust::adapter::{
    Family, Key, Output, Prepared, Rnd, Scheme, TIMED, Variant, WITH_KEY, job, refused, verdict,
};
use mldsa_worker_rust::protocol::Fields;

pub fn variants() -> Vec<Variant> {
    vec![
        Variant {
            operations: TIMED,
            note: "signing and verifying decode the key in the timed call; keygen from SHAKE256 of the \
                   seed; signing draws from AWS-LC's generator; FIPS 206 is a draft"
                .into(),
            schemes: vec![
                ("FN-DSA-512", Box::new(Degree512::<false>)),
                ("FN-DSA-1024", Box::new(Degree1024::<false>)),
            ],
            ..common()
        },
        Variant {
            key: Key::Expanded,
            operations: WITH_KEY,
            note: "the ordinary key objects, which hold the private basis in FFT form and the public key \
                   in NTT form; signing draws from AWS-LC's generator; FIPS 206 is a draft"
                .into(),
            schemes: vec![
                ("FN-DSA-512", Box::new(Degree512::<true>)),
                ("FN-DSA-1024", Box::new(Degree1024::<true>)),
            ],
            ..common()
        },
    ]
}

fn common() -> Variant {
    Variant {
        family: Family::FnDsa,
        rnd: Rnd::None,
        ..Variant::new("fn-dsa", build_info::FN_DSA)
    }
}

/// A generator of random bytes, as `fn-dsa` takes it.
struct Random<F>(F);

/// That of signing: AWS-LC's, which is faster than asking the system each time.
fn of_the_system() -> Random<impl FnMut(&mut [u8])> {
    Random(|bytes: &mut [u8]| rand::fill(bytes).expect("the system has randomness"))
}

/// That of key generation, which follows from the seed.
fn seeded(seed: &[u8]) -> Random<impl FnMut(&mut [u8])> {
    let mut state = SHAKE256::new();
    state.inject(seed);
    state.flip();
    Random(move |bytes: &mut [u8]| state.extract(bytes))
}

impl<F: FnMut(&mut [u8])> CryptoRng for Random<F> {}
impl<F: FnMut(&mut [u8])> RngCore for Random<F> {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_le_bytes(bytes)
    }
    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_le_bytes(bytes)
    }
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        (self.0)(bytes);
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), RngError> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

macro_rules! scheme {
    ($name:ident, $logn:ident, $generator:ident, $signing:ident, $verifying:ident) => {
        struct $name<const EXPANDED: bool>;

        impl<const EXPANDED: bool> Scheme for $name<EXPANDED> {
            fn keygen(&self, input: &Fields) -> Prepared {
                let seed: [u8; 32] = input.seed()?;
                let mut generator = $generator::default();
                job(
                    move || {
                        let mut private = [0; sign_key_size($logn)];
                        let mut public = [0; vrfy_key_size($logn)];
                        let mut random = seeded(&seed);
                        generator.keygen($logn, &mut random, &mut private, &mut public);
                        Ok::<_, ()>((private, public))
                    },
                    |(private, public)| Output::key_pair(public, private),
                )
            }

            fn sign(&self, input: &Fields) -> Prepared {
                let bytes = input.sk()?.to_vec();
                let decode =
                    |bytes: &[u8]| $signing::decode(bytes).ok_or("the key cannot be decoded");
                let (message, context) = (input.message()?, input.context()?);
                if context.len() > 255 {
                    return Err("a context has at most 255 bytes".into());
                }
                let sign = move |key: &mut $signing| {
                    let mut signature = [0; signature_size($logn)];
                    let context = DomainContext(&context);
                    key.sign(
                        &mut of_the_system(),
                        &context,
                        &HASH_ID_RAW,
                        &message,
                        &mut signature,
                    )
                    .map(|()| signature)
                    .ok_or("signing fails with this key")
                };
                let mut key = decode(&bytes)?;
                if EXPANDED {
                    job(move || sign(&mut key), Output::bytes)
                } else {
                    job(move || sign(&mut decode(&bytes)?), Output::bytes)
                }
            }

            fn verify(&self, input: &Fields) -> Prepared {
                let bytes = input.pk()?.to_vec();
                let (message, context) = (input.message()?, input.context()?);
                let signature = input.signature()?;
                let Some(key) = $verifying::decode(&bytes).filter(|_| context.len() <= 255) else {
                    return refused();
                };
                let verify = move |key: &$verifying| {
                    key.verify(&signature, &DomainContext(&context), &HASH_ID_RAW, &message)
                };
                if EXPANDED {
                    verdict(move || verify(&key))
                } else {
                    verdict(move || $verifying::decode(&bytes).is_some_and(|key| verify(&key)))
                }
            }
        }
    };
}

scheme!(
    Degree512,
    FN_DSA_LOGN_512,
    KeyPairGenerator512,
    SigningKey512,
    VerifyingKey512
);
scheme!(
    Degree1024,
    FN_DSA_LOGN_1024,
    KeyPairGenerator1024,
    SigningKey1024,
    VerifyingKey1024
);
