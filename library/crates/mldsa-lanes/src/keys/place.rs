//! Room for keys and computations, which the caller has.

use super::{ExpandedSigningKey, ExpandedVerifyingKey, SigningKey, VerifyingKey};
use crate::ParameterSet;
use crate::kernels::poly::Wipe;
use crate::scheme::sign;

/// Memory for key generation, import and signing, for callers with a small stack or no heap: 35, 40 and
/// 46 KiB (ML-DSA-44, 65, 87). Operations use it one after another; it is wiped after each.
///
/// ```
/// use mldsa_lanes::mldsa65::{ExpandedSigningKey, SigningKey};
/// use mldsa_lanes::{Backend, Place, SignOptions, Workspace};
///
/// // In a `static` behind the program's own lock, or wherever there is room for both.
/// let mut place = Place::<ExpandedSigningKey>::new();
/// let mut workspace = Workspace::new();
///
/// let key = SigningKey::from_seed_in(&mut workspace, Backend::detect(), &[7; 32]);
/// place.fill(&key);
/// let expanded = place.get().expect("it was filled");
/// let signature = expanded.sign_in(&mut workspace, b"message", SignOptions::deterministic())?;
/// key.verifying_key().verify_signature(b"message", &signature)?;
/// # Ok::<(), mldsa_lanes::Error>(())
/// ```
pub struct Workspace<P: ParameterSet>(pub(super) sign::Memory<P>);

impl<P: ParameterSet> Workspace<P> {
    /// All zeros, so that a `static` of it takes no room in the program's file.
    #[expect(clippy::new_without_default)] // A default would be made on the stack and moved.
    pub const fn new() -> Self {
        Workspace(sign::Memory::ZERO)
    }
}

/// Room in which an expanded key is made and stays, for programs without a heap: in a `static`, or
/// on a stack that is large enough. The sizes are those of [`ExpandedSigningKey`] and
/// [`ExpandedVerifyingKey`].
pub struct Place<K> {
    key: K,
    is_filled: bool,
}

impl<K> Place<K> {
    /// The key that is here.
    pub fn get(&self) -> Option<&K> {
        self.is_filled.then_some(&self.key)
    }
}

impl<P: ParameterSet> Place<ExpandedSigningKey<P>> {
    /// All zeros, so that a `static` of it takes no room in the program's file.
    #[expect(clippy::new_without_default)] // A default would be made on the stack and moved.
    pub const fn new() -> Self {
        Place {
            key: ExpandedSigningKey::EMPTY,
            is_filled: false,
        }
    }

    /// Expands `key`, over the one that was here.
    pub fn fill(&mut self, key: &SigningKey<P>) -> &ExpandedSigningKey<P> {
        self.key.fill(key);
        self.is_filled = true;
        &self.key
    }

    /// Wipes the key that is here, for a place that is never dropped.
    pub fn wipe(&mut self) {
        self.key.material.wipe();
        self.is_filled = false;
    }
}

impl<P: ParameterSet> Place<ExpandedVerifyingKey<P>> {
    /// All zeros, so that a `static` of it takes no room in the program's file.
    #[expect(clippy::new_without_default)] // A default would be made on the stack and moved.
    pub const fn new() -> Self {
        Place {
            key: ExpandedVerifyingKey::EMPTY,
            is_filled: false,
        }
    }

    /// Expands `key`, over the one that was here.
    pub fn fill(&mut self, key: &VerifyingKey<P>) -> &ExpandedVerifyingKey<P> {
        self.key.fill(key);
        self.is_filled = true;
        &self.key
    }
}
