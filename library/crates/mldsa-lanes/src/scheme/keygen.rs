//! ML-DSA.KeyGen_internal (FIPS 204, Algorithm 6).

use crate::backend::Engine;
use crate::declassify::{Site, public, public_slice};
use crate::error::{Error, InvalidKeyReason};
use crate::kernels::poly::{Poly, Secret, Zero};
use crate::kernels::sponge::{Shadow, ShadowHash, Shake256};
use crate::params::Parameters;
use crate::scheme::encode::{self, SigningKeyParts, SigningKeyWriter};
use crate::scheme::sample::{self, Stream};
use crate::scheme::shapes::Shapes;
use crate::scheme::sign;

/// Memory of key generation. The caller owns it, so that the stack below is small enough to be overwritten at
/// the end.
pub struct Memory<P: Shapes> {
    rho_prime: Secret<[u8; 64]>,
    k: Secret<[u8; 32]>,
    s1: Secret<P::VecL>,
    s2: Secret<P::VecK>,
    /// A row of t and then of t0; and the row of t0 that an imported key has.
    t0: Secret<[Poly; 2]>,
    rows: Stream,
}

impl<P: Shapes> Memory<P> {
    pub(crate) const ZERO: Self = Memory {
        rho_prime: Secret::ZERO,
        k: Secret::ZERO,
        s1: Secret::ZERO,
        s2: Secret::ZERO,
        t0: Secret::ZERO,
        rows: Stream::ZERO,
    };

    pub(crate) fn values(&mut self) -> Values<'_> {
        let [t, stored] = &mut *self.t0;
        Values {
            rho_prime: &mut self.rho_prime,
            k: self.k.as_mut(),
            s1: self.s1.as_mut(),
            s2: self.s2.as_mut(),
            t,
            stored,
            rows: &mut self.rows,
        }
    }
}

/// The values of key generation, in [`Memory`] or in the memory of signing. All except `rows` are secret.
pub struct Values<'a> {
    pub(crate) rho_prime: &'a mut [u8; 64],
    pub(crate) k: &'a mut [u8],
    /// s1, then NTT(s1).
    pub(crate) s1: &'a mut [Poly],
    pub(crate) s2: &'a mut [Poly],
    /// A row of t and then of t0.
    pub(crate) t: &'a mut Poly,
    /// The row of t0 that an imported key has.
    pub(crate) stored: &'a mut Poly,
    pub(crate) rows: &'a mut Stream,
}

impl<P: Shapes> sign::Memory<P> {
    /// The memory of signing, for key generation.
    pub(crate) fn keygen(&mut self) -> Values<'_> {
        Values {
            rho_prime: &mut self.signing.rho_second,
            k: &mut self.signing.c_tilde[..32],
            s1: self.signing.vec_l.as_mut(),
            s2: self.signing.vec_k.as_mut(),
            t: &mut self.shared.scratch.product[0],
            stored: &mut self.shared.scratch.c_hat[0],
            rows: self.shared.masks.stream(),
        }
    }
}

/// Writes `sk` and `pk`.
#[inline(never)]
pub(crate) fn keygen<P: Shapes, E: Engine>(
    e: E,
    xi: &[u8; 32],
    mut values: Values<'_>,
    sk: &mut P::SigningKeyBytes,
    pk: &mut P::VerifyingKeyBytes,
) {
    // Algorithm 6, step 1.
    let mut reader = Shake256::new(e.permutation())
        .absorb(xi)
        .absorb(&[P::K as u8, P::L as u8])
        .finish();
    let rho: [u8; 32] = public(Site::Rho, reader.read());
    reader.squeeze(values.rho_prime);
    reader.squeeze(values.k);
    // Algorithm 6, step 4.
    e.bounded::<P>(&mut sample::expand_s_targets(
        values.rho_prime,
        values.s1,
        values.s2,
    ));
    // Algorithm 6, steps 10 and 11: sk is written as its parts come.
    let mut sk = SigningKeyWriter::new::<P>(sk.as_mut());
    sk.secrets::<P, E>(e, values.s1, values.s2);
    let tr = public_key::<P, E>(e, &rho, &mut values, pk, |row, t0, _| sk.t0(e, row, t0));
    sk.head(&rho, values.k, &tr);
}

