//! What an implementation has to provide.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;
use std::rc::Rc;

pub use crate::job::{Job, Output, Prepared, attempt_word, describe, job, refused, verdict};
pub use crate::protocol::of_length;
use crate::protocol::{Fields, Form, Operation};
use crate::runs::{Group, Loop, MAX_SIZE, MAX_THREADS};

/// The key object that this thread made last of these bytes, or a new one: inputs of one key that
/// are prepared one after another share one object, as the requests to a server with one key do.
///
/// # Errors
/// That of `make`.
pub fn shared<K: 'static>(
    bytes: Vec<u8>,
    make: impl FnOnce() -> Result<K, String>,
) -> Result<Rc<K>, String> {
    type Last = HashMap<TypeId, (Vec<u8>, Rc<dyn Any>)>;
    thread_local!(static LAST: RefCell<Last> = RefCell::default());
    let of = TypeId::of::<K>();
    let found = LAST.with_borrow(|last| match last.get(&of) {
        Some((known, key)) if *known == bytes => Rc::downcast(Rc::clone(key)).ok(),
        _ => None,
    });
    if let Some(key) = found {
        return Ok(key);
    }
    let key = Rc::new(make()?);
    LAST.with_borrow_mut(|last| last.insert(of, (bytes, Rc::<K>::clone(&key))));
    Ok(key)
}

/// One implementation at one parameter set. What it does not implement, its [`Variant`] must not
/// announce.
///
/// Parsing and expanding of keys belongs here unless the variant's note says that it is timed.
///
/// Each thread of a run prepares its own inputs, so a scheme is shared between threads.
pub trait Scheme: Sync {
    fn keygen(&self, _input: &Fields) -> Prepared {
        Err("key generation is not announced".into())
    }
    fn sign(&self, _input: &Fields) -> Prepared {
        Err("signing is not announced".into())
    }
    /// A key, context or signature that cannot be read is refused, not an error.
    fn verify(&self, _input: &Fields) -> Prepared {
        Err("verification is not announced".into())
    }
    fn encaps(&self, _input: &Fields) -> Prepared {
        Err("encapsulation is not announced".into())
    }
    fn decaps(&self, _input: &Fields) -> Prepared {
        Err("decapsulation is not announced".into())
    }
    fn hash(&self, _input: &Fields) -> Prepared {
        Err("hashing is not announced".into())
    }
    fn handshake(&self) -> Prepared {
        Err("handshakes are not announced".into())
    }
    fn accept(&self) -> Prepared {
        Err("a server's part of handshakes is not announced".into())
    }
    fn trace(&self, _input: &Fields) -> Prepared {
        Err("tracing is not announced".into())
    }
    fn z_violation(&self, _input: &Fields) -> Prepared {
        Err("z_violation is not announced".into())
    }
    /// Prepares inputs of a timed operation for the implementation's batch interface; an input
    /// that has been refused already is its reason. None where there is no such interface.
    fn batch(&self, _operation: Operation, _inputs: Inputs<'_>) -> Option<Box<dyn Group>> {
        None
    }
}

/// The inputs of a batch, or why one of them is refused.
pub type Inputs<'a> = Vec<Result<&'a Fields, String>>;

/// Whether A-hat or NTT forms are in the key object before the clock starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Compact,
    Expanded,
}

/// What decides the per-signature randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rnd {
    Given,
    Zero,
    None,
}

/// The private key form that signing starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivateKey {
    Seed,
    Sk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    MlDsa,
    Classical,
    SlhDsa,
    FnDsa,
    MlKem,
    Hash,
    Tls,
}

