"""The lines of a record as types, and the record as a whole.

What the fields may hold is checked when a line is read; `docs/schema/record.json` is made from
these types. A field that a later schema added (`SINCE`) has a default, which older records read as.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from mldsa_lab.errors import LabError
from mldsa_lab.files import Count, Hex, Positive
from mldsa_lab.machine import Machine
from mldsa_lab.sets import (
    DEFAULT_BUILD,
    SCHEMES,
    TUNED_BUILD,
    BuildName,
    Family,
    KeyForm,
    Mode,
    Operation,
    Rnd,
    SetName,
    Unit,
    WorkerOperation,
)

SCHEMA = 8
"""The schema version this module writes."""
SCHEMAS = (1, 2, 3, 4, 5, 6, 7, 8)
"""The schema versions that are read; 2 adds the roles of inputs that runs take, 3 the builds, 4
the lab's commit, the workers' lock files and more of the machine, 5 the languages of single
implementations, their warm-ups, and families beside `ml-dsa` and `classical`, 6 hash functions,
look-ups, pipelines and memory, 7 phases and blocks, 8 shapes of samples."""
SINCE = {
    "run": {"commit": 4, "clean": 4},
    "worker": {"build": 3, "locks": 4, "languages": 5, "warmups": 5},
    "input": {"rnd": 4},
    "samples": {"phases": 7, "shape": 8},
}
"""By type of line, the fields that later schemas added, each with the first one that has it."""
LINES_SINCE = {
    "pipeline": 6, "chains": 6, "memory": 6, "traffic": 6,
    "block": 7, "verifier": 7, "validation": 7,
}  # fmt: skip
"""The types of line that later schemas added, each with the first one that has it."""

DESIGN, RANDOM, MANY_KEYS, ONE_KEY, PIPELINE = ROLES = (
    "design", "random", "many-keys", "one-key", "pipeline",
)  # fmt: skip
"""What an input is for: see `InputRow`."""

FRESH: dict[str, str | int] = {"process": "fresh"}
"""The shape of samples that are the first operations of a process."""

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
    """The first line: what was run, with which options, on which machine.

    ``commit``: that of the lab's source, None outside git; ``clean``: whether no tracked file
    differed from it.
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


class Variant(Struct, frozen=True, forbid_unknown_fields=True):
    """One implementation, backend and key form, as its worker announced it, and how it is measured.

    ``mode`` "batch": by calls of a batch interface, each of ``batch_size`` operations; "single":
    by calls of one operation, ``batch_size`` of them in a row where it is above 1. ``threads`` do
    so at the same time.
    """

    id: str
    implementation: str
    version: str
    backend: str
    key: KeyForm
    family: Family
    sets: tuple[SetName, ...]
    operations: tuple[WorkerOperation, ...]
    rnd: Rnd
    context: bool
    mode: Mode = "single"
    batch_size: Positive = 1
    threads: Positive = 1
    note: str = ""

    @property
    def deterministic(self) -> bool:
        """Whether it can sign deterministically (with rnd of 32 zero bytes)."""
        return self.rnd != "none"

    @property
    def hardened(self) -> bool:
        """Whether it checks its own signatures, as its name says (workers/PROTOCOL.md)."""
        return self.implementation.endswith("-hardened")

    @property
    def runs(self) -> bool:
        """Whether a call is a run of operations, and not one operation by itself."""
        return self.mode == "batch" or self.batch_size > 1 or self.threads > 1

    @property
    def per_call(self) -> int:
        """Operations of a call, those of all threads together."""
        return self.batch_size * self.threads

    @property
    def base(self) -> str:
        """The id of its single calls."""
        return base_id(self.id)

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be asked for by: its id, that of its single calls, what its worker announced
        (`implementation:backend:key`, the same in every build), and its implementation."""
        return (self.id, self.base, ":".join(self.id.split(":")[:3]), self.implementation)

    @property
    def tuned(self) -> bool:
        """Whether it is of a tuned build."""
        return self.id.split(":")[3:4] == [TUNED_BUILD]


def base_id(variant: str) -> str:
    """The id of a variant's single calls: `implementation:backend:key`, and `:tuned` if it is."""
    parts = variant.split(":")
    return ":".join(parts[: 4 if parts[3:4] == [TUNED_BUILD] else 3])


