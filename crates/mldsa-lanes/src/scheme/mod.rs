//! The text of FIPS 204. No `unsafe`, no `cfg(target)`: what differs between CPUs is behind
//! [`Engine`](crate::backend::Engine).

#[cfg(all(
    test,
    feature = "trace",
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]
mod bounds_tests;
pub(crate) mod encode;
pub(crate) mod entry;
pub(crate) mod keygen;
pub(crate) mod message;
pub(crate) mod sample;
pub(crate) mod shapes;
pub(crate) mod sign;
#[cfg(feature = "trace")]
pub(crate) mod traced;
pub(crate) mod verify;
