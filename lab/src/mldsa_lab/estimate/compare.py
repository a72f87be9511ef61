"""Comparison of runs: what changed, cell by cell, and what else than the code differs.

A run's rounds show how its own figures scatter, not how a second run of the same programs would
differ: another place in memory, another neighbour. The changes of other implementations from one
run to the other show that too, so each change is judged beside theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from scipy.special import stdtrit

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import CellEstimate, of_inputs, ratio, with_ticks
from mldsa_lab.estimate.contract import APART, FASTER, OVERLAPPING, SLOWER, UNCHANGED
from mldsa_lab.estimate.figure import Figure, Figures, Key, Keys
from mldsa_lab.estimate.fit import COSTS
from mldsa_lab.estimate.interval import Interval, combine, median_over_rounds, quotient
from mldsa_lab.estimate.measured_cell import MeasuredCell
from mldsa_lab.estimate.summary import Summary
from mldsa_lab.records import InputRow
from mldsa_lab.sets import ALL_SETS, OPERATIONS

# What tells machines apart; a property that one record lacks tells nothing.
_MACHINE = (
    "cpu", "vendor", "family", "model", "stepping", "microcode", "architecture", "cores", "smt",
    "boost", "governor", "hypervisor", "frequency_khz",
)  # fmt: skip
# With fewer other implementations nothing shows how runs differ.
_OTHERS = 3

Pair = tuple[MeasuredCell, MeasuredCell]


def compare(summaries: Sequence[Summary], pairs: Sequence[tuple[str, str]] = ()) -> Figures:
    """Return the figures of each cell over several runs, in the order of sets and operations.

    ``mean`` and ``ratio`` of each ``run`` (a key, from 1 on). Cost in the last run over that in the
    first: ``change`` of the mean and of the ratio to the reference, whose verdict says whether the
    intervals of all runs overlap; ``effect``, the one of both to judge by, its interval widened by
    the changes of other implementations, with its verdict, and notes of what else differs;
    ``attempt_change``: the same by classes of traces. ``spread``:
    root mean square of the logarithms of other implementations' changes; its note says why it is
    unknown. A cell that is not in both has no ``effect``, and a note that says so.

    ``summaries``: of each run, with the same reference, clock and confidence. ``pairs``: variants
    or implementations, one of the first run and one of the last, where they are not compared with
    themselves (or with the only other backend, if there is one). Two of one run are paired by its
    rounds. LabError for two records of one run without pairs, and for unknown names in pairs.
    """
    first, last, confidence = summaries[0], summaries[-1], summaries[0].confidence
    same = first.record.identity == last.record.identity
    if same and not pairs:
        raise LabError("compare: both records are of one run: name what to compare with --pair")
    matched = list(_named(first, last, pairs) if pairs else _matched(first, last))
    anchor = None if same else _anchor(first, last)
    found = [_change(first, last, pair, anchor, same, confidence) for pair in matched]
    # How runs differ is no matter where both stand in the same rounds.
    cells = found if same else [_widen(cell, found, confidence) for cell in found]
    lines: list[tuple[_Change | None, list[MeasuredCell | None]]] = []
    for cell in cells:
        before, after = cell.pair
        between = (run.by_id.get(after.id) for run in summaries[1:-1])
        lines.append((cell, [before, *between, after]))
    if not pairs:
        used = {row.id for _, rows in lines for row in rows if row}
        rest = dict.fromkeys(key for run in summaries for key in run.by_id if key not in used)
        lines += [(None, [run.by_id.get(key) for run in summaries]) for key in rest]
    lines.sort(key=lambda line: _order(next(filter(None, line[1]))))
    figures = [f for cell, rows in lines for f in _figures(cell, rows)]
    rows = [row for _, of in lines for row in of if row is not None]
    about: dict[str, dict[Any, Keys]] = {
        "variant": {row.variant.id: row.worker.about(row.variant) for row in rows},
        "run": {n: run.record.facts() for n, run in enumerate(summaries, 1)},
    }
    head: dict[str, Key] = {
        "reference": first.reference, "asked_clock": first.clock, "confidence": confidence,
    }  # fmt: skip
    return Figures([*figures, _spread_figure(found, anchor, same)], about, head)


@dataclass(frozen=True)
class _Change:
    """A cell in both runs; ``anchored``: whether ``effect`` is the change of the ratio."""

    pair: Pair
    change: Interval
    ratio_change: Interval | None
    anchored: bool
    classes: dict[str, Interval]
    reasons: tuple[str, ...]
    effect: Interval

    @property
    def verdict(self) -> str:
        """Which way the cost changed, as far as the interval shows it."""
        if self.effect.low is not None and self.effect.low > 1:
            return SLOWER
        if self.effect.high is not None and self.effect.high < 1:
            return FASTER
        return UNCHANGED


def _estimate(row: MeasuredCell) -> CellEstimate:
    assert row.estimate is not None  # as in all rows of `Summary.by_id`
    return row.estimate


def _inputs(run: Summary, row: MeasuredCell) -> list[InputRow]:
    """The inputs that a row rests on."""
    return [run.inputs[row.set, number] for number in _estimate(row).inputs]


def _order(row: MeasuredCell) -> tuple[int, int]:
    return ALL_SETS.index(row.set), OPERATIONS.index(row.operation)


# --- which cells ----------------------------------------------------------------------------------


def _named(first: Summary, last: Summary, pairs: Iterable[tuple[str, str]]) -> Iterator[Pair]:
    for one, other in pairs:
        for run, name in ((first, one), (last, other)):
            variants = run.record.variants
            if not any(name in v.names for v, _ in variants.values()):
                known = ", ".join(variants)
                raise LabError(f"--pair: unknown {name!r}: that run has {known}")
        before, after = _rows_named(first, one), _rows_named(last, other)
        if not before.keys() & after.keys():
            raise LabError(f"--pair: {one} and {other} have no set and operation in common")
        yield from ((row, after[what]) for what, row in before.items() if what in after)


def _rows_named(run: Summary, name: str) -> dict[tuple[str, str], MeasuredCell]:
    """By set and operation; of an implementation the variant that ratios would be to."""
    found: dict[tuple[str, str], MeasuredCell] = {}
    rows = [r for r in run.by_id.values() if name in r.variant.names]

    def order(row: MeasuredCell) -> tuple[bool, bool, str, int]:
        v = row.variant
        return v.id != name, v.key != "compact", v.mode, v.batch_size

    for row in sorted(rows, key=order):
        found.setdefault((row.set, row.operation), row)
    return found


def _matched(first: Summary, last: Summary) -> Iterator[Pair]:
    """Each variant with itself; one whose backend or build is new with the one that it replaces."""
    yield from ((row, last.by_id[key]) for key, row in first.by_id.items() if key in last.by_id)
    rest = [[r for key, r in one.by_id.items() if key not in other.by_id]
            for one, other in ((first, last), (last, first))]  # fmt: skip
    for row in rest[0]:
        mine, others = ([r for r in of if _kind(r) == _kind(row)] for of in rest)
        if len(mine) == len(others) == 1:
            yield row, others[0]


def _kind(row: MeasuredCell) -> tuple[Key, ...]:
    """What a row has in common with one that it replaces."""
    v = row.variant
    return v.implementation, v.key, v.mode, v.batch_size, v.threads, row.set, row.operation


def _anchor(first: Summary, last: Summary) -> str | None:
    """The reference, where both runs have the same build of the same version of it."""
    found = [
        {(v.id, v.version, w.compiler, w.flags) for v, w in run.record.variants.values()
         if run.reference in v.names}
        for run in (first, last)
    ]  # fmt: skip
    return first.reference if found[0] & found[1] else None


# --- how a cell changed ---------------------------------------------------------------------------


def _change(
    first: Summary, last: Summary, pair: Pair, anchor: str | None, same: bool, confidence: float
) -> _Change:
    before, after = pair
    one, other = _estimate(before), _estimate(after)
    if same:
        change = ratio(other, one, confidence)
    elif one.level is None or other.level is None:
        change = quotient(other.mean, one.mean)
    else:
        alike = _content(_inputs(first, before)) == _content(_inputs(last, after))
        change = of_inputs(other, one, confidence) if alike else quotient(other.inner, one.inner)
        for level in (one.level, other.level):
            change = combine(change, median_over_rounds(level), confidence).of_rounds(len(level))
        change = with_ticks(change, other, one)
    ratios = before.interval("ratio"), after.interval("ratio")
    ratio_change = None
    if not same and ratios[0] and ratios[1] and any(r != Interval(1.0, 1.0, 1.0) for r in ratios):
        ratio_change = quotient(ratios[1], ratios[0])
    is_reference = anchor in (before.variant.implementation, before.variant.id)
    effect = ratio_change if anchor and ratio_change and not is_reference else change
    classes = {}
    if one.fit is not None and other.fit is not None:
        costs = [fit.costs(confidence) for fit in (one.fit, other.fit)]
        rounds = min(len(one.rounds), len(other.rounds))
        classes = {
            name: quotient(costs[1][name], costs[0][name])
            .of_rounds(rounds)
            .times(effect.value / change.value)
            for name in COSTS
            if min(costs[0][name].value, costs[1][name].value) > 0
        }
    reasons = tuple(_reasons(first, last, pair))
    return _Change(pair, change, ratio_change, effect is ratio_change, classes, reasons, effect)


def _content(rows: Sequence[InputRow]) -> list[tuple[bytes, bytes, bytes, bytes | None]]:
    return [(i.seed, i.message, i.context, i.rnd) for i in rows]


def _conditions(run: Summary, row: MeasuredCell) -> dict[str, dict[str, object]]:
    """What a cost depends on beside the code, by kind and name."""
    variant, worker = row.variant, row.worker
    made: dict[str, dict[str, object]] = {
        "clock": {"unit": row.unit, "time": row.samples.clock},
        "machine": {name: run.record.run.machine.get(name) for name in _MACHINE},
        "backend": {"backend": variant.backend},
        "compiler or flags": {
            "compiler": worker.compiler, "flags": worker.flags or "none",
            "build": worker.build or "none",
        },
    }  # fmt: skip
    if row.operation == "sign":
        made["randomness"] = {"signing": "hedged" if variant.rnd == "none" else "deterministic"}
    if row.operation != "keygen":
        sizes = {f"{len(i.message)} + {len(i.context)}" for i in _inputs(run, row)}
        made["inputs"] = {"bytes of message + context": " or ".join(sorted(sizes))}
    return made


def _reasons(first: Summary, last: Summary, pair: Pair) -> Iterator[str]:
    """What else than the code differs: a few words, a colon, the details."""
    one, other = (_conditions(*of) for of in zip((first, last), pair, strict=True))
    for what, details in one.items():
        known = [(name, old, other[what].get(name)) for name, old in details.items()]
        differ = [f"{n} {a} → {b}" for n, a, b in known if None not in (a, b) and a != b]
        if differ:
            yield f"other {what}: {', '.join(differ)}"


def _widen(cell: _Change, every: Sequence[_Change], confidence: float) -> _Change:
    """With the interval widened by the changes of other implementations from run to run."""
    name = cell.pair[1].variant.implementation
    others = [c for c in every if not c.reasons and c.pair[1].variant.implementation != name]
    spread = _spread(others, cell.anchored)
    effect = cell.effect
    if spread is None or effect.low is None or effect.high is None:
        return cell
    reach = spread[0] * float(stdtrit(spread[1], (1 + confidence) / 2))
    low, high = (
        math.hypot(math.log(limit / effect.value), reach) if limit > 0 else math.inf
        for limit in (effect.low, effect.high)
    )
    value = effect.value
    return replace(cell, effect=Interval(value, value * math.exp(-low), value * math.exp(high)))


def _spread(others: Sequence[_Change], anchored: bool) -> tuple[float, int] | None:
    """The root mean square of the logarithms of changes, and its degrees of freedom: cells of one
    implementation are not independent. Of those that are ``anchored`` or not if they suffice: a
    slower machine changes the latter alone."""
    alike = [c for c in others if c.anchored == anchored]
    for cells in (alike, others):
        names = {c.pair[1].variant.implementation for c in cells}
        if len(names) >= _OTHERS:
            squares = [math.log(c.effect.value) ** 2 for c in cells]
            return math.sqrt(sum(squares) / len(squares)), len(names)
    return None


# --- figures --------------------------------------------------------------------------------------


def _figures(cell: _Change | None, rows: Sequence[MeasuredCell | None]) -> Iterator[Figure]:
    present = [(n, row) for n, row in enumerate(rows, 1) if row is not None]
    _, row = present[-1]
    keys = row.keys
    if cell is not None:
        was, now = cell.pair[0].variant, row.variant
        names = [was.id] * (was.id != now.id) + [was.version] * (was.version != now.version)
        keys |= {"before": " ".join(names)} if names else {}
    for n, of in present:
        for name, unit in (("mean", of.unit), ("ratio", "")):
            if (found := of.interval(name)) is not None:
                yield Figure.of({**keys, "run": n}, name, found, unit)
    if cell is None:
        text = "only in run " + ", ".join(str(n) for n, _ in present)
        yield Figure(keys, "effect", None, notes=(text,))
        return
    for name, changed in (("mean", cell.change), ("ratio", cell.ratio_change)):
        if changed is not None:
            both = have_common_point(of.interval(name) for _, of in present)
            verdict = "" if both is None else OVERLAPPING if both else APART
            yield Figure.of({**keys, "of": name}, "change", changed, verdict=verdict)
    yield Figure.of(keys, "effect", cell.effect, verdict=cell.verdict, notes=cell.reasons)
    for name, interval in cell.classes.items():
        yield Figure.of({**keys, "attempt": name}, "attempt_change", interval)


def agreement_figures(figures: Sequence[Figure]) -> list[Figure]:
    """Return how far runs of the same programs agree, by operation, in means and in ratios: the
    number of ``cells`` with intervals in all runs, of those ``overlapping``, the ``median`` and the
    ``largest`` change as shares."""
    found: dict[tuple[str, str], list[Figure]] = {}
    for f in figures:
        if f.name == "change" and "before" not in f.keys:
            found.setdefault((str(f.keys["operation"]), str(f.keys["of"])), []).append(f)
    made = []
    for key in sorted(found, key=lambda key: (OPERATIONS.index(key[0]), key[1])):
        keys = {"operation": key[0], "quantity": key[1]}
        sizes = [abs(f.value - 1) for f in found[key] if f.value is not None]
        overlaps = [f.verdict == OVERLAPPING for f in found[key] if f.verdict]
        numbers = {
            "overlapping": sum(overlaps), "cells": len(overlaps), "median": median(sizes),
            "largest": max(sizes),
        }  # fmt: skip
        for statistic, number in numbers.items():
            made.append(Figure({**keys, "statistic": statistic}, "agreement", number))
    return made


def have_common_point(found: Iterable[Interval | None]) -> bool | None:
    """Whether all intervals share a point; None for fewer than two that have limits."""
    limits = [(i.low, i.high) for i in found if i is not None]
    known = [(low, high) for low, high in limits if low is not None and high is not None]
    if len(known) < 2:
        return None
    return max(low for low, _ in known) <= min(high for _, high in known)


def _spread_figure(found: Sequence[_Change], anchor: str | None, same: bool) -> Figure:
    spread = None if same else _spread([c for c in found if not c.reasons], anchor is not None)
    keys = {"reference": anchor} if anchor else {}
    if spread is not None:
        return Figure(keys, "spread", spread[0])
    reason = (
        "both stand in the same rounds, so that their common drift cancels"
        if same
        else "too few other implementations are in both runs to show how runs differ by "
        "themselves: the intervals show the rounds alone"
    )
    return Figure(keys, "spread", None, notes=(reason,))
