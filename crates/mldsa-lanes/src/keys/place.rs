//! Room for keys and computations, which the caller has.

use super::{ExpandedSigningKey, ExpandedVerifyingKey, SigningKey, VerifyingKey};
use crate::kernels::poly::Wipe;
use crate::scheme::entry::Scheme;
use crate::scheme::sign;

/// What signing computes with beside the key, for callers with a small stack or no heap: 38, 45 and
/// 53 KiB. Any number of signatures may use it one after another; it is wiped after each.
///
/// ```
/// use mldsa_lanes::mldsa65::{ExpandedSigningKey, SigningKey};
/// use mldsa_lanes::{Input, Place, Workspace};
///
/// // In a `static` behind the program's own lock, or wherever there is room for both.
/// let mut place = Place::<ExpandedSigningKey>::new();
/// let mut workspace = Workspace::new();
///
/// let key = place.fill(&SigningKey::from_seed(&[7; 32]));
/// let input = Input::Pure { message: b"message", context: b"" };
/// let signature = key.sign_deterministic_in(&mut workspace, &input)?;
/// # assert_eq!(signature, key.sign_deterministic(b"message", b"")?);
/// # Ok::<(), mldsa_lanes::Error>(())
/// ```
pub struct Workspace<P: Scheme>(pub(super) sign::Space<P>);

impl<P: Scheme> Workspace<P> {
    /// All zeros, so that a `static` of it takes no room in the program's file.
    #[expect(clippy::new_without_default)] // A default would be made on the stack and moved.
    pub const fn new() -> Self {
        Workspace(sign::Space::ZERO)
    }
}

/// Room in which an expanded key is made and stays, for programs without a heap: in a `static`, or
/// on a stack that is large enough. The sizes are those of [`ExpandedSigningKey`] and
/// [`ExpandedVerifyingKey`].
pub struct Place<K>(K);

macro_rules! place {
    ($compact:ident -> $expanded:ident) => {
        impl<P: Scheme> Place<$expanded<P>> {
            /// All zeros, so that a `static` of it takes no room in the program's file.
            #[expect(clippy::new_without_default)] // A default would be made on the stack and moved.
            pub const fn new() -> Self {
                Place($expanded::EMPTY)
            }

            /// Expands `key`, over the one that was here.
            pub fn fill(&mut self, key: &$compact<P>) -> &$expanded<P> {
                self.0.fill(key);
                &self.0
            }
        }
    };
}
place!(SigningKey -> ExpandedSigningKey);
place!(VerifyingKey -> ExpandedVerifyingKey);

impl<P: Scheme> Place<ExpandedSigningKey<P>> {
    /// Wipes the key that is here, for a place that is never dropped.
    pub fn wipe(&mut self) {
        self.0.material.wipe();
    }
}
