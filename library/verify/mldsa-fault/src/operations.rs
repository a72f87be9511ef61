//! What is disturbed: operations of the library, plain and hardened.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use mldsa_lanes::hazmat::with_rnd;
use mldsa_lanes::{
    Backend, Context, Input, ParameterSet, SignOptions, Signature, SigningKey, VerifyingKey,
    hardened,
};
use rand_core::{TryCryptoRng, TryRng};

use mldsa_oracle::{by_name, h, message_representative, pure_m_prime, sig_encode, w1_encode};

use crate::callers::{self, Pair};
use crate::judge::{Truth, Verdict};
use crate::machine::End;
use crate::numbers::Numbers;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A deterministic signature with a key in memory.
    Sign,
    /// A hedged one.
    Hedge,
    /// A private key read from bytes and prepared; then it signs, undisturbed.
    Load,
    /// A signature that is not valid.
    Verify,
    /// A public key read from bytes and a signature that is not valid; then the key is compared with the
    /// stored one.
    LoadPublic,
    /// A key from its seed; then it signs, undisturbed.
    Keygen,
    /// The same, in the hardened mode with the key in a box.
    Boxed,
    /// A key from a random number generator; then it signs, undisturbed.
    Generate,
}

impl Operation {
    /// Each with its share in percent.
    pub const ALL: [(Operation, u64); 8] = [
        (Operation::Sign, 30),
        (Operation::Hedge, 15),
        (Operation::Verify, 15),
        (Operation::Load, 15),
        (Operation::LoadPublic, 5),
        (Operation::Keygen, 10),
        (Operation::Boxed, 5),
        (Operation::Generate, 5),
    ];

    /// All of them.
    pub fn by_default() -> Vec<Operation> {
        Self::ALL.map(|(operation, _)| operation).into()
    }

    /// The operations of this text, names with commas between them.
    pub fn named(text: &str) -> Option<Vec<Operation>> {
        let all = Self::ALL.map(|(operation, _)| operation);
        let named = text.split(',');
        named
            .map(|name| all.into_iter().find(|operation| operation.name() == name))
            .collect()
    }

    pub fn name(self) -> &'static str {
        match self {
            Operation::Sign => "sign",
            Operation::Hedge => "hedge",
            Operation::Load => "load",
            Operation::Verify => "verify",
            Operation::LoadPublic => "load-public",
            Operation::Keygen => "keygen",
            Operation::Boxed => "boxed",
            Operation::Generate => "generate",
        }
    }
}

/// Whether an output is as it says.
type Test = Box<dyn Fn(&[u8]) -> bool>;

/// An operation on inputs of its own.
pub struct Case {
    pub run: Box<dyn FnMut() -> Option<Vec<u8>>>,
    /// The key in memory: address and bytes.
    pub key: (usize, usize),
    pub operation: Operation,
    truth: Truth,
    /// Whether a public key, with a signature behind it, is that of a seed which differs in a bit, or of
    /// what the generator gave.
    of_a_near_seed: Test,
    /// Whether a signature is that of a message which differs in a bit.
    of_a_near_message: Test,
}

impl Case {
    /// What a fault's end counts as, one of [`OUTCOMES`](crate::worker::OUTCOMES), if it counts.
    pub fn outcome(&self, end: End) -> Option<&'static str> {
        Some(match end {
            End::Missed => return None,
            End::Refused if self.operation == Operation::Verify => "right",
            End::Refused => "refused",
            End::Panicked => "panic",
            End::Crashed => "crash",
            End::Hung => "hang",
            End::Output(output) => match self.judge(&output) {
                Verdict::Same => "right",
                Verdict::Other => "other",
                Verdict::Unbounded => "unbounded",
                Verdict::Wrong => "wrong",
                Verdict::Revealing => "revealing",
            },
        })
    }

    /// The verdict on an output.
    fn judge(&self, output: &[u8]) -> Verdict {
        match self.operation {
            Operation::Sign | Operation::Hedge => match self.truth.judge(output) {
                Verdict::Wrong if (self.of_a_near_message)(output) => Verdict::Other,
                verdict => verdict,
            },
            Operation::LoadPublic if output == self.truth.pk => Verdict::Same,
            // An invalid signature was accepted, or another key was read.
            Operation::Verify | Operation::LoadPublic => Verdict::Wrong,
            // The public key and a signature.
            Operation::Load | Operation::Keygen | Operation::Boxed | Operation::Generate => {
                match output.strip_prefix(self.truth.pk.as_slice()) {
                    Some(rest) => self.truth.judge(&rest[..self.truth.signature.len()]),
                    None if (self.of_a_near_seed)(output) => Verdict::Other,
                    None => Verdict::Wrong,
                }
            }
        }
    }

    /// Whether the output is what an operation without a fault gives.
    pub fn is_right(&self, output: Option<&[u8]>) -> bool {
        match (self.operation, output) {
            (Operation::Verify, output) => output.is_none(),
            (_, Some(output)) => self.judge(output) == Verdict::Same,
            (_, None) => false,
        }
    }
}

