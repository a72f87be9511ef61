"""How far real signatures and public keys can be compressed: measured, not assumed."""

from __future__ import annotations

import hashlib
import lzma
import tomllib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.bench.material import SampleSignature, draw_signatures
from mldsa_lab.sets import CURVES, ML_DSA_44, N, ParameterSet, Q
from mldsa_lab.theory.trace import Ints
from pqc_impact.base import EXPANDED
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
"""The methods, each in its strongest setting."""


@dataclass(frozen=True)
class Compressed:
    """Compressed bytes over bytes, by `Part.holds`: signatures, public keys, and those as EIP-8051
    expands them, if it does. Each is the best method's and at most 1, since bytes that do not
    shrink are stored as they are. Without ratios, ``source`` says why."""

    ratios: Mapping[str, float]
    source: str


def measure(built: Sequence[SampleSignature], expanded: ParameterSet | None = None) -> Compressed:
    """Compress these signatures and keys, all behind each other as in a block; with a set, some of
    its keys ``expanded`` too."""
    joined = {
        "signatures": b"".join(one.signature for one in built),
        "keys": b"".join(one.public_key for one in built),
    }
    if expanded is not None:
        keys = (one.public_key for one in built[:_EXPANDED_SAMPLES])
        joined[EXPANDED] = b"".join(expand_public_key(key, expanded) for key in keys)
    ratios, words = {}, []
    for holds, data in joined.items():
        ratio, best = min((len(shrink(data)) / len(data), name) for name, shrink in METHODS.items())
        ratios[holds] = min(ratio, 1.0)
        words.append(f"{holds} to {ratio:.2%} by {best}" if ratio < 1 else f"{holds} do not shrink")
    return Compressed(ratios, f"{len(built)} real ones: {', '.join(words)}")


def compressibility(forms: Iterable[str]) -> dict[str, Compressed]:
    """Measure schemes with the encoding of their signatures; where no worker that signs with one is
    built, take what was published."""
    result = {}
    for form in dict.fromkeys(forms):
        base = base_of(form)
        try:
            built = [_encoded(form, one) for one in _drawn(base)]
            result[form] = measure(built, EXPANDED_SETS.get(base))
        except LabError as error:
            result[form] = _published(form, str(error))
    return result


def _published(form: str, why: str) -> Compressed:
    """Published compression of a scheme that no built worker signs with."""
    table = tomllib.loads(files("pqc_impact").joinpath("compressed.toml").read_text("utf-8"))
    known = dict(table.get(form, {}))
    if not known:
        return Compressed({}, f"compressibility not measured: {why}")
    best = known.pop("best", "")
    words = [f"{holds} to {r:.2%} by {best}" if r < 1 else f"{holds} do not shrink"
             for holds, r in known.items()]  # fmt: skip
    return Compressed(known, f"published measurement: {', '.join(words)}")


@cache
def _drawn(name: str) -> list[SampleSignature]:
    seed = hashlib.sha256(b"mldsa-lab impact " + name.encode("ascii")).digest()
    return draw_signatures(name, seed, SAMPLES)


def _encoded(form: str, built: SampleSignature) -> SampleSignature:
    """A bare signature in the encoding that the name has behind it."""
    signature = built.signature
    if form.endswith(UNPADDED):
        signature = signature.rstrip(bytes(1))
    elif form.endswith(DER):
        order = CURVES[base_of(form)][1]
        r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
        plain = (n.to_bytes(n.bit_length() // 8 + 1, "big") for n in (r, min(s, order - s)))
        # Values of fewer than 128 bytes: a tag and one byte of length.
        integers = b"".join(bytes([2, len(n)]) + n for n in plain)
        signature = bytes([0x30, len(integers)]) + integers
    return built._replace(signature=signature)


def expand_public_key(pk: bytes, p: ParameterSet) -> bytes:
    """A public key as EIP-8051 (draft) takes it: Â, tr, and t1 in NTT form, a coefficient in four
    bytes; of ML-DSA-44 20,512 bytes."""
    rho, packed = pk[:32], np.frombuffer(pk, np.uint8, offset=32)
    bits = np.unpackbits(packed, bitorder="little").reshape(p.k, N, -1)
    t1 = bits @ (1 << np.arange(bits.shape[2]))
    a_hat = [_sampled(rho + bytes([s, r])) for r in range(p.k) for s in range(p.l)]
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
