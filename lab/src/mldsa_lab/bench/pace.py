"""When a run has measured enough: after a time, a number of rounds, or at a precision."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from mldsa_lab.bench.options import Options
from mldsa_lab.errors import LabError
from mldsa_lab.records import Record


@dataclass(frozen=True, slots=True)
class Precision:
    """How wide the widest interval of a record is.

    ``percent``: the half of it that is further from the mean, in percent of the mean; infinite
    where a mean has none. ``of``: the variant, set and operation it is of; ``goal``: the means
    that count, in words.
    """

    percent: float
    of: str
    goal: str


Judge = Callable[[Record], Precision | None]
"""The precision of a record so far; None where it has no means yet."""

_USELESS_PERCENT = 50.0  # from there on a width tells nothing about how long to go on
_CHECK_SHARE = 0.1  # of the time, at most, goes into judging


@dataclass
class Pace:
    """Whether to go on measuring. Judging is done between rounds, when no worker runs."""

    options: Options
    record: Record
    judge: Judge
    precision: Precision | None = None
    _cost: float = 0.0  # of the last look at the precision, seconds
    _looked: float = 0.0  # when that was, in seconds spent

    def part(self, rounds: float, spent: float) -> float:
        """How much of the measuring is done after `rounds` rounds in `spent` seconds, 0 to 1."""
        o = self.options
        if o.rounds is not None:
            return rounds / o.rounds
        if o.until is not None:
            near = (o.until / self.precision.percent) ** 2 if self.precision else 0.0
            return min(max(spent / o.seconds, near), rounds / o.rounds_min)
        return min(max(spent / o.seconds, rounds / o.rounds_max), rounds / o.rounds_min)

    def enough(self, rounds: int, spent: float) -> bool:
        """Whether to stop, `spent` seconds after the first round began."""
        o = self.options
        if o.rounds is not None:
            return rounds >= o.rounds
        if rounds < o.rounds_min:
            return False
        if o.until is not None and self._cost <= _CHECK_SHARE * (spent - self._looked):
            precision = self.look()
            self._looked = spent
            if precision is not None and precision.percent <= o.until:
                return True
        # Stop where another round would end further from the limit than this one did.
        return rounds >= o.rounds_max or spent + 0.5 * spent / rounds >= o.seconds

    def look(self) -> Precision | None:
        """The precision so far."""
        began = time.monotonic()
        with suppress(LabError):  # a record that cannot be judged yet
            self.precision = self.judge(self.record)
        self._cost = time.monotonic() - began
        return self.precision

    def words(self, spent: float) -> str | None:
        """What precision was reached, and how much longer the one that was asked for would take."""
        found = self.look()
        if found is None:
            return None
        if found.percent > _USELESS_PERCENT:
            return f"too few rounds for a useful interval of {found.of}"
        text = f"{found.goal} within ±{found.percent:.2g} % or better (widest: {found.of})"
        target = self.options.until or USUAL_PERCENT
        if found.percent <= target:
            return text
        # Intervals shrink with the square root of the time, but for the part that is of the inputs.
        more = ((found.percent / target) ** 2 - 1) * spent
        return f"{text}; ±{target:g} % would take at least {_duration(more)} more"


USUAL_PERCENT = 1.0
"""The precision that a run's end speaks of where none was asked for."""


def _duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
