"""Rules of plain arithmetic: parts and shares, repeated statements, counts, limits, rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from mldsa_lab.audit.claims import (
    ClaimTable,
    Cost,
    Counted,
    Limit,
    Parts,
    Rate,
    Statements,
    listed,
    seconds,
)
from mldsa_lab.audit.judgement import MEASURED, Judgement, Verdict, judgement, number, unit_text
from mldsa_lab.audit.values import Span, StatedFigure
from mldsa_lab.sets import PARAMETER_SETS

_CLOSE = 1e-9
_EXACT = "count"


def _stated(figure: StatedFigure, unit: str) -> StatedFigure:
    """A figure as its unit has it: counts are not rounded."""
    return StatedFigure(figure.value) if unit == _EXACT else figure


def _within(figure: StatedFigure, low: float, high: float) -> bool:
    """Whether a figure can lie between limits that rounding alone makes."""
    return figure.high >= low - _CLOSE and figure.low <= high + _CLOSE


def _places(entries: Sequence[tuple[str, str]]) -> str:
    """What is stated, each with where it stands."""
    return " and ".join(f"{text} ({where})" if where else text for text, where in entries)


def judge_parts(claim: Parts) -> Iterator[Judgement]:
    """`parts.sum` where there is a total, `parts.share` for each share."""
    parts = {name: _stated(part, claim.unit) for name, part in claim.parts.items()}
    total = sum(part.value for part in parts.values())
    unit = unit_text(claim.unit)
    if claim.total is not None:
        stated = _stated(claim.total, claim.unit)
        low, high = (sum(getattr(p, end) for p in parts.values()) for end in ("low", "high"))
        yield judgement(
            "parts.sum", _within(stated, low, high), f"total {number(stated.value)} {unit}",
            f"{' + '.join(number(part.value) for part in parts.values())} = {number(total)}.",
            value=stated.value, low=low, high=high, predicted=f"{number(total)} {unit}",
        )  # fmt: skip
    for share in claim.shares:
        chosen = [parts[name] for name in listed(share.of)]
        part = sum(figure.value for figure in chosen)
        # The parts' rounding moves numerator and denominator together.
        rest = total - part
        ends = (sum(max(f.low, 0) for f in chosen), sum(f.high for f in chosen))
        low, high = (100 * end / (end + rest) if end + rest > 0 else 0.0 for end in ends)
        yield judgement(
            "parts.share", _within(share.percent, low, high),
            _places([(f"{number(share.percent.value)} %", share.where)]),
            f"{' + '.join(listed(share.of))} is {number(part)} of {number(total)} {unit}.",
            value=share.percent.value, low=low, high=high,
            predicted=f"{number(100 * part / total)} %",
        )  # fmt: skip


def judge_statements(claim: Statements) -> Iterator[Judgement]:
    """`statements.agree`: numbers are one within rounding, limits are the same limits, and a
    number lies between limits."""
    unit = f" {unit_text(claim.unit)}" if claim.unit else ""
    pairs = combinations((entry.value for entry in claim.values), 2)
    inside = all(_one(a, b, claim.unit) for a, b in pairs)
    text = _places([(entry.value.text + unit, entry.where) for entry in claim.values])
    yield judgement("statements.agree", inside, text, f"{claim.quantity}.", predicted="one value")


def _one(a: Span, b: Span, unit: str) -> bool:
    """Whether both can be one statement. Rounding that would have to fall on one and the same
    edge, 2 and 3 of 2.5, is none: whole numbers that differ are different."""
    (a_low, a_high), (b_low, b_high) = ([_stated(f, unit) for f in (x.low, x.high)] for x in (a, b))
    if a.one != b.one:
        return a_high.high >= b_low.low and a_low.low <= b_high.high
    return all(
        x.value == y.value or min(x.high, y.high) - max(x.low, y.low) > _CLOSE * x.value
        for x, y in ((a_low, b_low), (a_high, b_high))
    )


def judge_counted(claim: Counted) -> Iterator[Judgement]:
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
    elif not each:
        verdict, reading = Verdict.UNDECIDABLE, "No number is said to be of each group."
    elif len(of_all) == 1 and min(of_all) % one == 0:
        verdict = Verdict.UNDECIDABLE
        reading = f"They agree only if there are {min(of_all) // one} groups, which is not stated."
    stated = [
        (f"{entry.count:,}", entry.where or ("" if entry.of == "unstated" else entry.of))
        for entry in claim.values
    ]
    yield judgement("samples.agree", verdict, _places(stated), reading, predicted=predicted)


def judge_limit(claim: Limit) -> Iterator[Judgement]:
    """`limit.bits`."""
    size = claim.amount / 8 if claim.unit == "bits" else float(claim.amount)
    called = claim.called
    low, high = called.value * (1 - MEASURED), (called.value + called.more) * (1 + MEASURED)
    inside = low <= size <= high
    reading = f"{claim.amount:,} {claim.unit} are {size:,.0f} bytes, {_size(size, 1024)}."
    if not inside and claim.unit == "bits" and low <= claim.amount <= high:
        reading += " As many bytes would be the size stated: bits were taken for bytes."
    yield judgement(
        "limit.bits", inside, called.text, reading, value=called.value, low=size, high=size,
        predicted=_size(size, 1024),
    )  # fmt: skip


def judge_rate(claim: Rate, table: ClaimTable) -> Iterator[Judgement]:
    """`rate.bytes-over-time` and `rate.bytes-per-operation`."""
    moved = [f for f in (claim.bytes_read, claim.bytes_written) if f is not None]
    if claim.bytes_per_second is not None and moved:
        yield _rate_over_time(claim, table, claim.bytes_per_second, moved)
    written = claim.bytes_written
    if written is not None and claim.operation == "sign" and claim.set is not None:
        signature = float(PARAMETER_SETS[claim.set].signature_bytes)
        each = written.value / claim.operations
        yield judgement(
            "rate.bytes-per-operation", written.high >= signature * claim.operations,
            f"{number(each)} bytes written for each", value=each, low=signature, unit="bytes",
        )  # fmt: skip


def _rate_over_time(
    claim: Rate, table: ClaimTable, stated: StatedFigure, moved: Sequence[StatedFigure]
) -> Judgement:
    least, most = sum(f.low for f in moved), sum(f.high for f in moved)
    text = f"{_size(stated.value)}/s"
    costs = [cost for cost in table.named(claim.cost_of) if isinstance(cost, Cost)]
    if claim.seconds is not None:
        shortest, longest = max(claim.seconds.low, 1e-300), claim.seconds.high
    elif costs:
        # Each operation may be any of those named, or all of them one after another.
        scales = [seconds(cost.unit) or 0.0 for cost in costs]
        ends = [[f for name, f in cost.figures.items() if name != "sd"] for cost in costs]
        spans = list(zip(ends, scales, strict=True))
        shortest = claim.operations * min(min(f.low for f in e) * u for e, u in spans)
        longest = claim.operations * sum(max(f.high for f in e) * u for e, u in spans)
        shortest /= claim.workers
    else:
        return judgement(
            "rate.bytes-over-time", Verdict.UNDECIDABLE, text, value=stated.value,
            reading="Neither the time nor the cost of the operations is given.",
            predicted="bytes over time",
        )  # fmt: skip
    low, high = least / longest, most / shortest
    inside = stated.high >= low * (1 - MEASURED) and stated.low <= high * (1 + MEASURED)
    reading = f"{claim.operations:,} operations take {number(shortest)} s or more."
    if not inside:
        above = stated.value > high
        factor = stated.value / high if above else low / stated.value
        reading += f" The rate is {number(factor)} times too {'high' if above else 'low'}."
    return judgement(
        "rate.bytes-over-time", inside, text, reading, value=stated.value, low=low, high=high,
        predicted=f"{_size(low)}/s to {_size(high)}/s",
    )  # fmt: skip


def _size(size: float, base: int = 1000) -> str:
    """Bytes in the largest unit that they fill, of powers of 1000 or 1024."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB") if base == 1024 else ("B", "kB", "MB", "GB", "TB")
    step = 0
    while size >= base and step < len(units) - 1:
        size, step = size / base, step + 1
    return f"{number(size)} {units[step]}"
