"""Pipelines: records go through stages, each of which takes the outputs of earlier ones."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mldsa_lab.bench.alter import flip
from mldsa_lab.bench.engine import Case, Excluded, Workload
from mldsa_lab.bench.examination import ACCEPTED
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.workloads.operations import job_and_output
from mldsa_lab.bench.workloads.pipeline_file import Line, resolve
from mldsa_lab.bench.workloads.pipeline_inputs import Drawn, Item
from mldsa_lab.bench.workloads.plan import Plan, Ready
from mldsa_lab.errors import LabError
from mldsa_lab.files import plain
from mldsa_lab.machine import cores_to_use
from mldsa_lab.records import (
    Check,
    Definition,
    Fault,
    PipelineContent,
    PipelineStage,
    Row,
    Samples,
    Variant,
)
from mldsa_lab.worker.protocol import ChainStage, JobInput, Link, Pass

WARMUP_NS = 20_000_000
"""Time each pipeline runs before a pass, in the fresh process of each round."""

BETWEEN = "between stages"
"""The phase of no stage: handing outputs on, and reading the clock."""
REFUSED = b"\x00"


@dataclass(slots=True, eq=False)
class Prepared:
    """A pipeline with the inputs of each stage by record, and the expected outputs: None where
    they differ from call to call."""

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


@dataclass(eq=False)
class PipelineCase(Case):
    """One pipeline on so many threads."""

    pipeline: Prepared
    threads: int

    def __post_init__(self) -> None:
        # All stages are of one worker; the first one stands for them.
        line = self.pipeline.line
        self.variant, first = line.variants[0], line.asked.stage[0]
        self.set_name, self.operation = first.set, first.operation

    def __str__(self) -> str:
        return str(self.pipeline)

    @property
    def group(self) -> Hashable:
        return None

    def excludes(self, other: Case, *, whole: bool) -> bool:
        return isinstance(other, PipelineCase) and other.pipeline is self.pipeline

    def fault(self, number: int | None, reason: str, *, whole: bool) -> Fault:
        return Fault(self.variant.id, None, None, number, f"{self}: {reason}")


class Pipelines(Workload[PipelineCase]):
    """Measures pipelines, each with every number of threads."""

    noun = "pipelines by threads"

    def __init__(
        self,
        fleet: Fleet,
        lines: Sequence[Line],
        drawn: Drawn,
        items: Mapping[str, Sequence[Item]],
        passed: set[tuple[str, str]],
    ) -> None:
        """LabError where a stage's variant did not pass the gate."""
        self._drawn = drawn
        self._checked: set[str] = set()
        by_id = {name: {item.id: item for item in listed} for name, listed in items.items()}
        self._pipelines: list[Prepared] = []
        for line in lines:
            station = fleet.station(line.variants[0].id)
            pipeline = Prepared(line, station, [], [])
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
                pipeline.inputs.append(jobs)
                pipeline.outputs.append([output for _, output in pairs])
            self._pipelines.append(pipeline)

    def cases(self) -> list[PipelineCase]:
        return [PipelineCase(p, threads) for p in self._pipelines for threads in p.line.threads]

    def prepare(self, case: PipelineCase) -> Iterable[Row]:
        """Check the output of each stage, and that every verification rejects the signatures of
        an altered record."""
        pipeline = case.pipeline
        if pipeline.line.asked.name in self._checked:
            return
        self._checked.add(pipeline.line.asked.name)
        altered = [
            [_altered(job) for job in inputs] if s.operation == "verify" else inputs
            for s, inputs in zip(pipeline.line.asked.stage, pipeline.inputs, strict=True)
        ]
        rejected = [
            [REFUSED if o == ACCEPTED else o for o in outputs] for outputs in pipeline.outputs
        ]
        checks: list[Check] = []
        try:
            checks.append(_check(pipeline, "outputs", pipeline.inputs, pipeline.outputs, False))
            checks.append(_check(pipeline, "refuses-altered", altered, rejected, True))
        except LabError as error:
            checks.append(Check("runs", 1, 1, str(error)))
        yield self._row(pipeline, checks)
        bad = next((c for c in checks if c.failed), None)
        if bad is not None:
            raise Excluded(f"{bad.check}: {bad.first_failure}")

    def sample(self, case: PipelineCase, number: int, turn: int) -> Iterable[Row]:
        pipeline = case.pipeline
        worker = pipeline.station.worker()
        if pipeline.started != pipeline.station.starts:
            pipeline.jobs = pipeline.prepare(pipeline.inputs)
            pipeline.started = pipeline.station.starts
        (done,) = worker.chain(pipeline.stages(pipeline.jobs), 1, WARMUP_NS, case.threads)
        for link in done.links:
            if wrong := pipeline.wrong(link, pipeline.outputs):
                raise Excluded(wrong)
        yield self._samples(case, number, turn, done)

    def _samples(self, case: PipelineCase, number: int, turn: int, done: Pass) -> Samples:
        """One entry for what goes through together; the phases are the stages and the rest."""
        line, links = case.pipeline.line, done.links
        first, asked = self._drawn.ids(line, 0), line.asked
        cpu = tuple(link.cpu for link in links if link.cpu is not None)
        wall = tuple(link.wall for link in links)
        phases = {
            stage.title: tuple(link.stages[place][0] for link in links)
            for place, stage in enumerate(asked.stage)
        }
        parts = zip(*phases.values(), strict=True)
        phases[BETWEEN] = tuple(w - sum(p) for w, p in zip(wall, parts, strict=True))
        metrics = {"wall": wall, "elapsed": (done.wall,)}
        metrics |= {"cpu": cpu} if len(cpu) == len(links) else {}
        inputs = (first[link.input] for link in links)
        way: dict[str, str | int] = {"pipeline": asked.name, "threads": case.threads}
        return case.samples(number, turn, inputs, metrics, phases=phases, shape=way)

    def _row(self, pipeline: Prepared, checks: Sequence[Check]) -> Definition:
        asked, line = pipeline.line.asked, pipeline.line
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
        content = PipelineContent(asked.keys, line.threads, tuple(stages))
        return Definition("pipeline", asked.name, plain(content), checks=tuple(checks))


