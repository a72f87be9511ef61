"""Comparison of runs cell by cell, and of groups by their replicates.

A run's rounds show how its own figures scatter. A second run of the same programs differs by more:
another place in memory, another neighbour. The changes of other implementations from one run to the
other show that too, so each change is judged next to theirs. Rounds of one process depend on each
other; means of processes do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
from scipy.special import stdtrit
from scipy.stats import chi2, kruskal, mannwhitneyu, norm, rankdata

from mldsa_lab import LabError
from mldsa_lab.estimate.cells import CellEstimate, ratio, ratio_over_inputs, with_ticks
from mldsa_lab.estimate.figure import (
    APART,
    FASTER,
    OVERLAPPING,
    SLOWER,
    UNCHANGED,
    UNDECIDABLE,
    Figure,
    Figures,
    Key,
    Keys,
)
from mldsa_lab.estimate.fit import COSTS
from mldsa_lab.estimate.interval import Interval, combine, median_over_rounds, quotient
from mldsa_lab.estimate.summary import MeasuredCell, Summary
from mldsa_lab.records import InputRow
from mldsa_lab.sets import ALL_SETS, OPERATIONS
from mldsa_lab.theory.trace import Array

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

    ``mean`` and ``ratio``: of each ``run`` (a key, from 1 on). ``change``: the last run over the
    first, for the mean and for the ratio to the baseline. Its verdict says whether the intervals of
    all runs overlap. ``effect``: the change to judge by. Other implementations' changes widen its
    interval; it has a verdict, and notes of other differences. ``attempt_change``: the effect by
    classes of traces. ``spread``: root mean square of the logarithms of other implementations'
    changes; its note says why it is unknown. A cell that is not in both runs has no ``effect``, and
    a note that says so.

    ``summaries``: of each run, with the same baseline, clock and confidence. ``pairs``: variants or
    implementations of the first run and of the last. Without pairs each is compared with itself, or
    with the only other backend. Two of one run are paired by its rounds. LabError for two records
    of one run without pairs, and for unknown names in pairs.
    """
    first, last, confidence = summaries[0], summaries[-1], summaries[0].confidence
    same = first.record.identity == last.record.identity
    if same and not pairs:
        raise LabError("compare: both records are of one run: name what to compare with --pair")
    matched = list(_named(first, last, pairs) if pairs else _matched(first, last))
    anchor = None if same else _anchor(first, last)
    changes = [_change(first, last, pair, anchor, same, confidence) for pair in matched]
    # Differences between runs do not matter where both are in the same rounds.
    judged = changes if same else [_widen(change, changes, confidence) for change in changes]
    lines: list[tuple[_Change | None, list[MeasuredCell | None]]] = []
    for change in judged:
        before, after = change.pair
        between = (run.by_id.get(after.id) for run in summaries[1:-1])
        lines.append((change, [before, *between, after]))
    if not pairs:
        used = {cell.id for _, cells in lines for cell in cells if cell}
        rest = dict.fromkeys(key for run in summaries for key in run.by_id if key not in used)
        lines += [(None, [run.by_id.get(key) for run in summaries]) for key in rest]
    lines.sort(key=lambda line: _order(next(filter(None, line[1]))))
    figures = [f for change, cells in lines for f in _figures(change, cells)]
    measured = [cell for _, cells in lines for cell in cells if cell is not None]
    about: dict[str, dict[Any, Keys]] = {
        "variant": {cell.variant.id: cell.worker.about(cell.variant) for cell in measured},
        "run": {n: run.record.facts() for n, run in enumerate(summaries, 1)},
    }
    head: dict[str, Key] = {
        "reference": first.baseline, "asked_clock": first.clock, "confidence": confidence,
    }  # fmt: skip
    return Figures([*figures, _spread_figure(changes, anchor, same)], about, head)


@dataclass(frozen=True)
class _Change:
    """A cell in both runs; ``is_anchored``: ``effect`` is the change of the ratio."""

    pair: Pair
    cost_change: Interval
    ratio_change: Interval | None
    is_anchored: bool
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


def _estimate(cell: MeasuredCell) -> CellEstimate:
    assert cell.estimate is not None  # as in all cells of `Summary.by_id`
    return cell.estimate


def _inputs(run: Summary, cell: MeasuredCell) -> list[InputRow]:
    """Return the inputs that a cell was measured on."""
    return [run.inputs[cell.set, number] for number in _estimate(cell).inputs]


