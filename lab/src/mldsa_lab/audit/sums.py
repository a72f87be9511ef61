"""Rules of plain arithmetic: parts and shares, repeated statements, counts, limits, rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from mldsa_lab.audit import claims
from mldsa_lab.audit.judgement import (
    CLOSE,
    MEASURED,
    Judgement,
    Verdict,
    agreement,
    judgement,
    number,
    stated_text,
    unit_text,
)
from mldsa_lab.audit.values import FIGURE_MAX, Span, StatedFigure, listed


def _stated(figure: StatedFigure, unit: str) -> StatedFigure:
    """A figure as its unit has it: counts are not rounded."""
    return StatedFigure(figure.value) if unit == "count" else figure


def _within(figure: StatedFigure, low: float, high: float) -> bool:
    """Return whether a figure can lie between limits that rounding alone makes."""
    error = CLOSE * max(abs(low), abs(high))
    return figure.high >= low - error and figure.low <= high + error


def _places(entries: Sequence[tuple[str, str]]) -> str:
    """What is stated, each with where it stands."""
    return " and ".join(f"{text} ({where})" if where else text for text, where in entries)


def judge_parts(claim: claims.Parts, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`parts.sum` where there is a total, `parts.share` for each share."""
    parts = {name: _stated(part, claim.unit) for name, part in claim.parts.items()}
    total, unit = sum(part.value for part in parts.values()), unit_text(claim.unit)
    if claim.total is not None:
        stated = _stated(claim.total, claim.unit)
        low, high = sum(p.low for p in parts.values()), sum(p.high for p in parts.values())
        yield judgement(
            "parts.sum", _within(stated, low, high), f"total {stated_text(stated)} {unit}",
            stated=stated, low=low, high=high, unit=unit,
        )  # fmt: skip
    for share in claim.shares:
        chosen = [parts[name] for name in listed(share.of)]
        part = sum(figure.value for figure in chosen)
        # The parts' rounding moves numerator and denominator together.
        ends = (sum(max(f.low, 0) for f in chosen), sum(f.high for f in chosen))
        low, high = (100 * end / max(end + total - part, 1 / FIGURE_MAX) for end in ends)
        reading = f"{' + '.join(listed(share.of))} is {number(part)} of {number(total)} {unit}."
        verdict, note = agreement(share.percent, low * (1 - CLOSE), high * (1 + CLOSE))
        yield judgement(
            "parts.share", verdict, _places([(f"{stated_text(share.percent)} %", share.where)]),
            f"{reading} {note}".strip(), stated=share.percent, low=low, high=high, unit="%",
        )  # fmt: skip