def _check(
    pipeline: Prepared,
    name: str,
    inputs: Sequence[Sequence[JobInput]],
    outputs: Sequence[Sequence[bytes | None]],
    own_message: bool,
) -> Check:
    """One pass over these inputs, from which these outputs must come."""
    jobs = pipeline.prepare(inputs)
    stages = pipeline.stages(jobs, own_message=own_message)
    (done,) = pipeline.station.worker().chain(stages, 1, 0)
    for job in jobs:
        pipeline.station.worker().forget(job)
    wrong = [w for link in done.links if (w := pipeline.wrong(link, outputs)) is not None]
    return Check(name, len(done.links), len(wrong), wrong[0] if wrong else None)


def _altered(job: JobInput) -> JobInput:
    """The same of another message."""
    message = job.message or b""
    return replace(job, message=flip(message, len(message) - 1) if message else b"\0")


class PipelinePlan(Plan):
    """The pipelines of a study: records are chosen by the traces of signing them."""

    about_inputs = "records of pipelines, chosen by the traces of signing them"

    def choose(self, fleet: Fleet, variants: list[Variant]) -> list[Variant]:
        self.lines = resolve(self.options.pipelines, fleet, variants, cores_to_use())
        return [v for v in variants if any(v in line.variants for line in self.lines)]

    @cached_property
    def drawn(self) -> Drawn:
        """Their records and inputs."""
        return Drawn(self.lines, self.options.seed)

    def more_inputs(self, set_name: str, first: int) -> list[Any]:
        return self.drawn.items(set_name, first)

    def workload(self, ready: Ready) -> Pipelines:
        return Pipelines(ready.fleet, self.lines, self.drawn, ready.inputs, ready.passed)