/// An implementation with one backend and one key form, as it is announced.
pub struct Variant {
    pub implementation: &'static str,
    pub version: &'static str,
    pub backend: &'static str,
    pub key: Key,
    pub family: Family,
    pub operations: &'static [Operation],
    pub rnd: Rnd,
    pub context: bool,
    /// Of all but classical variants.
    pub private_key: PrivateKey,
    /// Whether its schemes have a batch interface.
    pub batch: bool,
    /// The implementation's language, where it is not the worker's.
    pub language: Option<&'static str>,
    pub note: String,
    pub schemes: Vec<(&'static str, Box<dyn Scheme>)>,
}

/// The operations nearly every variant has.
pub const TIMED: &[Operation] = &[Operation::Keygen, Operation::Sign, Operation::Verify];
/// Those of an expanded key, where key generation is the compact variant's.
pub const WITH_KEY: &[Operation] = &[Operation::Sign, Operation::Verify];

/// Those of a key encapsulation mechanism.
pub const KEM: &[Operation] = &[Operation::Keygen, Operation::Encaps, Operation::Decaps];
/// Those of one with an expanded key.
pub const KEM_WITH_KEY: &[Operation] = &[Operation::Encaps, Operation::Decaps];

/// The three ML-DSA sets in order.
pub fn ml_dsa_sets(
    set_44: impl Scheme + 'static,
    set_65: impl Scheme + 'static,
    set_87: impl Scheme + 'static,
) -> Vec<(&'static str, Box<dyn Scheme>)> {
    vec![
        ("ML-DSA-44", Box::new(set_44)),
        ("ML-DSA-65", Box::new(set_65)),
        ("ML-DSA-87", Box::new(set_87)),
    ]
}

/// The three ML-KEM sets in order.
pub fn ml_kem_sets(
    set_512: impl Scheme + 'static,
    set_768: impl Scheme + 'static,
    set_1024: impl Scheme + 'static,
) -> Vec<(&'static str, Box<dyn Scheme>)> {
    vec![
        ("ML-KEM-512", Box::new(set_512)),
        ("ML-KEM-768", Box::new(set_768)),
        ("ML-KEM-1024", Box::new(set_1024)),
    ]
}

/// The twelve SLH-DSA sets, each made of its name, n and the length of its signatures.
pub fn slh_dsa_sets<S: Scheme + 'static>(
    make: impl Fn(&'static CStr, usize, usize) -> S,
) -> Vec<(&'static str, Box<dyn Scheme>)> {
    let sets = [
        (c"SLH-DSA-SHA2-128s", 16, 7856),
        (c"SLH-DSA-SHA2-128f", 16, 17088),
        (c"SLH-DSA-SHAKE-128s", 16, 7856),
        (c"SLH-DSA-SHAKE-128f", 16, 17088),
        (c"SLH-DSA-SHA2-192s", 24, 16224),
        (c"SLH-DSA-SHA2-192f", 24, 35664),
        (c"SLH-DSA-SHAKE-192s", 24, 16224),
        (c"SLH-DSA-SHAKE-192f", 24, 35664),
        (c"SLH-DSA-SHA2-256s", 32, 29792),
        (c"SLH-DSA-SHA2-256f", 32, 49856),
        (c"SLH-DSA-SHAKE-256s", 32, 29792),
        (c"SLH-DSA-SHAKE-256f", 32, 49856),
    ];
    let boxed = |(name, n, size): (&'static CStr, _, _)| -> (_, Box<dyn Scheme>) {
        let scheme = make(name, n, size);
        (name.to_str().expect("ASCII"), Box::new(scheme))
    };
    sets.map(boxed).into()
}

impl Variant {
    /// What most variants have in common, of ML-DSA with encoded private keys; without schemes.
    pub fn new(implementation: &'static str, version: &'static str) -> Self {
        Self {
            implementation,
            version,
            backend: "native",
            key: Key::Compact,
            family: Family::MlDsa,
            operations: TIMED,
            rnd: Rnd::Given,
            context: true,
            private_key: PrivateKey::Sk,
            batch: false,
            language: None,
            note: String::new(),
            schemes: Vec::new(),
        }
    }

    /// `implementation:backend:key`.
    pub fn id(&self) -> String {
        format!(
            "{}:{}:{}",
            self.implementation,
            self.backend,
            self.key_name()
        )
    }

