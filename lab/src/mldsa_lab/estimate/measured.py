"""The public function: from a selection and its measurements to estimates.

docs/measurements.md has an example.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.diagnose import diagnose
from mldsa_lab.estimate.findings import Evidence, Remark, note
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.reader import Measurements
from mldsa_lab.files import plain
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.theory.cost_model import CostModel

PERCENTILES = (50.0, 95.0, 99.0, 99.9)
"""The percentiles that are estimated unless others are asked for."""
FORMAT = "mldsa-lab estimate"
VERSION = 1
"""Version of the JSON that `Estimation.as_json` gives."""


@dataclass(frozen=True)
class Residual:
    """One input: its attempts and rejected attempts of each class, its cost in the typical round,
    what the fit says, and the difference as a share of that (None where the fit gives no cost).
    ``outlier``: left out of `Estimation.without_outliers`, whose fit it then is."""

    id: int
    attempts: int
    z: int
    r: int
    h: int
    cost: float
    fitted: float
    relative: float | None
    outlier: bool


@dataclass(frozen=True)
class Average:
    """The plain average of the inputs' costs, for goals that it estimates directly.

    ``share``: the share of all signatures that cost at most as much, by the fitted law.
    """

    value: float
    share: float


@dataclass(frozen=True)
class Estimation:
    """What measurements of a selection say about all signatures of its parameter set.

    Costs are in ``unit`` ("" where the measurements do not say). ``percentiles``: by percent, in
    the order asked for. ``costs``: a signature accepted at once (``first``), a rejected attempt
    of each class (``z``, ``r``, ``h``), as averages over abort indexes; ``final``: the attempt
    that is accepted, taken to cost what one that fails at the hint does, and ``setup``: all else
    that is done once. ``terms``: what the cost depends on beside these. ``noise``: relative
    standard deviation of one measurement as repeats show it, None without repeats. ``misfit``:
    that of an input's cost at the mean cost which nothing explains. ``rounds``: how many.
    ``average``: None where the selection's goal is neither a mean nor a percentile.
    """

    set: str
    goal: str
    goal_percentile: float | None
    unit: str
    confidence: float
    rounds: int
    mean: Interval
    percentiles: dict[float, Interval]
    costs: dict[str, Interval]
    terms: dict[str, Interval]
    noise: float | None
    misfit: float
    average: Average | None
    residuals: tuple[Residual, ...]
    findings: tuple[Remark, ...]
    without_outliers: Estimation | None
    fit: Fit

    @property
    def inputs(self) -> int:
        """How many inputs were measured."""
        return len(self.residuals)

    @property
    def warnings(self) -> tuple[Remark, ...]:
        """The findings that are warnings."""
        return tuple(f for f in self.findings if f.severity == "warning")

    def cost_model(self) -> CostModel:
        """The fitted linear model, for `select --goal percentile`; of the inputs without outliers
        where there are some. LabError if a cost is not above 0."""
        if self.without_outliers is not None:
            return self.without_outliers.cost_model()
        values = {name: self.costs[name].value for name in _COST_NAMES}
        for name, value in values.items():
            if value <= 0:
                raise LabError(
                    f"cost model: the fitted cost of {_COST_NAMES[name]} is {value:.6g}, which is "
                    "not above 0; no model is written"
                )
        return CostModel(
            **values,
            unit=self.unit or "as measured",
            source=f"mldsa-lab estimate, {len(self.residuals)} inputs",
            set=self.set,
        )

    def as_json(self) -> dict[str, Any]:
        """The object of docs/measurements.md."""
        calm = self.without_outliers
        return {
            "format": FORMAT,
            "version": VERSION,
            **{name: self._plain(name) for name in _KEYS},
            "without_outliers": calm and {name: calm._plain(name) for name in _FIGURES},
        }

    def _plain(self, name: str) -> Any:
        if name == "percentiles":
            return [{"percentile": p, **plain(i)} for p, i in self.percentiles.items()]
        value = getattr(self, name)
        return None if value == "" else plain(value)


_FIGURES = ("mean", "percentiles", "costs", "terms")
_KEYS = (
    "set", "goal", "goal_percentile", "unit", "confidence", "inputs", "rounds", *_FIGURES, "noise",
    "misfit", "average", "residuals", "findings",
)  # fmt: skip
_COST_NAMES = {
    "first": "a signature accepted at the first attempt",
    "z": "an attempt rejected at z",
    "r": "an attempt rejected at r0",
    "h": "an attempt rejected at the hint",
}


def parse_percentiles(texts: Sequence[str]) -> tuple[float, ...]:
    """Percentiles from texts, each once, in the order given; LabError for one that is none."""
    try:
        found = tuple(dict.fromkeys(map(float, texts)))
    except ValueError:
        found = ()
    if not found:
        raise LabError(f"percentiles {','.join(texts)!r}: must be numbers in (0, 100)")
    _check_percentiles(found)
    return found


def _check_percentiles(values: Sequence[float]) -> None:
    for value in values:
        if not 0 < value < 100:
            raise LabError(f"percentile {value:g}: must lie in (0, 100)")


def estimate(
    selection: Selection,
    measurements: Measurements,
    *,
    percentiles: Sequence[float] = PERCENTILES,
    confidence: float = 0.95,
    noise: float | None = None,
) -> Estimation:
    """Estimate mean, percentiles and costs of attempts from the costs of a selection's inputs.

    ``percentiles``: in (0, 100). ``confidence``: of all intervals, in (0, 1). ``noise``: relative
    standard deviation of one measurement where it is known, 0 for the counts of a simulator; else
    repeats show it, or what is usual is assumed. LabError if an argument is out of range.
    """
    _check_percentiles(percentiles)
    if not 0 < confidence < 1:
        raise LabError(f"confidence {confidence:g}: must lie in (0, 1)")
    if noise is not None and not (math.isfinite(noise) and 0 <= noise < 1):
        raise LabError(f"noise {noise:g}: must be a share from 0 to below 1")
    data = Evidence.of(selection, measurements, noise)
    remarks, rest = diagnose(data)
    remarks += [note("incomplete", text) for text in measurements.warnings]
    whole = _estimation(selection, data, percentiles, confidence, remarks)
    if rest is None:
        return whole
    calm = _estimation(selection, rest, percentiles, confidence, [])
    return replace(whole, residuals=_residuals(data, rest), without_outliers=calm)


def _estimation(
    selection: Selection,
    data: Evidence,
    percentiles: Sequence[float],
    confidence: float,
    remarks: Sequence[Remark],
) -> Estimation:
    fit = data.fit
    found = fit.quantiles([p / 100 for p in percentiles], confidence) if percentiles else []
    average = None
    if selection.goal in ("mean", "percentile"):
        value = float(fit.cost.mean())
        average = Average(value, fit.law().share_up_to(value))
    return Estimation(
        selection.set,
        selection.goal,
        selection.percentile,
        data.measured.unit,
        confidence,
        len(data.measured.rounds),
        fit.mean(confidence),
        dict(zip(percentiles, found, strict=True)),
        fit.costs(confidence),
        fit.further(confidence),
        fit.typical.seen,
        fit.posterior.typical_misfit(),
        average,
        _residuals(data, data),
        tuple(remarks),
        None,
        fit,
    )


def _residuals(data: Evidence, rest: Evidence) -> tuple[Residual, ...]:
    """What the costs leave of the fit of ``rest``, the inputs without outliers."""
    counts, costs = data.fit.counts.astype(int).tolist(), data.fit.cost.tolist()
    fitted = (data.fit.values @ rest.fit.coefficients).tolist()
    found = []
    for number, (z, r, h), cost, at in zip(data.ids, counts, costs, fitted, strict=True):
        relative, outlier = cost / at - 1 if at > 0 else None, number not in rest.ids
        found.append(Residual(number, z + r + h + 1, z, r, h, cost, at, relative, outlier))
    return tuple(found)
