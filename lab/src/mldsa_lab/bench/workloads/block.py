"""A block: verification over a pool of jobs that threads share, warm and cold caches.

Before anything is timed, each verifier must accept the whole block and reject exactly the altered
signatures, messages and keys of another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from msgspec import structs

from mldsa_lab import machine
from mldsa_lab.bench.engine import Case, Excluded, Workload
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.material import make_plain
from mldsa_lab.bench.workloads.block_file import (
    COLD,
    WARM,
    BlockFile,
    find_verifiers,
    resolve_block,
    stride,
)
from mldsa_lab.bench.workloads.operations import other_message, signatures_of, times_of
from mldsa_lab.bench.workloads.plan import Ready, WorkloadPlan
from mldsa_lab.files import plain
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.library import load
from mldsa_lab.records import RANDOM, BlockContent, Check, Definition, Fault, Row, Variant
from mldsa_lab.sets import PARAMETER_SETS, SCHEMES
from mldsa_lab.worker.alter import flip
from mldsa_lab.worker.protocol import BlockShape, JobInput, Sample
from mldsa_lab.worker.request import make_job

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
        self.inputs = cache(self._inputs)
        """The block for a variant id and a set."""
        self._seed = seed
        self._made = cache(self._make)
        step, cold = self.content.stride, self.content.cold_bytes or 0
        self._turns = BlockShape(0, 1, step).turns(block.verifications)
        self._verifiers = [(name, v) for name, v in verifiers if (v.id, name) in passed]
        self.cases = [
            BlockCase(v, name, BlockShape(batch, threads, step, cold if caches == COLD else 0))
            for name, v in self._verifiers
            for batch in self.batches
            if self._has(v, batch)
            for threads in block.threads
            for caches in block.caches
        ]
        self._checked: set[tuple[Hashable, int]] = set()
        self._held: tuple[Station, Hashable, int, int] | None = None

    def _has(self, variant: Variant, batch: int) -> bool:
        return not batch or self.fleet.announced[variant.id].mode == "batch"

    def definitions(self) -> Iterable[Row]:
        yield Definition("block", self.title, plain(self.content))
        for name, v in self._verifiers:
            for batch in self.batches:
                if not self._has(v, batch):
                    why = f"{v.implementation} announces no batch interface"
                    yield self._verifier(v, name, {"batch": batch}, lacking=why)

    def _verifier(
        self, v: Variant, set_name: str, content: dict[str, Any], **found: Any
    ) -> Definition:
        about = v.id, set_name, "verify"
        return Definition("verifier", self.title, content, *about, **found)

    def prepare(self, case: BlockCase) -> Iterable[Row]:
        batch = case.shape.batch
        if (case.group, batch) in self._checked:
            return
        self._checked.add((case.group, batch))
        inputs = self.inputs(case.variant.id, case.set_name)
        checks = tuple(self._checks(case, inputs))
        content = {"batch": batch, "digest": _digest(inputs).hex()}
        yield self._verifier(case.variant, case.set_name, content, checks=checks)
        bad = next((c for c in checks if c.failed), None)
        if bad is not None:
            raise Excluded(f"{_called(batch)}, {bad.check}: {bad.first_failure}")

    def _checks(self, case: BlockCase, inputs: Sequence[JobInput]) -> Iterable[Check]:
        altered, places = _altered(inputs)
        station = self.fleet.station(case.variant.id)
        for name, given, rejected in (
            ("accepts-block", inputs, ()),
            ("refuses-altered", altered, places),
        ):
            job = station.prepare(case.variant, case.set_name, "verify", given)
            wrong = []
            for threads in self.thread_counts:
                shape = replace(case.shape, threads=threads, cold=0)
                (sample,) = station.worker().block(job, 1, shape)
                text = self._wrong(sample, rejected)
                wrong += [] if text is None else [f"on {threads} threads: {text}"]
            station.worker().forget(job)
            yield Check.of(name, len(self.thread_counts) * len(given), wrong)

    def _wrong(self, sample: Sample, rejected: Sequence[int] = ()) -> str | None:
        """Return the error of a pass in which exactly these inputs are to be rejected, or None."""
        if sample.failure is not None:
            return sample.failure
        expected = bytes(place not in rejected for place in self._turns)
        if sample.digest == hashlib.sha256(expected).digest():
            return None
        return f"verdicts other than {len(rejected) or 'no'} refused of {len(expected):,}"

    def sample(self, case: BlockCase, number: int, turn: int) -> Iterable[Row]:
        station, job = self._job(case)
        shape = case.shape
        (sample,) = station.worker().block(job, 1, shape)
        text = self._wrong(sample)
        if text is not None:
            raise Excluded(f"{_called(shape.batch)} on {shape.threads} threads: {text}", whole=True)
        way: dict[str, str | int] = {"batch": shape.batch, "threads": shape.threads}
        way["caches"] = COLD if shape.cold else WARM
        yield case.samples(number, turn, (), times_of([sample]), shape=way)

    def _job(self, case: BlockCase) -> tuple[Station, int]:
        """Return the job of the case's group. The process holds one block at a time."""
        station = self.fleet.station(case.variant.id)
        if self._held is not None:
            other, group, started, job = self._held
            if group == case.group and station.running and started == station.starts:
                return station, job
            if other.running and started == other.starts:
                other.worker().forget(job)
        inputs = self.inputs(case.variant.id, case.set_name)
        job = station.prepare(case.variant, case.set_name, "verify", inputs)
        self._held = station, case.group, station.starts, job
        return station, job

    def _inputs(self, variant: str, set_name: str) -> list[JobInput]:
        """Return a variant's inputs: where keys stay in the worker, it verifies signatures of its
        own."""
        made, v = self._made(set_name), self.fleet.variants[variant]
        if not SCHEMES[set_name].kin.encoded:
            jobs = [make_job(item, "sign", v) for item in made]
            outputs = signatures_of(self.fleet, v, set_name, jobs)
            made = [item.with_output(outputs[item.id]) for item in made]
        return [make_job(item, "verify", v) for item in made]

    def _make(self, set_name: str) -> Sequence[Input]:
        """A set's block; of keys that stay in a worker without signatures."""
        drawn = drawn_of(self.content, set_name, self._seed)
        if set_name in PARAMETER_SETS:
            signed = zip(drawn, load().sign(set_name, drawn), strict=True)
            return [structs.replace(item, pk=m.pk, output=m.signature) for item, m in signed]
        if not SCHEMES[set_name].kin.encoded:
            return drawn
        made = make_plain(self.fleet, drawn, (v for name, v in self._verifiers if name == set_name))
        if not all(m.pk and m.output for m in made):
            raise Excluded(
                f"no implementation that passed the gate makes keys and signatures of {set_name}"
            )
        return made


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

    def workload(self, ready: Ready) -> Blocks:
        return Blocks(ready.fleet, self.block, self.verifiers, self.options.seed, ready.passed)


