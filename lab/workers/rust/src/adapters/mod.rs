//! One file per implementation. Without the feature `peers` there are mldsa-lanes and the correctness
//! reference alone.

#[cfg(feature = "peers")]
pub mod aws_lc;
#[cfg(feature = "peers")]
pub mod classical;
#[cfg(feature = "peers")]
pub mod fips204;
#[cfg(feature = "peers")]
pub mod hash;
pub mod lanes;
mod lanes_batch;
pub mod lanes_hardened;
#[cfg(feature = "peers")]
pub mod libcrux;
#[cfg(feature = "peers")]
pub mod mldsa_native;
pub mod oracle;
#[cfg(feature = "peers")]
pub mod rustcrypto;

use crate::adapter::Variant;

/// Every variant that works on this machine, in the order of the announcement.
pub fn all() -> Vec<Variant> {
    let mut variants = Vec::new();
    variants.extend(lanes::variants());
    variants.extend(lanes_hardened::variants());
    #[cfg(feature = "peers")]
    {
        variants.extend(mldsa_native::variants());
        variants.extend(aws_lc::variants());
        variants.extend(libcrux::variants());
        variants.extend(rustcrypto::variants());
        variants.extend(fips204::variants());
    }
    variants.extend(oracle::variants());
    #[cfg(feature = "peers")]
    {
        variants.extend(classical::variants());
        variants.extend(hash::variants());
    }
    variants
}
