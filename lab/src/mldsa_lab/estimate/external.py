"""The public function: from a selection and its measurements to estimates.

docs/files.md has an example.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from mldsa_lab import LabError
from mldsa_lab.estimate.cells import LARGEST_TICK, NOTED_TICK, share_of, with_tick
from mldsa_lab.estimate.diagnose import diagnose
from mldsa_lab.estimate.figure import (
    EXCLUDED,
    NO_ESTIMATE,
    Figure,
    Figures,
    Key,
    Keys,
    as_key,
)
from mldsa_lab.estimate.fit import COSTS, Fit
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.misfit import Evidence, Remark, note, refutation
from mldsa_lab.estimate.reader import Measurements, read_measurements
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.sets import PERCENTILES
from mldsa_lab.theory.law import CostModel


@dataclass(frozen=True)
class Residual:
    """One input: its iterations, the rejected ones of each class, and its cost in the typical
    round. ``fitted``: the cost by the fit. ``relative``: the difference as a share of that, None if
    the fit gives no cost. ``outlier``: left out of `Estimation.without_outliers`, whose fit it then
    is."""

    id: int
    iterations: int
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
    """Estimates, from measurements of a selection, for all signatures of its parameter set.

    Costs are in ``unit`` ("" where the measurements do not say). ``percentiles``: by percent, in
    the order asked for. ``costs``: averages over abort indexes. ``first``: a signature accepted at
    once. ``z``, ``r``, ``h``: a rejected iteration of each class. ``final``: the accepted
    iteration, which is assumed to cost as much as one that fails at the hint. ``setup``: all work
    that is done once. ``terms``: other influences on the cost. ``noise``: relative standard
    deviation of one measurement as repeats show it, None without repeats. ``misfit``: the
    unexplained standard deviation of an input's cost at the mean cost. ``rounds``: how many.
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
        """The findings that are errors or warnings."""
        return tuple(f for f in self.findings if f.severity != "note")

    @property
    def refutation(self) -> str:
        """The reason why no estimate is valid; empty if estimates are."""
        return next((f"{f.code}: {f.text}" for f in self.findings if f.severity == "error"), "")

    @property
    def without(self) -> str:
        """Which inputs the figures of `without_outliers` leave out; empty where there are none."""
        ids = [str(r.id) for r in self.residuals if r.outlier]
        return f"without input{'s' * (len(ids) > 1)} {', '.join(ids)}" if ids else ""

    def cost_model(self) -> CostModel:
        """The fitted linear model, for `select --goal percentile`; of the inputs without outliers
        where there are some. LabError if no estimate is valid, or a cost is not above 0."""
        if self.refutation:
            raise LabError(f"cost model: {self.refutation}; no model is written")
        costs = (self.without_outliers or self).costs
        for name in COSTS:
            if costs[name].value <= 0:
                raise LabError(
                    f"cost model: the fitted cost {name!r} is {costs[name].value:.6g}, which is "
                    "not above 0; no model is written"
                )
        unit, inputs = self.unit or "as measured", (self.without_outliers or self).inputs
        source = f"mldsa-lab estimate, {inputs} inputs"
        first, z, r, h = (costs[name].value for name in COSTS)
        return CostModel(first, z, r, h, unit, source, self.set)

    def figures(self) -> Figures:
        """Return all figures; ``mean`` has the findings as its notes. Without a valid estimate it
        has no value, and there are only the costs as measured."""
        keys: dict[str, Key] = {"set": self.set, "operation": "sign"}
        notes = tuple(map(str, self.findings))
        figures = [
            Figure(keys, "rounds", self.rounds),
            Figure({**keys, "of": "inputs"}, "count", self.inputs),
        ]
        if self.noise is not None:
            figures.append(Figure({**keys, "of": "noise"}, "relative_sd", self.noise))
        if self.refutation:
            mean = Figure(keys, "mean", None, unit=self.unit, verdict=NO_ESTIMATE, notes=notes)
            figures.append(mean)
        else:
            figures += self.estimates({"set": self.set}, notes)
            figures += self._of_choice(keys)
        figures += [f for residual in self.residuals for f in self._of_input(keys, residual)]
        head = {"goal": self.goal, "percentile": self.goal_percentile}
        return Figures(figures, head={**head, "confidence": self.confidence})

    def estimates(self, keys: Keys, notes: tuple[str, ...] = ()) -> Iterator[Figure]:
        """Yield the estimates for all signatures, with these keys, as a record's figures have
        them."""
        signing = {**keys, "operation": "sign"}
        yield Figure.from_interval(signing, "mean", self.mean, self.unit, notes=notes)
        for percentile, cost in self.percentiles.items():
            quantile = {**signing, "percentile": as_key(percentile)}
            yield Figure.from_interval(quantile, "quantile", cost, self.unit)
        for end, cost in (self.costs | self.terms).items():
            yield Figure.from_interval({**keys, "attempt": end}, "attempt_cost", cost, self.unit)

    def _of_choice(self, keys: Keys) -> Iterator[Figure]:
        """Yield the misfit, the estimates without outliers, and the plain average."""
        yield Figure({**keys, "of": "misfit"}, "relative_sd", self.misfit)
        if self.without_outliers is not None:
            calm: Keys = {"set": self.set, "inputs": "without outliers"}
            yield from self.without_outliers.estimates(calm)
        if self.average is not None:
            chosen = {**keys, "inputs": "chosen"}
            yield Figure(chosen, "mean", self.average.value, unit=self.unit)
            yield Figure({**chosen, "of": "signatures"}, "share", self.average.share)

    def _of_input(self, keys: Keys, residual: Residual) -> Iterator[Figure]:
        """Yield the attempts of an input, its cost in the typical round, and that by the fit."""
        keys = {**keys, "input": residual.id}
        yield Figure({**keys, "of": "attempts"}, "count", residual.iterations)
        for end in "zrh":
            rejected = {**keys, "of": "attempts", "attempt": end}
            yield Figure(rejected, "count", getattr(residual, end))
        codes = tuple(f.code for f in self.findings if residual.id in f.ids)
        cost, verdict = residual.cost, EXCLUDED if residual.outlier else ""
        seen = {**keys, "basis": "seen"}
        yield Figure(seen, "cost", cost, unit=self.unit, verdict=verdict, notes=codes)
        if not self.refutation:
            yield Figure({**keys, "basis": "expected"}, "cost", residual.fitted, unit=self.unit)


