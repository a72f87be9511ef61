"""The parts of a page as plain data for its template."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from mldsa_lab.records import Check, Record
from mldsa_lab.report.findings import best_of
from mldsa_lab.report.format import Estimate, choose_unit, estimate
from mldsa_lab.report.view import SHOWN_OPERATIONS, Line, View
from mldsa_lab.stats.summary import Row

TITLES = {"sign": "Signing", "verify": "Verification", "keygen": "Key generation"}
"""Headings of the operations."""


@dataclass(frozen=True, slots=True)
class Glance:
    """The fastest of one set and operation, for the overview: labels and colours of those that
    are level, cost, lead in words."""

    names: tuple[tuple[str, int], ...]
    cost: str
    lead: str


def glances(view: View) -> list[tuple[str, list[Glance | None]]]:
    """Per set the fastest compact-key variant of each of `SHOWN_OPERATIONS`."""
    rows: list[tuple[str, list[Glance | None]]] = []
    for set_name in view.sets:
        cells: list[Glance | None] = []
        for operation in SHOWN_OPERATIONS:
            table = view.table(set_name, operation)
            best = best_of(table) if table else None
            if best is None:
                cells.append(None)
                continue
            lead = ""
            if best.lead and best.runner_up:
                lead = f"next: {best.runner_up.label}, ×{best.lead:.2f}"
            elif len(best.names) > 1:
                lead = "their intervals overlap"
            names = tuple((n.label, n.colour) for n in best.level)
            cells.append(Glance(names, best.cost, lead))
        rows.append((set_name, cells))
    return rows


@dataclass(frozen=True, slots=True)
class GateCell:
    """One variant's result in one check over all sets; `cases` 0 where it was not checked."""

    cases: int
    failed: int
    note: str


@dataclass(frozen=True, slots=True)
class GateRow:
    """One variant's way through the gate."""

    variant: str
    sets: str
    passed: bool
    cells: tuple[GateCell, ...]


def gate_matrix(record: Record) -> tuple[list[str], list[GateRow]]:
    """The names of all checks, and a row per variant; several sets are added up."""
    names = list(dict.fromkeys(c.check for g in record.gates for c in g.checks))
    rows = []
    for variant in dict.fromkeys(g.variant for g in record.gates):
        gates = [g for g in record.gates if g.variant == variant]
        cells = [
            _gate_cell([c for g in gates for c in g.checks if c.check == name]) for name in names
        ]
        sets = ", ".join(g.set.removeprefix("ML-DSA-") for g in gates)
        rows.append(GateRow(variant, sets, all(g.passed for g in gates), tuple(cells)))
    return names, sorted(rows, key=lambda r: r.passed)


def _gate_cell(checks: Sequence[Check]) -> GateCell:
    failures = [c.first_failure for c in checks if c.first_failure]
    return GateCell(
        sum(c.cases for c in checks), sum(c.failed for c in checks), "; ".join(failures)
    )


def machine_facts(record: Record) -> list[tuple[str, str]]:
    """The machine as (name, value), values that are unknown said to be so."""
    machine = record.run.machine
    memory = machine.get("memory_bytes")
    gibibytes = f"{memory / 2**30:.1f} GiB" if isinstance(memory, (int, float)) else None
    loads = [row.load1 for row in record.loads if row.load1 is not None]
    load = None
    if loads:
        load = (
            f"{min(loads):.2f} to {max(loads):.2f} (average over a minute, at each round's start)"
        )
    elif machine.get("load1") is not None:
        load = f"{machine['load1']} at the start"
    named = (
        ("Processor", "cpu"), ("Architecture", "architecture"), ("Cores", "cores"),
        ("Frequency governor", "governor"), ("Operating system", "os"), ("Python", "python"),
    )  # fmt: skip
    facts = [(title, _shown(machine.get(key))) for title, key in named]
    facts[3:3] = [("Memory", _shown(gibibytes))]
    facts.append(("Load", _shown(load)))
    compilers = machine.get("compilers")
    if isinstance(compilers, dict):
        facts += [(f"Compiler {name}", _shown(text)) for name, text in compilers.items()]
    known = {key for _, key in named} | {"memory_bytes", "load1", "compilers", "features"}
    facts += [(str(k).replace("_", " "), _shown(v)) for k, v in machine.items() if k not in known]
    facts.append(("CPU features", _shown(machine.get("features"))))
    return facts


def _shown(value: object) -> str:
    if value is None or value == "" or value == []:
        return "not known"
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return str(value)


_FLAGS = (
    "sets", "operations", "implementations", "workers", "rounds", "message_bytes", "reference",
    "clock", "confidence", "timeout",
)  # fmt: skip


