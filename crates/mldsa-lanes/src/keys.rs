//! Keys and signatures.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;

use rand_core::TryCryptoRng;

use crate::backend::Backend;
use crate::error::Error;
use crate::kernels::poly::{Secret, StackWiper, Wipe, Zero};
use crate::params::MAX_ATTEMPTS;
use crate::scheme::entry::Scheme;
use crate::scheme::message::{Input, MuHasher, PreHash};
use crate::scheme::sign::Order;
use crate::scheme::{encode, sign, verify};
#[cfg(feature = "trace")]
use crate::trace::Attempt;

/// A signature as FIPS 204's `sigEncode` writes it: 2,420, 3,309 or 4,627 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature<P: Scheme>(pub(crate) P::SignatureBytes);

impl<P: Scheme> Signature<P> {
    /// Any string of the right length; [`VerifyingKey::verify`] judges its content.
    ///
    /// # Errors
    /// [`Error::SignatureLength`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut signature: Self = Signature(P::SignatureBytes::zero());
        if !copy_exactly(bytes, signature.0.as_mut()) {
            return Err(Error::SignatureLength {
                expected: P::SIGNATURE_BYTES,
                actual: bytes.len(),
            });
        }
        Ok(signature)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &P::SignatureBytes {
        &self.0
    }
}

impl<P: Scheme> AsRef<[u8]> for Signature<P> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<P: Scheme> fmt::Debug for Signature<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature<{}>", P::NAME)
    }
}

/// A public key as FIPS 204's `pkEncode` writes it: 1,312, 1,952 or 2,592 bytes. Each
/// verification expands Â and computes tr anew; an [`ExpandedVerifyingKey`] has them.
#[derive(Clone)]
pub struct VerifyingKey<P: Scheme> {
    pub(crate) pk: P::VerifyingKeyBytes,
    pub(crate) backend: Backend,
}

impl<P: Scheme> VerifyingKey<P> {
    /// Every string of the right length is a public key.
    ///
    /// # Errors
    /// [`Error::VerifyingKeyLength`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut pk = P::VerifyingKeyBytes::zero();
        if !copy_exactly(bytes, pk.as_mut()) {
            return Err(Error::VerifyingKeyLength {
                expected: P::VERIFYING_KEY_BYTES,
                actual: bytes.len(),
            });
        }
        let backend = Backend::detect();
        Ok(VerifyingKey { pk, backend })
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &P::VerifyingKeyBytes {
        &self.pk
    }

    /// The backend that the key's operations run on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The same key on another backend, unless that one was [disabled](Backend::disable).
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        let backend = backend.granted();
        VerifyingKey { backend, ..self }
    }

    /// tr = H(pk), 64 bytes.
    pub fn tr(&self) -> [u8; 64] {
        verify::tr(self.backend, self.pk.as_ref())
    }

    /// Caches Â, NTT(t1·2^d) and tr. Who has no heap uses a [`Place`].
    #[cfg(feature = "alloc")]
    pub fn expand(&self) -> Box<ExpandedVerifyingKey<P>> {
        let mut place = Box::new(ExpandedVerifyingKey::EMPTY);
        place.fill(self);
        place
    }

    /// ML-DSA.Verify (Algorithm 3).
    ///
    /// # Errors
    /// [`Error::InvalidSignature`]; [`Error::ContextTooLong`] for more than 255 bytes.
    pub fn verify(
        &self,
        message: &[u8],
        context: &[u8],
        signature: &Signature<P>,
    ) -> Result<(), Error> {
        self.verify_input(&Input::Pure { message, context }, signature)
    }

    /// Verification of any [`Input`] (Algorithms 3, 5 and 8).
    ///
    /// # Errors
    /// As [`VerifyingKey::verify`], and [`Error::DigestLength`].
    pub fn verify_input(&self, input: &Input<'_>, signature: &Signature<P>) -> Result<(), Error> {
        P::verify_compact(self.backend, &self.pk, input, &signature.0)
    }
}

impl<P: Scheme> PartialEq for VerifyingKey<P> {
    fn eq(&self, other: &Self) -> bool {
        self.pk == other.pk
    }
}
impl<P: Scheme> Eq for VerifyingKey<P> {}

impl<P: Scheme> fmt::Debug for VerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey<{}>", P::NAME)
    }
}

/// A public key with Â, NTT(t1·2^d) and tr cached: about 20, 36 and 64 KiB
/// (1 KiB for each of the k·l + k polynomials). Made only from a [`VerifyingKey`], never read from
/// bytes.
#[derive(Clone)]
pub struct ExpandedVerifyingKey<P: Scheme> {
    pub(crate) material: verify::Material<P>,
    pub(crate) backend: Backend,
}

