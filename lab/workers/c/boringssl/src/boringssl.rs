//! BoringSSL's ML-DSA, ML-KEM and SLH-DSA by the functions of `openssl/mldsa.h`, `mlkem.h` and `slhdsa.h`.

use std::mem::MaybeUninit;
use std::rc::Rc;

use boring_sys as ffi;
use mldsa_worker_loop::adapter::{
    Family, KEM_WITH_KEY, Key, Output, Prepared, PrivateKey, Rnd, Scheme, Variant, job,
    ml_dsa_sets, of_length, refused, shared, verdict,
};
use mldsa_worker_loop::protocol::{Fields, Operation};

use crate::build_info;

pub fn variants() -> Vec<Variant> {
    let variant = |implementation, note: &str| Variant {
        rnd: Rnd::None,
        private_key: PrivateKey::Seed,
        language: Some("C++"),
        note: format!(
            "BoringSSL of crate boring-sys, interface {}; {note}",
            ffi::BORINGSSL_API_VERSION
        ),
        ..Variant::new(implementation, build_info::BORING_SYS)
    };
    let ml_dsa = |note| Variant {
        schemes: ml_dsa_sets(Set44, Set65, Set87),
        ..variant("boringssl", note)
    };
    let ml_kem = |note| Variant {
        family: Family::MlKem,
        context: false,
        schemes: vec![
            ("ML-KEM-768", Box::new(Kem768)),
            ("ML-KEM-1024", Box::new(Kem1024)),
        ],
        ..variant("boringssl-ml-kem", note)
    };
    vec![
        Variant {
            operations: &[Operation::Keygen, Operation::Verify],
            ..ml_dsa(
                "a public key object holds t1 and tr, neither A-hat nor NTT forms; key generation \
                 gives the private key object, of NTT forms, and the public key's bytes",
            )
        },
        Variant {
            key: Key::Expanded,
            operations: &[Operation::Sign],
            ..ml_dsa(
                "a private key object holds s1, s2 and t0 in NTT form, not A-hat; signing draws its \
                 own rnd",
            )
        },
        Variant {
            operations: &[Operation::Keygen],
            ..ml_kem(
                "key generation gives the private key object, which holds A-hat and NTT forms, and the \
                 public key's bytes",
            )
        },
        Variant {
            key: Key::Expanded,
            operations: KEM_WITH_KEY,
            ..ml_kem("key objects hold A-hat and NTT forms; encapsulation draws its own m")
        },
        Variant {
            family: Family::SlhDsa,
            private_key: PrivateKey::Sk,
            schemes: vec![
                ("SLH-DSA-SHA2-128s", Box::new(SHA2_128S)),
                ("SLH-DSA-SHAKE-256f", Box::new(SHAKE_256F)),
            ],
            ..variant(
                "boringssl-slh-dsa",
                "keys are byte strings; signing draws its own opt_rand",
            )
        },
    ]
}

/// What a function says of its success; one that cannot fail says nothing.
trait Status {
    fn succeeded(self) -> bool;
}

impl Status for i32 {
    fn succeeded(self) -> bool {
        self == 1
    }
}

impl Status for () {
    fn succeeded(self) -> bool {
        true
    }
}

fn done(status: impl Status) -> Result<(), &'static str> {
    if status.succeeded() {
        Ok(())
    } else {
        Err("the implementation returned an error")
    }
}

/// A set with the making and parsing of its keys.
macro_rules! keys {
    (
        $name:ident, $seed:literal, $private:ident, $public:ident, $public_key:ident,
        $from_seed:ident, $public_of:ident, $marshal:ident, $parse:ident
    ) => {
        struct $name;

        impl $name {
            fn private_key(seed: &[u8; $seed]) -> Result<Box<ffi::$private>, &'static str> {
                let mut key = Box::new(MaybeUninit::uninit());
                // SAFETY: the seed has the length given; the key is whole if the call succeeds.
                unsafe {
                    done(ffi::$from_seed(key.as_mut_ptr(), seed.as_ptr(), seed.len()))?;
                    Ok(key.assume_init())
                }
            }

            fn public_key(bytes: &[u8]) -> Result<ffi::$public, String> {
                let mut key = MaybeUninit::uninit();
                let mut input = ffi::CBS {
                    data: bytes.as_ptr(),
                    len: bytes.len(),
                };
                // SAFETY: `input` is of `bytes`; the key is whole if the call succeeds.
                unsafe {
                    done(ffi::$parse(key.as_mut_ptr(), &mut input))?;
                    Ok(key.assume_init())
                }
            }

            fn made(seed: [u8; $seed]) -> Prepared {
                let operation = move || {
                    let private = Self::private_key(&seed)?;
                    let mut public = vec![0; ffi::$public_key as usize];
                    let (mut key, mut output) = (MaybeUninit::uninit(), MaybeUninit::uninit());
                    // SAFETY: the key is whole before it is read, and `output` writes to the bytes
                    // of `public` alone.
                    unsafe {
                        done(ffi::$public_of(key.as_mut_ptr(), &*private))?;
                        done(ffi::CBB_init_fixed(
                            output.as_mut_ptr(),
                            public.as_mut_ptr(),
                            public.len(),
                        ))?;
                        done(ffi::$marshal(output.as_mut_ptr(), key.as_ptr()))?;
                    }
                    Ok::<_, &'static str>((private, public))
                };
                job(operation, |(_, public)| Output::public_key(public))
            }

            fn shared_private(seed: [u8; $seed]) -> Result<Rc<Box<ffi::$private>>, String> {
                shared(seed.to_vec(), || {
                    Self::private_key(&seed).map_err(Into::into)
                })
            }

            fn shared_public(pk: &[u8]) -> Result<Rc<ffi::$public>, String> {
                shared(pk.to_vec(), || Self::public_key(pk))
            }
        }
    };
}

