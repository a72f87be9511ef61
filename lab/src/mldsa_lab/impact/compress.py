"""How far real signatures and public keys can be compressed: measured, not assumed."""

from __future__ import annotations

import hashlib
import lzma
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from mldsa_lab.checkout import find_root
from mldsa_lab.errors import LabError
from mldsa_lab.extras import need
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
    """Of each of these schemes: ML-DSA's sets signed by the library, which is built if need be,
    the others by the Rust worker, which is not."""
    wanted = dict.fromkeys(schemes)
    found = {}
    for name in wanted:
        try:
            made = _signed(name) if name in PARAMETER_SETS else _signed_by_worker(name)
            found[name] = measure(made)
        except LabError as error:
            found[name] = Compressed(why=f"compressibility not measured: {error}")
    return found


def _seed(name: str) -> bytes:
    return hashlib.sha256(b"mldsa-lab impact " + name.encode("ascii")).digest()


def _signed(name: str) -> list[Outputs]:
    return load().sign(name, Spec(name, _seed(name)).inputs(0, SAMPLES))


def _signed_by_worker(name: str) -> list[Outputs]:
    """LabError if nobody can sign with this scheme here."""
    need("bench", f"signing with {name}")
    from mldsa_lab.bench.fleet import Fleet, Station
    from mldsa_lab.bench.gate_plain import make
    from mldsa_lab.bench.material import Sizes, plain_inputs
    from mldsa_lab.worker.build import Place
    from mldsa_lab.worker.registry import read_registry
    from mldsa_lab.worker.worker import Limits

    root = find_root()
    entries = read_registry(root / "workers" / "registry.toml")
    fleet = Fleet()
    fleet.add(Station(next(e for e in entries if e.name == "rust"), Place.of(root), Limits()))
    try:
        able = [v for v in fleet.variants.values() if name in v.sets]
        if not able:
            raise LabError(f"the Rust worker has no {name}")
        drawn = plain_inputs(name, _seed(name), Sizes(0, SAMPLES, 0, message_bytes=32))
        made = make(fleet, name, drawn, able)
    finally:
        fleet.stop()
    if not all(m.pk and m.output for m in made):
        raise LabError(f"the Rust worker gives no keys and signatures of {name}")
    return [Outputs(m.pk or b"", b"", m.output or b"") for m in made]
