"""What an audit says: verdicts, findings, and the rule behind each."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import NamedTuple


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


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict by one rule, of that id.

    ``claimed``: the claimed value as text, ``value`` its number where it is one; ``predicted``:
    what the rule predicts, ``low`` and ``high`` its limits, None where there is none; ``reading``:
    what follows. ``claim``: the claim's id, which `mldsa_lab.audit.audit` fills in.
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


def judgement(
    rule: str,
    verdict: Verdict | bool,
    claimed: str,
    reading: str = "",
    *,
    value: float | None = None,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    predicted: str | None = None,
) -> Judgement:
    """Return a finding. ``verdict``: of a rule of arithmetic, whether it holds; ``predicted``: the
    limits with their unit, if not given."""
    if isinstance(verdict, bool):
        verdict = Verdict.CONSISTENT if verdict else Verdict.CONTRADICTION
    text = limits(low, high, unit) if predicted is None else predicted
    value, low, high = (
        v if v is not None and math.isfinite(v) else None for v in (value, low, high)
    )
    return Judgement(rule, verdict, claimed, text, reading, value, low, high)


def graded(excess: float) -> Verdict:
    """The verdict on a measured value that is so many times what it may be at most."""
    if excess <= 1 + MEASURED:
        return Verdict.CONSISTENT
    return Verdict.IMPLAUSIBLE if excess <= 1 + ANOTHER_RUN else Verdict.CONTRADICTION


def limits(low: float | None, high: float | None, unit: str = "") -> str:
    """Limits as people write them."""
    tail = f" {unit}" if unit else ""
    if low is None:
        return "anything" if high is None else f"at most {number(high)}{tail}"
    if high is None:
        return f"at least {number(low)}{tail}"
    if math.isclose(low, high, rel_tol=1e-9):
        return number(low) + tail
    return f"{number(low)} to {number(high)}{tail}"


def number(value: float) -> str:
    """A number as people read it: whole numbers in full, others to three digits."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) < 1e-4:
        return f"{value:.2e}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def unit_text(unit: str) -> str:
    """A unit as people write it."""
    return "µs" if unit == "us" else unit


def percent(share: float) -> str:
    """A share as a percentage to a tenth."""
    return f"{100 * share:.1f} %"
