"""What pipelines cost: shares of their stages, latency, throughput; processes are the replicates.

Of each record the pass counts in whose round it took its median time, with the stages of that
pass. So the stages of a record, with what lies between them, are its whole to the last tick, and
so are the means over records and processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.records import Check, PipelineContent, Record, Samples, read_record
from mldsa_lab.study.file import StudyFile
from mldsa_lab.study.run import Step
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

    name: str
    row: PipelineContent
    checks: tuple[Check, ...]
    together: int
    unit: str
    processes: tuple[PipelineCosts, ...]
    inputs: dict[str, tuple[float, float] | None]
    """Of each signing stage the mean attempts of its records and those of all signatures, where
    records were chosen by them; None where it draws by itself."""

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


def gather(
    study: StudyFile, measured: Iterable[tuple[Step, Path]]
) -> tuple[list[StudyPipeline], list[Gain]]:
    """The pipelines of a study's records. LabError for one that a process left out."""
    records = [(path, read_record(path)) for _, path in measured]
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
        rows = [s for s in record.samples if s.shape.get("pipeline") == name]
        lost = [f.reason for f in record.faults if f.reason.startswith(f"pipeline {name}: ")]
        if lost or not rows:
            raise LabError(f"{path}: {lost[0] if lost else f'pipeline {name}: not measured'}")
        processes.append(_passes(rows, together))
    record = records[0][1]
    definition = next(d for d in record.definitions if (d.kind, d.name) == ("pipeline", name))
    row = definition.read(PipelineContent)
    unit = next(
        w.unit for w in record.workers if any(v.id == row.stages[0].variant for v in w.variants)
    )
    return StudyPipeline(
        name, row, definition.checks, together, unit, tuple(processes), _luck(row, record)
    )


def _passes(rows: Sequence[Samples], together: int) -> PipelineCosts:
    single = [r for r in rows if r.shape["threads"] == 1]
    whole = np.array([r.wall for r in single], dtype=np.float64)
    stages = np.array(
        [[t for name, t in r.phases.items() if name != BETWEEN] for r in single], dtype=np.float64
    )
    links = np.arange(whole.shape[1])
    typical = np.argsort(whole, axis=0, kind="stable")[(len(single) - 1) // 2]
    rates: dict[int, list[float]] = {}
    for r in rows:
        elapsed = r.metrics["elapsed"][0]
        rates.setdefault(int(r.shape["threads"]), []).append(
            len(r.inputs) * together / elapsed * 1e9
        )
    return PipelineCosts(
        whole[typical, links],
        stages[typical, :, links].T,
        whole.mean(axis=1) / together,
        {threads: float(np.median(found)) for threads, found in sorted(rates.items())},
    )


def _luck(row: PipelineContent, record: Record) -> dict[str, tuple[float, float] | None]:
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


def as_json(
    found: Sequence[StudyPipeline], gains: Sequence[Gain]
) -> dict[str, list[dict[str, Any]]]:
    """What `study.json` has of pipelines."""
    return {
        "pipelines": [
            {
                "name": p.name,
                "unit": p.unit,
                "together": p.together,
                "keys": p.row.keys,
                "stages": [
                    {"name": s.name, "variant": s.variant, "batch": s.batch} for s in p.row.stages
                ],
                "whole": p.whole().tolist(),
                "parts": {name: cost.tolist() for name, cost in p.parts().items()},
                "latency": {
                    name: None if (cost := p.latency(share)) is None else cost.tolist()
                    for name, share in SHOWN_PERCENTILES.items()
                },
                "per_second": {str(n): p.rate(n).tolist() for n in p.row.threads},
                "attempts": p.inputs,
                "checks": [{"check": c.check, "cases": c.cases} for c in p.checks],
            }
            for p in found
        ],
        "gains": [
            {"pipeline": g.pipeline, "against": g.against, "ratio": g.ratio.tolist()} for g in gains
        ],
    }
