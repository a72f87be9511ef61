//! What is disturbed: operations of the library, plain and hardened.

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use mldsa_lanes::{Backend, ParameterSet, Signature, SigningKey, VerifyingKey, hardened};
use rand_core::{TryCryptoRng, TryRng};

use mldsa_oracle::{by_name, message_representative, pure_m_prime};

use crate::judge::{Truth, Verdict};
use crate::machine::{End, close, open};
use crate::numbers::Numbers;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A signature with a key in memory.
    Sign,
    /// A private key read from bytes and prepared; then it signs, undisturbed.
    Load,
    /// A signature that is not valid.
    Verify,
    /// A key from its seed; then it signs, undisturbed.
    Keygen,
    /// A key from a random number generator; then it signs, undisturbed.
    Generate,
}

impl Operation {
    /// Each with its share in percent.
    pub const ALL: [(Operation, u64); 5] = [
        (Operation::Sign, 50),
        (Operation::Verify, 20),
        (Operation::Load, 15),
        (Operation::Keygen, 10),
        (Operation::Generate, 5),
    ];

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
            Operation::Load => "load",
            Operation::Verify => "verify",
            Operation::Keygen => "keygen",
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
            Operation::Sign | Operation::Load => match self.truth.judge(output) {
                Verdict::Wrong if (self.of_a_near_message)(output) => Verdict::Other,
                verdict => verdict,
            },
            // An invalid signature was accepted.
            Operation::Verify => Verdict::Wrong,
            // The public key and a signature.
            Operation::Keygen | Operation::Generate => {
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

/// Draws of the first window of a source.
const WINDOW: u64 = 64;

/// The message of the last case, for what follows an operation: a fault may leave the operation's caller
/// with other registers, or with another stack, which the library cannot see.
static MESSAGE: Mutex<[u8; 32]> = Mutex::new([0; 32]);

fn the_message() -> [u8; 32] {
    *MESSAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers for the first draws, then one seed.
struct Rng {
    before: u64,
    numbers: Numbers,
    xi: [u8; 32],
}

/// What an [`Rng`] gave last, whatever state a fault made it start from.
static GIVEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

impl Rng {
    fn new(before: u64, xi: &[u8; 32]) -> Self {
        Rng {
            before,
            numbers: Numbers::of(&[before]),
            xi: *xi,
        }
    }
}

impl TryRng for Rng {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.numbers.draw() as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.numbers.draw())
    }
    // Not disturbed, so not a part of the library's functions.
    #[inline(never)]
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        if self.before == 0 {
            out.copy_from_slice(&self.xi);
        } else {
            self.before -= 1;
            out.fill_with(|| self.numbers.draw() as u8);
        }
        *GIVEN.lock().unwrap_or_else(PoisonError::into_inner) = out.to_vec();
        Ok(())
    }
}
impl TryCryptoRng for Rng {}

/// A public key, a signature, and what the generator gave, if there is one.
fn output<P: ParameterSet>(public: &VerifyingKey<P>, signature: &Signature<P>) -> Option<Vec<u8>> {
    let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    Some(
        [
            public.as_bytes().as_ref(),
            signature.as_bytes().as_ref(),
            &given,
        ]
        .concat(),
    )
}

/// All strings that differ in a bit.
fn near(bytes: [u8; 32]) -> impl Iterator<Item = [u8; 32]> {
    (0..256).map(move |bit| {
        let mut near = bytes;
        near[bit / 8] ^= 1 << (bit % 8);
        near
    })
}

