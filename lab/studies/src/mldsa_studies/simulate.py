"""Synthetic signers on a synthetic machine, with known answers.

`mldsa-lab study coverage --by records` judges the estimators on them. It prints the error of the
mean for random and designed inputs, and the coverage of the intervals. The tests use the same
functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import ndtri

from mldsa_lab.choice.design import design
from mldsa_lab.estimate.cells import (
    CellEstimate,
    CellSamples,
    estimate_random,
    estimate_signing,
    ratio,
)
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.records import DESIGN, SCHEMA, InputRow, Record, Run, Samples, Variant, WorkerRow
from mldsa_lab.sets import PERCENTILES
from mldsa_lab.show.report import Report
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, Trace
from mldsa_studies.judge import Replications, TrueCosts, root_mean_square
from mldsa_studies.signers import Signer, draw_traces
from mldsa_studies.tables import Row, percent_report


@dataclass(frozen=True)
class NoisyMachine:
    """Noise, as standard deviations of logarithms unless said otherwise.

    ``drift`` is the level of a round, with correlation ``memory`` to the one before. In a share
    ``fast`` of the rounds, in runs of about four, the sibling core is idle and the level lower by
    ``boost``. ``jitter`` is the noise of a sample; a share ``spikes`` of them take longer by an
    exponential variate of mean ``spike``. ``habit`` is each input's own deviation from the line,
    the same in all rounds.
    """

    drift: float = 0.08
    memory: float = 0.5
    fast: float = 0.15
    boost: float = 0.5
    jitter: float = 0.03
    spikes: float = 0.03
    spike: float = 0.5
    habit: float = 0.005

    def levels(self, rounds: int, rng: np.random.Generator) -> Array:
        """Levels of consecutive rounds, with median 0 in the long run."""
        level = np.empty(rounds)
        quick = np.empty(rounds, dtype=bool)
        innovation = math.sqrt(1 - self.memory**2)
        stay = 0.75
        for i in range(rounds):
            noise = self.drift * rng.standard_normal()
            level[i] = noise if i == 0 else self.memory * level[i - 1] + innovation * noise
            start = self.fast if i == 0 else (1 - stay) * self.fast / (1 - self.fast)
            quick[i] = rng.random() < (stay if i and quick[i - 1] else start)
        median = self.drift * float(ndtri((0.5 - self.fast) / (1 - self.fast)))
        return level - self.boost * quick - median

    def measure(
        self,
        cost: Array,
        rounds: int,
        rng: np.random.Generator,
        *,
        passes: int = 1,
        levels: Array | None = None,
    ) -> CellSamples:
        """Samples of inputs of known ``cost`` (inputs,), or (rounds, inputs) where the cost is
        random from call to call (``passes`` must then be 1)."""
        own = np.exp(self.habit * rng.standard_normal(cost.shape[-1]))
        level = self.levels(rounds, rng) if levels is None else levels
        shape = (rounds, passes, cost.shape[-1])
        noise = self.jitter * rng.standard_normal(shape)
        noise += (rng.random(shape) < self.spikes) * rng.exponential(max(self.spike, 1e-9), shape)
        base = cost[:, None, :] if cost.ndim == 2 else cost
        return cell_of(base * own * np.exp(level[:, None, None] + noise))


def cell_of(ticks: Array) -> CellSamples:
    """A cell of ``ticks`` (rounds, passes, inputs), rounds and inputs numbered from 0."""
    rounds, _, inputs = ticks.shape
    round_of, _, input_of = (index.ravel() for index in np.indices(ticks.shape))
    numbers = tuple(range(rounds)), tuple(range(inputs))
    return CellSamples(*numbers, ticks.ravel(), round_of, input_of, True, "cpu")


@dataclass(frozen=True)
class Clocks:
    """The clocks of a worker.

    ``tick``: that of the CPU clock, as a share of a mean sample. ``both``: the wall clock has the
    same tick, else none. ``lengths``: a clock truncates lengths of time, else the moments at both
    ends.
    """

    tick: float
    both: bool = False
    lengths: bool = False

    def read(self, cell: CellSamples, rng: np.random.Generator) -> dict[str, Array]:
        """Return the clock readings of each sample of a cell."""
        tick = max(self.tick * float(cell.ticks.mean()), 1.0)
        begin = 0.0 if self.lengths else tick * rng.random(len(cell.ticks))
        coarse = tick * (np.floor((begin + cell.ticks) / tick) - np.floor(begin / tick))
        return {"wall": coarse if self.both else cell.ticks, "cpu": coarse}


def record_of(
    cell: CellSamples,
    clocks: Clocks,
    set_name: str,
    operation: str,
    traces: Sequence[Trace],
    rng: np.random.Generator,
) -> Record:
    """Return the record of a cell whose inputs have these ``traces``, each sample one call."""
    variant = Variant(
        "signer:model:compact", "signer", "1", "model", "compact", "ml-dsa", (set_name,),
        (operation,), "given", True,
    )  # fmt: skip
    worker = WorkerRow(
        "model", "model", "", "", "ns", "wall clock", "CPU clock", (variant,)
    )  # fmt: skip
    record = Record(Run(SCHEMA, "study", "", "", "", {}, {}), workers=[worker])
    record.inputs = [
        InputRow(set_name, i, DESIGN, bytes([i] * 32), b"", b"", tuple(map(str, trace)))
        for i, trace in enumerate(traces)
    ]
    read = {name: np.rint(values).astype(int) for name, values in clocks.read(cell, rng).items()}
    for number in cell.rounds:
        here = cell.round_of == number
        inputs = tuple(cell.input_of[here].tolist())
        metrics = {name: tuple(values[here].tolist()) for name, values in read.items()}
        record.add(Samples(number, 0, variant.id, set_name, operation, 1, inputs, metrics))
    return record


QUIET = NoisyMachine(0, 0, 0, 0, 0, 0, 0, 0)
"""No noise at all: a simulator's cycle counts."""

