//! Private keys with what every signature needs.

use core::{fmt, slice};

use rand_core::TryCryptoRng;
use zeroize::ZeroizeOnDrop;

use super::{SignOptions, Signature, SigningKey, VerifyingKey, Workspace};
use crate::ParameterSet;
use crate::backend::Backend;
use crate::error::Error;
use crate::kernels::poly::{Secret, Wipe};
use crate::scheme::keygen::byte_difference;
use crate::scheme::message::Input;
use crate::scheme::sign::{self, Request};

/// The cached form of a private key: Â, NTT(t0) and the rotations of s1 and s2. About 27, 46 and 78 KiB
/// (1 KiB for each of the k·l + k polynomials, 768 bytes for each of l + k, and the public key). Made
/// only from a [`SigningKey`], where it stays, never read from bytes. Wiped when dropped.
pub struct ExpandedSigningKey<P: ParameterSet> {
    pub(crate) material: sign::Material<P>,
    pub(crate) public: VerifyingKey<P>,
}

impl<P: ParameterSet> fmt::Debug for ExpandedSigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExpandedSigningKey<{}>", P::NAME)
    }
}

impl<P: ParameterSet> ExpandedSigningKey<P> {
    /// To be filled where it stays: a secret that is moved leaves a copy behind, unwiped.
    pub(crate) const EMPTY: Self = ExpandedSigningKey {
        material: sign::Material::ZERO,
        public: VerifyingKey::empty(Backend::PORTABLE),
    };

    /// The backend that the key's operations run on.
    pub fn backend(&self) -> Backend {
        self.public.backend
    }

    pub(super) fn fill(&mut self, key: &SigningKey<P>) {
        self.public.clone_from(&key.public);
        P::expand_signing(key.public.backend, &key.sk, &mut self.material);
    }

    /// Zero if both are of the same private key, of which t0 follows from the rest.
    pub(super) fn difference(&self, other: &Self) -> u8 {
        let (a, b) = (&self.material, &other.material);
        let public = byte_difference(self.public.as_ref(), other.public.as_ref());
        let pairs = a.s1.as_ref().iter().zip(b.s1.as_ref());
        pairs
            .chain(a.s2.as_ref().iter().zip(b.s2.as_ref()))
            .map(|(a, b)| byte_difference(a.bytes(), b.bytes()))
            .fold(public | byte_difference(&*a.k, &*b.k), |all, x| all | x)
    }

    /// The public key.
    pub fn verifying_key(&self) -> &VerifyingKey<P> {
        &self.public
    }

    /// tr = H(pk), 64 bytes.
    pub fn tr(&self) -> [u8; 64] {
        self.material.tr
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
    #[inline(never)] // Its memory must not become a part of the caller's frame.
    pub fn sign_with<'a>(
        &self,
        input: impl Into<Input<'a>>,
        mut options: SignOptions<'_>,
    ) -> Result<Signature<P>, Error> {
        let input = input.into();
        let mut rnd = Secret([0; 32]);
        options.fill(slice::from_mut(&mut rnd))?;
        let request = Request::new(self.public.backend, &input, &rnd, options.max_attempts);
        let mut memory = sign::Memory::ZERO;
        P::sign_in(request, &self.material, &mut memory).map(Signature)
    }

    /// [`sign_with`](Self::sign_with) in a workspace, which takes 35 to 46 KiB off the stack.
    ///
    /// # Errors
    /// As `sign_with`.
    pub fn sign_in<'a>(
        &self,
        workspace: &mut Workspace<P>,
        input: impl Into<Input<'a>>,
        mut options: SignOptions<'_>,
    ) -> Result<Signature<P>, Error> {
        let input = input.into();
        let mut rnd = Secret([0; 32]);
        options.fill(slice::from_mut(&mut rnd))?;
        let request = Request::new(self.public.backend, &input, &rnd, options.max_attempts);
        let result = P::sign_in(request, &self.material, &mut workspace.0);
        workspace.0.wipe();
        result.map(Signature)
    }
}

impl<P: ParameterSet> AsRef<VerifyingKey<P>> for ExpandedSigningKey<P> {
    fn as_ref(&self) -> &VerifyingKey<P> {
        self.verifying_key()
    }
}

// Every secret is a `Secret`.
impl<P: ParameterSet> ZeroizeOnDrop for ExpandedSigningKey<P> {}
