"""What an audit says: verdicts, and the rule behind each."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources


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


def agrees(inside: bool) -> Verdict:
    """The verdict of a rule of arithmetic."""
    return Verdict.CONSISTENT if inside else Verdict.CONTRADICTION


@dataclass(frozen=True, slots=True)
class Rule:
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


@dataclass(frozen=True, slots=True)
class Band:
    """What a rule predicts: limits, None where there is none, and their text."""

    low: float | None
    high: float | None
    text: str

    @staticmethod
    def said(text: str) -> Band:
        """A prediction in words."""
        return Band(None, None, text)

    @staticmethod
    def between(low: float | None, high: float | None, unit: str = "") -> Band:
        """Limits, written as people do."""
        tail = f" {unit}" if unit else ""
        if low is not None and high is not None:
            near = math.isclose(low, high, rel_tol=1e-9)
            span = number(low) if near else f"{number(low)} to {number(high)}"
        elif low is not None:
            span = f"at least {number(low)}"
        elif high is not None:
            span = f"at most {number(high)}"
        else:
            return Band(None, None, "anything")
        return Band(low, high, span + tail)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict by one rule, of that id: on what, what the rule predicts, and why.

    ``claimed`` is the text of the claimed value, ``value`` its number where it is one; ``claim``
    the claim's id, which `mldsa_lab.audit.audit` fills in.
    """

    rule_id: str
    verdict: Verdict
    claimed: str
    predicted: Band
    reading: str
    value: float | None = None
    claim: str = ""

    @property
    def rule(self) -> Rule:
        """The rule."""
        return RULES[self.rule_id]


def number(value: float) -> str:
    """A number as people read it: whole numbers in full, others to three digits."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value != 0 and abs(value) < 1e-4:
        return f"{value:.2e}"
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:.{digits}f}"


def unit_text(unit: str) -> str:
    """A unit as people write it."""
    return "µs" if unit == "us" else unit


def percent(share: float) -> str:
    """A share as a percentage to a tenth."""
    return f"{100 * share:.1f} %"