macro_rules! ml_dsa {
    ($name:ident, $signature:ident, $sign:ident, $verify:ident) => {
        impl Scheme for $name {
            fn keygen(&self, input: &Fields) -> Prepared {
                Self::made(input.seed()?)
            }

            fn sign(&self, input: &Fields) -> Prepared {
                let key = Self::shared_private(input.seed()?)?;
                let (message, context) = (input.message()?, input.context()?);
                let operation = move || {
                    let mut signature = vec![0; ffi::$signature as usize];
                    // SAFETY: `signature` has the length of the set, the others those given.
                    let status = unsafe {
                        ffi::$sign(
                            signature.as_mut_ptr(),
                            &**key,
                            message.as_ptr(),
                            message.len(),
                            context.as_ptr(),
                            context.len(),
                        )
                    };
                    done(status).map(|()| signature)
                };
                job(operation, Output::Bytes)
            }

            fn verify(&self, input: &Fields) -> Prepared {
                let Ok(key) = Self::shared_public(input.pk()?) else {
                    return refused();
                };
                let (message, context) = (input.message()?, input.context()?);
                let signature = input.signature()?;
                verdict(move || {
                    // SAFETY: all bytes have the lengths given.
                    let status = unsafe {
                        ffi::$verify(
                            &*key,
                            signature.as_ptr(),
                            signature.len(),
                            message.as_ptr(),
                            message.len(),
                            context.as_ptr(),
                            context.len(),
                        )
                    };
                    status == 1
                })
            }
        }
    };
}

macro_rules! ml_kem {
    ($name:ident, $ciphertext:ident, $encap:ident, $decap:ident) => {
        impl Scheme for $name {
            fn keygen(&self, input: &Fields) -> Prepared {
                Self::made(input.kem_seed()?)
            }

            fn encaps(&self, input: &Fields) -> Prepared {
                let key = Self::shared_public(input.pk()?)?;
                let operation = move || {
                    let mut ciphertext = vec![0; ffi::$ciphertext as usize];
                    let mut secret = [0; 32];
                    // SAFETY: both have the lengths of the set.
                    unsafe { ffi::$encap(ciphertext.as_mut_ptr(), secret.as_mut_ptr(), &*key) };
                    Ok::<_, ()>((ciphertext, secret))
                };
                job(operation, |(ciphertext, secret)| {
                    Output::encapsulated(ciphertext, secret)
                })
            }

            fn decaps(&self, input: &Fields) -> Prepared {
                let key = Self::shared_private(input.kem_seed()?)?;
                let ciphertext = input.ciphertext()?;
                let operation = move || {
                    let mut secret = [0; 32];
                    // SAFETY: the ciphertext has the length given, the secret that of the set.
                    let status = unsafe {
                        ffi::$decap(
                            secret.as_mut_ptr(),
                            ciphertext.as_ptr(),
                            ciphertext.len(),
                            &**key,
                        )
                    };
                    done(status).map(|()| secret)
                };
                job(operation, Output::bytes)
            }
        }
    };
}

keys!(
    Set44,
    32,
    MLDSA44_private_key,
    MLDSA44_public_key,
    MLDSA44_PUBLIC_KEY_BYTES,
    MLDSA44_private_key_from_seed,
    MLDSA44_public_from_private,
    MLDSA44_marshal_public_key,
    MLDSA44_parse_public_key
);
ml_dsa!(Set44, MLDSA44_SIGNATURE_BYTES, MLDSA44_sign, MLDSA44_verify);
keys!(
    Set65,
    32,
    MLDSA65_private_key,
    MLDSA65_public_key,
    MLDSA65_PUBLIC_KEY_BYTES,
    MLDSA65_private_key_from_seed,
    MLDSA65_public_from_private,
    MLDSA65_marshal_public_key,
    MLDSA65_parse_public_key
);
ml_dsa!(Set65, MLDSA65_SIGNATURE_BYTES, MLDSA65_sign, MLDSA65_verify);
keys!(
    Set87,
    32,
    MLDSA87_private_key,
    MLDSA87_public_key,
    MLDSA87_PUBLIC_KEY_BYTES,
    MLDSA87_private_key_from_seed,
    MLDSA87_public_from_private,
    MLDSA87_marshal_public_key,
    MLDSA87_parse_public_key
);
ml_dsa!(Set87, MLDSA87_SIGNATURE_BYTES, MLDSA87_sign, MLDSA87_verify);
keys!(
    Kem768,
    64,
    MLKEM768_private_key,
    MLKEM768_public_key,
    MLKEM768_PUBLIC_KEY_BYTES,
    MLKEM768_private_key_from_seed,
    MLKEM768_public_from_private,
    MLKEM768_marshal_public_key,
    MLKEM768_parse_public_key
);
ml_kem!(
    Kem768,
    MLKEM768_CIPHERTEXT_BYTES,
    MLKEM768_encap,
    MLKEM768_decap
);
keys!(
    Kem1024,
    64,
    MLKEM1024_private_key,
    MLKEM1024_public_key,
    MLKEM1024_PUBLIC_KEY_BYTES,
    MLKEM1024_private_key_from_seed,
    MLKEM1024_public_from_private,
    MLKEM1024_marshal_public_key,
    MLKEM1024_parse_public_key
);
ml_kem!(
    Kem1024,
    MLKEM1024_CIPHERTEXT_BYTES,
    MLKEM1024_encap,
    MLKEM1024_decap
);

