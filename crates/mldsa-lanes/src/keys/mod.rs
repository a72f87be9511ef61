//! Keys and signatures.

mod expanded;
mod place;
mod signature;
mod signing;
mod verifying;
mod ways;

pub use expanded::ExpandedSigningKey;
pub use place::{Place, Workspace};
pub use signature::Signature;
pub use signing::SigningKey;
pub use verifying::{ExpandedVerifyingKey, VerifyingKey};

use rand_core::TryCryptoRng;

use crate::error::Error;
use crate::kernels::poly::Secret;
use crate::scheme::entry::Scheme;
use crate::scheme::message::{MuHasher, PreHash};

macro_rules! mu_hashers {
    ($key:ident) => {
        impl<P: Scheme> $key<P> {
            /// Computes μ of a message that arrives in pieces, on this key's backend.
            ///
            /// # Errors
            /// [`Error::ContextTooLong`] for more than 255 bytes.
            pub fn mu_hasher(&self, context: &[u8]) -> Result<MuHasher, Error> {
                MuHasher::of_key::<P>(self.backend(), &self.tr(), None, context)
            }

            /// The same for HashML-DSA: the message is hashed with `hash` first.
            ///
            /// # Errors
            /// [`Error::ContextTooLong`] for more than 255 bytes, [`Error::WeakPreHash`].
            pub fn prehash_mu_hasher(
                &self,
                hash: PreHash,
                context: &[u8],
            ) -> Result<MuHasher, Error> {
                MuHasher::of_key::<P>(self.backend(), &self.tr(), Some(hash), context)
            }
        }
    };
}
mu_hashers!(SigningKey);
mu_hashers!(ExpandedSigningKey);
mu_hashers!(VerifyingKey);
mu_hashers!(ExpandedVerifyingKey);

/// Fills `out` if it has the length of `bytes`.
#[must_use]
fn copy_exactly(bytes: &[u8], out: &mut [u8]) -> bool {
    let fits = out.len() == bytes.len();
    if fits {
        out.copy_from_slice(bytes);
    }
    fits
}

/// Draws `rnd`, or a seed, where it stays.
fn draw<R: TryCryptoRng + ?Sized>(rng: &mut R, rnd: &mut Secret<[u8; 32]>) -> Result<(), Error> {
    rng.try_fill_bytes(rnd.as_mut()).map_err(|_| Error::Rng)
}
