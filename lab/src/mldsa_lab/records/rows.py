"""The lines of a record as types, with labels of variants.

Values are checked when a line is read. `docs/schema/record.json` is made from these types.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct, structs

from mldsa_lab import LabError
from mldsa_lab.files import Count, Hex, Positive, Text, convert
from mldsa_lab.inputs.input import candidates
from mldsa_lab.machine import Machine
from mldsa_lab.sets import (
    DEFAULT_BUILD,
    SCHEMES,
    TUNED_BUILD,
    BuildName,
    Implementation,
    Operation,
    SetName,
    Unit,
    WorkerOperation,
    build_mark,
)
from mldsa_lab.sets import Check as Check

SCHEMA = 8
"""The schema version that is written and read."""
DESIGN, RANDOM, MANY_KEYS, ONE_KEY, PIPELINE = ROLES = (
    "design", "random", "many-keys", "one-key", "pipeline",
)  # fmt: skip
"""The purposes of inputs: see `InputRow`."""
METRICS = {"allocated": ("B", 1), "collections": ("per million", 1_000_000)}
"""Metrics that operations may have in addition to ticks: the unit, and the number of operations
that it covers."""
HARDENED = "-hardened"
"""How the names of implementations end that check their own signatures."""

T = TypeVar("T")
if TYPE_CHECKING:
    Role = str
    Status = str
    Keys = str
else:
    Keys = Literal["shared", "each"]
    Role = Literal[ROLES]
    Status = Literal["complete", "interrupted"]


class RecordLine(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """One line; its type is told by the field `type`."""


class Run(RecordLine, frozen=True, tag="run"):
    """The first line: the run, its options and its machine.

    ``commit``: of the lab's source, None outside git; ``clean``: whether no tracked file differed
    from it.
    """

    schema: Count
    tool: str
    started: str
    profile: str
    seed: str
    options: dict[str, Any]
    machine: Machine
    commit: str | None = None
    clean: bool | None = None


class Variant(Implementation, frozen=True, forbid_unknown_fields=True):
    """One implementation, backend and key form, as its worker announced it, and how it is measured.

    ``mode`` "batch": by calls of a batch interface, each of ``batch_size`` operations. "single": by
    calls of one operation, ``batch_size`` of them in a row if it is above 1. ``threads`` do so at
    the same time.
    """

    @property
    def is_hardened(self) -> bool:
        """True if it checks its own signatures, by its name (lab/workers/PROTOCOL.md)."""
        return self.implementation.endswith(HARDENED)

    @property
    def runs(self) -> bool:
        """True if a call is a run of operations, not one operation by itself."""
        return self.mode == "batch" or self.batch_size > 1 or self.threads > 1

    @property
    def form(self) -> str:
        """The form of its runs: calls of the batch interface, or a loop of single calls."""
        return "batch" if self.mode == "batch" else "loop"

    @property
    def per_call(self) -> int:
        """Operations of a call, all threads together."""
        return self.batch_size * self.threads

    def id_in(self, build: str | None) -> str:
        """Return its id in a record of this build, with the shape of its runs behind the build:
        `aws-lc:native:compact:tuned`, `mldsa-lanes:avx2:compact:loop-100:threads-2`."""
        runs = f":{self.form}-{self.batch_size}" if self.runs else ""
        threads = f":threads-{self.threads}" if self.threads > 1 else ""
        return self.announced_id + build_mark(build) + runs + threads

    @property
    def build(self) -> str:
        """Its build; "default" where its worker has only one."""
        return TUNED_BUILD if self.id == self.id_in(TUNED_BUILD) else DEFAULT_BUILD

    @property
    def is_tuned(self) -> bool:
        """Return whether it is of a tuned build."""
        return self.build == TUNED_BUILD

    @property
    def base(self) -> str:
        """The id of its single calls."""
        return self.announced_id + build_mark(self.build)

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which it may be asked for: its id, the id of its single calls, the announced
        id, and its implementation."""
        return (self.id, self.base, self.announced_id, self.implementation)

    def matches(self, pattern: str) -> bool:
        """Return whether one of its names fits the pattern, which may have wildcards."""
        return any(fnmatchcase(name, pattern) for name in self.names)

    def matches_any(self, patterns: Sequence[str]) -> bool:
        """Return whether it matches one of the patterns; every variant does if there are none."""
        return not patterns or any(map(self.matches, patterns))


