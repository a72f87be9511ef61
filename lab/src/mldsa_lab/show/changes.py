"""What changed between two runs, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from mldsa_lab.estimate.change import FASTER, SLOWER, UNCHANGED, CellChange, Changes
from mldsa_lab.estimate.fit import COSTS
from mldsa_lab.show.format import UNKNOWN, choose_unit, clean, estimate, plain
from mldsa_lab.show.grid import Column, Grid, terminal

FORMAT = "mldsa-lab comparison"
VERSION = 1
_TITLES = dict(zip(COSTS, ("first", "z attempt", "r0 attempt", "hint attempt"), strict=True))
_MOST = 40  # rows of a table, unless all are asked for
_ORDER = (SLOWER, FASTER, UNCHANGED)


def _first(found: Changes, every: bool) -> tuple[CellChange, ...]:
    """The cells to show, those that changed first and then by the size of the change; the order of
    sets and operations where they are few, or all are wanted."""
    cells = sorted(found.cells, key=lambda c: _ORDER.index(c.verdict))
    if len(cells) > _MOST and not every:
        changed = sum(c.verdict != UNCHANGED for c in cells)
        rest = sorted(cells[changed:], key=lambda c: -abs(c.effect.value - 1))
        cells = (cells[:changed] + rest)[: max(_MOST, changed)]
    return tuple(cells)


def grids(found: Changes, confidence: float, every: bool) -> Iterator[Grid]:
    """A table of the cells, and one of signing by classes of traces."""
    cells = _first(found, every)
    over = f", over {found.reference}'s own change" if found.reference else ""
    shown = []
    for cell in cells:
        unit = choose_unit([cell.before.mean, cell.after.mean], cell.after.unit)
        shown.append(f"{plain(cell.before.mean, unit)} → {plain(cell.after.mean, unit)}{unit.name}")
    yield Grid(
        "Changes", f"cost in the second run over that in the first{over}",
        (
            Column("set", [c.after.set for c in cells]),
            Column("operation", [c.after.operation for c in cells]),
            Column("variant", [_name(c) for c in cells], head=True),
            Column("mean", shown, spare=2),
            Column("change", [estimate(c.effect) for c in cells], number=True),
            Column("verdict", [verdict(c) for c in cells]),
        ),
        confidence,
    )  # fmt: skip
    signing = [c for c in cells if c.classes]
    if signing:
        columns = [
            Column(_TITLES[name], [
                estimate(c.classes[name]) if name in c.classes else UNKNOWN for c in signing
            ], number=True, spare_interval=1)
            for name in COSTS
        ]  # fmt: skip
        yield Grid(
            "Signing by classes of traces",
            "a signature accepted at the first attempt, and an attempt rejected there",
            (
                Column("set", [c.after.set for c in signing]),
                Column("variant", [_name(c) for c in signing], head=True),
                *columns,
            ),
            confidence,
        )


def verdict(cell: CellChange) -> str:
    """The verdict in words, with what else differs."""
    codes = ", ".join(_WHAT[reason.code] for reason in cell.reasons)
    return f"{cell.verdict}, but {codes}" if codes else cell.verdict


_WHAT = {
    "clock": "another clock", "signing": "hedging changed", "inputs": "other inputs",
    "machine": "other machine", "backend": "other backend", "flags": "other flags",
}  # fmt: skip


def _name(cell: CellChange) -> str:
    before, after = cell.before, cell.after
    name = after.variant
    if before.variant != after.variant:
        name = f"{before.variant} → {after.variant}"
    if before.version != after.version:
        name += f" ({before.version} → {after.version})"
    return name


def sentences(found: Changes, every: bool) -> Iterator[str]:
    """What the table does not say by itself."""
    left = len(found.cells) - len(_first(found, every))
    if left:
        yield f"and {left} more cells, in which no change is seen: --all shows them"
    told: dict[str, int] = {}
    for cell in found.cells:
        for reason in cell.reasons:
            told[reason.text] = told.get(reason.text, 0) + 1
    for text, times in told.items():
        yield f"{text} ({times} of {len(found.cells)} cells)"
    for which, keys in zip(("first", "second"), found.only, strict=True):
        if keys:
            names = ", ".join(dict.fromkeys(variant for variant, _, _ in keys))
            yield f"only in the {which} run: {len(keys)} cells of {names}"
    if found.spread is not None:
        yield (
            f"from run to run costs differ by {100 * found.spread:.1f} % (root mean square over "
            "cells), and a cell's interval holds what other implementations differ by"
        )
    elif found.shared:
        yield "both stand in the same rounds, so that what these felt alike cancels"
    else:
        yield (
            "too few other implementations are in both runs to show how runs differ by "
            "themselves: the intervals hold what rounds show, and no more"
        )


def print_changes(found: Changes, console: Console, confidence: float, every: bool) -> None:
    """Print the tables, of `_MOST` cells or of ``every`` one, and what they rest on."""
    for grid in grids(found, confidence, every):
        console.print(terminal(grid, console.width))
        console.print()
    for text in sentences(found, every):
        console.print(Text(clean(text), style="dim"))


def as_json(found: Changes, confidence: float) -> dict[str, Any]:
    """The object that `--json` writes; docs/records.md describes it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "confidence": confidence,
        "reference": found.reference,
        "spread": found.spread,
        "cells": [_cell(cell) for cell in found.cells],
    }


def _cell(cell: CellChange) -> dict[str, Any]:
    after = cell.after
    return {
        "set": after.set,
        "operation": after.operation,
        "variant": [cell.before.variant, after.variant],
        "version": [cell.before.version, after.version],
        "mean": list(cell.mean),
        "anchored": None if cell.anchored is None else list(cell.anchored),
        "effect": list(cell.effect),
        "classes": {name: list(interval) for name, interval in cell.classes.items()},
        "reasons": [reason._asdict() for reason in cell.reasons],
        "verdict": cell.verdict,
    }


def failures(found: Changes, percent: float) -> Sequence[str]:
    """A line for each cell that is slower by more than so many percent."""
    return [
        f"{c.after.set} {c.after.operation} {_name(c)}: {estimate(c.effect)}"
        for c in found.judged
        if c.above(1 + percent / 100)
    ]
