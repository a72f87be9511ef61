"""Findings of a run of operations about implementations, in sentences made from its numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from scipy.special import ndtri, stdtrit

from mldsa_lab import join_words
from mldsa_lab.estimate.summary import MeasuredCell, Summary
from mldsa_lab.sets import SCHEME_FAMILIES
from mldsa_lab.show.grid import estimate
from mldsa_lab.show.remarks import (
    best_cells,
    main_set,
    measured_sets,
    other_families,
    remarks,
    shown_tables,
    unit_of,
    word_load,
)
from mldsa_lab.show.report import EXCLUDED_TITLE, REJECTED_TITLE

UNCERTAIN = 0.10
"""A mean whose interval reaches further than this share of it is too uncertain to rank."""
ENOUGH = 0.05
"""The share that `--until` is advised for where means are too uncertain."""

_MOST_NAMED = 4
_VERBS = {"sign": "signs", "verify": "verifies", "keygen": "generates keys of"}
_PLURAL = {"sign": "sign", "verify": "verify", "keygen": "generate keys of"}
_NOUNS = {"sign": "signature", "verify": "verification", "keygen": "key pair"}
_DOING = {"sign": "signing", "verify": "verifying", "keygen": "key generation"}


@dataclass(frozen=True, slots=True)
class Findings:
    """A headline, the sentences that support it, and what is too uncertain; plain text."""

    headline: str
    sentences: tuple[str, ...]
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """The best variant of each implementation in one set and operation, the fastest first.

    `level`: those after the fastest that this run cannot tell from it. `next`: the first clearly
    slower one, else the first after the fastest; `factor`: its cost over that of the fastest.
    """

    cells: list[MeasuredCell]
    level: list[MeasuredCell]
    next: MeasuredCell | None
    factor: str
    cost: str

    @property
    def set(self) -> str:
        """The set."""
        return self.cells[0].set

    @property
    def first(self) -> str:
        """The implementation with the smallest mean."""
        return self.cells[0].variant.implementation

    @property
    def names(self) -> str:
        """The implementations that share the first place."""
        return _list_names(
            [row.variant.implementation for row in (self.cells[0], *self.level)], "others"
        )


def find_standing(summary: Summary, cells: list[MeasuredCell]) -> Standing | None:
    """Return the ranking with compact keys, else with expanded ones; None where nothing was
    measured."""
    best = best_cells(cells) or best_cells(cells, "expanded")
    best = [cell for cell in best if cell.has_interval] or best
    if not best:
        return None
    first, others = best[0], best[1:]
    is_ranked = first.has_interval
    level = [r for r in others if is_ranked and not summary.is_slower(r, first)]
    rival = next((r for r in others if r not in level), level[0] if level else None)
    factor = rival.ratio_to(first, summary.confidence) if rival is not None else None
    unit = unit_of(cells)
    cost = f"{_join_tight(estimate(first.mean, unit))}\N{NO-BREAK SPACE}{unit.name}"
    return Standing(best, level, rival, _join_tight(estimate(factor)), cost)


def find(summary: Summary) -> Findings:
    """Return the findings of one record: of signing, else of the first measured operation."""
    if not summary.tables:
        notes = [f"{note[0].upper()}{note[1:]}." for note in _list_refusals(summary)]
        text = (
            "No mean of this run can be estimated" if notes else "Nothing was measured in this run"
        )
        return Findings(text, (*notes, *_list_absent(summary)))
    tables = [cells for o in ("sign", "verify", "keygen") for s in measured_sets(summary)
             if (cells := summary.table(s, o))]  # fmt: skip
    if not tables:
        names = [SCHEME_FAMILIES[family].name_in_text for family in other_families(summary)]
        were = (
            "was" if names == [names[0]] and "classical" not in other_families(summary) else "were"
        )
        headline = f"Only {join_words(names)} {were} measured in this run"
        return Findings(headline, tuple(_list_absent(summary)))
    operation = tables[0][0].operation
    each = (find_standing(summary, cells) for cells in tables if cells[0].operation == operation)
    standings = [s for s in each if s is not None]
    main = next((s for s in standings if s.set == main_set(summary)), standings[0])
    rest = [s for s in standings if s is not main]
    sentences = _word_others(summary, main, rest, operation) + _word_basis(summary, main, operation)
    return Findings(_headline(main, operation), tuple(sentences), tuple(_caution(summary)))


def _headline(main: Standing, operation: str) -> str:
    if main.next is None:
        return f"A mean {_NOUNS[operation]} of {main.set} costs {main.cost} with {main.first}"
    if not main.cells[0].has_interval:
        return (
            f"Too few rounds to rank: a mean {_NOUNS[operation]} of {main.set} costs {main.cost} "
            f"with {main.first}, {main.factor} times as much with "
            f"{main.next.variant.implementation}"
        )
    if main.level:
        verb = _PLURAL[operation]
        return f"{main.names} {verb} {main.set} fastest: this run cannot tell them apart"
    verb, second = _VERBS[operation], main.next.variant.implementation
    return (
        f"{main.first} {verb} {main.set} fastest, {main.factor} times as fast as {second}, the next"
    )


def _join_tight(figure: object) -> str:
    """A figure with its interval that no line break parts."""
    return str(figure).replace(" ", "\N{NO-BREAK SPACE}")


def _list_names(names: list[str], others: str) -> str:
    more = len(names) - _MOST_NAMED
    return join_words(names[:_MOST_NAMED] + [f"{more} {others}"] * (more > 0))


def _word_others(
    summary: Summary, main: Standing, rest: list[Standing], operation: str
) -> list[str]:
    """Return the sentences after the headline: all ratios; the cost, and the other sets."""
    # Without a rival or an interval the headline has said the cost.
    parts = [f"a mean {_NOUNS[operation]} of {main.set} costs {main.cost}"]
    parts = parts if main.next is not None and main.cells[0].has_interval else []
    if main.level and main.next is not None and main.next not in main.level:
        name = main.next.variant.implementation
        parts.append(f"{name}, the next, costs {main.factor} times as much")
    for one in rest:
        who = "" if one.first == main.first else f" with {one.first}"
        if one.level:
            parts.append(f"in {one.set} this run cannot tell {one.names} apart")
        elif one.next is None or not one.cells[0].has_interval:
            parts.append(f"one of {one.set} {one.cost}{who}")
        else:
            parts.append(
                f"one of {one.set} {one.cost}{who}, {one.factor} times as fast as "
                f"{one.next.variant.implementation}"
            )
    text = "; ".join(parts)
    return _list_ratios(summary, main) + ([f"{text[0].upper()}{text[1:]}."] if parts else [])


def _list_ratios(summary: Summary, main: Standing) -> list[str]:
    """Return the sentence with the cost of each slower implementation over that of the fastest."""
    first, rest = main.cells[0], [cell for cell in main.cells[1:] if cell not in main.level]
    if not first.has_interval:
        return []
    ratios = [(cell.ratio_to(first, summary.confidence), cell.variant) for cell in rest]
    listed = [
        f"{x.value:.{2 if x.value < 2 else int(x.value < 10)}f}× {v.implementation}"
        for x, v in ratios
        if x is not None
    ]
    verb = "are" if main.level else "is"
    return [f"{main.names} {verb} fastest: {', '.join(listed)}."] if listed else []


def _word_basis(summary: Summary, main: Standing, operation: str) -> list[str]:
    """Return the conditions of the first screen's figures, and the effect of the other build."""
    first = main.cells[0]
    key = "a compact" if first.variant.key == "compact" else "an expanded"
    build = f" in its {first.worker.build} build" if first.worker.build else ""
    confidence = f"{100 * summary.confidence:g}\N{NO-BREAK SPACE}%"
    tuned = _word_tuned(summary, summary.table(main.set, operation))
    return [
        f"Single calls with {key} key, the best variant of each implementation{build}, "
        f"{confidence} intervals{f'; {tuned}' if tuned else ''}."
    ]


