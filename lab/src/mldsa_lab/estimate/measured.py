"""The public function: from a selection and its measurements to estimates.

from pathlib import Path
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.estimate.measured import estimate
from mldsa_lab.estimate.reader import read_measurements

selection = Selection.read(Path("selection.json"))
found = estimate(selection, read_measurements(Path("costs.csv"), selection))
print(found.mean.value, found.mean.low, found.mean.high)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cell import Interval
from mldsa_lab.estimate.diagnose import diagnose
from mldsa_lab.estimate.findings import Data, Finding
from mldsa_lab.estimate.fit import Fit, fit_costs
from mldsa_lab.estimate.reader import Measurements
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.theory.cost_model import CostModel
from mldsa_lab.theory.rejection import RejectionModel

Array = NDArray[np.float64]

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
    counts: tuple[int, int, int]
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
    percentile: float | None
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
    findings: tuple[Finding, ...]
    without_outliers: Estimation | None
    fit: Fit

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that are warnings."""
        return tuple(f for f in self.findings if f.severity == "warning")

    def cost_model(self) -> CostModel:
        """The fitted linear model, for `select --goal percentile`; of the inputs without outliers
        where there are some. LabError if a cost is not above 0."""
        if self.without_outliers is not None:
            return self.without_outliers.cost_model()
        values = {name: self.costs[name].value for name in ("first", "z", "r", "h")}
        for name, value in values.items():
            if value <= 0:
                raise LabError(
                    f"cost model: the fitted cost of {_COST_NAMES[name]} is {value:.6g}, which is "
                    "not above 0; no model is written"
                )
        return CostModel(
            values["first"],
            values["z"],
            values["r"],
            values["h"],
            unit=self.unit or "as measured",
            source=f"mldsa-lab estimate, {len(self.residuals)} inputs",
            set=self.set,
        )

    def as_json(self) -> dict[str, Any]:
        """The object of docs/measurements.md."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "set": self.set,
            "goal": self.goal,
            "goal_percentile": self.percentile,
            "unit": self.unit or None,
            "confidence": self.confidence,
            "inputs": len(self.residuals),
            "rounds": self.rounds,
            **self._figures(),
            "noise": self.noise,
            "misfit": self.misfit,
            "average": None
            if self.average is None
            else {"value": self.average.value, "share": self.average.share},
            "residuals": [
                {
                    "id": r.id,
                    "attempts": r.attempts,
                    "z": r.counts[0],
                    "r": r.counts[1],
                    "h": r.counts[2],
                    "cost": r.cost,
                    "fitted": r.fitted,
                    "relative": r.relative,
                    "outlier": r.outlier,
                }
                for r in self.residuals
            ],
            "findings": [
                {"code": f.code, "severity": f.severity, "text": f.text, "ids": list(f.ids)}
                for f in self.findings
            ],
            "without_outliers": None
            if self.without_outliers is None
            else self.without_outliers._figures(),
        }

    def _figures(self) -> dict[str, Any]:
        return {
            "mean": _interval(self.mean),
            "percentiles": [{"percentile": p} | _interval(i) for p, i in self.percentiles.items()],
            "costs": {name: _interval(i) for name, i in self.costs.items()},
            "terms": {name: _interval(i) for name, i in self.terms.items()},
        }


_COST_NAMES = {
    "first": "a signature accepted at once",
    "z": "an attempt rejected at z",
    "r": "an attempt rejected at r0",
    "h": "an attempt rejected at the hint",
}


def parse_percentiles(texts: Sequence[str]) -> tuple[float, ...]:
    """Percentiles from texts, each once, in the order given; LabError for one that is none."""
    found: list[float] = []
    for text in texts:
        try:
            value = float(text)
        except ValueError:
            raise LabError(f"percentile {text!r}: must be a number in (0, 100)") from None
        _check_percentile(value)
        if value not in found:
            found.append(value)
    if not found:
        raise LabError("percentiles: at least one must be asked for")
    return tuple(found)


def _check_percentile(value: float) -> None:
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
    for percent in percentiles:
        _check_percentile(percent)
    if not 0 < confidence < 1:
        raise LabError(f"confidence {confidence:g}: must lie in (0, 1)")
    if noise is not None and not (math.isfinite(noise) and 0 <= noise < 1):
        raise LabError(f"noise {noise:g}: must be a share from 0 to below 1")
    model = RejectionModel.of(selection.set)
    by_id = {item.id: item.trace for item in selection.inputs}
    fit = fit_costs(
        [by_id[number] for number in measurements.ids],
        measurements.costs,
        model,
        noise=noise,
        resolution=measurements.resolution,
    )
    data = Data(fit, measurements.ids, measurements.costs, noise, measurements.resolution)
    findings, without = diagnose(data)
    incomplete = [Finding("incomplete", "note", text) for text in measurements.warnings]
    flagged = {number for f in findings if f.code == "outlier" for number in f.ids}
    whole = _estimation(
        selection, measurements, fit, percentiles, confidence, (*findings, *incomplete)
    )
    if without is None:
        return whole
    kept = [i for i, number in enumerate(measurements.ids) if number not in flagged]
    rest = Measurements(
        tuple(measurements.ids[i] for i in kept),
        measurements.rounds,
        measurements.costs[:, kept],
        measurements.unit,
        measurements.resolution,
    )
    return replace(
        whole,
        residuals=_residuals(fit, measurements.ids, without.coefficients, flagged),
        without_outliers=_estimation(selection, rest, without, percentiles, confidence, ()),
    )


def _estimation(
    selection: Selection,
    measurements: Measurements,
    fit: Fit,
    percentiles: Sequence[float],
    confidence: float,
    findings: tuple[Finding, ...],
) -> Estimation:
    found = fit.quantiles([p / 100 for p in percentiles], confidence) if percentiles else []
    costs = fit.costs(confidence)
    costs |= {"final": costs["h"], "setup": fit.before_final(confidence)}
    average = None
    if selection.goal in ("mean", "percentile"):
        value = float(fit.cost.mean())
        average = Average(value, fit.law().share_up_to(value))
    return Estimation(
        selection.set,
        selection.goal,
        selection.percentile,
        measurements.unit,
        confidence,
        len(measurements.rounds),
        fit.mean(confidence),
        dict(zip(percentiles, found, strict=True)),
        costs,
        fit.further(confidence),
        fit.typical.seen,
        fit.posterior.typical_misfit(),
        average,
        _residuals(fit, measurements.ids, fit.coefficients, set()),
        findings,
        None,
        fit,
    )


def _residuals(
    fit: Fit, ids: Sequence[int], coefficients: Array, flagged: set[int]
) -> tuple[Residual, ...]:
    """What the costs of ``fit`` leave of a fit with these coefficients."""
    return tuple(
        Residual(
            number,
            int(counts.sum()) + 1,
            (int(counts[0]), int(counts[1]), int(counts[2])),
            float(cost),
            float(at),
            float(cost / at - 1) if at > 0 else None,
            number in flagged,
        )
        for number, counts, cost, at in zip(
            ids, fit.counts, fit.cost, fit.values @ coefficients, strict=True
        )
    )


def _interval(interval: Interval) -> dict[str, float | None]:
    return {"value": interval.value, "low": interval.low, "high": interval.high}
