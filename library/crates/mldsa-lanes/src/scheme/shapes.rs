//! The types whose lengths follow from a parameter set: vectors, matrices and byte strings.

use core::array::TryFromSliceError;
use core::fmt::Debug;

use crate::kernels::poly::{Poly, Wipe, Zero};
use crate::kernels::small::SmallPoly;
use crate::params::Parameters;

/// An array of exact length.
pub trait Array<T>: AsRef<[T]> + AsMut<[T]> + Clone + Zero + Wipe + Send + Sync + 'static {}
impl<T, A> Array<T> for A where
    A: AsRef<[T]> + AsMut<[T]> + Clone + Zero + Wipe + Send + Sync + 'static
{
}

/// A byte string of exact length.
pub trait Bytes:
    Array<u8> + Copy + Debug + Eq + for<'a> TryFrom<&'a [u8], Error = TryFromSliceError>
{
}
impl<A> Bytes for A where
    A: Array<u8> + Copy + Debug + Eq + for<'a> TryFrom<&'a [u8], Error = TryFromSliceError>
{
}

/// Lengths that the language wants as types of their own.
pub trait Shapes: Parameters {
    /// The private key as `skEncode` writes it.
    type SigningKeyBytes: Bytes;
    /// The public key as `pkEncode` writes it.
    type VerifyingKeyBytes: Bytes;
    /// The signature as `sigEncode` writes it.
    type SignatureBytes: Bytes;
    /// l polynomials.
    #[doc(hidden)]
    type VecL: Array<Poly>;
    /// k polynomials.
    #[doc(hidden)]
    type VecK: Array<Poly>;
    /// l polynomials of small coefficients.
    #[doc(hidden)]
    type SmallL: Array<SmallPoly>;
    /// k polynomials of small coefficients.
    #[doc(hidden)]
    type SmallK: Array<SmallPoly>;
    /// k·l polynomials, row after row.
    #[doc(hidden)]
    type Matrix: Array<Poly>;
}
