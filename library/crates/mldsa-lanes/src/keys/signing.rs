//! Private keys.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::{fmt, slice};

use rand_core::TryCryptoRng;
use zeroize::ZeroizeOnDrop;

#[cfg(feature = "alloc")]
use super::ExpandedSigningKey;
use super::{SignOptions, Signature, VerifyingKey, Workspace};
use crate::ParameterSet;
use crate::backend::{Backend, Wiper};
use crate::error::Error;
use crate::kernels::poly::{Secret, Wipe, Zero};
use crate::scheme::encode;
use crate::scheme::keygen::byte_difference;
#[cfg(feature = "pkcs8")]
use crate::scheme::keygen::is_zero;
use crate::scheme::message::Input;
use crate::scheme::sign::Request;

/// A private key: the seed where it is known, the encoded private key (FIPS 204's `skEncode`) and the
/// public key. Each signature expands Â and transforms the secrets anew; an
/// [`ExpandedSigningKey`](crate::ExpandedSigningKey) has them. Wiped when dropped.
pub struct SigningKey<P: ParameterSet> {
    pub(crate) sk: Secret<P::SigningKeyBytes>,
    pub(crate) public: VerifyingKey<P>,
    pub(crate) seed: Option<Secret<[u8; 32]>>,
}

impl<P: ParameterSet> SigningKey<P> {
    /// A key to be filled in its place: a secret that is moved leaves a copy behind, unwiped.
    pub(crate) fn empty(backend: Backend) -> Self {
        SigningKey {
            sk: Secret::zero(),
            public: VerifyingKey::empty(backend),
            seed: None,
        }
    }

    /// ML-DSA.KeyGen_internal (Algorithm 6) from ξ.
    pub fn from_seed(xi: &[u8; 32]) -> Self {
        Self::from_seed_on(Backend::detect(), xi)
    }

    /// [`SigningKey::from_seed`] computed on the given backend, which the key keeps, unless it was
    /// [disabled](Backend::disable_for_process).
    pub fn from_seed_on(backend: Backend, xi: &[u8; 32]) -> Self {
        let _wiper = Wiper::<20>;
        Self::filled(backend, |key| key.fill_from_seed(xi))
    }

    /// [`SigningKey::from_seed_on`] in a workspace, which takes some 30 KiB off the stack.
    pub fn from_seed_in(workspace: &mut Workspace<P>, backend: Backend, xi: &[u8; 32]) -> Self {
        let _wiper = Wiper::<20>;
        Self::filled(backend, |key| key.fill_from_seed_in(workspace, xi))
    }

    // The functions that make a key return it, which moves it; so they are called under a wiper.

    #[inline(never)]
    fn filled(backend: Backend, fill: impl FnOnce(&mut Self)) -> Self {
        let mut key = Self::empty(backend.granted());
        fill(&mut key);
        key
    }

    #[inline(never)]
    fn read_by<F>(
        backend: Backend,
        read: impl FnOnce(&mut Self) -> Result<(), F>,
    ) -> Result<Self, F> {
        let mut result = Ok(Self::empty(backend.granted()));
        if let Ok(key) = &mut result
            && let Err(error) = read(key)
        {
            result = Err(error);
        }
        result
    }

    pub(crate) fn fill_from_seed(&mut self, xi: &[u8; 32]) {
        P::keygen(self.public.backend, xi, &mut self.sk, &mut self.public.pk);
        self.seed.insert(Secret::zero()).copy_from_slice(xi);
    }

    fn fill_from_seed_in(&mut self, Workspace(memory): &mut Workspace<P>, xi: &[u8; 32]) {
        let backend = self.public.backend;
        let (sk, pk) = (&mut self.sk, &mut self.public.pk);
        P::keygen_in(backend, xi, sk, pk, memory.keygen());
        memory.wipe();
        self.seed.insert(Secret::zero()).copy_from_slice(xi);
    }

    /// ML-DSA.KeyGen (Algorithm 1). For FIPS 140-3, call [`check_pair`](Self::check_pair) next.
    ///
    /// # Errors
    /// [`Error::Rng`] if `rng` fails.
    pub fn generate<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, Error> {
        Self::generate_by(|xi| draw(rng, xi))
    }

