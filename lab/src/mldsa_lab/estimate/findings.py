"""What a check of measurements says, and what it looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.estimate.fit import Fit
from mldsa_lab.theory.terms import CONTRAST, MEAN, SLOPE

Array = NDArray[np.float64]

SURE = 0.99
"""Confidence with which a fault must show."""
CHANCE = 1e-3
"""The probability below which chance is no explanation."""
SMALL = 0.01
"""Relative size below which a fault does not matter."""


@dataclass(frozen=True)
class Finding:
    """A fault or a remark: a stable ``code``, and a sentence that says what the data show and
    what may be the reason. ``ids``: the inputs it is about, if not all."""

    code: str
    severity: Literal["warning", "note"]
    text: str
    ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Data:
    """What the checks look at: the fit, the inputs' ids, and all costs (rounds, inputs)."""

    fit: Fit
    ids: tuple[int, ...]
    costs: Array
    given_noise: float | None
    resolution: float

    @property
    def attempts(self) -> Array:
        """(inputs,) attempts, the accepted one included."""
        return np.asarray(self.fit.counts.sum(axis=1) + 1)

    def row(self, **columns: float) -> Array:
        """A row of coefficients that is 0 but for those named."""
        found = np.zeros(len(self.fit.coefficients))
        places = {"mean": MEAN, "slope": SLOPE, "contrast": CONTRAST}
        for name, value in columns.items():
            found[places[name]] = value
        return found

    def sure(self, row: Array) -> tuple[float, float]:
        """Limits of ``row`` times the coefficients that hold almost certainly."""
        return self.fit.posterior.limits(row, SURE)