def _order(cell: MeasuredCell) -> tuple[int, int]:
    return ALL_SETS.index(cell.set), OPERATIONS.index(cell.operation)


# --- which cells ----------------------------------------------------------------------------------


def _named(first: Summary, last: Summary, pairs: Iterable[tuple[str, str]]) -> Iterator[Pair]:
    for one, other in pairs:
        for run, name in ((first, one), (last, other)):
            variants = run.record.variants
            if not any(name in v.names for v, _ in variants.values()):
                known = ", ".join(variants)
                raise LabError(f"--pair: unknown {name!r}: that run has {known}")
        before, after = _cells_named(first, one), _cells_named(last, other)
        if not before.keys() & after.keys():
            raise LabError(f"--pair: {one} and {other} have no set and operation in common")
        yield from ((cell, after[key]) for key, cell in before.items() if key in after)


def _cells_named(run: Summary, name: str) -> dict[tuple[str, str], MeasuredCell]:
    """By set and operation; of an implementation the variant that ratios would be to."""
    chosen: dict[tuple[str, str], MeasuredCell] = {}
    cells = [c for c in run.by_id.values() if name in c.variant.names]

    def order(cell: MeasuredCell) -> tuple[bool, bool, str, int]:
        v = cell.variant
        return v.id != name, v.key != "compact", v.mode, v.batch_size

    for cell in sorted(cells, key=order):
        chosen.setdefault((cell.set, cell.operation), cell)
    return chosen


def _matched(first: Summary, last: Summary) -> Iterator[Pair]:
    """Each variant with itself; one whose backend or build is new with the one that it replaces."""
    yield from ((cell, last.by_id[key]) for key, cell in first.by_id.items() if key in last.by_id)
    rest = [[c for key, c in one.by_id.items() if key not in other.by_id]
            for one, other in ((first, last), (last, first))]  # fmt: skip
    for cell in rest[0]:
        mine, others = ([c for c in cells if _kind(c) == _kind(cell)] for cells in rest)
        if len(mine) == len(others) == 1:
            yield cell, others[0]


def _kind(cell: MeasuredCell) -> tuple[Key, ...]:
    """Return the properties that a cell shares with one that it replaces."""
    v = cell.variant
    return v.implementation, v.key, v.mode, v.batch_size, v.threads, cell.set, cell.operation


def _anchor(first: Summary, last: Summary) -> str | None:
    """Return the baseline where both runs have the same build of the same version of it."""
    builds = [
        {(v.id, v.version, w.compiler, w.flags) for v, w in run.record.variants.values()
         if run.baseline in v.names}
        for run in (first, last)
    ]  # fmt: skip
    return first.baseline if builds[0] & builds[1] else None


# --- how a cell changed ---------------------------------------------------------------------------


def _change(
    first: Summary, last: Summary, pair: Pair, anchor: str | None, same: bool, confidence: float
) -> _Change:
    before, after = pair
    one, other = _estimate(before), _estimate(after)
    if same:
        cost_change = ratio(other, one, confidence)
    elif one.level is None or other.level is None:
        cost_change = quotient(other.mean, one.mean)
    else:
        alike = _content(_inputs(first, before)) == _content(_inputs(last, after))
        cost_change = (
            ratio_over_inputs(other, one, confidence) if alike else quotient(other.inner, one.inner)
        )
        for level in (one.level, other.level):
            cost_change = combine(cost_change, median_over_rounds(level), confidence).of_rounds(
                len(level)
            )
        cost_change = with_ticks(cost_change, other, one)
    ratios = before.interval("ratio"), after.interval("ratio")
    ratio_change = None
    if not same and ratios[0] and ratios[1] and any(r != Interval(1.0, 1.0, 1.0) for r in ratios):
        ratio_change = quotient(ratios[1], ratios[0])
    is_baseline = anchor in (before.variant.implementation, before.variant.id)
    effect = ratio_change if anchor and ratio_change and not is_baseline else cost_change
    classes = {}
    if one.fit is not None and other.fit is not None:
        costs = [fit.costs(confidence) for fit in (one.fit, other.fit)]
        rounds = min(len(one.rounds), len(other.rounds))
        classes = {
            name: quotient(costs[1][name], costs[0][name])
            .of_rounds(rounds)
            .times(effect.value / cost_change.value)
            for name in COSTS
            if min(costs[0][name].value, costs[1][name].value) > 0
        }
    reasons = tuple(_reasons(first, last, pair))
    return _Change(
        pair, cost_change, ratio_change, effect is ratio_change, classes, reasons, effect
    )


