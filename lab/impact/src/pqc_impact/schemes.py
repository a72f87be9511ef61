"""Schemes as scenarios name them: those of the lab, and hybrids by concatenation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from mldsa_lab.sets import (
    CURVES,
    NOT_PADDED,
    PARAMETER_SETS,
    PUBLIC,
    SCHEMES,
    SIGNATURE,
    algorithm_bytes,
    ecdsa_der_law,
    list_sets,
    sizes,
)

SIGNERS = tuple(s.name for s in SCHEMES.values() if "sign" in s.traits.operations)
"""The signature schemes of the lab."""
KNOWN = (
    f"known are {', '.join(SIGNERS)}; ' DER' behind ECDSA's names for that encoding, ' unpadded' "
    "behind FN-DSA's, a plus between the parts of a hybrid"
)
"""The names of schemes, for errors."""
DER, UNPADDED = " DER", " unpadded"
"""Behind the name of a scheme: ECDSA's signatures in that encoding, FN-DSA's without padding."""


@dataclass(frozen=True, slots=True)
class ImpactScheme:
    """A scheme: its keys; the mean of its signatures and their usual most and least, which
    differ where an encoding's length does; bytes. ``parts``: the names of what a hybrid is of, and
    ``forms``, the same with the encoding of their signatures."""

    name: str
    public_key_bytes: float
    private_key_bytes: float
    signature_bytes: tuple[float, float, float]
    parts: tuple[str, ...]
    forms: tuple[str, ...]
    source: str

    def names(self, extreme: int) -> dict[str, float]:
        """Return the sizes that expressions may name. A signature whose length varies has its mean,
        or with ``extreme`` -1 and 1 its usual least and most."""
        result = {
            "signature": self.signature_bytes[extreme],
            "public_key": float(self.public_key_bytes),
        }
        if self.name in SIGNERS:
            result["signature_der"] = signature_der(self.name)[extreme]
            if (algorithm := algorithm_bytes(self.name)) is not None:
                result["algorithm"] = algorithm
            for size in sizes(self.name):
                if (size.object, size.encoding) == (PUBLIC, "SPKI"):
                    result["spki"] = size.bytes
        return result


_IGNORED = str.maketrans("", "", "-_ ")


def _folded(name: str) -> str:
    return name.translate(_IGNORED).casefold()


_USUAL = (
    {_folded(name): name for name in SIGNERS}
    | {f"dilithium{n}": name for n, name in zip((2, 3, 5), PARAMETER_SETS, strict=True)}
    | {name.replace("FN-DSA-", "falcon"): name for name in list_sets("fn-dsa")}
    | {
        f"{start}{_folded(name.removeprefix(removed))}": name
        for name in list_sets("slh-dsa")
        for removed in ("SLH-DSA-SHA2-", "SLH-DSA-")
        for start in ("slhdsa", "sphincs")
        if name.startswith(removed)
    }
)
"""The schemes by their usual names, folded: SLH-DSA and SPHINCS+ without a hash function take
SHA2."""


def lab_name(name: str) -> str:
    """Return the lab's name for a usual name of a scheme or hybrid, such as Falcon-512. An unknown
    name stays as it is."""
    parts = [part.strip() for part in re.sub(r"(?i)(sphincs)\+", r"\1", name).split("+")]
    bases = [base_of(part) for part in parts]
    if unknown_parts(name) and all(_folded(base) in _USUAL for base in bases):
        pairs = zip(parts, bases, strict=True)
        return "+".join(_USUAL[_folded(base)] + part.removeprefix(base) for part, base in pairs)
    return name


def unknown_parts(name: str) -> list[str]:
    """Return the parts of a name that are no scheme of the lab."""
    return [part for part in map(str.strip, name.split("+")) if base_of(part) not in SIGNERS]


@cache
def scheme_of(name: str) -> ImpactScheme:
    """A scheme by name, a hybrid by its parts' with a plus. ValueError for an unknown one."""
    parts = tuple(part.strip() for part in name.split("+"))
    known = [_single(part) for part in parts]
    return ImpactScheme(
        name,
        sum(s.public_key_bytes for s in known),
        sum(s.private_key_bytes for s in known),
        tuple(sum(s.signature_bytes[i] for s in known) for i in range(3)),  # type: ignore[arg-type]
        tuple(part for s in known for part in s.parts),
        tuple(form for s in known for form in s.forms),
        "; ".join(dict.fromkeys(s.source for s in known)),
    )


def _single(name: str) -> ImpactScheme:
    base = base_of(name)
    if name.endswith(DER) and base not in CURVES:
        raise ValueError(f"scheme {name!r}: only {' and '.join(CURVES)} have a DER encoding")
    if base not in SIGNERS:
        raise ValueError(f"scheme {name!r} is unknown: {KNOWN}")
    known_sizes = {(result.object, result.encoding): result for result in sizes(base)}
    public, signature = known_sizes[PUBLIC, "raw"], known_sizes[SIGNATURE, "raw"]
    most = float(signature.bytes)
    lengths, source = (most, most, most), signature.source
    if name.endswith(DER):
        lengths, source = _usual_der(CURVES[base][1], is_low=True), "BIP 146"
    elif name.endswith(UNPADDED):
        varied = known_sizes.get((SIGNATURE, NOT_PADDED))
        if varied is None or varied.mean is None or varied.usual is None:
            raise ValueError(f"scheme {name!r}: only FN-DSA's signatures are padded")
        least, usual = varied.usual
        lengths, source = (varied.mean, float(usual), float(least)), varied.source
    texts = dict.fromkeys((public.source, source))
    private = SCHEMES[base].private_key_bytes
    return ImpactScheme(name, public.bytes, private, lengths, (base,), (name,), ", ".join(texts))


def base_of(name: str) -> str:
    """A scheme's name without the encoding of its signatures."""
    return name.removesuffix(DER).removesuffix(UNPADDED)


def signature_der(name: str) -> tuple[float, float, float]:
    """Signatures of a scheme as X.509 and TLS have them: ECDSA's in DER, the others bare."""
    if name in CURVES:
        return _usual_der(CURVES[name][1], is_low=False)
    return scheme_of(name).signature_bytes


def _usual_der(order: int, *, is_low: bool) -> tuple[float, float, float]:
    """The mean of a signature, with the lower s or any, and its usual most and least."""
    law = ecdsa_der_law(order, is_low=is_low)
    usual = [size for size, share in law.items() if share > 0.025]
    return sum(n * share for n, share in law.items()), float(max(usual)), float(min(usual))
