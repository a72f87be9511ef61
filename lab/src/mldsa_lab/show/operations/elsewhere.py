"""Somebody's own measurements of a selection, beside the workers of a run.

A card, a board and a simulator have clocks and units of their own and were not measured in the
same rounds: their costs are not divided by those of workers. What has no unit can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.measured import Estimation, estimate
from mldsa_lab.estimate.reader import read_measurements
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.show.figure_tables import SpreadColumns, TableLayout
from mldsa_lab.show.operations.plot_specs import relative_plot
from mldsa_lab.show.operations.texts import texts
from mldsa_lab.show.operations.view import View, best_rows, free_colours
from mldsa_lab.show.report import Report, sections_of

TITLE = "Measured elsewhere"
ENDINGS = (".csv", ".json")
"""What a file of measurements ends in; all others are records."""
_FIRST = "first: a signature accepted at once; z, r0: an attempt rejected there"
_PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
_COSTS = ("mean", *_PERCENTILES, "first")
_SHAPES = {
    "mean ÷ first": ("mean", "first"), "p99 ÷ p50": ("p99", "p50"),
    "p99.9 ÷ p50": ("p999", "p50"), "z ÷ first": ("z", "first"), "r0 ÷ first": ("r", "first"),
}  # fmt: skip
"""Costs over others: what has no unit."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Measurements of a selection, and what they say about all signatures."""

    name: str
    found: Estimation

    @property
    def figures(self) -> Estimation:
        """The estimates, of the inputs without outliers where there are some."""
        return self.found.without_outliers or self.found

    @property
    def costs(self) -> dict[str, Interval]:
        """The mean, percentiles and costs of attempts, by name."""
        of = self.figures
        percentiles = {name: of.percentiles[p] for name, p in _PERCENTILES.items()}
        return {"mean": of.mean, **percentiles, **of.costs}

    def rows(self) -> list[Figure]:
        """Return its figures as rows of a run have them: signing, in its own unit."""
        of = self.figures
        empty = dict.fromkeys(("version", "language", "called_from", "backend", "key", "clock"), "")
        keys: dict[str, Key] = {
            **empty,
            "implementation": self.name, "mode": "single", "batch_size": 1, "threads": 1,
            "set": of.set, "operation": "sign", "deterministic": True,
            "unit": of.unit or "unit not given", "samples": of.inputs * of.rounds,
        }  # fmt: skip
        percentiles = (Figure(keys, name, self.costs[name].value) for name in _PERCENTILES)
        return [Figure.of(keys, "mean", of.mean), *percentiles]


def split(files: Sequence[str]) -> tuple[list[Path], list[tuple[Path, Path | None]]]:
    """Records, and measurements with the selection that stands behind a colon, of arguments like
    `run.jsonl`, `card.csv` and `card.csv:selection.json`."""
    records, measured = [], []
    for text in files:
        path, selection = Path(text), None
        if not path.exists() and ":" in text:
            before, _, after = text.rpartition(":")
            path, selection = Path(before), Path(after)
        if path.suffix.lower() in ENDINGS:
            measured.append((path, selection))
        elif selection is not None:
            raise LabError(f"{text}: a selection belongs to measurements (.csv or .json)")
        else:
            records.append(path)
    return records, measured


def read(
    files: Sequence[tuple[Path, Path | None]], selection: Path | None, confidence: float
) -> list[Elsewhere]:
    """Estimate from these measurements; ``selection``: of those that name none. LabError."""
    read_once = cache(Selection.read)
    made: list[Elsewhere] = []
    for path, own in files:
        of = own or selection
        if of is None:
            raise LabError(
                f"measurements {path}: which selection they are of must be said, by --selection "
                f"SELECTION.json or as {path}:SELECTION.json"
            )
        chosen = read_once(of)
        measured = read_measurements(path, chosen)
        percentiles = tuple(_PERCENTILES.values())
        found = estimate(chosen, measured, percentiles=percentiles, confidence=confidence)
        name = path.stem
        if any(e.name == name for e in made):
            name = str(path.with_suffix(""))
        made.append(Elsewhere(name, found))
    return made


