//! Private keys.

use core::cell::Cell;
use core::hint::black_box;
use core::{fmt, slice};

use rand_core::TryCryptoRng;
use zeroize::ZeroizeOnDrop;

use super::verifying::{Verified, described};
use super::{EQUAL, Error, KeyDamaged, Refusal, compared};
use crate::ParameterSet;
use crate::backend::{Backend, Wiper};
use crate::declassify::{Site, public, public_slice};
use crate::kernels::poly::{Secret, Wipe, Zero};
use crate::kernels::sponge::h;
use crate::keys::{self, SignOptions, Signature};
use crate::scheme::message::Input;
use crate::scheme::sign::Request;

/// Where `skEncode` has tr (Algorithm 24, step 1).
const TR: core::ops::Range<usize> = 64..128;

/// 32 bytes that a draw left as they were.
const UNDRAWN: [u8; 32] = [0; 32];

/// A private key that signs with checks of every step. See the [module](crate::hardened).
pub struct SigningKey<P: ParameterSet> {
    pub(super) key: keys::SigningKey<P>,
    /// SHAKE256 of the private key's bytes and the seed.
    pub(super) digest: Secret<[u8; 32]>,
}

impl<P: ParameterSet> SigningKey<P> {
    /// Of a key made or read elsewhere, from PKCS#8 for instance: all that follows from its seed, or
    /// from ρ, s1 and s2, is computed again.
    ///
    /// # Errors
    /// [`Error::KeyDamaged`] if it is not what the key has.
    pub fn new(key: &keys::SigningKey<P>) -> Result<Self, Error> {
        let _wiper = Wiper::<40>;
        Self::checked(key)
    }

    // The functions that make a key return it, which moves it; so they are called under a wiper. They look
    // at it where it is returned: a copy to the wrong place would overwrite what is the caller's. What it
    // was made of comes twice, lest one wrong pointer is compared with itself.

    #[inline(never)]
    fn checked(key: &keys::SigningKey<P>) -> Result<Self, Error> {
        let mut copy = SigningKey {
            key: key.clone(),
            digest: Secret::zero(),
        };
        copy.digest = copy.digest_now();
        let backend = key.backend();
        let mut repeated = keys::SigningKey::<P>::empty(backend);
        match &key.seed {
            Some(seed) => repeated.fill_from_seed(black_box(seed)),
            None => repeated
                .read(key.sk.as_ref())
                .map_err(|_| Error::KeyDamaged)?,
        }
        let same = [
            compared(EQUAL[0], key.sk.as_ref(), repeated.sk.as_ref()),
            compared(EQUAL[1], key.public.as_ref(), repeated.public.as_ref()),
        ];
        if public(Site::Agreement, same) != EQUAL {
            return Err(Error::KeyDamaged);
        }
        copy.intact()?;
        Ok(copy)
    }

    /// ML-DSA.KeyGen_internal (Algorithm 6) from ξ, twice.
    ///
    /// # Errors
    /// [`Error::KeyDamaged`].
    pub fn from_seed(xi: &[u8; 32]) -> Result<Self, Error> {
        Self::from_seed_on(Backend::detect(), xi)
    }

    /// [`SigningKey::from_seed`] on the given backend, as the ordinary
    /// [`from_seed_on`](keys::SigningKey::from_seed_on).
    ///
    /// # Errors
    /// As `from_seed`.
    pub fn from_seed_on(backend: Backend, xi: &[u8; 32]) -> Result<Self, Error> {
        let _wiper = Wiper::<56>;
        Self::seeded(backend, xi, black_box(xi))
    }

    #[inline(never)]
    pub(super) fn seeded(backend: Backend, xi: &[u8; 32], copy: &[u8; 32]) -> Result<Self, Error> {
        let checked = Self::checked(&keys::SigningKey::from_seed_on(backend, xi));
        if let Ok(key) = &checked {
            let same = compared(EQUAL[1], key.seed(), copy);
            if public(Site::Agreement, same) != EQUAL[1] {
                return Err(Error::KeyDamaged);
            }
        }
        checked
    }

    /// ML-DSA.KeyGen (Algorithm 1), computed twice. Draws the seed into `xi`, which the caller fills with
    /// zeros before, hands to [`confirm_seed`](Self::confirm_seed) and wipes.
    ///
    /// # Errors
    /// [`Error::KeyDamaged`], or that of the generator: [`Rng`](crate::Error::Rng), if the seed is 32 zero
    /// bytes too.
    pub fn generate<R: TryCryptoRng + ?Sized>(
        rng: &mut R,
        xi: &mut [u8; 32],
    ) -> Result<Self, Error> {
        let _wiper = Wiper::<56>;
        rng.try_fill_bytes(xi).map_err(|_| Refusal::Rng)?;
        // Else a draw that is left out makes the key of 32 zero bytes.
        was_drawn(xi)?;
        Self::seeded(Backend::detect(), xi, black_box(xi))
    }

