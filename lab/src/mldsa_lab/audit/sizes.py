"""The rule about sizes: which object, encoding and standard a number of bytes is.

FIPS 204: Table 2 (`mldsa_lab.sets` computes it). Dilithium, round 3 (specification of 2021-02-08,
Table 2): its private key has a tr of 32 bytes where FIPS 204 has 64, and its c_tilde has 32 bytes
in every set where FIPS 204 has lambda / 4. `mldsa_lab.sizes` has the encodings (RFC 9881).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from mldsa_lab.audit.claims import ClaimTable, Size
from mldsa_lab.audit.judgement import Judgement, Verdict, judgement
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.sizes import pkcs8_bytes, sizes

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

_ROUND3_TR, _FIPS204_TR, _ROUND3_C_TILDE = 32, 64, 32


_VERSIONS = {"fips204": "FIPS 204", "round3": "Dilithium, round 3"}
_NAMES = {"SPKI": "spki", "PKCS #8": "pkcs8-expanded"}
_ML_DSA_NAMES = {"PKCS #8, seed": "pkcs8-seed", "PKCS #8, both": "pkcs8-both"}


class Form(NamedTuple):
    """One size that an object can have."""

    set: str
    object: str
    standard: str
    encoding: str
    bytes: int

    @property
    def text(self) -> str:
        """The object of this size in words."""
        version = _VERSIONS.get(self.standard, self.standard)
        name = self.object.replace("-", " ")
        encoding = ENCODINGS.get(self.encoding, self.encoding)
        if self.set not in PARAMETER_SETS:
            encoding = encoding.removesuffix(" (RFC 9881)")
        return f"{encoding} of {self.set}'s {name} ({version})"


def forms(name: str) -> tuple[Form, ...]:
    """Every size that a key or signature of the set can have, the standard's bare bytes first. A
    size that varies is its mean rounded to either side, or the largest."""
    parameters = PARAMETER_SETS.get(name)
    names = _NAMES if parameters is None else _NAMES | _ML_DSA_NAMES
    known = [
        Form(
            name, s.object.replace(" ", "-"), "fips204" if parameters else s.source,
            names.get(s.encoding, s.encoding), n,
        )
        for s in sizes(name)
        for n in ({math.floor(s.mean), math.ceil(s.mean), s.bytes} if s.mean else {s.bytes})
    ]  # fmt: skip
    if parameters is not None:
        pk, sk = parameters.public_key_bytes, parameters.private_key_bytes
        signature = parameters.signature_bytes - parameters.c_tilde_bytes + _ROUND3_C_TILDE
        known += [
            Form(name, "private-key", "fips204", "pkcs8-bare", pkcs8_bytes(sk)),
            Form(name, "public-key", "round3", "raw", pk),
            Form(name, "private-key", "round3", "raw", sk - _FIPS204_TR + _ROUND3_TR),
            Form(name, "signature", "round3", "raw", signature),
        ]
    return tuple(known)


def judge_size(claim: Size, _: ClaimTable) -> Iterator[Judgement]:
    """`size.encoding`: one finding, which says what has this size: this object, that of another
    set, another object of this set, or any. A name with ML-DSA in it means FIPS 204."""
    mine = [f for f in forms(claim.set) if f.object == claim.object]
    standard, encoding = claim.standard, claim.encoding
    fips204 = claim.set in PARAMETER_SETS
    if standard == "unstated" and fips204 and "dsa" in claim.set.named.lower():
        standard = "fips204"
    stated = [
        f
        for f in mine
        if standard in ("unstated", f.standard) and encoding in ("unstated", f.encoding)
    ]
    expected = stated or mine
    every_size = sorted({f.bytes for f in expected})
    bare = list(dict.fromkeys(f.bytes for f in expected if f.encoding == "raw"))
    text = " or ".join(f"{size:,}" for size in bare or every_size) + " bytes"
    if bare and len(every_size) > len(bare):
        text += ", or an encoding's"
    every = [f for name in dict.fromkeys((*PARAMETER_SETS, claim.set)) for f in forms(name)]
    same = [f for f in every if f.object == claim.object]
    others = [f for f in every if f.set == claim.set]
    fitting = [f for f in (*stated, *mine, *same, *others, *every) if f.bytes == claim.bytes]
    verdict = Verdict.CONTRADICTION
    if not fitting:
        reading = "No encoding or version known to this audit has this size."
        if encoding == "unstated":
            verdict = Verdict.IMPLAUSIBLE
    else:
        reading = f"{fitting[0].text[0].upper()}{fitting[0].text[1:]}"
        if fitting[0] != mine[0]:
            whose = "FIPS 204's" if fips204 else "the"
            reading += f"; {whose} bare bytes are {mine[0].bytes:,}"
        reading += "."
        if fitting[0] in stated:
            verdict = Verdict.CONSISTENT
    yield judgement(
        "size.encoding", f"{claim.bytes:,} bytes", reading, verdict, stated=claim.bytes,
        low=every_size[0], high=every_size[-1], predicted=text,
    )  # fmt: skip
