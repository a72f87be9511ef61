//! Public keys.

use core::fmt;
use core::hint::black_box;

use super::{EQUAL, Error, compared};
use crate::backend::Backend;
use crate::error::Error as Refusal;
use crate::kernels::poly::Zero;
use crate::keys::{self, Signature};
use crate::scheme::encode;
use crate::scheme::entry::Scheme;
use crate::scheme::message::Input;

/// A public key that verifies twice. See the [module](crate::hardened).
#[derive(Clone)]
pub struct VerifyingKey<P: Scheme> {
    pub(super) public: keys::VerifyingKey<P>,
    /// The key's bytes with each bit inverted: what sets both to the same value is seen.
    pub(super) inverted: P::VerifyingKeyBytes,
}

impl<P: Scheme> VerifyingKey<P> {
    /// Of a key made elsewhere.
    ///
    /// # Errors
    /// [`Error::KeyDamaged`].
    pub fn new(public: &keys::VerifyingKey<P>) -> Result<Self, Error> {
        let mut key = VerifyingKey {
            public: public.clone(),
            inverted: P::VerifyingKeyBytes::zero(),
        };
        for (to, from) in key.inverted.as_mut().iter_mut().zip(public.pk.as_ref()) {
            *to = !from;
        }
        key.second()?;
        Ok(key)
    }

    /// As the ordinary [`VerifyingKey::from_bytes`](keys::VerifyingKey::from_bytes).
    ///
    /// # Errors
    /// Its own, and [`Error::KeyDamaged`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let key = Self::new(&keys::VerifyingKey::from_bytes(bytes)?)?;
        if compared(EQUAL[0], key.public.pk.as_ref(), bytes) != EQUAL[0] {
            return Err(Error::KeyDamaged);
        }
        Ok(key)
    }

    /// The key that verifies once.
    pub fn verifying_key(&self) -> &keys::VerifyingKey<P> {
        &self.public
    }

    /// The second copy, if it is that of the first.
    fn second(&self) -> Result<P::VerifyingKeyBytes, Error> {
        let mut second = self.inverted;
        second.as_mut().iter_mut().for_each(|byte| *byte = !*byte);
        if compared(EQUAL[0], self.public.pk.as_ref(), second.as_ref()) != EQUAL[0] {
            return Err(Error::KeyDamaged);
        }
        Ok(second)
    }

    /// ML-DSA.Verify (Algorithm 3), twice.
    ///
    /// # Errors
    /// Those of the ordinary [`verify`](keys::VerifyingKey::verify), [`Error::KeyDamaged`],
    /// [`Error::Disagreement`].
    pub fn verify(
        &self,
        message: &[u8],
        context: &[u8],
        signature: &Signature<P>,
    ) -> Result<Verified, Error> {
        self.verify_input(&Input::Pure { message, context }, signature)
    }

    /// Verification of any [`Input`] (Algorithms 3, 5 and 8), twice.
    ///
    /// # Errors
    /// As [`verify`](Self::verify), and those of the ordinary
    /// [`verify_input`](keys::VerifyingKey::verify_input).
    pub fn verify_input(
        &self,
        input: &Input<'_>,
        signature: &Signature<P>,
    ) -> Result<Verified, Error> {
        let second = self.second()?;
        let backend = self.public.backend;
        let copy = *black_box(&signature.0);
        let one = commitment::<P>(backend, &self.public.pk, input, &signature.0);
        let two = commitment::<P>(backend, &second, black_box(input), black_box(&copy));
        decide::<P>(&signature.0, [one, two])
    }
}

impl<P: Scheme> fmt::Debug for VerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hardened::VerifyingKey<{}>", P::NAME)
    }
}

/// What two verifications have found, as 128 bits that a fault does not make of a refusal.
#[derive(Clone, Copy)]
#[must_use]
pub struct Verified([u64; 2]);

impl Verified {
    /// Whether both found the signature valid, judged by other data than the `Ok` around it.
    pub fn holds(&self) -> bool {
        black_box(self).0 == EQUAL
    }
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verified({})", self.holds())
    }
}

/// What c_tilde should be, or anything but the signature's own if that is malformed.
pub(super) type Commitment = ([u8; 64], Result<(), Refusal>);

#[inline(never)]
pub(super) fn commitment<P: Scheme>(
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
pub(super) fn decide<P: Scheme>(
    signature: &P::SignatureBytes,
    [one, two]: [Commitment; 2],
) -> Result<Verified, Error> {
    let mut verdict = Err(Error::Refused(Refusal::InvalidSignature));
    let c_tilde = encode::c_tilde_of::<P>(signature.as_ref());
    let words = [
        compared(EQUAL[0], &one.0[..P::C_TILDE_BYTES], c_tilde),
        compared(EQUAL[1], &two.0[..P::C_TILDE_BYTES], black_box(c_tilde)),
    ];
    let [first, second] = black_box(words);
    if first == EQUAL[0] && black_box(second) == EQUAL[1] {
        verdict = Ok(Verified(words));
    }
    // Which of the refusals it is.
    if verdict.is_err() {
        if one.1 != two.1 || one.0 != two.0 {
            verdict = Err(Error::Disagreement);
        } else if let Err(error) = one.1 {
            verdict = Err(error.into());
        }
    }
    verdict
}
