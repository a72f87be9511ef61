"""What the page of a run of operations says of the gate, the machine and the command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from mldsa_lab.records import Check, Record
from mldsa_lab.show.grid import Column, Grid, heading, text_grid
from mldsa_lab.show.operations.texts import texts
from mldsa_lab.show.report import Section
from mldsa_lab.wording import join_words

GATE, MACHINE, REPRODUCE = "Correctness gate", "Machine and workers", "Reproduce"
_FACTS = {
    "cpu": "processor", "governor": "frequency governor", "os": "operating system",
    "load1": "load, average over a minute",
}  # fmt: skip
_SIGNS = {"given": "any rnd", "zero": "deterministic", "none": "hedged only"}
_OPTIONS = {"batch_sizes": "--batch", "thread_counts": "--threads"}
_FLAGS = (
    "sets", "operations", "implementations", "workers", "rounds", "message_bytes", "reference",
    "until", "limit", "clock", "confidence", "timeout", "batch_sizes", "thread_counts", "build",
)  # fmt: skip


Facts = list[tuple[str, str]]


def appendix(
    record: Record, rows: int
) -> tuple[list[Section], dict[str, list[str]], dict[str, Facts]]:
    """Return the last chapters of a page (gate, machine and workers, and how to measure again):
    tables, and paragraphs and facts by chapter. ``rows``: those of the table."""
    run = record.run
    grids = [(MACHINE, grid) for grid in _workers(record)]
    if record.gates:
        grids.insert(0, (GATE, gate_grid(record)))
    again = [
        f"The run of {when(run.started)} with {run.tool}, profile {run.profile}, {rows} rows. In a "
        "clone of the repository, after `make bench` has set it up:",
        f"`{command(record)}`",
        f"Seed of the inputs: `{run.seed}`",
    ]
    words = {
        GATE: texts(GATE) if record.gates else ["The record holds no gate results."],
        MACHINE: [] if record.workers else ["No worker took part."],
        REPRODUCE: again,
    }
    options = [
        (name.replace("_", " "), "default" if value in (None, "", []) else _shown(value))
        for name, value in run.options.items()
    ]
    sections = [Section(grid, chapter=chapter, only_page=True) for chapter, grid in grids]
    return sections, words, {MACHINE: machine_facts(record), REPRODUCE: options}


def gate_grid(record: Record) -> Grid:
    """Return a row per variant, the rejected ones first, and a column per kind of check.

    A kind is the first word of a check's name (`refuses-z` and `refuses-hint` are of one kind);
    checks of one kind and several sets are added up.
    """
    names = dict.fromkeys(g.variant for g in record.gates)
    gates = {v: [g for g in record.gates if g.variant == v] for v in names}
    variants = sorted(gates, key=lambda v: all(g.passed for g in gates[v]))
    sets = [", ".join(g.set.removeprefix("ML-DSA-") for g in gates[v]) for v in variants]
    verdicts = ["✓ passed" if all(g.passed for g in gates[v]) else "✗ rejected" for v in variants]
    columns = [
        Column("variant", variants, head=True), Column("sets", sets), Column("verdict", verdicts),
    ]  # fmt: skip
    for kind in dict.fromkeys(_kind(c) for g in record.gates for c in g.checks):
        of = [[c for g in gates[v] for c in g.checks if _kind(c) == kind] for v in variants]
        cells, hints = zip(*map(_gate_cell, of), strict=True)
        columns.append(Column(kind, cells, hints=hints))
    return Grid(GATE, "", tuple(columns))


def _kind(check: Check) -> str:
    return check.check.split("-")[0]


def _gate_cell(checks: Sequence[Check]) -> tuple[str, str]:
    """A variant's result in one kind of check, and the cases of each check."""
    cases: dict[str, int] = {}
    for c in checks:
        cases[c.check] = cases.get(c.check, 0) + c.cases
    total, failed = sum(cases.values()), sum(c.failed for c in checks)
    hint = ", ".join(f"{name} {count}" for name, count in cases.items())
    if not total:
        return "–", ""
    if not failed:
        return f"{total} right", hint
    names = join_words(dict.fromkeys(c.check for c in checks if c.failed))
    return f"✗ {failed} wrong of {total} ({names})", hint


def _workers(record: Record) -> Iterator[Grid]:
    """The workers and their variants."""
    if not record.workers:
        return
    workers = [
        (w.worker, w.language, w.build or "–", w.compiler, w.flags, w.clock, w.cpu_clock or "none")
        for w in record.workers
    ]
    variants = [
        (
            v.id, v.version, w.worker,
            _SIGNS.get(v.rnd, v.rnd) if v.family == "ml-dsa" else "–", v.note,
        )
        for v, w in record.variants.values()
    ]  # fmt: skip
    about = ("worker", "written in", "build", "compiler", "flags", "clock", "CPU clock")
    yield text_grid("Workers", "", about, workers)
    yield text_grid("Variants", "", ("variant", "version", "worker", "signs", "note"), variants)


def machine_facts(record: Record) -> Facts:
    """Return the machine as (name, value), values that are unknown said to be so."""
    machine: dict[str, object] = dict(record.run.machine)
    memory, features = machine.pop("memory_bytes", None), machine.pop("features", None)
    compilers = machine.pop("compilers", None)
    loads = [row.load1 for row in record.loads if row.load1 is not None]
    if loads:
        machine["load1"] = f"{min(loads):.2f} to {max(loads):.2f} at the rounds' starts"
    facts = {_FACTS.get(name, name.replace("_", " ")): value for name, value in machine.items()}
    facts["memory"] = f"{memory / 2**30:.1f} GiB" if isinstance(memory, (int, float)) else None
    if isinstance(compilers, dict):
        facts |= {f"compiler {name}": text for name, text in compilers.items()}
    facts["CPU features"] = features
    return [(heading(name), _shown(value)) for name, value in facts.items()]


def _shown(value: object) -> str:
    if value is None or value == "" or value == []:
        return "not known"
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return str(value)


def command(record: Record) -> str:
    """Return the command that measures the same again: same options and same seed, hence same
    inputs."""
    words = ["mldsa-lab", "bench"] + ["--quick"] * (record.run.profile == "quick")
    for name in _FLAGS:
        value = record.run.options.get(name)
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        if value not in (None, ""):
            words += [_OPTIONS.get(name, "--" + name.replace("_", "-")), str(value)]
    return shlex.join([*words, "--seed", record.run.seed])


def why_empty(record: Record) -> str:
    """Return why a run holds no measurements."""
    if record.gates and not any(gate.passed for gate in record.gates):
        return "no variant passed the correctness gate"
    if not record.workers:
        return "no worker took part"
    return "it ended before the first sample, or everything was excluded"


def when(text: str) -> str:
    """Return `2026-11-21T21:40:00Z` as `2026-11-21 21:40 UTC`; anything else as it is."""
    if len(text) >= 20 and text[10] == "T" and text.endswith("Z"):
        return f"{text[:10]} {text[11:16]} UTC"
    return text