class WorkerRow(RecordLine, frozen=True, tag="worker"):
    """A worker that took part; ticks of its samples are in `unit`.

    `build` is "default" or "tuned"; None where the worker has but one, or the record is older
    than builds. ``locks``: of each file that pins what it is built from, its SHA-256.
    ``languages``: by name, of the implementations that are in another language than the worker.
    ``warmups``: by id, of the variants that asked for it, the ticks for which their cells
    together ran in a new process before any was measured.
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

    def language_of(self, variant: Variant) -> str:
        """The language that a variant's implementation is written in."""
        return self.languages.get(variant.implementation, self.language)


class Skipped(RecordLine, frozen=True, tag="skipped"):
    """A worker that could not take part."""

    worker: str
    reason: str


class InputRow(RecordLine, frozen=True, tag="input"):
    """One input: the key's seed, message, context, rnd (None: that of deterministic signing; of
    encapsulation it is m); its attempts.

    `role` is "design" (chosen by its trace), "random", or "many-keys" or "one-key" (those that
    runs of several operations take in turn, each of its own key or all of one key), or "pipeline"
    (the record of a pipeline, or what a stage of one is handed). `trace` is
    None where it is not known.
    """

    set: SetName
    id: Count
    role: Role
    seed: Hex
    message: Hex
    context: Hex
    trace: tuple[str, ...] | None
    rnd: Hex | None = None

    def __post_init__(self) -> None:
        scheme = SCHEMES[self.set]
        if self.trace is not None and scheme.family != "ml-dsa":
            raise LabError(f"trace must be null for {self.set}: it has no attempts")
        if self.rnd is not None and len(self.rnd) != scheme.rnd_bytes:
            raise LabError(f"rnd has {len(self.rnd)} bytes, must have {scheme.rnd_bytes}")


class Check(Struct, frozen=True, forbid_unknown_fields=True):
    """One named check of the correctness gate."""

    check: str
    cases: Count
    failed: Count
    first_failure: str | None

    def __post_init__(self) -> None:
        if self.failed > self.cases:
            raise LabError("failed must not be above cases")


class Gate(RecordLine, frozen=True, tag="gate"):
    """The gate's verdict on one variant and set."""

    variant: str
    set: SetName
    passed: bool
    checks: tuple[Check, ...]


class Samples(RecordLine, frozen=True, tag="samples"):
    """One cell of one round: ticks for `calls` calls each, one entry per sample.

    `inputs`, `wall` and `cpu` (None where the worker has no such clock) have equal lengths, and so
    has each of `phases`, by name the parts of `wall`, if the worker tells any. ``shape``: what
    distinguishes the samples from those of single calls; `FRESH` for the first operations of a
    process, in their order.
    """

    round: Count
    turn: Count
    variant: str
    set: SetName
    operation: Operation
    calls: Positive
    inputs: tuple[Count, ...]
    wall: tuple[Count, ...]
    cpu: tuple[Count, ...] | None
    phases: dict[str, tuple[Count, ...]] = {}
    shape: dict[str, str | int] = {}

    def __post_init__(self) -> None:
        for name, ticks in (("wall", self.wall), ("cpu", self.cpu), *self.phases.items()):
            if ticks is not None and len(ticks) != len(self.inputs):
                raise LabError(f"{name} must have as many entries as inputs")
        if self.phases:
            parts = zip(*self.phases.values(), strict=True)
            if any(sum(p) != wall for p, wall in zip(parts, self.wall, strict=True)):
                raise LabError("phases must add up to wall")


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


class PipelineRow(RecordLine, frozen=True, tag="pipeline"):
    """A pipeline that takes part, its stages in order, and what was checked of it before anything
    was timed. ``keys``: "shared" by all records, or of "each"; ``threads``: the numbers of them
    that are measured."""

    pipeline: str
    keys: Keys
    threads: tuple[Positive, ...]
    stages: tuple[PipelineStage, ...]
    checks: tuple[Check, ...]


