"""Rules of plain arithmetic: parts and shares, repeated statements, counts, limits, rates."""

from __future__ import annotations

from collections.abc import Iterator
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
from mldsa_lab.audit.values import Span, StatedFigure
from mldsa_lab.audit.verdict import Band, Judgement, Verdict, agrees, number, unit_text
from mldsa_lab.sets import PARAMETER_SETS

_CLOSE = 1e-9
# Two measurements of one quantity.
_MEASURED = 0.02
_EXACT = "count"


def _stated(figure: StatedFigure, unit: str) -> StatedFigure:
    """A figure as its unit has it: counts are not rounded."""
    return StatedFigure(figure.value) if unit == _EXACT else figure


def judge_parts(claim: Parts) -> Iterator[Judgement]:
    """`parts.sum` where there is a total, `parts.share` for each share."""
    parts = {name: _stated(part, claim.unit) for name, part in claim.parts.items()}
    total = sum(part.value for part in parts.values())
    unit = unit_text(claim.unit)
    if claim.total is not None:
        stated = _stated(claim.total, claim.unit)
        low, high = (sum(getattr(p, end) for p in parts.values()) for end in ("low", "high"))
        inside = stated.high >= low - _CLOSE and stated.low <= high + _CLOSE
        text = " + ".join(number(part.value) for part in parts.values())
        yield Judgement(
            "parts.sum",
            agrees(inside),
            f"total {number(stated.value)} {unit}",
            Band(low, high, f"{number(total)} {unit}"),
            f"{text} = {number(total)}.",
            stated.value,
        )
    for share in claim.shares:
        chosen = [parts[name] for name in listed(share.of)]
        part = sum(figure.value for figure in chosen)
        part_low = sum(max(figure.low, 0) for figure in chosen)
        part_high = sum(figure.high for figure in chosen)
        # The parts' rounding moves numerator and denominator together.
        rest = total - part
        least = 100 * part_low / (part_low + rest) if part_low + rest > 0 else 0.0
        most = 100 * part_high / (part_high + rest)
        inside = share.percent.high >= least - _CLOSE and share.percent.low <= most + _CLOSE
        where = f" ({share.where})" if share.where else ""
        yield Judgement(
            "parts.share",
            agrees(inside),
            f"{number(share.percent.value)} %{where}",
            Band(least, most, f"{number(100 * part / total)} %"),
            f"{' + '.join(listed(share.of))} is {number(part)} of {number(total)} {unit}.",
            share.percent.value,
        )


def judge_statements(claim: Statements) -> Iterator[Judgement]:
    """`statements.agree`: numbers are one within rounding, limits are the same limits, and a
    number lies between limits."""
    unit = f" {unit_text(claim.unit)}" if claim.unit else ""
    pairs = combinations((entry.value for entry in claim.values), 2)
    inside = all(_one(a, b, claim.unit) for a, b in pairs)
    text = " and ".join(
        f"{entry.value.text}{unit}" + (f" ({entry.where})" if entry.where else "")
        for entry in claim.values
    )
    reading = "the statements agree." if inside else "the statements exclude each other."
    reading = f"{claim.quantity}: {reading}"
    yield Judgement("statements.agree", agrees(inside), text, Band.said("one value"), reading)


def _one(a: Span, b: Span, unit: str) -> bool:
    """Whether both can be one statement. Rounding that would have to fall on one and the same
    edge, 2 and 3 of 2.5, is none: whole numbers that differ are different."""
    (a_low, a_high), (b_low, b_high) = ([_stated(f, unit) for f in x.ends] for x in (a, b))
    if a.one != b.one:
        return a_high.high >= b_low.low and a_low.low <= b_high.high
    for x, y in ((a_low, b_low), (a_high, b_high)):
        room = min(x.high, y.high) - max(x.low, y.low)
        if x.value != y.value and room <= _CLOSE * x.value:
            return False
    return True


def judge_counted(claim: Counted) -> Iterator[Judgement]:
    """`samples.agree`: counts of all and of each group. What a count is of may be unstated; it is
    then compared as either."""
    text = " and ".join(
        f"{entry.count:,}"
        + (f" ({entry.where or entry.of})" if entry.where or entry.of != "unstated" else "")
        for entry in claim.values
    )
    verdict, predicted, reading = _counted(claim)
    yield Judgement("samples.agree", verdict, text, Band.said(predicted), reading)