def parse_percentiles(texts: Sequence[str]) -> tuple[float, ...]:
    """Percentiles from texts, each once, in the order given; LabError for one that is none."""
    try:
        percentiles = tuple(dict.fromkeys(map(float, texts)))
    except ValueError:
        percentiles = ()
    if not percentiles or not all(0 < value < 100 for value in percentiles):
        raise LabError(f"percentiles {','.join(texts)!r}: must be numbers in (0, 100)")
    return percentiles


def estimate(
    selection: Selection,
    measurements: Measurements,
    *,
    percentiles: Sequence[float] = tuple(PERCENTILES.values()),
    confidence: float = 0.95,
    noise: float | None = None,
) -> Estimation:
    """Estimate mean, percentiles and costs of attempts from the costs of a selection's inputs.

    ``percentiles``: in (0, 100). ``confidence``: of all intervals, in (0, 1). ``noise``: relative
    standard deviation of one measurement, if known; 0 for the counts of a simulator. Else repeats
    show it, or a usual value is assumed. LabError if an argument is out of range.
    """
    if percentiles:
        parse_percentiles([f"{value:g}" for value in percentiles])
    if not 0 < confidence < 1:
        raise LabError(f"confidence {confidence:g}: must lie in (0, 1)")
    if noise is not None and not (math.isfinite(noise) and 0 <= noise < 1):
        raise LabError(f"noise {noise:g}: must be a share from 0 to below 1")
    data = Evidence.from_measurements(selection, measurements, noise)
    remarks, rest = diagnose(data)
    remarks += [*_of_scale(data), *(note("incomplete", text) for text in measurements.warnings)]
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
    fit, step = data.fit, data.measured.resolution
    quantiles = fit.quantiles([share_of(p) for p in percentiles], confidence) if percentiles else []
    average = None
    if selection.goal in ("mean", "percentile", "greedy"):
        value = float(fit.cost.mean())
        average = Average(value, fit.law().share_up_to(value))
    return Estimation(
        set=selection.set,
        goal=selection.goal,
        goal_percentile=selection.percentile,
        unit=data.measured.unit,
        confidence=confidence,
        rounds=len(data.measured.rounds),
        mean=with_tick(fit.mean(confidence), step),
        percentiles={p: with_tick(i, step) for p, i in zip(percentiles, quantiles, strict=True)},
        costs={name: with_tick(cost, step) for name, cost in fit.costs(confidence).items()},
        terms=fit.further(confidence),
        noise=fit.typical.seen,
        misfit=fit.posterior.typical_misfit(),
        average=average,
        residuals=_residuals(data, data),
        findings=tuple(remarks),
        without_outliers=None,
        fit=fit,
    )


