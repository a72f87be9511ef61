//! A polynomial of R_q or T_q, and vectors of them.

use crate::params::N;

/// 256 coefficients. Each function states the range it takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Poly(pub(crate) [i32; N]);

/// A value that starts as zeros.
pub trait Zero {
    /// All zeros.
    fn zero() -> Self;
}

/// Overwrites a secret so that the compiler may not drop the writes.
pub trait Wipe {
    /// Sets every byte to zero.
    fn wipe(&mut self);
}

impl Zero for Poly {
    fn zero() -> Self {
        Poly([0; N])
    }
}

impl<const LEN: usize> Zero for [u8; LEN] {
    fn zero() -> Self {
        [0; LEN]
    }
}

impl<const LEN: usize> Zero for [Poly; LEN] {
    fn zero() -> Self {
        [Poly([0; N]); LEN]
    }
}

impl<const ROWS: usize, const COLUMNS: usize> Zero for [[Poly; COLUMNS]; ROWS] {
    fn zero() -> Self {
        [[Poly([0; N]); COLUMNS]; ROWS]
    }
}

impl<const LEN: usize, const COUNT: usize> Zero for [[u8; LEN]; COUNT] {
    fn zero() -> Self {
        [[0; LEN]; COUNT]
    }
}

impl<const LEN: usize, const COUNT: usize> Wipe for [[u8; LEN]; COUNT] {
    fn wipe(&mut self) {
        self.as_flattened_mut().wipe();
    }
}

impl Wipe for [u8] {
    fn wipe(&mut self) {
        self.fill(0);
        zeroize::optimization_barrier(self);
    }
}

impl Wipe for [Poly] {
    fn wipe(&mut self) {
        for p in &mut *self {
            p.0.fill(0);
        }
        zeroize::optimization_barrier(self);
    }
}

impl<const LEN: usize> Wipe for [u8; LEN] {
    fn wipe(&mut self) {
        self.as_mut_slice().wipe();
    }
}

impl<const LEN: usize> Wipe for [Poly; LEN] {
    fn wipe(&mut self) {
        self.as_mut_slice().wipe();
    }
}

/// A vector of polynomials of a length fixed by the parameter set.
pub trait PolyVec:
    AsRef<[Poly]> + AsMut<[Poly]> + Clone + Zero + Wipe + Send + Sync + 'static
{
}
impl<const LEN: usize> PolyVec for [Poly; LEN] {}

/// A matrix of polynomials, row after row.
pub trait PolyMatrix: Clone + Zero + Send + Sync + 'static {
    /// All polynomials in the order of the rows.
    fn flat(&self) -> &[Poly];
    /// The same, to write.
    fn flat_mut(&mut self) -> &mut [Poly];
}

impl<const ROWS: usize, const COLUMNS: usize> PolyMatrix for [[Poly; COLUMNS]; ROWS] {
    fn flat(&self) -> &[Poly] {
        self.as_flattened()
    }
    fn flat_mut(&mut self) -> &mut [Poly] {
        self.as_flattened_mut()
    }
}

/// A secret that is wiped when it goes out of scope.
#[derive(Clone)]
pub(crate) struct Secret<T: Wipe>(pub(crate) T);

impl<T: Wipe + Zero> Secret<T> {
    pub(crate) fn zero() -> Self {
        Secret(T::zero())
    }
}

impl<T: Wipe> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

impl<T: Wipe> core::ops::Deref for Secret<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Wipe> core::ops::DerefMut for Secret<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
