//! ML-DSA.Verify_internal (FIPS 204, Algorithm 8). Everything here is public.

use crate::backend::{Backend, Engine};
use crate::error::Error;
use crate::kernels::keccak::Permutation;
use crate::kernels::poly::{Poly, Zero};
use crate::kernels::sampling::in_ball_from;
use crate::kernels::sponge::{Shadow, ShadowHash, ShadowStates, Shake256, Shake256Reader, h};
use crate::scheme::encode::{self, Committed, Hints, MU_BYTES, committed_bytes};
use crate::scheme::message::{Input, MuSource};
use crate::scheme::sample::{self, Stream};
use crate::scheme::shapes::Shapes;

/// The public key with everything that does not depend on message and signature.
#[derive(Clone)]
pub struct Material<P: Shapes> {
    a_hat: P::Matrix,
    /// NTT(t1·2^d).
    t1_hat: P::VecK,
    pub(crate) tr: [u8; 64],
}

impl<P: Shapes> Material<P> {
    /// To be filled where it stays: it is large to move.
    pub(crate) const ZERO: Self = Self {
        a_hat: Zero::ZERO,
        t1_hat: Zero::ZERO,
        tr: [0; 64],
    };

    /// From pkEncode's bytes, of the set's length (steps 1, 5 and 6).
    pub(crate) fn fill<E: Engine>(&mut self, e: E, pk: &[u8]) {
        // Algorithm 8, step 1.
        for (row, p) in self.t1_hat.as_mut().iter_mut().enumerate() {
            t1_hat(e, pk, row, p);
        }
        let mut tr = ShadowHash::new(e.permutation());
        let mut shadow = Shadow {
            hash: &mut tr,
            known: pk,
            complete: true,
        };
        let a_hat = self.a_hat.as_mut();
        // Algorithm 8, step 5.
        sample::expand_a::<P, E>(e, encode::rho_of(pk), a_hat, Some(&mut shadow));
        // Algorithm 8, step 6.
        self.tr = tr.finish(pk);
    }

    /// The rows of Â, each with its polynomial of NTT(t1·2^d).
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[Poly], &Poly)> {
        let rows = self.a_hat.as_ref().chunks_exact(P::L);
        rows.zip(self.t1_hat.as_ref())
    }
}

/// A polynomial of NTT(t1·2^d).
pub(crate) fn t1_hat<E: Engine>(e: E, pk: &[u8], row: usize, p: &mut Poly) {
    encode::read_t1_scaled(e, pk, row, p);
    e.ntt(p);
}

/// Room for one row of w and of the hints.
pub(crate) struct RowMemory {
    w: Poly,
    hint: Poly,
}

impl Zero for RowMemory {
    const ZERO: Self = RowMemory {
        w: Zero::ZERO,
        hint: Zero::ZERO,
    };
}

/// A decoded signature and the values computed from it.
pub(crate) struct Claim<P: Shapes> {
    /// z, transformed.
    z: P::VecL,
    hints: Hints,
    c_hat: Poly,
    /// Step 12's string: mu, if one signature is verified by itself, and w1Encode's.
    hashed: Committed,
}

impl<P: Shapes> Claim<P> {
    pub(crate) const ZERO: Self = Claim {
        z: Zero::ZERO,
        hints: Zero::ZERO,
        c_hat: Zero::ZERO,
        hashed: Zero::ZERO,
    };

    /// Step 2, sigDecode, and the norm of z: false for a signature that is malformed.
    #[must_use]
    pub(crate) fn decode<E: Engine>(&mut self, e: E, sig: &P::SignatureBytes) -> bool {
        let z = self.z.as_mut();
        // Algorithm 8, steps 2 and 3.
        if !self.hints.read::<P>(sig.as_ref()) {
            return false;
        }
        encode::read_z::<P, E>(e, sig.as_ref(), z);
        for p in z {
            // Algorithm 8, step 13: the norm.
            if e.exceeds(p, P::GAMMA1 - P::BETA) {
                return false;
            }
            e.ntt(p);
        }
        true
    }

    /// Step 8 from the output of H(c_tilde).
    pub(crate) fn challenge<E: Engine>(&mut self, e: E, reader: &mut Shake256Reader) {
        // Algorithm 8, step 8.
        in_ball_from(P::TAU, reader, &mut self.c_hat);
        e.ntt(&mut self.c_hat);
    }