def _content(inputs: Sequence[InputRow]) -> list[tuple[bytes, bytes, bytes, bytes | None]]:
    return [(i.seed, i.message, i.context, i.rnd) for i in inputs]


def _conditions(run: Summary, cell: MeasuredCell) -> dict[str, dict[str, object]]:
    """Return the conditions of a cost other than the code, by kind and name."""
    variant, worker = cell.variant, cell.worker
    conditions: dict[str, dict[str, object]] = {
        "clock": {"unit": cell.unit, "time": cell.samples.clock},
        "machine": {name: run.record.run.machine.get(name) for name in _MACHINE},
        "backend": {"backend": variant.backend},
        "compiler or flags": {
            "compiler": worker.compiler, "flags": worker.flags or "none",
            "build": worker.build or "none",
        },
    }  # fmt: skip
    if cell.operation == "sign":
        conditions["randomness"] = {
            "signing": "hedged" if variant.rnd == "none" else "deterministic"
        }
    if cell.operation != "keygen":
        sizes = {f"{len(i.message)} + {len(i.context)}" for i in _inputs(run, cell)}
        conditions["inputs"] = {"bytes of message + context": " or ".join(sorted(sizes))}
    return conditions


def _reasons(first: Summary, last: Summary, pair: Pair) -> Iterator[str]:
    """Yield each difference other than the code: a few words, a colon, the details."""
    one, other = (_conditions(*side) for side in zip((first, last), pair, strict=True))
    for kind, details in one.items():
        known = [(name, old, other[kind].get(name)) for name, old in details.items()]
        differ = [f"{n} {a} → {b}" for n, a, b in known if None not in (a, b) and a != b]
        if differ:
            yield f"other {kind}: {', '.join(differ)}"


def _widen(change: _Change, every: Sequence[_Change], confidence: float) -> _Change:
    """Widen the interval by the changes of other implementations from run to run."""
    name = change.pair[1].variant.implementation
    others = [c for c in every if not c.reasons and c.pair[1].variant.implementation != name]
    spread = _spread(others, change.is_anchored)
    effect = change.effect
    if spread is None or effect.low is None or effect.high is None:
        return change
    reach = spread[0] * float(stdtrit(spread[1], (1 + confidence) / 2))
    low, high = (
        math.hypot(math.log(limit / effect.value), reach) if limit > 0 else math.inf
        for limit in (effect.low, effect.high)
    )
    value = effect.value
    return replace(change, effect=Interval(value, value * math.exp(-low), value * math.exp(high)))


def _spread(others: Sequence[_Change], is_anchored: bool) -> tuple[float, int] | None:
    """The root mean square of the logarithms of changes, and its degrees of freedom: cells of one
    implementation are not independent. Of those that are ``is_anchored`` or not if they suffice: a
    slower machine changes only the latter."""
    alike = [c for c in others if c.is_anchored == is_anchored]
    for changes in (alike, others):
        names = {c.pair[1].variant.implementation for c in changes}
        if len(names) >= _OTHERS:
            squares = [math.log(c.effect.value) ** 2 for c in changes]
            return math.sqrt(sum(squares) / len(squares)), len(names)
    return None


# --- figures --------------------------------------------------------------------------------------


def _figures(change: _Change | None, cells: Sequence[MeasuredCell | None]) -> Iterator[Figure]:
    present = [(n, cell) for n, cell in enumerate(cells, 1) if cell is not None]
    _, cell = present[-1]
    keys = cell.keys
    if change is not None:
        was, now = change.pair[0].variant, cell.variant
        names = [was.id] * (was.id != now.id) + [was.version] * (was.version != now.version)
        keys |= {"before": " ".join(names)} if names else {}
    for n, cell in present:
        for name, unit in (("mean", cell.unit), ("ratio", "")):
            if (interval := cell.interval(name)) is not None:
                yield Figure.from_interval({**keys, "run": n}, name, interval, unit)
    if change is None:
        text = "only in run " + ", ".join(str(n) for n, _ in present)
        yield Figure(keys, "effect", None, notes=(text,))
        return
    for name, changed in (("mean", change.cost_change), ("ratio", change.ratio_change)):
        if changed is not None:
            both = have_common_point(cell.interval(name) for _, cell in present)
            verdict = "" if both is None else OVERLAPPING if both else APART
            yield Figure.from_interval({**keys, "of": name}, "change", changed, verdict=verdict)
    yield Figure.from_interval(
        keys, "effect", change.effect, verdict=change.verdict, notes=change.reasons
    )
    for name, interval in change.classes.items():
        yield Figure.from_interval({**keys, "attempt": name}, "attempt_change", interval)


