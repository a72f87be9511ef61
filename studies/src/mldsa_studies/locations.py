"""Which location over rounds repeats best on a given machine.

`mldsa-lab study locations RECORD` cuts each cell's rounds into blocks, as if each were a short run
of its own, and compares how much the blocks' results differ for several locations. This is the
ground for `mldsa_lab.estimate.interval`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import split_levels
from mldsa_lab.estimate.samples import CellKey, gather
from mldsa_lab.records import Record
from mldsa_lab.show.report import Report
from mldsa_lab.theory.arrays import Array
from mldsa_studies.tables import Row, percent_report

LOCATIONS: dict[str, Callable[[Array], float]] = {
    "mean": lambda x: float(np.mean(x)),
    "trimmed mean, 25 %": lambda x: float(stats.trim_mean(x, 0.25)),
    "median": lambda x: float(np.median(x)),
    "lower quartile": lambda x: float(np.quantile(x, 0.25)),
    "minimum": lambda x: float(np.min(x)),
}
"""Locations of round levels (logarithms)."""
_COLUMNS = ("level", "ratio, paired by round", "ratio of the levels")


def compare(record: Record, clock: str = "cpu", block: int = 8) -> dict[str, tuple[float, ...]]:
    """For each location, medians over cells of the standard deviation between blocks of
    ``block`` consecutive rounds: of the level, of the ratio of two cells paired by round, and of
    the ratio of the two levels.

    Ratios are those of each cell to the first of its set and operation. LabError if no two such
    cells have three blocks of rounds in common.
    """
    levels: dict[CellKey, dict[int, float]] = {}
    for key, cell in gather(record, clock).items():
        levels[key] = dict(zip(cell.rounds, split_levels(cell.table()).level, strict=True))
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in LOCATIONS}
    first: dict[tuple[str, str], CellKey] = {}
    for key in levels:
        reference = first.setdefault(key[1:], key)
        common = sorted(set(levels[key]) & set(levels[reference]))
        blocks = [common[i : i + block] for i in range(0, len(common) - block + 1, block)]
        if reference == key or len(blocks) < 3:
            continue
        one, two = (
            [np.array([levels[of][r] for r in rounds]) for rounds in blocks]
            for of in (key, reference)
        )
        for name, location in LOCATIONS.items():
            of_one, of_two = (np.array([location(x) for x in of]) for of in (one, two))
            paired = [location(x - y) for x, y in zip(one, two, strict=True)]
            deviations = (np.std(of, ddof=1) for of in (of_one, paired, of_one - of_two))
            found[name].append(tuple(map(float, deviations)))
    if not found["median"]:
        raise LabError(f"record: needs two cells with three blocks of {block} rounds in common")
    return {name: tuple(float(x) for x in np.median(rows, axis=0)) for name, rows in found.items()}


def report(record: Record) -> Report:
    """Return the report of `study locations`."""
    found = compare(record)
    rows: list[Row] = [
        ({"statistic": name}, dict(zip(_COLUMNS, values, strict=True)))
        for name, values in found.items()
    ]
    best = min(found, key=lambda name: found[name][1])
    headline = f"Ratios of eight rounds repeat best by the {best}"
    title = "Standard deviation between runs of eight rounds"
    return percent_report("study of locations", headline, {title: rows}, name="difference")
