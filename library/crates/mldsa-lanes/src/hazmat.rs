//! Functions that need care: `rnd` chosen by the caller, μ from elsewhere, the standard's internal functions.
//! Ordinary signing, verification and hashing of a message in pieces need none of it.
//!
//! - **`rnd`** hedges a signature against faults and power analysis if it is fresh and secret. Zeros are
//!   the deterministic variant; any other value that repeats or is known protects no more than they do.
//! - **A limit of attempts** below FIPS 204's 814 makes honest signatures fail.
//! - **μ and M′ of others.** Signing them signs an unseen message, with the context and in the variant
//!   (ML-DSA or HashML-DSA) that somebody else has chosen.
//!
//! ML-DSA.KeyGen_internal (Algorithm 6) is [`SigningKey::from_seed`].
//!
//! ```
//! use mldsa_lanes::mldsa65::SigningKey;
//! use mldsa_lanes::{Context, hazmat};
//!
//! // One part of a program has the public key's hash, the message and no key; another has the key.
//! let key = SigningKey::from_seed(&[7; 32]);
//! let context = Context::new(b"context")?;
//! let mut hasher = hazmat::mu_hasher(&key.tr(), context);
//! hasher.update(b"message");
//! let sent: [u8; 64] = *hasher.finish().as_bytes();
//!
//! let mu = hazmat::external_mu(sent);
//! let signature = key.sign_with(&mu, hazmat::with_rnd(&[[9; 32]]))?;
//! key.verifying_key().verify_signature((b"message", context), &signature)?;
//! # Ok::<(), mldsa_lanes::Error>(())
//! ```

use crate::ParameterSet;
use crate::backend::Backend;
use crate::error::Error;
use crate::keys::{
    ExpandedSigningKey, ExpandedVerifyingKey, SignOptions, Signature, SigningKey, VerifyingKey,
};
#[cfg(feature = "prehash")]
use crate::scheme::message::PreHash;
use crate::scheme::message::{Context, Mu, MuHasher};

/// Signing with given values of `rnd`: one for each signature, in order. Another number of them is
/// [`Error::RndCount`].
pub const fn with_rnd(rnds: &[[u8; 32]]) -> SignOptions<'_> {
    SignOptions::given(rnds)
}

/// Any limit of attempts; 821 is the most that is ever tried.
pub fn with_max_attempts(options: SignOptions<'_>, limit: u32) -> SignOptions<'_> {
    options.with_limit(limit)
}

/// μ that was computed elsewhere, for any key.
pub const fn external_mu(bytes: [u8; 64]) -> Mu {
    Mu::unbound(bytes)
}

/// Computes μ from the key's tr = H(pk) alone.
pub fn mu_hasher(tr: &[u8; 64], context: Context<'_>) -> MuHasher {
    MuHasher::pure(Backend::detect(), tr, context)
}

/// The same for HashML-DSA; tr does not tell the parameter set, so a hash function of any strength
/// serves.
#[cfg(feature = "prehash")]
pub fn prehash_mu_hasher(tr: &[u8; 64], hash: PreHash, context: Context<'_>) -> MuHasher {
    MuHasher::weak_prehash(Backend::detect(), tr, hash, context)
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

/// The internal function of signing, with compact and with expanded keys.
pub trait SignInternal<P: ParameterSet>: sealed::Sealed {
    /// ML-DSA.Sign_internal (Algorithm 7) of M′.
    ///
    /// # Errors
    /// As [`sign_with`](SigningKey::sign_with).
    fn sign_internal(
        &self,
        m_prime: &[u8],
        options: SignOptions<'_>,
    ) -> Result<Signature<P>, Error>;
}

/// The internal function of verification, with compact and with expanded keys.
pub trait VerifyInternal<P: ParameterSet>: sealed::Sealed {
    /// ML-DSA.Verify_internal (Algorithm 8) of M′.
    ///
    /// # Errors
    /// [`Error::InvalidSignature`].
    fn verify_internal(&self, m_prime: &[u8], signature: &Signature<P>) -> Result<(), Error>;
}

impl<P: ParameterSet> sealed::Sealed for SigningKey<P> {}
impl<P: ParameterSet> SignInternal<P> for SigningKey<P> {
    fn sign_internal(
        &self,
        m_prime: &[u8],
        options: SignOptions<'_>,
    ) -> Result<Signature<P>, Error> {
        self.sign_with(&internal_mu(self.backend(), &self.tr(), m_prime), options)
    }
}

impl<P: ParameterSet> sealed::Sealed for ExpandedSigningKey<P> {}
impl<P: ParameterSet> SignInternal<P> for ExpandedSigningKey<P> {
    fn sign_internal(
        &self,
        m_prime: &[u8],
        options: SignOptions<'_>,
    ) -> Result<Signature<P>, Error> {
        self.sign_with(&internal_mu(self.backend(), &self.tr(), m_prime), options)
    }
}

impl<P: ParameterSet> sealed::Sealed for VerifyingKey<P> {}
impl<P: ParameterSet> VerifyInternal<P> for VerifyingKey<P> {
    fn verify_internal(&self, m_prime: &[u8], signature: &Signature<P>) -> Result<(), Error> {
        let mu = internal_mu(self.backend(), &self.tr(), m_prime);
        self.verify_signature(&mu, signature)
    }
}

impl<P: ParameterSet> sealed::Sealed for ExpandedVerifyingKey<P> {}
impl<P: ParameterSet> VerifyInternal<P> for ExpandedVerifyingKey<P> {
    fn verify_internal(&self, m_prime: &[u8], signature: &Signature<P>) -> Result<(), Error> {
        let mu = internal_mu(self.backend(), &self.tr(), m_prime);
        self.verify_signature(&mu, signature)
    }
}