def agreement_figures(compared: Sequence[Figure]) -> list[Figure]:
    """Return the agreement of runs of the same programs, by operation, in means and in ratios.
    ``cells`` have intervals in all runs, and ``overlapping`` ones overlap. ``median`` and
    ``largest`` change are shares."""
    changes: dict[tuple[str, str], list[Figure]] = {}
    for f in compared:
        if f.name == "change" and "before" not in f.keys:
            changes.setdefault((str(f.keys["operation"]), str(f.keys["of"])), []).append(f)
    figures = []
    for key in sorted(changes, key=lambda key: (OPERATIONS.index(key[0]), key[1])):
        keys = {"operation": key[0], "quantity": key[1]}
        sizes = [abs(f.value - 1) for f in changes[key] if f.value is not None]
        overlaps = [f.verdict == OVERLAPPING for f in changes[key] if f.verdict]
        numbers = {
            "overlapping": sum(overlaps), "cells": len(overlaps), "median": median(sizes),
            "largest": max(sizes),
        }  # fmt: skip
        figures += [Figure({**keys, "statistic": s}, "agreement", x) for s, x in numbers.items()]
    return figures


def have_common_point(intervals: Iterable[Interval | None]) -> bool | None:
    """Return whether all intervals share a point; None for fewer than two that have limits."""
    limits = [(i.low, i.high) for i in intervals if i is not None]
    known = [(low, high) for low, high in limits if low is not None and high is not None]
    if len(known) < 2:
        return None
    return max(low for low, _ in known) <= min(high for _, high in known)


def _spread_figure(changes: Sequence[_Change], anchor: str | None, same: bool) -> Figure:
    spread = None if same else _spread([c for c in changes if not c.reasons], anchor is not None)
    keys = {"reference": anchor} if anchor else {}
    if spread is not None:
        return Figure(keys, "spread", spread[0])
    reason = (
        "both are in the same rounds, so their common drift cancels"
        if same
        else "too few other implementations are in both runs to show how runs differ by "
        "themselves: the intervals show only the rounds"
    )
    return Figure(keys, "spread", None, notes=(reason,))


# Groups compared by their replicates.


MANN_WHITNEY, KRUSKAL_WALLIS, DUNN = "mann-whitney", "kruskal-wallis", "dunn"
NO_TEST, NO_DIFFERENCE = "no test of pairs", "no difference seen"


def compare_groups(
    groups: Mapping[str, Array],
    keys: Mapping[str, Key],
    tests: Sequence[str],
    alpha: float,
    replicates: str = "processes",
) -> list[Figure]:
    """Return the figures of each pair of groups, whose keys are ``first`` and ``second``.

    ``ratio`` of the first's costs to the second's (Hodges and Lehmann's, with the interval that
    inverts the Mann-Whitney test); with its verdict. ``delta``: Cliff's, how much more
    often a replicate of the first is the slower one, from -1 to 1. ``p_value`` of each ``test``,
    of pairs after Bonferroni. ``least_p``: the largest of the smallest p-values that each test of
    a pair of so few replicates can have. Above ``alpha``, or where even groups without an overlap
    are not told apart, there are too few replicates.
    """
    pairs = list(combinations(groups, 2))
    if not pairs:
        return []
    over_all = {test: _kruskal([*groups.values()]) for test in tests if test == KRUSKAL_WALLIS}
    dunn = _dunn(groups) if DUNN in tests else {}
    least_of = partial(_least, [len(values) for values in groups.values()], len(pairs))
    figures = []
    for one, other in pairs:
        x, y = groups[one], groups[other]
        least = max(least_of(test, len(x), len(y)) for test in tests)
        distance = delta(x, y)
        p = dict(over_all)
        if MANN_WHITNEY in tests:
            p_of_pair = float(mannwhitneyu(x, y, alternative="two-sided").pvalue)
            p[MANN_WHITNEY] = min(1.0, p_of_pair * len(pairs))
        if DUNN in tests:
            p[DUNN] = dunn[one, other]
        ratio = shift(x, y, alpha)
        if not {MANN_WHITNEY, DUNN} & p.keys() and len(groups) > 2:
            verdict, note = UNDECIDABLE, NO_TEST
        elif least > alpha or (abs(distance) == 1 and max(p.values()) > alpha):
            verdict, note = UNDECIDABLE, f"too few {replicates} to tell"
        elif max(p.values()) > alpha:
            verdict, note = UNCHANGED, NO_DIFFERENCE
        elif ratio.value > 1:
            verdict, note = SLOWER, f"{one} is slower"
        else:
            verdict, note = FASTER, f"{other} is slower"
        own = {**keys, "first": one, "second": other}
        figures.append(Figure.from_interval(own, "ratio", ratio, verdict=verdict, notes=(note,)))
        figures.append(Figure(own, "delta", distance))
        figures += [Figure({**own, "test": test}, "p_value", p[test]) for test in tests]
        figures.append(Figure(own, "least_p", least))
    return figures


