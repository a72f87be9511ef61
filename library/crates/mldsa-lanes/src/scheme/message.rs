//! What is signed: M' of FIPS 204, sections 5.2 to 5.4, and its hash μ.

use core::fmt;
use core::str::FromStr;

use sha2::Digest;

use crate::backend::Backend;
use crate::error::Error;
use crate::kernels::keccak::Permutation;
use crate::kernels::sponge::{Shake128, Shake256, Shake256Reader, Sponge};
use crate::params::Parameters;

/// The hash functions approved for HashML-DSA (FIPS 204, section 5.4.1 with SP 800-57).
///
/// FIPS 204 asks for a collision strength of at least λ bits: 128, 192, 256 for ML-DSA-44, -65,
/// -87. A weaker one is refused, unless it is asked for by [`Input::WeakPreHash`] or
/// [`Input::WeakDigest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum PreHash {
    Sha2_224,
    Sha2_256,
    Sha2_384,
    Sha2_512,
    Sha2_512_224,
    Sha2_512_256,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Shake128,
    Shake256,
}

impl PreHash {
    /// All twelve.
    pub const ALL: [PreHash; 12] = [
        PreHash::Sha2_224,
        PreHash::Sha2_256,
        PreHash::Sha2_384,
        PreHash::Sha2_512,
        PreHash::Sha2_512_224,
        PreHash::Sha2_512_256,
        PreHash::Sha3_224,
        PreHash::Sha3_256,
        PreHash::Sha3_384,
        PreHash::Sha3_512,
        PreHash::Shake128,
        PreHash::Shake256,
    ];

    /// The name in FIPS 180 and 202 with `SHA2-` for SHA-2: `SHA2-512/256`, `SHA3-256`, `SHAKE256`.
    pub const fn name(self) -> &'static str {
        match self {
            PreHash::Sha2_224 => "SHA2-224",
            PreHash::Sha2_256 => "SHA2-256",
            PreHash::Sha2_384 => "SHA2-384",
            PreHash::Sha2_512 => "SHA2-512",
            PreHash::Sha2_512_224 => "SHA2-512/224",
            PreHash::Sha2_512_256 => "SHA2-512/256",
            PreHash::Sha3_224 => "SHA3-224",
            PreHash::Sha3_256 => "SHA3-256",
            PreHash::Sha3_384 => "SHA3-384",
            PreHash::Sha3_512 => "SHA3-512",
            PreHash::Shake128 => "SHAKE128",
            PreHash::Shake256 => "SHAKE256",
        }
    }

    /// Length of the digest in bytes: SHAKE128 gives 32, SHAKE256 gives 64.
    pub const fn digest_bytes(self) -> usize {
        match self {
            PreHash::Sha2_224 | PreHash::Sha2_512_224 | PreHash::Sha3_224 => 28,
            PreHash::Sha2_256 | PreHash::Sha2_512_256 | PreHash::Sha3_256 | PreHash::Shake128 => 32,
            PreHash::Sha2_384 | PreHash::Sha3_384 => 48,
            PreHash::Sha2_512 | PreHash::Sha3_512 | PreHash::Shake256 => 64,
        }
    }

    /// Collision strength in bits: half the digest.
    pub const fn collision_bits(self) -> usize {
        4 * self.digest_bytes()
    }

    /// Refuses one that is weaker than the set.
    fn strong_enough<P: Parameters>(self) -> Result<(), Error> {
        if self.collision_bits() < P::LAMBDA {
            return Err(Error::WeakPreHash {
                needed: P::LAMBDA,
                actual: self.collision_bits(),
            });
        }
        Ok(())
    }

    /// The DER object identifier 2.16.840.1.101.3.4.2.x with its tag and length.
    const fn oid(self) -> [u8; 11] {
        let last = match self {
            PreHash::Sha2_256 => 1,
            PreHash::Sha2_384 => 2,
            PreHash::Sha2_512 => 3,
            PreHash::Sha2_224 => 4,
            PreHash::Sha2_512_224 => 5,
            PreHash::Sha2_512_256 => 6,
            PreHash::Sha3_224 => 7,
            PreHash::Sha3_256 => 8,
            PreHash::Sha3_384 => 9,
            PreHash::Sha3_512 => 10,
            PreHash::Shake128 => 11,
            PreHash::Shake256 => 12,
        };
        [6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, last]
    }
}

impl fmt::Display for PreHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads [`PreHash::name`], also with a hyphen after `SHAKE`, as OpenSSL writes it.
impl FromStr for PreHash {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let is_named = |hash: &PreHash| match name.strip_prefix("SHAKE-") {
            Some(bits) => hash.name().strip_prefix("SHAKE") == Some(bits),
            None => hash.name() == name,
        };
        let known = PreHash::ALL.into_iter().find(is_named);
        known.ok_or(Error::UnknownPreHash)
    }
}

