"""Rules about values that follow from others of the same source: products, quotients of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import cast

from mldsa_lab.audit.claims import ClaimTable, Product, Quotient, ValueTable
from mldsa_lab.audit.judgement import (
    CLOSE,
    Judgement,
    agreement,
    judgement,
    number,
    stated_text,
    unit_text,
)
from mldsa_lab.audit.values import FIGURE_MAX, StatedFigure, listed


def follows(
    rule: str,
    stated: StatedFigure,
    what: str,
    factors: Sequence[StatedFigure],
    over: Sequence[StatedFigure],
    reading: str = "",
) -> Judgement:
    """Judge a value by the product of ``factors`` divided by those in ``over``, each within its
    rounding."""
    low = math.prod(f.low for f in factors) / math.prod(f.high for f in over)
    high = math.prod(f.high for f in factors) / math.prod(max(f.low, 1 / FIGURE_MAX) for f in over)
    verdict, note = agreement(stated, low * (1 - CLOSE), high * (1 + CLOSE))
    reading = f"{reading} {note}".strip()
    text = f"{stated_text(stated)} {what}".strip()
    return judgement(rule, verdict, text, reading, stated=stated, low=low, high=high)


def judge_product(claim: Product, _: ClaimTable) -> Iterator[Judgement]:
    """`product.follows`. Whole numbers among the factors are exact."""
    exact = [_exact(f) for f in claim.factors.values()], [_exact(f) for f in claim.over.values()]
    by = "".join(f" × {name}" for name in claim.factors)[3:]
    by += "".join(f" / {name}" for name in claim.over)
    what = f"{unit_text(claim.unit)}, {claim.quantity}".removeprefix(", ")
    yield follows("product.follows", claim.stated, what, *exact, f"It is {by}.")


def _exact(figure: StatedFigure) -> StatedFigure:
    return StatedFigure(figure.value) if figure.value == int(figure.value) else figure


def judge_quotient(claim: Quotient, table: ClaimTable) -> Iterator[Judgement]:
    """`table.quotient`: one value lies between the least and the largest quotient of the pairs;
    limits are those of all pairs."""
    found = {
        f"{name}: {cell}": _form(claim, *pair)
        for name in listed(claim.table)
        for cell, pair in cast("ValueTable", table.claim(name)).pairs(claim.of, claim.over).items()
    }
    least, most = (pick(found, key=lambda n: found[n].value) for pick in (min, max))
    low, high = found[least], found[most]
    stated, texts, holds = claim.stated, [], True
    if stated is not None:
        texts.append(stated.text)
        ends = (stated.low, stated.high)
        holds = (
            stated.low.high >= low.low and stated.high.low <= high.high
            if stated.one
            else all(_meet(a, b) for a, b in zip(ends, (low, high), strict=True))
        )
    if claim.at_least is not None:
        texts.append(f"at least {claim.at_least.text}")
        holds &= low.high >= claim.at_least.value
    if claim.at_most is not None:
        texts.append(f"at most {claim.at_most.text}")
        holds &= high.low <= claim.at_most.value
    unit = "" if claim.form == "ratio" else "%"
    cells = dict.fromkeys((least, most))
    reading = f"{' to '.join(f'{number(found[n].value)} ({n})' for n in cells)}."
    yield judgement(
        "table.quotient", holds, f"{claim.quantity}: {', '.join(texts)} {unit}".strip(), reading,
        low=low.value, high=high.value, unit=unit,
    )  # fmt: skip


def _meet(a: StatedFigure, b: StatedFigure) -> bool:
    return a.high >= b.low and a.low <= b.high


def _form(claim: Quotient, of: StatedFigure, over: StatedFigure) -> StatedFigure:
    """Return a quotient in the claim's form, with what rounding may hide."""
    quotient = of.over(over)
    if claim.form == "ratio":
        return quotient
    sign = 100 if claim.form == "percent more" else -100
    return StatedFigure(sign * (quotient.value - 1), 100 * quotient.half)
