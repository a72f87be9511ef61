//! One file per implementation.

mod aws_lc_kem;
mod fn_dsa;
mod libcrux_kem;
mod rustcrypto_kem;
mod slh_dsa;
mod tls;

use mldsa_worker_rust::adapter::Variant;

/// Every variant that works on this machine, in the order of the announcement.
pub fn all() -> Vec<Variant> {
    let mut variants = Vec::new();
    variants.extend(aws_lc_kem::variants());
    variants.extend(libcrux_kem::variants());
    variants.extend(rustcrypto_kem::variants());
    variants.extend(slh_dsa::variants());
    variants.extend(fn_dsa::variants());
    variants.extend(tls::variants());
    variants
}
