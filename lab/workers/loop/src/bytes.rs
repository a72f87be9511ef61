//! Bytes of an input, which may come later than the input itself.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Bytes that a request brought, or that an earlier stage of a chain will fill in; copies share
/// them. Empty as long as they are not there.
#[derive(Clone, Debug, Default)]
pub struct Bytes(Arc<OnceLock<Vec<u8>>>);

impl Bytes {
    /// Fills in what was left open; what is there already stays.
    pub fn fill(&self, bytes: Vec<u8>) {
        self.0.get_or_init(|| bytes);
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(OnceLock::from(bytes)))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.0.get().map_or(&[], Vec::as_slice)
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}
