//! Section 3.7: the XOFs H and G, and the twelve pre-hash functions of HashML-DSA.

use sha2::Digest;
use shake::{
    ExtendableOutput, Shake128, Shake128Reader, Shake256, Shake256Reader, Update, XofReader,
};

/// H(str, len): SHAKE256, `len` bytes.
pub fn h(parts: &[&[u8]], len: usize) -> Vec<u8> {
    h_squeeze(&mut h_absorb(parts), len)
}

/// G(str, len): SHAKE128, `len` bytes.
pub fn g(parts: &[&[u8]], len: usize) -> Vec<u8> {
    g_squeeze(&mut g_absorb(parts), len)
}

/// H.Init and H.Absorb of all parts.
pub(crate) fn h_absorb(parts: &[&[u8]]) -> Shake256Reader {
    let mut ctx = Shake256::default();
    parts.iter().for_each(|part| ctx.update(part));
    ctx.finalize_xof()
}

/// H.Squeeze.
pub(crate) fn h_squeeze(ctx: &mut Shake256Reader, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    ctx.read(&mut out);
    out
}

/// G.Init and G.Absorb of all parts.
pub(crate) fn g_absorb(parts: &[&[u8]]) -> Shake128Reader {
    let mut ctx = Shake128::default();
    parts.iter().for_each(|part| ctx.update(part));
    ctx.finalize_xof()
}

/// G.Squeeze.
pub(crate) fn g_squeeze(ctx: &mut Shake128Reader, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    ctx.read(&mut out);
    out
}

/// A hash function that HashML-DSA (Algorithms 4 and 5) may apply to the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreHash {
    Sha2_224,
    Sha2_256,
    Sha2_384,
    Sha2_512,
    Sha2_512_224,
    Sha2_512_256,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Shake128,
    Shake256,
}

impl PreHash {
    /// All twelve.
    pub const ALL: [PreHash; 12] = [
        PreHash::Sha2_224,
        PreHash::Sha2_256,
        PreHash::Sha2_384,
        PreHash::Sha2_512,
        PreHash::Sha2_512_224,
        PreHash::Sha2_512_256,
        PreHash::Sha3_224,
        PreHash::Sha3_256,
        PreHash::Sha3_384,
        PreHash::Sha3_512,
        PreHash::Shake128,
        PreHash::Shake256,
    ];

    /// The name NIST's test vectors use.
    pub fn name(self) -> &'static str {
        match self {
            PreHash::Sha2_224 => "SHA2-224",
            PreHash::Sha2_256 => "SHA2-256",
            PreHash::Sha2_384 => "SHA2-384",
            PreHash::Sha2_512 => "SHA2-512",
            PreHash::Sha2_512_224 => "SHA2-512/224",
            PreHash::Sha2_512_256 => "SHA2-512/256",
            PreHash::Sha3_224 => "SHA3-224",
            PreHash::Sha3_256 => "SHA3-256",
            PreHash::Sha3_384 => "SHA3-384",
            PreHash::Sha3_512 => "SHA3-512",
            PreHash::Shake128 => "SHAKE-128",
            PreHash::Shake256 => "SHAKE-256",
        }
    }

    /// The hash function of that name.
    pub fn by_name(name: &str) -> Option<PreHash> {
        PreHash::ALL.into_iter().find(|hash| hash.name() == name)
    }

    /// DER of the object identifier 2.16.840.1.101.3.4.2.n, header included.
    pub fn oid(self) -> Vec<u8> {
        let n = match self {
            PreHash::Sha2_256 => 1,
            PreHash::Sha2_384 => 2,
            PreHash::Sha2_512 => 3,
            PreHash::Sha2_224 => 4,
            PreHash::Sha2_512_224 => 5,
            PreHash::Sha2_512_256 => 6,
            PreHash::Sha3_224 => 7,
            PreHash::Sha3_256 => 8,
            PreHash::Sha3_384 => 9,
            PreHash::Sha3_512 => 10,
            PreHash::Shake128 => 11,
            PreHash::Shake256 => 12,
        };
        vec![
            0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, n,
        ]
    }

    /// PH(M). SHAKE128 gives 256 bits and SHAKE256 gives 512 bits (Section 5.4.1).
    pub fn digest(self, message: &[u8]) -> Vec<u8> {
        match self {
            PreHash::Sha2_224 => sha2::Sha224::digest(message).to_vec(),
            PreHash::Sha2_256 => sha2::Sha256::digest(message).to_vec(),
            PreHash::Sha2_384 => sha2::Sha384::digest(message).to_vec(),
            PreHash::Sha2_512 => sha2::Sha512::digest(message).to_vec(),
            PreHash::Sha2_512_224 => sha2::Sha512_224::digest(message).to_vec(),
            PreHash::Sha2_512_256 => sha2::Sha512_256::digest(message).to_vec(),
            PreHash::Sha3_224 => sha3::Sha3_224::digest(message).to_vec(),
            PreHash::Sha3_256 => sha3::Sha3_256::digest(message).to_vec(),
            PreHash::Sha3_384 => sha3::Sha3_384::digest(message).to_vec(),
            PreHash::Sha3_512 => sha3::Sha3_512::digest(message).to_vec(),
            PreHash::Shake128 => g(&[message], 32),
            PreHash::Shake256 => h(&[message], 64),
        }
    }
}
