"""Schemes, parameter sets, operations and sizes, and how an implementation describes itself.

Parameters and sizes of ML-DSA: FIPS 204, Tables 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, Self

from msgspec import Struct

from mldsa_lab import LabError, suggest
from mldsa_lab.files import Count, Positive

Q = 8380417
"""The modulus q."""
N = 256
"""Coefficients of a polynomial."""
D = 13
"""Bits dropped from t (FIPS 204 Table 1)."""

SEED_BYTES = 32
"""Bytes of xi and of rnd."""
CONTEXT_BYTES_MAX = 255
"""The longest context string, bytes."""

SIGNATURE_OPERATIONS = ("keygen", "sign", "verify")
"""The operations of a signature scheme that are timed."""
KEM_OPERATIONS = ("keygen", "encaps", "decaps")
"""The operations of a key encapsulation mechanism."""
HASH_OPERATIONS = ("hash",)
"""The operation of a hash function."""
TLS_OPERATIONS = ("handshake", "accept")
"""Those of TLS 1.3: what both sides compute, and of it what a server does until it has answered a
ClientHello."""
USUAL_OPERATIONS = tuple(
    dict.fromkeys((*SIGNATURE_OPERATIONS, *KEM_OPERATIONS, *HASH_OPERATIONS, *TLS_OPERATIONS))
)
"""The operations that are timed unless others are asked for."""
LOOKUP = "lookup"
"""Finding, by a set's name, the object by which its operations are called."""
OPERATIONS = (*USUAL_OPERATIONS, LOOKUP)
"""All operations that are timed, in the order they are shown."""
WORKER_OPERATIONS = (*OPERATIONS, "trace", "z_violation")
"""All operations that a worker may have."""
KEY_FORMS = ("compact", "expanded")
"""Forms of a key before the clock starts: its bytes, or with matrix and NTT forms cached."""
RND_FORMS = ("given", "zero", "none")
"""The `rnd` that a signer takes: any, only 32 zero bytes, or its own."""
MODES = ("single", "batch")
"""How operations are called: one by one, or by a batch interface."""
UNITS = ("ns", "cycles", "instructions")
"""Units of a worker's ticks."""
PERCENTILES: dict[str, int | float] = {"p50": 50, "p95": 95, "p99": 99, "p999": 99.9}
"""The percentiles of costs, by their names in rows of CSV and in files of studies."""
SHARES = tuple(round(p / 100, 9) for p in PERCENTILES.values())
"""`PERCENTILES` as shares."""
DEFAULT_BASELINE = "mldsa-native"
"""The baseline of ratios unless an option names another; a run without it has no ratios. Where both
builds are measured, a name without one means the default build."""
DEFAULT_BUILD, TUNED_BUILD = BUILDS = ("default", "tuned")
"""How a worker may be built: as a project that merely depends on a library gets it, or tuned."""


@dataclass(frozen=True, slots=True)
class ParameterSet:
    """One parameter set, with FIPS 204's names; `lam` is lambda, the bits of collision strength."""

    name: str
    tau: int
    lam: int
    gamma1: int
    gamma2: int
    k: int
    l: int  # noqa: E741 - FIPS 204's name
    eta: int
    omega: int

    @property
    def beta(self) -> int:
        """The bound tau * eta on the coefficients of c*s1 and c*s2."""
        return self.tau * self.eta

    @property
    def c_tilde_bytes(self) -> int:
        """Bytes of c_tilde, the first part of a signature."""
        return self.lam // 4

    @property
    def z_poly_bytes(self) -> int:
        """Bytes of one packed polynomial of z (BitPack with bounds gamma1 - 1, gamma1)."""
        return 32 * self.gamma1.bit_length()

    @property
    def z_bytes(self) -> int:
        """Bytes of the packed vector z."""
        return self.l * self.z_poly_bytes

    @property
    def hint_offset(self) -> int:
        """The byte at which a signature's hint begins: omega indices, then k counters."""
        return self.c_tilde_bytes + self.z_bytes

    @property
    def signature_bytes(self) -> int:
        """Bytes of a signature."""
        return self.hint_offset + self.omega + self.k

    @property
    def public_key_bytes(self) -> int:
        """Bytes of an encoded public key."""
        return 32 + 32 * self.k * (Q.bit_length() - D)

    @property
    def private_key_bytes(self) -> int:
        """Bytes of an encoded private key (skEncode)."""
        eta_bits = (2 * self.eta).bit_length()
        return 128 + 32 * ((self.k + self.l) * eta_bits + D * self.k)


