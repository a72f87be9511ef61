"""The figures that a study asks for, from its cells to pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup
from matplotlib.figure import Figure

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.sets import OPERATIONS
from mldsa_lab.show import plots, svg
from mldsa_lab.show.format import Unit, choose_unit, clean, estimate
from mldsa_lab.show.grid import Dot
from mldsa_lab.show.plots import Mark
from mldsa_lab.sizes import raw_bytes
from mldsa_lab.study.cells import Gathered, StudyCell
from mldsa_lab.study.file import FigureAsked
from mldsa_lab.study.plots import Dots, Point, dots, scatter

_WIDTH = 380.0
_OF = "median, least to largest"
_BYTES = Unit(1.0, "bytes")

Labelled = tuple[str, StudyCell]


@dataclass(frozen=True)
class FigurePanel:
    """One plot of a figure."""

    title: str
    picture: Markup
    legend: tuple[tuple[str, Dot], ...] = ()


def picture(draw: Callable[[], Figure], name: str, title: str) -> Markup:
    """A plot for the page, with a ``name`` of its own there; ``title``: what it shows in words."""
    with svg.drawing():
        return Markup(svg.to_svg(draw(), name, clean(title)))


class _Colours:
    """A colour for each text of the first field that cells are told by."""

    def __init__(self, asked: FigureAsked) -> None:
        self._by = asked.by[0]
        self._known: dict[str, int] = {}

    def of(self, cell: StudyCell) -> int:
        return self._known.setdefault(cell.fields[self._by], len(self._known))


def draw(asked: FigureAsked, measured: Gathered, number: int) -> list[FigurePanel]:
    """The panels of a figure, the ``number``th of its page. LabError if nothing is to be drawn."""
    colours, made = _Colours(asked), []
    try:
        for place, (title, cells) in enumerate(panels(asked, measured)):
            plot = partial(_DRAWN[asked.kind], asked, cells, colours)
            drawn = picture(plot, f"f{number}-{place}", f"{asked.name}, {title}")
            made.append(FigurePanel(title, drawn))
    except LabError as error:
        raise LabError(f"figure {asked.name!r}: {error}") from None
    return made


def panels(asked: FigureAsked, measured: Gathered) -> Iterator[tuple[str, list[Labelled]]]:
    """Each panel of a figure: its title, and its cells with their labels, the least first."""
    found: dict[tuple[str, ...], list[StudyCell]] = {}
    for cell in measured.those(asked.where):
        found.setdefault(cell.told(asked.panels), []).append(cell)
    for panel, cells in found.items():
        cells.sort(key=lambda c: c.middle)
        yield " ".join(panel), [(" ".join(c.told(asked.by)), c) for c in cells]


def _unit(cells: Sequence[StudyCell]) -> Unit:
    return choose_unit([cell.middle for cell in cells], cells[0].unit)


def _bars(asked: FigureAsked, cells: Sequence[Labelled], colours: _Colours) -> Figure:
    unit, marks = _unit([cell for _, cell in cells]), []
    for label, cell in cells:
        low, high = float(cell.means.min()), float(cell.means.max())
        whole = Interval(cell.middle, low, high).times(1 / unit.divisor)
        marks.append(
            Mark(
                label, colours.of(cell), cell.fields["key"] == "expanded", whole.value,
                whole.low, whole.high, estimate(whole).value,
            )
        )  # fmt: skip
    return plots.ranking(marks, unit.name, _OF, _WIDTH)


def _distribution(asked: FigureAsked, cells: Sequence[Labelled], colours: _Colours) -> Figure:
    unit, rows = _unit([cell for _, cell in cells]), []
    for label, cell in cells:
        processes, rounds = cell.means / unit.divisor, cell.rounds / unit.divisor
        text = estimate(Interval(cell.middle / unit.divisor)).value
        rows.append(Dots(label, colours.of(cell), processes, rounds, text))
    return dots(rows, unit.name, _WIDTH)


def _scatter(asked: FigureAsked, cells: Sequence[Labelled], colours: _Colours) -> Figure:
    """A point for each label and set: of the cells that differ in their operation alone."""
    x, y = str(asked.x), str(asked.y)
    points: dict[tuple[str, str], dict[str, StudyCell]] = {}
    for label, cell in cells:
        of = points.setdefault((label, cell.fields["set"]), {})
        operation = cell.fields["operation"]
        if operation in (x, y) and operation in of:
            raise LabError(f"{label}: {operation} is several cells: name what to take in where")
        of[operation] = cell
    values: dict[tuple[str, str], list[tuple[float, Unit]]] = {}
    for point, of in points.items():
        found = [_coordinate(axis, point[1], of) for axis in (x, y)]
        if None not in found:
            values[point] = [pair for pair in found if pair is not None]
    if not values:
        raise LabError(f"no set has both {x} and {y}")
    units = [
        choose_unit([pair[axis][0] for pair in values.values()], stored)
        if (stored := next(iter(values.values()))[axis][1].name) != _BYTES.name
        else _BYTES
        for axis in (0, 1)
    ]
    drawn = [
        Point(
            label,
            colours.of(next(iter(points[label, name].values()))),
            *(value / unit.divisor for (value, _), unit in zip(pair, units, strict=True)),
        )
        for (label, name), pair in values.items()
    ]
    return scatter(drawn, f"{x}, {units[0].name}", f"{y}, {units[1].name}")


def _coordinate(axis: str, set_name: str, of: dict[str, StudyCell]) -> tuple[float, Unit] | None:
    """What a point has on an axis: its cost, or what an object of its set weighs; None if none."""
    if axis not in OPERATIONS:
        weight = raw_bytes(set_name, axis)
        return None if weight is None else (float(weight), _BYTES)
    cell = of.get(axis)
    return None if cell is None else (cell.middle, Unit(1.0, cell.unit))


_DRAWN = {"bars": _bars, "distribution": _distribution, "scatter": _scatter}
