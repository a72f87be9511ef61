//! SHA3-256, by the packages that the peers hash with.

use aws_lc_rs::digest;
use sha3::{Digest, Sha3_256};

use crate::adapter::{Family, Output, Prepared, Rnd, Scheme, Variant, job};
use crate::build_info;
use crate::protocol::{Fields, Operation};

pub fn variants() -> Vec<Variant> {
    let variant = |name, version, hash: Box<dyn Scheme>| Variant {
        family: Family::Hash,
        operations: &[Operation::Hash],
        rnd: Rnd::None,
        context: false,
        schemes: vec![("SHA3-256", hash)],
        ..Variant::new(name, version)
    };
    vec![
        Variant {
            language: Some("C"),
            note: format!("crate aws-lc-rs over aws-lc-sys {}", build_info::AWS_LC_SYS),
            ..variant(
                "aws-lc-sha3",
                build_info::AWS_LC_RS,
                Box::new(Hash(|message| digest::digest(&digest::SHA3_256, message))),
            )
        },
        variant(
            "libcrux-sha3",
            build_info::LIBCRUX_SHA3,
            Box::new(Hash(libcrux_sha3::sha256)),
        ),
        variant(
            "rustcrypto-sha3",
            build_info::SHA3,
            Box::new(Hash(|message| Sha3_256::digest(message))),
        ),
    ]
}

/// A function from a message to its digest.
struct Hash<T>(fn(&[u8]) -> T);

impl<T: AsRef<[u8]> + 'static> Scheme for Hash<T> {
    fn hash(&self, input: &Fields) -> Prepared {
        let (hash, message) = (self.0, input.message()?);
        job(move || Ok::<_, ()>(hash(&message)), Output::bytes)
    }
}
