//! Private keys with what every signature needs.

use core::fmt;

use rand_core::TryCryptoRng;
use zeroize::ZeroizeOnDrop;

use super::{Signature, SigningKey, VerifyingKey, Workspace, draw};
use crate::backend::Backend;
use crate::error::Error;
use crate::kernels::poly::{Secret, Wipe};
use crate::params::MAX_ATTEMPTS;
use crate::scheme::entry::Scheme;
use crate::scheme::message::Input;
use crate::scheme::sign::{self, Order};

/// A private key with Â, NTT(t0) and the rotations of s1 and s2 cached: about 27, 46 and 78 KiB
/// (1 KiB for each of the k·l + k polynomials, 768 bytes for each of l + k, and the public key). Made
/// only from a [`SigningKey`], where it stays, never read from bytes. Wiped when dropped.
pub struct ExpandedSigningKey<P: Scheme> {
    pub(crate) material: sign::Material<P>,
    pub(crate) public: VerifyingKey<P>,
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

    /// The public key.
    pub fn verifying_key(&self) -> &VerifyingKey<P> {
        &self.public
    }

    /// tr = H(pk), 64 bytes.
    pub fn tr(&self) -> [u8; 64] {
        self.material.tr
    }

    pub(super) fn order<'a>(
        &self,
        input: &'a Input<'a>,
        rnd: &'a [u8; 32],
        max_attempts: u32,
    ) -> Order<'a> {
        Order {
            backend: self.public.backend,
            input,
            rnd,
            max_attempts,
            first: 0,
            accepted: None,
        }
    }

    pub(crate) fn run(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        max_attempts: u32,
    ) -> Result<Signature<P>, Error> {
        P::sign(self.order(input, rnd, max_attempts), &self.material).map(Signature)
    }

    /// [`sign_input`](Self::sign_input) in a workspace, which takes some 50 KiB off the stack.
    ///
    /// # Errors
    /// As `sign_input`.
    pub fn sign_in<R: TryCryptoRng + ?Sized>(
        &self,
        workspace: &mut Workspace<P>,
        input: &Input<'_>,
        rng: &mut R,
    ) -> Result<Signature<P>, Error> {
        let mut rnd = Secret([0; 32]);
        draw(rng, &mut rnd)?;
        self.run_in(workspace, input, &rnd, MAX_ATTEMPTS)
    }

    /// [`sign_in`](Self::sign_in), deterministic.
    ///
    /// # Errors
    /// As `sign_in`, but for [`Error::Rng`].
    pub fn sign_deterministic_in(
        &self,
        workspace: &mut Workspace<P>,
        input: &Input<'_>,
    ) -> Result<Signature<P>, Error> {
        self.run_in(workspace, input, &[0; 32], MAX_ATTEMPTS)
    }

    pub(crate) fn run_in(
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

// Every secret is a `Secret`.
impl<P: Scheme> ZeroizeOnDrop for ExpandedSigningKey<P> {}
