"""The share of intervals that include the truth: synthetic signers of known mean and percentiles.

`mldsa-lab study coverage` prints the table of lab/notes/measurements.md. The tests use the same
signers and functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.choice.design import balanced_order, design
from mldsa_lab.estimate.cells import gather
from mldsa_lab.estimate.diagnose import FEW_INPUTS
from mldsa_lab.estimate.external import estimate
from mldsa_lab.estimate.fit import fit_costs
from mldsa_lab.estimate.reader import Measurements
from mldsa_lab.inputs.input import Digests, Input
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.parallel import WorkItem, in_order
from mldsa_lab.records import read_record
from mldsa_lab.sets import parameter_set
from mldsa_lab.show.report import Report
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, Trace, parse_trace
from mldsa_studies.judge import SHARES, Replications, TrueCosts, hire_workers, root_mean_square
from mldsa_studies.signers import Signer, random_table, usual
from mldsa_studies.tables import Row, percent_report

TRUTH = 400_000
"""Signatures that the true percentiles are taken from."""
_POOL = 600
_DESIGNS = 20
_JUDGED = ("mean", *(f"p{100 * share:g}" for share in SHARES))
# Fewer replications without a warning do not show how often intervals are valid.
_ENOUGH = 10
# A warm-up is over after about half of a run.
_DECAY = 6.0


def targets(set_name: str) -> dict[str, Signer]:
    """Signers of many kinds, for all of which the intervals must be valid."""
    p = parameter_set(set_name)
    first = {"ML-DSA-44": (1.45, 3.3), "ML-DSA-65": (1.5, 4.1), "ML-DSA-87": (1.4, 4.7)}[set_name]
    stops = usual(setup=2.5, z=0.85, r=0.95, z_step=0.25 / p.l, r_step=0.3 / p.k)
    return {
        "expanded keys": usual(setup=first[0]),
        "keys as bytes": usual(setup=first[1]),
        "expensive r0 attempts": usual(setup=first[1], r=1.4, h=1.7),
        "stops at the first polynomial": stops,
        "r0 before z, stops": replace(stops, r_first=True),
        "attempts in pairs": usual(setup=2.5, group=2),
        "large constant part": usual(setup=1.6 * first[1]),
    }


@dataclass(frozen=True)
class Scene:
    """The disturbances of a run of measurements, every input measured once in each of ``rounds``.

    ``relative``, ``additive``: noise of one measurement, the former relative, the latter constant,
    in iterations; ``declared``: `estimate` knows the former. ``warm_up``: the additional cost of
    the first measurement, decaying over the run. ``sorted``: inputs are measured in the order of
    their iterations, else in a selection's order. ``outlier``: times the cost of one measurement.
    ``bend``: as of `Signer`. ``between``: relative standard deviation of the rounds' levels.
    ``per_key``: inputs that share a key, each key with an ``offset`` of this relative standard
    deviation.
    """

    name: str
    relative: float = 0.0
    additive: float = 0.0
    rounds: int = 1
    declared: bool = False
    warm_up: float = 0.0
    sorted: bool = False
    outlier: float = 1.0
    bend: float = 0.0
    between: float = 0.0
    per_key: int = 1
    offset: float = 0.0

    def selection(self, set_name: str, traces: Sequence[Trace]) -> Selection:
        """These inputs; messages and keys are made up."""
        if self.sorted:
            traces = sorted(traces, key=len)
        return made_up(set_name, traces, per_key=self.per_key)

    def measure(self, exact: Array, rng: np.random.Generator) -> Array:
        """(rounds, inputs) measured costs of inputs that cost ``exact`` (inputs,)."""
        inputs = len(exact)
        keys = -(-inputs // self.per_key)
        offset = np.exp(self.offset * rng.standard_normal(keys)).repeat(self.per_key)[:inputs]
        shape = (self.rounds, inputs)
        result = exact * offset * np.exp(self.relative * rng.standard_normal(shape))
        result += self.additive * rng.standard_normal(shape)
        run = np.arange(result.size).reshape(shape) / max(result.size - 1, 1)
        result *= 1 + self.warm_up * np.exp(-_DECAY * run)
        result *= np.exp(self.between * rng.standard_normal((self.rounds, 1)))
        result[rng.integers(self.rounds), rng.integers(inputs)] *= self.outlier
        return np.maximum(result, 0.05 * exact)


def scenes() -> list[Scene]:
    """Return all scenes that the intervals are judged in."""
    result = []
    for relative in (0.0, 0.02, 0.05, 0.1, 0.15):
        result.append(Scene(f"noise {relative:.0%}", relative))
        result.append(Scene(f"noise {relative:.0%}, declared", relative, declared=True))
    result += [Scene(f"noise {additive} attempt", additive=additive) for additive in (0.1, 0.3)]
    for up in (0.08, 0.3):
        result.append(Scene(f"warm-up {up:.0%}", 0.01, warm_up=up))
        result.append(Scene(f"warm-up {up:.0%}, sorted", 0.01, warm_up=up, sorted=True))
    result.append(Scene("outlier x1.6", 0.01, outlier=1.6))
    result.append(Scene("outlier x1.6, declared", 0.01, declared=True, outlier=1.6))
    result += [Scene(f"bent by {bend}", 0.01, bend=bend) for bend in (0.003, 0.03)]
    result.append(Scene("two inputs a key", 0.001, per_key=2, offset=0.003))
    result.append(Scene("one key", 0.001, per_key=1000, offset=0.003))
    repeated = [replace(s, name=f"{s.name}, 3 rounds", rounds=3) for s in result if not s.declared]
    for rounds in (2, 10):
        for scene in (
            Scene("noise 2%", 0.02),
            Scene("outlier x40", 0.02, outlier=40),
            Scene("noise 2% and between rounds 2%", 0.02, between=0.02),
        ):
            repeated.append(replace(scene, name=f"{scene.name}, {rounds} rounds", rounds=rounds))
    return [*result, *repeated]


Designs = Sequence[Sequence[Trace]]


def made_up(
    set_name: str,
    traces: Sequence[Trace],
    goal: str = "regression",
    percentile: float | None = None,
    *,
    per_key: int = 1,
) -> Selection:
    """A selection of these traces, with ids from 1, so many in a row with one key; its inputs are
    made up."""
    inputs = tuple(
        Input(
            set_name,
            number + 1,
            (number // per_key).to_bytes(32, "big"),
            b"message",
            trace=trace,
            known_digests=Digests(*("00" * 32,) * 3),
        )
        for number, trace in enumerate(traces)
    )
    return Selection(set_name, goal, inputs, percentile)


@cache
def draw_designs(model: RejectionModel, n: int, seed: int) -> Designs:
    """`_DESIGNS` choices of ``n`` inputs for the regression, each from a pool of its own, in the
    order to measure."""
    rng = np.random.default_rng([seed, n])
    chosen = []
    for number in range(_DESIGNS):
        pool = random_table(model, _POOL, rng)
        taken = pool.take(np.array(design(pool, model, n, seed=number, restarts=1)))
        chosen.append(taken.take(np.array(balanced_order(taken))).traces())
    return chosen


def coverage(
    target: Signer,
    truth: TrueCosts,
    set_name: str,
    designs: Designs,
    scene: Scene,
    replications: int,
    seed: Sequence[int],
) -> Replications:
    """Judge the intervals of `estimate` from ``designs`` in turn."""
    rng = np.random.default_rng(seed)
    percentiles = tuple(100 * share for share in SHARES)
    noise = scene.relative if scene.declared else None
    intervals, warnings = [], []
    for number in range(replications):
        chosen = scene.selection(set_name, designs[number % len(designs)])
        costs = scene.measure(target.cost_of(chosen.traces()), rng)
        measured = Measurements.from_costs(
            chosen, dict(zip(chosen.ids, costs.T.tolist(), strict=True))
        )
        result = estimate(chosen, measured, percentiles=percentiles, noise=noise)
        intervals.append([result.mean, *result.percentiles.values()])
        # Set aside, so that the few inputs which all have it are judged too.
        warnings.append({f.code for f in result.warnings} - {FEW_INPUTS})
    return Replications.judge(intervals, truth, warnings)


class Job(NamedTuple):
    """One job of the study: replications over all signers of a set."""

    set: str
    n: int
    scene: Scene
    replications: int
    seed: int
    truth: int

    def judge(self) -> Replications:
        """Judge so many replications in all; signers take turns."""
        model = RejectionModel.for_set(self.set)
        designs = draw_designs(model, self.n, self.seed)
        kinds = list(targets(self.set).values())
        parts = []
        for number, kind in enumerate(kinds[: self.replications]):
            target = replace(kind, bend=self.scene.bend)
            times = len(range(number, self.replications, len(kinds)))
            start = number * 3 % len(designs)
            turned = [*designs[start:], *designs[:start]]
            seed = [self.seed, self.n, number, *f"{self.set} {self.scene.name}".encode()]
            truth = TrueCosts.draw(target, model, self.truth)
            parts.append(coverage(target, truth, model.name, turned, self.scene, times, seed))
        return Replications.together(parts)


def report(
    sets: Sequence[str],
    replications: int,
    seed: int,
    sizes: Sequence[int],
    *,
    requested: Sequence[Scene] = (),
    truth: int = TRUTH,
    processes: int = 1,
    show: Callable[[float, str], object] = lambda part, text: None,
) -> Report:
    """Return the report of `study coverage`: for each scene and number of inputs, over all signers
    and sets. ``show`` gets the part of all that is done, and the last step."""
    cells = [(scene, n) for scene in requested or scenes() for n in sizes]
    jobs = [Job(name, n, scene, replications, seed, truth) for scene, n in cells for name in sets]
    items = (WorkItem(f"{job.scene.name}, n = {job.n}", Job.judge, (job,)) for job in jobs)
    rows: list[Row] = []
    with hire_workers(processes) as force:
        judged = in_order(items, force)
        for number, (scene, n) in enumerate(cells, 1):
            result = Replications.together([next(judged) for _ in sets])
            show(number / len(cells), f"{scene.name}, n = {n}")
            codes = ", ".join(f"{code} {times}" for code, times in result.codes.most_common(3))
            calm = result.calm()
            values = {"warned": float(result.warned.mean()), "missed": result.missed()}
            if len(calm.warned) >= _ENOUGH:
                values |= dict(zip(_JUDGED, map(float, calm.holds.mean(axis=0)), strict=True))
            if len(calm.warned):
                values["half-width"] = float(np.median(calm.half_width[:, 0]))
            rows.append(({"measured with": scene.name, "n": n, "warnings": codes}, values))
    worst = max(values["missed"] for _, values in rows)
    return percent_report(
        "study of coverage",
        f"Runs that miss the truth without a warning: {worst:.0%} or less",
        {"Intervals that hold the truth, of runs without a warning": rows},
        f"{', '.join(sets)}, {replications} replications of each, seed {seed}",
    )


def report_record(
    path: Path, choices: int, seed: int, sizes: Sequence[int], only: Sequence[str]
) -> Report:
    """Return the report for a record: estimates from a few of its designed inputs, drawn at random,
    judged by the estimate from all of them.

    ``only``: these parameter sets; at most `_DESIGNS` choices are made. LabError if a record has
    fewer inputs than are asked for.
    """
    record, choices = read_record(path), min(choices, _DESIGNS)
    inputs = {(i.set, i.id): i for i in record.inputs}
    rng = np.random.default_rng(seed)
    judged: dict[int, list[Replications]] = {n: [] for n in sizes}
    for (_, set_name, operation), cell in gather(record, "cpu").items():
        if operation != "sign" or set_name not in only:
            continue
        chosen = [inputs[set_name, number] for number in cell.inputs]
        if any(i.role != "design" or i.trace is None for i in chosen):
            continue
        if max(sizes) > len(chosen):
            raise LabError(
                f"{path}: has {len(chosen)} designed inputs of {set_name}, not {max(sizes)}"
            )
        model = RejectionModel.for_set(set_name)
        traces = [parse_trace(i.trace or (), set_name) for i in chosen]
        whole = fit_costs(traces, cell.table(), model)
        truth = TrueCosts.exactly(whole.mean(0.95).value)
        for n in sizes:
            for _ in range(choices):
                some = rng.choice(len(traces), n, replace=False)
                # Costs in the typical round: what differs is the choice of inputs.
                result = fit_costs([traces[i] for i in some], whole.cost[None, some], model)
                judged[n].append(Replications.judge([[result.mean(0.95)]], truth))
    if not judged[sizes[0]]:
        raise LabError(f"{path}: has no signing of designed inputs")
    rows: list[Row] = []
    for n, parts in judged.items():
        together = Replications.together(parts)
        values = {
            "median error": float(np.median(np.abs(together.error))),
            "root mean square": root_mean_square(together.error[:, 0]),
            "holds": float(together.holds.mean()),
            "half-width": float(np.median(together.half_width)),
        }
        rows.append(({"inputs": n}, values))
    least = min(values["holds"] for _, values in rows)
    return percent_report(
        "study of coverage",
        f"Intervals hold the estimate from all inputs in {least:.0%} or more",
        {"Means from a few inputs against all": rows},
        f"{path.name}, {len(judged[sizes[0]]) // choices} cells, {choices} choices each, "
        f"seed {seed}",
    )
