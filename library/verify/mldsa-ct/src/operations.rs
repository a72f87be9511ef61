//! The operations, each from inputs whose secrets are marked.

use core::convert::Infallible;

use mldsa_lanes::batch::SignJob;
use mldsa_lanes::hazmat::{with_max_attempts, with_rnd};
use mldsa_lanes::pkcs8::DecodePrivateKey;
use mldsa_lanes::{
    Backend, Error, ExpandedSigningKey, ParameterSet, PrivateKeyForm, SignOptions, Signature,
    SigningKey, Workspace, batch, ct, hardened,
};
use mldsa_oracle::PreHash;
use rand_core::{TryCryptoRng, TryRng};

use crate::cases::Case;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Keygen,
    Import,
    ImportRefused,
    Pkcs8,
    Sign,
    SignExpanded,
    SignBounded,
    SignHardened,
    BatchKeygen,
    BatchKeygenExpanded,
    BatchSign,
}

impl Operation {
    pub const ALL: [Operation; 11] = [
        Operation::Keygen,
        Operation::Import,
        Operation::ImportRefused,
        Operation::Pkcs8,
        Operation::Sign,
        Operation::SignExpanded,
        Operation::SignBounded,
        Operation::SignHardened,
        Operation::BatchKeygen,
        Operation::BatchKeygenExpanded,
        Operation::BatchSign,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Operation::Keygen => "key generation",
            Operation::Import => "key import",
            Operation::ImportRefused => "key import, refused",
            Operation::Pkcs8 => "PKCS#8, read and written",
            Operation::Sign => "sign, compact key",
            Operation::SignExpanded => "sign, expanded key",
            Operation::SignBounded => "sign, too few attempts",
            Operation::SignHardened => "hardened: keys, sign",
            Operation::BatchKeygen => "key generation, batch",
            Operation::BatchKeygenExpanded => "expanded keys, batch",
            Operation::BatchSign => "sign, batch",
        }
    }

    /// Carries the operation out on one case. Panics if its result is wrong, which would mean that
    /// something else has been checked than what users call.
    pub fn run<P: ParameterSet>(self, backend: Backend, case: &Case) {
        match self {
            Operation::Keygen => {
                let mut xi = case.xi;
                ct::secret(&mut xi);
                let mut workspace = Workspace::new();
                let key = SigningKey::<P>::from_seed_in(&mut workspace, backend, &xi);
                for key in [key, generate::<P>(backend, case)] {
                    let mut sk = key.encoded_bytes().as_ref().to_vec();
                    ct::publish(&mut sk);
                    assert!(sk == case.sk, "{}: a wrong key", P::NAME);
                }
            }
            Operation::Import => {
                let key = import::<P>(backend, &case.sk).expect("a valid key");
                let other = import::<P>(backend, &case.sk).expect("a valid key");
                assert!(key == other && key.expand() == other.expand());
            }
            Operation::ImportRefused => refused_imports::<P>(backend, case),
            Operation::Pkcs8 => pkcs8::<P>(backend, case),
            Operation::Sign => {
                let key = import::<P>(backend, &case.sk).expect("a valid key");
                signed(case, key.sign_with(case.input(), with_rnd(&[secret_rnd()])));
            }
            Operation::SignExpanded => {
                signed(
                    case,
                    expanded::<P>(backend, case).sign_with(case.input(), with_rnd(&[secret_rnd()])),
                );
            }
            Operation::SignBounded => {
                let allowed = case.ends.len() as u32 - 1;
                let rnds = [secret_rnd()];
                let options = with_max_attempts(with_rnd(&rnds), allowed);
                let result = expanded::<P>(backend, case).sign_with(case.input(), options);
                assert!(result == Err(Error::TooManyAttempts { allowed }));
            }
            Operation::SignHardened => hardened::<P>(backend, case),
            Operation::BatchKeygen => {
                let keys = batch::keygen::<P>(backend, &secret_seeds(case));
                let mut sk = keys[4].encoded_bytes().as_ref().to_vec();
                ct::publish(&mut sk);
                assert!(sk == case.sk, "{}: a wrong key in a batch", P::NAME);
            }
            Operation::BatchKeygenExpanded => {
                let mut keys = Vec::new();
                batch::keygen_expanded::<P>(backend, &secret_seeds(case), &mut keys);
                signed(
                    case,
                    keys[4].sign_with(case.input(), with_rnd(&[secret_rnd()])),
                );
            }
            Operation::BatchSign => signed_in_a_batch::<P>(backend, case),
        }
    }
}

/// More seeds than lanes, so that a second group is begun; the fifth is the case's.
fn secret_seeds(case: &Case) -> [[u8; 32]; 6] {
    let mut seeds: [[u8; 32]; 6] = core::array::from_fn(|i| [i as u8; 32]);
    seeds[4] = case.xi;
    ct::secret(seeds.as_flattened_mut());
    seeds
}

/// A key generated from a secret ξ.
pub fn generate<P: ParameterSet>(backend: Backend, case: &Case) -> SigningKey<P> {
    let mut xi = case.xi;
    ct::secret(&mut xi);
    SigningKey::from_seed_on(backend, &xi)
}

