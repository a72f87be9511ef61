"""Pipelines: records go through stages, each of which takes the outputs of earlier ones."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mldsa_lab.bench.engine import Case, Excluded, Workload
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.workloads.operations import other_message, times_of
from mldsa_lab.bench.workloads.pipeline_file import Pipeline, resolve
from mldsa_lab.bench.workloads.pipeline_inputs import PipelineInputs
from mldsa_lab.bench.workloads.plan import Ready, WorkloadPlan
from mldsa_lab.errors import LabError
from mldsa_lab.files import plain
from mldsa_lab.inputs.input import Input
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
from mldsa_lab.worker.request import ACCEPTED, REFUSED, expected_output, make_job

WARMUP_NS = 20_000_000
"""Time each pipeline runs before a pass, in the fresh process of each round."""

BETWEEN = "between stages"
"""The phase of no stage: handing outputs on, and reading the clock."""


@dataclass(slots=True, eq=False)
class PreparedPipeline:
    """A pipeline with the variant of each stage, its inputs by record, and the expected outputs:
    None where they differ from call to call. All variants are of one worker. ``together``: the
    records of a link."""

    name: str
    content: PipelineContent
    together: int
    station: Station
    variants: Sequence[Variant]
    inputs: list[list[JobInput]]
    outputs: list[list[bytes | None]]
    jobs: list[int] = field(default_factory=list)
    started: int = -1

    def __str__(self) -> str:
        return f"pipeline {self.name}"

    def prepare(self, inputs: Sequence[Sequence[JobInput]]) -> list[int]:
        """Hand over the jobs of all stages."""
        stages = zip(self.variants, self.content.stages, inputs, strict=True)
        return [self.station.prepare(v, s.set, s.operation, i) for v, s, i in stages]

    def stages(self, jobs: Sequence[int], *, own_message: bool = False) -> list[ChainStage]:
        """The chain of these jobs; with ``own_message`` verification takes the one it is handed."""
        return [
            ChainStage(
                job, s.batch, 0 if own_message and s.operation == "verify" else s.message,
                s.signature,
            )
            for job, s in zip(jobs, self.content.stages, strict=True)
        ]  # fmt: skip

    def wrong(self, link: Link, outputs: Sequence[Sequence[bytes | None]]) -> str | None:
        """What is wrong with the outputs of a link, or None."""
        if link.failure is not None:
            return f"record {link.input}: {link.failure}"
        size = len(self.inputs[0])
        places = [(link.input + i) % size for i in range(self.together)]
        stages = zip(self.content.stages, link.stages, outputs, strict=True)
        for stage, (_, digest), known in stages:
            whole = [output for place in places if (output := known[place]) is not None]
            wanted = hashlib.sha256(b"".join(whole)).digest()
            if len(whole) == len(places) and digest != wanted:
                return f"record {link.input}: stage {stage.name} gave a wrong output"
        return None


@dataclass(eq=False)
class PipelineCase(Case):
    """One pipeline on so many threads."""

    pipeline: PreparedPipeline
    threads: int

    def __post_init__(self) -> None:
        first = self.pipeline.content.stages[0]
        self.variant = self.pipeline.variants[0]
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
        pipelines: Sequence[Pipeline],
        drawn: PipelineInputs,
        items: Mapping[str, Sequence[Input]],
        passed: set[tuple[str, str]],
    ) -> None:
        """LabError where a stage's variant did not pass the gate."""
        self._checked: set[str] = set()
        by_id = {name: {item.id: item for item in listed} for name, listed in items.items()}
        self.cases: list[PipelineCase] = []
        for asked in pipelines:
            content = content_of(asked, drawn)
            variants = [fleet.variants[stage.variant] for stage in content.stages]
            station = fleet.station(variants[0].id)
            about = asked.name, content, asked.group, station, variants
            pipeline = PreparedPipeline(*about, [], [])
            for stage, v in zip(content.stages, variants, strict=True):
                if (v.id, stage.set) not in passed:
                    raise LabError(f"{pipeline}: {v.id} did not pass the gate for {stage.set}")
                found = [by_id[stage.set][i] for i in stage.inputs]
                jobs = [
                    replace(make_job(item, stage.operation, v), id=i)
                    for i, item in enumerate(found)
                ]
                if stage.operation == "verify":
                    # Where keys never leave a worker the chain alone brings a signature.
                    jobs = [replace(job, signature=job.signature or b"") for job in jobs]
                pipeline.inputs.append(jobs)
                pipeline.outputs.append(
                    [expected_output(item, stage.operation, v) for item in found]
                )
            self.cases += [PipelineCase(pipeline, n) for n in asked.threads]

    def prepare(self, case: PipelineCase) -> Iterable[Row]:
        """Check the output of each stage, and that every verification rejects the signatures of
        an altered record."""
        pipeline = case.pipeline
        if pipeline.name in self._checked:
            return
        self._checked.add(pipeline.name)
        altered = [
            [other_message(job) for job in inputs] if s.operation == "verify" else inputs
            for s, inputs in zip(pipeline.content.stages, pipeline.inputs, strict=True)
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
        yield Definition("pipeline", pipeline.name, plain(pipeline.content), checks=tuple(checks))
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
        yield _samples(case, number, turn, done)


def _samples(case: PipelineCase, number: int, turn: int, done: Pass) -> Samples:
    """One entry for what goes through together; the phases are the stages and the rest."""
    name, stages, links = case.pipeline.name, case.pipeline.content.stages, done.links
    metrics = times_of(links) | {"elapsed": (done.wall,)}
    phases = {
        stage.name: tuple(link.stages[place][0] for link in links)
        for place, stage in enumerate(stages)
    }
    parts = zip(*phases.values(), strict=True)
    phases[BETWEEN] = tuple(w - sum(p) for w, p in zip(metrics["wall"], parts, strict=True))
    inputs = (stages[0].inputs[link.input] for link in links)
    way: dict[str, str | int] = {"pipeline": name, "threads": case.threads}
    return case.samples(number, turn, inputs, metrics, phases=phases, shape=way)


def content_of(asked: Pipeline, drawn: PipelineInputs) -> PipelineContent:
    """Return a pipeline as the record has it."""
    stages = tuple(
        PipelineStage(
            stage.title, stage.implementation, stage.set, stage.operation,
            stage.batch if stage.batch > 1 else 0,
            message, signature, tuple(drawn.ids(asked, number)),
        )
        for number, (stage, (message, signature)) in enumerate(
            zip(asked.stage, asked.sources(), strict=True)
        )
    )  # fmt: skip
    return PipelineContent(asked.keys, asked.threads, stages)


def _check(
    pipeline: PreparedPipeline,
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
    return Check.of(name, len(done.links), wrong)


class PipelinePlan(WorkloadPlan):
    """The pipelines of a study: records are chosen by the traces of signing them."""

    name = "pipeline"

    about_inputs = "records of pipelines, chosen by the traces of signing them"

    def choose(self, fleet: Fleet, variants: list[Variant]) -> list[Variant]:
        self.variants = fleet.variants
        self.pipelines = resolve(self.options.pipelines, fleet, variants, cores_to_use())
        chosen = {stage.implementation for p in self.pipelines for stage in p.stage}
        return [v for v in variants if v.id in chosen]

    @cached_property
    def drawn(self) -> PipelineInputs:
        """Their records and inputs."""
        return PipelineInputs(self.pipelines, self.variants, self.options.seed)

    def more_inputs(self, set_name: str, first: int) -> list[Any]:
        return self.drawn.items(set_name, first)

    def workload(self, ready: Ready) -> Pipelines:
        return Pipelines(ready.fleet, self.pipelines, self.drawn, ready.inputs, ready.passed)
