//! How to sign: where `rnd` comes from, and the limit of attempts.

use core::fmt;

use rand_core::TryCryptoRng;

use crate::error::Error;
use crate::kernels::poly::Secret;
use crate::params::MAX_ATTEMPTS;

/// The least limit that FIPS 204 (Appendix C) allows.
const LEAST_ATTEMPTS: u32 = 814;

/// How to sign: hedged or deterministic, and after how many rejected attempts to give up.
///
/// ```
/// use mldsa_lanes::{Error, SignOptions, mldsa65};
/// use rand_core::CryptoRng;
///
/// fn sign(key: &mldsa65::SigningKey, rng: &mut impl CryptoRng) -> Result<mldsa65::Signature, Error> {
///     key.sign_with(b"message", SignOptions::hedged(rng).max_attempts(814)?)
/// }
/// ```
///
/// [`hazmat`](crate::hazmat) has options with a given `rnd` and with other limits.
pub struct SignOptions<'r> {
    rnd: Rnd<'r>,
    pub(crate) max_attempts: u32,
}

/// `rnd` of the signatures, in their order.
enum Rnd<'r> {
    Zero,
    Drawn(&'r mut dyn Draw),
    Given(&'r [[u8; 32]]),
}

/// A generator of any type, drawn from through a pointer.
trait Draw {
    fn draw(&mut self, out: &mut [u8; 32]) -> Result<(), Error>;
}

impl<R: TryCryptoRng> Draw for R {
    fn draw(&mut self, out: &mut [u8; 32]) -> Result<(), Error> {
        self.try_fill_bytes(out).map_err(|_| Error::Rng)
    }
}

impl<'r> SignOptions<'r> {
    /// `rnd` of each signature comes from `rng`. For a generator of unknown size (`&mut dyn CryptoRng`)
    /// pass a reference to that reference.
    pub fn hedged<R: TryCryptoRng>(rng: &'r mut R) -> Self {
        Self::new(Rnd::Drawn(rng))
    }

    /// `rnd` is 32 zero bytes.
    pub const fn deterministic() -> Self {
        Self::new(Rnd::Zero)
    }

    /// [`hazmat::with_rnd`](crate::hazmat::with_rnd).
    pub(crate) const fn given(rnds: &'r [[u8; 32]]) -> Self {
        Self::new(Rnd::Given(rnds))
    }

    const fn new(rnd: Rnd<'r>) -> Self {
        SignOptions {
            rnd,
            max_attempts: MAX_ATTEMPTS,
        }
    }

    /// Bounds the time of a signature: at most `limit` attempts, 814 to 821. The default is 821.
    ///
    /// # Errors
    /// [`Error::AttemptLimit`].
    pub fn max_attempts(self, limit: u32) -> Result<Self, Error> {
        if !(LEAST_ATTEMPTS..=MAX_ATTEMPTS).contains(&limit) {
            return Err(Error::AttemptLimit {
                least: LEAST_ATTEMPTS,
                most: MAX_ATTEMPTS,
                actual: limit,
            });
        }
        Ok(self.with_limit(limit))
    }

    /// Any limit.
    pub(crate) fn with_limit(self, max_attempts: u32) -> Self {
        SignOptions {
            max_attempts,
            ..self
        }
    }

    /// Whether a generator is drawn from.
    #[cfg(feature = "hardened")]
    pub(crate) fn is_hedged(&self) -> bool {
        matches!(self.rnd, Rnd::Drawn(_))
    }

    /// Fills `rnds`, which are zeros, in the place from which they are used: one for each signature.
    pub(crate) fn fill(&mut self, rnds: &mut [Secret<[u8; 32]>]) -> Result<(), Error> {
        match &mut self.rnd {
            Rnd::Zero => {}
            Rnd::Drawn(rng) => {
                for rnd in rnds {
                    rng.draw(rnd)?;
                }
            }
            Rnd::Given(given) => {
                if given.len() != rnds.len() {
                    return Err(Error::RndCount {
                        expected: rnds.len(),
                        actual: given.len(),
                    });
                }
                for (rnd, given) in rnds.iter_mut().zip(*given) {
                    rnd.copy_from_slice(given);
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for SignOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without rnd, which may have to stay secret.
        let mut out = f.debug_struct("SignOptions");
        out.field("max_attempts", &self.max_attempts)
            .finish_non_exhaustive()
    }
}
