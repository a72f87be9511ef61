"""Somebody's own measurements of a selection, beside the workers of a run.

A card, a board and a simulator have clocks and units of their own and were not measured in the
same rounds: their costs are not divided by those of workers. What has no unit can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.measured import Estimation, estimate
from mldsa_lab.estimate.reader import read_measurements
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.show.format import UNKNOWN, Shown, number, of_interval
from mldsa_lab.show.grid import Column, Dot, Grid
from mldsa_lab.show.kinds.view import View, best_rows
from mldsa_lab.show.report import PlotSpec, Report, Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

TITLE = "Measured elsewhere"
WIDE, NARROW = 1150.0, 360.0
"""Widths in CSS pixels of a distribution plot on a wide page and on a phone."""
NOTE = (
    "Measured elsewhere, in units and on machines of their own and not in the rounds of this run: "
    "a cost here over one of a worker means nothing unless both count the same thing. Without a "
    "unit are the mean over the cost of a signature accepted at once, a percentile over another, "
    "and an attempt's cost over that of the signature; they show what rejections cost where."
)
"""What a reader must know of these tables."""
ENDINGS = (".csv", ".json")
"""What a file of measurements ends in; all others are records."""
_FIRST = "first: a signature accepted at once; z, r0: an attempt rejected there"
_PERCENTILES = (50.0, 95.0, 99.0, 99.9)
_NAMES = ("p50", "p95", "p99", "p999")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Measurements of a selection, and what they say about all signatures."""

    name: str
    found: Estimation

    @property
    def figures(self) -> Estimation:
        """The estimates, of the inputs without outliers where there are some."""
        return self.found.without_outliers or self.found

    def rows(self) -> list[Figure]:
        """Return its figures as rows of a run have them: signing, in its own unit."""
        of = self.figures
        empty = dict.fromkeys(("version", "language", "backend", "key", "clock"), "")
        keys: dict[str, Key] = {
            **empty,
            "implementation": self.name, "mode": "single", "batch_size": 1, "threads": 1,
            "set": of.set, "operation": "sign", "deterministic": True,
            "unit": of.unit or "unit not given", "samples": len(self.found.residuals) * of.rounds,
        }  # fmt: skip
        percentiles = zip(_NAMES, _PERCENTILES, strict=True)
        return [
            Figure.of(keys, "mean", of.mean),
            *(Figure(keys, name, of.percentiles[p].value) for name, p in percentiles),
        ]


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
    chosen: dict[Path, Selection] = {}
    made: list[Elsewhere] = []
    for path, own in files:
        of = own or selection
        if of is None:
            raise LabError(
                f"measurements {path}: which selection they are of must be said, by --selection "
                f"SELECTION.json or as {path}:SELECTION.json"
            )
        if of not in chosen:
            chosen[of] = Selection.read(of)
        found = estimate(
            chosen[of], read_measurements(path, chosen[of]), percentiles=_PERCENTILES,
            confidence=confidence,
        )  # fmt: skip
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
    sets = dict.fromkeys(e.found.set for e in measured)
    sections = [Section(_costs(measured, confidence), chapter=TITLE)]
    sections += [Section(*_shapes(measured, views, name), chapter=TITLE) for name in sets]
    return Report(
        kind="measured elsewhere",
        headline=f"{TITLE}: {', '.join(e.name for e in measured)}",
        figures=[f for e in measured for f in e.rows()],
        sections=sections,
        warnings=[
            NOTE, *(f"{e.name}: {f.code}: {f.text}" for e in measured for f in e.found.findings)
        ],
        names=names,
        name=TITLE,
    )  # fmt: skip


def _costs(measured: Sequence[Elsewhere], confidence: float) -> Grid:
    """Their costs, each in its own unit, with intervals."""
    of = [e.figures for e in measured]
    columns = [
        Column("measured", [e.name for e in measured], head=True),
        Column("set", [e.set for e in of]),
        Column("unit", [e.unit or "not given" for e in of]),
        Column("inputs", [str(len(e.found.residuals)) for e in measured], number=True, spare=1),
        Column("rounds", [str(e.rounds) for e in of], number=True, spare=1),
        Column("mean", [of_interval(e.mean) for e in of], number=True),
    ]
    for percent in _PERCENTILES:
        cells = [of_interval(e.percentiles[percent]) for e in of]
        columns.append(Column(f"p{percent:g}", cells, number=True, spare_interval=2))
    first = [of_interval(e.costs["first"]) for e in of]
    columns.append(Column("first", first, number=True, spare=3, spare_interval=2))
    dots = [Dot(colour) for colour in colours_of(measured)]
    return Grid(TITLE, "signing, each in its own unit", tuple(columns), confidence, dots)


def colours_of(measured: Sequence[Elsewhere]) -> list[int]:
    """Return colour numbers from the end of the palette, away from those of usual
    implementations."""
    return [9 - i % 10 for i in range(len(measured))]


def _shapes(
    measured: Sequence[Elsewhere], views: Sequence[View], set_name: str
) -> tuple[Grid, None, tuple[PlotSpec, ...]]:
    """What has no unit, of these and of each implementation's best variant in the same set."""
    rows: list[tuple[str, Dot, list[float | None]]] = []
    for entry, colour in zip(measured, colours_of(measured), strict=True):
        if entry.found.set == set_name:
            of, c = entry.figures, entry.figures.costs
            costs = [of.mean.value, *(of.percentiles[p].value for p in (50.0, 99.0, 99.9))]
            parts = [c[name].value for name in ("first", "z", "r")]
            rows.append((entry.name, Dot(colour), _unitless(costs, parts)))
    for place, view in enumerate(views):
        signing = view.table(set_name, "sign")
        for row in best_rows(signing) or best_rows(signing, "expanded"):
            fit = view.summary.fits.get((row.variant, set_name))
            if fit is not None:
                run = f", run {chr(65 + place)}" if len(views) > 1 else ""
                dot = Dot(view.colours.get(row.implementation, 0), row.key == "expanded")
                costs_of = [row.mean, row.p50, row.p99, row.p999]
                figures = _unitless(costs_of, fit.attempt_costs[:3])
                rows.append((view.label(row.variant) + run, dot, figures))
    titles = ("mean ÷ first", "p99 ÷ p50", "p99.9 ÷ p50", "z ÷ first", "r0 ÷ first")
    columns = [Column("signing", [name for name, _, _ in rows], head=True)]
    columns += [
        Column(title, [_plain(f[i]) for _, _, f in rows], number=True)
        for i, title in enumerate(titles)
    ]
    grid = Grid(
        f"{set_name}: what has no unit", _FIRST, tuple(columns), dots=[d for _, d, _ in rows]
    )

    def draw(width: float) -> Drawing:
        from mldsa_lab.show.kinds.signing_plots import draw_relative

        return draw_relative(measured, views, set_name, width)

    plot = PlotSpec(
        "How signatures spread, each over its own mean",
        partial(draw, WIDE),
        text="Read upwards from a percentile; workers beside what was measured elsewhere.",
        alt=f"Estimated distributions of the cost of {set_name} sign, over each one's mean",
        narrow=partial(draw, NARROW),
    )
    return grid, None, (plot,)


def _unitless(costs: Sequence[float | None], parts: Sequence[float]) -> list[float | None]:
    mean, p50, p99, p999 = costs
    first, z, r0 = parts
    pairs = ((mean, first), (p99, p50), (p999, p50), (z, first), (r0, first))
    return [a / b if a is not None and b else None for a, b in pairs]


def _plain(value: float | None) -> Shown:
    return UNKNOWN if value is None else Shown(number(value, 2 if value < 10 else 1), number=value)