impl<P: Scheme> ExpandedVerifyingKey<P> {
    /// To be filled where it stays.
    const EMPTY: Self = ExpandedVerifyingKey {
        material: verify::Material::ZERO,
        backend: Backend::PORTABLE,
    };

    /// The backend that the key's operations run on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    fn fill(&mut self, key: &VerifyingKey<P>) {
        self.backend = key.backend;
        P::expand_verifying(key.backend, &key.pk, &mut self.material);
    }

    /// tr = H(pk), 64 bytes.
    pub fn tr(&self) -> [u8; 64] {
        self.material.tr
    }

    /// As [`VerifyingKey::verify`].
    ///
    /// # Errors
    /// As [`VerifyingKey::verify`].
    pub fn verify(
        &self,
        message: &[u8],
        context: &[u8],
        signature: &Signature<P>,
    ) -> Result<(), Error> {
        self.verify_input(&Input::Pure { message, context }, signature)
    }

    /// As [`VerifyingKey::verify_input`].
    ///
    /// # Errors
    /// As [`VerifyingKey::verify_input`].
    pub fn verify_input(&self, input: &Input<'_>, signature: &Signature<P>) -> Result<(), Error> {
        P::verify(self.backend, &self.material, input, &signature.0)
    }
}

impl<P: Scheme> fmt::Debug for ExpandedVerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExpandedVerifyingKey<{}>", P::NAME)
    }
}

/// A private key: the seed where it is known, the bytes of FIPS 204's `skEncode` and the public
/// key. Each signature expands Â and transforms the secrets anew; an [`ExpandedSigningKey`] has
/// them. Wiped when dropped.
pub struct SigningKey<P: Scheme> {
    pub(crate) sk: Secret<P::SigningKeyBytes>,
    pub(crate) pk: P::VerifyingKeyBytes,
    pub(crate) seed: Option<Secret<[u8; 32]>>,
    pub(crate) backend: Backend,
}

impl<P: Scheme> SigningKey<P> {
    /// A key to be filled in its place: a secret that is moved leaves a copy behind, unwiped.
    pub(crate) fn empty(backend: Backend) -> Self {
        SigningKey {
            sk: Secret::zero(),
            pk: P::VerifyingKeyBytes::zero(),
            seed: None,
            backend,
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
        P::keygen(backend, xi, &mut key.sk, &mut key.pk);
        key.seed.insert(Secret::zero()).copy_from_slice(xi);
        key
    }

    /// ML-DSA.KeyGen (Algorithm 1).
    ///
    /// # Errors
    /// [`Error::Rng`] if `rng` fails.
    pub fn generate<R: TryCryptoRng>(rng: &mut R) -> Result<Self, Error> {
        let _wiper = StackWiper::<20>;
        Self::generated(rng)
    }

    #[inline(never)]
    fn generated<R: TryCryptoRng>(rng: &mut R) -> Result<Self, Error> {
        let mut xi = Secret([0; 32]);
        rng.try_fill_bytes(xi.as_mut()).map_err(|_| Error::Rng)?;
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

    fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if !copy_exactly(bytes, self.sk.as_mut()) {
            return Err(Error::SigningKeyLength {
                expected: P::SIGNING_KEY_BYTES,
                actual: bytes.len(),
            });
        }
        P::recover(self.backend, &self.sk, &mut self.pk)
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
    pub fn verifying_key(&self) -> VerifyingKey<P> {
        VerifyingKey {
            pk: self.pk,
            backend: self.backend,
        }
    }

    /// The backend that the key's operations run on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The same key on another backend, unless that one was [disabled](Backend::disable). It moves
    /// the key, as every call by value does; [`SigningKey::from_seed_on`] makes it where it stays.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.backend = backend.granted();
        self
    }

    /// Caches Â, NTT(t0) and the rotations of s1 and s2. Who has no heap uses a [`Place`].
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

    fn run(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        max_attempts: u32,
    ) -> Result<Signature<P>, Error> {
        let order = Order {
            backend: self.backend,
            input,
            rnd,
            max_attempts,
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
                pk: key.pk,
                seed: key.seed.clone(),
                backend: key.backend,
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

/// A private key with Â, NTT(t0) and the rotations of s1 and s2 cached: about 26, 44 and 75 KiB
/// (1 KiB for each of the k·l + k polynomials, 768 bytes for each of l + k). Made only from a
/// [`SigningKey`], where it stays, never read from bytes. Wiped when dropped.
pub struct ExpandedSigningKey<P: Scheme> {
    pub(crate) material: sign::Material<P>,
    pub(crate) backend: Backend,
}

impl<P: Scheme> fmt::Debug for ExpandedSigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExpandedSigningKey<{}>", P::NAME)
    }
}

impl<P: Scheme> ExpandedSigningKey<P> {
    /// To be filled where it stays: a secret that is moved leaves a copy behind, unwiped.
    pub(crate) const EMPTY: Self = ExpandedSigningKey {
        material: sign::Material::ZERO,
        backend: Backend::PORTABLE,
    };

    /// The backend that the key's operations run on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    fn fill(&mut self, key: &SigningKey<P>) {
        self.backend = key.backend;
        P::expand_signing(key.backend, &key.sk, &mut self.material);
    }

    /// tr = H(pk), 64 bytes.
    pub fn tr(&self) -> [u8; 64] {
        self.material.tr
    }

    fn order<'a>(&self, input: &'a Input<'a>, rnd: &'a [u8; 32], max_attempts: u32) -> Order<'a> {
        Order {
            backend: self.backend,
            input,
            rnd,
            max_attempts,
        }
    }

    fn run(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        max_attempts: u32,
    ) -> Result<Signature<P>, Error> {
        P::sign(self.order(input, rnd, max_attempts), &self.material).map(Signature)
    }

    /// [`sign_bounded`](Self::sign_bounded) in a workspace, which takes some 50 KiB off the stack.
    ///
    /// # Errors
    /// As `sign_bounded`.
    pub fn sign_in(
        &self,
        workspace: &mut Workspace<P>,
        input: &Input<'_>,
        rnd: &[u8; 32],
        max_attempts: u32,
    ) -> Result<Signature<P>, Error> {
        let order = self.order(input, rnd, max_attempts);
        let result = P::sign_in(order, &self.material, &mut workspace.0);
        workspace.0.wipe();
        result.map(Signature)
    }
}