def _word_tuned(summary: Summary, cells: list[MeasuredCell]) -> str:
    """Return the effect of the tuned build, where both were measured."""
    default = {_identify_program(r): r for r in cells if not r.is_duplicate_build}
    changes = [
        (ratio / to, summary.label(other.variant))
        for r in cells
        if r.is_duplicate_build and (other := default.get(_identify_program(r))) is not None
        if (ratio := r.value("ratio")) and (to := other.value("ratio"))
    ]
    if not changes:
        return ""
    (low, most), (high, least) = min(changes), max(changes)
    return (
        f"tuned builds change the cost of {_DOING[cells[0].operation]} by factors of "
        f"{low:.2f} ({most}) to {high:.2f} ({least})"
    )


def _identify_program(row: MeasuredCell) -> tuple[str, str, str]:
    """Return the parts that a variant has in both builds; flags for the CPU may change its
    backend's name."""
    v = row.variant
    return v.implementation, v.backend.removesuffix("+native"), v.key


def _list_absent(summary: Summary) -> list[str]:
    return [
        f"{title}: {join_words(dict.fromkeys(remark.subject for remark in listed))}."
        for title, listed in remarks(summary, ()).items()
        if title in (REJECTED_TITLE, EXCLUDED_TITLE)
    ]


def _list_refusals(summary: Summary) -> list[str]:
    """Return the reasons why cells have no mean, the most frequent first."""
    reasons = Counter(note for r in summary.cells if r.mean is None for note in r.notes)
    return [note for note, _ in reasons.most_common(_MOST_NAMED)]


