//! The table of PEM files that all layers share, through the C functions.

use std::ffi::CStr;
use std::ptr::null_mut;

use mldsa::*;
use mldsa_lanes::any::{AnySigningKey, Set};
use mldsa_lanes::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};

#[path = "../../../verify/pem/cases.rs"]
mod cases;
use cases::{Case, cases};

/// Read a case as a private or as a public key. Returns the code and the public key.
fn read(case: &Case, is_public: bool) -> (mldsa_error, Vec<u8>) {
    let (mut private, mut public) = (null_mut(), null_mut());
    let (file, length) = (case.file.as_ptr(), case.file.len());
    let mut raw = vec![0; mldsa_verifying_key_bytes(MLDSA_65)];
    // SAFETY: the pointers have the lengths given, and the handles are this function's.
    unsafe {
        let error = if is_public {
            mldsa_verifying_key_from_spki(file, length, &mut public)
        } else {
            mldsa_signing_key_from_pkcs8(file, length, &mut private)
        };
        if error != MLDSA_OK {
            assert!(private.is_null() && public.is_null());
            return (error, Vec::new());
        }
        if !is_public {
            assert_eq!(
                mldsa_signing_key_verifying_key(private, &mut public),
                MLDSA_OK
            );
        }
        assert_eq!(
            mldsa_verifying_key_raw(public, raw.as_mut_ptr(), raw.len()),
            MLDSA_OK
        );
        mldsa_signing_key_free(&mut private);
        mldsa_verifying_key_free(&mut public);
    }
    (MLDSA_OK, raw)
}

#[test]
fn every_case_of_the_shared_table() {
    let key = AnySigningKey::from_seed(Set::MlDsa65, &[9; 32]);
    let private = key.to_pkcs8_pem(LineEnding::LF).unwrap();
    let public = key
        .verifying_key()
        .to_public_key_pem(LineEnding::LF)
        .unwrap();
    for (pem, is_public) in [(private.as_str(), false), (&public, true)] {
        for case in cases(pem) {
            let expected = match case.error {
                None => (MLDSA_OK, key.verifying_key().as_ref().to_vec()),
                Some(_) if case.name == "an encrypted key" && !is_public => {
                    (MLDSA_ERROR_ENCRYPTION, Vec::new())
                }
                Some(_) => (MLDSA_ERROR_ENCODING, Vec::new()),
            };
            assert!(
                read(&case, is_public) == expected,
                "{}, {is_public}",
                case.name
            );
        }
    }
}

/// The code has no place for the reason, so its text names the command that prints it.
#[test]
fn the_texts_of_the_errors_have_a_remedy() {
    for error in [MLDSA_ERROR_ENCODING, MLDSA_ERROR_ENCRYPTION] {
        // SAFETY: the text is static and ends with NUL.
        let text = unsafe { CStr::from_ptr(mldsa_error_string(error)) };
        let text = text.to_str().unwrap();
        assert!(text.contains("mldsa inspect FILE"), "{text}");
        assert_eq!(text.contains("encrypted"), error == MLDSA_ERROR_ENCRYPTION);
    }
}
