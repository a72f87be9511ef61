"""What a run found, in sentences made from its numbers."""

from __future__ import annotations

from dataclasses import dataclass

from mldsa_lab.estimate.summary import Row
from mldsa_lab.show import runs
from mldsa_lab.show.view import Line, Table, View
from mldsa_lab.wording import join_words


@dataclass(frozen=True, slots=True)
class Findings:
    """A headline and the sentences that support it, plain text."""

    headline: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest of one table: `level` are those that the intervals cannot tell apart."""

    table: Table
    level: tuple[Line, ...]
    runner_up: Line | None

    @property
    def line(self) -> Line:
        """The one with the smallest mean."""
        return self.level[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The labels of those that are level."""
        return tuple(n.label for n in self.level)

    @property
    def cost(self) -> str:
        """The smallest mean with its unit."""
        return f"{self.line.mean.value}\N{NO-BREAK SPACE}{self.table.unit.name}"

    @property
    def lead(self) -> float | None:
        """How many times the leader's mean the first clearly slower one costs."""
        if self.runner_up is None or not self.line.row.mean:
            return None
        return (self.runner_up.row.mean or 0.0) / self.line.row.mean


def best_of(table: Table, key: str = "compact") -> Best | None:
    """The fastest single-operation variant with this key form; None if there is none. Where both
    builds were measured, of the default ones: those are what a user of the library gets."""
    lines = [
        n for n in table.lines if n.row.key == key and n.row.mode == "single" and not n.row.again
    ]
    if not lines:
        return None
    first = lines[0]
    level = [n for n in lines if n is first or _overlap(n, first)]
    slower = [n for n in lines if n not in level]
    return Best(table, tuple(level), slower[0] if slower else None)


def find(view: View) -> Findings:
    """The findings of one record: signing first, else whichever operation was measured."""
    if not view.tables:
        return Findings("Nothing was measured in this run", tuple(_absent(view)))
    operation = next(
        (o for o in ("sign", "verify", "keygen") if any(view.table(s, o) for s in view.sets)), None
    )
    if operation is None:
        return Findings("Only classical schemes were measured in this run", tuple(_absent(view)))
    tables = [t for s in view.sets if (t := view.table(s, operation)) is not None]
    bests = [b for t in tables if (b := best_of(t) or best_of(t, "expanded")) is not None]
    if not bests:
        return Findings("Only batch variants were measured in this run", tuple(_absent(view)))
    sentences = [
        # Without a rival the headline has said it.
        *([_costs(bests, operation)] if _contested(bests) else []),
        *_level(bests),
        *_expanded(tables, operation),
        *_spread(tables, operation),
        *_tuned(tables, operation),
    ]
    sentences += runs.sentences(view)
    return Findings(_headline(bests, operation), tuple(sentences))


_VERBS = {"sign": "signs", "verify": "verifies", "keygen": "generates keys"}


_NOUNS = {"sign": "signature", "verify": "verification", "keygen": "key pair"}


def _headline(bests: list[Best], operation: str) -> str:
    verb = _VERBS[operation]
    if not _contested(bests):
        costs = join_words(f"{b.cost} ({b.table.set}, {b.names[0]})" for b in bests)
        return f"A mean {_NOUNS[operation]} costs {costs}"
    groups: dict[str, list[Best]] = {}
    for best in bests:
        groups.setdefault(best.line.label, []).append(best)
    parts = []
    for name, group in groups.items():
        part = f"{name} {verb} fastest in {_where(group)}"
        unclear = [b for b in group if len(b.level) > 1]
        if unclear:
            alone = len(unclear) == len(group)
            part += f", not clearly ahead{'' if alone else f' in {_where(unclear)}'}"
        parts.append(part)
    return "; ".join(parts)


def _contested(bests: list[Best]) -> bool:
    """Whether there is anybody to be faster than."""
    return any(b.runner_up or len(b.level) > 1 for b in bests)


def _where(bests: list[Best]) -> str:
    sets = [b.table.set for b in bests]
    return "all three sets" if len(sets) == 3 else join_words(sets)


def _level(bests: list[Best]) -> list[str]:
    """Who is too close to the fastest, the sets with the same names together."""
    groups: dict[tuple[str, ...], list[Best]] = {}
    for best in bests:
        if len(best.level) > 1:
            groups.setdefault(best.names[1:], []).append(best)
    parts = [f"{join_words(names)} in {_where(group)}" for names, group in groups.items()]
    return [f"Too close to the fastest to tell apart: {'; '.join(parts)}."] if parts else []