    /// As the ordinary [`from_encoded_bytes`](keys::SigningKey::from_encoded_bytes), with everything
    /// computed twice.
    ///
    /// # Errors
    /// Its own, and [`Error::KeyDamaged`].
    pub fn from_encoded_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_encoded_bytes_on(Backend::detect(), bytes)
    }

    /// The same on the given backend, as the ordinary
    /// [`from_encoded_bytes_on`](keys::SigningKey::from_encoded_bytes_on).
    ///
    /// # Errors
    /// As `from_encoded_bytes`.
    pub fn from_encoded_bytes_on(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let _wiper = Wiper::<56>;
        Self::read(backend, bytes, black_box(bytes))
    }

    #[inline(never)]
    pub(super) fn read(backend: Backend, bytes: &[u8], copy: &[u8]) -> Result<Self, Error> {
        let checked = Self::checked(&keys::SigningKey::from_encoded_bytes_on(backend, bytes)?);
        if let Ok(key) = &checked {
            let same = compared(EQUAL[0], key.key.sk.as_ref(), copy);
            if public(Site::Agreement, same) != EQUAL[0] {
                return Err(Error::KeyDamaged);
            }
        }
        checked
    }

    /// The private key as `skEncode` writes it (Algorithm 24).
    ///
    /// # Errors
    /// [`KeyDamaged`].
    #[inline(never)]
    pub fn encoded_bytes(&self) -> Result<&P::SigningKeyBytes, KeyDamaged> {
        self.intact()?;
        Ok(&self.key.sk)
    }

    /// The public key. Its hash is compared with tr of the private key, so that a key which was damaged
    /// while it moved to its place does not hand out a wrong one.
    ///
    /// # Errors
    /// [`KeyDamaged`].
    #[inline(never)]
    pub fn verifying_key(&self) -> Result<&keys::VerifyingKey<P>, KeyDamaged> {
        let public = black_box(&self.key.public);
        self.confirm(&[], &[], public)?;
        Ok(public)
    }

    /// Checks that this key is the one that `xi` gives, and `public` its public key: the call that made the
    /// key may have left an earlier one in this place, and a copy of the public key may be wrong.
    ///
    /// # Errors
    /// [`KeyDamaged`].
    #[inline(never)]
    pub fn confirm_seed(
        &self,
        xi: &[u8; 32],
        public: &keys::VerifyingKey<P>,
    ) -> Result<(), KeyDamaged> {
        self.confirm(self.seed(), xi, public)
    }

    /// Checks that this key is the one that [`from_encoded_bytes`](Self::from_encoded_bytes) reads from
    /// `bytes`, and `public` its public key.
    ///
    /// # Errors
    /// [`KeyDamaged`].
    #[inline(never)]
    pub fn confirm_encoded_bytes(
        &self,
        bytes: &[u8],
        public: &keys::VerifyingKey<P>,
    ) -> Result<(), KeyDamaged> {
        self.confirm(self.key.sk.as_ref(), bytes, public)
    }

    /// Check that the key is intact, that `own` is `expected`, and that it has this public key.
    fn confirm(
        &self,
        own: &[u8],
        expected: &[u8],
        public: &keys::VerifyingKey<P>,
    ) -> Result<(), KeyDamaged> {
        self.intact()?;
        let same = [
            compared(EQUAL[0], own, expected),
            compared(EQUAL[1], &public.tr(), &self.key.sk.as_ref()[TR]),
        ];
        if self::public(Site::Agreement, same) != EQUAL {
            return Err(KeyDamaged);
        }
        Ok(())
    }

    /// Signs a message, or any [`Input`] (FIPS 204, Algorithms 2 and 4), as `options` say. Writes the
    /// signature to `out` and returns the proof that it was made twice and verified; [`Verified::holds`]
    /// compares it with what has reached the caller.
    ///
    /// # Errors
    /// Those of the ordinary [`sign_with`](keys::SigningKey::sign_with), and any [`Error`]. `out` then holds
    /// no signature. An `rnd` of 32 zero bytes from a generator is [`Rng`](crate::Error::Rng).
    #[inline(never)]
    pub fn sign_into<'a>(
        &self,
        input: impl Into<Input<'a>>,
        mut options: SignOptions<'_>,
        out: &mut Signature<P>,
    ) -> Result<Verified<P>, Error> {
        // Copies of its pointers and lengths that the compiler keeps apart: a fault that changes one leaves
        // the other.
        let input = input.into();
        let (input, input_copy) = (*black_box(&input), *black_box(&input));
        // Before anything is written: a write to a wrong place may change the message, and the hash that the
        // caller compares is then another one.
        let message = described::<P>(self.key.public.backend, &input_copy)?;
        let mut rnd = Secret(UNDRAWN);
        options.fill(slice::from_mut(&mut rnd))?;
        if options.is_hedged() {
            was_drawn(rnd.as_ref())?;
        }
        let request = Request::new(self.key.public.backend, &input, &rnd, options.max_attempts);
        // Before the call that signs, the two places hold complements: if the call is skipped they differ.
        // The second signature is in the proof, which the caller compares with the first: after a result
        // that went to a wrong place, by any copy or address, the two differ too.
        let mut proof = Verified::refused(&self.key.public, message);
        out.0.as_mut().fill(0);
        let result = self.run(request, &input_copy, &mut out.0, &mut proof.signature);
        // Both descriptions come from one place: a fault that moved it after the first hash changed the
        // message of both signatures.
        if described::<P>(self.key.public.backend, &input_copy) != Ok(message) {
            out.0.as_mut().fill(0);
            return Err(Error::Disagreement);
        }
        proof.words = EQUAL.map(|equal| Self::agree(equal, &out.0, &proof.signature));
        let [first, second] = black_box(proof.words);
        if first != EQUAL[0] || black_box(second) != EQUAL[1] {
            return Err(result.err().unwrap_or(Error::Disagreement));
        }
        Ok(proof)
    }

    /// Makes the same signature twice; the second has other bits if there is none.
    #[inline(never)]
    pub(super) fn run(
        &self,
        request: Request<'_>,
        input_copy: &Input<'_>,
        first: &mut P::SignatureBytes,
        second: &mut P::SignatureBytes,
    ) -> Result<(), Error> {
        let _wiper = Wiper::<24>;
        let result = self.signed(request, input_copy, first, second);
        if result.is_err() {
            // What is in the second may be secret.
            second.wipe();
            second.as_mut().fill(!0);
        }
        result
    }

    /// `equal` if the two signatures of [`run`](Self::run) are the same.
    #[inline(never)]
    pub(super) fn agree(equal: u64, first: &P::SignatureBytes, second: &P::SignatureBytes) -> u64 {
        public(
            Site::Agreement,
            compared(equal, first.as_ref(), second.as_ref()),
        )
    }

    #[inline(never)]
    fn signed(
        &self,
        request: Request<'_>,
        input_copy: &Input<'_>,
        out: &mut P::SignatureBytes,
        second: &mut P::SignatureBytes,
    ) -> Result<(), Error> {
        self.intact()?;
        let accepted = Cell::new(u32::MAX);
        let request = Request {
            accepted: Some(&accepted),
            ..request
        };
        let mut first = Secret(P::sign_compact(request, &self.key.sk)?);
        let number = accepted.get();
        let request_again = black_box(Request {
            input: input_copy,
            limit: number.saturating_add(1),
            first: number,
            accepted: None,
            ..request
        });
        // No iteration is accepted where none was: another number, or another iteration.
        let repeated = P::sign_compact(request_again, black_box(&self.key.sk));
        *second = repeated.map_err(|_| Error::Disagreement)?;
        self.release(request.input, &mut first, second)?;
        public_slice(Site::Agreement, second.as_mut());
        *out = first.0;
        Ok(())
    }

    /// Whether the two signatures are one, and valid with a public key computed here.
    pub(super) fn release(
        &self,
        input: &Input<'_>,
        first: &mut P::SignatureBytes,
        second: &P::SignatureBytes,
    ) -> Result<(), Error> {
        let same = compared(EQUAL[0], first.as_ref(), second.as_ref());
        if public(Site::Agreement, same) != EQUAL[0] {
            return Err(Error::Disagreement);
        }
        // The same by two computations: what is to be given out.
        public_slice(Site::Agreement, first.as_mut());
        let backend = self.key.public.backend;
        let mut pk = P::VerifyingKeyBytes::zero();
        P::recover(backend, black_box(&self.key.sk), &mut pk).map_err(|_| Error::KeyDamaged)?;
        if compared(EQUAL[1], pk.as_ref(), self.key.public.as_ref()) != EQUAL[1] {
            return Err(Error::KeyDamaged);
        }
        P::verify_compact(backend, &pk, input, first).map_err(|_| Error::Disagreement)
    }

    fn seed(&self) -> &[u8] {
        self.key.seed.as_ref().map_or(&[], |seed| &seed[..])
    }

    fn digest_now(&self) -> Secret<[u8; 32]> {
        let permute = self.key.public.backend.permutation();
        Secret(h(permute, &[self.key.sk.as_ref(), self.seed()]))
    }

    /// Whether the private key is the one that was checked.
    fn intact(&self) -> Result<(), KeyDamaged> {
        let _wiper = Wiper::<4>;
        self.has_its_digest()
    }

    #[inline(never)]
    fn has_its_digest(&self) -> Result<(), KeyDamaged> {
        let same = compared(EQUAL[0], self.digest_now().as_ref(), self.digest.as_ref());
        if public(Site::Agreement, same) != EQUAL[0] {
            return Err(KeyDamaged);
        }
        Ok(())
    }
}

impl<P: ParameterSet> fmt::Debug for SigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hardened::SigningKey<{}>", P::NAME)
    }
}

// Every secret is a `Secret`.
impl<P: ParameterSet> ZeroizeOnDrop for SigningKey<P> {}

/// Whether a generator has written here.
fn was_drawn(bytes: &[u8]) -> Result<(), Error> {
    let undrawn = compared(EQUAL[0], bytes, &UNDRAWN);
    if public(Site::Agreement, undrawn == EQUAL[0]) {
        return Err(Error::Refused(Refusal::Rng));
    }
    Ok(())
}