/// What signing computes with beside the key, for callers with a small stack or no heap: 38, 45 and
/// 53 KiB. Any number of signatures may use it one after another; it is wiped after each.
///
/// ```
/// use mldsa_lanes::mldsa65::{ExpandedSigningKey, SigningKey};
/// use mldsa_lanes::{Input, MAX_ATTEMPTS, Place, Workspace};
///
/// // In a `static` behind the program's own lock, or wherever there is room for both.
/// let mut place = Place::<ExpandedSigningKey>::new();
/// let mut workspace = Workspace::new();
///
/// let key = place.fill(&SigningKey::from_seed(&[7; 32]));
/// let input = Input::Pure { message: b"message", context: b"" };
/// let signature = key.sign_in(&mut workspace, &input, &[0; 32], MAX_ATTEMPTS)?;
/// # assert_eq!(signature, key.sign_deterministic(b"message", b"")?);
/// # Ok::<(), mldsa_lanes::Error>(())
/// ```
pub struct Workspace<P: Scheme>(sign::Space<P>);

impl<P: Scheme> Workspace<P> {
    /// All zeros, so that a `static` of it takes no room in the program's file.
    #[expect(clippy::new_without_default)] // A default would be made on the stack and moved.
    pub const fn new() -> Self {
        Workspace(sign::Space::ZERO)
    }
}

/// Room in which an expanded key is made and stays, for programs without a heap: in a `static`, or
/// on a stack that is large enough. The sizes are those of [`ExpandedSigningKey`] and
/// [`ExpandedVerifyingKey`].
pub struct Place<K>(K);

macro_rules! place {
    ($compact:ident -> $expanded:ident) => {
        impl<P: Scheme> Place<$expanded<P>> {
            /// All zeros, so that a `static` of it takes no room in the program's file.
            #[expect(clippy::new_without_default)] // A default would be made on the stack and moved.
            pub const fn new() -> Self {
                Place($expanded::EMPTY)
            }

            /// Expands `key`, over the one that was here.
            pub fn fill(&mut self, key: &$compact<P>) -> &$expanded<P> {
                self.0.fill(key);
                &self.0
            }
        }
    };
}
place!(SigningKey -> ExpandedSigningKey);
place!(VerifyingKey -> ExpandedVerifyingKey);

impl<P: Scheme> Place<ExpandedSigningKey<P>> {
    /// Wipes the key that is here, for a place that is never dropped.
    pub fn wipe(&mut self) {
        self.0.material.wipe();
    }
}

macro_rules! mu_hashers {
    ($key:ident) => {
        impl<P: Scheme> $key<P> {
            /// Computes μ of a message that arrives in pieces, on this key's backend.
            ///
            /// # Errors
            /// [`Error::ContextTooLong`] for more than 255 bytes.
            pub fn mu_hasher(&self, context: &[u8]) -> Result<MuHasher, Error> {
                MuHasher::begin(self.backend, &self.tr(), None, context)
            }

            /// The same for HashML-DSA: the message is hashed with `hash` first.
            ///
            /// # Errors
            /// [`Error::ContextTooLong`] for more than 255 bytes.
            pub fn prehash_mu_hasher(
                &self,
                hash: PreHash,
                context: &[u8],
            ) -> Result<MuHasher, Error> {
                MuHasher::begin(self.backend, &self.tr(), Some(hash), context)
            }
        }
    };
}
mu_hashers!(SigningKey);
mu_hashers!(ExpandedSigningKey);
mu_hashers!(VerifyingKey);
mu_hashers!(ExpandedVerifyingKey);

