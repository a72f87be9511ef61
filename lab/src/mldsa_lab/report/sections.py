"""The parts of a page as plain data for its template."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mldsa_lab.records import Check, Record
from mldsa_lab.report.findings import best_of
from mldsa_lab.report.view import SHOWN_OPERATIONS, View
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


def when(text: str) -> str:
    """`2026-11-21T21:40:00Z` as `2026-11-21 21:40 UTC`; anything else as it is."""
    if len(text) >= 20 and text[10] == "T" and text.endswith("Z"):
        return f"{text[:10]} {text[11:16]} UTC"
    return text


def options_of(record: Record) -> list[tuple[str, Any]]:
    """The run's options as (name, value) for display."""
    return [(str(k).replace("_", " "), _shown(v)) for k, v in record.run.options.items()]
