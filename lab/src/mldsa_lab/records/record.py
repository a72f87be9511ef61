"""A record as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from mldsa_lab.errors import LabError
from mldsa_lab.records import rows
from mldsa_lab.records.labels import short_labels
from mldsa_lab.sets import DEFAULT_BUILD, TUNED_BUILD, build_mark

RUN_FACTS = ("started", "tool", "cpu", "architecture", "os", "commit")
"""The names of `Record.facts`."""


@dataclass(slots=True)
class Record:
    """A whole record. `warnings` holds what the reader tolerated."""

    run: rows.Run
    workers: list[rows.WorkerRow] = field(default_factory=list)
    skipped: list[rows.Skipped] = field(default_factory=list)
    inputs: list[rows.InputRow] = field(default_factory=list)
    gates: list[rows.Gate] = field(default_factory=list)
    definitions: list[rows.Definition] = field(default_factory=list)
    samples: list[rows.Samples] = field(default_factory=list)
    faults: list[rows.Fault] = field(default_factory=list)
    loads: list[rows.Load] = field(default_factory=list)
    end: rows.End | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def interrupted(self) -> bool:
        """Whether the run was ended before its last round."""
        return self.end is None or self.end.status != "complete"

    @property
    def machine(self) -> str | None:
        """The machine in a few words: `AMD EPYC (family 25, model 17, stepping 1), 2 cores`."""
        machine = self.run.machine
        if not machine.get("cpu"):
            return None
        numbers = {name: machine.get(name) for name in ("family", "model", "stepping")}
        told = ", ".join(f"{name} {n}" for name, n in numbers.items() if n is not None)
        cores = f", {machine['cores']} cores" if "cores" in machine else ""
        return f"{machine['cpu']}{f' ({told})' if told else ''}{cores}"

    @property
    def date(self) -> str:
        """The day it was begun, in UTC: `2026-11-21`."""
        return self.run.started[:10]

    @property
    def busy(self) -> str:
        """The largest load average where it is above one process a core, as `load average up to
        14.24 on 2 cores`; "" elsewhere."""
        cores, first = self.run.machine.get("cores"), self.run.machine.get("load1")
        loads = [
            x for x in (first, *(row.load1 for row in self.loads)) if isinstance(x, int | float)
        ]
        if not isinstance(cores, int) or max(loads, default=0.0) <= cores:
            return ""
        noun = "core" if cores == 1 else "cores"
        return f"load average up to {max(loads):.2f} on {cores} {noun}"

    @property
    def identity(self) -> tuple[str, str]:
        """What tells its run from others: the seed, and when it was begun."""
        return self.run.seed, self.run.started

    def definition(self, kind: str) -> rows.Definition | None:
        """The first definition of a kind."""
        return next((d for d in self.definitions if d.kind == kind), None)

    @property
    def variants(self) -> dict[str, tuple[rows.Variant, rows.WorkerRow]]:
        """By id the variants, each with its worker, as announced."""
        return {v.id: (v, worker) for worker in self.workers for v in worker.variants}

    def facts(self) -> dict[str, str | int | float | None]:
        """Return the facts about the run that its figures come with; None where the record does not
        say."""
        run = self.run
        known: dict[str, Any] = {**run.machine, "started": run.started, "tool": run.tool}
        known["commit"] = run.commit or known.get("commit")
        return {name: known.get(name) for name in RUN_FACTS}

    def labels(self) -> dict[str, str]:
        """Return the shortest label that tells each measured variant (by id) from the others."""
        measured = {s.variant for s in self.samples}
        return short_labels([v for v, _ in self.variants.values() if v.id in measured])

    def variant(self, variant_id: str) -> rows.Variant:
        """The variant with this id; LabError if the record has none."""
        if (found := self.variants.get(variant_id)) is not None:
            return found[0]
        raise LabError(f"unknown variant {variant_id!r}: no worker of the record announces it")

    def narrow(
        self, sets: Sequence[str], operations: Sequence[str], implementations: Sequence[str]
    ) -> Record:
        """Return the record with the cells of these sets, operations and implementations (or
        variant ids, with wildcards); an empty sequence means all. LabError if none is left."""
        patterns = implementations or ("*",)
        fitting = {
            v.id
            for v, _ in self.variants.values()
            if any(fnmatchcase(name, p) for name in v.names for p in patterns)
        }

        def is_chosen(row: rows.Samples | rows.Definition | rows.Fault) -> bool:
            return (
                (row.variant is None or row.variant in fitting)
                and (row.set is None or not sets or row.set in sets)
                and (row.operation is None or not operations or row.operation in operations)
            )

        chosen = [row for row in self.samples if is_chosen(row)]
        if self.samples and not chosen:
            raise LabError("no cell is of these --sets, --operations and --implementations")
        return replace(
            self,
            samples=chosen,
            definitions=[row for row in self.definitions if is_chosen(row)],
            faults=[row for row in self.faults if is_chosen(row)],
        )

    def is_duplicate_build(self, worker: rows.WorkerRow) -> bool:
        """Return whether it is the tuned build of a worker that took part in its default build too.

        Where one figure stands for an implementation, it is then the default build's.
        """
        return worker.build == TUNED_BUILD and any(
            w.build == DEFAULT_BUILD and w.worker + build_mark(TUNED_BUILD) == worker.worker
            for w in self.workers
        )

    def input(self, set_name: str, input_id: int) -> rows.InputRow:
        """The input with this id; ids are unique in a set. LabError if the record has none."""
        for row in self.inputs:
            if row.set == set_name and row.id == input_id:
                return row
        raise LabError(f"unknown input {input_id} of {set_name}: the record has no such line")

    def add(self, row: rows.Row) -> None:
        """Append one row to the list it belongs to."""
        match row:
            case rows.Run():
                raise LabError("a second run line: a record holds one run")
            case rows.End():
                self.end = row
            case _:
                getattr(self, _LISTS[type(row)]).append(row)


_LISTS = {
    rows.WorkerRow: "workers", rows.Skipped: "skipped", rows.InputRow: "inputs",
    rows.Gate: "gates", rows.Definition: "definitions", rows.Samples: "samples",
    rows.Fault: "faults", rows.Load: "loads",
}  # fmt: skip


def busy_notes(loads: Sequence[str]) -> list[str]:
    """Return a sentence about the loads of one run or several, as of `Record.busy`; none where all
    are ""."""
    busy = [load for load in loads if load]
    several = (
        f" in {len(busy)} of {len(loads)} runs, in the first of them" if len(loads) > 1 else ""
    )
    return [f"The machine was busy with other work{several}: {busy[0]}."] if busy else []
