"""The kind `block`: verification of a pool of signatures that threads share.

Before anything is timed, each verifier must accept the whole block and reject exactly the altered
signatures, messages and keys of another one. A block ends with its last thread, so times are of the
wall clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from msgspec import structs

from mldsa_lab import LabError, machine
from mldsa_lab.bench.engine import Case, Excluded, Workload
from mldsa_lab.bench.fleet import Fleet, WorkerHandle
from mldsa_lab.bench.material import make_plain, subject_of
from mldsa_lab.bench.options import COLD, WARM, BlockFile, find_verifiers, resolve_block, stride
from mldsa_lab.bench.workload import (
    RunContext,
    WorkloadPlan,
    other_message,
    signatures_of,
    times_of,
)
from mldsa_lab.estimate.cells import Readings, with_tick
from mldsa_lab.estimate.figure import Figure, Figures, Key
from mldsa_lab.estimate.interval import FEWEST_ROUNDS, Interval, mean_interval
from mldsa_lab.files import to_builtins
from mldsa_lab.inputs.input import Input, candidates
from mldsa_lab.inputs.tracing import load
from mldsa_lab.kinds.kind import ROW_KEYS, TableKind
from mldsa_lab.records import RANDOM, BlockContent, Check, Definition, Fault, Record, Row, Variant
from mldsa_lab.sets import ALL_SETS, PARAMETER_SETS, SCHEMES
from mldsa_lab.show.figure_tables import FIRST, LAST, Lines, SpreadColumns, TableLayout
from mldsa_lab.show.grid import Unit, format_plain
from mldsa_lab.theory.trace import Array
from mldsa_lab.worker.cases import flip
from mldsa_lab.worker.protocol import BlockShape, JobInput, Sample, make_job

# Figures.


Rounds = dict[int, float]


def read_block_content(record: Record) -> BlockContent:
    """Return the block of a record. LabError if it has none."""
    definition = record.definition("block")
    if definition is None:
        raise LabError("the record has no block: `mldsa-lab bench --kind block` measures one")
    return definition.read(BlockContent)


def block_figures(record: Record, confidence: float) -> list[Figure]:
    """Return the figures of a record's block, set after set; without the key ``batch`` by single
    calls.

    ``time`` is in ns, of the block and of a signature (the block's over its verifications).
    ``scaling``: the time of one thread over it; ``ratio`` of cold to warm caches; ``share`` of each
    slot. Ratios are of the same rounds. LabError without a block or without measurements.
    """
    block = read_block_content(record)
    verifiers = [v for v in record.definitions if v.kind == "verifier" and v.set and v.variant]
    verifiers.sort(key=lambda v: ALL_SETS.index(str(v.set)))
    figures = [f for v in verifiers for f in _list_figures(record, block, v, confidence)]
    if all(f.value is None for f in figures):
        raise LabError("the run has no measurements of its block")
    return figures


def _list_figures(
    record: Record, block: BlockContent, verifier: Definition, confidence: float
) -> Iterator[Figure]:
    batch = verifier.content["batch"]
    keys: dict[str, Key] = {
        "set": verifier.set, "operation": "verify", "variant": verifier.variant,
    }  # fmt: skip
    keys |= {"batch": batch} if batch else {}
    whole_block: dict[str, Key] = {"of": "block"}
    if verifier.lacking:
        yield Figure(keys | whole_block, "time", None, unit="ns", notes=(verifier.lacking,))
        return
    levels: dict[tuple[int, str], Rounds] = {}
    for s in record.samples:
        if (s.variant, s.set, s.shape["batch"]) == (verifier.variant, verifier.set, batch):
            level = levels.setdefault((int(s.shape["threads"]), str(s.shape["caches"])), {})
            level[s.round] = float(np.mean(s.wall))
    _, worker = record.variants[str(verifier.variant)]
    every = np.array([time for level in levels.values() for time in level.values()])
    if not len(every):
        return
    readings = Readings.by_wall(worker, every)
    if readings.flaw:
        reason = f"no clock resolves a pass: {readings.flaw}"
        yield Figure(keys | whole_block, "time", None, unit="ns", notes=(reason,))
        return
    tick = readings.tick or 0.0
    for (threads, caches), rounds in sorted(levels.items(), key=_warm_first):
        at = {**keys, "threads": threads, "caches": caches}
        time = with_tick(mean_interval(np.array(list(rounds.values())), confidence), tick)
        yield Figure(at, "rounds", len(rounds))
        yield Figure.from_interval(at | whole_block, "time", time, "ns")
        signature = time.times(1 / block.verifications)
        yield Figure.from_interval({**at, "of": "signature"}, "time", signature, "ns")
        if threads > 1 and (ratio := _divide(levels.get((1, caches)), rounds, confidence, tick)):
            yield Figure.from_interval(at, "scaling", ratio)
        warm = levels.get((threads, "warm"))
        if caches == "cold" and (ratio := _divide(rounds, warm, confidence, tick)):
            yield Figure.from_interval({**at, "against": "warm"}, "ratio", ratio)
        for slot, seconds in block.slot_seconds.items():
            share = time.times(1 / (seconds * 1e9))
            yield Figure.from_interval(at | whole_block | {"slot": slot}, "share", share)


def _warm_first(level: tuple[tuple[int, str], Rounds]) -> tuple[int, bool]:
    (threads, caches), _ = level
    return threads, caches != "warm"


def _divide(
    one: Rounds | None, other: Rounds | None, confidence: float, tick: float
) -> Interval | None:
    """Return the mean of one over the other in the rounds that have both."""
    common = [r for r in one if r in other] if one and other else []
    if not one or not other or not common:
        return None
    times: Array = np.array([(one[r], other[r]) for r in common]).T
    ratio = mean_interval(times[0] / times[1], confidence)
    return with_tick(ratio, *(ratio.value * tick / times.mean(axis=1)))


# Workload.


_STREAM = "block"


@dataclass(frozen=True, eq=False)
class BlockCase(Case):
    """One variant on the block of a set in one shape."""

    variant: Variant
    set_name: str
    shape: BlockShape
    operation: str = "verify"

    def __str__(self) -> str:
        return f"{self.variant.id} {self.set_name}"

    @property
    def group(self) -> Hashable:
        return self.variant.id, self.set_name

    def excludes(self, other: Case, *, whole: bool) -> bool:
        return other.group == self.group

    def fault(self, number: int | None, reason: str, *, whole: bool) -> Fault:
        return Fault(self.variant.id, self.set_name, "verify", number, f"block: {reason}")


class Blocks(Workload[BlockCase]):
    """Validates a block with every verifier that passed the gate, in every way asked for."""

    noun = "ways to verify a block"

    def __init__(
        self,
        fleet: Fleet,
        block: BlockFile,
        verifiers: Iterable[tuple[str, Variant]],
        seed: bytes,
        passed: set[tuple[str, str]],
    ) -> None:
        self.fleet = fleet
        self.title = block.title
        self.content = BlockContent(
            block.verifications, block.uses, block.message_bytes, stride(block.verifications),
            dict(block.slot_seconds), machine.cache_bytes(), block.cold_bytes,
        )  # fmt: skip
        self.thread_counts = block.threads
        self.batches = [0 if n == 1 else n for n in block.batches]
        self.inputs = cache(self._make_inputs)
        """The block for a variant id and a set."""
        self._seed = seed
        self._make_once = cache(self._make)
        step, cold = self.content.stride, self.content.cold_bytes or 0
        self._turns = BlockShape(0, 1, step).turns(block.verifications)
        self._verifiers = [(name, v) for name, v in verifiers if (v.id, name) in passed]
        self.cases = [
            BlockCase(v, name, BlockShape(batch, threads, step, cold if caches == COLD else 0))
            for name, v in self._verifiers
            for batch in self.batches
            if self._has_batch(v, batch)
            for threads in block.threads
            for caches in block.caches
        ]
        self._checked: set[tuple[Hashable, int]] = set()
        self._held: tuple[WorkerHandle, Hashable, int, int] | None = None

    def _has_batch(self, variant: Variant, batch: int) -> bool:
        return not batch or self.fleet.announced[variant.id].mode == "batch"

    def definitions(self) -> Iterable[Row]:
        yield Definition("block", self.title, to_builtins(self.content))
        for name, v in self._verifiers:
            for batch in self.batches:
                if not self._has_batch(v, batch):
                    why = f"{v.implementation} announces no batch interface"
                    yield self._define_verifier(v, name, {"batch": batch}, lacking=why)

    def _define_verifier(
        self, v: Variant, set_name: str, content: dict[str, Any], **parts: Any
    ) -> Definition:
        about = v.id, set_name, "verify"
        return Definition("verifier", self.title, content, *about, **parts)

    def prepare(self, case: BlockCase) -> Iterable[Row]:
        batch = case.shape.batch
        if (case.group, batch) in self._checked:
            return
        self._checked.add((case.group, batch))
        inputs = self.inputs(case.variant.id, case.set_name)
        checks = tuple(self._check_block(case, inputs))
        content = {"batch": batch, "digest": _hash_inputs(inputs).hex()}
        yield self._define_verifier(case.variant, case.set_name, content, checks=checks)
        bad = next((c for c in checks if c.failed), None)
        if bad is not None:
            raise Excluded(f"{_label(batch)}, {bad.check}: {bad.first_failure}")

    def _check_block(self, case: BlockCase, inputs: Sequence[JobInput]) -> Iterable[Check]:
        altered, places = _alter(inputs)
        handle = self.fleet.handle(case.variant.id)
        for name, checked, rejected in (
            ("accepts-block", inputs, ()),
            ("refuses-altered", altered, places),
        ):
            job = handle.prepare(case.variant, case.set_name, "verify", checked)
            wrong = []
            for threads in self.thread_counts:
                shape = replace(case.shape, threads=threads, cold=0)
                (sample,) = handle.worker().block(job, 1, shape)
                text = self._find_fault(sample, rejected)
                wrong += [] if text is None else [f"on {threads} threads: {text}"]
            handle.worker().forget(job)
            yield Check.from_failures(name, len(self.thread_counts) * len(checked), wrong)

    def _find_fault(self, sample: Sample, rejected: Sequence[int] = ()) -> str | None:
        """Return the error of a pass in which exactly these inputs are to be rejected, or None."""
        if sample.failure is not None:
            return sample.failure
        expected = bytes(place not in rejected for place in self._turns)
        if sample.digest == hashlib.sha256(expected).digest():
            return None
        return f"verdicts other than {len(rejected) or 'no'} refused of {len(expected):,}"

    def sample(self, case: BlockCase, number: int, turn: int) -> Iterable[Row]:
        handle, job = self._hold_job(case)
        shape = case.shape
        (sample,) = handle.worker().block(job, 1, shape)
        text = self._find_fault(sample)
        if text is not None:
            raise Excluded(f"{_label(shape.batch)} on {shape.threads} threads: {text}", whole=True)
        way: dict[str, str | int] = {"batch": shape.batch, "threads": shape.threads}
        way["caches"] = COLD if shape.cold else WARM
        yield case.samples(number, turn, (), times_of([sample]), shape=way)

    def _hold_job(self, case: BlockCase) -> tuple[WorkerHandle, int]:
        """Return the job of the case's group. The process has one block at a time."""
        handle = self.fleet.handle(case.variant.id)
        if self._held is not None:
            other, group, started, job = self._held
            if group == case.group and handle.is_running and started == handle.starts:
                return handle, job
            if other.is_running and started == other.starts:
                other.worker().forget(job)
        inputs = self.inputs(case.variant.id, case.set_name)
        job = handle.prepare(case.variant, case.set_name, "verify", inputs)
        self._held = handle, case.group, handle.starts, job
        return handle, job

    def _make_inputs(self, variant: str, set_name: str) -> list[JobInput]:
        """Return a variant's inputs. Where keys stay in the worker, it verifies its own
        signatures."""
        items, v = self._make_once(set_name), self.fleet.variants[variant]
        if not SCHEMES[set_name].traits.has_bytes:
            jobs = [make_job(item, "sign", v) for item in items]
            outputs = signatures_of(self.fleet, v, set_name, jobs)
            items = [item.with_output(outputs[item.id]) for item in items]
        return [make_job(item, "verify", v) for item in items]

    def _make(self, set_name: str) -> Sequence[Input]:
        """A set's block; of keys that stay in a worker without signatures."""
        drawn = draw_block(self.content, set_name, self._seed)
        if set_name in PARAMETER_SETS:
            signed = zip(drawn, load().sign(set_name, drawn), strict=True)
            return [structs.replace(item, pk=m.pk, output=m.signature) for item, m in signed]
        if not SCHEMES[set_name].traits.has_bytes:
            return drawn
        sound = [subject_of(self.fleet, v, name) for name, v in self._verifiers if name == set_name]
        items = make_plain(self.fleet, drawn, sound)
        if not all(m.pk and m.output for m in items):
            raise Excluded(
                f"no implementation that passed the gate makes keys and signatures of {set_name}"
            )
        return items


class BlockPlan(WorkloadPlan):
    """The block that a scenario file defines."""

    name = "block"

    def choose(self, fleet: Fleet, variants: list[Variant]) -> list[Variant]:
        block = self.options.block
        assert block is not None
        self.about_inputs = f"a block of {block.verifications:,} signatures, made after the gate"
        self.block = resolve_block(block, machine.cores_to_use())
        self.verifiers = find_verifiers(block, fleet, variants)
        return list(dict.fromkeys(v for _, v in self.verifiers))

    def workload(self, context: RunContext) -> Blocks:
        return Blocks(context.fleet, self.block, self.verifiers, self.options.seed, context.passed)


def draw_block(row: BlockContent, set_name: str, seed: bytes) -> list[Input]:
    """Return the inputs in the block's order: inputs of one key follow each other."""
    count = row.verifications
    keys = candidates(seed, set_name, count // row.uses, message_bytes=0, stream=f"{_STREAM} keys")
    seeds = [key.key for key in keys]
    drawn = candidates(seed, set_name, count, message_bytes=row.message_bytes, stream=_STREAM)
    return [structs.replace(i, seed=seeds[i.id // row.uses], role=RANDOM) for i in drawn]


def _hash_inputs(inputs: Sequence[JobInput]) -> bytes:
    """SHA-256 of keys, messages and signatures, one input after another."""
    hashed = hashlib.sha256()
    for job in inputs:
        for part in (job.pk if job.seed is None else job.seed, job.message, job.signature):
            hashed.update(part or b"")
    return hashed.digest()


def _alter(inputs: Sequence[JobInput]) -> tuple[list[JobInput], list[int]]:
    """Return the block with a signature, a message and a key altered, and their places.

    These are of different inputs where there are enough.
    """
    altered, count = list(inputs), len(inputs)
    places = [count // 3, 2 * count // 3, count - 1]
    for place, alter in zip(places, (_alter_signature, other_message, _alter_key), strict=True):
        altered[place] = alter(altered[place])
    return altered, places


def _alter_signature(job: JobInput) -> JobInput:
    signature = job.signature or b""
    return replace(job, signature=flip(signature, len(signature) // 2))


def _alter_key(job: JobInput) -> JobInput:
    if job.seed is not None:
        return replace(job, seed=flip(job.seed, -1))
    return replace(job, pk=flip(job.pk or b"", -1))


def _label(batch: int) -> str:
    return f"batches of {batch:,}" if batch else "single calls"


# The kind.


def _block_layouts(record: Record) -> tuple[TableLayout, ...]:
    row = read_block_content(record)
    threads = {s.shape["threads"] for s in record.samples}
    time = SpreadColumns("time", "{value} threads", "threads", keys={"of": "block"})
    signature = replace(time, title="a signature, {value} threads", keys={"of": "signature"})
    last = partial(replace, time, which=LAST)
    slots = [
        last(name="share", title=slot, keys={"of": "block", "slot": slot})
        for slot in row.slot_seconds
    ]
    columns = (
        replace(time, which=FIRST, spare=1),
        *([last()] if len(threads) > 1 else []),
        last(name="scaling", title="scaling", keys={}, spare=3),
        replace(signature, which=FIRST, spare=2),
        last(name="ratio", title="× warm", keys={"against": "warm"}, spare=4),
        *slots,
    )
    rows = ("set", *ROW_KEYS, "batch")
    title = "A block, {caches} caches"
    lines = Lines("time", "threads", ("set", "key"), keys={"of": "block"})
    layouts = [TableLayout(title, ("operation", "caches"), rows, columns, (lines,))]
    if len(threads) > 2:
        layouts.append(
            TableLayout(
                "A block over threads, {caches} caches", ("operation", "caches"), rows, (time,)
            )
        )
    return tuple(layouts)


def _block_headline(record: Record, figures: Figures) -> str:
    """The fastest verification of the first set, on all threads."""
    blocks = list(figures.select("time", of="block", caches="warm"))
    blocks = [f for f in blocks if f.keys["set"] == blocks[0].keys["set"]]
    best = min(blocks, key=lambda f: f.value or 0.0, default=None)
    if best is None or best.value is None:
        return record.definitions[0].name
    threads = best.keys["threads"]
    text = f"{best.keys['set']}: {read_block_content(record).verifications:,} verifications take "
    text += f"{format_plain(best.value, Unit(1e6, 'ms'))} ms on {threads} threads"
    slots = read_block_content(record).slot_seconds
    if slots:
        name = min(slots, key=lambda slot: slots[slot])
        text += f", {100 * best.value / (slots[name] * 1e9):.2g} % of {name}"
    return text


def _block_about(record: Record) -> str:
    row = read_block_content(record)
    keys = row.verifications // row.uses
    keys_text = "a key each" if row.uses == 1 else f"{keys:,} keys, {row.uses:,} uses of each"
    slots = ", ".join(f"{name} {seconds:g} s" for name, seconds in row.slot_seconds.items())
    return f"{row.verifications:,} verifications of each set, {keys_text}" + (
        f"; shares of slots: {slots}" if slots else ""
    )


def _block_notes(record: Record) -> list[str]:
    row, notes = read_block_content(record), []
    if any(s.shape["caches"] == "cold" for s in record.samples):
        notes.append(
            f"Cold: before each pass every thread reads {row.cold_bytes or 0:,} bytes of other "
            f"memory twice; the largest cache has {row.cache_bytes or 0:,}. So each key, signature "
            "and table comes from memory at its first use."
        )
    if len({s.round for s in record.samples}) < FEWEST_ROUNDS:
        notes.append(f"No interval below {FEWEST_ROUNDS} rounds.")
    measured = {s.variant for s in record.samples}
    every = [v for v, _ in record.variants.values() if v.id in measured and v.note]
    return notes + list(dict.fromkeys(f"{v.implementation} {v.key}: {v.note}." for v in every))


def brief_block(figures: Figures) -> tuple[Figures, TableLayout]:
    """Return a short table for documents: warm caches on the fewest and the most threads.

    On the most threads also the ratio of cold caches and the share of the shortest slot.
    """
    warm = figures.only(lambda f: f.value is not None and f.keys.get("caches") == "warm")
    ratios = figures.only(lambda f: f.name == "ratio")
    shares = list(warm.select("share"))
    slot = max(shares, key=lambda f: f.value or 0.0).keys["slot"] if shares else ""
    warm_keys = {"of": "block", "caches": "warm"}
    time = SpreadColumns("time", "{value} threads", "threads", FIRST, keys=warm_keys)
    last = partial(replace, time, which=LAST)
    columns = (
        time,
        last(),
        last(name="ratio", title="cold over warm", keys={"against": "warm", "caches": "cold"}),
        last(name="share", title=str(slot), keys={**warm_keys, "slot": slot}),
    )
    rows = ("set", "implementation", "key", "batch")
    return figures.with_items([*warm, *ratios]), TableLayout("", ("operation",), rows, columns)


_METHOD = (
    "Threads share a block in equal parts, in an order in which neighbours lie far apart. Its "
    "time is from the common start to the end of the last thread, by single calls or by calls "
    "of a batch interface. Keys are read, and expanded for the key form expanded, before the "
    "clock starts; signatures are read while it runs. Each round has fresh processes and counts "
    "once; intervals are Student's over rounds. Before anything was timed every verifier "
    "accepted the whole block, and rejected exactly an altered signature, message and key in "
    "another one. The verdicts of every timed pass are compared again."
)
KIND = TableKind(
    "block",
    BlockPlan,
    _METHOD,
    _block_headline,
    block_figures,
    _block_layouts,
    _block_about,
    _block_notes,
)
