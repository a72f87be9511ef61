"""How far real signatures and public keys can be compressed: measured, not assumed."""

from __future__ import annotations

import hashlib
import lzma
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mldsa_lab.bench.signatures import SampleSignature, draw_signatures
from mldsa_lab.errors import LabError
from mldsa_lab.sets import ML_DSA_44, N, ParameterSet, Q
from mldsa_lab.sizes import CURVES
from mldsa_lab.theory.arrays import Ints
from pqc_impact.schemes import DER, UNPADDED, base_of

SAMPLES = 200
"""Signatures and keys that are compressed."""
_EXPANDED_SAMPLES = 50  # of 20,512 bytes each
EXPANDED_SETS = {ML_DSA_44.name: ML_DSA_44}
"""The sets whose expanded keys EIP-8051 (draft) has."""


@cache
def _zstd() -> Any:
    from pyarrow import Codec

    return Codec("zstd", compression_level=19)


METHODS: dict[str, Callable[[bytes], bytes]] = {
    "zlib -9": lambda data: zlib.compress(data, 9),
    "xz -9e": lambda data: lzma.compress(data, preset=9 | lzma.PRESET_EXTREME),
    "zstd -19": lambda data: _zstd().compress(data, asbytes=True),
}
"""What compresses, each in its strongest setting."""


@dataclass(frozen=True)
class Compressed:
    """Compressed bytes over bytes, of signatures, of public keys and of those as EIP-8051 expands
    them (None where it does not), by the method that does best; each at most 1, since what does not
    shrink is stored as it is. ``why``: if not measured."""

    signatures: float = 1.0
    keys: float = 1.0
    expanded: float | None = None
    source: str = ""
    why: str = ""


def measure(made: Sequence[SampleSignature], expanded: ParameterSet | None = None) -> Compressed:
    """Of these signatures and keys, all behind each other as in a block; with a set, of some of its
    keys ``expanded`` too."""
    found = {}
    joined = {
        "signatures": b"".join(one.signature for one in made),
        "keys": b"".join(one.public_key for one in made),
    }
    if expanded is not None:
        some = made[:_EXPANDED_SAMPLES]
        joined["expanded keys"] = b"".join(
            expand_public_key(one.public_key, expanded) for one in some
        )
    for what, data in joined.items():
        sizes = {name: len(shrink(data)) / len(data) for name, shrink in METHODS.items()}
        best = min(sizes, key=lambda name: sizes[name])
        found[what] = (min(sizes[best], 1.0), best)
    source = f"{len(made)} real ones: " + ", ".join(
        f"{what} to {ratio:.2%} by {best}" if ratio < 1 else f"{what} do not shrink"
        for what, (ratio, best) in found.items()
    )
    ratios = {what: ratio for what, (ratio, _) in found.items()}
    return Compressed(ratios["signatures"], ratios["keys"], ratios.get("expanded keys"), source)


def compressibility(forms: Iterable[str]) -> dict[str, Compressed]:
    """Of schemes with the encoding of their signatures."""
    made: dict[str, list[SampleSignature] | str] = {}
    found = {}
    for form in dict.fromkeys(forms):
        base = base_of(form)
        if base not in made:
            try:
                made[base] = draw_signatures(base, _seed(base), SAMPLES)
            except LabError as error:
                made[base] = f"compressibility not measured: {error}"
        these = made[base]
        found[form] = (
            Compressed(why=these)
            if isinstance(these, str)
            else measure([_encoded(form, one) for one in these], EXPANDED_SETS.get(base))
        )
    return found


def _encoded(form: str, made: SampleSignature) -> SampleSignature:
    """A bare signature in the encoding that the name has behind it."""
    if form.endswith(DER):
        order = CURVES[base_of(form)][1]
        r, s = (int.from_bytes(half, "big") for half in (made.signature[:32], made.signature[32:]))
        integers = b"".join(_der(2, n.to_bytes(n.bit_length() // 8 + 1, "big"))
                            for n in (r, min(s, order - s)))  # fmt: skip
        return made._replace(signature=_der(0x30, integers))
    if form.endswith(UNPADDED):
        return made._replace(signature=made.signature.rstrip(bytes(1)))
    return made


def _der(tag: int, content: bytes) -> bytes:
    """A DER value of fewer than 128 bytes."""
    return bytes([tag, len(content)]) + content


def expand_public_key(pk: bytes, of: ParameterSet) -> bytes:
    """A public key as EIP-8051 (draft) takes it: Â, tr, and t1 in NTT form, a coefficient in four
    bytes; of ML-DSA-44 20,512 bytes."""
    rho, packed = pk[:32], np.frombuffer(pk, np.uint8, offset=32)
    bits = np.unpackbits(packed, bitorder="little").reshape(of.k, N, -1)
    t1 = bits @ (1 << np.arange(bits.shape[2]))
    a_hat = [_sampled(rho + bytes([s, r])) for r in range(of.k) for s in range(of.l)]
    tr = hashlib.shake_256(pk).digest(64)[:32]
    return b"".join([*map(_words, a_hat), tr, *(_words(ntt(row)) for row in t1)])


def _sampled(seed: bytes) -> Ints:
    """RejNTTPoly (FIPS 204 Algorithm 30): coefficients below q out of SHAKE128."""
    size = 3 * 3 * N  # three times as many draws as a polynomial takes: never too few
    drawn = np.frombuffer(hashlib.shake_128(seed).digest(size), np.uint8).reshape(-1, 3)
    values = drawn.astype(np.int64) @ (1, 1 << 8, 1 << 16) & 0x7FFFFF
    return values[values < Q][:N]


def _words(polynomial: Ints) -> bytes:
    return polynomial.astype(">u4").tobytes()


def ntt(polynomial: Ints) -> Ints:
    """FIPS 204 Algorithm 41, by what it computes: the values at the odd powers of zeta, bit-
    reversed."""
    return _powers() @ polynomial % Q


@cache
def _powers() -> Ints:
    roots = [pow(1753, 2 * int(f"{j:08b}"[::-1], 2) + 1, Q) for j in range(N)]
    return np.array([[pow(root, power, Q) for power in range(N)] for root in roots])


def _seed(name: str) -> bytes:
    return hashlib.sha256(b"mldsa-lab impact " + name.encode("ascii")).digest()