# ---------------------------------------------------------------------------------------------
# Studies


def mean_errors(
    model: RejectionModel,
    n: int,
    signer: Signer,
    machine: NoisyMachine,
    replications: int,
    rng: np.random.Generator,
    *,
    designed: bool,
    rounds: int = 12,
) -> list[float]:
    """Relative errors of the mean of signing: trace regression on ``n`` designed inputs, or the
    average of ``n`` random ones. A fresh pool for every tenth replication."""
    errors = []
    chosen: list[Trace] = []
    for number in range(replications):
        if not designed:
            chosen = draw_traces(model, n, rng)
        elif number % 10 == 0:
            pool = draw_traces(model, 2000, rng)
            chosen = [pool[i] for i in design(pool, model, n, seed=number, restarts=1)]
        cell = machine.measure(signer.cost_of(chosen), rounds, rng)
        if designed:
            value = estimate_signing(cell, chosen, model).mean.value
        else:
            value = float(np.median(cell.table(), axis=0).mean())
        errors.append(value / signer.mean(model) - 1)
    return errors


def signing_coverage(
    model: RejectionModel,
    n: int,
    signers: tuple[Signer, Signer],
    machine: NoisyMachine,
    replications: int,
    rng: np.random.Generator,
    *,
    rounds: int = 12,
    population: int = 400_000,
) -> Replications:
    """Judge the 95 % intervals of two signers measured in the same rounds. They are the intervals
    of the first one's mean and `PERCENTILES`, and of the ratio of the two. They share three
    quarters of the variance of the rounds' levels."""
    cost = signers[0].draw(model, population, rng)
    means = [signer.mean(model) for signer in signers]
    percentiles = [*PERCENTILES.values()]
    truth = TrueCosts.exactly(means[0], *np.percentile(cost, percentiles), means[0] / means[1])
    pool = draw_traces(model, 2000, rng)
    designs = [design(pool, model, n, seed=s, restarts=1) for s in range(5)]
    intervals = []
    for number in range(replications):
        chosen = [pool[i] for i in designs[number % len(designs)]]
        shared = machine.levels(rounds, rng)
        estimates: list[CellEstimate] = []
        for signer in signers:
            own = machine.drift * 0.5 * rng.standard_normal(rounds)
            cell = machine.measure(signer.cost_of(chosen), rounds, rng, levels=shared + own)
            estimates.append(estimate_signing(cell, chosen, model))
        first = estimates[0]
        intervals.append(
            [first.mean, *(first.quantiles[p] for p in percentiles), ratio(first, estimates[1])]
        )
    return Replications.judge(intervals, truth)


def random_coverage(
    model: RejectionModel,
    signer: Signer,
    machine: NoisyMachine,
    replications: int,
    rng: np.random.Generator,
    *,
    rounds: int = 12,
    inputs: int = 12,
) -> Replications:
    """Judge the interval of the mean for a signer that draws its own rnd. The truth is the
    mean over the machine's levels and spikes too, taken from the replications together."""
    means = []
    for _ in range(replications):
        cost = signer.draw(model, rounds * inputs, rng).reshape(rounds, inputs)
        means.append([estimate_random(machine.measure(cost, rounds, rng)).mean])
    truth = TrueCosts.exactly(float(np.mean([mean.value for (mean,) in means])))
    return Replications.judge(means, truth)


