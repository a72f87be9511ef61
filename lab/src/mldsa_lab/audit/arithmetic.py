"""Rules of arithmetic: a published value follows from others of its source by a formula.

Each value lies within its rounding. Rules of repeated statements and of counts need no formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, cast

from mldsa_lab.audit import claims
from mldsa_lab.audit.judgement import CLOSE, MEASURED, Judgement, Verdict, judgement, meets
from mldsa_lab.audit.values import Span, StatedFigure, listed, number, unit_text
from mldsa_lab.expression import evaluate

FormulaNames = Mapping[str, StatedFigure | float | Sequence[StatedFigure]]


def check(
    rule: str,
    stated: StatedFigure,
    formula: str,
    figures: FormulaNames,
    claimed: str,
    reading: str = "",
    *,
    shown: Callable[[float], str] | None = None,
    **more: Any,
) -> Judgement:
    """Judge a published value by a formula over figures; ``shown``: a limit as text; ``more``: as
    of `judgement`."""
    expected = evaluate(formula, figures)
    if shown is not None:
        ends = dict.fromkeys(shown(end) for end in (expected.low, expected.high))
        more["predicted"] = " to ".join(ends)
    return judgement(
        rule, claimed, reading, stated=stated, low=expected.low, high=expected.high, **more
    )


def judge_product(claim: claims.Product, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`product.follows`. Whole numbers among the factors are exact."""
    factors, over = (
        [f.exact(f.value.is_integer()) for f in figures.values()]
        for figures in (claim.factors, claim.over)
    )
    by = "".join(f" × {name}" for name in claim.factors)[3:]
    by += "".join(f" / {name}" for name in claim.over)
    unit = f"{unit_text(claim.unit)}, {claim.quantity}".removeprefix(", ")
    yield check(
        "product.follows", claim.stated, "product(factors) / product(over)",
        {"factors": factors, "over": over}, f"{claim.stated} {unit}", f"It is {by}.",
        may_be_cut=True,
    )  # fmt: skip


def judge_quotient(claim: claims.Quotient, table: claims.ClaimTable) -> Iterator[Judgement]:
    """`table.quotient`: one value lies between the least and the largest quotient of the pairs;
    limits are those of all pairs."""
    tables = [cast("claims.ValueTable", table.claim(name)) for name in listed(claim.table)]
    quotients = {
        f"{part.id}: {cell}": evaluate(claims.FORMS[claim.form], {"value": value, "over": over})
        for part in tables
        for cell, (value, over) in part.pairs(claim.of, claim.over).items()
    }
    least, most = (pick(quotients, key=lambda n: quotients[n].value) for pick in (min, max))
    low, high = quotients[least], quotients[most]
    stated, texts, holds = claim.stated, [], True
    if stated is not None:
        texts.append(stated.text)
        ends = (stated.low, stated.high)
        holds = (
            meets(stated.low, low.low, high.high)
            if stated.one
            else all(meets(a, b.low, b.high) for a, b in zip(ends, (low, high), strict=True))
        )
    if claim.at_least is not None:
        texts.append(f"at least {claim.at_least.text}")
        holds &= meets(low, claim.at_least.value, None)
    if claim.at_most is not None:
        texts.append(f"at most {claim.at_most.text}")
        holds &= meets(high, None, claim.at_most.value)
    unit = "" if claim.form == "ratio" else "%"
    cells = dict.fromkeys((least, most))
    reading = f"{' to '.join(f'{number(quotients[n].value)} ({n})' for n in cells)}."
    yield judgement(
        "table.quotient", f"{claim.quantity}: {', '.join(texts)} {unit}".strip(), reading, holds,
        low=low.value, high=high.value, unit=unit,
    )  # fmt: skip


