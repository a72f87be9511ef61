//! A program for RustCrypto's crate `ml-dsa` is one for this crate: its imports alone change.

// A seed is a type of its own there.
#[allow(clippy::useless_conversion)]
mod for_mldsa_lanes {
    use mldsa_lanes::pkcs8::{
        DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey,
    };
    use mldsa_lanes::signature::{MultipartSigner, SignatureEncoding, Signer, Verifier};
    use mldsa_lanes::{MlDsa65, Signature, SigningKey, VerifyingKey};

    include!("swap/program.rs");
}

mod for_ml_dsa {
    use ml_dsa::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
    use ml_dsa::signature::{Keypair, MultipartSigner, SignatureEncoding, Signer, Verifier};
    use ml_dsa::{MlDsa65, Signature, SigningKey, VerifyingKey};

    include!("swap/program.rs");
}

#[test]
fn a_program_for_ml_dsa_is_one_for_this_crate() {
    let ours = for_mldsa_lanes::run().unwrap();
    assert!(ours == for_ml_dsa::run().unwrap());
}
