//! `serde` of public keys and signatures: lower-case hexadecimal in human-readable formats, a byte string
//! in others.
//!
//! Both forms are read everywhere. serde buffers untagged and internally tagged enums and flattened
//! structs, and a buffer calls itself human-readable, whatever format filled it.

use core::fmt;

use base16ct::{HexDisplay, mixed};
use serde::de::{Error, IgnoredAny, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ParameterSet;
use crate::keys::{Signature, VerifyingKey};
use crate::scheme::shapes::Bytes;

/// Fills the buffer, whose length is the only one accepted.
struct Fill<'a>(&'a mut [u8]);

impl Fill<'_> {
    fn hex<E: Error>(self, digits: &[u8]) -> Result<(), E> {
        if digits.len() != 2 * self.0.len() {
            return Err(E::invalid_length(digits.len(), &self));
        }
        match mixed::decode(digits, self.0) {
            Ok(_) => Ok(()),
            Err(_) => Err(E::invalid_value(
                Unexpected::Other("text with another character"),
                &"hexadecimal digits",
            )),
        }
    }
}

impl<'de> Visitor<'de> for Fill<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.len();
        write!(f, "{bytes} bytes or {} hexadecimal digits", 2 * bytes)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.hex(text.as_bytes())
    }

    /// Text, too, in formats that do not tell the two apart.
    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<(), E> {
        if bytes.len() != self.0.len() {
            return self.hex(bytes);
        }
        self.0.copy_from_slice(bytes);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<(), A::Error> {
        for at in 0..self.0.len() {
            let Some(byte) = bytes.next_element()? else {
                return Err(A::Error::invalid_length(at, &self));
            };
            self.0[at] = byte;
        }
        match bytes.next_element::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(A::Error::invalid_length(self.0.len() + 1, &self)),
        }
    }
}

fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        serializer.collect_str(&format_args!("{:x}", HexDisplay(bytes)))
    } else {
        serializer.serialize_bytes(bytes)
    }
}

fn deserialize<'de, B: Bytes, D: Deserializer<'de>>(deserializer: D) -> Result<B, D::Error> {
    let mut bytes = B::zero();
    let fill = Fill(bytes.as_mut());
    if deserializer.is_human_readable() {
        deserializer.deserialize_str(fill)?;
    } else {
        deserializer.deserialize_byte_buf(fill)?;
    }
    Ok(bytes)
}

impl<P: ParameterSet> Serialize for Signature<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.as_ref(), serializer)
    }
}

impl<'de, P: ParameterSet> Deserialize<'de> for Signature<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes: P::SignatureBytes = deserialize(deserializer)?;
        Self::from_bytes(bytes.as_ref()).map_err(Error::custom)
    }
}

impl<P: ParameterSet> Serialize for VerifyingKey<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.as_ref(), serializer)
    }
}

impl<'de, P: ParameterSet> Deserialize<'de> for VerifyingKey<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes: P::VerifyingKeyBytes = deserialize(deserializer)?;
        Self::from_bytes(bytes.as_ref()).map_err(Error::custom)
    }
}
