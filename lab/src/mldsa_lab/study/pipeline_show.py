"""Tables of a study of pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mldsa_lab.estimate.interval import over
from mldsa_lab.show.format import MISSING, Unit, choose_unit, estimate
from mldsa_lab.show.grid import Column, Grid
from mldsa_lab.study.file import Effort, StudyFile
from mldsa_lab.study.pipeline import (
    SHOWN_PERCENTILES,
    Gain,
    StudyPipeline,
    gather,
)


@dataclass(frozen=True)
class PipelineFindings:
    """A study of pipelines with what was measured."""

    study: StudyFile
    profile: str
    amount: Effort
    pipelines: tuple[StudyPipeline, ...]
    gains: tuple[Gain, ...]
    confidence: float

    @classmethod
    def of(
        cls,
        study: StudyFile,
        profile: str,
        measured: Sequence[Path],
        confidence: float,
    ) -> PipelineFindings:
        """LabError for a pipeline that was left out."""
        found, gains = gather(study, measured)
        return cls(study, profile, study.amount(profile), tuple(found), tuple(gains), confidence)

    def grids(self) -> list[Grid]:
        """Stages of each pipeline, then latency, throughput and what the pipelines gain."""
        made = [self._stages(p) for p in self.pipelines]
        made += [self._latency(), self._rates()]
        return [*made, self._gains()] if self.gains else made

    def _over(self, values: Any, unit: Unit | None = None) -> Any:
        return estimate(over(np.asarray(values), self.confidence), unit)

    def _stages(self, p: StudyPipeline) -> Grid:
        parts, whole = p.parts(), p.whole()
        costs = {**parts, "whole": whole}
        unit = choose_unit([float(whole.mean()) / 100], p.unit)
        stages = {s.name: s for s in p.row.stages}
        batches = [str(s.batch) if (s := stages.get(n)) and s.batch else "" for n in costs]
        columns = [
            Column("stage", list(costs), head=True),
            Column("by", [s.variant if (s := stages.get(n)) else "" for n in costs], spare=1),
            Column(f"a record, {unit.name}", [self._over(c, unit) for c in costs.values()],
                   number=True),
            Column("share, %", [self._over(100 * c / whole) for c in costs.values()], number=True,
                   spare_interval=1),
        ]  # fmt: skip
        if any(batches):
            columns.insert(2, Column("batch", batches, number=True))
        checks = "; ".join(f"{c.check}: {c.cases} cases" for c in p.row.checks)
        keys = "one key of each scheme" if p.row.keys == "shared" else "keys of each record"
        note = f"{keys}; {_luck(p)}checked before: {checks}"
        return Grid(p.name, note, tuple(columns), self.confidence, sortable=False)

    def _latency(self) -> Grid:
        unit = choose_unit([float(p.whole().min()) for p in self.pipelines], self.pipelines[0].unit)
        columns = [
            Column("pipeline", [p.name for p in self.pipelines], head=True),
            Column("records together", [str(p.together) for p in self.pipelines], number=True),
            *(
                Column(
                    f"{name}, {unit.name}",
                    [MISSING if (c := p.latency(share)) is None else self._over(c, unit)
                     for p in self.pipelines],
                    number=True,
                )
                for name, share in SHOWN_PERCENTILES.items()
            ),
        ]  # fmt: skip
        note = "from before the first stage to behind the last, one thread; records that go "
        return Grid(
            "Latency", f"{note}together wait for each other", tuple(columns), self.confidence
        )

    def _rates(self) -> Grid:
        lines = [(p, n) for p in self.pipelines for n in p.row.threads]
        columns = (
            Column("pipeline", [p.name for p, _ in lines], head=True),
            Column("threads", [str(n) for _, n in lines], number=True),
            Column("records/s", [self._over(p.rate(n)) for p, n in lines], number=True),
            Column("× one thread", [self._over(p.rate(n) / p.rate(1)) for p, n in lines],
                   number=True),
        )  # fmt: skip
        note = "all threads together, each with all records; start-up and warm-up left out"
        return Grid("Throughput", note, columns, self.confidence)

    def _gains(self) -> Grid:
        columns = (
            Column("pipeline", [f"{g.pipeline} / {g.against}" for g in self.gains], head=True),
            Column("ratio", [self._over(g.ratio) for g in self.gains], number=True),
        )
        note = (
            "cost of a record on one thread over that of the other: median over rounds, all passes "
            "counted. The wholes above count one pass of each record, so their quotient differs"
        )
        return Grid("Gain", note, columns, self.confidence)


def _luck(p: StudyPipeline) -> str:
    """What of the costs of signing is chance."""
    told = [
        f"{name} draws its own randomness"
        if attempts is None
        else f"{name}: {attempts[0]:.2f} attempts on average, {attempts[1]:.2f} of all signatures"
        for name, attempts in p.inputs.items()
    ]
    return "".join(f"{text}; " for text in told)