def elsewhere_report(
    measured: Sequence[Elsewhere], views: Sequence[View], confidence: float, names: Sequence[str]
) -> Report:
    """Return the report of what was measured elsewhere, beside the workers of runs; ``names``: the
    fields of their rows."""
    held = [e for e in measured if not e.found.refutation]
    rows = ("measured", "set", "unit", "inputs", "rounds")
    columns = (SpreadColumns(n, n.replace("p999", "p99.9"), spare_interval=2) for n in _COSTS)
    costs = TableLayout(TITLE, (), rows, tuple(columns))
    found = [f for e in held for f in _costs(e)]
    sections = sections_of(
        found, [costs], confidence, "signing, each in its own unit", chapter=TITLE
    )
    for set_name in dict.fromkeys(e.found.set for e in held):
        shapes = TableLayout(
            f"{set_name}: what has no unit", (), ("signing",),
            tuple(SpreadColumns(title, title) for title in _SHAPES),
            colours=colours_of(held, views),
        )  # fmt: skip
        plot = relative_plot(held, views, set_name)
        for section in sections_of(
            list(_shapes(held, views, set_name)), [shapes], confidence, _FIRST, chapter=TITLE
        ):
            sections.append(replace(section, plots=(plot,)))
    doubts = [f"{e.name}: {f.code}: {f.text}" for e in measured for f in e.found.findings]
    doubts += [f"{e.name}: its costs are {e.found.without}" for e in held if e.found.without]
    refused = [e for e in measured if e.found.refutation]
    return Report(
        kind="measured elsewhere",
        headline=f"{TITLE}: {', '.join(e.name for e in held) or 'no estimate holds'}",
        figures=[f for e in held for f in e.rows()],
        sections=sections,
        warnings=[*texts(TITLE), *doubts],
        names=names,
        name=TITLE,
        source=", ".join(e.name for e in refused),
        lacking="; ".join(e.found.refutation for e in refused),
    )


def _costs(entry: Elsewhere) -> Iterator[Figure]:
    """The costs of an entry, in its own unit."""
    of = entry.figures
    keys: dict[str, Key] = {
        "measured": entry.name, "set": of.set, "unit": of.unit or "not given",
        "inputs": of.inputs, "rounds": of.rounds,
    }  # fmt: skip
    for name in _COSTS:
        yield Figure.of(keys, name, entry.costs[name])


def colours_of(measured: Sequence[Elsewhere], views: Sequence[View]) -> dict[str, int]:
    """Return the colour numbers of the implementations of runs and of what was measured elsewhere,
    none of which has that of another."""
    runs = {name: number for view in views for name, number in view.colours.items()}
    shown = (r.variant for v in views for r in v.summary.rows if r.set in PARAMETER_SETS)
    taken = {runs[variant.implementation] for variant in shown}
    return free_colours([e.name for e in measured], taken) | runs


def _shapes(
    measured: Sequence[Elsewhere], views: Sequence[View], set_name: str
) -> Iterator[Figure]:
    """What has no unit, of these and of each implementation's best variant in the same set."""
    for entry in measured:
        if entry.found.set == set_name:
            keys: dict[str, Key] = {"signing": entry.name, "implementation": entry.name}
            yield from _unitless(keys, entry.costs)
    for place, view in enumerate(views):
        signing, run = view.table(set_name, "sign"), f", run {chr(65 + place)}" * (len(views) > 1)
        for row in best_rows(signing) or best_rows(signing, "expanded"):
            if row.fit is not None:
                v = row.variant
                keys = {"signing": view.label(v.id) + run, "key": v.key}
                keys["implementation"] = v.implementation
                costs = row.figures | row.fit.costs(view.summary.confidence)
                yield from _unitless(keys, costs)


def _unitless(keys: dict[str, Key], costs: Mapping[str, Interval]) -> Iterator[Figure]:
    """Yield `_SHAPES` of these costs, as far as they are known."""
    for title, names in _SHAPES.items():
        one, other = (costs.get(name) for name in names)
        shape = one.value / other.value if one and other and other.value else None
        yield Figure(keys, title, shape)
