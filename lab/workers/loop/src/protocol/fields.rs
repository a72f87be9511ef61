//! What one input of a job is made of.

use crate::bytes::Bytes;

/// The key-value fields of one input; a field the lab left out is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    pub seed: Option<Bytes>,
    pub sk: Option<Bytes>,
    pub pk: Option<Bytes>,
    pub message: Option<Bytes>,
    pub context: Option<Bytes>,
    pub rnd: Option<Bytes>,
    pub signature: Option<Bytes>,
    pub ciphertext: Option<Bytes>,
}

impl Fields {
    /// The 32-byte seed xi, or a classical key pair's seed.
    pub fn seed(&self) -> Result<[u8; 32], String> {
        exact(&self.seed, "seed")
    }

    /// The seed of ML-KEM, d and z.
    pub fn kem_seed(&self) -> Result<[u8; 64], String> {
        exact(&self.seed, "seed")
    }

    /// The seed of SLH-DSA with the security parameter `n`: SK.seed, SK.prf and PK.seed.
    pub fn slh_seed(&self, n: usize) -> Result<Vec<u8>, String> {
        of_length(present(&self.seed, "seed")?, "seed", 3 * n)
    }

    /// The opt_rand of SLH-DSA with the security parameter `n`; none asks for deterministic signing.
    pub fn opt_rand(&self, n: usize) -> Result<Option<Vec<u8>>, String> {
        match present(&self.rnd, "rnd")? {
            [] => Ok(None),
            rnd => of_length(rnd, "rnd", n).map(Some),
        }
    }

    /// The 32 bytes of `rnd`.
    pub fn rnd(&self) -> Result<[u8; 32], String> {
        exact(&self.rnd, "rnd")
    }

    pub fn sk(&self) -> Result<&[u8], String> {
        present(&self.sk, "sk")
    }

    pub fn pk(&self) -> Result<&[u8], String> {
        present(&self.pk, "pk")
    }

    /// What is hashed, signed or verified. In a chain it may not be there before the clock starts.
    pub fn message(&self) -> Result<Bytes, String> {
        self.message.clone().ok_or_else(|| missing("message"))
    }

    pub fn context(&self) -> Result<Vec<u8>, String> {
        present(&self.context, "context").map(<[u8]>::to_vec)
    }

    /// Of a chain as [`Fields::message`].
    pub fn signature(&self) -> Result<Bytes, String> {
        self.signature.clone().ok_or_else(|| missing("signature"))
    }

    pub fn ciphertext(&self) -> Result<Vec<u8>, String> {
        present(&self.ciphertext, "ciphertext").map(<[u8]>::to_vec)
    }

    pub(super) fn slot(&mut self, key: &str) -> Option<&mut Option<Bytes>> {
        Some(match key {
            "seed" => &mut self.seed,
            "sk" => &mut self.sk,
            "pk" => &mut self.pk,
            "message" => &mut self.message,
            "context" => &mut self.context,
            "rnd" => &mut self.rnd,
            "signature" => &mut self.signature,
            "ciphertext" => &mut self.ciphertext,
            _ => return None,
        })
    }
}

/// A copy of what an interface reads without asking for its length.
///
/// # Errors
/// Where it is another than the set's.
pub fn of_length(bytes: &[u8], name: &str, length: usize) -> Result<Vec<u8>, String> {
    if bytes.len() != length {
        return Err(format!(
            "{name} must be {length} bytes, got {}",
            bytes.len()
        ));
    }
    Ok(bytes.to_vec())
}

fn missing(name: &str) -> String {
    format!("field `{name}` is missing")
}

fn present<'a>(field: &'a Option<Bytes>, name: &str) -> Result<&'a [u8], String> {
    field.as_deref().ok_or_else(|| missing(name))
}

fn exact<const N: usize>(field: &Option<Bytes>, name: &str) -> Result<[u8; N], String> {
    let bytes = present(field, name)?;
    bytes
        .try_into()
        .map_err(|_| format!("{name} must be {N} bytes, got {}", bytes.len()))
}

/// One of an input's fields.
pub type Field = fn(&mut Fields) -> &mut Option<Bytes>;