def _least(sizes: Sequence[int], pairs: int, test: str, n: int, m: int) -> float:
    """Return the smallest p-value that a test can have for a pair of n and m replicates among
    groups of these sizes. Tests of pairs are after Bonferroni."""
    whole = sum(sizes)
    if test == MANN_WHITNEY:
        return min(1.0, pairs * 2 / math.comb(n + m, n))
    if whole == len(sizes) == 1 or whole < 3:
        return 1.0
    if test == KRUSKAL_WALLIS:
        # Of ranks without an overlap, the groups' order changes nothing.
        between = whole**3 - whole - sum(size**3 - size for size in sizes)
        return float(chi2.sf(between / (whole * (whole + 1)), len(sizes) - 1))
    # Dunn's: one group has the first ranks, the other the last.
    spread = math.sqrt(whole * (whole + 1) / 12 * (1 / n + 1 / m))
    return min(1.0, pairs * 2 * float(norm.sf((whole - (n + m) / 2) / spread)))


def _kruskal(groups: Sequence[Array]) -> float:
    if np.ptp(np.concatenate(groups)) == 0:
        return 1.0  # all alike, where SciPy has no value
    return float(kruskal(*groups).pvalue)


def _dunn(groups: Mapping[str, Array]) -> dict[tuple[str, str], float]:
    """Return the p-value of Dunn's test after Bonferroni by pair."""
    ranks = rankdata(np.concatenate(list(groups.values())))
    variance = np.var(ranks, ddof=1)  # of ranks with ties: Dunn's correction is in it
    ends = np.cumsum([len(values) for values in groups.values()])
    pairs = list(combinations(zip(groups, np.split(ranks, ends[:-1]), strict=True), 2))
    p = dict.fromkeys([(one, other) for (one, _), (other, _) in pairs], 1.0)
    if variance == 0:
        return p  # all alike
    for (one, x), (other, y) in pairs:
        z = abs(x.mean() - y.mean()) / np.sqrt(variance * (1 / len(x) + 1 / len(y)))
        p[one, other] = min(1.0, len(pairs) * 2 * float(norm.sf(z)))
    return p


def delta(x: Array, y: Array) -> float:
    """Return Cliff's delta."""
    return float(np.sign(x[:, None] - y[None, :]).mean())


def shift(x: Array, y: Array, alpha: float) -> Interval:
    """Return Hodges and Lehmann's ratio of ``x`` to ``y``, positive. Its interval at 1 - ``alpha``
    inverts the Mann-Whitney test; with too few values it has no limits.

    The k-th smallest and largest of all ratios are the limits, k - 1 being the largest value of
    the statistic that the test rejects.
    """
    ratios = np.sort((x[:, None] / y[None, :]).ravel())
    value = float(np.exp(np.median(np.log(ratios))))
    k = int((np.cumsum(_u_law(len(x), len(y))) <= alpha / 2).sum())
    return Interval(value, float(ratios[k - 1]), float(ratios[-k])) if k else Interval(value)


def _u_law(n: int, m: int) -> Array:
    """Return the law of the Mann-Whitney statistic of n and m values without ties: the
    coefficients of the Gaussian binomial, over their sum."""
    counts = np.ones(1)
    for i in range(1, n + 1):
        # Times (1 - q^(m + i)) over (1 - q^i).
        grown = np.zeros(len(counts) + m + i)
        grown[: len(counts)] += counts
        grown[m + i :] -= counts
        for place in range(i, len(grown)):
            grown[place] += grown[place - i]
        counts = grown[: i * m + 1]
    return np.asarray(counts / counts.sum())