_C_LIBRARIES = frozenset(
    {
        "mldsa-native", "aws-lc", "aws-lc-ed25519", "aws-lc-ecdsa-p256", "aws-lc-rsa",
        "libsecp256k1",
    }
)  # fmt: skip
"""Implementations in C that the Rust worker of records without `WorkerRow.languages` had."""


class WorkerRow(RecordLine, frozen=True, tag="worker"):
    """A worker that took part; ticks of its samples are in `unit`.

    `build` is "default" or "tuned"; None where the worker has but one, and in records that were
    converted from schemas 1 and 2. ``locks``: of each file that pins its dependencies, its SHA-256.
    ``languages``: by name, of the implementations that are in another language than the worker.
    ``warmups``: by id of the variants that asked for it, the length of their warm-up in ticks. All
    their cells run in a new process before any is measured.
    """

    worker: str
    language: str
    compiler: str
    flags: str
    unit: Unit
    clock: str
    cpu_clock: str | None
    variants: tuple[Variant, ...]
    build: BuildName | None = None
    locks: dict[str, str] = {}
    languages: dict[str, str] = {}
    warmups: dict[str, Count] = {}

    def __post_init__(self) -> None:
        for v in self.variants:
            if v.id != (expected := v.id_in(self.build)):
                raise LabError(f"variant {v.id!r} must have the id of its fields, {expected!r}")

    def language_of(self, variant: Variant) -> str:
        """The language that a variant's implementation is written in."""
        name = variant.implementation
        is_first = not self.languages and self.language == "Rust"
        return self.languages.get(name, "C" if is_first and name in _C_LIBRARIES else self.language)

    def about(self, variant: Variant) -> dict[str, str | int | None]:
        """Return the attributes of a variant. ``called_from``: the worker's
        language, where the implementation has another."""
        language = self.language_of(variant)
        return {
            "implementation": variant.implementation,
            "version": variant.version,
            "language": language,
            "called_from": self.language if self.language != language else None,
            "backend": variant.backend,
            "build": self.build,
            "key": variant.key,
            "mode": variant.mode,
            "batch_size": variant.batch_size,
            "threads": variant.threads,
            "deterministic": variant.deterministic,
            "unit": self.unit,
        }


class Skipped(RecordLine, frozen=True, tag="skipped"):
    """A worker that could not take part."""

    worker: str
    reason: str


class Recipe(Struct, frozen=True, forbid_unknown_fields=True):
    """A message that is not written out: the message of candidate ``number`` with messages of so
    many ``bytes`` (`mldsa_lab.inputs.input`)."""

    seed: Hex
    stream: Text
    number: Count
    bytes: Annotated[int, Meta(ge=1, le=1 << 24)]


class InputRow(RecordLine, frozen=True, tag="input"):
    """One input: the key's seed, message, context, rnd (None: deterministic signing; for
    encapsulation it is m) ; its iterations.

    `role` is "design" (chosen by its trace), "random", "many-keys" or "one-key" (for runs of
    several operations), or "pipeline". A pipeline has its record, or the input of a stage. `trace`
    is None where it is not known. A long `message` is empty, and `drawn` has its recipe.
    """

    set: SetName
    id: Count
    role: Role
    seed: Hex
    message: Hex
    context: Hex
    trace: tuple[str, ...] | None
    rnd: Hex | None = None
    drawn: Recipe | None = None

    def whole(self) -> InputRow:
        """The line with its message. LabError if the drawn input does not have the line's seed of
        the key."""
        d = self.drawn
        if d is None:
            return self
        sizes = {"message_bytes": d.bytes, "context_bytes": len(self.context)}
        (whole,) = candidates(d.seed, self.set, 1, stream=d.stream, start=d.number, **sizes)
        if whole.seed != self.seed:
            raise LabError(f"input {self.id} of {self.set}: its seed is not that of what is drawn")
        return structs.replace(self, message=whole.message, drawn=None)

    def __post_init__(self) -> None:
        scheme = SCHEMES[self.set]
        if self.drawn is not None and self.message:
            raise LabError("message must be empty where drawn says what it is")
        if self.trace is not None and scheme.family != "ml-dsa":
            raise LabError(f"trace must be null for {self.set}: it has no attempts")
        if self.rnd is not None and len(self.rnd) != scheme.rnd_bytes:
            raise LabError(f"rnd has {len(self.rnd)} bytes, must have {scheme.rnd_bytes}")