class Chains(RecordLine, frozen=True, tag="chains"):
    """One pass of a pipeline over its records in one round, on so many threads.

    ``elapsed``: ticks from the common start of the threads to the end of the last. One entry in
    each list for the records that went through together (one, or the largest batch of a stage):
    the position of the first, the ticks from before its first stage to behind its last, and those
    of each stage in ``stages``, of which each has a list of its own.
    """

    round: Count
    turn: Count
    pipeline: str
    threads: Positive
    elapsed: Count
    first: tuple[Count, ...]
    wall: tuple[Count, ...]
    cpu: tuple[Count, ...] | None
    stages: tuple[tuple[Count, ...], ...]

    def __post_init__(self) -> None:
        for ticks in (self.wall, self.cpu, *self.stages):
            if ticks is not None and len(ticks) != len(self.first):
                raise LabError("all lists of ticks must have as many entries as first")


class BlockRow(RecordLine, frozen=True, tag="block"):
    """The block that is validated: so many ``verifications`` of each set, in which each key is
    used ``uses`` times, of messages of ``message_bytes``; everything follows from the run's seed.

    ``slot_seconds``: what it has to fit into, by name. ``stride``: input number j is at position j
    times this, modulo the verifications. ``cache_bytes``: of the largest cache of the machine;
    ``cold_bytes``: of other memory read before a pass where caches are cold; None where nothing is.
    """

    block: str
    verifications: Positive
    uses: Positive
    message_bytes: Count
    stride: Positive
    slot_seconds: dict[str, Annotated[float, Meta(gt=0)]]
    cache_bytes: Positive | None = None
    cold_bytes: Positive | None = None


class Verifier(RecordLine, frozen=True, tag="verifier"):
    """A variant that validates the block of a set, by single calls (``batch`` 0) or by calls of its
    batch interface with so many operations at most, and what was checked of it before anything was
    timed. ``digest``: SHA-256 of the keys (of their seeds, where no others leave the worker),
    messages and signatures. ``lacking``: why it is not measured so."""

    variant: str
    set: SetName
    batch: Count
    digest: Hex | None = None
    checks: tuple[Check, ...] = ()
    lacking: str | None = None

    def __post_init__(self) -> None:
        if (self.lacking is None) != bool(self.checks and self.digest):
            raise LabError("either checks and digest are given, or lacking says why not")


class Validation(RecordLine, frozen=True, tag="validation"):
    """Passes over the whole block in one round, shared out to so many ``threads``: ticks from their
    common start to the end of the last, and those of their own clocks together. ``cold``: whether
    other memory was read before each."""

    round: Count
    turn: Count
    variant: str
    set: SetName
    batch: Count
    threads: Positive
    cold: bool
    wall: tuple[Count, ...]
    cpu: tuple[Count, ...] | None

    def __post_init__(self) -> None:
        if self.cpu is not None and len(self.cpu) != len(self.wall):
            raise LabError("cpu must have as many entries as wall")


class MemoryRow(RecordLine, frozen=True, tag="memory"):
    """What calls of an operation take of stack and heap: over so many ``samples``, each of another
    input, the most bytes of ``stack`` of a thread, of ``heap`` at a time, ``allocations``, and
    bytes ``allocated`` by them. All None with a reason in ``lacking``. ``kept``: bytes of heap that
    a key ready for single calls keeps; None where there is none, and where that is not known."""

    variant: str
    set: SetName
    operation: Operation
    samples: Positive | None = None
    stack: Count | None = None
    heap: Count | None = None
    allocations: Count | None = None
    allocated: Count | None = None
    kept: Count | None = None
    lacking: str | None = None

    def __post_init__(self) -> None:
        _check_all(self, ("samples", "stack", "heap", "allocations", "allocated"))


class TrafficRow(RecordLine, frozen=True, tag="traffic"):
    """What an operation on one ``input``, signed in so many ``attempts`` (None where there are
    none), does on the CPU that Valgrind emulates: ``instructions``, bytes ``read`` and ``written``,
    misses of a first and of a last level of cache. All None with a reason in ``lacking``."""

    variant: str
    set: SetName
    operation: Operation
    input: Count | None = None
    attempts: Positive | None = None
    instructions: Count | None = None
    read: Count | None = None
    written: Count | None = None
    first_misses: Count | None = None
    last_misses: Count | None = None
    lacking: str | None = None

    def __post_init__(self) -> None:
        _check_all(
            self, ("input", "instructions", "read", "written", "first_misses", "last_misses")
        )