def _costs(bests: list[Best], operation: str) -> str:
    costs = join_words(b.cost for b in bests)
    sets = join_words(b.table.set for b in bests)
    alone = len({b.line.label for b in bests}) == 1
    text = (
        f"With {'it' if alone else 'the fastest'} a mean {_NOUNS[operation]} costs {costs} ({sets})"
    )
    leads = [b for b in bests if b.lead is not None and b.runner_up is not None]
    if leads:
        behind = {b.runner_up.label for b in leads if b.runner_up}
        times = join_words(f"{b.lead:.2f}" for b in leads if b.lead)
        who = f"the next, {behind.pop()}," if len(behind) == 1 else "the next clearly slower one"
        where = "" if len(leads) == len(bests) else f" ({join_words(b.table.set for b in leads)})"
        text += f"; {who} costs {times} times that{where}"
    return text + "."


def _expanded(tables: list[Table], operation: str) -> list[str]:
    gains = []
    for table in tables:
        cached, plain = best_of(table, "expanded"), best_of(table)
        if cached is None or plain is None:
            continue
        high, low = cached.line.row.mean_high, plain.line.row.mean_low
        if high is not None and low is not None and high < low:
            gains.append((cached, plain))
    if not gains:
        return []
    names = join_words(dict.fromkeys(c.line.label for c, _ in gains))
    shares = join_words(
        f"{(c.line.row.mean or 0) / (p.line.row.mean or 1):.2f} times ({c.table.set})"
        for c, p in gains
    )
    doing = {"sign": "signing", "verify": "verifying", "keygen": "key generation"}[operation]
    return [
        f"With an expanded key kept between calls, {doing} with {names} costs {shares} the fastest "
        "that starts from a compact key."
    ]


def _spread(tables: list[Table], operation: str) -> list[str]:
    factors = []
    for table in tables:
        lines = [n for n in table.lines if n.row.key == "compact" and not n.row.again]
        if len(lines) > 2 and lines[0].row.mean:
            factors.append((lines[-1].row.mean or 0.0) / lines[0].row.mean)
    if not factors:
        return []
    low, high = min(factors), max(factors)
    span = f"{high:.1f}" if high - low < 0.1 else f"{low:.1f} to {high:.1f}"
    return [
        f"From the fastest to the slowest, starting from a compact key, it is a factor of {span}."
    ]


def _tuned(tables: list[Table], operation: str) -> list[str]:
    """What the tuned build changes, where both were measured: by the ratios, which are paired."""
    parts = []
    for table in tables:
        of_default = {_kind(n.row): n for n in table.lines if not n.row.again}
        changes = [
            (n.row.ratio / other.row.ratio, other.label)
            for n in table.lines
            if n.row.again and (other := of_default.get(_kind(n.row))) is not None
            if n.row.ratio and other.row.ratio
        ]
        if changes:
            (low, most), (high, least) = min(changes), max(changes)
            parts.append(f"{low:.2f} ({most}) to {high:.2f} ({least}) times in {table.set}")
    if not parts:
        return []
    noun = {"sign": "signing", "verify": "verifying", "keygen": "key generation"}[operation]
    return [f"Tuned builds change the cost of {noun}: {join_words(parts)}."]


def _kind(row: Row) -> tuple[str, str, str]:
    """What a variant has in common in both builds; flags for the CPU may change its backend's
    name."""
    return row.implementation, row.backend.removesuffix("+native"), row.key


def _absent(view: View) -> list[str]:
    sentences = []
    if view.refused:
        names = join_words(dict.fromkeys(r.variant for r in view.refused))
        sentences.append(f"Refused for wrong answers, and not timed: {names}.")
    if view.faults:
        names = join_words(dict.fromkeys(r.variant for r in view.faults))
        sentences.append(f"Left out after a fault: {names}.")
    return sentences


def _overlap(a: Line, b: Line) -> bool:
    """Whether the run cannot tell the two apart: by their ratios to the reference, which are
    paired by round and so free of what all felt alike; by their means where a ratio is missing."""
    intervals = [(n.row.ratio_low, n.row.ratio_high) for n in (a, b)]
    if any(None in interval for interval in intervals):
        intervals = [(n.row.mean_low, n.row.mean_high) for n in (a, b)]
    (low_a, high_a), (low_b, high_b) = intervals
    if low_a is None or high_a is None or low_b is None or high_b is None:
        return False
    return low_a <= high_b and low_b <= high_a