fn place<T>(value: &T) -> (usize, usize) {
    (std::ptr::from_ref(value) as usize, size_of_val(value))
}

fn bytes<P: ParameterSet>(signature: &Signature<P>) -> Vec<u8> {
    signature.as_bytes().as_ref().to_vec()
}

/// What is signed.
#[derive(Clone, Debug, Default)]
pub struct Text {
    pub message: Vec<u8>,
    pub context: Vec<u8>,
}

impl Text {
    pub fn context(&self) -> Context<'_> {
        Context::new(&self.context).expect("a short context")
    }

    fn input(&self) -> Input<'_> {
        (&*self.message, self.context()).into()
    }

    /// All that differ in a bit.
    fn near(&self) -> impl Iterator<Item = Text> {
        let [message, context] = [&self.message, &self.context].map(|bytes| 8 * bytes.len());
        (0..message + context).map(move |bit| {
            let mut near = self.clone();
            match bit.checked_sub(message) {
                None => near.message[bit / 8] ^= 1 << (bit % 8),
                Some(bit) => near.context[bit / 8] ^= 1 << (bit % 8),
            }
            near
        })
    }
}

/// The text of the last case, for what follows an operation: a fault may leave the operation's caller
/// with other registers, or with another stack, which the library cannot see.
static TEXT: Mutex<Text> = Mutex::new(Text {
    message: Vec::new(),
    context: Vec::new(),
});

pub fn the_text() -> Text {
    TEXT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Gives one seed.
pub struct Rng([u8; 32]);

/// What an [`Rng`] gave last, whatever state a fault made it start from.
static GIVEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

impl TryRng for Rng {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("draws are whole")
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("draws are whole")
    }
    // Not disturbed, so not a part of the library's functions.
    #[inline(never)]
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        out.copy_from_slice(&self.0);
        *GIVEN.lock().unwrap_or_else(PoisonError::into_inner) = out.to_vec();
        Ok(())
    }
}
impl TryCryptoRng for Rng {}

fn given() -> Vec<u8> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// All strings that differ in a bit.
fn near(bytes: [u8; 32]) -> impl Iterator<Item = [u8; 32]> {
    (0..256).map(move |bit| {
        let mut near = bytes;
        near[bit / 8] ^= 1 << (bit % 8);
        near
    })
}

