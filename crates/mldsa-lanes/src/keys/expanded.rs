//! Private keys with what every signature needs.

use core::{fmt, slice};

use zeroize::ZeroizeOnDrop;

use super::{SignOptions, Signature, SigningKey, VerifyingKey, Workspace};
use crate::ParameterSet;
use crate::backend::Backend;
use crate::error::Error;
use crate::kernels::poly::{Secret, Wipe};
use crate::scheme::message::Input;
use crate::scheme::sign::{self, Order};

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

    /// The public key.
    pub fn verifying_key(&self) -> &VerifyingKey<P> {
        &self.public
    }

    /// tr = H(pk), 64 bytes.
    pub fn tr(&self) -> [u8; 64] {
        self.material.tr
    }

    pub(crate) fn run(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        max_attempts: u32,
    ) -> Result<Signature<P>, Error> {
        let order = Order::new(self.public.backend, input, rnd, max_attempts);
        P::sign(order, &self.material).map(Signature)
    }

    /// [`sign_with`](Self::sign_with) in a workspace, which takes some 50 KiB off the stack.
    ///
    /// # Errors
    /// As `sign_with`.
    pub fn sign_in<'a>(
        &self,
        workspace: &mut Workspace<P>,
        input: impl Into<Input<'a>>,
        options: SignOptions<'_>,
    ) -> Result<Signature<P>, Error> {
        self.run_in(workspace, &input.into(), options)
    }

    fn run_in(
        &self,
        workspace: &mut Workspace<P>,
        input: &Input<'_>,
        mut options: SignOptions<'_>,
    ) -> Result<Signature<P>, Error> {
        let mut rnd = Secret([0; 32]);
        options.fill(slice::from_mut(&mut rnd))?;
        let order = Order::new(self.public.backend, input, &rnd, options.max_attempts);
        let result = P::sign_in(order, &self.material, &mut workspace.0);
        workspace.0.wipe();
        result.map(Signature)
    }
}

// Every secret is a `Secret`.
impl<P: ParameterSet> ZeroizeOnDrop for ExpandedSigningKey<P> {}