ML_DSA_44 = ParameterSet("ML-DSA-44", 39, 128, 1 << 17, (Q - 1) // 88, 4, 4, 2, 80)
ML_DSA_65 = ParameterSet("ML-DSA-65", 49, 192, 1 << 19, (Q - 1) // 32, 6, 5, 4, 55)
ML_DSA_87 = ParameterSet("ML-DSA-87", 60, 256, 1 << 19, (Q - 1) // 32, 8, 7, 2, 75)

PARAMETER_SETS: dict[str, ParameterSet] = {p.name: p for p in (ML_DSA_44, ML_DSA_65, ML_DSA_87)}
"""The three sets by name."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """One scheme with its parameters: a set in files, commands and workers.

    ``public_key_bytes``, ``private_key_bytes``: encoded keys. ``output_bytes``: a signature, a
    KEM's ciphertext, a digest, or TLS's shared secret. ``seed_bytes``: the seed of key generation;
    ``has_seed``: a key follows from it. ``rnd_bytes``: the randomness that signing or encapsulation
    takes; 0 where it only draws its own. ``is_slow``: an operation takes up to seconds, so few
    inputs must do.
    """

    name: str
    family: str
    public_key_bytes: int
    private_key_bytes: int
    output_bytes: int
    seed_bytes: int = SEED_BYTES
    rnd_bytes: int = SEED_BYTES
    has_seed: bool = True
    is_slow: bool = False

    @property
    def traits(self) -> SchemeFamily:
        """The traits of its family."""
        return SCHEME_FAMILIES[self.family]


@dataclass(frozen=True, slots=True)
class SchemeFamily:
    """The traits that all sets of a family share.

    ``private_keys``: their forms on the protocol; without ``sk`` a worker makes keys from seeds and
    keeps them. ``plain_rnd``: the rnd that asks for deterministic signing. ``random``: operations
    whose cost differs from call to call by design where they draw their own randomness.
    """

    name: str
    title: str
    operations: tuple[str, ...] = SIGNATURE_OPERATIONS
    private_keys: tuple[str, ...] = ("seed", "sk")
    rnd_forms: tuple[str, ...] = RND_FORMS
    plain_rnd: bytes = bytes(SEED_BYTES)
    random: tuple[str, ...] = ()

    @property
    def name_in_text(self) -> str:
        """Its title within a sentence."""
        return self.title if self.title.isupper() else self.title.lower()

    @property
    def has_bytes(self) -> bool:
        """True if its keys are bytes on the protocol."""
        return "sk" in self.private_keys

    @property
    def has_keys(self) -> bool:
        """True if it has keys at all."""
        return bool(self.private_keys)

    @property
    def worker_operations(self) -> tuple[str, ...]:
        """All operations that a worker may announce for it."""
        references = WORKER_OPERATIONS[len(OPERATIONS) :] if self.name == "ml-dsa" else ()
        return (*self.operations, LOOKUP, *references)


SCHEME_FAMILIES: dict[str, SchemeFamily] = {
    f.name: f
    for f in (
        SchemeFamily("ml-dsa", "ML-DSA", random=("sign",)),
        SchemeFamily("classical", "Classical schemes", private_keys=("seed",)),
        # Deterministic signing takes PK.seed for opt_rand (FIPS 205 Algorithm 22): no rnd at all.
        SchemeFamily("slh-dsa", "SLH-DSA", plain_rnd=b""),
        # A seed is its generator's business, which every implementation has of its own.
        SchemeFamily(
            "fn-dsa", "FN-DSA", private_keys=("sk",), rnd_forms=("none",), random=("sign",)
        ),
        SchemeFamily(
            "hash",
            "Hash functions",
            operations=HASH_OPERATIONS,
            private_keys=(),
            rnd_forms=("none",),
        ),
        SchemeFamily("ml-kem", "ML-KEM", operations=KEM_OPERATIONS, rnd_forms=("given", "none")),
        # A server signs what contains random values of both sides.
        SchemeFamily(
            "tls",
            "TLS 1.3",
            operations=TLS_OPERATIONS,
            private_keys=(),
            rnd_forms=("none",),
            random=TLS_OPERATIONS,
        ),
    )
}
"""The families by name, in the order of a report."""
TLS_GROUPS = {"X25519": 0x001D, "X25519MLKEM768": 0x11EC}
"""Groups of key agreement of TLS 1.3 and their code points (IANA's registry)."""
FAMILIES = tuple(SCHEME_FAMILIES)


def _slh_dsa() -> Iterator[Scheme]:
    """Table 2 of FIPS 205: the security parameter n sizes keys and randomness, in bytes."""
    for level, n, small, fast in ((128, 16, 7856, 17088), (192, 24, 16224, 35664),
                                  (256, 32, 29792, 49856)):  # fmt: skip
        for hashing in ("SHA2", "SHAKE"):
            for kind, size in (("s", small), ("f", fast)):
                yield Scheme(
                    f"SLH-DSA-{hashing}-{level}{kind}", "slh-dsa", 2 * n, 4 * n, size,
                    seed_bytes=3 * n, rnd_bytes=n, is_slow=kind == "s",
                )  # fmt: skip


# Of classical schemes the shortest usual encoding: a compressed point, r and s, the modulus.
SCHEMES: dict[str, Scheme] = {
    s.name: s
    for s in (
        *(
            Scheme(p.name, "ml-dsa", p.public_key_bytes, p.private_key_bytes, p.signature_bytes)
            for p in PARAMETER_SETS.values()
        ),
        Scheme("Ed25519", "classical", 32, 32, 64),
        Scheme("ECDSA-P256", "classical", 33, 32, 64),
        Scheme("ECDSA-secp256k1", "classical", 33, 32, 64),
        Scheme("Schnorr-secp256k1", "classical", 32, 32, 64),
        Scheme("RSA-2048-PSS", "classical", 256, 256, 256, has_seed=False),
        Scheme("RSA-3072-PSS", "classical", 384, 384, 384, has_seed=False),
        *_slh_dsa(),
        # FIPS 206 is a draft: sizes by the crate fn-dsa 0.4.
        Scheme("FN-DSA-512", "fn-dsa", 897, 1345, 666, rnd_bytes=0),
        Scheme("FN-DSA-1024", "fn-dsa", 1793, 2369, 1280, rnd_bytes=0),
        Scheme("SHA3-256", "hash", 0, 0, 32, seed_bytes=0, rnd_bytes=0),
        # FIPS 203 Table 3; the seed is d and z, rnd is m.
        Scheme("ML-KEM-512", "ml-kem", 800, 1632, 768, seed_bytes=64),
        Scheme("ML-KEM-768", "ml-kem", 1184, 2400, 1088, seed_bytes=64),
        Scheme("ML-KEM-1024", "ml-kem", 1568, 3168, 1568, seed_bytes=64),
        # Key agreement, then the algorithm of all certificates.
        *(
            Scheme(f"TLS-{group}-{key}", "tls", 0, 0, 6, seed_bytes=0, rnd_bytes=0)
            for group in TLS_GROUPS
            for key in ("ECDSA-P256", *PARAMETER_SETS)
        ),
    )
}
"""Every scheme by name, family after family."""
ALL_SETS = tuple(SCHEMES)
"""Every name that `set` may have in a record or on the protocol."""
SECRET_BYTES = 32
"""Bytes of the secret that a KEM shares."""


def list_sets(family: str) -> tuple[str, ...]:
    """The names of a family's sets."""
    return tuple(s.name for s in SCHEMES.values() if s.family == family)


CLASSICAL_SETS = list_sets("classical")
"""Classical references, outside the ML-DSA gate."""


def build_mark(build: str | None) -> str:
    """Return the suffix of a build in a worker's name and its variants' ids: none for the default
    build or the only one."""
    return "" if build in (None, DEFAULT_BUILD) else f":{build}"


# Literals that msgspec checks; to the type checker they are texts, as most come from variables.
if TYPE_CHECKING:
    SetName = str
    Operation = str
    WorkerOperation = str
    Unit = str
    KeyForm = str
    BuildName = str
    Family = str
    Rnd = str
    Mode = str
else:
    SetName = Literal[ALL_SETS]
    Operation = Literal[OPERATIONS]
    WorkerOperation = Literal[WORKER_OPERATIONS]
    Unit = Literal[UNITS]
    KeyForm = Literal[KEY_FORMS]
    BuildName = Literal[BUILDS]
    Family = Literal[FAMILIES]
    Rnd = Literal[RND_FORMS]
    Mode = Literal[MODES]


def parameter_set(name: str) -> ParameterSet:
    """The ML-DSA set called `name` ("ML-DSA-65"); LabError if there is none."""
    try:
        return PARAMETER_SETS[name]
    except KeyError:
        known = ", ".join(PARAMETER_SETS)
        raise LabError(f"unknown parameter set {name!r}: known are {known}") from None


def parse_set_names(words: Iterable[str], *, is_ml_dsa_only: bool = False) -> tuple[str, ...]:
    """Return full set names, in canonical order, from names as typed.

    Takes full names in any case, `44 65 87` and `ml-dsa` (the three). Unless ``is_ml_dsa_only``
    also every other name, each family's, and `all`. A word may have several, separated by commas.
    LabError names the first unknown word.
    """
    aliases: dict[str, tuple[str, ...]] = {
        name.removeprefix("ML-DSA-"): (name,) for name in PARAMETER_SETS
    }
    aliases |= {
        family: list_sets(family) for family in (("ml-dsa",) if is_ml_dsa_only else FAMILIES)
    }
    if not is_ml_dsa_only:
        aliases["all"] = ALL_SETS
    full = tuple(PARAMETER_SETS) if is_ml_dsa_only else ALL_SETS
    known = ", ".join((*aliases, *full))
    aliases |= {name.lower(): (name,) for name in full}
    chosen: set[str] = set()
    for word in (part for text in words for part in text.split(",")):
        names = aliases.get(word.strip().lower())
        if names is None:
            hint = suggest(word.strip(), full) or f": known are {known}"
            raise LabError(f"unknown parameter set {word.strip()!r}{hint}")
        chosen.update(names)
    return tuple(name for name in ALL_SETS if name in chosen)


# Bytes of keys, signatures and ciphertexts of every scheme, bare and in their usual encodings.


OBJECTS = ("public key", "private key", "signature", "ciphertext")
PUBLIC, PRIVATE, SIGNATURE, CIPHERTEXT = OBJECTS


@dataclass(frozen=True, slots=True)
class ObjectSize:
    """Largest bytes of an object in an encoding. ``mean``: where sizes vary. ``usual``: the range
    of 95 in 100, where the distribution is unknown. ``source``: the document of the size."""

    object: str
    encoding: str
    bytes: int
    source: str
    mean: float | None = None
    usual: tuple[int, int] | None = None


# Tag and length of an OBJECT IDENTIFIER, and its bytes: nine for NIST's algorithms, three for
# Ed25519, seven for ecPublicKey, nine for rsaEncryption. Curves have eight and five.
NIST_OID = 2 + 9
_ED25519_OID, _EC_OID, _RSA_OID = 2 + 3, 2 + 7, 2 + 9
_NULL = 2
# INTEGER 0, the version of a PKCS #8 key.
_VERSION = 3

CURVES = {
    "ECDSA-P256": (2 + 8, 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551),
    "ECDSA-secp256k1": (2 + 5, 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141),
}
"""Of each curve the bytes of its name, and the order of its group."""
# The most bytes of a compressed signature, as Falcon's reference code reserves them. Mean and range
# of 95 in 100 are of 400 signatures of @noble/post-quantum 0.7.1; the tests compare others with it.
# Falcon's authors gave 651.59 and 1261.06 in 2019, for a version before round 3's last.
_FALCON = {"FN-DSA-512": (752, 655.1, (651, 659)), "FN-DSA-1024": (1462, 1270.7, (1265, 1276))}
NOT_PADDED = "not padded"
"""The encoding of FN-DSA's signatures without the zero bytes that give them one length."""


def der(content: int) -> int:
    """Return the bytes of a DER value with one tag byte around ``content`` bytes (X.690, 8.1.3).

    The length takes one byte below 128, else one and the bytes of its number.
    """
    length = 1 if content < 0x80 else 1 + (content.bit_length() + 7) // 8
    return 1 + length + content


def spki_bytes(public_key: int, identifiers: int = NIST_OID) -> int:
    """A SubjectPublicKeyInfo: the algorithm, a SEQUENCE of ``identifiers``, and a BIT STRING with
    its byte of unused bits."""
    return der(der(identifiers) + der(1 + public_key))


def pkcs8_bytes(private_key: int, identifiers: int = NIST_OID) -> int:
    """A PKCS #8 key: version, algorithm, and an OCTET STRING around the ``private_key`` bytes."""
    return der(_VERSION + der(identifiers) + der(private_key))


def algorithm_bytes(name: str) -> int | None:
    """The AlgorithmIdentifier of a scheme's signatures in certificates and messages: that of RSA is
    sha256WithRSAEncryption with its NULL, of ECDSA ecdsa-with-SHA256 (RFC 5758). None where there
    is none yet."""
    if name in CURVES:
        return der(2 + 8)
    if name.startswith("RSA"):
        return der(_RSA_OID + _NULL)
    if name == "Ed25519":
        return der(_ED25519_OID)
    return der(NIST_OID) if SCHEMES[name].family in ("ml-dsa", "slh-dsa") else None


def ecdsa_der_law(order: int, *, is_low: bool = False) -> dict[int, float]:
    """Return the distribution of the bytes of an ECDSA signature in DER (RFC 3279).

    It is a SEQUENCE of two INTEGERs that are uniform below ``order``, each one byte longer where
    its top bit is set. ``is_low``: s is at most half the order, as in libsecp256k1.
    """
    r, s = _integer_law(order), _integer_law(order // 2 + 1 if is_low else order)
    law: dict[int, float] = {}
    for one, p in r.items():
        for other, q in s.items():
            size = der(der(one) + der(other))
            law[size] = law.get(size, 0.0) + p * q
    return dict(sorted(law.items()))


def _integer_law(limit: int) -> dict[int, float]:
    """The law of the bytes that an INTEGER uniform in [1, limit) has as its content."""
    reached = [min(1 << (8 * size - 1), limit) - 1 for size in range(1, 34)]
    shares = (b - a for a, b in zip((0, *reached), reached, strict=False))
    return {size: share / (limit - 1) for size, share in enumerate(shares, 1) if share}


@cache
def sizes(name: str) -> tuple[ObjectSize, ...]:
    """Return the sizes of the objects of a set, each first as bare bytes; none without keys."""
    scheme = SCHEMES[name]
    if not scheme.traits.has_keys:
        return ()
    return tuple(_classical(scheme) if scheme.family == "classical" else _post_quantum(scheme))


def raw_bytes(name: str, what: str) -> int | None:
    """Return the bare bytes of an object of a set; None where it has no such object."""
    own = (size.bytes for size in sizes(name) if (size.object, size.encoding) == (what, "raw"))
    return next(own, None)


def _post_quantum(s: Scheme) -> Iterator[ObjectSize]:
    bare = {"ml-dsa": "FIPS 204", "slh-dsa": "FIPS 205", "ml-kem": "FIPS 203"}.get(s.family)
    rfc = {"ml-dsa": "RFC 9881", "slh-dsa": "RFC 9909", "ml-kem": "RFC 9935"}.get(s.family, "")
    source = bare or "draft of FIPS 206"
    pk, sk = s.public_key_bytes, s.private_key_bytes
    yield ObjectSize(PUBLIC, "raw", pk, source)
    if rfc:
        yield ObjectSize(PUBLIC, "SPKI", spki_bytes(pk), rfc)
    yield ObjectSize(PRIVATE, "raw", sk, source)
    if s.family == "slh-dsa":
        yield ObjectSize(PRIVATE, "PKCS #8", pkcs8_bytes(sk), rfc)
    elif rfc:
        seed = der(s.seed_bytes)
        yield ObjectSize(PRIVATE, "seed", s.seed_bytes, source)
        yield ObjectSize(PRIVATE, "PKCS #8, seed", pkcs8_bytes(seed), rfc)
        yield ObjectSize(PRIVATE, "PKCS #8", pkcs8_bytes(der(sk)), rfc)
        yield ObjectSize(PRIVATE, "PKCS #8, both", pkcs8_bytes(der(seed + der(sk))), rfc)
    kind = CIPHERTEXT if "encaps" in s.traits.operations else SIGNATURE
    yield ObjectSize(kind, "raw", s.output_bytes, source)
    if s.name in _FALCON:
        most, mean, usual = _FALCON[s.name]
        yield ObjectSize(SIGNATURE, NOT_PADDED, most, "Falcon, round 3", mean, usual)


def _classical(s: Scheme) -> Iterator[ObjectSize]:
    if s.name == "Ed25519":
        yield ObjectSize(PUBLIC, "raw", 32, "RFC 8032")
        yield ObjectSize(PUBLIC, "SPKI", spki_bytes(32, _ED25519_OID), "RFC 8410")
        yield ObjectSize(PRIVATE, "raw", 32, "RFC 8032")
        yield ObjectSize(PRIVATE, "PKCS #8", pkcs8_bytes(der(32), _ED25519_OID), "RFC 8410")
        yield ObjectSize(SIGNATURE, "raw", 64, "RFC 8032")
    elif s.name == "Schnorr-secp256k1":
        yield ObjectSize(PUBLIC, "raw", s.public_key_bytes, "BIP 340")
        yield ObjectSize(PRIVATE, "raw", s.private_key_bytes, "BIP 340")
        yield ObjectSize(SIGNATURE, "raw", s.output_bytes, "BIP 340")
    elif s.name in CURVES:
        curve, order = CURVES[s.name]
        point, identifiers = 65, _EC_OID + curve
        inside = der(3 + der(32) + der(der(1 + point)))  # RFC 5915, the curve left out
        law = ecdsa_der_law(order)
        mean = sum(size * share for size, share in law.items())
        yield ObjectSize(PUBLIC, "raw", s.public_key_bytes, "SEC 1, compressed")
        yield ObjectSize(PUBLIC, "SPKI", spki_bytes(point, identifiers), "RFC 5480")
        yield ObjectSize(PRIVATE, "raw", s.private_key_bytes, "SEC 1")
        yield ObjectSize(PRIVATE, "PKCS #8", pkcs8_bytes(inside, identifiers), "RFC 5915")
        yield ObjectSize(SIGNATURE, "raw", s.output_bytes, "IEEE P1363")
        yield ObjectSize(SIGNATURE, "DER", max(law), "RFC 3279", mean)
    else:
        size = s.public_key_bytes
        whole, half, exponent = der(size + 1), der(size // 2 + 1), der(3)
        public = der(whole + exponent)
        private = der(_VERSION + 2 * whole + exponent + 5 * half)
        identifiers = _RSA_OID + _NULL
        yield ObjectSize(PUBLIC, "raw", size, "the modulus")
        yield ObjectSize(PUBLIC, "SPKI", spki_bytes(public, identifiers), "RFC 8017")
        yield ObjectSize(PRIVATE, "raw", s.private_key_bytes, "the private exponent")
        yield ObjectSize(PRIVATE, "PKCS #8", pkcs8_bytes(private, identifiers), "RFC 8017, at most")
        yield ObjectSize(SIGNATURE, "raw", s.output_bytes, "RFC 8017")


# Implementations, as in announcements of workers and in records.


class Implementation(Struct, frozen=True, forbid_unknown_fields=True):
    """Fields that both have. ``id``: the `announced_id`, and in a record build and runs too."""

    id: str
    implementation: str
    version: str
    backend: str
    key: KeyForm
    family: Family
    sets: tuple[SetName, ...]
    operations: tuple[WorkerOperation, ...]
    rnd: Rnd
    context: bool
    mode: Mode = "single"
    batch_size: Positive = 1
    threads: Positive = 1
    note: str = ""

    @property
    def announced_id(self) -> str:
        """The id by which its worker knows it, the same in every build."""
        return f"{self.implementation}:{self.backend}:{self.key}"

    @property
    def deterministic(self) -> bool:
        """True if it can sign deterministically (with rnd of 32 zero bytes)."""
        return self.rnd != "none"


class Check(Struct, frozen=True, forbid_unknown_fields=True):
    """One named check of the correctness gate."""

    check: str
    cases: Count
    failed: Count
    first_failure: str | None
    """Without cases the reason why the check does not apply."""

    @classmethod
    def from_failures(cls, name: str, cases: int, wrong: Sequence[str]) -> Self:
        """A check with a text for each case that failed."""
        return cls(name, cases, len(wrong), wrong[0] if wrong else None)

    def __post_init__(self) -> None:
        if self.failed > self.cases:
            raise LabError("failed must not be above cases")
