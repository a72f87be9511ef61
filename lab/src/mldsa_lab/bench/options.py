"""What a run is asked to do, and which variants that means."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from mldsa_lab.bench.shapes import BATCH_SIZE_MAX, BATCH_SIZES
from mldsa_lab.errors import LabError
from mldsa_lab.files import Count, Positive, plain
from mldsa_lab.records import Variant
from mldsa_lab.records.reference import DEFAULT_REFERENCE
from mldsa_lab.sets import BUILDS, CLASSICAL_SETS, DEFAULT_BUILD, OPERATIONS, PARAMETER_SETS

if TYPE_CHECKING:
    from mldsa_lab.bench.material import GivenSelection, Sizes
    from mldsa_lab.bench.workloads.block_file import BlockFile
    from mldsa_lab.bench.workloads.pipeline_file import Pipeline

Seconds = Annotated[float, Meta(ge=0.001)]

REFERENCE = "mldsa-oracle"
"""The implementation that decides what is correct: FIPS 204 transcribed literally."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How much to measure: rounds go on until `seconds` have passed or there are `rounds_max`.

    At least `rounds_min` are measured, however long they take.
    """

    name: str
    seconds: float
    rounds_min: int
    rounds_max: int


class Jmh(Struct, frozen=True, forbid_unknown_fields=True):
    """How JMH measures a benchmark: so many iterations to warm up, then so many that count.

    ``profiler``: "gc" also counts allocated bytes and garbage collections.
    """

    warmup_iterations: Count
    warmup_seconds: Seconds
    iterations: Positive
    iteration_seconds: Seconds
    profiler: Literal["gc"] | None = None

    @property
    def seconds(self) -> float:
        """How long it measures."""
        return self.iterations * self.iteration_seconds


BOTH_BUILDS = "both"
"""The option for measuring the default and the tuned build in the same rounds."""

ALL = "all"
_EACH_THREAD_COUNT = 8
UNTIL_LIMIT_S = 1800.0
"""How long a run that stops by precision measures at most, unless told otherwise."""
_NO_LIMIT = 1 << 30
DEFAULT_SETS = (*PARAMETER_SETS, *(s for s in CLASSICAL_SETS if s != "RSA-3072-PSS"))
"""The sets of a run that names none: RSA-3072 makes a key in every process, which takes long."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `mldsa-lab bench`; empty `implementations` and `workers` mean the default.

    ``until``: the precision to stop at, in percent; ``limit``: seconds to measure at most.
    """

    sets: tuple[str, ...]
    operations: tuple[str, ...]
    implementations: tuple[str, ...]
    workers: tuple[str, ...]
    profile: Profile
    sizes: Sizes
    seed: bytes
    timeout: float
    out: Path
    rounds: int | None = None
    reference: str = DEFAULT_REFERENCE
    clock: str = "cpu"
    confidence: float = 0.95
    registry: Path | None = None
    added: tuple[str, ...] = ()
    """Workers by path that a study adds: its measures name them, all of them by `ADDED`."""
    batch_sizes: tuple[int, ...] = ()
    thread_counts: tuple[int, ...] = ()
    build: str = DEFAULT_BUILD
    selections: Mapping[str, GivenSelection] = field(default_factory=dict)
    """The signing inputs to measure, by parameter set, where they are given."""
    until: float | None = None
    limit: float | None = None
    jmh: Jmh | None = None
    """How JMH measures."""
    pipelines: tuple[Pipeline, ...] = ()
    block: BlockFile | None = None
    """The block to validate; its definition in the record has the rest."""
    traffic: bool = False
    """Whether memory traffic is measured beside stack and heap."""

    @property
    def seconds(self) -> float:
        """How long to measure, or with `until` at most."""
        if self.limit is not None:
            return self.limit
        return self.profile.seconds if self.until is None else UNTIL_LIMIT_S

    @property
    def rounds_min(self) -> int:
        """The rounds to measure however long they take."""
        return self.profile.rounds_min if self.limit is None else 2

    @property
    def rounds_max(self) -> int:
        """The rounds after which to stop."""
        own = self.until is None and self.limit is None
        return self.profile.rounds_max if own else _NO_LIMIT

    @property
    def builds(self) -> tuple[str, ...]:
        """The builds to measure of each worker that has several."""
        return BUILDS if self.build == BOTH_BUILDS else (self.build,)

    def as_record(self) -> dict[str, Any]:
        """The options as they stand in a record; paths of this machine are left out."""
        apart = ("profile", "sizes", "seed", "out", "registry", "added", "selections", "block")
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in apart}
        sizes = self.sizes
        told: dict[str, Any] = plain(own)
        return told | {
            "seconds": None if self.rounds is not None else self.seconds,
            "design_inputs": sizes.design,
            "random_inputs": sizes.random,
            "pool": sizes.pool,
            "message_bytes": sizes.message_bytes,
            "selections": {name: given.path.name for name, given in self.selections.items()},
        }


def parse_operations(words: Iterable[str]) -> tuple[str, ...]:
    """Operations in canonical order; LabError names an unknown one."""
    chosen = {word.lower() for word in split_words(words)}
    for name in sorted(chosen - set(OPERATIONS)):
        raise LabError(f"unknown operation {name!r}: known are {', '.join(OPERATIONS)}")
    return tuple(name for name in OPERATIONS if name in chosen)


def parse_batch_sizes(words: Iterable[str]) -> tuple[int, ...]:
    """Batch sizes in ascending order, `all` of them by that word; LabError names a bad one."""
    listed = split_words(words)
    if listed == [ALL]:
        return BATCH_SIZES
    return tuple(sorted({_number(w, "batch size", BATCH_SIZE_MAX) for w in listed}))


def parse_thread_counts(words: Iterable[str], cores: int) -> tuple[int, ...]:
    """Numbers of threads in ascending order, with 1, which the others are compared with; none
    without any word, `all_thread_counts` by the word `all`.

    LabError names a bad one, or one above the `cores` that the lab may use: threads that wait for
    each other's core show the scheduler and not the code.
    """
    listed = split_words(words)
    if not listed or listed == [ALL]:
        return all_thread_counts(cores) if listed else ()
    chosen = {_number(w, "number of threads", None) for w in listed}
    for number in sorted(chosen):
        if number > cores:
            noun = "core" if cores == 1 else "cores"
            raise LabError(f"{number} threads: this machine has {cores} {noun} to run on")
    return tuple(sorted({1, *chosen}))


def all_thread_counts(cores: int) -> tuple[int, ...]:
    """1 to all cores; of many cores the powers of two, and all."""
    if cores <= _EACH_THREAD_COUNT:
        return tuple(range(1, cores + 1))
    powers = (1 << bit for bit in range(cores.bit_length()))
    return tuple(sorted({*powers, cores}))


def unknown_implementation(pattern: str, known: Iterable[str]) -> LabError:
    """The error for a pattern that fits nothing."""
    return LabError(
        f"unknown implementation {pattern!r}: it fits no implementation or variant id; "
        f"known are {', '.join(dict.fromkeys(known))}"
    )


def split_words(words: Iterable[str]) -> list[str]:
    """The parts between commas, of which several may stand in one word."""
    return [part.strip() for text in words for part in text.split(",")]


def _number(text: str, what: str, most: int | None) -> int:
    number = int(text) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else 0
    if number < 1 or (most is not None and number > most):
        limit = "" if most is None else f" to {most}"
        raise LabError(f"{what} {text!r}: must be a whole number from 1{limit}")
    return number


def parse_seed(text: str | None) -> bytes:
    """The run's 32 bytes: 64 hexadecimal digits as they are, any other text by its SHA-256; drawn
    anew without a text."""
    if text is None:
        return secrets.token_bytes(32)
    if re.fullmatch(r"[0-9a-fA-F]{64}", text):
        return bytes.fromhex(text)
    return hashlib.sha256(text.encode()).digest()


def select(
    variants: Sequence[Variant],
    patterns: Sequence[str],
    sets: Sequence[str],
    excused: Collection[str] = (),
) -> list[Variant]:
    """The variants to measure, those of an implementation together.

    A pattern is an implementation, a variant id, or either with the wildcards * ? []. One that
    names no build means those of every build that is measured. Without
    patterns all are taken, and classical ones only if a set of theirs is asked for. The
    correctness reference is taken only by its name. LabError for a pattern that fits none, unless
    it is ``excused``.
    """
    chosen: list[Variant] = []
    for pattern in split_words(patterns) or ["*"]:
        found = [
            v
            for v in variants
            if any(fnmatchcase(name, pattern) for name in v.names)
            and (v.implementation != REFERENCE or pattern.startswith(REFERENCE))
        ]
        if not found and pattern not in excused:
            raise unknown_implementation(pattern, (v.implementation for v in variants))
        chosen += [v for v in found if v not in chosen]
    usable = [v for v in chosen if set(v.sets) & set(sets)]
    if not usable:
        raise LabError(
            f"nothing to measure: none of the chosen implementations has {' or '.join(sets)}"
        )
    return usable
