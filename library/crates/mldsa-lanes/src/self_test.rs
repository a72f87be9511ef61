//! Known-answer tests of the compiled library.

use crate::ParameterSet;
use crate::backend::Backend;
use crate::error::{Error, SelfTestStep};
use crate::hazmat::{SignInternal, VerifyInternal};
use crate::kernels::sponge::h;
use crate::keys::{SignOptions, Signature, SigningKey};
use crate::params::Parameters;

/// A known answer of the ACVP draft for ML-DSA (draft-celi-acvp-ml-dsa, table 1). Its attempts are rejected for each
/// reason that the set has. `rnd` is zero.
struct Answer {
    xi: [u8; 32],
    m_prime: [u8; 32],
    /// SHAKE256(pk ‖ sk).
    keys: [u8; 32],
    /// SHAKE256(σ).
    signature: [u8; 32],
}

const fn answer<P: Parameters>() -> Answer {
    let [xi, m_prime, keys, signature] = match P::LAMBDA {
        128 => [
            "5c624fcc1862452452d0c665840d8237f43108e5499edcdc108fbc49d596e4b7",
            "951fdf5473a4cba6d9e5b5db7e79fb8173921ba5b13e9271401b8f907b8b7d5b",
            "dd3a523e3c6c76df74bf6ca5b23118af4f843cdddb7467d10600e60dfa68ab1c",
            "819151a6c69503032df30df31be7a3c43f7341ac134138f63537d2eb9dc2f240",
        ],
        192 => [
            "464756a985e5df03739d95dd309c1ed9c5b04254cc294e7e7eb9b9365ee15117",
            "491101bba044de6e44a63796c33cda051bb05a60725b87af4ba9db940c03ac09",
            "0e98524c518351ce7cdba0d4b05dbdb0cf44336ddf9c1156db7ca4711c1bcd4b",
            "683573e8fbfe405574a84cb7cb7edcafc6d53453487a0be37dcb113439b7f5eb",
        ],
        _ => [
            "0d58219132746be077dfe821e9f8fd87857b28ab91d6a567e312a73e2636032c",
            "3aa49ef72d010aec19383ba1e83ec2dd3dcc207a96ffceb9ffa269e3e3d66400",
            "ca9714b7506d5f729025951a07edc381066c2a3ea77d8487e9990cc93fd03a8b",
            "592c346a5d589b1a5fdd52108abbd2b2bb74d43741e094c1e0fd28790ec2a262",
        ],
    };
    Answer {
        xi: unhex(xi),
        m_prime: unhex(m_prime),
        keys: unhex(keys),
        signature: unhex(signature),
    }
}

const fn unhex(text: &str) -> [u8; 32] {
    let (text, mut bytes, mut i) = (text.as_bytes(), [0; 32], 0);
    while i < 64 {
        let digit = match text[i] {
            digit @ b'0'..=b'9' => digit - b'0',
            letter => letter - b'a' + 10,
        };
        bytes[i / 2] = bytes[i / 2] << 4 | digit;
        i += 1;
    }
    bytes
}

/// Runs the known-answer tests of every parameter set that is compiled in: key generation, signing, verification of
/// the signature and of an altered one. FIPS 140-3 asks for them before first use. A backend that is switched off is
/// replaced by another, as in every operation.
///
/// # Errors
/// [`Error::SelfTest`].
pub fn self_test(backend: Backend) -> Result<(), Error> {
    #[cfg(feature = "ml-dsa-44")]
    self_test_of::<crate::sets::MlDsa44>(backend)?;
    #[cfg(feature = "ml-dsa-65")]
    self_test_of::<crate::sets::MlDsa65>(backend)?;
    #[cfg(feature = "ml-dsa-87")]
    self_test_of::<crate::sets::MlDsa87>(backend)?;
    let _ = backend;
    Ok(())
}

/// [`self_test`] of one parameter set.
///
/// # Errors
/// [`Error::SelfTest`].
pub fn self_test_of<P: ParameterSet>(backend: Backend) -> Result<(), Error> {
    check::<P>(backend, &answer::<P>())
}

fn check<P: ParameterSet>(backend: Backend, answer: &Answer) -> Result<(), Error> {
    let expect = |is_right: bool, step| {
        let set = P::NAME;
        is_right.then_some(()).ok_or(Error::SelfTest { set, step })
    };
    let permute = backend.permutation();
    let key = SigningKey::<P>::from_seed_on(backend, &answer.xi);
    let public = key.verifying_key();
    let digest: [u8; 32] = h(permute, &[public.as_ref(), key.encoded_bytes().as_ref()]);
    expect(digest == answer.keys, SelfTestStep::KeyGeneration)?;

    let result = key.sign_internal(&answer.m_prime, SignOptions::deterministic());
    let mut signature = result.unwrap_or_default();
    let digest: [u8; 32] = h(permute, &[signature.as_ref()]);
    expect(digest == answer.signature, SelfTestStep::Signing)?;

    let is_valid =
        |signature: &Signature<P>| public.verify_internal(&answer.m_prime, signature).is_ok();
    expect(is_valid(&signature), SelfTestStep::Verification)?;
    // A bit of z.
    signature.0.as_mut()[P::LAMBDA / 4] ^= 1;
    expect(!is_valid(&signature), SelfTestStep::Verification)
}

#[cfg(all(test, mldsa_inside))]
mod tests {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/unit/self_test.rs"));
}
