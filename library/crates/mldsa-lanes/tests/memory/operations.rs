//! Every operation of the library as a caller makes it, for any set and backend.

use crate::own_stack::{Pause, Work};
use mldsa_lanes::batch::{self, SignJob, VerifyJob};
use mldsa_lanes::hazmat::{self, with_max_attempts, with_rnd};
use mldsa_lanes::pkcs8::{DecodePrivateKey, LineEnding};
use mldsa_lanes::{
    Backend, Context, ExpandedSigningKey, ExpandedVerifyingKey, Input, Mu, ParameterSet, Place,
    PrivateKeyForm, SignOptions, Signature, SigningKey, VerifyingKey, Workspace, encryption,
    hardened, pem,
};
use mldsa_oracle as oracle;
use std::convert::Infallible;
use std::mem::ManuallyDrop;
use std::slice;
use std::sync::Mutex;

/// A name and the call.
pub type Operation<'a> = (&'static str, Box<Work<'a>>);

/// Jobs of a batch: more than a group of eight.
const JOBS: usize = 10;

const CONTEXT: Context<'_> = match Context::new(b"c") {
    Ok(context) => context,
    Err(_) => panic!("more than 255 bytes"),
};

/// What the operations on one parameter set take. Each key, message and `rnd` stays on the heap,
/// outside the stacks that are searched.
pub struct Given {
    pub xi: [u8; 32],
    pub rnd: [u8; 32],
    pub message: Vec<u8>,
    /// μ of `message` with context `b"c"`, and another.
    pub mus: [Mu; 2],
    pub pk: Vec<u8>,
    pub sk: Vec<u8>,
    /// Attempts that the first signature takes: 2 to 5, so at least one is rejected.
    pub attempts: u32,
}

/// The signatures that the operations make: μ's number, and whether `rnd` is that of [`Given`].
pub const SIGNED: [(usize, bool); 3] = [(0, false), (0, true), (1, false)];

impl Given {
    pub fn new(p: &oracle::Params) -> Box<Self> {
        // Told apart by a number; 64 bytes each.
        let random = |number: u8| oracle::h(&[b"memory", p.name.as_bytes(), &[number]], 64);
        let xi = random(0)[..32].try_into().unwrap();
        let (pk, sk) = oracle::keygen(p, &xi);
        let tr = oracle::sk_decode(p, &sk).tr;
        let signed = (1..255).map(|number| {
            let message = random(number);
            let m_prime = oracle::pure_m_prime(&message, b"c").expect("a short context");
            let mu = oracle::message_representative(&tr, &m_prime);
            let (_, trace) = oracle::sign_mu(p, &sk, &mu, &[0; 32]);
            (message, mu, trace.len() as u32)
        });
        let suits = |(_, _, attempts): &(_, _, u32)| (2..=5).contains(attempts);
        let (message, mu, attempts) = { signed }.find(suits).expect("one message in two");
        Box::new(Given {
            xi,
            rnd: random(255)[..32].try_into().unwrap(),
            message,
            mus: [mu, oracle::h(&[&mu], 64).try_into().unwrap()].map(hazmat::external_mu),
            pk,
            sk,
            attempts,
        })
    }

    pub fn rnd(&self, given: bool) -> &[u8; 32] {
        if given { &self.rnd } else { &[0; 32] }
    }
}

/// A generator that hands out the same 32 bytes.
struct Same<'a>(&'a [u8; 32]);

impl rand_core::TryRng for Same<'_> {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the library asks for bytes")
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("the library asks for bytes")
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        out.copy_from_slice(self.0);
        Ok(())
    }
}
impl rand_core::TryCryptoRng for Same<'_> {}

