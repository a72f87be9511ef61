"""Figures of hardware cores: cycles by operation and phase, from the record of a run.

A model's cycles have no noise, so one round is enough. The interval of a signing figure covers the
uncertainty from the costs of the inputs; other operations have the range over inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.fit import fit_costs
from mldsa_lab.estimate.interval import Interval, interval_from_deviations
from mldsa_lab.records import Record, Samples
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, Trace, parse_trace

CONFIDENCE = 0.95
PHASES = ("load", "compute", "store")
TOTAL = "total"
LOADED = "_loaded"
"""Behind an operation: the key was loaded before the signature."""
PERCENTILES = (50, 95, 99)
_ENDS = ("z", "r", "h")


def core_rows(record: Record) -> list[Figure]:
    """Return the figures of every worker that counts cycles in phases.

    LabError if there is none, or a trace in the record is malformed.
    """
    variants = {v.id: v for v, w in record.variants.values() if w.unit == "cycles" and not v.runs}
    rows = [row for row in record.samples if row.variant in variants and row.phases]
    if not rows:
        raise LabError("the record has no core: no worker's cycles are divided into phases")
    traces = {
        (row.set, row.id): parse_trace(row.trace, row.set)
        for row in record.inputs
        if row.trace is not None
    }

    def place(row: Samples) -> tuple[object, ...]:
        v, sets = variants[row.variant], tuple(PARAMETER_SETS)
        return v.implementation, v.backend, sets.index(row.set), row.operation, v.key == "expanded"

    result: list[Figure] = []
    for row in sorted({place(row): row for row in rows}.values(), key=place):
        v = variants[row.variant]
        signed = row.inputs if row.operation == "sign" else ()
        result += operation_figures(
            core_keys(v.implementation, v.backend, row.set),
            row.operation + LOADED * (v.key == "expanded"),
            {name: np.array(ticks) / row.calls for name, ticks in row.phases.items()},
            [traces[row.set, i] for i in signed],
        )
    return result


def core_keys(core: str, configuration: str, set_name: str) -> dict[str, Key]:
    """Return the keys that all figures of a core in a set have."""
    return {"core": core, "configuration": configuration, "set": set_name}


def cycles(
    keys: Mapping[str, Key], operation: str, name: str, phase: str, result: Interval, **more: Key
) -> Figure:
    """Return a figure of an operation; one that ends in `LOADED` has the key form expanded."""
    own: dict[str, Key] = {"operation": operation.removesuffix(LOADED)}
    own |= {"key": "expanded"} if operation.endswith(LOADED) else {}
    return Figure.from_interval({**keys, **own, **more, "phase": phase}, name, result, "cycles")


def mean_cycles(counts: Array) -> Interval:
    """Return the mean over random inputs."""
    mean = float(counts.mean())
    return (
        interval_from_deviations(mean, counts / mean - 1, CONFIDENCE)
        if mean > 0
        else Interval(0.0, 0.0, 0.0)
    )


def range_of_cycles(counts: Array) -> Interval:
    """Return the mean over inputs between the fewest and the most cycles of an input: each is an
    exact count."""
    return Interval(float(counts.mean()), float(counts.min()), float(counts.max()))


def operation_figures(
    keys: Mapping[str, Key], operation: str, phases: Mapping[str, Array], traces: Sequence[Trace]
) -> Iterator[Figure]:
    """Yield the figures of an operation. ``phases``: (inputs,) cycles of each; ``traces``: of the
    inputs that are signed.

    Signing has the fit's exact expectations. Loading and storing take the same in every signature;
    computing takes the rest. Other operations have the range over inputs as their interval.
    """
    whole = np.sum(list(phases.values()), axis=0)
    means = {name: range_of_cycles(counts) for name, counts in phases.items()}
    if not operation.startswith("sign"):
        for phase, result in {TOTAL: range_of_cycles(whole), **means}.items():
            yield cycles(keys, operation, "mean", phase, result)
        return
    fit = fit_costs(traces, whole[None, :], RejectionModel.for_set(str(keys["set"])), noise=0.0)
    costs = fit.costs(CONFIDENCE)
    shares = fit.quantiles([p / 100 for p in PERCENTILES], CONFIDENCE)
    estimates: list[tuple[str, dict[str, Key], Interval]] = [
        ("min", {}, costs["first"]),
        ("mean", {}, fit.mean(CONFIDENCE)),
    ]
    for percentile, quantile in zip(PERCENTILES, shares, strict=True):
        estimates.append(("quantile", {"percentile": percentile}, quantile))
    fixed = means["load"].value + means["store"].value
    for name, more, total in estimates:
        computed = Interval(*(None if x is None else x - fixed for x in total))  # type: ignore[arg-type]
        for phase, result in {TOTAL: total, **means, "compute": computed}.items():
            yield cycles(keys, operation, name, phase, result, **more)
    for end in _ENDS:
        for phase in (TOTAL, "compute"):
            yield cycles(keys, operation, "attempt_cost", phase, costs[end], attempt=end)
