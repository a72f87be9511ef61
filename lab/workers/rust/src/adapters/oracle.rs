//! mldsa-oracle: the literal transcription of FIPS 204, as a reference for correctness. Slow.

use mldsa_oracle::{ML_DSA_44, ML_DSA_65, ML_DSA_87, Params};

use crate::adapter::{Output, Prepared, Scheme, Variant, attempt_word, job, ml_dsa_sets, verdict};
use crate::build_info;
use crate::bytes::Bytes;
use crate::protocol::{Fields, Operation};

/// Attempts after which `z_violation` gives up. One in four attempts or more fails z alone.
const MAX_ATTEMPTS: u32 = 1000;
const TOO_LONG: &str = "the context is longer than 255 bytes";
const OPERATIONS: &[Operation] = &[
    Operation::Keygen,
    Operation::Sign,
    Operation::Verify,
    Operation::Trace,
    Operation::ZViolation,
];

pub fn variants() -> Vec<Variant> {
    vec![Variant {
        backend: "literal",
        operations: OPERATIONS,
        note: "a reference for correctness, never worth timing".into(),
        schemes: ml_dsa_sets(Oracle(&ML_DSA_44), Oracle(&ML_DSA_65), Oracle(&ML_DSA_87)),
        ..Variant::new("mldsa-oracle", build_info::MLDSA_ORACLE)
    }]
}

/// The standard's text at one parameter set.
pub struct Oracle(pub &'static Params);

/// What signing starts from. The oracle panics on a private key of the wrong length.
struct Signing {
    sk: Vec<u8>,
    message: Bytes,
    context: Vec<u8>,
    rnd: [u8; 32],
}

impl Oracle {
    fn signing(&self, input: &Fields) -> Result<Signing, String> {
        Ok(Signing {
            sk: input.sk()?.to_vec(),
            message: input.message()?,
            context: input.context()?,
            rnd: input.rnd()?,
        })
    }
}

impl Signing {
    fn m_prime(&self) -> Result<Vec<u8>, &'static str> {
        mldsa_oracle::pure_m_prime(&self.message, &self.context).ok_or(TOO_LONG)
    }

    fn signed(
        &self,
        params: &Params,
    ) -> Result<(Vec<u8>, Vec<mldsa_oracle::Attempt>), &'static str> {
        let m_prime = self.m_prime()?;
        Ok(mldsa_oracle::sign_internal(
            params, &self.sk, &m_prime, &self.rnd,
        ))
    }
}

impl Scheme for Oracle {
    fn keygen(&self, input: &Fields) -> Prepared {
        let (params, seed) = (self.0, input.seed()?);
        job(
            move || Ok::<_, ()>(mldsa_oracle::keygen_internal(params, &seed)),
            |(pk, sk)| Output::key_pair(pk, sk),
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let (params, signing) = (self.0, self.signing(input)?);
        job(
            move || signing.signed(params).map(|(signature, _)| signature),
            Output::Bytes,
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let (params, pk, signature) = (self.0, input.pk()?.to_vec(), input.signature()?);
        let (message, context) = (input.message()?, input.context()?);
        verdict(move || mldsa_oracle::verify(params, &pk, &message, &signature, &context))
    }

    fn trace(&self, input: &Fields) -> Prepared {
        let (params, signing) = (self.0, self.signing(input)?);
        job(
            move || signing.signed(params).map(|(_, attempts)| attempts),
            |attempts| {
                let word = |a: mldsa_oracle::Attempt| attempt_word(a.failed, a.first_failing);
                Output::Attempts(attempts.into_iter().map(word).collect())
            },
        )
    }

    fn z_violation(&self, input: &Fields) -> Prepared {
        let (params, signing) = (self.0, self.signing(input)?);
        job(
            move || {
                let Signing { sk, rnd, .. } = &signing;
                mldsa_oracle::sign_z_violation(params, sk, &signing.m_prime()?, rnd, MAX_ATTEMPTS)
                    .ok_or("no attempt fails the norm check of z alone")
            },
            Output::Bytes,
        )
    }
}