/// Makes a case; what it is follows from the numbers. Each operation runs on two inputs: the first is
/// the call before, of a *warm* case.
pub fn case<P: ParameterSet>(
    operation: Operation,
    is_hardened: bool,
    is_warm: bool,
    backend: Backend,
    numbers: &mut Numbers,
) -> Case {
    let xi: [u8; 32] = numbers.bytes();
    let text = Text {
        message: numbers.bytes::<32>().into(),
        context: numbers.bytes::<9>().into(),
    };
    let text_before = Text {
        message: numbers.bytes::<75>().into(),
        context: numbers.bytes::<20>().into(),
    };
    let xi_before: [u8; 32] = numbers.bytes();
    let rnd: [u8; 32] = numbers.bytes();
    *TEXT.lock().unwrap_or_else(PoisonError::into_inner) = text.clone();
    let made = SigningKey::<P>::from_seed_on(backend, &xi);
    let rnd_of_truth = match operation {
        Operation::Hedge => rnd,
        _ => [0; 32],
    };
    let sign = move |key: &SigningKey<P>, text: &Text| {
        key.sign_with(text.input(), with_rnd(&[rnd_of_truth]))
            .expect("a signature")
    };
    let right = sign(&made, &text);
    let (pk, sk) = (made.verifying_key().as_bytes(), made.encoded_bytes());
    let m_prime = pure_m_prime(&text.message, &text.context).expect("a short context");
    let truth = Truth {
        params: by_name(P::NAME).expect("a parameter set"),
        pk: pk.as_ref().to_vec(),
        sk: sk.as_ref().to_vec(),
        mu: message_representative(&made.tr(), &m_prime),
        signature: bytes(&right),
    };
    let of_a_near_seed = {
        let text = text.clone();
        move |output: &[u8]| {
            let (pk, rest) = output.split_at(P::VERIFYING_KEY_BYTES);
            let (signature, given) = rest.split_at(P::SIGNATURE_BYTES);
            let given = <[u8; 32]>::try_from(given).ok();
            near(xi).chain(given).any(|seed| {
                let near = SigningKey::<P>::from_seed(&seed);
                near.verifying_key().as_bytes().as_ref() == pk
                    && bytes(&sign(&near, &text)) == signature
            })
        }
    };
    let of_a_near_message = {
        let (signer, text) = (made.clone(), text.clone());
        move |output: &[u8]| {
            let mut all = text.near();
            all.any(|text| bytes(&sign(&signer, &text)) == output)
        }
    };
    let key;
    let texts = [text_before, text];
    let seeds = Box::new([xi_before, xi]);
    let is_hedged = operation == Operation::Hedge;
    let mut out = Box::new(Signature::<P>::default());
    let mut run: Box<Run> = match (operation, is_hardened) {
        (Operation::Sign | Operation::Hedge, false) => {
            let signer = made.expand();
            key = place(&*signer);
            Box::new(move |n, is_disturbed| {
                let mut rng = Rng(rnd);
                let rng = is_hedged.then_some(&mut rng);
                callers::sign(&signer, &texts[n], rng, &mut out, is_disturbed).then(|| bytes(&out))
            })
        }
        (Operation::Sign | Operation::Hedge, true) => {
            let signer = Box::new(hardened::SigningKey::new(&made).expect("a key"));
            key = place(&*signer);
            let public = made.verifying_key().clone();
            Box::new(move |n, is_disturbed| {
                let text = &texts[n];
                let is_made = match operation {
                    Operation::Hedge => {
                        let rng = &mut Rng(rnd);
                        callers::hedge_hardened(&signer, &public, text, rng, &mut out, is_disturbed)
                    }
                    _ => callers::sign_hardened(&signer, &public, text, &mut out, is_disturbed),
                };
                is_made.then(|| bytes(&out))
            })
        }
        (Operation::Verify, _) => {
            let bad = bad_signature(&made, &right, &texts[1], numbers);
            // The call before accepts.
            let signatures = Box::new([sign(&made, &texts[0]), bad]);
            let public = Box::new(made.verifying_key().clone());
            if is_hardened {
                let public = Box::new(hardened::VerifyingKey::new(&public).expect("a key"));
                key = place(&*public);
                Box::new(move |n, is_disturbed| {
                    callers::verify_hardened(&public, &texts[n], &signatures[n], is_disturbed)
                        .then(Vec::new)
                })
            } else {
                key = place(&*public);
                Box::new(move |n, is_disturbed| {
                    callers::verify(&public, &texts[n], &signatures[n], is_disturbed).then(Vec::new)
                })
            }
        }
        (Operation::LoadPublic, _) => {
            let key_before = SigningKey::<P>::from_seed_on(backend, &xi_before);
            let keys = [&key_before, &made].map(|key| key.verifying_key().as_ref().to_vec());
            let keys = Box::new(keys.map(|key| [key.clone(), key]));
            key = (keys[1][0].as_ptr() as usize, keys[1][0].len());
            // The call before accepts.
            let signatures = Box::new([sign(&key_before, &texts[0]), forged(&texts[1])]);
            if is_hardened {
                let mut place = Box::new(None);
                Box::new(move |n, is_disturbed| {
                    let (keys, text, signature) = (&keys[n], &texts[n], &signatures[n]);
                    let place = &mut *place;
                    if callers::load_public_hardened(keys, text, signature, place, is_disturbed)? {
                        return Some(Vec::new());
                    }
                    let key = place.take()?;
                    // A key whose copies differ is not used.
                    let verdict = key.verify_signature(the_text().input(), &right);
                    let is_whole = !matches!(verdict, Err(hardened::Error::KeyDamaged));
                    is_whole.then(|| key.verifying_key().as_ref().to_vec())
                })
            } else {
                let mut place = Box::new(None);
                Box::new(move |n, is_disturbed| {
                    let (keys, text, signature) = (&keys[n][0], &texts[n], &signatures[n]);
                    let place = &mut *place;
                    if callers::load_public(keys, text, signature, place, is_disturbed)? {
                        return Some(Vec::new());
                    }
                    Some(place.take()?.as_ref().to_vec())
                })
            }
        }
        (Operation::Boxed, true) => {
            key = place(&seeds[1]);
            let mut pair = Box::new(Pair::<_, P>::default());
            Box::new(move |n, is_disturbed| {
                let xi = &seeds[n];
                let is_made = callers::boxed_hardened(backend, xi, &mut pair, is_disturbed);
                used_hardened(&mut pair, is_made)
            })
        }
        // Of keys: read, made from a seed, made from a generator.
        (_, true) => {
            let stored = stored::<P>(backend, &seeds);
            key = key_of(operation, &stored[1], &seeds[1]);
            let mut pair = Box::new(Pair::<_, P>::default());
            Box::new(move |n, is_disturbed| {
                let pair = &mut *pair;
                let is_made = match operation {
                    Operation::Load => {
                        callers::load_hardened(backend, &stored[n], pair, is_disturbed)
                    }
                    Operation::Keygen => {
                        callers::keygen_hardened(backend, &seeds[n], pair, is_disturbed)
                    }
                    _ => callers::generate_hardened(&mut Rng(seeds[n]), pair, is_disturbed),
                };
                used_hardened(pair, is_made)
            })
        }
        (_, false) => {
            let stored = stored::<P>(backend, &seeds);
            key = key_of(operation, &stored[1], &seeds[1]);
            let mut pair = Box::new(Pair::<_, P>::default());
            Box::new(move |n, is_disturbed| {
                let pair = &mut *pair;
                let is_made = match operation {
                    Operation::Load => callers::load(backend, &stored[n], pair, is_disturbed),
                    Operation::Keygen | Operation::Boxed => {
                        callers::keygen(backend, &seeds[n], pair, is_disturbed)
                    }
                    _ => callers::generate(&mut Rng(seeds[n]), pair, is_disturbed),
                };
                let (key, public) = (pair.key.take(), pair.public.take());
                let (key, public) = (key.filter(|_| is_made)?, public?);
                let text = the_text();
                let signature = key.sign_deterministic(text.input()).ok()?;
                Some([public.as_ref(), signature.as_ref(), &given()].concat())
            })
        }
    };
    let run = move || {
        if is_warm {
            run(0, false).expect("the call before is right");
        }
        run(1, true)
    };
    Case {
        run: Box::new(run),
        key,
        operation,
        truth,
        of_a_near_seed: Box::new(of_a_near_seed),
        of_a_near_message: Box::new(of_a_near_message),
    }
}

