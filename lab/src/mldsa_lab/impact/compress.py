"""How far real signatures and public keys can be compressed: measured, not assumed."""

from __future__ import annotations

import hashlib
import lzma
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import Outputs
from mldsa_lab.inputs.library import load
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.sets import PARAMETER_SETS

SAMPLES = 200
"""Signatures and keys that are compressed."""
METHODS: dict[str, Callable[[bytes], bytes]] = {
    "zlib -9": lambda data: zlib.compress(data, 9),
    "xz -9e": lambda data: lzma.compress(data, preset=9 | lzma.PRESET_EXTREME),
    "zstd -19": lambda data: pa.Codec("zstd", compression_level=19).compress(data, asbytes=True),
}
"""What compresses, each in its strongest setting."""


@dataclass(frozen=True)
class Compressed:
    """Compressed bytes over bytes, of signatures and of public keys, by the method that does best;
    each at most 1, since what does not shrink is stored as it is. ``why``: if not measured."""

    signatures: float = 1.0
    keys: float = 1.0
    source: str = ""
    why: str = ""


def measure(made: Sequence[Outputs]) -> Compressed:
    """Of these signatures and keys, all behind each other as in a block."""
    found = {}
    for what, data in (
        ("signatures", b"".join(one.signature for one in made)),
        ("keys", b"".join(one.pk for one in made)),
    ):
        sizes = {name: len(shrink(data)) / len(data) for name, shrink in METHODS.items()}
        best = min(sizes, key=lambda name: sizes[name])
        found[what] = (min(sizes[best], 1.0), best)
    source = f"{len(made)} real ones: " + ", ".join(
        f"{what} to {ratio:.2%} by {best}" if ratio < 1 else f"{what} do not shrink"
        for what, (ratio, best) in found.items()
    )
    return Compressed(found["signatures"][0], found["keys"][0], source)


def compressibility(schemes: Iterable[str]) -> dict[str, Compressed]:
    """Of each ML-DSA set among these schemes; the library that signs is built if need be."""
    wanted = [name for name in dict.fromkeys(schemes) if name in PARAMETER_SETS]
    if not wanted:
        return {}
    try:
        library = load()
    except LabError as error:
        return dict.fromkeys(wanted, Compressed(why=f"not measured: {error}"))
    found = {}
    for name in wanted:
        seed = hashlib.sha256(b"mldsa-lab impact " + name.encode("ascii")).digest()
        found[name] = measure(library.sign(name, Spec(name, seed).inputs(0, SAMPLES)))
    return found
