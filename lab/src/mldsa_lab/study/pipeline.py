"""What pipelines cost: shares of their stages, latency, throughput; processes are the replicates.

Of each record the pass counts in whose round it took its median time, with the stages of that
pass. So the stages of a record, with what lies between them, are its whole to the last tick, and
so are the means over records and processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.records import Chains, PipelineRow, Record, read_record
from mldsa_lab.study.file import StudyFile
from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.rejection import RejectionModel

SHOWN_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
BETWEEN = "between stages"
"""What is no stage: handing outputs on, and reading the clock."""


@dataclass(frozen=True)
class PipelineCosts:
    """A pipeline in one process, by wall time of one thread: ``whole``: (links,) ticks of each
    link's median pass; ``stages``: (stages, links), those of the same pass. ``level``: (rounds,)
    ticks per record; ``rates``: by number of threads the records in a second, all threads
    together, in the median round."""

    whole: Array
    stages: Array
    level: Array
    rates: dict[int, float]


@dataclass(frozen=True)
class StudyPipeline:
    """A pipeline over all processes. Costs are ticks per record; ``together``: the records of a
    link, which wait for each other."""

    row: PipelineRow
    together: int
    unit: str
    processes: tuple[PipelineCosts, ...]
    inputs: dict[str, tuple[float, float] | None]
    """Of each signing stage the mean attempts of its records and those of all signatures, where
    records were chosen by them; None where it draws by itself."""

    @property
    def name(self) -> str:
        """Its name in the study."""
        return self.row.pipeline

    def whole(self) -> Array:
        """(processes,) mean of a record."""
        return np.array([p.whole.mean() / self.together for p in self.processes])

    def parts(self) -> dict[str, Array]:
        """By stage, and of what lies between, (processes,) the mean of a record; their sum is the
        whole."""
        stages = np.array([p.stages.mean(axis=1) / self.together for p in self.processes])
        made = {s.name: stages[:, i] for i, s in enumerate(self.row.stages)}
        return made | {BETWEEN: self.whole() - stages.sum(axis=1)}

    def latency(self, share: float) -> Array | None:
        """(processes,) the time from the first stage to the last that this share of the records
        does not exceed; None where there are too few."""
        if min(len(p.whole) for p in self.processes) * (1 - share) < 1:
            return None
        return np.array([np.quantile(p.whole, share, method="hazen") for p in self.processes])

    def rate(self, threads: int) -> Array:
        """(processes,) records in a second."""
        return np.array([p.rates[threads] for p in self.processes])


@dataclass(frozen=True)
class Gain:
    """A pipeline's cost of a record over another's, (processes,), each the median of the ratios of
    a process's rounds."""

    pipeline: str
    against: str
    ratio: Array


def gather(study: StudyFile, paths: Sequence[Path]) -> tuple[list[StudyPipeline], list[Gain]]:
    """The pipelines of a study's records. LabError for one that a process left out."""
    records = [(path, read_record(path)) for path in paths]
    found = [_pipeline(asked.name, asked.group, records) for asked in study.pipeline]
    by_name = {p.name: p for p in found}
    gains = [
        Gain(asked.name, asked.against, _ratio(by_name[asked.name], by_name[asked.against]))
        for asked in study.pipeline
        if asked.against
    ]
    return found, gains


def _ratio(one: StudyPipeline, other: StudyPipeline) -> Array:
    pairs = zip(one.processes, other.processes, strict=True)
    return np.array([np.median(a.level / b.level) for a, b in pairs])


def _pipeline(name: str, together: int, records: Sequence[tuple[Path, Record]]) -> StudyPipeline:
    processes = []
    for path, record in records:
        rows = [c for c in record.chains if c.pipeline == name]
        lost = [f.reason for f in record.faults if f.reason.startswith(f"pipeline {name}: ")]
        if lost or not rows:
            raise LabError(f"{path}: {lost[0] if lost else f'pipeline {name}: not measured'}")
        processes.append(_passes(rows, together))
    record = records[0][1]
    row = next(p for p in record.pipelines if p.pipeline == name)
    unit = next(
        w.unit for w in record.workers if any(v.id == row.stages[0].variant for v in w.variants)
    )
    return StudyPipeline(row, together, unit, tuple(processes), _luck(row, record))


def _passes(rows: Sequence[Chains], together: int) -> PipelineCosts:
    single = [r for r in rows if r.threads == 1]
    whole = np.array([r.wall for r in single], dtype=np.float64)
    stages = np.array([r.stages for r in single], dtype=np.float64)
    links = np.arange(whole.shape[1])
    typical = np.argsort(whole, axis=0, kind="stable")[(len(single) - 1) // 2]
    rates: dict[int, list[float]] = {}
    for r in rows:
        rates.setdefault(r.threads, []).append(len(r.first) * together / r.elapsed * 1e9)
    return PipelineCosts(
        whole[typical, links],
        stages[typical, :, links].T,
        whole.mean(axis=1) / together,
        {threads: float(np.median(found)) for threads, found in sorted(rates.items())},
    )


def _luck(row: PipelineRow, record: Record) -> dict[str, tuple[float, float] | None]:
    made: dict[str, tuple[float, float] | None] = {}
    for stage in row.stages:
        variant = record.variant(stage.variant)
        if stage.operation != "sign":
            continue
        if not variant.deterministic:
            made[stage.name] = None
        elif variant.family == "ml-dsa":
            traces = [record.input(stage.set, i).trace or () for i in stage.inputs]
            mean = sum(map(len, traces)) / len(traces)
            made[stage.name] = (mean, RejectionModel.of(stage.set).expected_attempts)
    return made


def pipeline_figures(found: Sequence[StudyPipeline], gains: Sequence[Gain]) -> Iterator[Figure]:
    """Yield the figures of each process; docs/study-pipeline.md describes them."""
    for p in found:
        keys: dict[str, Key] = {
            "pipeline": p.name,
            "together": p.together,
            "keys": p.row.keys,
            "unit": p.unit,
        }
        rates = {threads: p.rate(threads) for threads in p.row.threads}
        latency = {name: p.latency(share) for name, share in SHOWN_PERCENTILES.items()}
        for n in range(len(p.processes)):
            own = {**keys, "process": n + 1}
            yield Figure(own, "whole", float(p.whole()[n]), unit=p.unit)
            for name, costs in latency.items():
                if costs is not None:
                    yield Figure(own, name, float(costs[n]), unit=p.unit)
            for stage, costs in p.parts().items():
                by = next((s for s in p.row.stages if s.name == stage), None)
                what: dict[str, Key] = {"stage": stage}
                if by is not None:
                    what |= {"variant": by.variant, "batch": by.batch}
                yield Figure({**own, **what}, "part", float(costs[n]), unit=p.unit)
            for threads, rate in rates.items():
                yield Figure({**own, "threads": threads}, "per_second", float(rate[n]))
        for stage, attempts in p.inputs.items():
            for name, value in zip(("attempts", "expected_attempts"), attempts or (), strict=False):
                yield Figure({**keys, "stage": stage}, name, value)
        for check in p.row.checks:
            yield Figure({**keys, "check": check.check}, "cases", check.cases)
    for gain in gains:
        keys = {"pipeline": gain.pipeline, "against": gain.against}
        for n, ratio in enumerate(gain.ratio, 1):
            yield Figure({**keys, "process": n}, "ratio", float(ratio))