def _of_scale(data: Evidence) -> Iterator[Remark]:
    """Yield a remark where the step of the scale is large."""
    step = data.measured.resolution
    share = step / float(data.fit.cost.mean())
    unit = f" {data.measured.unit}" if data.measured.unit else ""
    text = f"costs are multiples of {step:.4g}{unit}, {100 * share:.2g} % of a mean cost"
    if share > LARGEST_TICK:
        reason = "the clock or the last digit is too coarse: time several signatures together"
        yield refutation("coarse", f"{text}; {reason}")
    elif share >= NOTED_TICK:
        yield note("coarse", f"{text}: intervals include it")


def _residuals(data: Evidence, rest: Evidence) -> tuple[Residual, ...]:
    """Return the residuals of the fit of ``rest``, the inputs without outliers."""
    counts, costs = data.fit.counts.astype(int).tolist(), data.fit.cost.tolist()
    fitted = (data.fit.values @ rest.fit.coefficients).tolist()
    residuals = []
    for number, (z, r, h), cost, at in zip(data.ids, counts, costs, fitted, strict=True):
        relative, outlier = cost / at - 1 if at > 0 else None, number not in rest.ids
        residuals.append(Residual(number, z + r + h + 1, z, r, h, cost, at, relative, outlier))
    return tuple(residuals)


_ENDINGS = (".csv", ".json")
"""The endings of files of measurements."""


@dataclass(frozen=True, slots=True)
class ExternalMeasurement:
    """Measurements of a selection from another tool, with the estimates for all signatures."""

    name: str
    result: Estimation

    @property
    def figures(self) -> Estimation:
        """The estimates, of the inputs without outliers where there are some."""
        return self.result.without_outliers or self.result

    @property
    def costs(self) -> dict[str, Interval]:
        """The mean, percentiles and costs of attempts, by name."""
        shown = self.figures
        percentiles = {name: shown.percentiles[p] for name, p in PERCENTILES.items()}
        return {"mean": shown.mean, **percentiles, **shown.costs}

    def emit(self) -> Iterator[Figure]:
        """Yield its figures as a run has them: signing, in its own unit."""
        shown, keys = self.figures, {"set": self.result.set, "variant": self.name}
        yield from shown.estimates(keys)
        yield Figure({**keys, "operation": "sign"}, "samples", shown.inputs * shown.rounds)

    @property
    def attributes(self) -> dict[str, Key]:
        """The attributes of its row."""
        return {
            "implementation": self.name, "mode": "single", "batch_size": 1, "threads": 1,
            "deterministic": True, "unit": self.figures.unit or "not given",
            "inputs": self.figures.inputs, "rounds": self.figures.rounds,
        }  # fmt: skip


def split_arguments(files: Sequence[str]) -> tuple[list[Path], list[tuple[Path, Path | None]]]:
    """Return records, and measurements with their selections, of arguments like `run.jsonl`,
    `card.csv` and `card.csv:selection.json`."""
    records, measured = [], []
    for text in files:
        path, selection = Path(text), None
        if not path.exists() and ":" in text:
            before, _, after = text.rpartition(":")
            path, selection = Path(before), Path(after)
        if path.suffix.lower() in _ENDINGS:
            measured.append((path, selection))
        elif selection is not None:
            raise LabError(f"{text}: a selection belongs to measurements (.csv or .json)")
        else:
            records.append(path)
    return records, measured


def read_external(
    files: Sequence[tuple[Path, Path | None]], confidence: float
) -> list[ExternalMeasurement]:
    """Estimate from measurements. LabError for one that names no selection."""
    read_once = cache(Selection.read)
    listed: list[ExternalMeasurement] = []
    for path, selection in files:
        if selection is None:
            raise LabError(f"measurements {path}: name their selection: {path}:SELECTION.json")
        chosen = read_once(selection)
        measured = read_measurements(path, chosen)
        result = estimate(chosen, measured, confidence=confidence)
        name = path.stem
        if any(e.name == name for e in listed):
            name = str(path.with_suffix(""))
        listed.append(ExternalMeasurement(name, result))
    return listed
