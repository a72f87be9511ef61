"""How often the intervals hold the truth: synthetic signers of known mean and percentiles.

`python -m mldsa_studies.coverage` prints the table of docs/measurements.md. The tests use the
same signers and functions.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.choice.design import design
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cell import estimate_signing
from mldsa_lab.estimate.cells import gather
from mldsa_lab.estimate.fit import fit_costs
from mldsa_lab.records import read_record
from mldsa_lab.sets import PARAMETER_SETS, parameter_set
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import PASSED, Trace, parse_trace
from mldsa_studies.simulate import draw_attempts, draw_traces

Array = NDArray[np.float64]

SHARES = (0.5, 0.99)
"""The percentiles that are judged."""
_POOL = 600
_TRUTH = 400_000
_DESIGNS = 20
# Half-width, in standard errors, of the band in which the sampled truth of a percentile lies.
_BAND = 2.5


@dataclass(frozen=True)
class Target:
    """A signer, its costs in units of a usual attempt.

    ``z_step``, ``r_step``: more for each polynomial before the one that fails. ``r_first``: r0 is
    checked before z. ``group``: attempts are computed so many at a time. ``bend``: times the
    square of the number of attempts.
    """

    setup: float = 3.0
    z: float = 1.0
    r: float = 1.05
    h: float = 1.3
    z_step: float = 0.0
    r_step: float = 0.0
    r_first: bool = False
    group: int = 1
    bend: float = 0.0

    def of(self, traces: Sequence[Trace], set_name: str) -> Array:
        """Cost of each trace."""
        table = TraceTable.of(set_name, traces)
        z, r = table.first_failing("z"), table.first_failing("r")
        rejected = table.rejections() != 3
        return self._costs(z, r, rejected, table.signature_of(), len(table))

    def draw(self, model: RejectionModel, count: int, rng: np.random.Generator) -> Array:
        """Costs of ``count`` random signatures."""
        drawn = draw_attempts(model, count, rng)
        rejected = (drawn.z != PASSED) | (drawn.r != PASSED) | drawn.h
        return self._costs(drawn.z, drawn.r, rejected, drawn.signature, count)

    def mean(self, model: RejectionModel) -> float:
        """The exact mean over all signatures."""
        law_z, law_r = model.first_failing_z(), model.first_failing_r()
        z = np.concatenate([np.arange(model.l), [PASSED]])
        r = np.concatenate([np.arange(model.k), [PASSED]])
        of_z = np.concatenate([(1 - model.p_z) * law_z, [model.p_z]])
        of_r = np.concatenate([(1 - model.p_r) * law_r, [model.p_r]])
        chance = np.outer(of_z, of_r)
        chance[-1, -1] *= model.fail_h
        each = self._attempts(
            np.repeat(z, len(r)), np.tile(r, len(z)), np.ones(len(z) * len(r), dtype=bool)
        )
        rejected = float(chance.ravel() @ each) * model.expected_attempts
        number = np.arange(1, 400)
        law = model.p_accept * (1 - model.p_accept) ** (number - 1)
        return float(self.setup + rejected + law @ self._of_number(number))

    def _attempts(
        self, z: NDArray[np.int64], r: NDArray[np.int64], rejected: NDArray[np.bool_]
    ) -> Array:
        """Cost of each attempt by first failing index of z and r0; 0 if accepted."""
        by_z = self.z + self.z_step * z
        by_r = self.r + self.r_step * r
        if self.r_first:
            # An attempt whose r0 fails never comes to z.
            found = np.where(r != PASSED, by_r - 0.25, np.where(z != PASSED, by_z, self.h))
        else:
            found = np.where(z != PASSED, by_z, np.where(r != PASSED, by_r, self.h))
        return np.asarray(np.where(rejected, found, 0.0))

    def _of_number(self, attempts: NDArray[np.int64]) -> Array:
        waste = (-attempts) % self.group
        return np.asarray(waste * self.z + self.bend * attempts.astype(np.float64) ** 2)

    def _costs(
        self,
        z: NDArray[np.int64],
        r: NDArray[np.int64],
        rejected: NDArray[np.bool_],
        signature: NDArray[np.int64],
        count: int,
    ) -> Array:
        each = self._attempts(z, r, rejected)
        summed = np.bincount(signature, weights=each, minlength=count)
        number = np.bincount(signature, minlength=count)
        return np.asarray(self.setup + summed + self._of_number(number))


def targets(set_name: str) -> dict[str, Target]:
    """Signers of many kinds, all of which the intervals must hold for."""
    p = parameter_set(set_name)
    first = {"ML-DSA-44": (1.45, 3.3), "ML-DSA-65": (1.5, 4.1), "ML-DSA-87": (1.4, 4.7)}[set_name]
    stops = Target(setup=2.5, z=0.85, r=0.95, z_step=0.25 / p.l, r_step=0.3 / p.k)
    return {
        "expanded keys": Target(setup=first[0]),
        "keys as bytes": Target(setup=first[1]),
        "dear r0 attempts": Target(setup=first[1], r=1.4, h=1.7),
        "stops at the first polynomial": stops,
        "r0 before z, stops": replace(stops, r_first=True),
        "attempts in pairs": Target(setup=2.5, group=2),
        "large constant part": Target(setup=1.6 * first[1]),
    }


@dataclass(frozen=True)
class Coverage:
    """Shares of the replications whose interval holds the truth, median half-widths and root mean
    square errors, relative to the truth: of the mean, then of `SHARES`."""

    holds: tuple[float, ...]
    half_width: tuple[float, ...]
    error: tuple[float, ...]


Designs = Sequence[Sequence[Trace]]


def draw_designs(model: RejectionModel, n: int, count: int, seed: int) -> Designs:
    """``count`` choices of ``n`` inputs for the regression, each from a pool of its own."""
    rng = np.random.default_rng([seed, n])
    chosen = []
    for number in range(count):
        pool = draw_traces(model, _POOL, rng)
        chosen.append([pool[i] for i in design(pool, model, n, seed=number, restarts=1)])
    return chosen


def coverage(
    target: Target,
    model: RejectionModel,
    designs: Designs,
    noise: float,
    replications: int,
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
    truth: int = _TRUTH,
) -> Coverage:
    """Judge the intervals from ``designs`` in turn, each input measured once with relative
    ``noise``. ``truth``: signatures that the true percentiles are taken from."""
    costs = target.draw(model, truth, rng)
    bands = []
    for share in SHARES:
        off = _BAND * np.sqrt(share * (1 - share) / truth)
        low, middle, high = np.quantile(
            costs, [share - off, share, share + off], method="inverted_cdf"
        )
        bands.append((low, middle, high))
    mean = target.mean(model)
    exact_values = np.array([mean, *(middle for _, middle, _ in bands)])
    holds, widths, errors = [], [], []
    for number in range(replications):
        traces = designs[number % len(designs)]
        exact = target.of(traces, model.name)
        measured = exact[None, :] * np.exp(noise * rng.standard_normal((1, len(exact))))
        fit = fit_costs(traces, measured, model)
        found = [fit.mean(confidence), *fit.quantiles(SHARES, confidence)]
        sides = [(mean, mean), *((low, high) for low, _, high in bands)]
        limits = [(i.low or 0.0, i.high or 0.0) for i in found]
        holds.append(
            [a <= high and b >= low for (a, b), (low, high) in zip(limits, sides, strict=True)]
        )
        widths.append([(b - a) / 2 for a, b in limits] / exact_values)
        errors.append(np.array([i.value for i in found]) / exact_values - 1)
    return Coverage(
        tuple(float(v) for v in np.mean(holds, axis=0)),
        tuple(float(v) for v in np.median(widths, axis=0)),
        tuple(float(v) for v in np.sqrt(np.mean(np.square(errors), axis=0))),
    )


def report(
    set_name: str, replications: int, seed: int, sizes: Sequence[int], truth: int = _TRUTH
) -> Iterator[str]:
    """The lines that the module prints: one for each number of inputs, noise and signer; then one
    for each number and noise, with the least share, the largest error and the median half-width
    of all signers."""
    model = RejectionModel.of(set_name)
    yield f"{set_name}, {replications} replications, seed {seed}"
    yield ""
    yield "| n | noise | signer | mean | p50 | p99 |"
    yield "|---|---|---|---|---|---|"
    together = []
    for n in sizes:
        designs = draw_designs(model, n, _DESIGNS, seed)
        for noise in (0.0, 0.02):
            of_all = []
            for name, target in targets(set_name).items():
                rng = np.random.default_rng([seed, n, int(1000 * noise)])
                # Without noise a design always gives the same.
                times = replications if noise else min(replications, _DESIGNS)
                found = coverage(target, model, designs, noise, times, rng, truth=truth)
                of_all.append(found)
                yield f"| {n} | {noise:.0%} | {name} | {_cells(found)} |"
            worst = Coverage(
                tuple(np.min([c.holds for c in of_all], axis=0).tolist()),
                tuple(np.median([c.half_width for c in of_all], axis=0).tolist()),
                tuple(np.max([c.error for c in of_all], axis=0).tolist()),
            )
            together.append(f"| {n} | {noise:.0%} | {_cells(worst)} |")
    yield ""
    yield "| n | noise | mean | p50 | p99 |"
    yield "|---|---|---|---|---|"
    yield from together


def _cells(found: Coverage) -> str:
    """Share that holds, root mean square error and half-width, of the mean and of `SHARES`."""
    return " | ".join(
        f"{hold:.0%} ({_percent(error)}, ±{_percent(width)})"
        for hold, error, width in zip(found.holds, found.error, found.half_width, strict=True)
    )


def report_record(
    path: Path, choices: int, seed: int, sizes: Sequence[int], only: str | None = None
) -> Iterator[str]:
    """The lines for a record: estimates from a few of its designed inputs, drawn at random, judged
    by that from all of them. ``only``: this parameter set."""
    record = read_record(path)
    inputs = {(i.set, i.id): i for i in record.inputs}
    rng = np.random.default_rng(seed)
    errors: dict[int, list[tuple[float, bool, float]]] = {n: [] for n in sizes}
    cells, apart = 0, 0.0
    for (_, set_name, operation), cell in gather(record, "cpu").items():
        if operation != "sign" or set_name not in PARAMETER_SETS or only not in (None, set_name):
            continue
        chosen = [inputs[set_name, number] for number in cell.inputs]
        if any(i.role != "design" or i.trace is None for i in chosen):
            continue
        cells += 1
        model = RejectionModel.of(set_name)
        traces = [parse_trace(i.trace or (), set_name) for i in chosen]
        whole = fit_costs(traces, cell.table(), model)
        truth = whole.mean(0.95).value
        of_report = estimate_signing(cell, whole.counts, model).mean.value
        apart = max(apart, abs(truth / of_report - 1))
        for n in sizes:
            for _ in range(choices):
                some = rng.choice(len(traces), n, replace=False)
                # Costs in the typical round: what differs is the choice of inputs.
                found = fit_costs([traces[i] for i in some], whole.cost[None, some], model)
                mean = found.mean(0.95)
                low, high = mean.low or 0.0, mean.high or 0.0
                errors[n].append(
                    (mean.value / truth - 1, low <= truth <= high, (high - low) / 2 / truth)
                )
    if not cells:
        raise LabError(f"{path}: has no signing of designed inputs")
    yield f"{path.name}, {cells} cells, {choices} choices each, seed {seed}"
    yield f"means from all inputs differ from the report's by at most {_percent(apart)}"
    yield ""
    yield "| inputs | median error | root mean square | holds | half-width |"
    yield "|---|---|---|---|---|"
    for n, found_errors in errors.items():
        error, held, width = (np.array(column) for column in zip(*found_errors, strict=True))
        yield (
            f"| {n} | {_percent(float(np.median(np.abs(error))))} "
            f"| {_percent(float(np.sqrt(np.mean(error**2))))} | {held.mean():.0%} "
            f"| ±{_percent(float(np.median(width)))} |"
        )


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.0f} %"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the study as Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m mldsa_studies.coverage",
        description="Judge the intervals of `estimate` on synthetic signers.",
    )
    parser.add_argument(
        "--set", help="parameter set, ML-DSA-65 if not given; of a record all if not given"
    )
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 3, 5, 10])
    parser.add_argument("--record", type=Path, help="judge on a record's designed inputs instead")
    parser.add_argument("--truth", type=int, default=_TRUTH, help="signatures behind the truth")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.record is None:
            name = chosen.set or "ML-DSA-65"
            lines = report(name, chosen.replications, chosen.seed, chosen.sizes, chosen.truth)
        else:
            times = min(chosen.replications, _DESIGNS)
            lines = report_record(chosen.record, times, chosen.seed, chosen.sizes, chosen.set)
        for line in lines:
            print(line, flush=True)
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
