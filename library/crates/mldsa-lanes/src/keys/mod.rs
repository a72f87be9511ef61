//! Keys and signatures.

mod expanded;
mod options;
mod place;
mod signature;
mod signing;
mod verifying;

pub use expanded::ExpandedSigningKey;
pub use options::SignOptions;
pub use place::{Place, Workspace};
pub use signature::Signature;
pub use signing::SigningKey;
#[cfg(all(
    feature = "alloc",
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]
pub(crate) use signing::draw;
pub use verifying::{ExpandedVerifyingKey, VerifyingKey};

#[cfg(feature = "signature")]
use ctutils::{Choice, CtEq};

use crate::ParameterSet;
#[cfg(feature = "prehash")]
use crate::error::Error;
use crate::scheme::keygen::is_zero;
#[cfg(feature = "prehash")]
use crate::scheme::message::PreHash;
use crate::scheme::message::{Context, MuHasher};

macro_rules! mu_hashers {
    ($key:ident) => {
        impl<P: ParameterSet> $key<P> {
            /// Computes μ of a message that arrives in pieces, on this key's backend.
            pub fn mu_hasher(&self, context: Context<'_>) -> MuHasher {
                MuHasher::pure(self.backend(), &self.tr(), context)
            }

            /// The same for HashML-DSA: the message is hashed with `hash` first.
            ///
            /// # Errors
            /// [`Error::WeakPreHash`].
            #[cfg(feature = "prehash")]
            pub fn prehash_mu_hasher(
                &self,
                hash: PreHash,
                context: Context<'_>,
            ) -> Result<MuHasher, Error> {
                MuHasher::prehash::<P>(self.backend(), &self.tr(), hash, context)
            }
        }
    };
}
mu_hashers!(SigningKey);
mu_hashers!(ExpandedSigningKey);
mu_hashers!(VerifyingKey);
mu_hashers!(ExpandedVerifyingKey);

macro_rules! equality {
    ($key:ident) => {
        #[cfg(feature = "signature")]
        impl<P: ParameterSet> CtEq for $key<P> {
            fn ct_eq(&self, other: &Self) -> Choice {
                self.difference(other).ct_eq(&0)
            }
        }

        /// In constant time. Neither the backend nor a known seed matters.
        impl<P: ParameterSet> PartialEq for $key<P> {
            fn eq(&self, other: &Self) -> bool {
                is_zero(self.difference(other))
            }
        }
        impl<P: ParameterSet> Eq for $key<P> {}
    };
}
equality!(SigningKey);
equality!(ExpandedSigningKey);