/// The keys of [`Given`] on one backend, and what else the operations borrow.
pub struct Keys<'g, P: ParameterSet> {
    given: &'g Given,
    backend: Backend,
    key: Box<SigningKey<P>>,
    expanded: Box<ExpandedSigningKey<P>>,
    public: Box<VerifyingKey<P>>,
    expanded_public: Box<ExpandedVerifyingKey<P>>,
    signature: Box<Signature<P>>,
    hardened: Box<hardened::SigningKey<P>>,
    hardened_public: Box<hardened::VerifyingKey<P>>,
    /// Refused as private keys: s1, t0 or tr is wrong.
    refused: [Vec<u8>; 3],
    seeds: Vec<[u8; 32]>,
    /// Where a drawn seed goes.
    seed: Box<Mutex<[u8; 32]>>,
    /// `rnd` of [`Keys::jobs`].
    rnds: Vec<[u8; 32]>,
    place: Box<Mutex<Place<ExpandedSigningKey<P>>>>,
    public_place: Box<Mutex<Place<ExpandedVerifyingKey<P>>>>,
    workspace: Box<Mutex<Workspace<P>>>,
}

impl<'g, P: ParameterSet> Keys<'g, P> {
    pub fn new(backend: Backend, given: &'g Given) -> Box<Self> {
        let key = Box::new(SigningKey::<P>::from_seed_on(backend, &given.xi));
        assert_eq!(key.encoded_bytes().as_ref(), given.sk);
        let public = Box::new(key.verifying_key().clone());
        let altered = |at: usize, mask: u8| {
            let mut sk = given.sk.clone();
            sk[at] |= mask;
            sk
        };
        Box::new(Keys {
            given,
            backend,
            expanded: key.expand(),
            expanded_public: public.expand(),
            hardened: Box::new(hardened::SigningKey::new(&key).unwrap()),
            hardened_public: Box::new(hardened::VerifyingKey::new(&public).unwrap()),
            signature: Box::new(
                key.sign_deterministic((&given.message[..], CONTEXT))
                    .unwrap(),
            ),
            // The last string of s1 or s2, the last of t0, and tr.
            refused: [
                altered(P::SIGNING_KEY_BYTES - 416 * P::K - 1, 0xff),
                {
                    let mut sk = given.sk.clone();
                    *sk.last_mut().unwrap() ^= 1;
                    sk
                },
                {
                    let mut sk = given.sk.clone();
                    sk[64] ^= 1;
                    sk
                },
            ],
            seeds: vec![given.xi; JOBS],
            seed: Box::default(),
            rnds: (0..JOBS)
                .map(|i| *given.rnd(SIGNED[i % SIGNED.len()].1))
                .collect(),
            place: Box::new(Mutex::new(Place::<ExpandedSigningKey<P>>::new())),
            public_place: Box::new(Mutex::new(Place::<ExpandedVerifyingKey<P>>::new())),
            workspace: Box::new(Mutex::new(Workspace::new())),
            key,
            public,
        })
    }