class Gate(RecordLine, frozen=True, tag="gate"):
    """The gate's verdict on one variant and set."""

    variant: str
    set: SetName
    passed: bool
    checks: tuple[Check, ...]

    @property
    def reason(self) -> str:
        """The checks that failed, in words."""
        parts = [
            f"{c.check}: {c.failed} of {c.cases} wrong"
            + (f" ({c.first_failure})" if c.first_failure else "")
            for c in self.checks
            if c.failed
        ]
        return "; ".join(parts) or "rejected without a named check"


class Samples(RecordLine, frozen=True, tag="samples"):
    """One visit of a case: the cost of `calls` calls each, one entry per sample.

    ``inputs``: the input of each sample; empty where a sample takes all of them. ``metrics``: by
    name one value for each input, or one for all. `wall` and `cpu` are in the worker's ticks,
    `stack`, `heap` … in bytes or counts. ``phases``: by name the parts of `wall`. ``shape``: how
    the calls were made; empty for the calls that the variant itself describes.
    """

    round: Count
    turn: Count
    variant: str
    set: SetName
    operation: Operation
    calls: Positive
    inputs: tuple[Count, ...]
    metrics: dict[str, tuple[Count, ...]]
    phases: dict[str, tuple[Count, ...]] = {}
    shape: dict[str, str | int] = {}

    @property
    def visit(self) -> tuple[object, ...]:
        """Round and case. A record has at most one line for them."""
        shape = frozenset(self.shape.items())
        return self.round, self.variant, self.set, self.operation, self.inputs, shape

    @property
    def wall(self) -> tuple[int, ...]:
        """Ticks of the wall clock; empty where no time was measured."""
        return self.metrics.get("wall", ())

    @property
    def cpu(self) -> tuple[int, ...] | None:
        """Ticks of the threads' own clocks; None where the worker has none."""
        return self.metrics.get("cpu")

    def __post_init__(self) -> None:
        for name, values in self.metrics.items():
            if self.inputs and len(values) not in (1, len(self.inputs)):
                raise LabError(f"{name} must have as many entries as inputs, or one")
        if self.cpu is not None and len(self.cpu) != len(self.wall):
            raise LabError("cpu must have as many entries as wall")
        for name, ticks in self.phases.items():
            if len(ticks) != len(self.wall):
                raise LabError(f"{name} must have as many entries as wall")
        if self.phases and tuple(map(sum, zip(*self.phases.values(), strict=True))) != self.wall:
            raise LabError("phases must add up to wall")


class Definition(RecordLine, frozen=True, tag="definition"):
    """The subject of a measurement and the checks that it passed before, or why it is not measured.

    ``kind``: of the workload, or of a part of it. ``content``: fields of the kind, see `read`.
    ``variant``, ``set``, ``operation``: its subject, if not everything.
    """

    kind: str
    name: str
    content: dict[str, Any] = {}
    variant: str | None = None
    set: SetName | None = None
    operation: Operation | None = None
    checks: tuple[Check, ...] = ()
    lacking: str | None = None

    def read(self, kind: type[T]) -> T:
        """The content as a type. LabError names the field that does not fit it."""
        return convert(self.content, kind, f"definition of {self.kind} {self.name!r}")


class PipelineStage(Struct, frozen=True, forbid_unknown_fields=True):
    """A stage: by whom, and the input of each record by its id in the set. ``batch``: operations
    in each call of the batch interface, 0 for single calls. ``message`` and ``signature``: the
    stages, from 1, whose outputs it takes; 0 where it is handed them."""

    name: str
    variant: str
    set: SetName
    operation: Operation
    batch: Count
    message: Count
    signature: Count
    inputs: tuple[Count, ...]


