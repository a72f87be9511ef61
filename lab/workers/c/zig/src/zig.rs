//! ML-DSA and ML-KEM of Zig's standard library, through `library.zig`.

use std::ffi::{CStr, c_char, c_void};
use std::rc::Rc;

use mldsa_worker_loop::adapter::{
    Family, KEM, Key, Output, Prepared, PrivateKey, Scheme, Variant, job, ml_dsa_sets, ml_kem_sets,
    of_length, refused, shared, verdict,
};
use mldsa_worker_loop::protocol::Fields;

#[rustfmt::skip]
unsafe extern "C" {
    fn zig_version() -> *const c_char;
    fn zig_dsa_places(set: u8, places: *mut [usize; 3]);
    fn zig_dsa_pair(set: u8, seed: *const [u8; 32], pair: *mut c_void, pk: *mut u8);
    fn zig_dsa_pair_private(set: u8, pair: *const c_void, sk: *mut u8);
    fn zig_dsa_private(set: u8, sk: *const u8, key: *mut c_void) -> bool;
    fn zig_dsa_public(set: u8, pk: *const u8, key: *mut c_void) -> bool;
    fn zig_dsa_sign(set: u8, key: *const c_void, message: *const u8, message_size: usize, context: *const u8, context_size: usize, rnd: *const [u8; 32], signature: *mut u8) -> bool;
    fn zig_dsa_verify(set: u8, key: *const c_void, message: *const u8, message_size: usize, context: *const u8, context_size: usize, signature: *const u8) -> bool;
    fn zig_kem_places(set: u8, places: *mut [usize; 2]);
    fn zig_kem_pair(set: u8, seed: *const [u8; 64], pair: *mut c_void, pk: *mut u8) -> bool;
    fn zig_kem_pair_private(set: u8, pair: *const c_void, sk: *mut u8);
    fn zig_kem_public(set: u8, pk: *const u8, key: *mut c_void) -> bool;
    fn zig_kem_encaps(set: u8, key: *const c_void, m: *const [u8; 32], to: *mut u8);
    fn zig_kem_decaps(set: u8, pair: *const c_void, ciphertext: *const u8, secret: *mut [u8; 32]) -> bool;
}

pub fn variants() -> Vec<Variant> {
    // SAFETY: the library returns a static string.
    let version = unsafe { CStr::from_ptr(zig_version()) };
    let version = version.to_str().expect("a version in ASCII");
    let variant = |implementation, note: &str| Variant {
        key: Key::Expanded,
        language: Some("Zig"),
        note: format!(
            "of Zig's standard library, compiled with -OReleaseFast for this CPU, as Zig does by default; \
             {note}"
        ),
        ..Variant::new(implementation, version)
    };
    vec![
        Variant {
            schemes: ml_dsa_sets(
                MlDsa::new(0, 1312, 2560, 2420),
                MlDsa::new(1, 1952, 4032, 3309),
                MlDsa::new(2, 2592, 4896, 4627),
            ),
            ..variant(
                "zig-ml-dsa",
                "key objects hold A-hat, private ones NTT forms too: it has no others; key generation \
                 gives a KeyPair and the public key's bytes",
            )
        },
        Variant {
            family: Family::MlKem,
            operations: KEM,
            context: false,
            private_key: PrivateKey::Seed,
            schemes: ml_kem_sets(
                MlKem::new(0, 800, 1632, 768),
                MlKem::new(1, 1184, 2400, 1088),
                MlKem::new(2, 1568, 3168, 1568),
            ),
            ..variant(
                "zig-ml-kem",
                "key objects hold A-hat and NTT forms: it has no others; private keys of seeds alone, as \
                 it does not check the hash in an encoded one; key generation gives a KeyPair and the \
                 public key's bytes",
            )
        },
    ]
}

/// Memory for a key object of the library, which owns nothing else.
struct Place(Vec<Block>);

