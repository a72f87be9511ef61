//! Public keys.

use core::fmt;
use core::hint::black_box;

use super::{EQUAL, Error, KeyDamaged, compared};
use crate::ParameterSet;
use crate::backend::Backend;
use crate::error::Error as Refusal;
use crate::kernels::poly::Zero;
use crate::keys::{self, Signature};
use crate::scheme::encode;
use crate::scheme::message::Input;
use crate::scheme::shapes::Bytes;

/// Where `pkEncode` has t1 (Algorithm 22).
const T1: core::ops::RangeFrom<usize> = 32..;

/// A public key that verifies twice. See the [module](crate::hardened).
#[derive(Clone)]
pub struct VerifyingKey<P: ParameterSet> {
    pub(super) public: keys::VerifyingKey<P>,
    /// The key's bytes with each bit inverted: what sets both to the same value is seen.
    pub(super) inverted: P::VerifyingKeyBytes,
}

impl<P: ParameterSet> VerifyingKey<P> {
    // `new` and `from_bytes` are never inlined: in the caller's frame, a skipped instruction could send a write
    // of theirs to the bytes that they read.

    /// Of a key made elsewhere.
    ///
    /// # Errors
    /// [`Error::ZeroPublicKey`], [`Error::KeyDamaged`].
    #[inline(never)]
    pub fn new(public: &keys::VerifyingKey<P>) -> Result<Self, Error> {
        let mut key = VerifyingKey {
            public: public.clone(),
            inverted: public.pk,
        };
        invert(&mut key.inverted);
        let second = key.second()?;
        if second.as_ref()[T1].iter().all(|byte| *byte == 0) {
            return Err(Error::ZeroPublicKey);
        }
        Ok(key)
    }

    /// As the ordinary [`VerifyingKey::from_bytes`](keys::VerifyingKey::from_bytes).
    ///
    /// # Errors
    /// Its own, and those of [`VerifyingKey::new`].
    #[inline(never)]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let key = Self::new(&keys::VerifyingKey::from_bytes(bytes)?)?;
        if compared(EQUAL[0], key.public.pk.as_ref(), black_box(bytes)) != EQUAL[0] {
            return Err(Error::KeyDamaged);
        }
        Ok(key)
    }

    /// Checks that this key is the one of `bytes`: the call that read it may have left an earlier one in
    /// this place. Give a second copy where there is one, since a fault may change the bytes that are
    /// read.
    ///
    /// # Errors
    /// [`KeyDamaged`].
    #[inline(never)]
    pub fn confirm_bytes(&self, bytes: &[u8]) -> Result<(), KeyDamaged> {
        let second = self.second()?;
        if compared(EQUAL[1], second.as_ref(), bytes) != EQUAL[1] {
            return Err(KeyDamaged);
        }
        Ok(())
    }

    /// The key that verifies once.
    pub fn verifying_key(&self) -> &keys::VerifyingKey<P> {
        &self.public
    }

    /// The second copy, if it is that of the first.
    fn second(&self) -> Result<P::VerifyingKeyBytes, KeyDamaged> {
        let mut second = self.inverted;
        invert(&mut second);
        if compared(EQUAL[0], self.public.pk.as_ref(), second.as_ref()) != EQUAL[0] {
            return Err(KeyDamaged);
        }
        Ok(second)
    }

    /// Verifies a signature of a message, or of any [`Input`] (FIPS 204, Algorithms 3 and 5), twice. Before
    /// you act on the answer, ask [`Verified::holds`].
    ///
    /// # Errors
    /// Those of the ordinary [`verify_signature`](keys::VerifyingKey::verify_signature),
    /// [`Error::KeyDamaged`], [`Error::Disagreement`].
    #[inline(never)]
    pub fn verify_signature<'a>(
        &self,
        input: impl Into<Input<'a>>,
        signature: &Signature<P>,
    ) -> Result<Verified<P>, Error> {
        let input = &input.into();
        let input_copy = *black_box(input);
        let message = described::<P>(self.public.backend, &input_copy)?;
        let second = self.second()?;
        let mut proof = Verified::refused(&self.public, message);
        let backend = self.public.backend;
        proof.signature = *black_box(&signature.0);
        let one = commitment::<P>(backend, &self.public.pk, input, &signature.0);
        let two = commitment::<P>(backend, &second, &input_copy, &proof.signature);
        decide(&signature.0, [one, two], proof)
    }
}