def _counted(claim: Counted) -> tuple[Verdict, str, str]:
    """Verdict, prediction and reading."""
    by_kind = {
        of: {entry.count for entry in claim.values if entry.of == of}
        for of in ("group", "all", "unstated")
    }
    each, total, others = by_kind.values()
    agree, exclude = "The statements agree.", "The statements exclude each other."
    if len(each) > 1 or len(total) > 1:
        return Verdict.CONTRADICTION, "one number", "One number is stated in two ways."
    if len(each | total | others) == 1 and not (each and total):
        return Verdict.CONSISTENT, "one number", agree
    if not each and claim.groups is None:
        undecided = "No number is said to be of each group."
        return Verdict.UNDECIDABLE, "all = each × groups", undecided
    # Where no number is said to be of each group, it is the smallest; the others are of all.
    one = min(each or others)
    of_all = total | (others - {one})
    if claim.groups is not None:
        predicted = f"{one:,} × {claim.groups} = {one * claim.groups:,}"
        inside = of_all == {one * claim.groups}
        return agrees(inside), predicted, agree if inside else exclude
    predicted = f"{number(one)} × groups"
    fitting = {count // one for count in of_all if count % one == 0}
    if len(of_all) != 1 or len(fitting) != 1:
        return Verdict.CONTRADICTION, predicted, "No number of groups makes them agree."
    reading = (
        f"They agree only if there are {fitting.pop()} groups, which is not stated; each mean "
        f"then rests on {one:,} samples."
    )
    return Verdict.UNDECIDABLE, predicted, reading


def judge_limit(claim: Limit) -> Iterator[Judgement]:
    """`limit.bits`."""
    size = claim.amount / 8 if claim.unit == "bits" else float(claim.amount)
    called = claim.called
    low, high = called.value * (1 - _MEASURED), (called.value + called.more) * (1 + _MEASURED)
    inside = low <= size <= high
    reading = f"{claim.amount:,} {claim.unit} are {size:,.0f} bytes, {_size(size, 1024)}."
    if not inside and claim.unit == "bits" and low <= claim.amount <= high:
        reading += " As many bytes would be the size stated: bits were taken for bytes."
    predicted = Band(size, size, _size(size, 1024))
    yield Judgement("limit.bits", agrees(inside), called.text, predicted, reading, called.value)


def judge_rate(claim: Rate, table: ClaimTable) -> Iterator[Judgement]:
    """`rate.bytes-over-time` and `rate.bytes-per-operation`."""
    if claim.bytes_per_second is not None:
        yield _rate_over_time(claim, table, claim.bytes_per_second)
    written = claim.bytes_written
    if written is not None and claim.operation == "sign" and claim.set is not None:
        signature = PARAMETER_SETS[claim.set].signature_bytes
        each = written.value / claim.operations
        yield Judgement(
            "rate.bytes-per-operation",
            agrees(written.high >= float(signature * claim.operations)),
            f"{number(each)} bytes written for each",
            Band.between(float(signature), None, "bytes"),
            f"A signature of {claim.set} has {signature:,} bytes.",
            each,
        )


def _rate_over_time(claim: Rate, table: ClaimTable, stated: StatedFigure) -> Judgement:
    moved = [f for f in (claim.bytes_read, claim.bytes_written) if f is not None]
    total, least, most = (sum(getattr(f, a) for f in moved) for a in ("value", "low", "high"))
    text = f"{_size(stated.value)}/s"
    costs = [cost for cost in table.named(claim.cost_of) if isinstance(cost, Cost)]
    if claim.seconds is not None:
        low, high = least / claim.seconds.high, most / max(claim.seconds.low, 1e-300)
        how = f"{_size(total)} in {number(claim.seconds.value)} s."
    elif costs:
        # Each operation may be any of those named, or all of them one after another.
        ends = [[f for name, f in cost.figures.items() if name != "sd"] for cost in costs]
        units = [seconds(cost.unit) or 0.0 for cost in costs]
        shortest = min(min(f.low for f in e) * u for e, u in zip(ends, units, strict=True))
        longest = sum(max(f.high for f in e) * u for e, u in zip(ends, units, strict=True))
        high = most * claim.workers / (claim.operations * shortest)
        low = least / (claim.operations * longest)
        how = (
            f"{claim.operations:,} operations at their stated costs take "
            f"{number(claim.operations * shortest / claim.workers)} s or more."
        )
    else:
        reading = "Neither the time nor the cost of the operations is given."
        predicted = Band.said("bytes over time")
        return Judgement(
            "rate.bytes-over-time", Verdict.UNDECIDABLE, text, predicted, reading, stated.value
        )
    inside = stated.high >= low * (1 - _MEASURED) and stated.low <= high * (1 + _MEASURED)
    if not inside:
        above = stated.value > high
        factor = stated.value / high if above else low / stated.value
        how += f" The rate is {number(factor)} times too {'high' if above else 'low'}."
    predicted = Band(low, high, f"{_size(low)}/s to {_size(high)}/s")
    return Judgement("rate.bytes-over-time", agrees(inside), text, predicted, how, stated.value)


def _size(size: float, base: int = 1000) -> str:
    """Bytes in the largest unit that they fill, of powers of 1000 or 1024."""
    binary = ("bytes", "KiB", "MiB", "GiB", "TiB")
    units = binary if base == 1024 else ("B", "kB", "MB", "GB", "TB")
    step = 0
    while size >= base and step < len(units) - 1:
        size, step = size / base, step + 1
    return f"{number(size)} {units[step]}"