def judge_parts(claim: claims.Parts, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`parts.sum` where there is a total, `parts.share` for each share."""
    is_count = claim.unit == "count"
    parts = {name: part.exact(is_count) for name, part in claim.parts.items()}
    total, unit = sum(part.value for part in parts.values()), unit_text(claim.unit)
    if claim.total is not None:
        stated, figures = claim.total.exact(is_count), {"parts": list(parts.values())}
        text = f"total {stated} {unit}"
        yield check("parts.sum", stated, "sum(parts)", figures, text, unit=unit)
    for share in claim.shares:
        chosen = [parts[name] for name in listed(share.of)]
        part = sum(figure.value for figure in chosen)
        yield check(
            "parts.share", share.percent, "100 / (1 + rest / sum(parts))",
            {"parts": chosen, "rest": total - part},
            statements_text([(f"{share.percent} %", share.where)]),
            f"{' + '.join(listed(share.of))} is {number(part)} of {number(total)} {unit}.",
            may_be_cut=True, unit="%",
        )  # fmt: skip


def judge_statements(claim: claims.Statements, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`statements.agree`: numbers are one within rounding, limits are the same limits, and a
    number lies between limits."""
    unit = f" {unit_text(claim.unit)}" if claim.unit else ""
    pairs = combinations((entry.value for entry in claim.values), 2)
    text = statements_text([(entry.value.text + unit, entry.where) for entry in claim.values])
    inside = all(_one(a, b, claim.unit) for a, b in pairs)
    names = tuple(entry.where or str(place) for place, entry in enumerate(claim.values, 1))
    yield judgement(
        "statements.agree", text, claim.quantity, inside, predicted="one value", values=names
    )


def _one(a: Span, b: Span, unit: str) -> bool:
    """Return whether both can be one statement. Rounding that would have to fall on one edge, 2 and
    3 of 2.5, is none: whole numbers that differ are different."""
    (a_low, a_high), (b_low, b_high) = (
        [f.exact(unit == "count") for f in (x.low, x.high)] for x in (a, b)
    )
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
        {entry.count for entry in claim.values if entry.of == kind}
        for kind in ("group", "all", "unstated")
    )
    one = min(each or others or total)
    totals = total | (others - {one})
    verdict, predicted, reading = Verdict.CONTRADICTION, f"{one:,} × groups", ""
    if len(each) > 1 or len(total) > 1:
        predicted = "one number"
    elif len(each | total | others) == 1 and not (each and total):
        verdict, predicted = Verdict.CONSISTENT, "one number"
    elif claim.groups is not None:
        predicted = f"{one:,} × {claim.groups} = {one * claim.groups:,}"
        if totals == {one * claim.groups}:
            verdict = Verdict.CONSISTENT
    elif not each or (len(totals) == 1 and min(totals) % one == 0):
        verdict, groups = Verdict.UNDECIDABLE, min(totals) / one
        reading = f"They agree only if there are {number(groups)} groups, which is not stated."
    kinds = {"all": "all", "group": "each group", "unstated": ""}
    stated = statements_text(
        [(f"{entry.count:,}", entry.where or kinds[entry.of]) for entry in claim.values]
    )
    yield judgement("samples.agree", stated, reading, verdict, predicted=predicted)


def judge_limit(claim: claims.Limit, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`limit.bits`."""
    is_bits = claim.unit == "bits"
    swapped = is_bits and meets(claim.called.exact(), claim.amount, claim.amount, MEASURED)
    yield check(
        "limit.bits", claim.called.exact(), "amount / 8" if is_bits else "amount",
        {"amount": StatedFigure(claim.amount)}, claim.called.text, allowed=MEASURED,
        shown=partial(_size, base=1024), fault="Bits were taken for bytes." if swapped else "",
    )  # fmt: skip


def judge_rate(claim: claims.Rate, table: claims.ClaimTable) -> Iterator[Judgement]:
    """`rate.bytes-over-time`."""
    moved = [f for f in (claim.bytes_read, claim.bytes_written) if f is not None]
    stated, time = claim.bytes_per_second, _time(claim, table)
    if stated is None or time is None or not moved:
        return
    yield check(
        "rate.bytes-over-time", stated, "sum(moved) / time", {"moved": moved, "time": time},
        f"{_size(stated.value)}/s", f"{claim.operations:,} operations take {number(time.low)} s "
        "or more.", allowed=MEASURED, shown=lambda end: f"{_size(end)}/s",
    )  # fmt: skip


def _time(claim: claims.Rate, table: claims.ClaimTable) -> StatedFigure | None:
    """The time of the operations, from the shortest to the longest: each may be any of those named,
    or all of them one after another. None where neither time nor cost is given."""
    if claim.seconds is not None:
        return claim.seconds
    costs = [cost for cost in table.named(claim.cost_of) if isinstance(cost, claims.Cost)]
    if not costs:
        return None
    ends = [
        [f * (cost.seconds or 0.0) for name, f in cost.figures.items() if name != "sd"]
        for cost in costs
    ]
    shortest = min(f.low for each in ends for f in each) / claim.workers
    longest = sum(max(f.high for f in each) for each in ends)
    return claim.operations * StatedFigure.between(shortest, shortest, longest)


def _size(size: float, base: int = 1000) -> str:
    """Bytes in the largest unit that they fill, of powers of 1000 or 1024."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB") if base == 1024 else ("B", "kB", "MB", "GB", "TB")
    step = 0
    while size >= base and step < len(units) - 1:
        size, step = size / base, step + 1
    return f"{number(size)} {units[step]}"


def statements_text(entries: Sequence[tuple[str, str]]) -> str:
    """The statements, each with its place."""
    return " and ".join(f"{text} ({where})" if where else text for text, where in entries)