    /// Steps 9 and 10, and w1Encode, for one row.
    pub(crate) fn row<E: Engine>(
        &mut self,
        e: E,
        number: usize,
        (a_row, t1_hat): (&[Poly], &Poly),
        RowMemory { w, hint }: &mut RowMemory,
    ) {
        // Now, as a vector that covers a coefficient just stored would wait for it.
        self.hints.row::<P>(number, hint);
        // Algorithm 8, step 9.
        e.dot_minus(a_row, self.z.as_ref(), &self.c_hat, t1_hat, w);
        e.inverse_ntt(w);
        // Algorithm 8, step 10.
        e.use_hint::<P>(w, hint);
        encode::w1::<P, E>(e, number, w, &mut self.hashed[MU_BYTES..]);
    }

    /// w1Encode's string once every row is there.
    pub(crate) fn w1(&self) -> &[u8] {
        &self.hashed[MU_BYTES..committed_bytes::<P>(P::K)]
    }

    /// Steps 12 and 13 from the output of H(mu ‖ w1Encode(w1)): whether it begins with c_tilde.
    pub(crate) fn holds(reader: &mut Shake256Reader, sig: &P::SignatureBytes) -> bool {
        let mut expected = [0; 64];
        let expected = &mut expected[..P::C_TILDE_BYTES];
        // Algorithm 8, step 12.
        reader.squeeze(expected);
        // Algorithm 8, step 13: c_tilde.
        *expected == *encode::c_tilde_of::<P>(sig.as_ref())
    }
}

/// H(c_tilde), of which the permutation is still to come.
fn challenge<P: Shapes, E: Engine>(e: E, sig: &P::SignatureBytes) -> Shake256Reader {
    let c_tilde = encode::c_tilde_of::<P>(sig.as_ref());
    Shake256::new(e.permutation()).absorb(c_tilde).finish()
}

/// The result of a comparison.
fn judge(holds: bool) -> Result<(), Error> {
    holds.then_some(()).ok_or(Error::InvalidSignature)
}

/// Steps 2 to 13 with an expanded key.
pub(crate) fn verify<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    input: &Input<'_>,
    sig: &P::SignatureBytes,
) -> Result<(), Error> {
    let source = input.mu_source::<P>(e.permutation())?;
    let mut claim = Claim::<P>::ZERO;
    judge(claim.decode(e, sig))?;
    let mut challenge = challenge::<P, E>(e, sig);
    // Algorithm 8, step 7.
    let mu = match source {
        MuSource::Known(mu) => {
            mu.check_key(&key.tr)?;
            *mu.as_bytes()
        }
        MuSource::Hash(m_prime) => {
            let mut mu = m_prime.hash(e.permutation(), &key.tr);
            if let (Some(a), Some(b)) = (mu.block(), challenge.block()) {
                e.permutation_of_two()(a, b);
            }
            mu.read()
        }
    };
    claim.challenge(e, &mut challenge);
    let mut room = RowMemory::zero();
    for (number, key_row) in key.rows().enumerate() {
        claim.row(e, number, key_row, &mut room);
    }
    let hash = Shake256::new(e.permutation())
        .absorb(&mu)
        .absorb(claim.w1());
    judge(Claim::<P>::holds(&mut hash.finish(), sig))
}

/// The way to mu.
enum Mu {
    /// H(pk) is hashed.
    Tr(ShadowHash),
    /// H(tr ‖ M') is hashed.
    Hash(Shake256Reader),
    /// mu is known, and made for this key or not.
    Known(Result<(), Error>),
}

/// The hashes of a verification with pkEncode's bytes, one after another. Each goes on as far as what
/// it hashes is known, so Â's permutations carry most of them along.
struct Hashes<'a> {
    permute: Permutation,
    pk: &'a [u8],
    source: MuSource<'a>,
    /// H(c_tilde), until it is read.
    challenge: Option<Shake256Reader>,
    mu: Mu,
    /// Step 12's.
    last: ShadowHash,
}

impl<'a> Hashes<'a> {
    /// `hashed` receives mu if it is known.
    fn new(
        permute: Permutation,
        pk: &'a [u8],
        source: MuSource<'a>,
        challenge: Shake256Reader,
        hashed: &mut Committed,
    ) -> Self {
        let mut mu = Mu::Tr(ShadowHash::new(permute));
        if let MuSource::Known(known) = source {
            hashed[..MU_BYTES].copy_from_slice(known.as_bytes());
            if !known.is_bound() {
                mu = Mu::Known(Ok(()));
            }
        }
        Hashes {
            permute,
            pk,
            source,
            challenge: Some(challenge),
            mu,
            last: ShadowHash::new(permute),
        }
    }

