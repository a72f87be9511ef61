"""Blocks of signatures to verify, as a file asks for them, and which variants they mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from mldsa_lab import machine
from mldsa_lab.bench.fleet import Fleet, find_station, find_variants
from mldsa_lab.bench.options import all_thread_counts
from mldsa_lab.bench.shapes import BATCH_SIZE_MAX
from mldsa_lab.bench.workloads.pipeline_file import Batch
from mldsa_lab.checkout import file_or_shipped, find_root
from mldsa_lab.errors import LabError, located
from mldsa_lab.files import Positive, Text, check_unique, decode_toml, read_text
from mldsa_lab.records import Variant
from mldsa_lab.sets import KEY_FORMS, SCHEMES, KeyForm, SetName

WARM, COLD = CACHES = ("warm", "cold")
_COLD_TIMES = 4
"""How many times the largest cache is read before a pass, so that it holds nothing else."""
_GOLDEN = (math.sqrt(5) - 1) / 2
Bytes = Annotated[int, Meta(ge=1 << 20, le=8 << 30)]


class BlockTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a block's file."""


class BlockProfile(BlockTable, frozen=True):
    """Rounds go on for so many ``seconds``, at least the first of ``rounds``, at most the second.
    ``verifications``: another number of them than the file has elsewhere."""

    seconds: Annotated[float, Meta(ge=1)]
    rounds: tuple[Positive, Positive]
    verifications: Annotated[int, Meta(ge=1, le=BATCH_SIZE_MAX)] | None = None

    def __post_init__(self) -> None:
        if self.rounds[0] > self.rounds[1]:
            raise ValueError("rounds: the first number must not be above the second")


class Verify(BlockTable, frozen=True):
    """A ``set`` to verify by these ``implementations`` (or ids of variants, with wildcards), each
    with the forms of ``keys`` that it has."""

    set: SetName
    implementations: Annotated[tuple[Text, ...], Meta(min_length=1)]
    keys: Annotated[tuple[KeyForm, ...], Meta(min_length=1)] = KEY_FORMS

    def __post_init__(self) -> None:
        scheme = SCHEMES[self.set]
        if "verify" not in scheme.kin.operations:
            raise ValueError(f"set: {self.set} has no operation verify")
        if not scheme.seeded:
            raise ValueError(f"set: {self.set} has one key for each process, and a block has many")


class BlockFile(BlockTable, frozen=True):
    """A block: so many ``verifications`` of each set, whose keys are used ``uses`` times each.

    ``batches``: operations in each call, 1 for single calls. ``threads``: if not given 1 to all
    cores. ``cold_bytes``: of other memory that every thread reads before a pass over cold caches;
    if not given four times the largest cache.
    """

    format: Literal["mldsa-lab block"]
    version: Literal[1]
    title: Text
    verifications: Annotated[int, Meta(ge=1, le=BATCH_SIZE_MAX)]
    verify: Annotated[tuple[Verify, ...], Meta(min_length=1)]
    slot_seconds: dict[Text, Annotated[float, Meta(gt=0)]]
    profiles: dict[Text, BlockProfile]
    worker: Text = "rust"
    uses: Positive = 1
    message_bytes: Annotated[int, Meta(ge=0, le=1 << 16)] = 32
    batches: Annotated[tuple[Batch, ...], Meta(min_length=1)] = (1,)
    threads: tuple[Positive, ...] = ()
    caches: Annotated[tuple[Literal[CACHES], ...], Meta(min_length=1)] = CACHES  # type: ignore[valid-type]
    cold_bytes: Bytes | None = None

    def __post_init__(self) -> None:
        for name in ("default", "quick"):
            if name not in self.profiles:
                raise ValueError(f"profiles: the profile {name} is missing")
        for name, profile in self.profiles.items():
            count = profile.verifications or self.verifications
            if count % self.uses:
                raise ValueError(
                    f"uses: {count} verifications of the profile {name} are not the uses of whole "
                    f"keys, {self.uses} each"
                )
            for number in self.threads:
                if number > count:
                    raise ValueError(f"threads: {number} are more than {count} verifications")
        if self.threads and 1 not in self.threads:
            raise ValueError("threads: 1 must be among them, which others are compared with")
        for name in ("threads", "batches", "caches"):
            values = getattr(self, name)
            if len(set(values)) != len(values):
                raise ValueError(f"{name}: a value is given twice")
        check_unique((v.set for v in self.verify), "verify")


def shipped() -> dict[str, Path]:
    """The blocks of the source tree by name."""
    return {p.stem: p for p in sorted((find_root() / "scenarios" / "blocks").glob("*.toml"))}


def read_block(name: str, profile: str) -> BlockFile:
    """Return a block of the tree by name, or of a path, with the verifications of the profile.

    LabError for an unknown one; for a bad file it names the file, the place and the rule.
    """
    path = file_or_shipped(name, shipped(), "scenario")
    block = decode_toml(read_text(path), BlockFile, str(path))
    own = block.profiles[profile].verifications
    return structs.replace(block, verifications=own or block.verifications)


def resolve_block(block: BlockFile, cores: int) -> BlockFile:
    """Return the block with the threads and the bytes of other memory of this machine. LabError if
    it cannot be measured here."""
    with located(f"block {block.title!r}"):
        if (most := max(block.threads, default=1)) > cores:
            raise LabError(
                f"threads: {most} are more than the {cores} cores that there are to run on"
            )
        threads = block.threads or all_thread_counts(min(cores, block.verifications))
        cold = _cold_bytes(block.cold_bytes) if COLD in block.caches else None
        return structs.replace(block, threads=tuple(sorted(threads)), cold_bytes=cold)


def find_verifiers(
    block: BlockFile, fleet: Fleet, variants: Sequence[Variant]
) -> list[tuple[str, Variant]]:
    """Return who verifies each set. LabError for an implementation that cannot."""
    verifiers: list[tuple[str, Variant]] = []
    with located(f"block {block.title!r}"):
        station = find_station(fleet, block.worker, "blocks")
        for asked in block.verify:
            for pattern in asked.implementations:
                able = find_variants(fleet, station, variants, pattern, asked.set, "verify")
                # Of each implementation and form of key the last announced is the best one here.
                best = {(v.implementation, v.key): v for v in able if v.key in asked.keys}
                if not best:
                    raise LabError(f"{pattern} has no {' or '.join(asked.keys)} keys")
                verifiers += [(asked.set, v) for v in best.values()]
    return list(dict.fromkeys(verifiers))


def _cold_bytes(asked: int | None) -> int:
    """Return the bytes to read so that the largest cache holds nothing else."""
    cache = machine.cache_bytes()
    if cache is None and asked is None:
        raise LabError("caches: their size cannot be read here: set cold_bytes")
    cold = asked or _COLD_TIMES * (cache or 0)
    if cache is not None and cold < 2 * cache:
        raise LabError(f"cold_bytes: must be at least twice the largest cache, {cache:,} bytes")
    return cold


def stride(inputs: int) -> int:
    """A step that visits all of so many inputs, each far from the one before."""
    found = max(1, round(inputs * _GOLDEN))
    while math.gcd(found, inputs) > 1:
        found += 1
    return found
