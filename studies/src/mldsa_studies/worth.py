"""The worth of selections to plain averages.

`mldsa-lab study worth RECORD` compares, for every implementation of a record, the mean cost over
each ready-made selection with the mean or percentile of all signatures, both by the costs that were
fitted to that implementation. With `--own` each implementation has inputs chosen by its own costs
from the pool that ships. The greedy selections of `mldsa_lab.choice.greedy` are compared beside
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from mldsa_lab.choice import greedy
from mldsa_lab.choice.choice import choose
from mldsa_lab.choice.ready import COUNTS, NAMES, read_ready, wish_of
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.inputs.shipped import shipped_pool
from mldsa_lab.records import Record, read_record
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.show.report import Report
from mldsa_lab.theory.cost_model import CostModel
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies.judge import root_mean_square
from mldsa_studies.tables import Row, percent_report

_GREEDY = "mean, greedy"


def averaging_errors(
    set_name: str, name: str, count: int, costs: Iterable[CostModel], *, own: bool = False
) -> list[float]:
    """Relative error of the plain average over a ready-made selection under each cost model: of
    the mean cost of all signatures, or of the percentile that ``name`` says. ``own``: over the
    inputs that are chosen by that model, not over the ready-made ones."""
    model = RejectionModel.of(set_name)
    errors = []
    for cost in costs:
        goal = cost.mean(model) if name == "mean" else cost.quantile(model, float(name[1:]) / 100)
        if own:
            pool = shipped_pool(set_name)
            wish = replace(wish_of(name, count), cost_model=cost)
            chosen = choose(pool.table, pool.checks, wish).positions
            counts = pool.table.take(chosen).counts()
        else:
            counts = read_ready(set_name, name, count).counts()
        errors.append(float(cost.of(counts).mean()) / goal - 1)
    return errors


def greedy_errors(set_name: str, count: int, costs: Iterable[CostModel]) -> list[float]:
    """The same of a greedy selection for the mean, from `greedy.POOL` candidates whose rejections
    are drawn from their law."""
    model, rng = RejectionModel.of(set_name), np.random.default_rng(1)
    rejected = rng.geometric(model.p_accept, greedy.POOL) - 1
    law = np.array(model.attempt[:3])
    drawn = rng.multinomial(rejected, law / law.sum())
    # Of the four checks ct0, the third, hardly ever fails.
    candidates = np.insert(drawn, 2, 0, axis=1)
    chosen = greedy.select(candidates, count, greedy.mean_rates(set_name))
    counts = drawn[chosen].astype(np.float64)
    return [float(cost.of(counts).mean()) / cost.mean(model) - 1 for cost in costs]


_TITLES = (
    "Error of the average under the default costs",
    "Error of the average, root mean square of the record's variants",
    "Error of the average, largest of the record's variants",
)


def report(path: Path, own: bool) -> Report:
    """Return the report of `study worth` for a record. LabError if it has no signing of one of the
    sets."""
    fits = summarise(read_record(path)).fits
    names = [name for name in NAMES if name not in ("regression", "coverage")]
    tables: dict[str, list[Row]] = {title: [] for title in _TITLES}
    for set_name in PARAMETER_SETS:
        costs = [CostModel(*fit.attempt_costs) for (_, of), fit in fits.items() if of == set_name]
        if not costs:
            raise LabError(f"record {path}: has no signing of {set_name}")
        costs.insert(0, CostModel.default(set_name))
        for name in (*names, _GREEDY):
            rows: tuple[dict[str, float], ...] = ({}, {}, {})
            for count in COUNTS:
                if name == _GREEDY:
                    default, *others = greedy_errors(set_name, count, costs)
                else:
                    default, *others = averaging_errors(set_name, name, count, costs, own=own)
                values = (default, root_mean_square(others), float(np.abs(others).max()))
                for row, value in zip(rows, values, strict=True):
                    row[f"n = {count}"] = value
            for title, row in zip(_TITLES, rows, strict=True):
                tables[title].append(({"set": set_name, "selection": name}, row))
    means = [row["n = 10"] for keys, row in tables[_TITLES[1]] if keys["selection"] == "mean"]
    headline = f"Averages over ten inputs for the mean are off by {max(means):.2%} or less"
    return percent_report("worth of selections", headline, tables)


def report_fits(record: Record) -> Report:
    """Return the report of `study fits`."""
    rows: list[Row] = []
    for (variant, set_name), fit in summarise(record).fits.items():
        first, z, r, h = fit.attempt_costs
        costs = {"first attempt": first / r, "z": z / r, "hint": h / r}
        rows.append(({"set": set_name, "variant": variant}, costs))
    rows.sort(key=lambda row: str(row[0]["set"]))
    headline = f"Costs of {len(rows)} signers, relative to an attempt rejected by r0"
    return percent_report("fitted costs", headline, {"Fitted costs": rows})