/// A hash function at work.
trait Hash {
    fn begin(permute: Permutation) -> Self;
    fn update(&mut self, piece: &[u8]);
    /// Fills `out`, of the digest's length.
    fn finish(self, out: &mut [u8]);
}

impl<D: Digest> Hash for D {
    fn begin(_: Permutation) -> Self {
        D::new()
    }
    fn update(&mut self, piece: &[u8]) {
        Digest::update(self, piece);
    }
    fn finish(self, out: &mut [u8]) {
        out.copy_from_slice(&self.finalize());
    }
}

impl<const RATE: usize, const SUFFIX: u8> Hash for Sponge<RATE, SUFFIX> {
    fn begin(permute: Permutation) -> Self {
        Sponge::new(permute)
    }
    fn update(&mut self, piece: &[u8]) {
        Sponge::update(self, piece);
    }
    fn finish(self, out: &mut [u8]) {
        Sponge::finish(self).squeeze(out);
    }
}

macro_rules! digester {
    ($($hash:ident $state:ty,)*) => {
        /// The state of one of them.
        #[derive(Clone)]
        enum Digester { $($hash($state)),* }

        impl Digester {
            fn new(hash: PreHash, permute: Permutation) -> Self {
                match hash { $(PreHash::$hash => Digester::$hash(Hash::begin(permute))),* }
            }
            fn update(&mut self, piece: &[u8]) {
                match self { $(Digester::$hash(state) => Hash::update(state, piece)),* }
            }
            fn hash(&self) -> PreHash {
                match self { $(Digester::$hash(_) => PreHash::$hash),* }
            }
            /// The digest, and zeros after it.
            fn finish(self) -> [u8; 64] {
                let mut out = [0; 64];
                let digest = &mut out[..self.hash().digest_bytes()];
                match self { $(Digester::$hash(state) => Hash::finish(state, digest)),* }
                out
            }
        }
    };
}
digester! {
    Sha2_224 sha2::Sha224,
    Sha2_256 sha2::Sha256,
    Sha2_384 sha2::Sha384,
    Sha2_512 sha2::Sha512,
    Sha2_512_224 sha2::Sha512_224,
    Sha2_512_256 sha2::Sha512_256,
    Sha3_224 Sponge<144, 0x06>,
    Sha3_256 Sponge<136, 0x06>,
    Sha3_384 Sponge<104, 0x06>,
    Sha3_512 Sponge<72, 0x06>,
    Shake128 Shake128,
    Shake256 Shake256,
}

/// The context of a signature (FIPS 204, section 5.2): at most 255 bytes, empty by default.
///
/// ```
/// use mldsa_lanes::Context;
///
/// const FIRMWARE: Context<'_> = match Context::new(b"firmware") {
///     Ok(context) => context,
///     Err(_) => panic!("more than 255 bytes"),
/// };
/// assert_eq!(FIRMWARE.as_bytes(), b"firmware");
/// assert!(Context::new(&[0; 256]).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context<'a>(&'a [u8]);

impl<'a> Context<'a> {
    /// No bytes.
    pub const EMPTY: Context<'static> = Context(&[]);

    /// Checks the length.
    ///
    /// # Errors
    /// [`Error::ContextTooLong`] for more than 255 bytes.
    pub const fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() > u8::MAX as usize {
            return Err(Error::ContextTooLong {
                actual: bytes.len(),
            });
        }
        Ok(Context(bytes))
    }

    /// The bytes.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

impl<'a> TryFrom<&'a [u8]> for Context<'a> {
    type Error = Error;
    fn try_from(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::new(bytes)
    }
}