/// t = A·s1 + s2, split (steps 3 to 9): writes pk and gives tr; `each` is called with each row of
/// t0 and a polynomial to spare. s1 becomes NTT(s1). As soon as a row of Â is there, its row of t1 is packed, and hashed
/// in the shadow of the next rows.
fn public_key<P: Shapes, E: Engine>(
    e: E,
    rho: &[u8; 32],
    values: &mut Values<'_>,
    pk: &mut P::VerifyingKeyBytes,
    mut each: impl FnMut(usize, &Poly, &mut Poly),
) -> [u8; 64] {
    let pk = pk.as_mut();
    pk[..32].copy_from_slice(rho);
    // Algorithm 6, step 5: NTT(s1).
    for p in &mut *values.s1 {
        e.ntt(p);
    }
    values.rows.begin_rows();
    let mut tr = ShadowHash::new(e.permutation());
    let mut t1 = Poly::zero();
    for (row_number, s2) in values.s2.iter().enumerate() {
        let mut shadow = Shadow {
            hash: &mut tr,
            known: encode::verifying_key_rows(pk, row_number),
            complete: false,
        };
        // Algorithm 6, step 3.
        let a_row = values.rows.next_row::<P, E>(e, rho, &mut shadow);
        row(e, a_row, values.s1, s2, values.t, &mut t1);
        // Algorithm 6, step 8.
        encode::verifying_key_row(e, pk, row_number, &t1);
        each(row_number, values.t, values.stored);
    }
    // Algorithm 6, step 9.
    tr.finish(pk)
}

/// A row of t = A·s1 + s2, split into t0, which is `t` in the end, and t1.
pub(crate) fn row<E: Engine>(
    e: E,
    a_row: &[Poly],
    s1_hat: &[Poly],
    s2: &Poly,
    t: &mut Poly,
    t1: &mut Poly,
) {
    // Algorithm 6, step 5.
    e.dot(a_row, s1_hat, t);
    e.inverse_ntt(t);
    // Any representative in (-q, q) serves.
    e.add_center(t, s2);
    // Algorithm 6, step 6.
    e.power2round(t, t1);
    public_slice(Site::PublicKey, &mut t1.0);
}

/// Whether every coefficient is in [-η, η].
fn in_range<P: Parameters, E: Engine>(e: E, s: &[Poly]) -> bool {
    // No early end: which coefficient is out of range stays unknown.
    s.iter().fold(true, |ok, p| ok & !e.exceeds(p, P::ETA + 1))
}

/// Zero if two polynomials are equal; without an early end.
fn difference(a: &Poly, b: &Poly) -> i32 {
    let pairs = a.0.iter().zip(&b.0);
    pairs.fold(0, |difference, (a, b)| difference | (a ^ b))
}

/// Zero if two strings of one length are equal; without an early end.
pub(crate) fn byte_difference(a: &[u8], b: &[u8]) -> u8 {
    let pairs = a.iter().zip(b);
    pairs.fold(0, |difference, (a, b)| difference | (a ^ b))
}

/// Whether the difference of two private keys is zero.
pub(crate) fn is_zero(difference: u8) -> bool {
    public(Site::KeyImport, difference == 0)
}

/// Writes the public key that belongs to the private key `sk`, read from bytes, after checking that
/// these are what key generation would have written.
#[inline(never)]
pub(crate) fn recover<P: Shapes, E: Engine>(
    e: E,
    sk: &[u8],
    mut values: Values<'_>,
    pk: &mut P::VerifyingKeyBytes,
) -> Result<(), Error> {
    let parts = SigningKeyParts::split::<P>(sk);
    for (i, p) in values.s1.iter_mut().chain(&mut *values.s2).enumerate() {
        parts.read_secret::<P, E>(e, i, p);
    }
    let ok = in_range::<P, E>(e, values.s1) & in_range::<P, E>(e, values.s2);
    if !public(Site::KeyImport, ok) {
        return Err(Error::InvalidSigningKey(InvalidKeyReason::SecretOutOfRange));
    }
    let mut differs = 0;
    let tr = public_key::<P, E>(e, parts.rho, &mut values, pk, |row, t0, stored| {
        parts.read_t0(e, row, stored);
        differs |= difference(t0, stored);
    });
    if public(Site::KeyImport, differs != 0) {
        return Err(Error::InvalidSigningKey(InvalidKeyReason::T0Mismatch));
    }
    if tr != *parts.tr {
        return Err(Error::InvalidSigningKey(InvalidKeyReason::TrMismatch));
    }
    Ok(())
}