/// Public and private key, seed.
type Generate = unsafe extern "C" fn(*mut u8, *mut u8, *const u8);
/// Signature, private key, message and its length, context and its length.
type Sign = unsafe extern "C" fn(*mut u8, *const u8, *const u8, usize, *const u8, usize) -> i32;
/// Signature and its length, public key, message and its length, context and its length.
type Verify =
    unsafe extern "C" fn(*const u8, usize, *const u8, *const u8, usize, *const u8, usize) -> i32;

// Of `openssl/slhdsa.h`, which the crate leaves out.
#[rustfmt::skip]
unsafe extern "C" {
    fn SLHDSA_SHA2_128S_generate_key_from_seed(pk: *mut u8, sk: *mut u8, seed: *const u8);
    fn SLHDSA_SHA2_128S_sign(signature: *mut u8, sk: *const u8, message: *const u8, size: usize, context: *const u8, context_size: usize) -> i32;
    fn SLHDSA_SHA2_128S_verify(signature: *const u8, length: usize, pk: *const u8, message: *const u8, size: usize, context: *const u8, context_size: usize) -> i32;
    fn SLHDSA_SHAKE_256F_generate_key_from_seed(pk: *mut u8, sk: *mut u8, seed: *const u8);
    fn SLHDSA_SHAKE_256F_sign(signature: *mut u8, sk: *const u8, message: *const u8, size: usize, context: *const u8, context_size: usize) -> i32;
    fn SLHDSA_SHAKE_256F_verify(signature: *const u8, length: usize, pk: *const u8, message: *const u8, size: usize, context: *const u8, context_size: usize) -> i32;
}

struct SlhDsa {
    n: usize,
    signature: usize,
    generate: Generate,
    sign: Sign,
    verify: Verify,
}

const SHA2_128S: SlhDsa = SlhDsa {
    n: 16,
    signature: 7856,
    generate: SLHDSA_SHA2_128S_generate_key_from_seed,
    sign: SLHDSA_SHA2_128S_sign,
    verify: SLHDSA_SHA2_128S_verify,
};
const SHAKE_256F: SlhDsa = SlhDsa {
    n: 32,
    signature: 49856,
    generate: SLHDSA_SHAKE_256F_generate_key_from_seed,
    sign: SLHDSA_SHAKE_256F_sign,
    verify: SLHDSA_SHAKE_256F_verify,
};

impl Scheme for SlhDsa {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (n, generate, seed) = (self.n, self.generate, input.slh_seed(self.n)?);
        let operation = move || {
            let (mut public, mut private) = (vec![0; 2 * n], vec![0; 4 * n]);
            // SAFETY: all have the lengths of the set.
            unsafe { generate(public.as_mut_ptr(), private.as_mut_ptr(), seed.as_ptr()) };
            Ok::<_, ()>((public, private))
        };
        job(operation, |(public, private)| {
            Output::key_pair(public, private)
        })
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let (size, sign) = (self.signature, self.sign);
        let sk = of_length(input.sk()?, "sk", 4 * self.n)?;
        let (message, context) = (input.message()?, input.context()?);
        let operation = move || {
            let mut signature = vec![0; size];
            // SAFETY: `signature` and `sk` have the lengths of the set, the others those given.
            let status = unsafe {
                sign(
                    signature.as_mut_ptr(),
                    sk.as_ptr(),
                    message.as_ptr(),
                    message.len(),
                    context.as_ptr(),
                    context.len(),
                )
            };
            done(status).map(|()| signature)
        };
        job(operation, Output::Bytes)
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let verify = self.verify;
        let Ok(pk) = of_length(input.pk()?, "pk", 2 * self.n) else {
            return refused();
        };
        let (message, context) = (input.message()?, input.context()?);
        let signature = input.signature()?;
        verdict(move || {
            // SAFETY: `pk` has the length of the set, the others those given.
            let status = unsafe {
                verify(
                    signature.as_ptr(),
                    signature.len(),
                    pk.as_ptr(),
                    message.as_ptr(),
                    message.len(),
                    context.as_ptr(),
                    context.len(),
                )
            };
            status == 1
        })
    }
}