/// What to sign or verify. A message, or a message with its [`Context`], converts into it:
///
/// ```
/// use mldsa_lanes::mldsa44::SigningKey;
/// use mldsa_lanes::{Context, Input, PreHash};
///
/// let key = SigningKey::from_seed(&[7; 32]);
/// let context = Context::new(b"log entry")?;
/// key.sign_deterministic(b"message")?; // the empty context
/// key.sign_deterministic((b"message", context))?;
/// let (message, hash) = (b"message", PreHash::Shake256);
/// key.sign_deterministic(Input::PreHash { hash, message, context })?;
/// # Ok::<(), mldsa_lanes::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// Pure ML-DSA.
    Pure {
        /// The message.
        message: &'a [u8],
        /// The context.
        context: Context<'a>,
    },
    /// HashML-DSA; the message is hashed here.
    PreHash {
        /// The hash function, fit for the parameter set.
        hash: PreHash,
        /// The message.
        message: &'a [u8],
        /// The context.
        context: Context<'a>,
    },
    /// HashML-DSA of a message that the caller has hashed.
    Digest {
        /// The hash function that made the digest, fit for the parameter set.
        hash: PreHash,
        /// Exactly [`PreHash::digest_bytes`] bytes.
        digest: &'a [u8],
        /// The context.
        context: Context<'a>,
    },
    /// [`Input::PreHash`] with a hash function of any strength.
    WeakPreHash {
        /// The hash function.
        hash: PreHash,
        /// The message.
        message: &'a [u8],
        /// The context.
        context: Context<'a>,
    },
    /// [`Input::Digest`] with a hash function of any strength.
    WeakDigest {
        /// The hash function that made the digest.
        hash: PreHash,
        /// Exactly [`PreHash::digest_bytes`] bytes.
        digest: &'a [u8],
        /// The context.
        context: Context<'a>,
    },
    /// μ of a message that came in pieces, by the key's own hasher
    /// ([`SigningKey::mu_hasher`](crate::SigningKey::mu_hasher)).
    Mu(&'a Mu),
}

/// Pure ML-DSA with the empty context: of bytes, text, vectors.
impl<'a, M: AsRef<[u8]> + ?Sized> From<&'a M> for Input<'a> {
    fn from(message: &'a M) -> Self {
        (message, Context::EMPTY).into()
    }
}

/// Pure ML-DSA.
impl<'a, M: AsRef<[u8]> + ?Sized> From<(&'a M, Context<'a>)> for Input<'a> {
    fn from((message, context): (&'a M, Context<'a>)) -> Self {
        let message = message.as_ref();
        Input::Pure { message, context }
    }
}

impl<'a> From<&'a Mu> for Input<'a> {
    fn from(mu: &'a Mu) -> Self {
        Input::Mu(mu)
    }
}

/// μ = H(tr ‖ M'), 64 bytes: the message representative that is signed. A [`MuHasher`] makes it for one
/// key; another key refuses it ([`Error::MuOfAnotherKey`]).
/// [`hazmat::external_mu`](crate::hazmat::external_mu) makes one of any bytes, for any key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mu {
    bytes: [u8; 64],
    /// tr of the key that it was made for.
    tr: Option<[u8; 64]>,
}

impl Mu {
    /// For any key.
    pub(crate) const fn unbound(bytes: [u8; 64]) -> Self {
        Mu { bytes, tr: None }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.bytes
    }

    /// Whether it was made for one key.
    pub(crate) fn is_bound(&self) -> bool {
        self.tr.is_some()
    }

    /// Refuses a key with another tr.
    pub(crate) fn check_key(&self, tr: &[u8; 64]) -> Result<(), Error> {
        if self.tr.is_some_and(|of| of != *tr) {
            return Err(Error::MuOfAnotherKey);
        }
        Ok(())
    }
}

/// μ itself, or its input M'.
pub(crate) enum MuSource<'a> {
    Known(&'a Mu),
    Hash(MPrime<'a>),
}

impl MuSource<'_> {
    /// [`Mu::check_key`].
    pub(crate) fn check_key(&self, tr: &[u8; 64]) -> Result<(), Error> {
        match self {
            MuSource::Known(mu) => mu.check_key(tr),
            MuSource::Hash(_) => Ok(()),
        }
    }

    /// μ = H(tr ‖ M'), whatever key it was made for.
    pub(crate) fn mu(&self, permute: Permutation, tr: &[u8; 64]) -> [u8; 64] {
        match self {
            MuSource::Known(mu) => mu.bytes,
            MuSource::Hash(m_prime) => m_prime.hash(permute, tr).read(),
        }
    }
}

/// M' in parts: domain ‖ |context| ‖ context ‖ the rest. Domain 0 is pure, 1 pre-hashed.
pub(crate) struct MPrime<'a> {
    start: [u8; 2],
    context: &'a [u8],
    oid: Option<[u8; 11]>,
    /// A digest computed here, its length, and the end as the caller gave it: one of the two.
    computed: ([u8; 64], usize),
    given: &'a [u8],
}

impl<'a> MPrime<'a> {
    fn new(Context(context): Context<'a>, hash: Option<PreHash>, given: &'a [u8]) -> Self {
        MPrime {
            // A `Context` has at most 255 bytes.
            start: [u8::from(hash.is_some()), context.len() as u8],
            context,
            oid: hash.map(PreHash::oid),
            computed: ([0; 64], 0),
            given,
        }
    }

