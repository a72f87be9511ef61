"""What a run found about implementations, in sentences made from its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy.special import ndtri, stdtrit

from mldsa_lab.estimate.summary import SummaryRow
from mldsa_lab.sets import SCHEME_FAMILIES
from mldsa_lab.show.format import Shown, estimate
from mldsa_lab.show.view import Table, TableLine, View, slower
from mldsa_lab.wording import join_words

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
    """The best variant of each implementation in one table, the fastest first.

    `level`: those after the fastest that this run cannot tell from it; `factor`: the cost of the
    next implementation over that of the fastest, the first of those clearly slower if there is
    one.
    """

    table: Table
    lines: tuple[TableLine, ...]
    level: tuple[TableLine, ...]
    next: TableLine | None
    factor: Shown

    @property
    def best(self) -> TableLine:
        """The one with the smallest mean."""
        return self.lines[0]

    @property
    def names(self) -> str:
        """The implementations that share the first place."""
        names = [line.row.implementation for line in (self.best, *self.level)]
        more = len(names) - _MOST_NAMED
        return join_words(names[:_MOST_NAMED] + [f"{more} others"] * (more > 0))

    @property
    def cost(self) -> str:
        """The smallest mean with interval and unit."""
        return f"{_tight(self.best.mean)}\N{NO-BREAK SPACE}{self.table.unit.name}"


def best_lines(table: Table, key: str = "compact") -> tuple[TableLine, ...]:
    """The best variant of each implementation with this key form, the fastest first. Where both
    builds were measured, of the default ones: those are what a user of the library gets."""
    found: dict[str, TableLine] = {}
    for line in table.lines:
        if line.row.key == key and not line.row.again:
            found.setdefault(line.row.implementation, line)
    return tuple(found.values())


def standing(view: View, table: Table) -> Standing | None:
    """Who leads, starting from a compact key if anybody does; None where nobody was measured."""
    lines = best_lines(table) or best_lines(table, "expanded")
    if not lines:
        return None
    first, others = lines[0], lines[1:]
    level = tuple(n for n in others if not slower(view.summary, n.row, first.row))
    clear = (n for n in others if n not in level)
    rival = next(clear, level[0] if level else None)
    factor = view.summary.over(rival.row, first.row) if rival is not None else None
    return Standing(table, lines, level, rival, estimate(factor))


def find(view: View) -> Findings:
    """The findings of one record: of signing, else of whichever operation was measured."""
    if not view.tables:
        return Findings("Nothing was measured in this run", tuple(_absent(view)))
    tables = [t for o in ("sign", "verify", "keygen") for s in view.sets if (t := view.table(s, o))]
    if not tables:
        names = [SCHEME_FAMILIES[family].name_in_text for family in view.others]
        were = "was" if names == [names[0]] and "classical" not in view.others else "were"
        told = f"Only {join_words(names)} {were} measured in this run"
        return Findings(told, tuple(_absent(view)))
    operation = tables[0].operation
    found = [standing(view, t) for t in tables if t.operation == operation]
    standings = [s for s in found if s is not None]
    main = next((s for s in standings if s.table.set == view.main_set), standings[0])
    rest = [s for s in standings if s is not main]
    sentences = _others(main, rest, operation) + _basis(view, main, operation)
    return Findings(_headline(main, operation), tuple(sentences), tuple(_cautions(view)))


def _headline(main: Standing, operation: str) -> str:
    name = main.table.set
    if main.next is None:
        noun, who = _NOUNS[operation], main.best.row.implementation
        return f"A mean {noun} of {name} costs {main.cost} with {who}"
    if main.level:
        return f"{main.names} {_PLURAL[operation]} {name} fastest: this run cannot tell them apart"
    return f"{main.best.row.implementation} {_VERBS[operation]} {name} fastest, {_lead(main)}"


def _lead(one: Standing) -> str:
    assert one.next is not None
    return f"{_tight(one.factor)} times as fast as {one.next.row.implementation}, the next"


def _tight(figure: Shown) -> str:
    """A figure with its interval that no line break parts."""
    return str(figure).replace(" ", "\N{NO-BREAK SPACE}")


def _others(main: Standing, rest: list[Standing], operation: str) -> list[str]:
    """What the headline leaves out: its cost, and the other sets."""
    noun = _NOUNS[operation]
    # Without a rival the headline has said the cost.
    parts = [f"a mean {noun} of {main.table.set} costs {main.cost}"] * (main.next is not None)
    if main.level and main.next is not None and main.next not in main.level:
        name = main.next.row.implementation
        parts.append(f"{name}, the next, costs {_tight(main.factor)} times as much")
    for one in rest:
        if one.next is None:
            parts.append(f"one of {one.table.set} {one.cost}")
        elif one.level:
            parts.append(f"in {one.table.set} this run cannot tell {one.names} apart")
        else:
            first = one.best.row.implementation
            who = "" if first == main.best.row.implementation else f" with {first}"
            parts.append(
                f"one of {one.table.set} {one.cost}{who}, {_tight(one.factor)} times as fast as "
                f"{one.next.row.implementation}"
            )
    text = "; ".join(parts)
    return [f"{text[0].upper()}{text[1:]}."] if parts else []


def _basis(view: View, main: Standing, operation: str) -> list[str]:
    """What the figures of the first screen are of, and what the other build changes."""
    key = "a compact" if main.best.row.key == "compact" else "an expanded"
    build = main.best.row.build
    of = f" in its {build} build" if build else ""
    confidence = f"{100 * view.summary.confidence:g}\N{NO-BREAK SPACE}%"
    tuned = _tuned(main.table, operation)
    return [
        f"Single calls with {key} key, the best variant of each implementation{of}, "
        f"{confidence} intervals{f'; {tuned}' if tuned else ''}."
    ]


def _tuned(table: Table, operation: str) -> str:
    """What the tuned build changes, where both were measured."""
    default = {_kind(n.row): n for n in table.lines if not n.row.again}
    changes = [
        (n.row.ratio / other.row.ratio, other.label)
        for n in table.lines
        if n.row.again and (other := default.get(_kind(n.row))) is not None
        if n.row.ratio and other.row.ratio
    ]
    if not changes:
        return ""
    (low, most), (high, least) = min(changes), max(changes)
    return (
        f"tuned builds change the cost of {_DOING[operation]} by factors of "
        f"{low:.2f} ({most}) to {high:.2f} ({least})"
    )


def _kind(row: SummaryRow) -> tuple[str, str, str]:
    """What a variant has in common in both builds; flags for the CPU may change its backend's
    name."""
    return row.implementation, row.backend.removesuffix("+native"), row.key


def _absent(view: View) -> list[str]:
    sentences = []
    for text, remarks in (
        ("Refused for wrong answers, and not timed", view.refused),
        ("Left out after a fault", view.faults),
    ):
        if remarks:
            names = join_words(dict.fromkeys(r.variant for r in remarks))
            sentences.append(f"{text}: {names}.")
    return sentences


def _cautions(view: View) -> list[str]:
    """What is too uncertain to rank, and how long a run would be that is not."""
    cells: list[str] = []
    needed = 0.0
    for table in view.tables:
        for lines in (best_lines(table), best_lines(table, "expanded")):
            loose = [n for n in lines if uncertainty(n.row) > UNCERTAIN and _mixed(view, n, lines)]
            if loose:
                names = "; ".join(f"{n.label} {n.mean} {table.unit.name}" for n in loose)
                cells.append(f"{table.set} {table.operation} ({names})")
            # More rounds do not help where the inputs' own luck is the interval.
            sampled = (n.row for n in loose if "h" not in n.marks)
            needed = max([needed, *(_rounds_needed(view, row) for row in sampled)])
    if not cells:
        return []
    more = len(cells) - _MOST_NAMED
    listed = join_words(cells[:_MOST_NAMED] + [f"{more} more tables"] * (more > 0))
    rounds = f"{view.rounds} round{'s' if view.rounds > 1 else ''}"
    percent = f"{100 * ENOUGH:g}"
    minutes = max(needed / max(view.rounds, 1) * _seconds(view) / 60, 1)
    amount = f"; here that takes some {needed:,.0f} rounds, {minutes:,.0f} min or more"
    return [
        f"Too uncertain to rank after {rounds}: {listed}.",
        f"`mldsa-lab bench --until {percent}` measures until intervals reach no further than "
        f"{percent}\N{NO-BREAK SPACE}%{amount if needed else ''}.",
    ]


def _mixed(view: View, line: TableLine, lines: Iterable[TableLine]) -> bool:
    """Whether it cannot be told from another implementation."""
    return any(
        other is not line
        and not slower(view.summary, other.row, line.row)
        and not slower(view.summary, line.row, other.row)
        for other in lines
    )


def uncertainty(row: SummaryRow) -> float:
    """How far the interval of a row's mean reaches, as a share of the mean; infinite without."""
    if not row.mean or row.mean_low is None or row.mean_high is None:
        return math.inf
    return max(row.mean_high - row.mean, row.mean - row.mean_low) / row.mean


def _rounds_needed(view: View, row: SummaryRow) -> float:
    """Rounds after which its interval would reach no further than `ENOUGH`, if it went on as it
    was; 0 where that cannot be said."""
    if row.mean_low is None or row.mean_high is None or row.mean_low <= 0 or view.rounds < 2:
        return 0.0
    half = math.log(row.mean_high / row.mean_low) / 2
    share = (1 + view.summary.confidence) / 2
    # Few rounds have few degrees of freedom, many have a normal law.
    error = half * float(ndtri(share) / stdtrit(view.rounds - 1, share))
    return view.rounds * (error / math.log1p(ENOUGH)) ** 2


def _seconds(view: View) -> float:
    """Time in timed calls of those workers whose ticks are nanoseconds."""
    timed = {v.id for w in view.record.workers for v in w.variants if w.unit == "ns"}
    return sum(sum(s.wall) for s in view.record.samples if s.variant in timed) / 1e9
