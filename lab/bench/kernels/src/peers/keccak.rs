//! The round constants of Keccak-f\[1600\] and the byte rotations that AVX2 code shuffles by, which
//! the peers' assembly takes as arguments.

/// By the LFSR of FIPS 202, Algorithm 5.
pub static ROUND_CONSTANTS: [u64; 24] = {
    let mut constants = [0; 24];
    let (mut bits, mut i) = (1u16, 0);
    while i < 7 * 24 {
        constants[i / 7] |= ((bits & 1) as u64) << ((1 << (i % 7)) - 1);
        bits <<= 1;
        bits ^= (bits >> 8) * 0x171;
        i += 1;
    }
    constants
};

#[repr(align(32))]
pub struct Places(pub [u8; 32]);

/// The places that rotate each word left by so many bytes.
const fn rotation(bytes: usize) -> Places {
    let mut places = [0; 32];
    let mut i = 0;
    while i < 32 {
        // vpshufb counts within 16 bytes.
        places[i] = (i % 16 / 8 * 8 + (i % 8 + 8 - bytes) % 8) as u8;
        i += 1;
    }
    Places(places)
}

pub static RHO_8: Places = rotation(1);
pub static RHO_56: Places = rotation(7);
