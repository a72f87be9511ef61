"""Marks, warnings and remarks of a run of operations, and its headline cells."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from importlib import resources

from mldsa_lab import join_words
from mldsa_lab.estimate.figure import CUT_SHORT, EXCLUDED, Keys
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.interval import FEWEST_ROUNDS
from mldsa_lab.estimate.summary import MeasuredCell, Summary
from mldsa_lab.records import Check, Record, Variant
from mldsa_lab.sets import ALL_SETS, FAMILIES, PARAMETER_SETS, list_sets
from mldsa_lab.show.figure_tables import RowMark
from mldsa_lab.show.grid import Column, Grid, Unit, choose_unit, heading, text_grid
from mldsa_lab.show.report import (
    COMPACT,
    EXCLUDED_TITLE,
    REJECTED_TITLE,
    Reason,
    Section,
    calls,
    headline_batch_size,
)


@cache
def _read_texts() -> dict[str, list[str]]:
    text = resources.files(__package__).joinpath("texts.md").read_text(encoding="utf-8")
    parts = (part.strip().split("\n\n") for part in f"\n{text}".split("\n# ")[1:])
    return {title: paragraphs for title, *paragraphs in parts}


def texts(title: str) -> list[str]:
    """Return the paragraphs of this title; none if it has none."""
    return _read_texts().get(title, [])


# Headline cells.


SHOWN_OPERATIONS = (
    "sign", "verify", "encaps", "decaps", "keygen", "hash", "handshake", "accept", "lookup",
)  # fmt: skip
"""Operations in the order of a report: signing first, which differs most."""
MAIN_SET = "ML-DSA-65"
"""The set that a headline is of, where it was measured; else the first one."""


def measured_sets(summary: Summary) -> list[str]:
    """Return the ML-DSA sets that were measured, in canonical order."""
    present = {key[0] for key in summary.tables}
    return [s for s in PARAMETER_SETS if s in present]


def main_set(summary: Summary) -> str | None:
    """Return the set that represents all; None where no ML-DSA was measured."""
    sets = measured_sets(summary)
    return MAIN_SET if MAIN_SET in sets else next(iter(sets), None)


def other_families(summary: Summary) -> list[str]:
    """Return the families other than ML-DSA that were measured."""
    present = {key[0] for key in summary.tables}
    return [f for f in FAMILIES if f != "ml-dsa" and present.intersection(list_sets(f))]


def shown_tables(summary: Summary) -> list[tuple[tuple[str, str, str], list[MeasuredCell]]]:
    """Return the tables of a summary in the order of a report."""
    places = {name: place for place, name in enumerate((*ALL_SETS, *SHOWN_OPERATIONS))}
    return sorted(summary.tables.items(), key=lambda t: (places[t[0][0]], places[t[0][1]]))


def unit_of(cells: Sequence[MeasuredCell]) -> Unit:
    """Return the unit in which the means of these cells are shown."""
    return choose_unit([c.cost for c in cells], cells[0].unit)


def fitted(summary: Summary, set_name: str) -> list[tuple[MeasuredCell, Fit]]:
    """Return the single signatures of a set that have a fit, fastest first."""
    return [(c, c.fit) for c in summary.table(set_name, "sign") if c.fit is not None]


def best_cells(cells: Iterable[MeasuredCell], key: str = "compact") -> list[MeasuredCell]:
    """Return the best variant of each implementation with this key form, the fastest first. Where
    both builds were measured, of the default ones: those are what a user of the library gets."""
    best: dict[str, MeasuredCell] = {}
    for cell in cells:
        if cell.variant.key == key and not cell.is_duplicate_build:
            best.setdefault(cell.variant.implementation, cell)
    return list(best.values())


def headline_cells(summary: Summary, set_name: str, operation: str) -> list[MeasuredCell]:
    """Return the best cell of each implementation and way of calling, on one thread.

    These are single calls and batches of the headline's size, in default builds where both were
    measured.
    """
    cells = [c for c in summary.cells if c.set == set_name and c.mean is not None]
    size = headline_batch_size(c.variant for c in cells)
    best: dict[tuple[str, str], MeasuredCell] = {}
    for cell in cells:
        v = cell.variant
        is_shown = v.batch_size == (size if v.mode == "batch" else 1) and v.threads == 1
        if cell.operation == operation and is_shown and not cell.is_duplicate_build:
            best.setdefault((v.implementation, calls(v)), cell)
    return list(best.values())


def is_expanded_only(summary: Summary, cell: MeasuredCell) -> bool:
    """Return whether this is its implementation's best cell of an operation that it does not
    announce with a compact key."""
    return _is_best_expanded(summary, cell) and not _find_compact(cell)


def is_excluded_compact(summary: Summary, cell: MeasuredCell) -> bool:
    """Return whether this is its implementation's best cell of an operation that was excluded with
    a compact key before it was measured."""
    record = summary.record
    bad = {gate.variant for gate in record.gates if gate.set == cell.set and not gate.passed}
    bad |= {f.variant for f in record.faults if f.concerns(cell.set, cell.operation)}
    return _is_best_expanded(summary, cell) and any(v.id in bad for v in _find_compact(cell))


def _is_best_expanded(summary: Summary, cell: MeasuredCell) -> bool:
    """Return whether this is its implementation's best single call, where none is with a compact
    key."""
    name = cell.variant.implementation
    single = [
        c for c in headline_cells(summary, cell.set, cell.operation)
        if c.variant.mode == "single" and c.variant.implementation == name
    ]  # fmt: skip
    return single[:1] == [cell] and all(c.variant.key != "compact" for c in single)


def _find_compact(cell: MeasuredCell) -> list[Variant]:
    """Return the variants with a compact key that its worker announces for the same."""
    return [
        v
        for v in cell.worker.variants
        if v.implementation == cell.variant.implementation
        and (v.key, v.runs) == ("compact", False)
        and cell.set in v.sets
        and cell.operation in v.operations
    ]


# Marks, warnings and remarks.


def is_hedged(keys: Keys) -> bool:
    """Return whether figures of these keys and attributes are of hedged signatures."""
    is_signing = keys.get("operation") == "sign" and keys.get("set") in PARAMETER_SETS
    return is_signing and keys.get("deterministic") is False


def _is_for_compact(keys: Keys) -> bool:
    """Return whether an expanded key replaces a missing compact one in an overview."""
    return keys.get("calls") == COMPACT and keys.get("key") == "expanded"


def marks(summary: Summary) -> tuple[RowMark, ...]:
    """Return the marks of rows of a run."""
    # A fact about all is shown once, as a warning.
    few_everywhere = has_few_rounds(summary)
    return (
        RowMark(
            "h",
            "signs hedged only, so it was measured on random inputs: the luck of their attempts is "
            "part of its interval",
            lambda figure, keys: figure.name == "mean" and is_hedged(keys),
        ),
        RowMark(
            "e",
            "has no compact key for some operation: its time with an expanded key, made beforehand",
            lambda figure, keys: _is_for_compact(keys) and figure.verdict != EXCLUDED,
        ),
        RowMark(
            "x",
            "excluded with a compact key, for the reason below",
            lambda figure, keys: _is_for_compact(keys) and figure.verdict == EXCLUDED,
        ),
        RowMark(
            "w",
            "wall-clock time, where others have the thread's processor time",
            lambda figure, keys: figure.name == "samples" and figure.keys["clock"] == "wall"
            and keys["asked_clock"] == "cpu" and keys["unit"] == "ns",
        ),
        RowMark(
            "f",
            f"measured in fewer than {FEWEST_ROUNDS} rounds: no interval",
            lambda figure, keys: figure.name == "rounds" and not few_everywhere
            and (figure.value or 0) < FEWEST_ROUNDS,
        ),
        RowMark(
            "n",
            "see the notes on single figures",
            lambda figure, keys: figure.name == "mean" and bool(figure.notes),
        ),
        RowMark(
            "!",
            "left out part-way through the run; the rounds before that count",
            lambda figure, keys: figure.verdict == CUT_SHORT,
        ),
    )  # fmt: skip


def has_few_rounds(summary: Summary) -> bool:
    """Return whether every cell has too few rounds for an interval."""
    return all(len(cell.samples.rounds) < FEWEST_ROUNDS for cell in summary.cells)


def warnings(summary: Summary) -> list[str]:
    """Return the reasons why all figures are doubtful."""
    record, warnings, rounds = summary.record, [], summary.rounds
    if record.is_interrupted:
        noun = "round" if rounds == 1 else "rounds"
        warnings.append(
            f"This run was interrupted after {rounds} {noun} (the last may be incomplete): what "
            "was measured until then is shown."
        )
    cores, load = _find_load(record)
    # The bench itself is one running thread.
    busy = record.busy or (word_load(record) if cores and load > 1 + cores / 2 else "")
    if busy:
        warnings.append(
            f"The machine was busy with other work: {busy}. Ratios suffer less from that than "
            "absolute times. Rerun when it is idle."
        )
    warnings += record.warnings + list(summary.notes if summary.cells else ())
    if summary.tables and has_few_rounds(summary):
        warnings.append(
            f"Every figure rests on fewer than {FEWEST_ROUNDS} rounds: there are no intervals."
        )
    return warnings


def _find_load(record: Record) -> tuple[int, float]:
    """Return the cores and the largest load at the starts of rounds; 0 where they are not known."""
    cores = record.run.machine.get("cores")
    loads = [row.load1 for row in record.loads if row.load1 is not None]
    return cores if isinstance(cores, int) else 0, max(loads, default=0.0)


def word_load(record: Record) -> str:
    """Return the largest load at the starts of rounds; "" where it is not known."""
    cores, load = _find_load(record)
    return f"load average up to {load:.1f} on {cores} cores" if cores and load else ""


def remarks(summary: Summary, shown: Collection[str]) -> dict[str, list[Reason]]:
    """Return remarks by title: the marks that are ``shown``, rejected and excluded variants, notes,
    skipped workers."""
    record = summary.record
    rejected: dict[tuple[str, str], list[str]] = defaultdict(list)
    for gate in record.gates:
        if not gate.passed:
            rejected[gate.variant, gate.reason].append(gate.set)
    notes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for cell in summary.cells:
        for note in cell.notes:
            notes[cell.variant.id, note].append(f"{cell.set} {cell.operation}")
    faults = []
    for fault in record.faults:
        parts = [fault.set or "all sets", fault.operation or "all operations"]
        parts += [f"from round {fault.round + 1} on"] if fault.round is not None else []
        faults.append(Reason(fault.variant, ", ".join(parts), fault.reason))
    titled = {
        "Marks": [Reason(m.letter, "", m.text) for m in marks(summary) if m.letter in shown],
        REJECTED_TITLE: _join_places(rejected),
        EXCLUDED_TITLE: faults,
        "Notes on single figures": _join_places(notes),
        "Workers that could not run here": [Reason(s.worker, "", s.reason) for s in record.skipped],
    }
    return {title: listed for title, listed in titled.items() if listed}


def _join_places(places: dict[tuple[str, str], list[str]]) -> list[Reason]:
    """Return a remark per subject and reason, which names all its places."""
    return [Reason(who, join_words(where), reason) for (who, reason), where in places.items()]


# The gate, the machine and the command.


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
    grids = [(MACHINE, grid) for grid in _list_workers(record)]
    if record.gates:
        grids.insert(0, (GATE, gate_grid(record)))
    reproduction = [
        f"The run of {format_time(run.started)} with {run.tool}, profile {run.profile}, {rows} "
        "rows. In a clone of the repository, after `make bench` has set it up:",
        f"`{command(record)}`",
        f"Seed of the inputs: `{run.seed}`",
    ]
    words = {
        GATE: texts(GATE) if record.gates else ["The record has no gate results."],
        MACHINE: [] if record.workers else ["No worker took part."],
        REPRODUCE: reproduction,
    }
    options = [
        (name.replace("_", " "), "default" if value in (None, "", []) else _word_value(value))
        for name, value in run.options.items()
    ]
    sections = [Section(grid, chapter=chapter, is_page_only=True) for chapter, grid in grids]
    return sections, words, {MACHINE: machine_facts(record), REPRODUCE: options}


def gate_grid(record: Record) -> Grid:
    """Return a row per variant, the rejected ones first, and a column per kind of check.

    A kind is the first word of a check's name: `refuses-z` and `refuses-hint` are of one kind.
    Checks of one kind and several sets are added up.
    """
    names = dict.fromkeys(g.variant for g in record.gates)
    gates = {v: [g for g in record.gates if g.variant == v] for v in names}
    variants = sorted(gates, key=lambda v: all(g.passed for g in gates[v]))
    sets = [", ".join(g.set.removeprefix("ML-DSA-") for g in gates[v]) for v in variants]
    verdicts = ["✓ passed" if all(g.passed for g in gates[v]) else "✗ rejected" for v in variants]
    columns = [
        Column("variant", variants, is_head=True),
        Column("sets", sets), Column("verdict", verdicts),
    ]  # fmt: skip
    for kind in dict.fromkeys(_kind(c) for g in record.gates for c in g.checks):
        each = [[c for g in gates[v] for c in g.checks if _kind(c) == kind] for v in variants]
        cells, hints = zip(*map(_word_gate, each), strict=True)
        columns.append(Column(kind, cells, hints=hints))
    return Grid(GATE, "", tuple(columns))


def _kind(check: Check) -> str:
    return check.check.split("-")[0]


def _word_gate(checks: Sequence[Check]) -> tuple[str, str]:
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


def _list_workers(record: Record) -> Iterator[Grid]:
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
    return [(heading(name), _word_value(value)) for name, value in facts.items()]


def _word_value(value: object) -> str:
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


def explain_empty(record: Record) -> str:
    """Return the reason why a run has no measurements."""
    if record.gates and not any(gate.passed for gate in record.gates):
        return "no variant passed the correctness gate"
    if not record.workers:
        return "no worker took part"
    return "it ended before the first sample, or everything was excluded"


def format_time(text: str) -> str:
    """Return `2026-11-21T21:40:00Z` as `2026-11-21 21:40 UTC`; anything else as it is."""
    if len(text) >= 20 and text[10] == "T" and text.endswith("Z"):
        return f"{text[:10]} {text[11:16]} UTC"
    return text