    fn input(&self) -> Input<'_> {
        Input::Mu(&self.given.mus[0])
    }

    /// The message of [`Keys::input`], still to be hashed.
    fn pure(&self) -> Input<'_> {
        (&self.given.message[..], CONTEXT).into()
    }

    /// Jobs that go through all of [`SIGNED`].
    fn jobs(&self, expanded: impl Fn(usize) -> bool) -> Vec<SignJob<'_, P>> {
        let job = |i: usize| {
            let (mu, _) = SIGNED[i % SIGNED.len()];
            SignJob {
                key: match expanded(i) {
                    true => (&*self.expanded).into(),
                    false => (&*self.key).into(),
                },
                input: match mu {
                    0 => self.pure(),
                    _ => Input::Mu(&self.given.mus[mu]),
                },
            }
        };
        (0..JOBS).map(job).collect()
    }

    /// All operations. A new one is a line here: its name is the row of library/evidence/stack.md.
    #[rustfmt::skip]
    pub fn operations(&self) -> Vec<Operation<'_>> {
        let mut all: Vec<Operation<'_>> = Vec::new();
        macro_rules! operation {
            ($name:expr, $call:expr) => {
                all.push(($name, Box::new(move |pause: &Pause| {
                    let result = $call;
                    pause.with(&result);
                })));
            };
        }
        let Given { xi, rnd, message, sk, pk, attempts, .. } = self.given;
        let backend = self.backend;
        if backend == Backend::detect() {
            operation!("generate", SigningKey::<P>::generate(&mut Same(xi)));
            operation!("generate_in a workspace", SigningKey::<P>::generate_in(&mut self.workspace.lock().unwrap(), &mut Same(xi)));
        }
        operation!("from_seed", SigningKey::<P>::from_seed_on(backend, xi));
        operation!("from_seed_in a workspace", SigningKey::<P>::from_seed_in(&mut self.workspace.lock().unwrap(), backend, xi));
        operation!("from_encoded_bytes_in a workspace", SigningKey::<P>::from_encoded_bytes_in(&mut self.workspace.lock().unwrap(), backend, sk));
        operation!("from_encoded_bytes_in a workspace, t0 refused", SigningKey::<P>::from_encoded_bytes_in(&mut self.workspace.lock().unwrap(), backend, &self.refused[1]));
        operation!("from_encoded_bytes", SigningKey::<P>::from_encoded_bytes_on(backend, sk));
        operation!("from_encoded_bytes, length refused", SigningKey::<P>::from_encoded_bytes_on(backend, &sk[1..]));
        operation!("from_encoded_bytes, s1 refused", SigningKey::<P>::from_encoded_bytes_on(backend, &self.refused[0]));
        operation!("from_encoded_bytes, t0 refused", SigningKey::<P>::from_encoded_bytes_on(backend, &self.refused[1]));
        operation!("from_encoded_bytes, tr refused", SigningKey::<P>::from_encoded_bytes_on(backend, &self.refused[2]));
        operation!("clone", (*self.key).clone());
        operation!("expand", self.key.expand());
        let key = &self.key;
        // Reading takes the backend that is detected.
        if backend == Backend::detect() {
            use PrivateKeyForm::{Both, ExpandedKey, Seed};
            for (form, write, read) in [
                (Seed, "to_pkcs8_der_as Seed", "from_pkcs8_der, Seed"),
                (ExpandedKey, "to_pkcs8_der_as ExpandedKey", "from_pkcs8_der, ExpandedKey"),
                (Both, "to_pkcs8_der_as Both", "from_pkcs8_der, Both"),
            ] {
                operation!(write, key.to_pkcs8_der_as(form));
                let der = key.to_pkcs8_der_as(form).unwrap();
                operation!(read, SigningKey::<P>::from_pkcs8_der(der.as_bytes()));
            }
            let pem = key.to_pkcs8_der_as(Both).unwrap().to_pem("PRIVATE KEY", LineEnding::CRLF).unwrap();
            operation!("pem::read_private_key, Both", pem::read_private_key::<SigningKey<P>>(pem.as_bytes()));
            let mut der = key.to_pkcs8_der_as(Both).unwrap().to_bytes();
            let document = key.to_pkcs8_der_as(Both).unwrap();
            let encrypted = encryption::encrypt(&document, b"password", &mut Same(&[9; 32])).unwrap();
            operation!("encryption::encrypt, Both", encryption::encrypt(&document, b"password", &mut Same(&[9; 32])));
            let read = encryption::read_private_key::<SigningKey<P>>;
            operation!("encryption::read_private_key, Both", read(encrypted.as_bytes(), b"password"));
            *der.last_mut().unwrap() ^= 1;
            operation!("from_pkcs8_der, Both, refused", SigningKey::<P>::from_pkcs8_der(&der));
        }
        let pure = move || (&message[..], CONTEXT);
        let given = move || with_rnd(slice::from_ref(rnd));
        let few = move || with_max_attempts(SignOptions::deterministic(), attempts - 1);
        operation!("sign_hedged", key.sign_hedged(pure(), &mut Same(rnd)));
        operation!("sign_deterministic", key.sign_deterministic(pure()));
        operation!("sign_with, mu", key.sign_with(self.input(), given()));
        operation!("sign_with, limit reached", key.sign_with(self.input(), few()));
        let expanded = &self.expanded;
        operation!("sign_hedged, expanded key", expanded.sign_hedged(pure(), &mut Same(rnd)));
        operation!("sign_deterministic, expanded key", expanded.sign_deterministic(pure()));
        operation!("sign_with, mu, expanded key", expanded.sign_with(self.input(), given()));
        operation!("sign_with, expanded key, limit reached", expanded.sign_with(self.input(), few()));
        operation!("sign_in a workspace", expanded.sign_in(&mut self.workspace.lock().unwrap(), self.input(), SignOptions::hedged(&mut Same(rnd))));
        operation!("sign_in a workspace, limit reached", expanded.sign_in(&mut self.workspace.lock().unwrap(), self.input(), few()));
        // Never dropped, so that only `sign_in` and `wipe` can have wiped what is left of them.
        operation!("sign_in, its room on the stack", expanded.sign_in(&mut ManuallyDrop::new(Workspace::new()), self.input(), given()));
        operation!("Place::fill and wipe, on the stack", {
            let mut place = ManuallyDrop::new(Place::<ExpandedSigningKey<P>>::new());
            place.fill(key);
            place.wipe();
        });
        operation!("Place::fill and wipe", {
            let mut place = self.place.lock().unwrap();
            place.fill(key);
            place.wipe();
        });
        operation!("verifying_key", key.verifying_key().clone());
        operation!("VerifyingKey::from_bytes", VerifyingKey::<P>::from_bytes(pk));
        operation!("VerifyingKey::expand", self.public.expand());
        operation!("Place::fill, public key", {
            self.public_place.lock().unwrap().fill(&self.public);
        });
        operation!("verify_signature", self.public.verify_signature(pure(), &self.signature));
        operation!("verify_signature, mu", self.public.verify_signature(self.input(), &self.signature));
        operation!("verify_signature, expanded key", self.expanded_public.verify_signature(pure(), &self.signature));
        operation!("verify_signature, mu, expanded key", self.expanded_public.verify_signature(self.input(), &self.signature));
        operation!("hardened: from_seed", hardened::SigningKey::<P>::from_seed_on(backend, xi));
        operation!("hardened: from_encoded_bytes", hardened::SigningKey::<P>::from_encoded_bytes_on(backend, sk));
        operation!("hardened: generate", hardened::SigningKey::<P>::generate(&mut Same(xi), &mut self.seed.lock().unwrap()));
        let hardened = &self.hardened;
        operation!("hardened: encoded_bytes", hardened.encoded_bytes().is_ok());
        operation!("hardened: verifying_key", hardened.verifying_key().is_ok());
        operation!("hardened: confirm_seed", hardened.confirm_seed(xi, &self.public));
        operation!("hardened: confirm_encoded_bytes", hardened.confirm_encoded_bytes(sk, &self.public));
        operation!("hardened: sign_into", {
            let mut signature = Signature::default();
            let proof = hardened.sign_into(pure(), SignOptions::hedged(&mut Same(rnd)), &mut signature);
            (proof, signature)
        });
        operation!("hardened: verify_signature", self.hardened_public.verify_signature(pure(), &self.signature));
        let rnds = &self.rnds;
        let jobs = self.jobs(|_| false);
        operation!("batch::sign", batch::sign(&jobs, with_rnd(rnds)));
        let jobs = self.jobs(|_| true);
        operation!("batch::sign, expanded key", batch::sign(&jobs, with_rnd(rnds)));
        let jobs = self.jobs(|i| i % 2 == 0);
        operation!("batch::sign, both kinds of key", batch::sign(&jobs, with_rnd(rnds)));
        let jobs = self.jobs(|i| i % 2 == 0);
        operation!("batch::sign, hedged", batch::sign(&jobs, SignOptions::hedged(&mut Same(rnd))));
        let jobs = self.jobs(|i| i % 2 == 0);
        operation!("batch::sign, limit reached", batch::sign(&jobs, with_max_attempts(with_rnd(rnds), attempts - 1)));
        let jobs = self.jobs(|_| false);
        operation!("batch::sign, one job", batch::sign(&jobs[1..2], with_rnd(&rnds[1..2])));
        let verify_job = |key| VerifyJob { key, input: self.pure(), signature: &*self.signature };
        let jobs = vec![verify_job((&*self.public).into()); JOBS];
        operation!("batch::verify", batch::verify(&jobs));
        let jobs = vec![verify_job((&*self.expanded_public).into()); JOBS];
        operation!("batch::verify, expanded key", batch::verify(&jobs));
        let seeds = &self.seeds;
        operation!("batch::keygen", batch::keygen::<P>(backend, seeds));
        operation!("batch::keygen_expanded", {
            let mut keys = Vec::<ExpandedSigningKey<P>>::new();
            batch::keygen_expanded(backend, seeds, &mut keys);
            keys
        });
        all
    }
}
