"""What keys, signatures and ciphertexts of every scheme weigh, bare and in their usual encodings.

The bare sizes are those of `mldsa_lab.sets`. Around them: RFC 5280 (SubjectPublicKeyInfo) and
RFC 5958 (PKCS #8), with what each scheme puts inside by RFC 9881 (ML-DSA), RFC 9935 (ML-KEM),
RFC 9909 (SLH-DSA), RFC 8410 (Ed25519), RFC 5480 and 5915 (ECDSA) and RFC 8017 (RSA). FN-DSA has no
encoding yet, its standard being a draft; without padding its signatures are those of Falcon as
submitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from mldsa_lab.sets import SCHEMES, Scheme

OBJECTS = ("public key", "private key", "signature", "ciphertext")
PUBLIC, PRIVATE, SIGNATURE, CIPHERTEXT = OBJECTS


@dataclass(frozen=True, slots=True)
class ObjectSize:
    """Bytes of an object in an encoding: the most, and ``mean``, another number where sizes vary,
    with the least and most that 95 in 100 have (``usual``) where no law is known.

    ``source``: the text that says so.
    """

    object: str
    encoding: str
    bytes: int
    source: str
    mean: float | None = None
    usual: tuple[int, int] | None = None


# Tag and length of an OBJECT IDENTIFIER, and its bytes: of NIST's algorithms nine, of Ed25519
# three, of ecPublicKey seven, of rsaEncryption nine; of the curves eight and five.
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
# The most bytes of a compressed signature, as Falcon's reference code reserves them; the mean and
# what 95 in 100 have, of 400 signatures of @noble/post-quantum 0.7.1, with which the tests compare
# others. Falcon's authors gave 651.59 and 1261.06 in 2019, of a version before round 3's last.
_FALCON = {"FN-DSA-512": (752, 655.1, (651, 659)), "FN-DSA-1024": (1462, 1270.7, (1265, 1276))}
NOT_PADDED = "not padded"
"""The encoding of FN-DSA's signatures without the zero bytes that give them one length."""


def der(content: int) -> int:
    """Bytes of a DER value of one tag byte around ``content`` bytes (X.690, 8.1.3): the length
    takes one byte below 128, else one and as many as its number has."""
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


def ecdsa_der_law(order: int, *, low: bool = False) -> dict[int, float]:
    """The law of the bytes of an ECDSA signature in DER (RFC 3279): a SEQUENCE of two INTEGERs
    that are uniform below ``order``, each one byte longer where its top bit is set. ``low``: s is
    at most half the order, as libsecp256k1 makes it."""
    r, s = _integer_law(order), _integer_law(order // 2 + 1 if low else order)
    found: dict[int, float] = {}
    for one, p in r.items():
        for other, q in s.items():
            size = der(der(one) + der(other))
            found[size] = found.get(size, 0.0) + p * q
    return dict(sorted(found.items()))


def _integer_law(limit: int) -> dict[int, float]:
    """The law of the bytes that an INTEGER uniform in [1, limit) has as its content."""
    reached = [min(1 << (8 * size - 1), limit) - 1 for size in range(1, 34)]
    shares = (b - a for a, b in zip((0, *reached), reached, strict=False))
    return {size: share / (limit - 1) for size, share in enumerate(shares, 1) if share}


@cache
def sizes(name: str) -> tuple[ObjectSize, ...]:
    """What the objects of a set weigh, each first as bare bytes; none without keys."""
    scheme = SCHEMES[name]
    if not scheme.traits.keyed:
        return ()
    return tuple(_classical(scheme) if scheme.family == "classical" else _post_quantum(scheme))


def raw_bytes(name: str, what: str) -> int | None:
    """What an object of a set weighs as bare bytes; None where it has no such object."""
    found = (size.bytes for size in sizes(name) if (size.object, size.encoding) == (what, "raw"))
    return next(found, None)


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