def _caution(summary: Summary) -> list[str]:
    """Return the cells that are too uncertain to rank, and the length of a run that could."""
    uncertain: list[str] = []
    needed = 0.0
    for (set_name, operation, _), cells in shown_tables(summary):
        for best in (best_cells(cells), best_cells(cells, "expanded")):
            loose = [r for r in best if r.uncertainty > UNCERTAIN and _is_tied(summary, r, best)]
            if loose:
                names = ", ".join(summary.label(r.variant) for r in loose)
                uncertain.append(f"{set_name} {operation} ({names})")
            # More rounds do not help where the inputs' own luck is the interval.
            sampled = (r for r in loose if r.operation != "sign" or r.variant.deterministic)
            needed = max([needed, *(_estimate_rounds(summary, row) for row in sampled)])
    if not uncertain:
        return []
    rounds = f"{summary.rounds} round{'s' if summary.rounds > 1 else ''}"
    rounds += f" ({load})" if (load := word_load(summary.record)) else ""
    percent = f"{100 * ENOUGH:g}"
    minutes = max(needed / max(summary.rounds, 1) * _sum_seconds(summary) / 60, 1)
    amount = f"; here that takes some {needed:,.0f} rounds, {minutes:,.0f} min or more"
    return [
        f"Too uncertain to rank after {rounds}: {_list_names(uncertain, 'more tables')}.",
        f"`mldsa-lab bench --until {percent}` measures until intervals reach no further than "
        f"{percent}\N{NO-BREAK SPACE}%{amount if needed else ''}.",
    ]


def _is_tied(summary: Summary, row: MeasuredCell, cells: Iterable[MeasuredCell]) -> bool:
    """Return whether a cell cannot be told from another implementation's."""
    return any(
        other is not row and not summary.is_slower(other, row) and not summary.is_slower(row, other)
        for other in cells
    )


def _estimate_rounds(summary: Summary, row: MeasuredCell) -> float:
    """Rounds after which its interval would reach no further than `ENOUGH`, if it went on as it
    was; 0 where that cannot be said."""
    mean = row.mean
    if mean is None or mean.low is None or mean.high is None:
        return 0.0
    if mean.low <= 0 or summary.rounds < 2:
        return 0.0
    half = math.log(mean.high / mean.low) / 2
    share = (1 + summary.confidence) / 2
    # Few rounds have few degrees of freedom, many have a normal law.
    error = half * float(ndtri(share) / stdtrit(summary.rounds - 1, share))
    return summary.rounds * (error / math.log1p(ENOUGH)) ** 2


def _sum_seconds(summary: Summary) -> float:
    """Time in timed calls of those workers whose ticks are nanoseconds."""
    timed = {v.id for v, w in summary.record.variants.values() if w.unit == "ns"}
    return sum(sum(s.wall) for s in summary.record.samples if s.variant in timed) / 1e9