/// What the library's places are aligned to.
#[repr(align(64))]
struct Block(#[expect(dead_code, reason = "room")] [u8; Block::BYTES]);

impl Block {
    const BYTES: usize = 64;
}

impl Place {
    /// A place that `write` made a key of; nothing reads it before.
    fn new(size: usize, write: impl FnOnce(*mut c_void) -> bool) -> Option<Self> {
        let mut memory = Vec::<Block>::with_capacity(size.div_ceil(Block::BYTES));
        write(memory.as_mut_ptr().cast()).then_some(Self(memory))
    }

    fn raw(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

const REFUSED: &str = "the implementation returned an error";

#[derive(Clone, Copy)]
struct MlDsa {
    set: u8,
    public_key: usize,
    private_key: usize,
    signature: usize,
    /// Bytes of a pair, a private and a public key object.
    places: [usize; 3],
}

impl MlDsa {
    fn new(set: u8, public_key: usize, private_key: usize, signature: usize) -> Self {
        let mut places = [0; 3];
        // SAFETY: the set is one of the three.
        unsafe { zig_dsa_places(set, &mut places) };
        Self {
            set,
            public_key,
            private_key,
            signature,
            places,
        }
    }
}

impl Scheme for MlDsa {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (of, seed) = (*self, input.seed()?);
        let operation = move || {
            let mut public = vec![0; of.public_key];
            // SAFETY: the place and the bytes have the sizes of the set.
            let pair = Place::new(of.places[0], |place| unsafe {
                zig_dsa_pair(of.set, &seed, place, public.as_mut_ptr());
                true
            });
            pair.map(|pair| (pair, public)).ok_or(REFUSED)
        };
        job(operation, move |(pair, public)| {
            let mut private = vec![0; of.private_key];
            // SAFETY: `pair` is one, the bytes have the size of the set.
            unsafe { zig_dsa_pair_private(of.set, pair.raw(), private.as_mut_ptr()) };
            Output::key_pair(public, private)
        })
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let of = *self;
        let sk = of_length(input.sk()?, "sk", of.private_key)?;
        let key: Rc<Place> = shared(sk.clone(), || {
            // SAFETY: the place and the bytes have the sizes of the set.
            let key = Place::new(of.places[1], |place| unsafe {
                zig_dsa_private(of.set, sk.as_ptr(), place)
            });
            key.ok_or_else(|| REFUSED.into())
        })?;
        let (rnd, message, context) = (input.rnd()?, input.message()?, input.context()?);
        let operation = move || {
            let mut signature = vec![0; of.signature];
            // SAFETY: `key` is a private one; the bytes have the lengths given, the signature that of the
            // set.
            let signed = unsafe {
                zig_dsa_sign(
                    of.set,
                    key.raw(),
                    message.as_ptr(),
                    message.len(),
                    context.as_ptr(),
                    context.len(),
                    &rnd,
                    signature.as_mut_ptr(),
                )
            };
            signed.then_some(signature).ok_or(REFUSED)
        };
        job(operation, Output::Bytes)
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let of = *self;
        let parsed = of_length(input.pk()?, "pk", of.public_key).and_then(|pk| {
            shared(pk.clone(), || {
                // SAFETY: the place and the bytes have the sizes of the set.
                let key = Place::new(of.places[2], |place| unsafe {
                    zig_dsa_public(of.set, pk.as_ptr(), place)
                });
                key.ok_or_else(|| REFUSED.into())
            })
        });
        let Ok::<Rc<Place>, _>(key) = parsed else {
            return refused();
        };
        let (message, context) = (input.message()?, input.context()?);
        let signature = input.signature()?;
        verdict(move || {
            // SAFETY: `key` is a public one; the bytes have the lengths given, the signature that of
            // the set.
            signature.len() == of.signature
                && unsafe {
                    zig_dsa_verify(
                        of.set,
                        key.raw(),
                        message.as_ptr(),
                        message.len(),
                        context.as_ptr(),
                        context.len(),
                        signature.as_ptr(),
                    )
                }
        })
    }
}

#[derive(Clone, Copy)]
struct MlKem {
    set: u8,
    public_key: usize,
    private_key: usize,
    ciphertext: usize,
    /// Bytes of a pair and of a public key object.
    places: [usize; 2],
}

impl MlKem {
    fn new(set: u8, public_key: usize, private_key: usize, ciphertext: usize) -> Self {
        let mut places = [0; 2];
        // SAFETY: the set is one of the three.
        unsafe { zig_kem_places(set, &mut places) };
        Self {
            set,
            public_key,
            private_key,
            ciphertext,
            places,
        }
    }

    /// The key pair of a seed, and its public key's bytes.
    fn pair(&self, seed: &[u8; 64]) -> Result<(Place, Vec<u8>), String> {
        let mut public = vec![0; self.public_key];
        // SAFETY: the place and the bytes have the sizes of the set.
        let pair = Place::new(self.places[0], |place| unsafe {
            zig_kem_pair(self.set, seed, place, public.as_mut_ptr())
        });
        pair.map(|pair| (pair, public))
            .ok_or_else(|| REFUSED.into())
    }
}

impl Scheme for MlKem {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (of, seed) = (*self, input.kem_seed()?);
        job(
            move || of.pair(&seed),
            move |(pair, public)| {
                let mut private = vec![0; of.private_key];
                // SAFETY: `pair` is one, the bytes have the size of the set.
                unsafe { zig_kem_pair_private(of.set, pair.raw(), private.as_mut_ptr()) };
                Output::key_pair(public, private)
            },
        )
    }

    fn encaps(&self, input: &Fields) -> Prepared {
        let of = *self;
        let pk = of_length(input.pk()?, "pk", of.public_key)?;
        let key: Rc<Place> = shared(pk.clone(), || {
            // SAFETY: the place and the bytes have the sizes of the set.
            let key = Place::new(of.places[1], |place| unsafe {
                zig_kem_public(of.set, pk.as_ptr(), place)
            });
            key.ok_or_else(|| REFUSED.into())
        })?;
        let m = input.rnd()?;
        let operation = move || {
            let mut both = vec![0; of.ciphertext + 32];
            // SAFETY: `key` is a public one; the bytes have the size of ciphertext and secret.
            unsafe { zig_kem_encaps(of.set, key.raw(), &m, both.as_mut_ptr()) };
            Ok::<_, ()>(both)
        };
        job(operation, Output::Bytes)
    }

    fn decaps(&self, input: &Fields) -> Prepared {
        let (of, seed) = (*self, input.kem_seed()?);
        let key: Rc<Place> = shared([&[of.set], &seed[..]].concat(), || {
            of.pair(&seed).map(|(pair, _)| pair)
        })?;
        let ciphertext = of_length(&input.ciphertext()?, "ciphertext", of.ciphertext)?;
        let operation = move || {
            let mut secret = [0; 32];
            // SAFETY: `key` is a pair; the ciphertext has the size of the set.
            let status =
                unsafe { zig_kem_decaps(of.set, key.raw(), ciphertext.as_ptr(), &mut secret) };
            status.then_some(secret).ok_or(REFUSED)
        };
        job(operation, Output::bytes)
    }
}
