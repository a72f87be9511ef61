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

macro_rules! shapes {
    ($feature:literal $set:ident: k $k:literal, l $l:literal, sk $sk:literal, pk $pk:literal, sig $sig:literal) => {
        #[cfg(feature = $feature)]
        impl Shapes for crate::params::$set {
            type SigningKeyBytes = [u8; $sk];
            type VerifyingKeyBytes = [u8; $pk];
            type SignatureBytes = [u8; $sig];
            type VecL = [Poly; $l];
            type VecK = [Poly; $k];
            type SmallL = [SmallPoly; $l];
            type SmallK = [SmallPoly; $k];
            type Matrix = [Poly; $k * $l];
        }
        #[cfg(feature = $feature)]
        const _: () = {
            use crate::params::$set;
            assert!($set::K == $k && $set::L == $l);
            assert!($set::SIGNING_KEY_BYTES == $sk);
            assert!($set::VERIFYING_KEY_BYTES == $pk);
            assert!($set::SIGNATURE_BYTES == $sig);
        };
    };
}
shapes!("ml-dsa-44" MlDsa44: k 4, l 4, sk 2560, pk 1312, sig 2420);
shapes!("ml-dsa-65" MlDsa65: k 6, l 5, sk 4032, pk 1952, sig 3309);
shapes!("ml-dsa-87" MlDsa87: k 8, l 7, sk 4896, pk 2592, sig 4627);
