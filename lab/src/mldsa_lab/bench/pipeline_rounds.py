"""Measuring pipelines in interleaved rounds, after every stage was checked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mldsa_lab.bench.alter import flip
from mldsa_lab.bench.examination import ACCEPTED
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.pipeline_inputs import Drawn, Item
from mldsa_lab.bench.pipelines import Line
from mldsa_lab.bench.rounds import job_and_output, rotated
from mldsa_lab.errors import LabError
from mldsa_lab.machine import load1
from mldsa_lab.records import Chains, Check, Fault, Load, PipelineRow, PipelineStage, Row
from mldsa_lab.worker.protocol import ChainStage, JobInput, Link, Pass
from mldsa_lab.worker.worker import WorkerFault

WARMUP_NS = 20_000_000
"""Time each pipeline runs before a pass, in the fresh process of each round."""

REFUSED = b"\x00"


@dataclass(slots=True, eq=False)
class Work:
    """A pipeline at work: of each stage the inputs by record and the outputs that must come out,
    None where these differ from call to call."""

    line: Line
    station: Station
    inputs: list[list[JobInput]]
    outputs: list[list[bytes | None]]
    jobs: list[int] = field(default_factory=list)
    started: int = -1

    def __str__(self) -> str:
        return f"pipeline {self.line.asked.name}"

    def prepare(self, inputs: Sequence[Sequence[JobInput]]) -> list[int]:
        """Hand over the jobs of all stages."""
        stages = zip(self.line.asked.stage, self.line.variants, inputs, strict=True)
        return [self.station.prepare(v.id, s.set, s.operation, i) for s, v, i in stages]

    def stages(self, jobs: Sequence[int], *, own_message: bool = False) -> list[ChainStage]:
        """The chain of these jobs; with ``own_message`` verification takes the one it is handed."""
        asked = self.line.asked
        return [
            ChainStage(
                job,
                stage.batch if stage.batch > 1 else 0,
                0 if own_message and stage.operation == "verify" else message,
                signature,
            )
            for job, stage, (message, signature) in zip(
                jobs, asked.stage, asked.sources(), strict=True
            )
        ]

    def wrong(self, link: Link, outputs: Sequence[Sequence[bytes | None]]) -> str | None:
        """What is wrong with the outputs of a link, or None."""
        if link.failure is not None:
            return f"record {link.input}: {link.failure}"
        size = len(self.inputs[0])
        places = [(link.input + i) % size for i in range(self.line.asked.group)]
        for stage, (_, digest), known in zip(
            self.line.asked.stage, link.stages, outputs, strict=True
        ):
            whole = [known[place] for place in places]
            if None in whole:
                continue
            expected = hashlib.sha256(b"".join(o for o in whole if o is not None)).digest()
            if digest != expected:
                return f"record {link.input}: stage {stage.title} gave a wrong output"
        return None


class PipelineBench:
    """Checks pipelines and measures them; what happens goes to ``write`` as rows of the record."""

    def __init__(
        self,
        fleet: Fleet,
        lines: Sequence[Line],
        drawn: Drawn,
        items: Mapping[str, Sequence[Item]],
        passed: set[tuple[str, str]],
        write: Callable[[Row], None],
    ) -> None:
        self.fleet = fleet
        self._write = write
        self._drawn = drawn
        by_id = {name: {item.id: item for item in listed} for name, listed in items.items()}
        self.left: list[Work] = []
        for line in lines:
            station = fleet.station(line.variants[0].id)
            work = Work(line, station, [], [])
            for number, (stage, v) in enumerate(zip(line.asked.stage, line.variants, strict=True)):
                if (v.id, stage.set) not in passed:
                    raise LabError(
                        f"pipeline {line.asked.name!r}: {v.id} did not pass the gate for "
                        f"{stage.set}"
                    )
                found = [by_id[stage.set][i] for i in drawn.ids(line, number)]
                pairs = [job_and_output(item, v, stage.operation) for item in found]
                jobs = [replace(job, id=i) for i, (job, _) in enumerate(pairs)]
                if stage.operation == "verify":
                    # Where keys never leave a worker the chain alone brings a signature.
                    jobs = [replace(job, signature=job.signature or b"") for job in jobs]
                work.inputs.append(jobs)
                work.outputs.append([output for _, output in pairs])
            self.left.append(work)

    def calibrate(self, on_work: Callable[[Work], None]) -> None:
        """Check every pipeline: what comes out of each stage, and that every verification refuses
        the signatures of a record that was altered."""
        for work in list(self.left):
            on_work(work)
            altered = [
                [_altered(job) for job in inputs] if s.operation == "verify" else inputs
                for s, inputs in zip(work.line.asked.stage, work.inputs, strict=True)
            ]
            refused = [
                [REFUSED if o == ACCEPTED else o for o in outputs] for outputs in work.outputs
            ]
            checks: list[Check] = []
            try:
                checks.append(self._check(work, "outputs", work.inputs, work.outputs, False))
                checks.append(self._check(work, "refuses-altered", altered, refused, True))
            except LabError as error:
                checks.append(Check("runs", 1, 1, str(error)))
            self._write(self._row(work, checks))
            bad = next((c for c in checks if c.failed), None)
            if bad is not None:
                self._leave(work, None, f"{bad.check}: {bad.first_failure}")

    def _check(
        self,
        work: Work,
        name: str,
        inputs: Sequence[Sequence[JobInput]],
        outputs: Sequence[Sequence[bytes | None]],
        own_message: bool,
    ) -> Check:
        jobs = work.prepare(inputs)
        stages = work.stages(jobs, own_message=own_message)
        (done,) = work.station.worker().chain(stages, 1, 0)
        for job in jobs:
            work.station.worker().forget(job)
        wrong = [w for link in done.links if (w := work.wrong(link, outputs)) is not None]
        return Check(name, len(done.links), len(wrong), wrong[0] if wrong else None)

    def round(self, number: int, on_work: Callable[[Work, float], None]) -> None:
        """Visit every pipeline with every number of threads once, in fresh processes."""
        if number > 0:
            self.fleet.stop()
        self._write(Load(number, load1()))
        cells = [(work, threads) for work in self.left for threads in work.line.threads]
        order = rotated(cells, number // 2)
        order = order[::-1] if number % 2 else order
        for turn, (work, threads) in enumerate(order):
            if work not in self.left:
                continue
            on_work(work, turn / len(order))
            try:
                done = self._pass(work, threads)
            except LabError as error:
                text = error.rule if isinstance(error, WorkerFault) else str(error)
                self._leave(work, number, text)
                continue
            bad = next((w for k in done.links if (w := work.wrong(k, work.outputs))), None)
            if bad is None:
                self._write(_chains(work, number, turn, threads, done))
            else:
                self._leave(work, number, bad)

    def _pass(self, work: Work, threads: int) -> Pass:
        worker = work.station.worker()
        if work.started != work.station.starts:
            work.jobs = work.prepare(work.inputs)
            work.started = work.station.starts
        (done,) = worker.chain(work.stages(work.jobs), 1, WARMUP_NS, threads)
        return done

    def _leave(self, work: Work, number: int | None, reason: str) -> None:
        self.left.remove(work)
        self._write(Fault(work.line.variants[0].id, None, None, number, f"{work}: {reason}"))

    def _row(self, work: Work, checks: Sequence[Check]) -> PipelineRow:
        asked, line = work.line.asked, work.line
        stages = [
            PipelineStage(
                stage.title, v.id, stage.set, stage.operation,
                stage.batch if stage.batch > 1 else 0, message, signature,
                tuple(self._drawn.ids(line, n)),
            )
            for n, (stage, v, (message, signature)) in enumerate(
                zip(asked.stage, line.variants, asked.sources(), strict=True)
            )
        ]  # fmt: skip
        return PipelineRow(asked.name, asked.keys, line.threads, tuple(stages), tuple(checks))


def _altered(job: JobInput) -> JobInput:
    """The same of another message."""
    message = job.message or b""
    return replace(job, message=flip(message, len(message) - 1) if message else b"\0")


def _chains(work: Work, number: int, turn: int, threads: int, done: Pass) -> Chains:
    cpu = [link.cpu for link in done.links if link.cpu is not None]
    return Chains(
        round=number,
        turn=turn,
        pipeline=work.line.asked.name,
        threads=threads,
        elapsed=done.wall,
        first=tuple(link.input for link in done.links),
        wall=tuple(link.wall for link in done.links),
        cpu=tuple(cpu) if len(cpu) == len(done.links) else None,
        stages=tuple(
            tuple(link.stages[stage][0] for link in done.links)
            for stage in range(len(work.line.asked.stage))
        ),
    )