def drawn_of(row: BlockContent, set_name: str, seed: bytes) -> list[Input]:
    """Return the inputs in the block's order: those of one key follow each other."""
    count = row.verifications
    keys = candidates(seed, set_name, count // row.uses, message_bytes=0, stream=f"{_STREAM} keys")
    seeds = [key.key for key in keys]
    drawn = candidates(seed, set_name, count, message_bytes=row.message_bytes, stream=_STREAM)
    return [structs.replace(i, seed=seeds[i.id // row.uses], role=RANDOM) for i in drawn]


def _digest(inputs: Sequence[JobInput]) -> bytes:
    """SHA-256 of keys, messages and signatures, one input after another."""
    hashed = hashlib.sha256()
    for job in inputs:
        for part in (job.pk if job.seed is None else job.seed, job.message, job.signature):
            hashed.update(part or b"")
    return hashed.digest()


def _altered(inputs: Sequence[JobInput]) -> tuple[list[JobInput], list[int]]:
    """The block with a signature, a message and a key altered, of different inputs as far as there
    are so many, and the places of these."""
    made, count = list(inputs), len(inputs)
    places = [count // 3, 2 * count // 3, count - 1]
    for place, alter in zip(places, (_other_signature, other_message, _other_key), strict=True):
        made[place] = alter(made[place])
    return made, places


def _other_signature(job: JobInput) -> JobInput:
    signature = job.signature or b""
    return replace(job, signature=flip(signature, len(signature) // 2))


def _other_key(job: JobInput) -> JobInput:
    if job.seed is not None:
        return replace(job, seed=flip(job.seed, -1))
    return replace(job, pk=flip(job.pk or b"", -1))


def _called(batch: int) -> str:
    return f"batches of {batch:,}" if batch else "single calls"
