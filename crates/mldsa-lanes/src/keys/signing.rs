//! Private keys.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;

use rand_core::TryCryptoRng;
use zeroize::ZeroizeOnDrop;

#[cfg(feature = "alloc")]
use super::ExpandedSigningKey;
use super::{Signature, VerifyingKey, copy_exactly, draw};
use crate::backend::Backend;
use crate::error::Error;
use crate::kernels::poly::{Secret, StackWiper, Zero};
use crate::scheme::encode;
use crate::scheme::entry::Scheme;
#[cfg(feature = "pkcs8")]
use crate::scheme::keygen;
use crate::scheme::message::Input;
use crate::scheme::sign::Order;

/// A private key: the seed where it is known, the bytes of FIPS 204's `skEncode` and the public
/// key. Each signature expands Â and transforms the secrets anew; an
/// [`ExpandedSigningKey`](crate::ExpandedSigningKey) has them. Wiped when dropped.
pub struct SigningKey<P: Scheme> {
    pub(crate) sk: Secret<P::SigningKeyBytes>,
    pub(crate) public: VerifyingKey<P>,
    pub(crate) seed: Option<Secret<[u8; 32]>>,
}

impl<P: Scheme> SigningKey<P> {
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
    /// [disabled](Backend::disable).
    pub fn from_seed_on(backend: Backend, xi: &[u8; 32]) -> Self {
        let _wiper = StackWiper::<20>;
        Self::made_from(backend.granted(), xi)
    }

    // The functions that make a key return it, which moves it; so they are called under a wiper.

    #[inline(never)]
    fn made_from(backend: Backend, xi: &[u8; 32]) -> Self {
        let mut key = Self::empty(backend);
        key.fill_from_seed(xi);
        key
    }

    pub(crate) fn fill_from_seed(&mut self, xi: &[u8; 32]) {
        P::keygen(self.public.backend, xi, &mut self.sk, &mut self.public.pk);
        self.seed.insert(Secret::zero()).copy_from_slice(xi);
    }

    /// ML-DSA.KeyGen (Algorithm 1).
    ///
    /// # Errors
    /// [`Error::Rng`] if `rng` fails.
    pub fn generate<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, Error> {
        let _wiper = StackWiper::<20>;
        Self::generated(rng)
    }

    #[inline(never)]
    fn generated<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, Error> {
        let mut xi = Secret([0; 32]);
        draw(rng, &mut xi)?;
        Ok(Self::made_from(Backend::detect(), &xi))
    }

    /// Reads the bytes that `skEncode` writes: 2,560, 4,032 or 4,896. Recomputes the public key
    /// and so refuses every string that no key generation can have written.
    ///
    /// # Errors
    /// [`Error::SigningKeyLength`]; [`Error::InvalidSigningKey`] if s1 or s2 is out of range, or
    /// t0 or tr does not belong to the rest.
    pub fn from_expanded_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_expanded_bytes_on(Backend::detect(), bytes)
    }

    /// [`SigningKey::from_expanded_bytes`] checked on the given backend, which the key keeps, unless
    /// it was [disabled](Backend::disable).
    ///
    /// # Errors
    /// As [`SigningKey::from_expanded_bytes`].
    pub fn from_expanded_bytes_on(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let _wiper = StackWiper::<20>;
        Self::read_from(backend.granted(), bytes)
    }

    #[inline(never)]
    fn read_from(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let mut result = Ok(Self::empty(backend));
        if let Ok(key) = &mut result
            && let Err(error) = key.read(bytes)
        {
            result = Err(error);
        }
        result
    }

    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if !copy_exactly(bytes, self.sk.as_mut()) {
            return Err(Error::SigningKeyLength {
                expected: P::SIGNING_KEY_BYTES,
                actual: bytes.len(),
            });
        }
        P::recover(self.public.backend, &self.sk, &mut self.public.pk)
    }

    /// Whether `bytes` are what `skEncode` writes of this key.
    #[cfg(feature = "pkcs8")]
    pub(crate) fn agrees_with(&self, bytes: &[u8]) -> Result<(), Error> {
        keygen::agree(self.sk.as_ref(), bytes)
    }

    /// The key as `skEncode` writes it (Algorithm 24). Whoever can, stores the seed instead.
    pub fn expanded_bytes(&self) -> &P::SigningKeyBytes {
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

    /// The same key on another backend, unless that one was [disabled](Backend::disable). It moves
    /// the key, as every call by value does; [`SigningKey::from_seed_on`] makes it where it stays.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.public.backend = backend.granted();
        self
    }

    /// Caches Â, NTT(t0) and the rotations of s1 and s2. Who has no heap uses a
    /// [`Place`](crate::Place).
    #[cfg(feature = "alloc")]
    pub fn expand(&self) -> Box<ExpandedSigningKey<P>> {
        let mut place = Box::new(ExpandedSigningKey::EMPTY);
        place.fill(self);
        place
    }

    /// tr = H(pk), 64 bytes.
    pub fn tr(&self) -> [u8; 64] {
        *encode::SigningKeyParts::tr_of(self.sk.as_ref())
    }

    pub(crate) fn run(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        max_attempts: u32,
    ) -> Result<Signature<P>, Error> {
        let order = Order {
            backend: self.public.backend,
            input,
            rnd,
            max_attempts,
            first: 0,
            accepted: None,
        };
        P::sign_compact(order, &self.sk).map(Signature)
    }
}

impl<P: Scheme> Clone for SigningKey<P> {
    fn clone(&self) -> Self {
        #[inline(never)]
        fn copied<P: Scheme>(key: &SigningKey<P>) -> SigningKey<P> {
            SigningKey {
                sk: key.sk.clone(),
                public: key.public.clone(),
                seed: key.seed.clone(),
            }
        }
        let _wiper = StackWiper::<20>;
        copied(self)
    }
}

impl<P: Scheme> fmt::Debug for SigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey<{}>", P::NAME)
    }
}

// Every secret is a `Secret`.
impl<P: Scheme> ZeroizeOnDrop for SigningKey<P> {}
