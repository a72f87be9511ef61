"""Marks of rows, warnings and remarks of a run of operations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from mldsa_lab.estimate.contract import CUT_SHORT, EXCLUDED
from mldsa_lab.estimate.figure import Keys
from mldsa_lab.estimate.interval import FEWEST_ROUNDS
from mldsa_lab.estimate.summary import Summary
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.show.figure_tables import RowMark
from mldsa_lab.show.report import EXCLUDED_TITLE, REJECTED_TITLE, Reason
from mldsa_lab.show.variants import COMPACT
from mldsa_lab.wording import join_words


def is_hedged(keys: Keys) -> bool:
    """Return whether figures of these keys and attributes are of hedged signatures."""
    is_signing = keys.get("operation") == "sign" and keys.get("set") in PARAMETER_SETS
    return is_signing and keys.get("deterministic") is False


def _for_compact(keys: Keys) -> bool:
    """Return whether an expanded key stands in an overview for a missing compact one."""
    return keys.get("calls") == COMPACT and keys.get("key") == "expanded"


def marks(summary: Summary) -> tuple[RowMark, ...]:
    """Return the marks of rows of a run."""
    # What holds for all is said once, as a warning.
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
            lambda figure, keys: _for_compact(keys) and figure.verdict != EXCLUDED,
        ),
        RowMark(
            "x",
            "excluded with a compact key, for the reason below",
            lambda figure, keys: _for_compact(keys) and figure.verdict == EXCLUDED,
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
    """Return what makes all figures doubtful."""
    record, made, rounds = summary.record, [], summary.rounds
    if record.interrupted:
        noun = "round" if rounds == 1 else "rounds"
        made.append(
            f"This run was interrupted after {rounds} {noun} (the last may be incomplete): what "
            "was measured until then is shown."
        )
    cores = record.run.machine.get("cores")
    loads = [row.load1 for row in record.loads if row.load1 is not None]
    busy = record.busy
    # The bench itself is one running thread.
    if not busy and isinstance(cores, int) and loads and max(loads) > 1 + cores / 2:
        busy = f"load average up to {max(loads):.1f} on {cores} cores"
    if busy:
        made.append(
            f"The machine was busy with other work: {busy}. Ratios suffer less from that than "
            "absolute times."
        )
    made += record.warnings + list(summary.notes if summary.cells else ())
    if summary.tables and has_few_rounds(summary):
        made.append(
            f"Every figure rests on fewer than {FEWEST_ROUNDS} rounds: there are no intervals."
        )
    return made


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
        REJECTED_TITLE: _joined(rejected),
        EXCLUDED_TITLE: faults,
        "Notes on single figures": _joined(notes),
        "Workers that could not run here": [Reason(s.worker, "", s.reason) for s in record.skipped],
    }
    return {title: listed for title, listed in titled.items() if listed}


def _joined(found: dict[tuple[str, str], list[str]]) -> list[Reason]:
    """A remark per subject and reason, the places it holds for named together."""
    return [Reason(who, join_words(places), reason) for (who, reason), places in found.items()]
