//! `serde` of public keys and signatures: the written form, and every place of a data structure in several
//! formats.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::hash::Hash;

use crate::common::hex;
use mldsa_lanes::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, Signature, SigningKey, VerifyingKey};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text in JSON, bytes in MessagePack; read back equal, of either case, and refused in
/// any other length.
fn check_written_form<T>(value: &T, bytes: &[u8])
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let hex = hex(bytes);
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(text, format!("\"{hex}\""));
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *value);
    let upper = serde_json::Value::String(hex.to_uppercase());
    assert_eq!(serde_json::from_value::<T>(upper).unwrap(), *value);
    let mut binary = rmp_serde::to_vec(value).unwrap();
    assert!(binary.ends_with(bytes) && binary.len() == bytes.len() + 3);
    assert_eq!(rmp_serde::from_slice::<T>(&binary).unwrap(), *value);
    let wrong = [&hex[2..], &hex[1..], "", "zz"].map(str::to_owned);
    for wrong in wrong
        .into_iter()
        .chain([hex.clone() + "00", format!("{}zz", &hex[2..])])
    {
        let wrong = serde_json::Value::String(wrong);
        assert!(serde_json::from_value::<T>(wrong).is_err());
    }
    assert!(serde_json::from_str::<T>("[1, 2]").is_err());
    binary.pop();
    assert!(rmp_serde::from_slice::<T>(&binary).is_err());
    // MessagePack's "bin 16": another length before as many bytes.
    for length in [bytes.len() - 1, bytes.len() + 1] {
        let mut other = vec![1; length];
        other.splice(..0, [0xc5, (length >> 8) as u8, length as u8]);
        assert!(rmp_serde::from_slice::<T>(&other).is_err(), "{length}");
    }
}

/// Bytes from a format that has sequences of numbers only, and text from one that does not mark it.
fn check_other_forms<T>(value: &T, bytes: &[u8])
where
    T: DeserializeOwned + PartialEq + Debug,
{
    let read = |bytes: &[u8]| rmp_serde::from_slice::<T>(&rmp_serde::to_vec(bytes).unwrap());
    assert_eq!(read(bytes).unwrap(), *value);
    assert!(read(&bytes[1..]).is_err());
    assert!(read(&[bytes, &[0]].concat()).is_err());

    let text = hex(bytes);
    let mut marked = vec![0xc5, (text.len() >> 8) as u8, text.len() as u8];
    marked.extend(text.as_bytes());
    assert_eq!(rmp_serde::from_slice::<T>(&marked).unwrap(), *value);
    let text = rmp_serde::to_vec(&text).unwrap();
    assert_eq!(rmp_serde::from_slice::<T>(&text).unwrap(), *value);
}

/// Reads what each format wrote, except for formats in which this place serves no type.
fn check_formats<V>(place: &str, value: &V, except: &[&str])
where
    V: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let check = |format: &str, read: Result<V, String>| match read {
        Ok(read) => assert!(read == *value, "{place}, {format}: another value"),
        Err(_) if except.contains(&format) => {}
        Err(error) => panic!("{place}, {format}: {error}"),
    };
    macro_rules! read {
        ($format:literal, $read:expr) => {
            check($format, $read.map_err(|error| error.to_string()));
        };
    }
    if !except.contains(&"Postcard") {
        let bytes = postcard::to_allocvec(value).unwrap();
        read!("Postcard", postcard::from_bytes(&bytes));
    }
    let text = serde_json::to_string_pretty(value).unwrap();
    read!("JSON", serde_json::from_str(&text));
    read!("JSON, reader", serde_json::from_reader(text.as_bytes()));
    let json = serde_json::to_value(value).unwrap();
    read!("JSON value", serde_json::from_value(json));
    let bytes = rmp_serde::to_vec(value).unwrap();
    read!("MessagePack", rmp_serde::from_slice(&bytes));
    let bytes = rmp_serde::to_vec_named(value).unwrap();
    read!("MessagePack, named", rmp_serde::from_slice(&bytes));
    read!("MessagePack, reader", rmp_serde::from_read(&bytes[..]));
    let mut bytes = Vec::new();
    let mut serializer = rmp_serde::Serializer::new(&mut bytes).with_human_readable();
    value.serialize(&mut serializer).unwrap();
    let mut deserializer = rmp_serde::Deserializer::new(&bytes[..]).with_human_readable();
    read!("MessagePack, text", V::deserialize(&mut deserializer));
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    read!("CBOR", ciborium::from_reader(&bytes[..]));
    let cbor = ciborium::Value::serialized(value).unwrap();
    read!("CBOR value", cbor.deserialized());
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Newtype<T>(T);

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Fields<T> {
    first: T,
    absent: Option<T>,
    list: Vec<Newtype<T>>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
enum External<T> {
    Newtype(T),
    Tuple(u8, T),
    Struct { value: T },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(untagged)]
enum Untagged<T> {
    Number(u64),
    Newtype(T),
    Tuple(u8, T),
    Struct { value: T },
    Nested(Box<Internal<T>>),
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "kind")]
enum Internal<T> {
    Newtype(Fields<T>),
    Struct { value: T },
    Nested(External<T>),
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "kind", content = "content")]
enum Adjacent<T> {
    Newtype(T),
    Tuple(u8, T),
    Struct { value: T },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Flattened<T> {
    number: u8,
    #[serde(flatten)]
    fields: Fields<T>,
    #[serde(flatten)]
    others: BTreeMap<String, T>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct FlattenedKeys<T: Eq + Hash> {
    #[serde(flatten)]
    numbers: HashMap<T, u8>,
}

/// Formats without the types of values.
const TYPES: &[&str] = &["Postcard"];
/// Formats without the names of fields, too, in which serde reads no struct variant.
const NAMES: &[&str] = &["Postcard", "MessagePack", "MessagePack, text"];
/// Formats without types, and those whose crate takes no long byte string as the name of a field.
const TEXT_KEYS: &[&str] = &["Postcard", "CBOR", "CBOR value"];

macro_rules! public {
    ($($kind:ident: $type:ty,)*) => {
        /// A signature or a public key of any set. Each place in each format is compiled for this type only.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        enum Public {
            $($kind(Box<$type>),)*
        }

        /// The type of a [`Public`].
        #[derive(Clone, Copy)]
        enum Kind {
            $($kind,)*
        }

        impl Public {
            fn kind(&self) -> Kind {
                match self {
                    $(Public::$kind(_) => Kind::$kind,)*
                }
            }
        }

        $(
            impl From<&$type> for Public {
                fn from(value: &$type) -> Self {
                    Public::$kind(Box::new(value.clone()))
                }
            }
        )*

        impl Serialize for Public {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Public::$kind(value) => value.serialize(serializer),)*
                }
            }
        }

        impl<'de> Deserialize<'de> for Public {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match EXPECTED.get().expect("`check_places` says which type it reads") {
                    $(Kind::$kind => <$type>::deserialize(deserializer).map(|value| Public::from(&value)),)*
                }
            }
        }
    };
}
public!(
    Signature44: Signature<MlDsa44>,
    Signature65: Signature<MlDsa65>,
    Signature87: Signature<MlDsa87>,
    Key44: VerifyingKey<MlDsa44>,
    Key65: VerifyingKey<MlDsa65>,
    Key87: VerifyingKey<MlDsa87>,
);

