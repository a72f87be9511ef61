//! The signed message: M' of FIPS 204, sections 5.2 to 5.4, and its hash μ.

use core::fmt;
use core::str::FromStr;

use crate::backend::Backend;
use crate::error::Error;
use crate::kernels::keccak::Permutation;
use crate::kernels::sponge::{Shake256, Shake256Reader};
use crate::params::Parameters;
#[cfg(feature = "prehash")]
use crate::scheme::prehash::Digester;

/// The hash functions approved for HashML-DSA (FIPS 204, section 5.4.1 with SP 800-57).
///
/// FIPS 204 asks for a collision strength of at least λ bits: 128, 192, 256 for ML-DSA-44, -65,
/// -87. A weaker one is refused, unless it is asked for by [`Input::WeakDigest`] or
/// `Input::WeakPreHash`.
///
/// [`Input::Digest`] takes a digest of any of them. With the feature `prehash` the library computes digests too.
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

/// The input of signing and verification. A message, or a message with its [`Context`], converts into it:
///
/// ```
/// use mldsa_lanes::mldsa44::SigningKey;
/// use mldsa_lanes::{Context, Input, PreHash};
///
/// let key = SigningKey::from_seed(&[7; 32]);
/// let context = Context::new(b"log entry")?;
/// key.sign_deterministic(b"message")?; // the empty context
/// key.sign_deterministic((b"message", context))?;
/// let (digest, hash) = (&[0x5a; 32], PreHash::Sha2_256); // computed elsewhere
/// key.sign_deterministic(Input::Digest { hash, digest, context })?;
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
    /// HashML-DSA; the library hashes the message. Needs the feature `prehash`.
    #[cfg(feature = "prehash")]
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
    /// `Input::PreHash` with a hash function of any strength. Needs the feature `prehash`.
    #[cfg(feature = "prehash")]
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
        if self.tr.is_some_and(|own| own != *tr) {
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
    /// The message or its digest: computed here, with its length, or `end` from the caller. The other is empty.
    computed: ([u8; 64], usize),
    end: &'a [u8],
}

impl<'a> MPrime<'a> {
    fn new(Context(context): Context<'a>, hash: Option<PreHash>, end: &'a [u8]) -> Self {
        MPrime {
            // A `Context` has at most 255 bytes.
            start: [u8::from(hash.is_some()), context.len() as u8],
            context,
            oid: hash.map(PreHash::oid),
            computed: ([0; 64], 0),
            end,
        }
    }

    /// Of HashML-DSA, for a message that is hashed here.
    #[cfg(feature = "prehash")]
    fn hashing(permute: Permutation, hash: PreHash, message: &[u8], context: Context<'a>) -> Self {
        let mut digester = Digester::new(hash, permute);
        digester.update(message);
        MPrime {
            computed: (digester.finish(), hash.digest_bytes()),
            ..MPrime::new(context, Some(hash), &[])
        }
    }

    /// Of HashML-DSA, for a message that the caller has hashed.
    fn of_digest(hash: PreHash, digest: &'a [u8], context: Context<'a>) -> Result<Self, Error> {
        if digest.len() != hash.digest_bytes() {
            return Err(Error::DigestLength {
                expected: hash.digest_bytes(),
                actual: digest.len(),
            });
        }
        Ok(MPrime::new(context, Some(hash), digest))
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
            self.end,
        ]
    }
}

impl<'a> Input<'a> {
    /// Return the part of μ's input that does not depend on the key. Hash the message if the library has to.
    #[cfg_attr(not(feature = "prehash"), allow(unused_variables))]
    pub(crate) fn mu_source<P: Parameters>(
        &self,
        permute: Permutation,
    ) -> Result<MuSource<'a>, Error> {
        Ok(MuSource::Hash(match *self {
            Input::Pure { message, context } => MPrime::new(context, None, message),
            #[cfg(feature = "prehash")]
            Input::PreHash {
                hash,
                message,
                context,
            } => {
                hash.strong_enough::<P>()?;
                MPrime::hashing(permute, hash, message, context)
            }
            #[cfg(feature = "prehash")]
            Input::WeakPreHash {
                hash,
                message,
                context,
            } => MPrime::hashing(permute, hash, message, context),
            Input::Digest {
                hash,
                digest,
                context,
            } => {
                hash.strong_enough::<P>()?;
                MPrime::of_digest(hash, digest, context)?
            }
            Input::WeakDigest {
                hash,
                digest,
                context,
            } => MPrime::of_digest(hash, digest, context)?,
            Input::Mu(mu) => return Ok(MuSource::Known(mu)),
        }))
    }
}

/// Computes μ of a message that arrives in pieces, for [`Input::Mu`]. Made by a key
/// ([`SigningKey::mu_hasher`](crate::SigningKey::mu_hasher) and `prehash_mu_hasher`), or by
/// [`hazmat`](crate::hazmat) from tr alone. Its [`Mu`] is for that key.
#[derive(Clone)]
pub struct MuHasher {
    tr: [u8; 64],
    /// tr and the start of M'; of pure ML-DSA the message too.
    mu: Shake256,
    /// The message, of HashML-DSA.
    #[cfg(feature = "prehash")]
    digester: Option<Digester>,
}

impl MuHasher {
    /// Of ML-DSA.
    pub(crate) fn pure(backend: Backend, tr: &[u8; 64], context: Context<'_>) -> Self {
        Self::of_m_prime(backend, tr).begin(&MPrime::new(context, None, &[]))
    }

    /// Of HashML-DSA, with a hash function of any strength.
    #[cfg(feature = "prehash")]
    pub(crate) fn weak_prehash(
        backend: Backend,
        tr: &[u8; 64],
        hash: PreHash,
        context: Context<'_>,
    ) -> Self {
        MuHasher {
            digester: Some(Digester::new(hash, backend.permutation())),
            ..Self::of_m_prime(backend, tr).begin(&MPrime::new(context, Some(hash), &[]))
        }
    }

    /// Of HashML-DSA for a key of `P`, which the hash function must be fit for.
    #[cfg(feature = "prehash")]
    pub(crate) fn prehash<P: Parameters>(
        backend: Backend,
        tr: &[u8; 64],
        hash: PreHash,
        context: Context<'_>,
    ) -> Result<Self, Error> {
        hash.strong_enough::<P>()?;
        Ok(Self::weak_prehash(backend, tr, hash, context))
    }

    /// M' itself is to come, as a whole or in pieces.
    pub(crate) fn of_m_prime(backend: Backend, tr: &[u8; 64]) -> Self {
        MuHasher {
            tr: *tr,
            mu: Shake256::new(backend.permutation()).absorb(tr),
            #[cfg(feature = "prehash")]
            digester: None,
        }
    }

    /// Absorbs the start of M'.
    fn begin(mut self, m_prime: &MPrime<'_>) -> Self {
        for part in &m_prime.after(&self.tr)[1..] {
            self.mu.update(part);
        }
        self
    }

    /// The next piece of the message.
    pub fn update(&mut self, piece: &[u8]) {
        #[cfg(feature = "prehash")]
        if let Some(digester) = &mut self.digester {
            digester.update(piece);
            return;
        }
        self.mu.update(piece);
    }

    /// μ.
    #[cfg_attr(not(feature = "prehash"), allow(unused_mut))]
    pub fn finish(mut self) -> Mu {
        #[cfg(feature = "prehash")]
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