/// The ways to sign, the same for compact and expanded keys.
macro_rules! signing_methods {
    ($key:ident) => {
        impl<P: Scheme> $key<P> {
            /// ML-DSA.Sign (Algorithm 2), hedged: `rnd` comes from `rng`.
            ///
            /// # Errors
            /// [`Error::ContextTooLong`] for more than 255 bytes, [`Error::Rng`] if `rng` fails,
            /// [`Error::TooManyAttempts`] after 821 attempts.
            pub fn sign<R: TryCryptoRng>(
                &self,
                message: &[u8],
                context: &[u8],
                rng: &mut R,
            ) -> Result<Signature<P>, Error> {
                self.sign_input_hedged(&Input::Pure { message, context }, rng)
            }

            /// Signs any [`Input`] (Algorithms 2, 4 and 7), hedged: `rnd` comes from `rng`.
            ///
            /// # Errors
            /// As [`sign`](Self::sign), and [`Error::DigestLength`].
            pub fn sign_input_hedged<R: TryCryptoRng>(
                &self,
                input: &Input<'_>,
                rng: &mut R,
            ) -> Result<Signature<P>, Error> {
                let mut rnd = Secret([0; 32]);
                rng.try_fill_bytes(rnd.as_mut()).map_err(|_| Error::Rng)?;
                self.sign_input(input, &rnd)
            }

            /// The deterministic variant: `rnd` is 32 zero bytes.
            ///
            /// # Errors
            /// [`Error::ContextTooLong`], [`Error::TooManyAttempts`].
            pub fn sign_deterministic(
                &self,
                message: &[u8],
                context: &[u8],
            ) -> Result<Signature<P>, Error> {
                self.sign_input(&Input::Pure { message, context }, &[0; 32])
            }

            /// Signs any [`Input`] with the given `rnd` (Algorithms 2, 4 and 7). Whoever has a
            /// random number generator uses [`sign_input_hedged`](Self::sign_input_hedged).
            ///
            /// # Errors
            /// [`Error::ContextTooLong`], [`Error::DigestLength`], [`Error::TooManyAttempts`].
            pub fn sign_input(
                &self,
                input: &Input<'_>,
                rnd: &[u8; 32],
            ) -> Result<Signature<P>, Error> {
                self.run(input, rnd, MAX_ATTEMPTS)
            }

            /// [`sign_input`](Self::sign_input) with at most `max_attempts` attempts, which
            /// bounds its time; 821 is the most that is ever tried.
            ///
            /// # Errors
            /// As `sign_input`.
            pub fn sign_bounded(
                &self,
                input: &Input<'_>,
                rnd: &[u8; 32],
                max_attempts: u32,
            ) -> Result<Signature<P>, Error> {
                self.run(input, rnd, max_attempts)
            }
        }
    };
}
signing_methods!(SigningKey);
signing_methods!(ExpandedSigningKey);

/// Each attempt's failing checks, for tests and measurements.
#[cfg(feature = "trace")]
impl<P: Scheme> ExpandedSigningKey<P> {
    /// [`sign_input`](Self::sign_input), telling `on_attempt` of every attempt in order.
    /// Carries out all checks of each attempt, so it is slower, and its time says more
    /// about rejected attempts than a signature does: for tests and measurements.
    ///
    /// # Errors
    /// As `sign_input`.
    pub fn sign_traced(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        mut on_attempt: impl FnMut(Attempt),
    ) -> Result<Signature<P>, Error> {
        let order = self.order(input, rnd, MAX_ATTEMPTS);
        P::sign_traced(order, &self.material, &mut on_attempt).map(Signature)
    }
}

#[cfg(feature = "trace")]
impl<P: Scheme> SigningKey<P> {
    /// As [`ExpandedSigningKey::sign_traced`].
    ///
    /// # Errors
    /// As [`sign_input`](Self::sign_input).
    pub fn sign_traced(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        on_attempt: impl FnMut(Attempt),
    ) -> Result<Signature<P>, Error> {
        self.expand().sign_traced(input, rnd, on_attempt)
    }
}

/// Fills `out` if it has the length of `bytes`.
#[must_use]
fn copy_exactly(bytes: &[u8], out: &mut [u8]) -> bool {
    let fits = out.len() == bytes.len();
    if fits {
        out.copy_from_slice(bytes);
    }
    fits
}