def command(record: Record) -> str:
    """The command that measures the same again: same options and same seed, hence same inputs."""
    words = ["mldsa-lab", "bench"]
    if record.run.profile == "quick":
        words.append("--quick")
    for name in _FLAGS:
        value = record.run.options.get(name)
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        if value not in (None, ""):
            words += ["--" + name.replace("_", "-"), str(value)]
    return shlex.join([*words, "--seed", record.run.seed])


def data_link(rows: Sequence[Row]) -> str:
    """The rows as a data: URI of JSON, the same rows that `--json` writes."""
    text = json.dumps([r.as_dict() for r in rows], ensure_ascii=False, indent=1, default=str)
    return "data:application/json;base64," + base64.b64encode(text.encode()).decode()


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One variant over several runs; `change` is the last run's mean over the first's, and
    `ratio_change` the same for the ratio (None for the reference)."""

    label: str
    colour: int
    hollow: bool
    cells: tuple[tuple[Estimate, Estimate] | None, ...]
    overlap: bool | None
    change: float | None
    ratio_change: float | None


@dataclass(frozen=True, slots=True)
class Compared:
    """One set and operation over several runs."""

    set: str
    operation: str
    unit: str
    rows: tuple[ComparedRow, ...]


def compare(views: Sequence[View]) -> list[Compared]:
    """What several runs have in common, ranked by the best mean of each variant."""
    made = []
    sets = list(dict.fromkeys(s for v in views for s in (*v.sets, *v.classical_sets)))
    for set_name in sets:
        for operation in SHOWN_OPERATIONS:
            tables = [v.table(set_name, operation) for v in views]
            found: dict[str, list[Line | None]] = {}
            for index, table in enumerate(tables):
                for line in table.lines if table else ():
                    found.setdefault(line.row.variant, [None] * len(views))[index] = line
            if not found:
                continue
            rows = [n.row for lines in found.values() for n in lines if n]
            stored = rows[0].unit
            if any(r.unit != stored for r in rows):
                continue
            unit = choose_unit([r.mean for r in rows], stored)
            compared = []
            for lines in sorted(found.values(), key=_best_mean):
                first = next(n for n in lines if n)
                cells = tuple(
                    (estimate(n.row.mean, n.row.mean_low, n.row.mean_high, unit), n.ratio)
                    if n
                    else None
                    for n in lines
                )
                ends = lines[0], lines[-1]
                change = ratio_change = None
                if ends[0] and ends[1]:
                    change = _quotient(ends[1].row.mean, ends[0].row.mean)
                    if not (ends[0].is_reference and ends[1].is_reference):
                        ratio_change = _quotient(ends[1].row.ratio, ends[0].row.ratio)
                compared.append(
                    ComparedRow(
                        first.label, first.colour, first.row.key == "expanded", cells,
                        _all_overlap([n.row for n in lines if n]), change, ratio_change,
                    )
                )  # fmt: skip
            made.append(Compared(set_name, operation, unit.name, tuple(compared)))
    return made


def agreement(compared: Sequence[Compared]) -> list[str]:
    """How far the runs agree on signing, in sentences; none if nothing is common."""
    rows = [
        r for c in compared if c.operation == "sign" and c.set.startswith("ML-DSA") for r in c.rows
    ]
    sentences = []
    known = [r.overlap for r in rows if r.overlap is not None]
    if known:
        sentences.append(
            f"The intervals of the mean signing cost have a point in common in all runs for "
            f"{sum(known)} of {len(known)} pairs of implementation and set."
        )
    changes = [abs(r.ratio_change - 1) for r in rows if r.ratio_change is not None]
    if changes:
        sentences.append(
            f"From the first run to the last the ratios to the reference change by "
            f"{100 * median(changes):.1f} % in the median and {100 * max(changes):.1f} % at most."
        )
    return sentences


def _quotient(a: float | None, b: float | None) -> float | None:
    return a / b if a and b else None


def _best_mean(lines: Sequence[Line | None]) -> float:
    return min((n.row.mean for n in lines if n and n.row.mean), default=float("inf"))


def _all_overlap(rows: Sequence[Row]) -> bool | None:
    """Whether all intervals share a point; None for fewer than two intervals."""
    lows = [r.mean_low for r in rows if r.mean_low is not None]
    highs = [r.mean_high for r in rows if r.mean_high is not None]
    if len(lows) < 2 or len(highs) < 2:
        return None
    return max(lows) <= min(highs)


def when(text: str) -> str:
    """`2026-11-21T21:40:00Z` as `2026-11-21 21:40 UTC`; anything else as it is."""
    if len(text) >= 20 and text[10] == "T" and text.endswith("Z"):
        return f"{text[:10]} {text[11:16]} UTC"
    return text


def options_of(record: Record) -> list[tuple[str, Any]]:
    """The run's options as (name, value) for display."""
    return [(str(k).replace("_", " "), _shown(v)) for k, v in record.run.options.items()]
