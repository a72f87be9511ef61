"""Measuring a block in interleaved rounds, after everybody was shown to verify all of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from mldsa_lab.bench import gate_plain
from mldsa_lab.bench.alter import flip
from mldsa_lab.bench.blocks import MeasuredBlock
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.material import PlainInput
from mldsa_lab.bench.rounds import rotated
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.inputs.input import SigningInput
from mldsa_lab.inputs.library import load
from mldsa_lab.machine import load1
from mldsa_lab.records import (
    RANDOM,
    BlockRow,
    Check,
    Fault,
    InputRow,
    Load,
    Row,
    Validation,
    Variant,
    Verifier,
)
from mldsa_lab.sets import PARAMETER_SETS, SCHEMES
from mldsa_lab.worker.protocol import BlockShape, JobInput, Sample
from mldsa_lab.worker.worker import WorkerFault

_STREAM = "block"


@dataclass(slots=True, eq=False)
class Verifying:
    """A variant at work on the block of a set, in these ``batches``."""

    set_name: str
    variant: Variant
    station: Station
    inputs: list[JobInput]
    batches: list[int]

    def __str__(self) -> str:
        return f"{self.variant.id} {self.set_name}"

    def prepared(self, inputs: Sequence[JobInput]) -> int:
        """Hand over a job of these inputs."""
        return self.station.prepare(self.variant.id, self.set_name, "verify", inputs)

    def wrong(
        self, sample: Sample, turns: Iterable[int], refused: Sequence[int] = ()
    ) -> str | None:
        """What is wrong with a pass in which these inputs alone are to be refused, or None."""
        if sample.failure is not None:
            return sample.failure
        expected = bytes(place not in refused for place in turns)
        if sample.digest == hashlib.sha256(expected).digest():
            return None
        return f"verdicts other than {len(refused) or 'no'} refused of {len(expected):,}"


class BlockBench:
    """Checks verifiers and measures them; what happens goes to ``write`` as rows of the record."""

    def __init__(
        self,
        fleet: Fleet,
        block: MeasuredBlock,
        seed: bytes,
        passed: set[tuple[str, str]],
        write: Callable[[Row], None],
    ) -> None:
        self.fleet = fleet
        self.block = block
        self._seed = seed
        self._write = write
        self._passed = passed
        self._made = cache(self._make)
        self._turns = BlockShape(0, 1, block.row.stride).turns(block.row.verifications)
        self.left = [
            Verifying(name, v, fleet.station(v.id), [], [])
            for name, v in block.verifiers
            if (v.id, name) in passed
        ]

    def calibrate(self, on_work: Callable[[Verifying], None]) -> None:
        """Check everybody in every way that is measured: that the whole block is accepted, and that
        of a block with an altered signature, message and key exactly these are refused."""
        self._write(self.block.row)
        for work in list(self.left):
            on_work(work)
            v = work.variant
            try:
                work.inputs = self._inputs(work)
                for batch in self.block.batches:
                    if batch and self.fleet.announced[v.id].mode != "batch":
                        why = f"{v.implementation} announces no batch interface"
                        self._write(Verifier(v.id, work.set_name, batch, lacking=why))
                        continue
                    work.batches.append(batch)
                    checks = list(self._checks(work, batch))
                    digest = _digest(work.inputs)
                    self._write(Verifier(v.id, work.set_name, batch, digest, tuple(checks)))
                    bad = next((c for c in checks if c.failed), None)
                    if bad is not None:
                        raise LabError(f"{_called(batch)}, {bad.check}: {bad.first_failure}")
                if not work.batches:
                    self.left.remove(work)
            except LabError as error:
                self._leave(work, None, error)

    def _checks(self, work: Verifying, batch: int) -> Iterable[Check]:
        altered, places = _altered(work.inputs)
        for name, inputs, refused in (
            ("accepts-block", work.inputs, ()),
            ("refuses-altered", altered, places),
        ):
            job = work.prepared(inputs)
            wrong = []
            ways = dict.fromkeys(threads for threads, _ in self.block.ways)
            for threads in ways:
                shape = self.block.shape(batch, threads, False)
                (sample,) = work.station.worker().block(job, 1, shape)
                text = work.wrong(sample, self._turns, refused)
                wrong += [] if text is None else [f"on {threads} threads: {text}"]
            work.station.worker().forget(job)
            cases = len(ways) * len(inputs)
            yield Check(name, cases, len(wrong), wrong[0] if wrong else None)

    def round(self, number: int, on_work: Callable[[Verifying, float], None]) -> None:
        """Visit every verifier in all its ways once, in fresh processes."""
        if number > 0:
            self.fleet.stop()
        self._write(Load(number, load1()))
        order = rotated(list(self.left), number // 2)
        order = order[::-1] if number % 2 else order
        turn = 0
        for place, work in enumerate(order):
            on_work(work, place / len(order))
            try:
                job = work.prepared(work.inputs)
                ways = [(batch, *way) for batch in work.batches for way in self.block.ways]
                for batch, threads, cold in rotated(ways, number):
                    shape = self.block.shape(batch, threads, cold)
                    (sample,) = work.station.worker().block(job, 1, shape)
                    text = work.wrong(sample, self._turns)
                    if text is not None:
                        raise LabError(f"{_called(batch)} on {threads} threads: {text}")
                    cpu = None if sample.cpu is None else (sample.cpu,)
                    self._write(Validation(
                        number, turn, work.variant.id, work.set_name, batch, threads, cold,
                        (sample.wall,), cpu,
                    ))  # fmt: skip
                    turn += 1
                work.station.worker().forget(job)
            except LabError as error:
                self._leave(work, number, error)

    def _leave(self, work: Verifying, number: int | None, error: LabError) -> None:
        self.left.remove(work)
        text = error.rule if isinstance(error, WorkerFault) else str(error)
        self._write(Fault(work.variant.id, work.set_name, "verify", number, f"block: {text}"))

    def _inputs(self, work: Verifying) -> list[JobInput]:
        """The block for a variant: those whose keys stay in the worker verify signatures of their
        own."""
        made, v = self._made(work.set_name), work.variant
        if isinstance(made[0], JobInput):
            return [job for job in made if isinstance(job, JobInput)]
        plain = [item for item in made if isinstance(item, PlainInput)]
        if SCHEMES[work.set_name].kin.encoded:
            return [item.job("verify", v) for item in plain]
        outputs = work.station.answer(
            v.id, work.set_name, "sign", [item.job("sign", v) for item in plain]
        )
        for output in outputs.values():
            if output.failure is not None:
                raise LabError(f"signing input {output.input} failed: {output.failure}")
        return [replace(item, output=outputs[item.id].value).job("verify", v) for item in plain]

    def _make(self, set_name: str) -> Sequence[JobInput | PlainInput]:
        """A set's block; of keys that stay in a worker without signatures."""
        drawn = drawn_of(self.block.row, set_name, self._seed)
        if set_name in PARAMETER_SETS:
            signed = zip(drawn, load().sign(set_name, drawn), strict=True)
            return [
                JobInput(i, pk=m.pk, message=d.message, context=b"", signature=m.signature)
                for i, (d, m) in enumerate(signed)
            ]
        plain = [
            PlainInput(InputRow(set_name, i, RANDOM, d.seed, d.message, b"", None))
            for i, d in enumerate(drawn)
        ]
        if not SCHEMES[set_name].kin.encoded:
            return plain
        sound = [v for name, v in self.block.verifiers if name == set_name]
        sound = [v for v in sound if (v.id, set_name) in self._passed]
        made = gate_plain.make(self.fleet, set_name, plain, sound)
        if not all(m.pk and m.output for m in made):
            raise LabError(
                f"nobody who has passed the gate makes keys and signatures of {set_name}"
            )
        return made


