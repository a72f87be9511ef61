"""What changed from one run to another, cell by cell, and what else than the code differs.

A run's rounds show how its own figures scatter, not how a second run of the same programs would
differ: another place in memory, another neighbour. What other implementations did from the one run
to the other shows that too, so each change is judged beside theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from scipy.special import stdtrit

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import Key
from mldsa_lab.estimate.estimators import CellEstimate
from mldsa_lab.estimate.fit import COSTS
from mldsa_lab.estimate.interval import Interval, combine, quotient
from mldsa_lab.estimate.location import median_over_rounds
from mldsa_lab.estimate.ratio import of_inputs, ratio
from mldsa_lab.estimate.summary import Summary, SummaryRow
from mldsa_lab.records import InputRow, Record, Variant, WorkerRow
from mldsa_lab.sets import ALL_SETS, OPERATIONS

SLOWER, FASTER, UNCHANGED = "slower", "faster", "no change seen"
# What tells machines apart; what is not known of one of them tells nothing.
_MACHINE = (
    "cpu", "vendor", "family", "model", "stepping", "microcode", "architecture", "cores", "smt",
    "boost", "governor", "hypervisor", "frequency_khz",
)  # fmt: skip
# With fewer other implementations nothing shows how runs differ.
_OTHERS = 3


class Reason(NamedTuple):
    """Something else than the code that differs: a word for it, and the sentence."""

    code: str
    text: str


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    record: Record
    summary: Summary

    @cached_property
    def variants(self) -> dict[str, tuple[Variant, WorkerRow]]:
        """By id."""
        return {v.id: (v, w) for w in self.record.workers for v in w.variants}

    @cached_property
    def inputs(self) -> dict[tuple[str, int], InputRow]:
        """By set and number."""
        return {(i.set, i.id): i for i in self.record.inputs}

    @cached_property
    def rows(self) -> dict[Key, SummaryRow]:
        """The cells that have a mean."""
        return {(r.variant, r.set, r.operation): r for r in self.summary.rows if r.mean is not None}

    def estimate(self, row: SummaryRow) -> CellEstimate:
        """What stands behind a row."""
        return self.summary.estimates[row.variant, row.set, row.operation]

    def used(self, row: SummaryRow) -> list[InputRow]:
        """The inputs that a row rests on."""
        return [self.inputs[row.set, number] for number in self.estimate(row).inputs]


@dataclass(frozen=True)
class CellChange:
    """A cell in both runs. Every factor is the cost in the second run over that in the first.

    ``mean``: of the mean; ``anchored``: the same over that of the reference, where it is the same
    program in both; ``effect``: the one of both to judge by, its interval grown by how much other
    implementations changed. ``classes``: for signing, of the values of `COSTS`, anchored as it is.
    """

    before: SummaryRow
    after: SummaryRow
    mean: Interval
    anchored: Interval | None
    classes: dict[str, Interval]
    reasons: tuple[Reason, ...]
    effect: Interval

    @property
    def verdict(self) -> str:
        """Which way the cost changed, as far as the interval shows it."""
        if self.effect.low is not None and self.effect.low > 1:
            return SLOWER
        if self.effect.high is not None and self.effect.high < 1:
            return FASTER
        return UNCHANGED

    def above(self, limit: float) -> bool:
        """Whether it is slower by more than this factor, and nothing else than the code differs."""
        return not self.reasons and self.effect.low is not None and self.effect.low > limit


@dataclass(frozen=True)
class Changes:
    """All cells that both runs have, what of them is in one alone, and what is behind the
    intervals: the ``spread`` of other implementations' changes (the root mean square of their
    logarithms; None where too few stand beside), and the ``reference`` over whose own changes they
    are. ``shared``: both stand in the same rounds.
    """

    cells: tuple[CellChange, ...]
    only: tuple[tuple[Key, ...], tuple[Key, ...]]
    reference: str | None
    spread: float | None
    shared: bool = False

    @property
    def judged(self) -> tuple[CellChange, ...]:
        """Those in which nothing else than the code differs."""
        return tuple(c for c in self.cells if not c.reasons)


def changes(
    first: Side, second: Side, pairs: Sequence[tuple[str, str]] = (), confidence: float = 0.95
) -> Changes:
    """Compare two runs whose summaries have the same reference and clock.

    ``pairs``: variants or implementations to be compared, one of the first run with one of the
    second; none: each with itself, or with its only other backend. LabError if nothing is common,
    or both are one run and no pairs are named.
    """
    same = _run(first) == _run(second)
    if same and not pairs:
        raise LabError("compare: both records are of one run: name what to compare with --pair")
    matched = list(_named(first, second, pairs) if pairs else _matched(first, second))
    if not matched:
        raise LabError("compare: the runs have no cell (variant, set, operation) in common")
    anchor = None if same else _anchor(first, second)
    found = [_change(first, second, pair, anchor, same, confidence) for pair in matched]
    # How runs differ is no matter where both stand in the same rounds.
    cells = found if same else [_beside(cell, found, confidence) for cell in found]
    cells.sort(key=lambda c: (ALL_SETS.index(c.after.set), OPERATIONS.index(c.after.operation)))
    spread = None if same else _spread([c for c in found if not c.reasons], anchor is not None)
    keys = [{_key(pair[side]) for pair in matched} for side in (0, 1)]
    left = tuple(
        tuple(key for key in side.rows if key not in used) if not pairs else ()
        for side, used in zip((first, second), keys, strict=True)
    )
    return Changes(tuple(cells), (left[0], left[1]), anchor, spread and spread[0], same)


Pair = tuple[SummaryRow, SummaryRow]


def _run(side: Side) -> tuple[str, str]:
    return side.record.run.seed, side.record.run.started


def _key(row: SummaryRow) -> Key:
    return row.variant, row.set, row.operation


def _named(first: Side, second: Side, pairs: Sequence[tuple[str, str]]) -> Iterator[Pair]:
    for one, other in pairs:
        for side, name in ((first, one), (second, other)):
            if not any(name in v.names for v, _ in side.variants.values()):
                known = ", ".join(side.variants)
                raise LabError(f"--pair: unknown {name!r}: that run has {known}")
        mine = [_those(first, one), _those(second, other)]
        common = [what for what in mine[0] if what in mine[1]]
        if not common:
            raise LabError(f"--pair: {one} and {other} have no set and operation in common")
        yield from ((mine[0][what], mine[1][what]) for what in common)


def _those(side: Side, name: str) -> dict[tuple[str, str], SummaryRow]:
    """By set and operation; of an implementation the variant that ratios would be to."""
    found: dict[tuple[str, str], SummaryRow] = {}
    rows = [r for r in side.rows.values() if name in side.variants[r.variant][0].names]
    rows.sort(key=lambda r: (r.variant != name, r.key != "compact", r.mode, r.batch_size))
    for row in rows:
        found.setdefault((row.set, row.operation), row)
    return found


def _matched(first: Side, second: Side) -> Iterator[Pair]:
    """Each variant with itself; one whose backend or build is new with the one that it replaces."""
    for key, row in first.rows.items():
        if key in second.rows:
            yield row, second.rows[key]
    rest = [[r for key, r in one.rows.items() if key not in other.rows]
            for one, other in ((first, second), (second, first))]  # fmt: skip
    for row in rest[0]:
        mine = [r for r in rest[0] if _kind(r) == _kind(row)]
        others = [r for r in rest[1] if _kind(r) == _kind(row)]
        if len(mine) == len(others) == 1:
            yield row, others[0]


def _kind(row: SummaryRow) -> tuple[object, ...]:
    return (
        row.implementation, row.key, row.mode, row.batch_size, row.threads, row.set, row.operation,
    )  # fmt: skip


def _anchor(first: Side, second: Side) -> str | None:
    """The reference, where both runs have the same build of the same version of it."""
    found = [
        {(v.id, v.version, w.compiler, w.flags) for v, w in side.variants.values()
         if side.summary.reference in v.names}
        for side in (first, second)
    ]  # fmt: skip
    return first.summary.reference if found[0] & found[1] else None


def _change(
    first: Side, second: Side, pair: Pair, anchor: str | None, same: bool, confidence: float
) -> CellChange:
    before, after = pair
    one, other = first.estimate(before), second.estimate(after)
    if same:
        mean = ratio(other, one, confidence)
    elif one.level is None or other.level is None:
        mean = quotient(other.mean, one.mean)
    else:
        alike = _inputs(first.used(before)) == _inputs(second.used(after))
        mean = of_inputs(other, one, confidence) if alike else quotient(other.inner, one.inner)
        for level in (one.level, other.level):
            mean = combine(mean, median_over_rounds(level), confidence).of_rounds(len(level))
    anchored = None
    ratios = before.interval("ratio"), after.interval("ratio")
    if anchor and ratios[0] and ratios[1] and anchor not in (before.implementation, before.variant):
        anchored = quotient(ratios[1], ratios[0])
    effect = anchored or mean
    classes = {}
    if one.fit is not None and other.fit is not None:
        costs = [fit.costs(confidence) for fit in (one.fit, other.fit)]
        rounds = min(len(one.rounds), len(other.rounds))
        classes = {
            name: quotient(costs[1][name], costs[0][name])
            .of_rounds(rounds)
            .times(effect.value / mean.value)
            for name in COSTS
            if min(costs[0][name].value, costs[1][name].value) > 0
        }
    reasons = tuple(_reasons(first, second, pair))
    return CellChange(before, after, mean, anchored, classes, reasons, effect)


def _inputs(rows: Sequence[InputRow]) -> list[tuple[bytes, bytes, bytes, bytes | None]]:
    return [(i.seed, i.message, i.context, i.rnd) for i in rows]


def _reasons(first: Side, second: Side, pair: Pair) -> Iterator[Reason]:
    before, after = pair
    (one, built), (other, rebuilt) = (
        side.variants[row.variant] for side, row in ((first, before), (second, after))
    )
    if before.unit != after.unit or before.clock != after.clock:
        yield Reason(
            "clock", f"{before.unit} of {before.clock} time, now {after.unit} of {after.clock} time"
        )
    if before.operation == "sign" and one.rnd != other.rnd and "none" in (one.rnd, other.rnd):
        now = "now signs hedged" if other.rnd == "none" else "no longer signs hedged"
        yield Reason("signing", f"{now}: rnd {one.rnd}, now {other.rnd}")
    sizes = [
        {(len(i.message), len(i.context)) for i in side.used(row)}
        for side, row in ((first, before), (second, after))
    ]
    if before.operation != "keygen" and sizes[0] != sizes[1]:
        yield Reason("inputs", f"other inputs: {_sizes(sizes[0])}, now {_sizes(sizes[1])}")
    differ = [
        f"{name} {m} → {n}"
        for name in _MACHINE
        if (m := first.record.run.machine.get(name)) is not None
        and (n := second.record.run.machine.get(name)) is not None
        and m != n
    ]
    if differ:
        yield Reason("machine", f"other machine: {', '.join(differ)}")
    if before.backend != after.backend:
        yield Reason("backend", f"other backend: {before.backend}, now {after.backend}")
    flags = [
        f"{a or 'none'} → {b or 'none'}"
        for a, b in (
            (built.compiler, rebuilt.compiler),
            (built.flags, rebuilt.flags),
            (built.build, rebuilt.build),
        )
        if a != b
    ]
    if flags:
        yield Reason("flags", f"other compiler or flags: {'; '.join(flags)}")


def _sizes(found: set[tuple[int, int]]) -> str:
    texts = [f"messages of {m} bytes" + (f", contexts of {c}" if c else "") for m, c in found]
    return " and ".join(sorted(texts)) if len(texts) < 3 else f"messages of {len(texts)} sizes"


def _beside(cell: CellChange, every: Sequence[CellChange], confidence: float) -> CellChange:
    """With the interval grown by what other implementations changed from run to run."""
    name = cell.after.implementation
    others = [c for c in every if not c.reasons and c.after.implementation != name]
    spread = _spread(others, cell.anchored is not None)
    effect = cell.effect
    if spread is None or effect.low is None or effect.high is None:
        return cell
    reach = spread[0] * float(stdtrit(spread[1], (1 + confidence) / 2))
    low, high = (
        math.hypot(math.log(limit / effect.value), reach) if limit > 0 else math.inf
        for limit in (effect.low, effect.high)
    )
    value = effect.value
    grown = Interval(value, value * math.exp(-low), value * math.exp(high))
    return replace(cell, effect=grown)


def _spread(others: Sequence[CellChange], anchored: bool) -> tuple[float, int] | None:
    """The root mean square of the logarithms of changes, and its degrees of freedom: cells of one
    implementation are not independent. Of those that are ``anchored`` or not if they suffice, since
    what a machine is slower by as a whole is in the latter alone."""
    alike = [c for c in others if (c.anchored is not None) == anchored]
    for cells in (alike, others):
        names = {c.after.implementation for c in cells}
        if len(names) >= _OTHERS:
            squares = [math.log(c.effect.value) ** 2 for c in cells]
            return math.sqrt(sum(squares) / len(squares)), len(names)
    return None
