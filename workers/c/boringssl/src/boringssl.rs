//! BoringSSL's ML-DSA by the functions of `openssl/mldsa.h`.

use std::mem::MaybeUninit;
use std::rc::Rc;

use boring_sys as ffi;
use mldsa_worker_loop::adapter::{
    Key, Output, Prepared, PrivateKey, Rnd, Scheme, Variant, job, ml_dsa_sets, refused, shared,
    verdict,
};
use mldsa_worker_loop::protocol::{Fields, Operation};

use crate::build_info;

pub fn variants() -> Vec<Variant> {
    let variant = |note: &str| Variant {
        rnd: Rnd::None,
        private_key: PrivateKey::Seed,
        language: Some("C++"),
        note: format!(
            "BoringSSL of crate boring-sys, interface {}; {note}",
            ffi::BORINGSSL_API_VERSION
        ),
        schemes: ml_dsa_sets(Set44, Set65, Set87),
        ..Variant::new("boringssl", build_info::BORING_SYS)
    };
    vec![
        Variant {
            operations: &[Operation::Keygen, Operation::Verify],
            ..variant(
                "a public key object holds t1 and tr, neither A-hat nor NTT forms; key generation \
                 gives the private key object, of NTT forms, and the public key's bytes",
            )
        },
        Variant {
            key: Key::Expanded,
            operations: &[Operation::Sign],
            ..variant(
                "a private key object holds s1, s2 and t0 in NTT form, not A-hat; signing draws its \
                 own rnd",
            )
        },
    ]
}

fn done(status: i32) -> Result<(), &'static str> {
    if status == 1 {
        Ok(())
    } else {
        Err("the implementation returned an error")
    }
}

macro_rules! scheme {
    (
        $name:ident, $private:ident, $public:ident, $public_key:ident, $signature:ident,
        $from_seed:ident, $public_of:ident, $marshal:ident, $parse:ident, $sign:ident, $verify:ident
    ) => {
        struct $name;

        impl $name {
            fn private_key(seed: &[u8; 32]) -> Result<Box<ffi::$private>, &'static str> {
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
        }

        impl Scheme for $name {
            fn keygen(&self, input: &Fields) -> Prepared {
                let seed = input.seed()?;
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

            fn sign(&self, input: &Fields) -> Prepared {
                let seed = input.seed()?;
                let key: Rc<Box<ffi::$private>> = shared(seed.to_vec(), || {
                    Self::private_key(&seed).map_err(Into::into)
                })?;
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
                let pk = input.pk()?;
                let parsed: Result<Rc<ffi::$public>, _> =
                    shared(pk.to_vec(), || Self::public_key(pk));
                let Ok(key) = parsed else { return refused() };
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

scheme!(
    Set44,
    MLDSA44_private_key,
    MLDSA44_public_key,
    MLDSA44_PUBLIC_KEY_BYTES,
    MLDSA44_SIGNATURE_BYTES,
    MLDSA44_private_key_from_seed,
    MLDSA44_public_from_private,
    MLDSA44_marshal_public_key,
    MLDSA44_parse_public_key,
    MLDSA44_sign,
    MLDSA44_verify
);
scheme!(
    Set65,
    MLDSA65_private_key,
    MLDSA65_public_key,
    MLDSA65_PUBLIC_KEY_BYTES,
    MLDSA65_SIGNATURE_BYTES,
    MLDSA65_private_key_from_seed,
    MLDSA65_public_from_private,
    MLDSA65_marshal_public_key,
    MLDSA65_parse_public_key,
    MLDSA65_sign,
    MLDSA65_verify
);
scheme!(
    Set87,
    MLDSA87_private_key,
    MLDSA87_public_key,
    MLDSA87_PUBLIC_KEY_BYTES,
    MLDSA87_SIGNATURE_BYTES,
    MLDSA87_private_key_from_seed,
    MLDSA87_public_from_private,
    MLDSA87_marshal_public_key,
    MLDSA87_parse_public_key,
    MLDSA87_sign,
    MLDSA87_verify
);
