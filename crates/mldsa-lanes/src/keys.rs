//! Keys and signatures.

use core::fmt;

use rand_core::TryCryptoRng;

use crate::backend::{Backend, with_engine};
use crate::error::Error;
use crate::kernels::poly::{Secret, Zero};
use crate::kernels::sponge::h;
use crate::params::{MAX_ATTEMPTS, ParameterSet};
use crate::scheme::encode::SigningKeyParts;
use crate::scheme::message::Input;
use crate::scheme::{keygen, sign, verify};
use crate::trace::{Attempt, Observer, Silent, Tracing};

/// A signature as FIPS 204's `sigEncode` writes it: 2,420, 3,309 or 4,627 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature<P: ParameterSet>(pub(crate) P::SignatureBytes);

impl<P: ParameterSet> Signature<P> {
    /// Any string of the right length; [`VerifyingKey::verify`] judges its content.
    ///
    /// # Errors
    /// [`Error::SignatureLength`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        exact(bytes).map(Signature).ok_or(Error::SignatureLength {
            expected: P::SIGNATURE_BYTES,
            actual: bytes.len(),
        })
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &P::SignatureBytes {
        &self.0
    }
}

impl<P: ParameterSet> AsRef<[u8]> for Signature<P> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<P: ParameterSet> fmt::Debug for Signature<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature<{}>", P::NAME)
    }
}

/// A public key as FIPS 204's `pkEncode` writes it: 1,312, 1,952 or 2,592 bytes. Each
/// verification expands Â and computes tr anew; [`VerifyingKey::expand`] does so once.
#[derive(Clone)]
pub struct VerifyingKey<P: ParameterSet> {
    pub(crate) pk: P::VerifyingKeyBytes,
    pub(crate) backend: Backend,
}

impl<P: ParameterSet> VerifyingKey<P> {
    /// Every string of the right length is a public key.
    ///
    /// # Errors
    /// [`Error::VerifyingKeyLength`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        match exact(bytes) {
            Some(pk) => Ok(VerifyingKey {
                pk,
                backend: Backend::detect(),
            }),
            None => Err(Error::VerifyingKeyLength {
                expected: P::VERIFYING_KEY_BYTES,
                actual: bytes.len(),
            }),
        }
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

    /// tr = H(pk), 64 bytes: what [`MuHasher`](crate::MuHasher) starts from.
    pub fn tr(&self) -> [u8; 64] {
        h(self.backend.permutation(), &[self.pk.as_ref()])
    }

    /// Caches Â, NTT(t1·2^d) and tr.
    pub fn expand(&self) -> ExpandedVerifyingKey<P> {
        let mut key = ExpandedVerifyingKey::zero(self.backend);
        key.fill(self);
        key
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
        // Not `expand`, which moves its result: 20 to 64 KiB.
        let mut key = ExpandedVerifyingKey::zero(self.backend);
        key.fill(self);
        key.verify_input(input, signature)
    }
}

impl<P: ParameterSet> PartialEq for VerifyingKey<P> {
    fn eq(&self, other: &Self) -> bool {
        self.pk == other.pk
    }
}
impl<P: ParameterSet> Eq for VerifyingKey<P> {}

impl<P: ParameterSet> fmt::Debug for VerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey<{}>", P::NAME)
    }
}

/// A public key with Â, NTT(t1·2^d) and tr cached: about 20, 36 and 64 KiB
/// (1 KiB for each of the k·l + k polynomials). Made only by [`VerifyingKey::expand`], never read
/// from bytes.
#[derive(Clone)]
pub struct ExpandedVerifyingKey<P: ParameterSet> {
    pub(crate) material: verify::Material<P>,
    pub(crate) backend: Backend,
}

impl<P: ParameterSet> ExpandedVerifyingKey<P> {
    fn zero(backend: Backend) -> Self {
        ExpandedVerifyingKey {
            material: verify::Material::zero(),
            backend,
        }
    }

    /// The backend that the key's operations run on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    fn fill(&mut self, key: &VerifyingKey<P>) {
        with_engine!(self.backend, e => self.material.fill(e, key.pk.as_ref()));
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
        let mu = input.mu(self.backend.permutation(), &self.material.tr)?;
        with_engine!(self.backend, e => verify::verify(e, &self.material, &mu, &signature.0))
    }
}

impl<P: ParameterSet> fmt::Debug for ExpandedVerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExpandedVerifyingKey<{}>", P::NAME)
    }
}

/// A private key: the seed where it is known, the bytes of FIPS 204's `skEncode` and the public
/// key. Each signature expands Â and transforms the secrets anew; [`SigningKey::expand`] does so
/// once. Wiped when dropped.
#[derive(Clone)]
pub struct SigningKey<P: ParameterSet> {
    pub(crate) sk: Secret<P::SigningKeyBytes>,
    pub(crate) pk: P::VerifyingKeyBytes,
    pub(crate) seed: Option<Secret<[u8; 32]>>,
    pub(crate) backend: Backend,
}

