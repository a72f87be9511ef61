"""Verdicts and findings of an audit, and the rule behind each."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import NamedTuple

from mldsa_lab.audit.values import StatedFigure, number


class Verdict(StrEnum):
    """The scale, in the order of gravity."""

    CONSISTENT = "consistent"
    """The figure lies where the rule says it must."""
    UNDECIDABLE = "undecidable"
    """The figures given do not suffice for the rule to decide."""
    IMPLAUSIBLE = "implausible"
    """Outside what theory allows, unless a circumstance holds that the source does not state."""
    CONTRADICTION = "contradiction"
    """Against arithmetic, the standard, or the source's own words: no circumstance explains it."""


class Rule(NamedTuple):
    """A rule by its stable id, what it says in one sentence, and where that comes from."""

    id: str
    sentence: str
    source: str


def _rules() -> dict[str, Rule]:
    text = (resources.files("mldsa_lab.audit") / "rules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    return {row[0]: Rule(*row) for row in rows}


RULES = _rules()
"""All rules by id: the table of docs/audit.md."""

NONE = "none"
"""The id of the rule that there is none."""

MEASURED = 0.02
"""Two measurements of one quantity agree so far."""
ANOTHER_RUN = 0.10
"""Measurements of one quantity in different runs agree so far; beyond, no machine explains it."""

CLOSE = 1e-12
"""Relative error of sums and products of positive numbers: n operations have at most n * 2**-53,
which is 1e-12 for 9,000. Figures that differ in their 12th digit remain different."""
_MOST_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict by one rule, of that id.

    ``claimed``: the claimed value as text, ``value`` its number where it is one; ``predicted``:
    what the rule predicts, ``low`` and ``high`` its limits, None where there is none; ``reading``:
    what follows. ``claim``: the claim's id, which `mldsa_lab.audit.audit` fills in. ``values``: the
    labels of the published values that it judges; a rule gives their names within the claim.
    """

    rule: str
    verdict: Verdict
    claimed: str
    predicted: str
    reading: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    claim: str = ""
    values: tuple[str, ...] = ()


def judgement(
    rule: str,
    claimed: str,
    reading: str = "",
    verdict: Verdict | bool | None = None,
    *,
    stated: StatedFigure | float = math.nan,
    low: float | None = None,
    high: float | None = None,
    allowed: float = 0.0,
    near: float = 0.0,
    otherwise: Verdict = Verdict.CONTRADICTION,
    may_be_cut: bool = False,
    fault: str | None = None,
    unit: str = "",
    predicted: str | None = None,
    values: tuple[str, ...] = (),
) -> Judgement:
    """Return a finding on the ``stated`` figure; a plain number is exact.

    ``verdict``: of a rule of its own, or whether a statement holds. If not given, the figure is
    consistent within its rounding and the relative error ``allowed``, implausible up to the error
    ``near``, and ``otherwise`` a contradiction. One that ``may_be_cut`` is consistent if it was cut
    off behind its last digit by up to `MEASURED` (888 whole transactions fit, of 888.9), and
    implausible if by more. ``fault``: the reading of a figure that is not consistent, if it is
    another. ``predicted``: the limits with their unit, if not given; ``values``: names of the
    values that it judges, if they are not those equal to ``stated``, or all of the claim.
    """
    figure = stated if isinstance(stated, StatedFigure) else StatedFigure(float(stated))
    cut = StatedFigure(figure.value, 2 * figure.half)
    is_cut = may_be_cut and not meets(figure, low, None) and meets(cut, low, high)
    if isinstance(verdict, bool):
        verdict = Verdict.CONSISTENT if verdict else Verdict.CONTRADICTION
    elif verdict is None and is_cut:
        is_near = meets(StatedFigure(figure.value), low, None, MEASURED)
        verdict = Verdict.CONSISTENT if is_near else Verdict.IMPLAUSIBLE
    elif verdict is None and meets(figure, low, high, allowed):
        verdict = Verdict.CONSISTENT
    elif verdict is None:
        verdict = Verdict.IMPLAUSIBLE if meets(figure, low, high, near) else otherwise
    if is_cut:
        reading = f"{reading} Its last digits were cut off, not rounded.".lstrip()
    if verdict is not Verdict.CONSISTENT and fault is not None:
        reading = fault
    text = limits(low, high, unit, figure) if predicted is None else predicted
    if verdict is Verdict.CONSISTENT and not math.isnan(figure.value):
        text += _allowance(figure, low, high, allowed)
    value, low, high = (
        v if v is not None and math.isfinite(v) else None for v in (figure.value, low, high)
    )
    return Judgement(rule, verdict, claimed, text, reading, value, low, high, values=values)


def meets(stated: StatedFigure, low: float | None, high: float | None, error: float = 0.0) -> bool:
    """Return whether a figure can lie between limits that may be off by a relative error."""
    error = max(error, CLOSE)
    is_above = low is None or stated.high >= low - error * abs(low)
    return is_above and (high is None or stated.low <= high + error * abs(high))


def verdict_on(label: str, findings: Sequence[Judgement]) -> tuple[str, str]:
    """Return the gravest verdict on a published value, and its words with the rules; "" and "–" if
    no rule judges it."""
    about = [f for f in findings if label in f.values and f.rule != NONE]
    if not about:
        return "", "–"
    worst = max((f.verdict for f in about), key=list(Verdict).index)
    rules = dict.fromkeys(f.rule for f in about if f.verdict is worst)
    named = "" if worst is Verdict.CONSISTENT else f" ({', '.join(rules)})"
    return str(worst), f"{worst}{named}"


def _allowance(figure: StatedFigure, low: float | None, high: float | None, allowed: float) -> str:
    """Why a figure outside its limits agrees with them: its last digit is rounded or cut off, or
    the rule allows an error."""
    value, half = figure.value, figure.half
    outside = max((low or value) - value, value - (value if high is None else high), 0.0)
    if outside <= CLOSE * abs(value):
        return ""
    if outside <= (1 + CLOSE) * half:
        return ", within rounding"
    if low is not None and value < low and outside <= (1 + CLOSE) * 2 * half:
        return ", cut off"
    return f", {100 * allowed:g} % allowed" if allowed else ""


def limits(
    low: float | None, high: float | None, unit: str = "", stated: StatedFigure | None = None
) -> str:
    """Limits as people write them, with as many digits as show that they differ and on which side
    of the ``stated`` figure they lie."""
    tail = f" {unit}" if unit else ""
    if low is None and high is None:
        return "anything"
    is_one = low is not None and high is not None and math.isclose(low, high, rel_tol=CLOSE)
    ends = [end for end in (low, None if is_one else high) if end is not None]
    texts: list[str] = []
    for digits in range(3, _MOST_DIGITS + 1):
        texts = [number(end, digits) for end in ends]
        each = zip(ends, texts, strict=True)
        if len(set(texts)) == len(texts) and all(_is_clear(e, t, stated) for e, t in each):
            break
    bound = "at most " if low is None else "at least " if high is None else ""
    return f"{bound}{' to '.join(texts)}{tail}"


def _is_clear(limit: float, text: str, stated: StatedFigure | None) -> bool:
    """Return whether a limit as text is finer than the last digit of a figure that the source
    wrote, and on the same side of it and of all that rounds to it."""
    if stated is None or not stated.text or not stated.half or not math.isfinite(limit):
        return True
    shown = float(text.replace(",", ""))
    marks = (stated.low, stated.value, stated.high, stated.high + stated.half)
    sides = ((_side(shown - mark, mark), _side(limit - mark, mark)) for mark in marks)
    return abs(shown - limit) <= stated.half / 5 and all(one == other for one, other in sides)


def _side(distance: float, size: float) -> int:
    return 0 if abs(distance) <= CLOSE * abs(size) else 1 if distance > 0 else -1