thread_local! {
    /// The type that this thread reads.
    static EXPECTED: Cell<Option<Kind>> = const { Cell::new(None) };
}

fn check_places(value: &Public) {
    EXPECTED.set(Some(value.kind()));
    let v = || value.clone();
    let fields = Fields {
        first: v(),
        absent: None,
        list: vec![Newtype(v()); 2],
    };
    check_formats("the value", value, &[]);
    check_formats("option", &Some(v()), &[]);
    check_formats("tuple", &(1u8, v()), &[]);
    check_formats("list", &vec![v(); 3], &[]);
    check_formats("struct", &fields, &[]);
    check_formats("map value", &BTreeMap::from([("a".to_owned(), v())]), &[]);
    check_formats("map key", &HashMap::from([(v(), 1u8)]), &[]);
    for place in [
        External::Newtype(v()),
        External::Tuple(2, v()),
        External::Struct { value: v() },
    ] {
        check_formats("enum", &place, &[]);
        let place = Internal::Nested(place);
        check_formats("enum in an internally tagged enum", &place, TYPES);
    }
    for place in [Adjacent::Newtype(v()), Adjacent::Tuple(2, v())] {
        check_formats("adjacently tagged enum", &place, TYPES);
    }
    let place = Adjacent::Struct { value: v() };
    check_formats("adjacently tagged struct", &place, NAMES);
    for place in [
        Internal::Newtype(fields.clone()),
        Internal::Struct { value: v() },
    ] {
        check_formats("internally tagged enum", &place, TYPES);
    }
    for place in [
        Untagged::Newtype(v()),
        Untagged::Tuple(2, v()),
        Untagged::Nested(Box::new(Internal::Newtype(fields.clone()))),
    ] {
        check_formats("untagged enum", &place, TYPES);
        check_formats("list of untagged enums", &vec![place], TYPES);
    }
    let place = Untagged::Struct { value: v() };
    check_formats("untagged struct", &place, NAMES);
    let others = BTreeMap::from([("other".to_owned(), v())]);
    let flattened = Flattened {
        number: 3,
        fields,
        others,
    };
    check_formats("flattened", &flattened, TYPES);
    let numbers = HashMap::from([(v(), 1)]);
    check_formats("flattened map keys", &FlattenedKeys { numbers }, TEXT_KEYS);
}

fn check_set<P: ParameterSet>()
where
    Public: for<'a> From<&'a Signature<P>> + for<'a> From<&'a VerifyingKey<P>>,
{
    let key = SigningKey::<P>::from_seed(&[8; 32]);
    let signature = key.sign_deterministic(b"a message").unwrap();
    let public = key.verifying_key();
    check_written_form(&signature, signature.as_ref());
    check_written_form(public, public.as_ref());
    check_other_forms(&signature, signature.as_ref());
    check_other_forms(public, public.as_ref());
    check_places(&Public::from(&signature));
    check_places(&Public::from(public));
}

#[test]
fn every_place_in_every_format_is_read_again() {
    check_set::<MlDsa44>();
    check_set::<MlDsa65>();
    check_set::<MlDsa87>();
}