def drawn_of(row: BlockRow, set_name: str, seed: bytes) -> list[SigningInput]:
    """What is signed, in the block's order: the inputs of one key follow each other."""
    count = row.verifications
    keys = candidates(seed, set_name, count // row.uses, message_bytes=0, stream=f"{_STREAM} keys")
    seeds = [key.seed for key in keys]
    messages = candidates(seed, set_name, count, message_bytes=row.message_bytes, stream=_STREAM)
    return [SigningInput(seeds[i // row.uses], m.message) for i, m in enumerate(messages)]


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
    count = len(inputs)
    made, places = list(inputs), []
    for kind, place in enumerate((count // 3, 2 * count // 3, count - 1)):
        job = made[place]
        s, m, pk, seed = job.signature or b"", job.message or b"", job.pk, job.seed
        if kind == 0:
            job = replace(job, signature=flip(s, len(s) // 2))
        elif kind == 1:
            job = replace(job, message=flip(m, len(m) - 1) if m else b"\0")
        elif seed is not None:
            job = replace(job, seed=flip(seed, len(seed) - 1))
        else:
            job = replace(job, pk=flip(pk or b"", len(pk or b"") - 1))
        made[place] = job
        places.append(place)
    return made, places


def _called(batch: int) -> str:
    return f"batches of {batch:,}" if batch else "single calls"
