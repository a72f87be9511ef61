use std::vec::Vec;

use super::*;
use crate::kernels::keccak::permute_one;

/// FIPS 202 sample values: the empty message, and lengths around the rate.
#[test]
fn sponges_agree_with_sha3() {
    use sha3::Digest;
    use shake::{ExtendableOutput, Update, XofReader};
    for length in [
        0, 1, 7, 8, 9, 71, 72, 135, 136, 137, 167, 168, 169, 272, 1000,
    ] {
        let message: Vec<u8> = (0..length).map(|i| i as u8).collect();
        let mut ours = [0; 500];
        let mut theirs = [0; 500];
        // In pieces, so that every alignment of the buffer is met.
        let mut sponge = Shake256::new(permute_one);
        for piece in message.chunks(13) {
            sponge.update(piece);
        }
        sponge.finish().squeeze(&mut ours);
        shake::Shake256::default()
            .chain(&message)
            .finalize_xof()
            .read(&mut theirs);
        assert_eq!(ours, theirs, "SHAKE256 of {length} bytes");
        Sponge::<168, 0x1f>::new(permute_one)
            .absorb(&message)
            .finish()
            .squeeze(&mut ours);
        shake::Shake128::default()
            .chain(&message)
            .finalize_xof()
            .read(&mut theirs);
        assert_eq!(ours, theirs, "SHAKE128 of {length} bytes");
        let digest: [u8; 64] = Sponge::<72, 6>::new(permute_one)
            .absorb(&message)
            .finish()
            .read();
        assert_eq!(
            digest[..],
            sha3::Sha3_512::digest(&message)[..],
            "SHA3-512 of {length} bytes"
        );
    }
}