def judge_statements(claim: claims.Statements, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`statements.agree`: numbers are one within rounding, limits are the same limits, and a
    number lies between limits."""
    unit = f" {unit_text(claim.unit)}" if claim.unit else ""
    pairs = combinations((entry.value for entry in claim.values), 2)
    text = _places([(entry.value.text + unit, entry.where) for entry in claim.values])
    inside = all(_one(a, b, claim.unit) for a, b in pairs)
    names = tuple(entry.where or str(place) for place, entry in enumerate(claim.values, 1))
    yield judgement(
        "statements.agree", inside, text, claim.quantity, predicted="one value", values=names
    )


def _one(a: Span, b: Span, unit: str) -> bool:
    """Whether both can be one statement. Rounding that would have to fall on one and the same
    edge, 2 and 3 of 2.5, is none: whole numbers that differ are different."""
    (a_low, a_high), (b_low, b_high) = ([_stated(f, unit) for f in (x.low, x.high)] for x in (a, b))
    if a.one != b.one:
        return a_high.high >= b_low.low and a_low.low <= b_high.high
    return all(
        x.value == y.value or min(x.high, y.high) - max(x.low, y.low) > CLOSE * x.value
        for x, y in ((a_low, b_low), (a_high, b_high))
    )


def judge_counted(claim: claims.Counted, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`samples.agree`: counts of all and of each group. What a count is of may be unstated; it is
    then compared as either: where no number is said to be of each group, it is the smallest; the
    others are of all."""
    each, total, others = (
        {entry.count for entry in claim.values if entry.of == of}
        for of in ("group", "all", "unstated")
    )
    one = min(each or others or total)
    of_all = total | (others - {one})
    verdict, predicted, reading = Verdict.CONTRADICTION, f"{one:,} × groups", ""
    if len(each) > 1 or len(total) > 1:
        predicted = "one number"
    elif len(each | total | others) == 1 and not (each and total):
        verdict, predicted = Verdict.CONSISTENT, "one number"
    elif claim.groups is not None:
        predicted = f"{one:,} × {claim.groups} = {one * claim.groups:,}"
        if of_all == {one * claim.groups}:
            verdict = Verdict.CONSISTENT
    elif not each or (len(of_all) == 1 and min(of_all) % one == 0):
        verdict, groups = Verdict.UNDECIDABLE, min(of_all) / one
        reading = f"They agree only if there are {number(groups)} groups, which is not stated."
    kinds = {"all": "all", "group": "each group", "unstated": ""}
    stated = _places(
        [(f"{entry.count:,}", entry.where or kinds[entry.of]) for entry in claim.values]
    )
    yield judgement("samples.agree", verdict, stated, reading, predicted=predicted)


def judge_limit(claim: claims.Limit, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`limit.bits`."""
    size = claim.amount / 8 if claim.unit == "bits" else float(claim.amount)
    called = claim.called
    low, high = called.value * (1 - MEASURED), (called.value + called.more) * (1 + MEASURED)
    inside = low <= size <= high
    swapped = not inside and claim.unit == "bits" and low <= claim.amount <= high
    yield judgement(
        "limit.bits", inside, called.text, "Bits were taken for bytes." if swapped else "",
        value=called.value, low=size, high=size, predicted=_size(size, 1024),
    )  # fmt: skip


def judge_rate(claim: claims.Rate, table: claims.ClaimTable) -> Iterator[Judgement]:
    """`rate.bytes-over-time`."""
    moved = [f for f in (claim.bytes_read, claim.bytes_written) if f is not None]
    stated, times = claim.bytes_per_second, _times(claim, table)
    if stated is None or times is None or not moved:
        return
    low, high = sum(f.low for f in moved) / times[1], sum(f.high for f in moved) / times[0]
    inside = stated.high >= low * (1 - MEASURED) and stated.low <= high * (1 + MEASURED)
    reading = f"{claim.operations:,} operations take {number(times[0])} s or more."
    yield judgement(
        "rate.bytes-over-time", inside, f"{_size(stated.value)}/s", reading, stated=stated,
        low=low, high=high, allowed=MEASURED, predicted=f"{_size(low)}/s to {_size(high)}/s",
    )  # fmt: skip


def _times(claim: claims.Rate, table: claims.ClaimTable) -> tuple[float, float] | None:
    """The shortest and the longest time of the operations: each may be any of those named, or all
    of them one after another. None where neither time nor cost is given."""
    if claim.seconds is not None:
        return max(claim.seconds.low, 1e-300), claim.seconds.high
    costs = [cost for cost in table.named(claim.cost_of) if isinstance(cost, claims.Cost)]
    if not costs:
        return None
    ends = [
        [(f.low * scale, f.high * scale) for name, f in cost.figures.items() if name != "sd"]
        for cost, scale in ((cost, cost.seconds or 0.0) for cost in costs)
    ]
    shortest = min(low for each in ends for low, _ in each) / claim.workers
    longest = sum(max(high for _, high in each) for each in ends)
    return claim.operations * shortest, claim.operations * longest


def _size(size: float, base: int = 1000) -> str:
    """Bytes in the largest unit that they fill, of powers of 1000 or 1024."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB") if base == 1024 else ("B", "kB", "MB", "GB", "TB")
    step = 0
    while size >= base and step < len(units) - 1:
        size, step = size / base, step + 1
    return f"{number(size)} {units[step]}"
