"""The rule about sizes: which object, encoding and standard a number of bytes is.

FIPS 204: Table 2 (`mldsa_lab.sets` computes it). Dilithium, round 3 (specification of 2021-02-08,
Table 2): its private key has a tr of 32 bytes where FIPS 204 has 64, and its c_tilde has 32 bytes
in every set where FIPS 204 has lambda / 4. `mldsa_lab.sizes` has the encodings (RFC 9881).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mldsa_lab.audit.claims import Size, Standard
from mldsa_lab.audit.verdict import Band, Judgement, Verdict
from mldsa_lab.sets import PARAMETER_SETS, SEED_BYTES, ParameterSet
from mldsa_lab.sizes import der, pkcs8_bytes, spki_bytes

ENCODINGS: dict[str, str] = {
    "raw": "the bare bytes",
    "seed": "the 32-byte seed xi",
    "spki": "a SubjectPublicKeyInfo (RFC 9881)",
    "pkcs8-seed": "a PKCS #8 key with the seed (RFC 9881)",
    "pkcs8-expanded": "a PKCS #8 key with the expanded key (RFC 9881)",
    "pkcs8-both": "a PKCS #8 key with seed and expanded key (RFC 9881)",
    "pkcs8-bare": "a PKCS #8 key with the expanded key in no tag of its own (before RFC 9881)",
}
"""Encodings by name, with what to call them."""

_ROUND3_TR = 32
_ROUND3_C_TILDE = 32
_FIPS204_TR = 64


@dataclass(frozen=True, slots=True)
class Form:
    """One size that an object can have."""

    set: str
    object: str
    standard: Standard
    encoding: str
    bytes: int

    @property
    def text(self) -> str:
        """What an object of this size is."""
        version = "FIPS 204" if self.standard == "fips204" else "Dilithium, round 3"
        return f"{ENCODINGS[self.encoding]} of {self.set}'s {_OBJECT[self.object]} ({version})"


_OBJECT = {"public-key": "public key", "private-key": "private key", "signature": "signature"}


def forms(name: str) -> tuple[Form, ...]:
    """Every size that a key or signature of the set can have, FIPS 204's bare bytes first."""
    c = PARAMETER_SETS[name]
    sk = c.private_key_bytes
    seed = der(SEED_BYTES)
    sizes: list[tuple[str, Standard, str, int]] = [
        ("public-key", "fips204", "raw", c.public_key_bytes),
        ("public-key", "fips204", "spki", spki_bytes(c.public_key_bytes)),
        ("public-key", "round3", "raw", c.public_key_bytes),
        ("private-key", "fips204", "raw", sk),
        ("private-key", "fips204", "seed", SEED_BYTES),
        ("private-key", "fips204", "pkcs8-seed", pkcs8_bytes(seed)),
        ("private-key", "fips204", "pkcs8-expanded", pkcs8_bytes(der(sk))),
        ("private-key", "fips204", "pkcs8-both", pkcs8_bytes(der(seed + der(sk)))),
        ("private-key", "fips204", "pkcs8-bare", pkcs8_bytes(sk)),
        ("private-key", "round3", "raw", _round3_private_key(c)),
        ("signature", "fips204", "raw", c.signature_bytes),
        ("signature", "round3", "raw", _round3_signature(c)),
    ]
    return tuple(Form(name, what, version, how, size) for what, version, how, size in sizes)


def _round3_private_key(c: ParameterSet) -> int:
    return c.private_key_bytes - _FIPS204_TR + _ROUND3_TR


def _round3_signature(c: ParameterSet) -> int:
    return c.signature_bytes - c.c_tilde_bytes + _ROUND3_C_TILDE


def judge_size(claim: Size) -> Iterator[Judgement]:
    """`size.encoding`: one finding, which says what has this size."""
    mine = [f for f in forms(claim.set) if f.object == claim.object]
    fitting = [f for f in mine if f.bytes == claim.bytes]
    agreeing = [f for f in fitting if _agrees(f, claim)]
    expected = [f for f in mine if _agrees(f, claim)] or mine
    sizes = sorted({f.bytes for f in expected})
    bare = list(dict.fromkeys(f.bytes for f in expected if f.encoding == "raw"))
    text = " or ".join(f"{size:,}" for size in bare or sizes) + " bytes"
    if bare and len(sizes) > len(bare):
        text += ", or an encoding's"
    predicted = Band(sizes[0], sizes[-1], text)
    verdict = Verdict.CONTRADICTION
    if agreeing:
        verdict, reading = Verdict.CONSISTENT, _sentence(agreeing, claim)
    elif found := next(iter([*fitting, *_elsewhere(claim)]), None):
        reading = f"The size of {found.text}."
    else:
        if claim.encoding == "unstated":
            verdict = Verdict.IMPLAUSIBLE
        reading = "No encoding or version known to this audit has this size."
    stated = f"{claim.bytes:,} bytes"
    yield Judgement("size.encoding", verdict, stated, predicted, reading, float(claim.bytes))


def _agrees(form: Form, claim: Size) -> bool:
    """Whether a form is what the source calls it. A name with ML-DSA in it means FIPS 204."""
    standard = claim.standard
    if standard == "unstated" and "dsa" in claim.set.named.lower():
        standard = "fips204"
    return standard in ("unstated", form.standard) and claim.encoding in ("unstated", form.encoding)


def _sentence(found: list[Form], claim: Size) -> str:
    """What has this size, and what follows for a reader."""
    versions = {f.standard for f in found}
    text = found[0].text[0].upper() + found[0].text[1:]
    if versions == {"fips204", "round3"}:
        return f"{text}, and the same in round 3."
    if versions == {"round3"}:
        own = next(f for f in forms(claim.set) if f.object == claim.object)
        return f"{text}; FIPS 204 has {own.bytes:,}. So this is not FIPS 204's {claim.set}."
    if found[0].encoding != "raw":
        own = next(f for f in forms(claim.set) if f.object == claim.object)
        return f"{text}; the bare bytes are {own.bytes:,}."
    return f"{text}."


def _elsewhere(claim: Size) -> list[Form]:
    """What else has this size: the same object of another set, another object of this set, or
    any."""
    others = [f for name in PARAMETER_SETS for f in forms(name) if f.bytes == claim.bytes]
    same = [f for f in others if f.object == claim.object]
    return [*same, *(f for f in others if f.set == claim.set), *others]
