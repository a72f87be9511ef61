//! The hash functions of HashML-DSA (FIPS 204, section 5.4), for messages that the library hashes.

use sha2::Digest;

use crate::kernels::keccak::Permutation;
use crate::kernels::sponge::{Shake256, Sponge};
use crate::scheme::message::PreHash;

/// A hash function at work.
trait Hash {
    fn begin(permute: Permutation) -> Self;
    fn update(&mut self, piece: &[u8]);
    /// Fills `out`, of the digest's length.
    fn finish(self, out: &mut [u8]);
}

impl<D: Digest> Hash for D {
    fn begin(_: Permutation) -> Self {
        D::new()
    }
    fn update(&mut self, piece: &[u8]) {
        Digest::update(self, piece);
    }
    fn finish(self, out: &mut [u8]) {
        out.copy_from_slice(&self.finalize());
    }
}

impl<const RATE: usize, const SUFFIX: u8> Hash for Sponge<RATE, SUFFIX> {
    fn begin(permute: Permutation) -> Self {
        Sponge::new(permute)
    }
    fn update(&mut self, piece: &[u8]) {
        Sponge::update(self, piece);
    }
    fn finish(self, out: &mut [u8]) {
        Sponge::finish(self).squeeze(out);
    }
}

macro_rules! digester {
    ($($hash:ident $state:ty,)*) => {
        /// The state of one of them.
        #[derive(Clone)]
        pub(crate) enum Digester { $($hash($state)),* }

        impl Digester {
            pub(crate) fn new(hash: PreHash, permute: Permutation) -> Self {
                match hash { $(PreHash::$hash => Digester::$hash(Hash::begin(permute))),* }
            }
            pub(crate) fn update(&mut self, piece: &[u8]) {
                match self { $(Digester::$hash(state) => Hash::update(state, piece)),* }
            }
            pub(crate) fn hash(&self) -> PreHash {
                match self { $(Digester::$hash(_) => PreHash::$hash),* }
            }
            /// The digest, and zeros after it.
            pub(crate) fn finish(self) -> [u8; 64] {
                let mut out = [0; 64];
                let digest = &mut out[..self.hash().digest_bytes()];
                match self { $(Digester::$hash(state) => Hash::finish(state, digest)),* }
                out
            }
        }
    };
}
digester! {
    Sha2_224 sha2::Sha224,
    Sha2_256 sha2::Sha256,
    Sha2_384 sha2::Sha384,
    Sha2_512 sha2::Sha512,
    Sha2_512_224 sha2::Sha512_224,
    Sha2_512_256 sha2::Sha512_256,
    Sha3_224 Sponge<144, 0x06>,
    Sha3_256 Sponge<136, 0x06>,
    Sha3_384 Sponge<104, 0x06>,
    Sha3_512 Sponge<72, 0x06>,
    Shake128 Sponge<168, 0x1f>,
    Shake256 Shake256,
}
