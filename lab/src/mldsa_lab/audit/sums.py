"""Rules of plain arithmetic: parts and shares, repeated statements, counts, limits, rates."""

from __future__ import annotations

from collections.abc import Iterator

from mldsa_lab.audit import rules
from mldsa_lab.audit.claims import (
    Counted,
    Figure,
    Limit,
    Parts,
    Rate,
    Statements,
    Table,
)
from mldsa_lab.audit.reading import seconds
from mldsa_lab.audit.verdict import Finding, Range, Verdict, number, unit_text
from mldsa_lab.sets import PARAMETER_SETS

_CLOSE = 1e-9
# Two measurements of one quantity.
_MEASURED = 0.02


def _verdict(inside: bool) -> Verdict:
    return Verdict.CONSISTENT if inside else Verdict.CONTRADICTION


def judge_parts(claim: Parts) -> Iterator[Finding]:
    """`parts.sum` where there is a total, `parts.share` for each share."""
    low = sum(p.low for p in claim.parts.values())
    high = sum(p.high for p in claim.parts.values())
    total = sum(p.value for p in claim.parts.values())
    listed = " + ".join(number(p.value) for p in claim.parts.values())
    if claim.total is not None:
        inside = claim.total.high >= low - _CLOSE and claim.total.low <= high + _CLOSE
        yield Finding(
            claim.id,
            rules.PARTS_SUM,
            _verdict(inside),
            f"total {number(claim.total.value)} {unit_text(claim.unit)}",
            Range(low, high, f"{number(total)} {unit_text(claim.unit)}"),
            f"{listed} = {number(total)}.",
            claim.total.value,
        )
    for share in claim.shares:
        part = sum(claim.parts[name].value for name in share.of)
        part_low = sum(max(claim.parts[name].low, 0) for name in share.of)
        part_high = sum(claim.parts[name].high for name in share.of)
        # The parts' rounding moves numerator and denominator together.
        rest = total - part
        least = 100 * part_low / (part_low + rest) if part_low + rest > 0 else 0.0
        most = 100 * part_high / (part_high + rest)
        inside = share.percent.high >= least - _CLOSE and share.percent.low <= most + _CLOSE
        where = f" ({share.where})" if share.where else ""
        yield Finding(
            claim.id,
            rules.PARTS_SHARE,
            _verdict(inside),
            f"{number(share.percent.value)} %{where}",
            Range(least, most, f"{number(100 * part / total)} %"),
            f"{' + '.join(share.of)} is {number(part)} of {number(total)} {unit_text(claim.unit)}.",
            share.percent.value,
        )


def judge_statements(claim: Statements) -> Iterator[Finding]:
    """`statements.agree`."""
    low = max(f.low for f, _ in claim.values)
    high = min(f.high for f, _ in claim.values)
    unit = f" {unit_text(claim.unit)}" if claim.unit else ""
    text = " and ".join(
        f"{number(f.value)}{unit}" + (f" ({where})" if where else "") for f, where in claim.values
    )
    inside = low <= high + _CLOSE
    yield Finding(
        claim.id,
        rules.STATEMENTS,
        _verdict(inside),
        text,
        Range(None, None, "one value"),
        f"{claim.quantity}: "
        + ("the statements agree." if inside else "the statements exclude each other."),
    )


