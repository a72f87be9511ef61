"""The rows of a record and the record as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from mldsa_lab.errors import LabError
from mldsa_lab.sets import DEFAULT_BUILD, TUNED_BUILD

SCHEMA = 3
"""The schema version this module writes."""
SCHEMAS = (1, 2, 3)
"""The schema versions that are read; 2 adds the roles of inputs that runs take, 3 the builds."""

DESIGN, RANDOM, MANY_KEYS, ONE_KEY = ROLES = ("design", "random", "many-keys", "one-key")
"""What an input is for: see `InputRow`."""


@dataclass(frozen=True, slots=True)
class Run:
    """The first line: what was run, with which options, on which machine."""

    TYPE: ClassVar[str] = "run"
    schema: int
    tool: str
    started: str
    profile: str
    seed: str
    options: dict[str, Any]
    machine: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Variant:
    """One implementation, backend and key form, as its worker announced it, and how it is measured.

    ``mode`` "batch": by calls of a batch interface, each of ``batch_size`` operations; "single":
    by calls of one operation, ``batch_size`` of them in a row where it is above 1. ``threads`` do
    so at the same time.
    """

    id: str
    implementation: str
    version: str
    backend: str
    key: str
    family: str
    sets: tuple[str, ...]
    operations: tuple[str, ...]
    rnd: str
    context: bool
    mode: str = "single"
    batch_size: int = 1
    threads: int = 1
    note: str = ""

    @property
    def deterministic(self) -> bool:
        """Whether it can sign deterministically (with rnd of 32 zero bytes)."""
        return self.rnd != "none"

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


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that took part; ticks of its samples are in `unit`.

    `build` is "default" or "tuned"; None where the worker has but one, or the record is older
    than builds.
    """

    TYPE: ClassVar[str] = "worker"
    worker: str
    language: str
    compiler: str
    flags: str
    unit: str
    clock: str
    cpu_clock: str | None
    variants: tuple[Variant, ...]
    build: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A worker that could not take part."""

    TYPE: ClassVar[str] = "skipped"
    worker: str
    reason: str


@dataclass(frozen=True, slots=True)
class InputRow:
    """One input: key seed (32 bytes), message, context; its attempts when signed with rnd of zeros.

    `role` is "design" (chosen by its trace), "random", or "many-keys" or "one-key" (those that
    runs of several operations take in turn, each of its own key or all of one key). `trace` is
    None where it is not known.
    """

    TYPE: ClassVar[str] = "input"
    set: str
    id: int
    role: str
    seed: bytes
    message: bytes
    context: bytes
    trace: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Check:
    """One named check of the correctness gate."""

    check: str
    cases: int
    failed: int
    first_failure: str | None


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate's verdict on one variant and set."""

    TYPE: ClassVar[str] = "gate"
    variant: str
    set: str
    passed: bool
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Samples:
    """One cell of one round: ticks for `calls` calls each, one entry per sample.

    `inputs`, `wall` and `cpu` (None where the worker has no such clock) have equal lengths.
    """

    TYPE: ClassVar[str] = "samples"
    round: int
    turn: int
    variant: str
    set: str
    operation: str
    calls: int
    inputs: tuple[int, ...]
    wall: tuple[int, ...]
    cpu: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Fault:
    """A variant that was left out from here on, for one set or (None) everywhere."""

    TYPE: ClassVar[str] = "fault"
    variant: str
    set: str | None
    operation: str | None
    round: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Load:
    """The machine's load average over one minute at the start of a round."""

    TYPE: ClassVar[str] = "load"
    round: int
    load1: float | None


@dataclass(frozen=True, slots=True)
class End:
    """The last line; a record without it is read as interrupted."""

    TYPE: ClassVar[str] = "end"
    finished: str
    status: str
    rounds: int


Row = Run | Worker | Skipped | InputRow | Gate | Samples | Fault | Load | End


@dataclass(slots=True)
class Record:
    """A whole record. `warnings` holds what the reader tolerated."""

    run: Run
    workers: list[Worker] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    inputs: list[InputRow] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    samples: list[Samples] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    end: End | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def interrupted(self) -> bool:
        """Whether the run was ended before its last round."""
        return self.end is None or self.end.status != "complete"

    def variant(self, variant_id: str) -> Variant:
        """The variant with this id; LabError if the record has none."""
        for worker in self.workers:
            for variant in worker.variants:
                if variant.id == variant_id:
                    return variant
        raise LabError(f"unknown variant {variant_id!r}: no worker of the record announces it")

    def worker_of(self, variant_id: str) -> Worker:
        """The worker that announced this variant; LabError if the record has none."""
        for worker in self.workers:
            if any(variant.id == variant_id for variant in worker.variants):
                return worker
        raise LabError(f"unknown variant {variant_id!r}: no worker of the record announces it")

    def again(self, worker: Worker) -> bool:
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
            case Worker():
                self.workers.append(row)
            case Skipped():
                self.skipped.append(row)
            case InputRow():
                self.inputs.append(row)
            case Gate():
                self.gates.append(row)
            case Samples():
                self.samples.append(row)
            case Fault():
                self.faults.append(row)
            case Load():
                self.loads.append(row)
            case End():
                self.end = row
