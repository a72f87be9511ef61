//! `serde` of what is public: lower-case hexadecimal where people read, of either case when read, and
//! bytes elsewhere.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serdect::slice::{deserialize_hex_or_bin, serialize_hex_lower_or_bin};

use crate::ParameterSet;
use crate::kernels::poly::Zero;
use crate::keys::{Signature, VerifyingKey};
use crate::scheme::shapes::Shapes;

macro_rules! public {
    ($($type:ident $bytes:ident)*) => { $(
        impl<P: ParameterSet> Serialize for $type<P> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serialize_hex_lower_or_bin(&self.as_bytes(), serializer)
            }
        }

        impl<'de, P: ParameterSet> Deserialize<'de> for $type<P> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut bytes = <P as Shapes>::$bytes::zero();
                let bytes = deserialize_hex_or_bin(bytes.as_mut(), deserializer)?;
                Self::from_bytes(bytes).map_err(Error::custom)
            }
        }
    )* };
}
public!(Signature SignatureBytes VerifyingKey VerifyingKeyBytes);