impl<P: ParameterSet> SigningKey<P> {
    /// A key to be filled in its place.
    #[cfg(feature = "alloc")]
    pub(crate) fn zero(backend: Backend) -> Self {
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
        let backend = backend.granted();
        let mut sk = Secret::zero();
        let pk = with_engine!(backend, e => keygen::keygen::<P, _>(e, xi, &mut sk));
        SigningKey {
            sk,
            pk,
            seed: Some(Secret(*xi)),
            backend,
        }
    }

    /// ML-DSA.KeyGen (Algorithm 1).
    ///
    /// # Errors
    /// [`Error::Rng`] if `rng` fails.
    pub fn generate<R: TryCryptoRng>(rng: &mut R) -> Result<Self, Error> {
        let mut xi = Secret([0; 32]);
        rng.try_fill_bytes(xi.as_mut()).map_err(|_| Error::Rng)?;
        Ok(Self::from_seed(&xi))
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
        let backend = backend.granted();
        let sk = Secret(
            exact::<P::SigningKeyBytes>(bytes).ok_or(Error::SigningKeyLength {
                expected: P::SIGNING_KEY_BYTES,
                actual: bytes.len(),
            })?,
        );
        let pk = with_engine!(backend, e => keygen::recover::<P, _>(e, &SigningKeyParts::of::<P>(sk.as_ref())))?;
        Ok(SigningKey {
            sk,
            pk,
            seed: None,
            backend,
        })
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

    /// The same key on another backend, unless that one was [disabled](Backend::disable).
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        let backend = backend.granted();
        SigningKey { backend, ..self }
    }

    /// Caches Â, NTT(t0) and the rotations of s1 and s2. The result is moved to the caller; what the
    /// compiler may leave on the stack by moving it is not wiped. Signing itself moves no secrets.
    pub fn expand(&self) -> ExpandedSigningKey<P> {
        let mut key = ExpandedSigningKey::zero(self.backend);
        key.fill(self);
        key
    }
}

impl<P: ParameterSet> fmt::Debug for SigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey<{}>", P::NAME)
    }
}

/// A private key with Â, NTT(t0) and the rotations of s1 and s2 cached: about 26, 44 and 75 KiB
/// (1 KiB for each of the k·l + k polynomials, 768 bytes for each of l + k). Made only by
/// [`SigningKey::expand`], never read from bytes. Wiped when dropped.
#[derive(Clone)]
pub struct ExpandedSigningKey<P: ParameterSet> {
    pub(crate) material: sign::Material<P>,
    pub(crate) backend: Backend,
}

impl<P: ParameterSet> fmt::Debug for ExpandedSigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExpandedSigningKey<{}>", P::NAME)
    }
}

impl<P: ParameterSet> ExpandedSigningKey<P> {
    /// The backend that the key's operations run on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// A key to be filled in its place.
    pub(crate) fn zero(backend: Backend) -> Self {
        ExpandedSigningKey {
            material: sign::Material::zero(),
            backend,
        }
    }

    fn fill(&mut self, key: &SigningKey<P>) {
        with_engine!(self.backend, e => self.material.fill(e, key.sk.as_ref()));
    }

    fn run<O: Observer>(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        max_attempts: u32,
        mut observer: O,
    ) -> Result<Signature<P>, Error> {
        let mu = input.mu(self.backend.permutation(), &self.material.tr)?;
        with_engine!(self.backend, e =>
            sign::sign(e, &self.material, &mu, rnd, max_attempts, &mut observer))
        .map(Signature)
    }
}

impl<P: ParameterSet> SigningKey<P> {
    fn run<O: Observer>(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        max_attempts: u32,
        observer: O,
    ) -> Result<Signature<P>, Error> {
        // Not `expand`, whose result is moved: the place left behind would not be wiped.
        let mut key = ExpandedSigningKey::zero(self.backend);
        key.fill(self);
        key.run(input, rnd, max_attempts, observer)
    }
}

/// The ways to sign, the same for compact and expanded keys.
macro_rules! signing_methods {
    ($key:ident) => {
        impl<P: ParameterSet> $key<P> {
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
                self.run(input, rnd, MAX_ATTEMPTS, Silent)
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
                self.run(input, rnd, max_attempts, Silent)
            }

            /// [`sign_input`](Self::sign_input), telling `on_attempt` of every attempt in order.
            /// Carries out all checks of each attempt, so it is slower, and its time says more
            /// about rejected attempts than a signature does: for tests and measurements.
            ///
            /// # Errors
            /// As `sign_input`.
            pub fn sign_traced<F: FnMut(Attempt)>(
                &self,
                input: &Input<'_>,
                rnd: &[u8; 32],
                on_attempt: F,
            ) -> Result<Signature<P>, Error> {
                self.run(input, rnd, MAX_ATTEMPTS, Tracing(on_attempt))
            }
        }
    };
}
signing_methods!(SigningKey);
signing_methods!(ExpandedSigningKey);

/// `bytes` as an array of exactly its length.
fn exact<B: Zero + AsMut<[u8]>>(bytes: &[u8]) -> Option<B> {
    let mut out = B::zero();
    (out.as_mut().len() == bytes.len()).then(|| {
        out.as_mut().copy_from_slice(bytes);
        out
    })
}