    /// The next hashes once step 12's string is known up to the end of `hashed`. mu is written to its front as
    /// soon as it is known. `complete`: `hashed` is the whole string.
    fn after<'b>(&'b mut self, hashed: &'b mut [u8], complete: bool) -> Next<'b, 'a> {
        Next {
            hashes: self,
            hashed,
            complete,
        }
    }
}

/// The hashes, and what is known of step 12's string.
struct Next<'b, 'a> {
    hashes: &'b mut Hashes<'a>,
    hashed: &'b mut [u8],
    complete: bool,
}

impl ShadowStates for Next<'_, '_> {
    fn block(&mut self) -> Option<&mut [u64; 25]> {
        let Hashes {
            permute,
            pk,
            source,
            challenge,
            mu,
            last,
        } = &mut *self.hashes;
        if let Some(challenge) = challenge.as_mut().filter(|hash| hash.is_pending()) {
            return challenge.block();
        }
        // Algorithm 8, steps 6 and 7.
        if let Mu::Tr(tr) = mu
            && tr.is_padded()
        {
            let tr = core::mem::replace(tr, ShadowHash::new(*permute)).finish(pk);
            *mu = match source {
                MuSource::Known(known) => Mu::Known(known.check_key(&tr)),
                MuSource::Hash(m_prime) => Mu::Hash(m_prime.hash(*permute, &tr)),
            };
        }
        if let Mu::Hash(hash) = mu
            && !hash.is_pending()
        {
            hash.squeeze(&mut self.hashed[..MU_BYTES]);
            *mu = Mu::Known(Ok(()));
        }
        match mu {
            Mu::Tr(tr) => tr.block(pk, true),
            Mu::Hash(hash) => hash.block(),
            Mu::Known(_) => last.block(self.hashed, self.complete),
        }
    }
}

/// Steps 1 to 12 with pkEncode's bytes, and the norm of z: gives the output of H(mu ‖ w1Encode(w1)).
/// Each row of Â is used as soon as it is sampled.
#[inline(never)]
pub(crate) fn commitment<P: Shapes, E: Engine>(
    e: E,
    pk: &[u8],
    input: &Input<'_>,
    sig: &P::SignatureBytes,
) -> Result<Shake256Reader, Error> {
    let source = input.mu_source::<P>(e.permutation())?;
    let mut claim = Claim::<P>::ZERO;
    judge(claim.decode(e, sig))?;
    let challenge = challenge::<P, E>(e, sig);
    let mut hashes = Hashes::new(e.permutation(), pk, source, challenge, &mut claim.hashed);
    let (mut room, mut t1) = (RowMemory::zero(), Poly::zero());
    let mut rows = Stream::ZERO;
    for number in 0..P::K {
        let hashed = &mut claim.hashed[..committed_bytes::<P>(number)];
        // Algorithm 8, step 5.
        let a_row = rows.next_row::<P, E>(e, encode::rho_of(pk), &mut hashes.after(hashed, false));
        if let Some(mut reader) = hashes.challenge.take() {
            claim.challenge(e, &mut reader);
        }
        // Algorithm 8, step 1.
        t1_hat(e, pk, number, &mut t1);
        claim.row(e, number, (a_row, &t1), &mut room);
    }
    // Algorithm 8, step 12.
    let hashed = &mut claim.hashed[..committed_bytes::<P>(P::K)];
    let mut rest = hashes.after(&mut *hashed, true);
    while let Some(state) = rest.block() {
        e.permutation()(state);
    }
    if let Mu::Known(checked) = hashes.mu {
        checked?;
    }
    Ok(hashes.last.reader(hashed))
}

/// Steps 1 to 13 with pkEncode's bytes.
pub(crate) fn verify_compact<P: Shapes, E: Engine>(
    e: E,
    pk: &[u8],
    input: &Input<'_>,
    sig: &P::SignatureBytes,
) -> Result<(), Error> {
    let mut reader = commitment::<P, E>(e, pk, input, sig)?;
    judge(Claim::<P>::holds(&mut reader, sig))
}

/// tr = H(pk).
pub(crate) fn tr(backend: Backend, pk: &[u8]) -> [u8; 64] {
    h(backend.permutation(), &[pk])
}