def _check_all(row: MemoryRow | TrafficRow, names: Sequence[str]) -> None:
    """LabError unless the figures are there, or none of them and a reason."""
    there = [getattr(row, name) is not None for name in names]
    if row.lacking is None and not all(there):
        raise LabError(f"{names[there.index(False)]} is missing, and lacking does not say why")
    if row.lacking is not None and any(there):
        raise LabError(f"{names[there.index(True)]} must be null where lacking is given")


class Fault(RecordLine, frozen=True, tag="fault"):
    """A variant that was left out from here on, for one set or (None) everywhere."""

    variant: str
    set: SetName | None
    operation: WorkerOperation | None
    round: Count | None
    reason: str


class Load(RecordLine, frozen=True, tag="load"):
    """The machine's load average over one minute at the start of a round."""

    round: Count
    load1: Annotated[float, Meta(ge=0)] | None


class End(RecordLine, frozen=True, tag="end"):
    """The last line; a record without it is read as interrupted."""

    finished: str
    status: Status
    rounds: Count


Row = (
    Run
    | WorkerRow
    | Skipped
    | InputRow
    | Gate
    | Samples
    | PipelineRow
    | Chains
    | MemoryRow
    | TrafficRow
    | BlockRow
    | Verifier
    | Validation
    | Fault
    | Load
    | End
)


@dataclass(slots=True)
class Record:
    """A whole record. `warnings` holds what the reader tolerated."""

    run: Run
    workers: list[WorkerRow] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    inputs: list[InputRow] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    samples: list[Samples] = field(default_factory=list)
    pipelines: list[PipelineRow] = field(default_factory=list)
    chains: list[Chains] = field(default_factory=list)
    memories: list[MemoryRow] = field(default_factory=list)
    traffic: list[TrafficRow] = field(default_factory=list)
    blocks: list[BlockRow] = field(default_factory=list)
    verifiers: list[Verifier] = field(default_factory=list)
    validations: list[Validation] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    end: End | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def interrupted(self) -> bool:
        """Whether the run was ended before its last round."""
        return self.end is None or self.end.status != "complete"

    @property
    def machine(self) -> str | None:
        """The machine in a few words: `AMD EPYC (family 25, model 17, stepping 1), 2 cores`."""
        machine = self.run.machine
        if not machine.get("cpu"):
            return None
        numbers = {name: machine.get(name) for name in ("family", "model", "stepping")}
        told = ", ".join(f"{name} {n}" for name, n in numbers.items() if n is not None)
        cores = f", {machine['cores']} cores" if "cores" in machine else ""
        return f"{machine['cpu']}{f' ({told})' if told else ''}{cores}"

    @property
    def date(self) -> str:
        """The day it was begun, in UTC: `2026-11-21`."""
        return self.run.started[:10]

    def variant(self, variant_id: str) -> Variant:
        """The variant with this id; LabError if the record has none."""
        for worker in self.workers:
            for variant in worker.variants:
                if variant.id == variant_id:
                    return variant
        raise LabError(f"unknown variant {variant_id!r}: no worker of the record announces it")

    def again(self, worker: WorkerRow) -> bool:
        """Whether this is the tuned build of a worker that took part in its default build too.

        Where one figure stands for an implementation, it is then the default build's.
        """
        other = worker.worker.removesuffix(f":{TUNED_BUILD}")
        return worker.build == TUNED_BUILD and any(
            w.worker == other and w.build == DEFAULT_BUILD for w in self.workers
        )

    def input(self, set_name: str, input_id: int) -> InputRow:
        """The input with this id; ids are unique in a set. LabError if the record has none."""
        for row in self.inputs:
            if row.set == set_name and row.id == input_id:
                return row
        raise LabError(f"unknown input {input_id} of {set_name}: the record has no such line")

    def add(self, row: Row) -> None:
        """Append one row to the list it belongs to."""
        match row:
            case Run():
                raise LabError("a second run line: a record holds one run")
            case End():
                self.end = row
            case _:
                getattr(self, _LISTS[type(row)]).append(row)


_LISTS = {
    WorkerRow: "workers", Skipped: "skipped", InputRow: "inputs", Gate: "gates", Samples: "samples",
    PipelineRow: "pipelines", Chains: "chains", MemoryRow: "memories",
    TrafficRow: "traffic", BlockRow: "blocks", Verifier: "verifiers", Validation: "validations",
    Fault: "faults", Load: "loads",
}  # fmt: skip