    /// μ, of which the last permutation is still to come.
    pub(crate) fn hash(&self, permute: Permutation, tr: &[u8; 64]) -> Shake256Reader {
        let mut hash = Shake256::new(permute);
        for part in self.after(tr) {
            hash.update(part);
        }
        hash.finish()
    }

    /// tr ‖ M' in parts: the string whose hash is μ.
    pub(crate) fn after<'b>(&'b self, tr: &'b [u8; 64]) -> [&'b [u8]; 6] {
        [
            tr,
            &self.start,
            self.context,
            self.oid.as_ref().map_or(&[], |oid| oid),
            &self.computed.0[..self.computed.1],
            self.given,
        ]
    }
}

impl<'a> Input<'a> {
    /// What of μ does not depend on the key; hashes the message where that is to be done here.
    pub(crate) fn mu_source<P: Parameters>(
        &self,
        permute: Permutation,
    ) -> Result<MuSource<'a>, Error> {
        if let Input::PreHash { hash, .. } | Input::Digest { hash, .. } = self {
            hash.strong_enough::<P>()?;
        }
        Ok(MuSource::Hash(match *self {
            Input::Pure { message, context } => MPrime::new(context, None, message),
            Input::PreHash {
                hash,
                message,
                context,
            }
            | Input::WeakPreHash {
                hash,
                message,
                context,
            } => {
                let mut digester = Digester::new(hash, permute);
                digester.update(message);
                MPrime {
                    computed: (digester.finish(), hash.digest_bytes()),
                    ..MPrime::new(context, Some(hash), &[])
                }
            }
            Input::Digest {
                hash,
                digest,
                context,
            }
            | Input::WeakDigest {
                hash,
                digest,
                context,
            } => {
                if digest.len() != hash.digest_bytes() {
                    return Err(Error::DigestLength {
                        expected: hash.digest_bytes(),
                        actual: digest.len(),
                    });
                }
                MPrime::new(context, Some(hash), digest)
            }
            Input::Mu(mu) => return Ok(MuSource::Known(mu)),
        }))
    }
}

/// Computes μ of a message that arrives in pieces, for [`Input::Mu`]. Made by a key
/// ([`SigningKey::mu_hasher`](crate::SigningKey::mu_hasher) and
/// [`prehash_mu_hasher`](crate::SigningKey::prehash_mu_hasher)), or by
/// [`hazmat`](crate::hazmat) from tr alone. Its [`Mu`] is for that key.
#[derive(Clone)]
pub struct MuHasher {
    tr: [u8; 64],
    /// tr and the start of M'; of pure ML-DSA the message too.
    mu: Shake256,
    /// The message, of HashML-DSA.
    digester: Option<Digester>,
}

impl MuHasher {
    /// Of HashML-DSA for a key of `P`, which the hash function must be fit for.
    pub(crate) fn prehash<P: Parameters>(
        backend: Backend,
        tr: &[u8; 64],
        hash: PreHash,
        context: Context<'_>,
    ) -> Result<Self, Error> {
        hash.strong_enough::<P>()?;
        Ok(Self::new(backend, tr, Some(hash), context))
    }

    pub(crate) fn new(
        backend: Backend,
        tr: &[u8; 64],
        hash: Option<PreHash>,
        context: Context<'_>,
    ) -> Self {
        let permute = backend.permutation();
        let m_prime = MPrime::new(context, hash, &[]);
        let parts = m_prime.after(tr);
        MuHasher {
            tr: *tr,
            mu: parts
                .into_iter()
                .fold(Shake256::new(permute), Sponge::absorb),
            digester: hash.map(|hash| Digester::new(hash, permute)),
        }
    }

    /// M' itself is to come, as a whole or in pieces.
    pub(crate) fn of_m_prime(backend: Backend, tr: &[u8; 64]) -> Self {
        MuHasher {
            tr: *tr,
            mu: Shake256::new(backend.permutation()).absorb(tr),
            digester: None,
        }
    }

    /// The next piece of the message.
    pub fn update(&mut self, piece: &[u8]) {
        match &mut self.digester {
            Some(digester) => digester.update(piece),
            None => self.mu.update(piece),
        }
    }

    /// μ.
    pub fn finish(mut self) -> Mu {
        if let Some(digester) = self.digester {
            let len = digester.hash().digest_bytes();
            self.mu.update(&digester.finish()[..len]);
        }
        Mu {
            bytes: self.mu.finish().read(),
            tr: Some(self.tr),
        }
    }
}

impl fmt::Debug for MuHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MuHasher")
    }
}
