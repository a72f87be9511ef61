//! What asks for care: `rnd` given by the caller, μ from elsewhere, the standard's internal functions.
//! Nobody needs it to sign, to verify or to hash a message in pieces.
//!
//! - **`rnd`** hedges a signature against faults and power analysis if it is fresh and secret. Zeros are
//!   the deterministic variant; any other value that repeats or is known protects no more than they do.
//! - **μ and M′ of others.** Who signs them signs a message that he has not seen, with the context and
//!   in the variant (ML-DSA or HashML-DSA) that another has chosen.
//!
//! ML-DSA.KeyGen_internal (Algorithm 6) is [`SigningKey::from_seed`].
//!
//! ```
//! use mldsa_lanes::hazmat::{self, SignWithRnd};
//! use mldsa_lanes::mldsa65::SigningKey;
//! use mldsa_lanes::Input;
//!
//! // One part of a program has the public key's hash, the message and no key; another has the key.
//! let key = SigningKey::from_seed(&[7; 32]);
//! let mut hasher = hazmat::mu_hasher(&key.tr(), b"context")?;
//! hasher.update(b"message");
//! let sent: [u8; 64] = *hasher.finish().as_bytes();
//!
//! let mu = hazmat::external_mu(sent);
//! let signature = key.sign_with_rnd(&Input::Mu(&mu), &[9; 32])?;
//! key.verifying_key().verify(b"message", b"context", &signature)?;
//! # Ok::<(), mldsa_lanes::Error>(())
//! ```

use crate::backend::Backend;
use crate::error::Error;
use crate::keys::{
    ExpandedSigningKey, ExpandedVerifyingKey, Signature, SigningKey, VerifyingKey, Workspace,
};
use crate::params::MAX_ATTEMPTS;
use crate::scheme::entry::Scheme;
use crate::scheme::message::{Input, Mu, MuHasher, PreHash};

#[cfg(feature = "alloc")]
pub mod batch {
    //! [`crate::batch`] with given values of `rnd`.

    pub use crate::batch::given::{SignJob, sign, sign_bounded};

    #[cfg(feature = "rayon")]
    pub mod parallel {
        //! [`crate::batch::parallel`] with given values of `rnd`.

        pub use crate::batch::parallel::given::{sign, sign_bounded};
    }
}

/// μ that was computed elsewhere, for [`Input::Mu`].
pub const fn external_mu(bytes: [u8; 64]) -> Mu {
    Mu(bytes)
}

/// Computes μ by whoever has only the key's tr = H(pk).
///
/// # Errors
/// [`Error::ContextTooLong`] for more than 255 bytes.
pub fn mu_hasher(tr: &[u8; 64], context: &[u8]) -> Result<MuHasher, Error> {
    MuHasher::begin(Backend::detect(), tr, None, context)
}

/// The same for HashML-DSA; tr does not tell the parameter set, so a hash function of any strength
/// serves.
///
/// # Errors
/// [`Error::ContextTooLong`] for more than 255 bytes.
pub fn prehash_mu_hasher(tr: &[u8; 64], hash: PreHash, context: &[u8]) -> Result<MuHasher, Error> {
    MuHasher::begin(Backend::detect(), tr, Some(hash), context)
}

/// μ = H(tr ‖ M′) of any string M′ (Algorithm 7, step 6).
fn internal_mu(backend: Backend, tr: &[u8; 64], m_prime: &[u8]) -> Mu {
    let mut hasher = MuHasher::of_m_prime(backend, tr);
    hasher.update(m_prime);
    hasher.finish()
}

mod sealed {
    pub trait Sealed {}
}

/// Signing with a given `rnd`, with compact and with expanded keys.
pub trait SignWithRnd<P: Scheme>: sealed::Sealed {
    /// [`sign_input`](SigningKey::sign_input) with the given `rnd`.
    ///
    /// # Errors
    /// As `sign_input`, but for [`Error::Rng`].
    fn sign_with_rnd(&self, input: &Input<'_>, rnd: &[u8; 32]) -> Result<Signature<P>, Error> {
        self.sign_bounded_with_rnd(input, rnd, MAX_ATTEMPTS)
    }

    /// [`sign_bounded`](SigningKey::sign_bounded) with the given `rnd`.
    ///
    /// # Errors
    /// As `sign_bounded`, but for [`Error::Rng`].
    fn sign_bounded_with_rnd(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        max_attempts: u32,
    ) -> Result<Signature<P>, Error>;

    /// ML-DSA.Sign_internal (Algorithm 7) of M′.
    ///
    /// # Errors
    /// [`Error::TooManyAttempts`].
    fn sign_internal(&self, m_prime: &[u8], rnd: &[u8; 32]) -> Result<Signature<P>, Error>;
}

macro_rules! sign_with_rnd {
    ($($key:ident)*) => { $(
        impl<P: Scheme> sealed::Sealed for $key<P> {}
        impl<P: Scheme> SignWithRnd<P> for $key<P> {
            fn sign_bounded_with_rnd(
                &self,
                input: &Input<'_>,
                rnd: &[u8; 32],
                max_attempts: u32,
            ) -> Result<Signature<P>, Error> {
                self.run(input, rnd, max_attempts)
            }

            fn sign_internal(&self, m_prime: &[u8], rnd: &[u8; 32]) -> Result<Signature<P>, Error> {
                let mu = internal_mu(self.backend(), &self.tr(), m_prime);
                self.sign_with_rnd(&Input::Mu(&mu), rnd)
            }
        }
    )* };
}
sign_with_rnd!(SigningKey ExpandedSigningKey);

/// [`SignWithRnd::sign_bounded_with_rnd`] in a workspace.
///
/// # Errors
/// As there.
pub fn sign_in_with_rnd<P: Scheme>(
    key: &ExpandedSigningKey<P>,
    workspace: &mut Workspace<P>,
    input: &Input<'_>,
    rnd: &[u8; 32],
    max_attempts: u32,
) -> Result<Signature<P>, Error> {
    key.run_in(workspace, input, rnd, max_attempts)
}

/// The internal function of verification, with compact and with expanded keys.
pub trait VerifyInternal<P: Scheme>: sealed::Sealed {
    /// ML-DSA.Verify_internal (Algorithm 8) of M′.
    ///
    /// # Errors
    /// [`Error::InvalidSignature`].
    fn verify_internal(&self, m_prime: &[u8], signature: &Signature<P>) -> Result<(), Error>;
}

macro_rules! verify_internal {
    ($($key:ident)*) => { $(
        impl<P: Scheme> sealed::Sealed for $key<P> {}
        impl<P: Scheme> VerifyInternal<P> for $key<P> {
            fn verify_internal(&self, m_prime: &[u8], signature: &Signature<P>) -> Result<(), Error> {
                let mu = internal_mu(self.backend(), &self.tr(), m_prime);
                self.verify_input(&Input::Mu(&mu), signature)
            }
        }
    )* };
}
verify_internal!(VerifyingKey ExpandedVerifyingKey);
