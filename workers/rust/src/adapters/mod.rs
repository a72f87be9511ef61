//! One file per implementation.

pub mod aws_lc;
pub mod classical;
pub mod fips204;
pub mod hash;
pub mod lanes;
mod lanes_batch;
pub mod lanes_hardened;
pub mod libcrux;
pub mod mldsa_native;
pub mod oracle;
pub mod rustcrypto;

use crate::adapter::Variant;

/// Every variant that works on this machine, in the order of the announcement.
pub fn all() -> Vec<Variant> {
    let mut variants = Vec::new();
    variants.extend(lanes::variants());
    variants.extend(lanes_hardened::variants());
    variants.extend(mldsa_native::variants());
    variants.extend(aws_lc::variants());
    variants.extend(libcrux::variants());
    variants.extend(rustcrypto::variants());
    variants.extend(fips204::variants());
    variants.extend(oracle::variants());
    variants.extend(classical::variants());
    variants.extend(hash::variants());
    variants
}