    pub(crate) fn generate_by<F>(
        draw: impl FnOnce(&mut [u8; 32]) -> Result<(), F>,
    ) -> Result<Self, F> {
        let _wiper = Wiper::<20>;
        Self::read_by(Backend::detect(), |key| {
            let mut xi = Secret([0; 32]);
            draw(&mut xi)?;
            key.fill_from_seed(&xi);
            Ok(())
        })
    }

    /// [`SigningKey::generate`] in a workspace.
    ///
    /// # Errors
    /// As `generate`.
    pub fn generate_in<R: TryCryptoRng + ?Sized>(
        workspace: &mut Workspace<P>,
        rng: &mut R,
    ) -> Result<Self, Error> {
        let _wiper = Wiper::<20>;
        Self::read_by(Backend::detect(), |key| {
            let mut xi = Secret([0; 32]);
            draw(rng, &mut xi)?;
            key.fill_from_seed_in(workspace, &xi);
            Ok(())
        })
    }

    /// Reads an encoded private key, the 2,560, 4,032 or 4,896 bytes of `skEncode`. Recomputes the public key
    /// and so refuses every string that no key generation can have written.
    ///
    /// # Errors
    /// [`Error::SigningKeyLength`]; [`Error::InvalidSigningKey`] if s1 or s2 is out of range, or
    /// t0 or tr does not belong to the rest.
    pub fn from_encoded_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_encoded_bytes_on(Backend::detect(), bytes)
    }

    /// [`SigningKey::from_encoded_bytes`] checked on the given backend, which the key keeps, unless
    /// it was [disabled](Backend::disable_for_process).
    ///
    /// # Errors
    /// As [`SigningKey::from_encoded_bytes`].
    pub fn from_encoded_bytes_on(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let _wiper = Wiper::<20>;
        Self::read_by(backend, |key| key.read(bytes))
    }

    /// [`SigningKey::from_encoded_bytes_on`] in a workspace, which takes some 30 KiB off the stack.
    ///
    /// # Errors
    /// As [`SigningKey::from_encoded_bytes`].
    pub fn from_encoded_bytes_in(
        workspace: &mut Workspace<P>,
        backend: Backend,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let _wiper = Wiper::<20>;
        Self::read_by(backend, |key| {
            key.copy(bytes)?;
            let (sk, VerifyingKey { pk, backend }) = (&key.sk, &mut key.public);
            let result = P::recover_in(*backend, sk, pk, workspace.0.keygen());
            workspace.0.wipe();
            result
        })
    }

    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.copy(bytes)?;
        P::recover(self.public.backend, &self.sk, &mut self.public.pk)
    }

    fn copy(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() != P::SIGNING_KEY_BYTES {
            return Err(Error::SigningKeyLength {
                expected: P::SIGNING_KEY_BYTES,
                actual: bytes.len(),
            });
        }
        self.sk.as_mut().copy_from_slice(bytes);
        Ok(())
    }

    /// The pairwise consistency test, which FIPS 140-3 asks for after each generation of a key: signs a fixed message
    /// and verifies the signature. No generation does it by itself, since it takes as long as a signature and a
    /// verification, with their stack.
    ///
    /// # Errors
    /// [`Error::PairwiseConsistency`]: a fault. Do not use the key.
    pub fn check_pair(&self) -> Result<(), Error> {
        let message = b"pairwise consistency test";
        self.sign_deterministic(message)
            .and_then(|signature| self.public.verify_signature(message, &signature))
            .map_err(|_| Error::PairwiseConsistency)
    }

    /// Zero if both have the same encoded private key.
    pub(super) fn difference(&self, other: &Self) -> u8 {
        byte_difference(self.sk.as_ref(), other.sk.as_ref())
    }

    #[cfg(feature = "pkcs8")]
    pub(crate) fn is_encoded_as(&self, bytes: &[u8]) -> bool {
        let has_length = bytes.len() == P::SIGNING_KEY_BYTES;
        has_length && is_zero(byte_difference(self.sk.as_ref(), bytes))
    }

    /// The encoded private key (Algorithm 24, `skEncode`). Prefer storing the 32-byte seed.
    pub fn encoded_bytes(&self) -> &P::SigningKeyBytes {
        &self.sk
    }

    /// ξ, if the key was made from it.
    pub fn seed(&self) -> Option<&[u8; 32]> {
        self.seed.as_deref()
    }

    /// The public key.
    pub fn verifying_key(&self) -> &VerifyingKey<P> {
        &self.public
    }

    /// The backend that the key's operations run on.
    pub fn backend(&self) -> Backend {
        self.public.backend
    }

    /// The same key on another backend, unless that one was [disabled](Backend::disable_for_process). It moves
    /// the key, as every call by value does; [`SigningKey::from_seed_on`] makes it where it stays.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.public.backend = backend.granted();
        self
    }

    /// Caches Â, NTT(t0) and the rotations of s1 and s2. A [`Place`](crate::Place) does it without a
    /// heap.
    #[cfg(feature = "alloc")]
    pub fn expand(&self) -> Box<ExpandedSigningKey<P>> {
        let mut place = Box::write(Box::new_uninit(), ExpandedSigningKey::EMPTY);
        place.fill(self);
        place
    }

    /// tr = H(pk), 64 bytes.
    pub fn tr(&self) -> [u8; 64] {
        *encode::SigningKeyParts::tr_of(self.sk.as_ref())
    }

    /// Signs a message, or any [`Input`] (FIPS 204, Algorithms 2 and 4), hedged: `rnd` comes
    /// from `rng`.
    ///
    /// # Errors
    /// [`Error::Rng`] if `rng` fails, [`Error::TooManyAttempts`] after 821 attempts; for some
    /// inputs [`Error::DigestLength`], [`Error::WeakPreHash`], [`Error::MuOfAnotherKey`].
    pub fn sign_hedged<'a, R: TryCryptoRng + ?Sized>(
        &self,
        input: impl Into<Input<'a>>,
        mut rng: &mut R,
    ) -> Result<Signature<P>, Error> {
        self.sign_with(input, SignOptions::hedged(&mut rng))
    }

    /// The deterministic variant of [`sign_hedged`](Self::sign_hedged): `rnd` is 32 zero bytes.
    ///
    /// # Errors
    /// As `sign_hedged`, but for [`Error::Rng`].
    pub fn sign_deterministic<'a>(
        &self,
        input: impl Into<Input<'a>>,
    ) -> Result<Signature<P>, Error> {
        self.sign_with(input, SignOptions::deterministic())
    }

    /// Signs as `options` say.
    ///
    /// # Errors
    /// As [`sign_hedged`](Self::sign_hedged).
    pub fn sign_with<'a>(
        &self,
        input: impl Into<Input<'a>>,
        mut options: SignOptions<'_>,
    ) -> Result<Signature<P>, Error> {
        let input = input.into();
        let mut rnd = Secret([0; 32]);
        options.fill(slice::from_mut(&mut rnd))?;
        let request = Request::new(self.public.backend, &input, &rnd, options.max_attempts);
        P::sign_compact(request, &self.sk).map(Signature)
    }
}

impl<P: ParameterSet> AsRef<VerifyingKey<P>> for SigningKey<P> {
    fn as_ref(&self) -> &VerifyingKey<P> {
        self.verifying_key()
    }
}

/// Draws ξ where it stays.
pub(crate) fn draw<R: TryCryptoRng + ?Sized>(rng: &mut R, xi: &mut [u8; 32]) -> Result<(), Error> {
    rng.try_fill_bytes(xi).map_err(|_| Error::Rng)
}

impl<P: ParameterSet> Clone for SigningKey<P> {
    fn clone(&self) -> Self {
        #[inline(never)]
        fn copied<P: ParameterSet>(key: &SigningKey<P>) -> SigningKey<P> {
            SigningKey {
                sk: key.sk.clone(),
                public: key.public.clone(),
                seed: key.seed.clone(),
            }
        }
        let _wiper = Wiper::<20>;
        copied(self)
    }
}

impl<P: ParameterSet> fmt::Debug for SigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey<{}>", P::NAME)
    }
}

// Every secret is a `Secret`.
impl<P: ParameterSet> ZeroizeOnDrop for SigningKey<P> {}
