//! FIPS 204 (final) written down literally: one function per algorithm, named after it, with its
//! steps in comments.
//!
//! It is the reference that the fast library is compared with, and nothing else. It branches on
//! secrets, divides by them, allocates for everything and wipes nothing: **never use it with a
//! real key**. Its hash functions come from the `sha2`, `sha3` and `shake` crates, so that it shares
//! no code with the library.
//!
//! Where the standard has bit strings this crate has one `u8` per bit; polynomials are vectors of
//! 256 `i64`; coefficients of Z_q are kept in `0..q` unless a comment says otherwise.
//!
//! Malformed *secret* input (a private key or a packed value of the wrong length) is a mistake of
//! the caller and panics; malformed public keys and signatures are refused.
#![forbid(unsafe_code)]

mod convert;
mod encode;
mod external;
mod hash;
mod internal;
mod ntt;
mod params;
mod round;
mod sample;
mod testing;

pub use convert::{
    bit_pack, bit_unpack, bits_to_bytes, bits_to_integer, bytes_to_bits, coeff_from_half_byte,
    coeff_from_three_bytes, hint_bit_pack, hint_bit_unpack, integer_to_bits, integer_to_bytes,
    simple_bit_pack, simple_bit_unpack,
};
pub use encode::{
    SecretKey, pk_decode, pk_encode, sig_decode, sig_encode, sk_decode, sk_encode, w1_encode,
};
pub use external::{
    hash_m_prime, hash_sign, hash_verify, keygen, pure_m_prime, sign, sign_deterministic, verify,
};
pub use hash::{PreHash, g, h};
pub use internal::{
    Attempt, Candidate, Signer, keygen_internal, message_representative, sign_internal, sign_mu,
    verify_internal, verify_mu,
};
pub use ntt::{
    add_ntt, add_vector_ntt, bit_rev8, inverse_ntt, matrix_vector_ntt, montgomery_reduce,
    multiply_ntt, ntt, scalar_vector_ntt,
};
pub use params::{D, ML_DSA_44, ML_DSA_65, ML_DSA_87, N, PARAMETER_SETS, Params, Q, ZETA, by_name};
pub use round::{
    decompose, high_bits, infinity_norm, low_bits, make_hint, mod_pm, power2_round, use_hint,
};
pub use sample::{expand_a, expand_mask, expand_s, rej_bounded_poly, rej_ntt_poly, sample_in_ball};
pub use testing::{
    sign_mu_z_violation, sign_z_violation, verify_mu_without_z_check, verify_without_z_check,
};

/// A polynomial of degree below 256: its 256 coefficients, constant term first.
pub type Poly = Vec<i64>;
