"""What a kind of workload decides in a run. The defaults are those of single operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from mldsa_lab.bench.engine import Workload
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.options import Options
from mldsa_lab.bench.shapes import runs_of
from mldsa_lab.bench.workloads.operations import Cell, Operations, make_cell, role_in
from mldsa_lab.inputs.input import Input
from mldsa_lab.records import Variant, WorkerRow
from mldsa_lab.sets import LOOKUP, SCHEMES
from mldsa_lab.worker.registry import Place


@dataclass(frozen=True)
class Ready:
    """What stands after the gate. ``folder``: of the run; ``passed``: pairs of variant id and set;
    ``inputs``: by set."""

    fleet: Fleet
    folder: Path
    variants: Sequence[Variant]
    passed: set[tuple[str, str]]
    inputs: Mapping[str, Sequence[Input]]

    def iterations(self) -> dict[tuple[str, int], int]:
        """Return, by set and input, the iterations of the signatures whose traces are known."""
        return {
            (name, item.id): len(item.trace)
            for name, items in self.inputs.items()
            for item in items
            if item.trace
        }


class WorkloadPlan:
    """The decisions of a run, in the order in which they are needed. LabError ends the run."""

    name = "operations"
    """As the options of a record have it."""
    about_inputs = ""
    """Its signing inputs in words, where they are not those of single operations."""
    in_memory = False
    """Whether it measures memory, which a loop takes as single calls do."""

    def __init__(self, options: Options, place: Place) -> None:
        self.options = options
        self.place = place

    def check_tools(self) -> None:
        """Check that what measures is there, before anything is built."""

    def choose(self, fleet: Fleet, variants: list[Variant]) -> list[Variant]:
        """Return the variants that take part."""
        return variants

    def worker_row(self, station: Station) -> WorkerRow:
        """Return a worker's line in the record."""
        return station.row()

    def more_inputs(self, set_name: str, first: int) -> list[Input]:
        """Return further inputs of a set, numbered from ``first``."""
        return []

    def workload(self, ready: Ready) -> Workload[Any]:
        """Return the workload over everything that passed the gate."""
        return Operations(ready.fleet, self.cells(ready), self.options.clock)

    def cells(self, ready: Ready) -> list[Cell]:
        """Return the cells of single operations and runs that passed the gate, those of the same
        set and operation next to each other."""
        cells: list[Cell] = []
        o = self.options
        for name, operation, v in product(o.sets, o.operations, ready.variants):
            if (v.id, name) not in ready.passed or operation not in v.operations:
                continue
            if v.runs and SCHEMES[name].slow and operation != "verify":
                continue  # a hundred of them take minutes
            taken = [i for i in ready.inputs[name] if i.role == role_in(v, name, operation)]
            if operation == LOOKUP:
                taken = taken[:1]  # which it ignores
            cells.append(make_cell(v, name, operation, taken, runs_of(v, len(taken))))
        return cells