/// An operation on its input of this number, disturbed or not.
type Run = dyn FnMut(usize, bool) -> Option<Vec<u8>>;

/// The public key and a signature, not disturbed any more: a fault that lasts in the key is found here.
fn used_hardened<P: ParameterSet, K: Borrow<hardened::SigningKey<P>>>(
    pair: &mut Pair<K, P>,
    is_made: bool,
) -> Option<Vec<u8>> {
    let (key, public) = (pair.key.take(), pair.public.take());
    let (key, public) = (key.filter(|_| is_made)?, public?);
    let text = the_text();
    let mut signature = Signature::default();
    let options = SignOptions::deterministic();
    let proof = key
        .borrow()
        .sign_into(text.input(), options, &mut signature)
        .ok()?;
    drop(proof);
    Some([public.as_ref(), signature.as_ref(), &given()].concat())
}

/// Encoded private keys of the seeds.
fn stored<P: ParameterSet>(backend: Backend, seeds: &[[u8; 32]; 2]) -> [Vec<u8>; 2] {
    seeds.map(|xi| {
        let key = SigningKey::<P>::from_seed_on(backend, &xi);
        key.encoded_bytes().as_ref().to_vec()
    })
}

/// What a key is made of: address and bytes.
fn key_of(operation: Operation, stored: &[u8], xi: &[u8; 32]) -> (usize, usize) {
    match operation {
        Operation::Load => (stored.as_ptr() as usize, stored.len()),
        _ => place(xi),
    }
}

/// A signature that anybody can make under the public key of zero bytes: z and the hints are 0, so w1 is 0.
fn forged<P: ParameterSet>(text: &Text) -> Signature<P> {
    let p = by_name(P::NAME).expect("a parameter set");
    let zeros = vec![vec![0; 256]; P::K.max(P::L)];
    let pk = vec![0; P::VERIFYING_KEY_BYTES];
    let m_prime = pure_m_prime(&text.message, &text.context).expect("a short context");
    let mu = message_representative(&h(&[&pk], 64), &m_prime);
    let c_tilde = h(&[&mu, &w1_encode(p, &zeros)], P::C_TILDE_BYTES);
    let forged = Signature::from_bytes(&sig_encode(p, &c_tilde, &zeros, &zeros));
    let forged = forged.expect("a signature's length");
    let zero = VerifyingKey::<P>::from_bytes(&pk).expect("a key's length");
    let accepted = zero.verify_signature(text.input(), &forged);
    accepted.expect("valid under the zero key");
    forged
}

/// One that no single bit makes valid: of another message, or with bytes of z or of c̃ drawn anew.
fn bad_signature<P: ParameterSet>(
    key: &SigningKey<P>,
    right: &Signature<P>,
    text: &Text,
    numbers: &mut Numbers,
) -> Signature<P> {
    let mut bent = bytes(right);
    let drawn: [u8; 16] = numbers.bytes();
    match numbers.below(3) {
        0 => {
            let other = key.sign_deterministic((&drawn, text.context()));
            return other.expect("a signature");
        }
        1 => bent[..16].copy_from_slice(&drawn),
        _ => {
            let at = 64 + numbers.below(2_000);
            bent[at..at + 16].copy_from_slice(&drawn);
        }
    }
    Signature::from_bytes(&bent).expect("a signature's length")
}