    /// The lines that describe it in the announcement, without line ends.
    pub fn announcement(&self) -> Vec<String> {
        let names = |list: Vec<&'static str>| list.join(" ");
        let mut lines = vec![
            format!("variant {}", self.id()),
            format!("implementation {}", self.implementation),
            format!("version {}", self.version),
            format!("backend {}", self.backend),
            format!("key {}", self.key_name()),
            format!(
                "family {}",
                match self.family {
                    Family::MlDsa => "ml-dsa",
                    Family::Classical => "classical",
                    Family::SlhDsa => "slh-dsa",
                    Family::FnDsa => "fn-dsa",
                    Family::MlKem => "ml-kem",
                    Family::Hash => "hash",
                    Family::Tls => "tls",
                }
            ),
            format!(
                "sets {}",
                names(self.schemes.iter().map(|(name, _)| *name).collect())
            ),
            format!(
                "operations {}",
                names(self.operations.iter().map(|o| o.name()).collect())
            ),
            format!(
                "rnd {}",
                match self.rnd {
                    Rnd::Given => "given",
                    Rnd::Zero => "zero",
                    Rnd::None => "none",
                }
            ),
            format!("context {}", if self.context { "yes" } else { "no" }),
        ];
        if !matches!(self.family, Family::Classical | Family::Hash | Family::Tls) {
            let form = match self.private_key {
                PrivateKey::Seed => "seed",
                PrivateKey::Sk => "sk",
            };
            lines.push(format!("private_keys {form}"));
        }
        if self.batch {
            lines.push("mode batch".into());
        }
        lines.push(format!("batch_size {MAX_SIZE}"));
        lines.push(format!("threads {MAX_THREADS}"));
        lines.extend(self.language.map(|name| format!("language {name}")));
        if !self.note.is_empty() {
            lines.push(format!("note {}", self.note));
        }
        lines
    }

    /// The rule that the input breaks, where the interface as announced cannot take it.
    fn admit(&self, operation: Operation, input: &Fields) -> Result<(), String> {
        if !self.context
            && input
                .context
                .as_ref()
                .is_some_and(|context| !context.is_empty())
        {
            return Err("this interface has no contexts, so context must be empty".into());
        }
        let signs = matches!(
            operation,
            Operation::Sign | Operation::Trace | Operation::ZViolation
        );
        if signs && self.family == Family::MlDsa && self.rnd != Rnd::None {
            let rnd = input.rnd()?;
            if self.rnd == Rnd::Zero && rnd != [0; 32] {
                return Err("this interface signs deterministically, so rnd must be zero".into());
            }
        }
        Ok(())
    }

    /// Prepares one input of an announced operation.
    pub fn prepare(&self, scheme: &dyn Scheme, operation: Operation, input: &Fields) -> Prepared {
        self.admit(operation, input)?;
        match operation {
            Operation::Keygen => scheme.keygen(input),
            Operation::Sign => scheme.sign(input),
            Operation::Verify => scheme.verify(input),
            Operation::Encaps => scheme.encaps(input),
            Operation::Decaps => scheme.decaps(input),
            Operation::Hash => scheme.hash(input),
            Operation::Handshake => scheme.handshake(),
            Operation::Accept => scheme.accept(),
            Operation::Trace => scheme.trace(input),
            Operation::ZViolation => scheme.z_violation(input),
        }
    }

    /// Prepares inputs of a timed operation to be performed together, in the calling thread.
    ///
    /// # Errors
    /// Where a batch interface is asked for and there is none.
    pub fn group(
        &self,
        scheme: &dyn Scheme,
        operation: Operation,
        form: Form,
        inputs: &[Fields],
    ) -> Result<Box<dyn Group>, String> {
        match form {
            Form::Loop => {
                let prepare = |input| self.prepare(scheme, operation, input);
                Ok(Box::new(Loop(inputs.iter().map(prepare).collect())))
            }
            Form::Batch => {
                let admit = |input| self.admit(operation, input).map(|()| input);
                scheme
                    .batch(operation, inputs.iter().map(admit).collect())
                    .ok_or_else(|| format!("variant {} has no batch interface", self.id()))
            }
        }
    }

    fn key_name(&self) -> &'static str {
        match self.key {
            Key::Compact => "compact",
            Key::Expanded => "expanded",
        }
    }
}
