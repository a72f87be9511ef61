//! A polynomial of R_q or T_q, and vectors of them.

use crate::params::N;

/// 256 coefficients. Each function states the range it takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Poly(pub [i32; N]);

/// A value that starts as zeros.
pub trait Zero: Sized {
    /// All zeros.
    const ZERO: Self;
    /// Return [`Self::ZERO`]. Inlined: a large array is zeroed in place, not copied from the program's constants.
    #[inline(always)]
    fn zero() -> Self {
        Self::ZERO
    }
}

/// Overwrites a secret so that the compiler may not drop the writes.
pub trait Wipe {
    /// Sets every byte to zero.
    fn wipe(&mut self);
}

impl Zero for Poly {
    const ZERO: Self = Poly([0; N]);
}

impl<const LEN: usize> Zero for [u8; LEN] {
    const ZERO: Self = [0; LEN];
}

impl<const LEN: usize> Zero for [Poly; LEN] {
    const ZERO: Self = [Poly([0; N]); LEN];
}

impl<const LEN: usize, const COUNT: usize> Zero for [[u8; LEN]; COUNT] {
    const ZERO: Self = [[0; LEN]; COUNT];
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

/// A secret that is wiped when it goes out of scope.
#[derive(Clone)]
pub struct Secret<T: Wipe>(pub(crate) T);

impl<T: Wipe + Zero> Zero for Secret<T> {
    const ZERO: Self = Secret(T::ZERO);
}

impl<T: Wipe> Wipe for Secret<T> {
    fn wipe(&mut self) {
        self.0.wipe();
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
