"""Cold starts: the cost of the 1st, 2nd … 1,000th operation of a fresh process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mldsa_lab.bench.engine import Workload
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.workloads.operations import Cell, Operations, times_of
from mldsa_lab.bench.workloads.plan import Ready, WorkloadPlan
from mldsa_lab.records import Definition, Row
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.worker.protocol import JobInput

CALLS = 1000
"""Operations of a process, on one input."""
_SLOW_NS = 20_000_000_000
_FEW = 30


class ColdStarts(Workload[Cell]):
    """Measures the first operations of a process for each case, without any warm-up.

    Every case uses one input, so that all calls of a process do the same work.
    """

    noun = "cells, each in a process of its own"

    def __init__(
        self, fleet: Fleet, cells: Sequence[Cell], iterations: Mapping[tuple[str, int], int]
    ) -> None:
        """``iterations``: of each set and input, those of its signature."""
        self._fleet = fleet
        self._operations = Operations(fleet)
        self._cells = [replace(c, inputs=[typical_input(c, iterations)]) for c in cells]

    def cases(self) -> list[Cell]:
        return self._cells

    def definitions(self) -> Iterable[Row]:
        yield Definition("cold", "first operations of a process")

    def prepare(self, case: Cell) -> Iterable[Row]:
        """Choose fewer calls of a slow operation."""
        self._operations.hand_over(case)
        station = self._fleet.station(case.variant.id)
        (sample,) = station.worker().measure(case.job, 1, 1, 0)
        self._operations.check(case, [sample])
        slow = station.announcement.unit == "ns" and sample.wall * CALLS > _SLOW_NS
        case.calls = _FEW if slow else CALLS
        return ()

    def sample(self, case: Cell, number: int, turn: int) -> Iterable[Row]:
        station = self._fleet.station(case.variant.id)
        station.stop()  # the process of another case is warm
        self._operations.hand_over(case)
        samples = station.worker().measure(case.job, case.calls, 1, 0)
        self._operations.check(case, samples)
        inputs = (s.input for s in samples)
        yield case.samples(number, turn, inputs, times_of(samples), shape={"process": "fresh"})


class ColdPlan(WorkloadPlan):
    """Cold starts of the cells of a run."""

    def workload(self, ready: Ready) -> ColdStarts:
        return ColdStarts(ready.fleet, self.cells(ready), ready.iterations())


def typical_input(cell: Cell, iterations: Mapping[tuple[str, int], int]) -> JobInput:
    """Return the input whose rejection-sampling iterations are nearest to the set's mean."""
    if cell.operation != "sign" or cell.set_name not in PARAMETER_SETS:
        return cell.inputs[0]
    mean = RejectionModel.of(cell.set_name).expected_attempts
    return min(cell.inputs, key=lambda i: abs(iterations.get((cell.set_name, i.id), 0) - mean))