def judge_counted(claim: Counted) -> Iterator[Finding]:
    """`samples.agree`: counts of all and of each group. What a count is of may be unstated; it is
    then compared as either."""
    text = " and ".join(
        f"{count:,}" + (f" ({where or of})" if where or of != "unstated" else "")
        for count, of, where in claim.values
    )

    def finding(verdict: Verdict, predicted: str, reading: str) -> Finding:
        return Finding(
            claim.id, rules.COUNTED, verdict, text, Range(None, None, predicted), reading
        )

    groups = {count for count, of, _ in claim.values if of == "group"}
    totals = {count for count, of, _ in claim.values if of == "all"}
    others = {count for count, of, _ in claim.values if of == "unstated"}
    if len(groups) > 1 or len(totals) > 1:
        yield finding(Verdict.CONTRADICTION, "one number", "One number is stated in two ways.")
        return
    if len(groups | totals | others) == 1 and not (groups and totals):
        yield finding(Verdict.CONSISTENT, "one number", "The statements agree.")
        return
    if not groups:
        yield finding(
            Verdict.UNDECIDABLE, "all = each × groups", "No number is said to be of each group."
        )
        return
    each = next(iter(groups))
    of_all = totals | (others - {each})
    if claim.groups is None:
        fitting = {total // each for total in of_all if total % each == 0}
        if len(fitting) == 1 and len(of_all) == 1:
            yield finding(
                Verdict.UNDECIDABLE,
                f"{number(each)} × groups",
                f"They agree only if there are {fitting.pop()} groups, which is not stated; each "
                f"mean then rests on {each:,} samples.",
            )
        else:
            yield finding(
                Verdict.CONTRADICTION,
                f"{number(each)} × groups",
                "No number of groups makes them agree.",
            )
        return
    inside = of_all == {each * claim.groups}
    yield finding(
        _verdict(inside),
        f"{each:,} × {claim.groups} = {each * claim.groups:,}",
        "The statements agree." if inside else "The statements exclude each other.",
    )


def judge_limit(claim: Limit) -> Iterator[Finding]:
    """`limit.bits`."""
    size = claim.amount / 8 if claim.unit == "bits" else float(claim.amount)
    low, high = claim.called
    inside = low * (1 - _MEASURED) <= size <= high * (1 + _MEASURED)
    reading = f"{claim.amount:,} {claim.unit} are {size:,.0f} bytes, {binary(size)}."
    if not inside and claim.unit == "bits" and low * 0.98 <= claim.amount <= high * 1.02:
        reading += " As many bytes would be the size stated: bits were taken for bytes."
    yield Finding(
        claim.id,
        rules.LIMIT,
        _verdict(inside),
        claim.called_text,
        Range(size, size, binary(size)),
        reading,
        low,
    )


def binary(size: float) -> str:
    """A size in the largest binary unit that it fills."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB")
    step = 0
    while size >= 1024 and step < len(units) - 1:
        size, step = size / 1024, step + 1
    return f"{number(size)} {units[step]}"


def judge_rate(claim: Rate, table: Table) -> Iterator[Finding]:
    """`rate.bytes-over-time` and `rate.bytes-per-operation`."""
    moved = [f for f in (claim.read, claim.written) if f is not None]
    total = Figure(sum(f.value for f in moved), sum(f.half for f in moved))
    if claim.per_second is not None:
        yield _rate_over_time(claim, table, total)
    if claim.written is not None and claim.operation == "sign" and claim.set is not None:
        signature = PARAMETER_SETS[claim.set].signature_bytes
        least = float(signature * claim.operations)
        enough = claim.written.high >= least
        each = claim.written.value / claim.operations
        yield Finding(
            claim.id,
            rules.RATE_WRITTEN,
            _verdict(enough),
            f"{number(each)} bytes written for each",
            Range.between(float(signature), None, "bytes"),
            f"A signature of {claim.set} has {signature:,} bytes.",
            each,
        )


def _rate_over_time(claim: Rate, table: Table, total: Figure) -> Finding:
    assert claim.per_second is not None
    stated = claim.per_second
    text = f"{_si(stated.value)}/s"
    if claim.seconds is not None:
        low, high = total.low / claim.seconds.high, total.high / max(claim.seconds.low, 1e-300)
        how = f"{_si(total.value)} in {number(claim.seconds.value)} s."
    else:
        costs = table.costs_of(claim.cost_of)
        if not costs:
            return Finding(
                claim.id,
                rules.RATE,
                Verdict.UNDECIDABLE,
                text,
                Range(None, None, "bytes over time"),
                "Neither the time nor the cost of the operations is given.",
                stated.value,
            )
        # Each operation may be any of those named, or all of them one after another.
        least = min(
            min(f.low for n, f in c.figures.items() if n != "sd") * seconds(c.unit) for c in costs
        )
        most = sum(
            max(f.high for n, f in c.figures.items() if n != "sd") * seconds(c.unit) for c in costs
        )
        high = total.high * claim.workers / (claim.operations * least)
        low = total.low / (claim.operations * most)
        how = (
            f"{claim.operations:,} operations at their stated costs take "
            f"{number(claim.operations * least / claim.workers)} s or more."
        )
    inside = stated.high >= low * (1 - _MEASURED) and stated.low <= high * (1 + _MEASURED)
    if not inside:
        factor = stated.value / high if stated.value > high else low / stated.value
        how += (
            f" The rate is {number(factor)} times too {'high' if stated.value > high else 'low'}."
        )
    return Finding(
        claim.id,
        rules.RATE,
        _verdict(inside),
        text,
        Range(low, high, f"{_si(low)}/s to {_si(high)}/s"),
        how,
        stated.value,
    )


def _si(size: float) -> str:
    """Bytes in the largest decimal unit."""
    units = ("B", "kB", "MB", "GB", "TB")
    step = 0
    while size >= 1000 and step < len(units) - 1:
        size, step = size / 1000, step + 1
    return f"{number(size)} {units[step]}"