impl<P: ParameterSet> fmt::Debug for VerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hardened::VerifyingKey<{}>", P::NAME)
    }
}

/// Proof that one signature of one message is valid under one public key: 128 bits that a fault does not
/// make of a refusal, and copies of what was verified.
///
/// A fault may leave an earlier proof, signature or answer in its place. So ask [`holds`](Self::holds) with
/// the key, the message and the signature that you are about to use.
#[derive(Clone)]
#[must_use]
pub struct Verified<P: ParameterSet> {
    pub(super) words: [u64; 2],
    public: P::VerifyingKeyBytes,
    message: [u8; 64],
    pub(super) signature: P::SignatureBytes,
}

impl<P: ParameterSet> Verified<P> {
    /// For this key and the hash of a message, and no signature.
    pub(super) fn refused(public: &keys::VerifyingKey<P>, message: [u8; 64]) -> Self {
        let mut signature = P::SignatureBytes::zero();
        signature.as_mut().fill(!0);
        Verified {
            words: [0; 2],
            public: public.pk,
            message,
            signature,
        }
    }

    /// Whether this is the proof for this key, message and signature.
    #[inline(never)]
    pub fn holds<'a>(
        &self,
        public: &keys::VerifyingKey<P>,
        input: impl Into<Input<'a>>,
        signature: &Signature<P>,
    ) -> bool {
        let Ok(message) = described::<P>(public.backend, &input.into()) else {
            return false;
        };
        black_box(self).words == EQUAL
            && self.public == public.pk
            && self.message == message
            && self.signature == signature.0
    }
}

fn invert<B: Bytes>(bytes: &mut B) {
    bytes.as_mut().iter_mut().for_each(|byte| *byte = !*byte);
}

/// The value of a message in a proof: H(0 ‖ M'), or μ if the caller passed μ.
pub(super) fn described<P: ParameterSet>(
    backend: Backend,
    input: &Input<'_>,
) -> Result<[u8; 64], Refusal> {
    let permute = backend.permutation();
    Ok(input.mu_source::<P>(permute)?.mu(permute, &[0; 64]))
}

impl<P: ParameterSet> fmt::Debug for Verified<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verified<{}>", P::NAME)
    }
}

/// The expected c_tilde. For a malformed signature, a value that differs from the signature's.
pub(super) type Commitment = ([u8; 64], Result<(), Refusal>);

#[inline(never)]
pub(super) fn commitment<P: ParameterSet>(
    backend: Backend,
    pk: &P::VerifyingKeyBytes,
    input: &Input<'_>,
    signature: &P::SignatureBytes,
) -> Commitment {
    let mut expected = [0; 64];
    let out = &mut expected[..P::C_TILDE_BYTES];
    for (out, byte) in out.iter_mut().zip(signature.as_ref()) {
        *out = !byte;
    }
    let result = P::commitment(backend, pk, input, signature, out);
    (expected, result)
}

/// The verdict. Both words go to the caller, and each is asked for by itself.
pub(super) fn decide<P: ParameterSet>(
    signature: &P::SignatureBytes,
    [one, two]: [Commitment; 2],
    mut proof: Verified<P>,
) -> Result<Verified<P>, Error> {
    let c_tilde = encode::c_tilde_of::<P>(signature.as_ref());
    let c_tilde_copy = encode::c_tilde_of::<P>(proof.signature.as_ref());
    proof.words = [
        compared(EQUAL[0], &one.0[..P::C_TILDE_BYTES], c_tilde),
        compared(EQUAL[1], &two.0[..P::C_TILDE_BYTES], c_tilde_copy),
    ];
    let [first, second] = black_box(proof.words);
    if first == EQUAL[0] && black_box(second) == EQUAL[1] {
        return Ok(proof);
    }
    // Which of the refusals it is.
    if one.1 != two.1 || one.0 != two.0 {
        return Err(Error::Disagreement);
    }
    Err(one.1.err().unwrap_or(Refusal::InvalidSignature).into())
}