/// Makes a case; what it is follows from the numbers.
pub fn case<P: ParameterSet>(
    operation: Operation,
    is_hardened: bool,
    backend: Backend,
    numbers: &mut Numbers,
) -> Case {
    let xi: [u8; 32] = numbers.bytes();
    let message: [u8; 32] = numbers.bytes();
    *MESSAGE.lock().unwrap_or_else(PoisonError::into_inner) = message;
    let made = SigningKey::<P>::from_seed_on(backend, &xi);
    let right = made.sign_deterministic(&message, b"").expect("a signature");
    let (pk, sk) = (made.verifying_key().as_bytes(), made.expanded_bytes());
    let m_prime = pure_m_prime(&message, b"").expect("a short context");
    let truth = Truth {
        params: by_name(P::NAME).expect("a parameter set"),
        pk: pk.as_ref().to_vec(),
        sk: sk.as_ref().to_vec(),
        mu: message_representative(&made.tr(), &m_prime),
        signature: bytes(&right),
    };
    let of_a_near_seed = move |output: &[u8]| {
        let (pk, rest) = output.split_at(P::VERIFYING_KEY_BYTES);
        let (signature, given) = rest.split_at(P::SIGNATURE_BYTES);
        let given = <[u8; 32]>::try_from(given).ok();
        near(xi).chain(given).any(|seed| {
            let near = SigningKey::<P>::from_seed(&seed);
            near.verifying_key().as_bytes().as_ref() == pk
                && near.sign_deterministic(&message, b"").map(|s| bytes(&s))
                    == Ok(signature.to_vec())
        })
    };
    let signer = made.clone();
    let of_a_near_message = move |output: &[u8]| {
        near(message).any(|message| {
            let signature = signer.sign_deterministic(&message, b"");
            signature.is_ok_and(|s| s.as_bytes().as_ref() == output)
        })
    };
    // `open` and `close` stand around what is disturbed.
    let key;
    let run: Box<dyn FnMut() -> Option<Vec<u8>>> = match (operation, is_hardened) {
        (Operation::Sign, false) => {
            let signer = made.expand();
            key = place(&*signer);
            Box::new(move || {
                open();
                let result = black_box(&signer).sign_deterministic(black_box(&message), b"");
                close();
                result.ok().map(|s| bytes(&s))
            })
        }
        (Operation::Sign, true) => {
            let signer = Box::new(hardened::SigningKey::new(&made).expect("a key"));
            key = place(&*signer);
            Box::new(move || {
                open();
                let result = black_box(&signer).sign_deterministic(black_box(&message), b"");
                close();
                result.ok().map(|s| bytes(&s))
            })
        }
        (Operation::Load, _) => {
            let stored = Box::new(sk.as_ref().to_vec());
            key = (stored.as_ptr() as usize, stored.len());
            if is_hardened {
                Box::new(move || {
                    open();
                    let stored = black_box(&stored);
                    let made = hardened::SigningKey::<P>::from_expanded_bytes_on(backend, stored);
                    close();
                    let result = made.ok()?.sign_deterministic(&the_message(), b"");
                    result.ok().map(|s| bytes(&s))
                })
            } else {
                Box::new(move || {
                    open();
                    let stored = black_box(&stored);
                    let made = SigningKey::<P>::from_expanded_bytes_on(backend, stored);
                    let made = made.map(|key| key.expand());
                    close();
                    let result = made.ok()?.sign_deterministic(&the_message(), b"");
                    result.ok().map(|s| bytes(&s))
                })
            }
        }
        (Operation::Generate, _) => {
            let seed = Box::new(xi);
            key = place(&*seed);
            if is_hardened {
                Box::new(move || {
                    // The first window, then the seed.
                    let mut source = hardened::Source::new(Rng::new(WINDOW, &seed)).ok()?;
                    open();
                    let made = hardened::SigningKey::<P>::generate(&mut source);
                    close();
                    let made = made.ok()?;
                    let signature = made.sign_deterministic(&the_message(), b"").ok()?;
                    output(made.verifying_key(), &signature)
                })
            } else {
                Box::new(move || {
                    let mut rng = Rng::new(0, &seed);
                    open();
                    let made = SigningKey::<P>::generate(&mut rng);
                    close();
                    let made = made.ok()?;
                    let signature = made.sign_deterministic(&the_message(), b"").ok()?;
                    output(made.verifying_key(), &signature)
                })
            }
        }
        (Operation::Keygen, _) => {
            let xi = Box::new(xi);
            key = place(&*xi);
            if is_hardened {
                Box::new(move || {
                    open();
                    let made = hardened::SigningKey::<P>::from_seed_on(backend, black_box(&xi));
                    close();
                    let made = made.ok()?;
                    let signature = made.sign_deterministic(&the_message(), b"").ok()?;
                    output(made.verifying_key(), &signature)
                })
            } else {
                Box::new(move || {
                    open();
                    let made = SigningKey::<P>::from_seed_on(backend, black_box(&xi));
                    close();
                    let signature = made.sign_deterministic(&the_message(), b"").ok()?;
                    output(made.verifying_key(), &signature)
                })
            }
        }
        (Operation::Verify, _) => {
            let bad = Box::new(bad_signature(&made, &right, numbers));
            if is_hardened {
                let public = made.verifying_key();
                let public = Box::new(hardened::VerifyingKey::new(public).expect("a key"));
                key = place(&*public);
                Box::new(move || {
                    open();
                    let (public, message) = (black_box(&public), black_box(&message));
                    let verdict = public.verify(message, b"", &bad);
                    let holds = verdict.is_ok_and(|verified| verified.holds());
                    close();
                    holds.then(Vec::new)
                })
            } else {
                let public = Box::new(made.verifying_key().clone());
                key = place(&*public);
                Box::new(move || {
                    open();
                    let (public, message) = (black_box(&public), black_box(&message));
                    let verdict = public.verify(message, b"", &bad);
                    close();
                    verdict.is_ok().then(Vec::new)
                })
            }
        }
    };
    Case {
        run,
        key,
        operation,
        truth,
        of_a_near_seed: Box::new(of_a_near_seed),
        of_a_near_message: Box::new(of_a_near_message),
    }
}

/// One that no single bit makes valid: of another message, or with bytes of z or of c̃ drawn anew.
fn bad_signature<P: ParameterSet>(
    key: &SigningKey<P>,
    right: &Signature<P>,
    numbers: &mut Numbers,
) -> Signature<P> {
    let mut bent = bytes(right);
    let drawn: [u8; 16] = numbers.bytes();
    match numbers.below(3) {
        0 => return key.sign_deterministic(&drawn, b"").expect("a signature"),
        1 => bent[..16].copy_from_slice(&drawn),
        _ => {
            let at = 64 + numbers.below(2_000);
            bent[at..at + 16].copy_from_slice(&drawn);
        }
    }
    Signature::from_bytes(&bent).expect("a signature's length")
}