def tick_coverage(
    model: RejectionModel,
    operation: str,
    clocks: Clocks,
    replications: int,
    rng: np.random.Generator,
    *,
    rounds: int = 12,
    inputs: int = 12,
) -> list[Interval | None]:
    """Return the means of ``replications`` records over the truth; None where a record's summary
    gives none."""
    signer, pool = Signer(), draw_traces(model, 1000, rng)
    designs = [design(pool, model, inputs, seed=s, restarts=1) for s in range(5)]
    result: list[Interval | None] = []
    for number in range(replications):
        traces = [pool[i] for i in designs[number % len(designs)]]
        is_signing = operation == "sign"
        cost = signer.cost_of(traces) if is_signing else np.full(inputs, VERIFYING)
        truth = signer.mean(model) if is_signing else VERIFYING
        cell = CALM.measure(cost, rounds, rng)
        record = record_of(cell, clocks, model.name, operation, traces, rng)
        (estimated,) = summarise(record, baseline="signer").cells
        result.append(None if estimated.mean is None else estimated.mean.times(1 / truth))
    return result


TICKS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5)
"""Ticks of a clock that are judged, as shares of a mean sample."""
VERIFYING = 28_000.0
STOPPING = Signer(z=17_000.0, r=19_000.0, z_step=1_000.0, r_step=700.0)
"""A signer that stops at the first bad polynomial."""
CALM = NoisyMachine(drift=0.02, fast=0)
_COVERED = ("mean", *(f"p{p:g}" for p in PERCENTILES.values()), "ratio")


def report(set_name: str, replications: int, seed: int) -> Report:
    """Return the report of `study coverage --by records`."""
    model = RejectionModel.for_set(set_name)
    rng = np.random.default_rng(seed)
    errors: list[Row] = []
    covered: list[Row] = []
    for n in (3, 5, 10, 12):
        for name, signer, label, machine in (
            ("linear", Signer(), "no noise", QUIET),
            ("stops at first bad polynomial", STOPPING, "no noise", QUIET),
            ("linear", Signer(), "input noise alone", NoisyMachine(drift=0, fast=0)),
        ):
            result = {
                title: root_mean_square(
                    mean_errors(model, n, signer, machine, replications, rng, designed=designed)
                )
                for title, designed in (
                    ("random inputs, mean", False),
                    ("designed inputs, regression", True),
                )
            }
            errors.append(({"n": n, "signer": name, "machine": label}, result))
    for rounds in (4, 5, 12, 30):
        for label, machine in (("calm", CALM), ("shared", NoisyMachine())):
            signers = STOPPING, Signer()
            c = signing_coverage(model, 12, signers, machine, replications, rng, rounds=rounds)
            # Over the estimates, as in a report.
            widths = np.median(c.half_width / (1 + c.error), axis=0)
            values = dict(zip(_COVERED, map(float, c.holds.mean(axis=0)), strict=True))
            values |= {"half-width of the mean": float(widths[0])}
            values |= {"half-width of the ratio": float(widths[-1])}
            covered.append(({"rounds": rounds, "machine": label}, values))
    own = random_coverage(model, Signer(), CALM, replications, rng).holds.mean()
    return percent_report(
        "study by simulation",
        f"Own rnd, 12 rounds of 12 calls, calm machine: {own:.1%} of the intervals hold",
        {"Root mean square error of the mean": errors, "Intervals that hold the truth": covered},
        f"{set_name}, {replications} replications, seed {seed}",
    )


def report_ticks(set_name: str, replications: int, seed: int) -> Report:
    """Return the report of `study coverage --by ticks`.

    So many replications are by clocks that truncate moments, and as many by clocks that truncate
    lengths.
    """
    model, rng = RejectionModel.for_set(set_name), np.random.default_rng(seed)
    tables: dict[str, list[Row]] = {}
    for operation, both, tick in product(("sign", "verify"), (False, True), TICKS):
        result = [
            mean
            for lengths in (False, True)
            for mean in tick_coverage(
                model, operation, Clocks(tick, both, lengths), replications, rng
            )
        ]
        reported = np.array([tuple(mean) for mean in result if mean is not None], dtype=float)
        values = {"refused": 1 - len(reported) / len(result)}
        if len(reported):
            value, low, high = reported.T
            values["holds"] = float(((low <= 1) & (high >= 1)).mean())
            values["error"] = root_mean_square(value - 1)
            values["half-width"] = float(np.median(high - low)) / 2
        title = "Both clocks coarse" if both else "CPU clock coarse, wall clock fine"
        keys = {"operation": operation, "tick": f"{tick:.0%} of a sample"}
        tables.setdefault(title, []).append((keys, values))
    holds = [row["holds"] for rows in tables.values() for _, row in rows if "holds" in row]
    return percent_report(
        "study of ticks",
        f"{min(holds):.1%} or more of the intervals hold the truth",
        tables,
        f"{set_name}, 2 × {replications} replications, seed {seed}",
    )