class PipelineContent(Struct, frozen=True, forbid_unknown_fields=True):
    """A pipeline's stages in order. ``keys``: "shared" by all records, or of "each"; ``threads``:
    the numbers of them that are measured."""

    keys: Keys
    threads: tuple[Positive, ...]
    stages: tuple[PipelineStage, ...]


class BlockContent(Struct, frozen=True, forbid_unknown_fields=True):
    """A block: so many ``verifications`` of each set. Each key is used ``uses`` times, for messages
    of ``message_bytes``. Everything follows from the run's seed.

    ``slot_seconds``: its time limits, by name. ``stride``: input number j is at position j times
    this, modulo the verifications. ``cache_bytes``: of the largest cache of the machine;
    ``cold_bytes``: of other memory read before a pass where caches are cold; None where nothing is.
    """

    verifications: Positive
    uses: Positive
    message_bytes: Count
    stride: Positive
    slot_seconds: dict[str, Annotated[float, Meta(gt=0)]]
    cache_bytes: Positive | None = None
    cold_bytes: Positive | None = None


class Fault(RecordLine, frozen=True, tag="fault"):
    """A variant that was left out from here on, for one set or (None) everywhere."""

    variant: str
    set: SetName | None
    operation: WorkerOperation | None
    round: Count | None
    reason: str

    def concerns(self, set_name: str, operation: str) -> bool:
        """Return whether the variant was left out of this set and operation."""
        return self.set in (None, set_name) and self.operation in (None, operation)


class Load(RecordLine, frozen=True, tag="load"):
    """The machine's load average over one minute at the start of a round."""

    round: Count
    load1: Annotated[float, Meta(ge=0)] | None


class End(RecordLine, frozen=True, tag="end"):
    """The last line; a record without it is read as interrupted."""

    finished: str
    status: Status
    rounds: Count


Row = Run | WorkerRow | Skipped | InputRow | Gate | Definition | Samples | Fault | Load | End


# Short labels of variants.


_FORMS = {"batch": "batch", "single": "loop"}


def short_labels(variants: Sequence[Variant]) -> dict[str, str]:
    """Return the shortest label that tells each variant (by id) from the others: `aws-lc`,
    `mldsa-lanes avx2`, `mldsa-lanes avx2 exp.` (expanded key), `aws-lc tuned` (if the default build
    was measured too). A variant measured in runs has the label of its single calls with the runs
    behind it."""
    bases = {v.base: v for v in variants}
    labels = {base: _label(v, list(bases.values())) for base, v in bases.items()}
    by_label: dict[tuple[str, str], list[str]] = defaultdict(list)
    for base, label in labels.items():
        by_label[label, bases[base].family].append(base)
    for same in by_label.values():
        if len(same) > 1:
            labels |= {base: base for base in same}
    for variant in variants:
        if variant.runs:
            parts = [labels[variant.base], f"{_FORMS[variant.mode]} {variant.batch_size}"]
            parts += [f"{variant.threads} threads"] if variant.threads > 1 else []
            labels[variant.id] = " ".join(parts)
    return labels


def _label(variant: Variant, listed: Sequence[Variant]) -> str:
    """Return the label that tells it from the other variants of its implementation."""
    own = (variant.implementation, variant.family)
    peers = [v for v in listed if (v.implementation, v.family) == own]
    parts = [variant.implementation]
    if len({v.backend for v in peers if v.is_tuned == variant.is_tuned}) > 1:
        parts.append(variant.backend)
    if variant.key != "compact":
        parts.append("exp.")
    if variant.is_tuned and not all(v.is_tuned for v in peers):
        parts.append(TUNED_BUILD)
    return " ".join(parts)


def check_baseline(baseline: str, variants: Sequence[Variant]) -> None:
    """LabError unless the baseline of ratios is an implementation or variant of this run."""
    if not any(baseline in v.names for v in variants):
        known = ", ".join(dict.fromkeys(v.implementation for v in variants))
        raise LabError(f"unknown baseline {baseline!r}: this run measures {known}")