/// `sk` read with K, s1, s2 and t0 secret; rho and tr are the public key and its hash.
fn import<P: ParameterSet>(backend: Backend, sk: &[u8]) -> Result<SigningKey<P>, Error> {
    let mut sk = sk.to_vec();
    ct::secret(&mut sk[32..64]);
    ct::secret(&mut sk[128..]);
    SigningKey::from_encoded_bytes_on(backend, &sk)
}

fn expanded<P: ParameterSet>(backend: Backend, case: &Case) -> Box<ExpandedSigningKey<P>> {
    import::<P>(backend, &case.sk)
        .expect("a valid key")
        .expand()
}

/// rnd = 0, as in the known answers, but secret.
fn secret_rnd() -> [u8; 32] {
    let mut rnd = [0; 32];
    ct::secret(&mut rnd);
    rnd
}

/// The case three times, with both forms of the key, among jobs that end earlier or later.
fn signed_in_a_batch<P: ParameterSet>(backend: Backend, case: &Case) {
    let compact = import::<P>(backend, &case.sk).expect("a valid key");
    let expanded = compact.expand();
    let rnds = [(); 7].map(|()| secret_rnd());
    let jobs: Vec<_> = (0..7u8)
        .map(|i| SignJob {
            key: if i < 3 {
                (&compact).into()
            } else {
                (&expanded).into()
            },
            input: match i {
                0 | 4 | 6 => case.input(),
                _ => [0u8; 7].as_slice()[usize::from(i)..].into(),
            },
        })
        .collect();
    let results = batch::sign(&jobs, with_rnd(&rnds)).expect("a value of rnd for each");
    for (i, result) in results.into_iter().enumerate() {
        if matches!(i, 0 | 4 | 6) {
            signed(case, result);
        } else {
            result.expect("within 821 attempts");
        }
    }
}

/// A drawn key, which signs hedged, and the case's.
fn hardened<P: ParameterSet>(backend: Backend, case: &Case) {
    let mut rng = Secrets(0);
    let drawn = hardened::SigningKey::<P>::generate(&mut rng, &mut [0; 32]).expect("no fault");
    let mut signature = Signature::default();
    let options = SignOptions::hedged(&mut rng);
    let proof = drawn.sign_into(b"message", options, &mut signature);
    assert!(proof.is_ok(), "{}: a fault", P::NAME);
    let key = import::<P>(backend, &case.sk).expect("a valid key");
    let key = hardened::SigningKey::new(&key).expect("no fault");
    let options = SignOptions::deterministic();
    let proof = key.sign_into(case.input(), options, &mut signature);
    assert!(proof.is_ok(), "{}: a fault", P::NAME);
    signed(case, Ok(signature));
}

/// Secret draws: hashes of their numbers.
struct Secrets(u64);

impl TryRng for Secrets {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("draws are whole")
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("draws are whole")
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0 += 1;
        out.copy_from_slice(&PreHash::Sha2_256.digest(&self.0.to_le_bytes()));
        ct::secret(out);
        Ok(())
    }
}
impl TryCryptoRng for Secrets {}

fn signed<P: ParameterSet>(case: &Case, result: Result<Signature<P>, Error>) {
    let mut bytes = result.expect("within 821 attempts").as_ref().to_vec();
    // z is public in the caller's hands; nothing before needs it to be.
    ct::publish(&mut bytes);
    assert!(case.is_answer(&bytes), "{}: a wrong signature", P::NAME);
}

/// The seed and the encoded private key of a file, secret but for rho and tr: read, refused where they are of
/// two keys, and written. Reading takes the backend that is detected, so it is done once.
fn pkcs8<P: ParameterSet>(backend: Backend, case: &Case) {
    if backend != Backend::detect() {
        return;
    }
    let key = SigningKey::<P>::from_seed_on(backend, &case.xi);
    let both = key.to_pkcs8_der_as(PrivateKeyForm::Both).expect("a seed");
    // The encoded private key ends the file; the seed is before its tag and length of 4 bytes.
    let sk = both.as_bytes().len() - case.sk.len();
    for (flip, valid) in [(0, true), (1, false)] {
        let mut der = both.as_bytes().to_vec();
        der[sk + 40] ^= flip;
        ct::secret(&mut der[sk - 36..sk - 4]);
        ct::secret(&mut der[sk + 32..sk + 64]);
        ct::secret(&mut der[sk + 128..]);
        let read = SigningKey::<P>::from_pkcs8_der(&der);
        assert!(read.is_ok() == valid, "{}: a verdict on PKCS#8", P::NAME);
        if let Ok(read) = read {
            let written = read.to_pkcs8_der_as(PrivateKeyForm::Both);
            let mut written = written.expect("a seed").as_bytes().to_vec();
            ct::publish(&mut written);
            assert!(written == both.as_bytes(), "{}: another file", P::NAME);
        }
    }
}

/// A coefficient of s1 out of range, another t0, another tr.
fn refused_imports<P: ParameterSet>(backend: Backend, case: &Case) {
    let last = case.sk.len() - 1;
    for (at, flip) in [(128, 0xff), (last, 1), (64, 1)] {
        let mut sk = case.sk.clone();
        sk[at] ^= flip;
        let refused = import::<P>(backend, &sk);
        assert!(
            matches!(refused, Err(Error::InvalidSigningKey(_))),
            "{}: a wrong key passes, byte {at}",
            P::NAME
        );
    }
}
