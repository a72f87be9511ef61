"""A study as one self-contained HTML page, in the style of a run's."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.show import plots, svg
from mldsa_lab.show.format import choose_unit, clean, estimate
from mldsa_lab.show.grid import Grid, heading
from mldsa_lab.show.page import asset, script_hash, templates
from mldsa_lab.show.plots import Mark
from mldsa_lab.study.file import Bars
from mldsa_lab.study.show import StudyFindings, panels

_WIDTH = 380.0
_OF = "median of processes, least to largest"


@dataclass(frozen=True)
class FigurePanel:
    """One plot of a figure."""

    title: str
    picture: Markup


def render(found: StudyFindings, records: list[str]) -> str:
    """The page as text; ``records``: the files of the runs, as it names them."""
    grids: list[Grid] = found.grids()
    figures = [
        (figure.name, _panels(figure, found, number))
        for number, figure in enumerate(found.study.figures)
    ]
    script = asset("page.js")
    return templates("mldsa_lab.study").get_template("page.html.j2").render(
        found=found, grids=grids, figures=figures, records=records, heading=heading,
        css=Markup(asset("page.css")), script=Markup(script), script_hash=script_hash(script),
        total_series=svg.SERIES_COUNT,
    )  # fmt: skip


def _panels(figure: Bars, found: StudyFindings, number: int) -> list[FigurePanel]:
    colours: dict[str, int] = {}
    made = []
    for place, (title, bars) in enumerate(panels(figure, found.measured)):
        unit = choose_unit([cell.middle for _, cell in bars], bars[0][1].unit)
        marks = []
        for label, cell in bars:
            low, high = float(cell.means.min()), float(cell.means.max())
            of = cell.fields[figure.by[0]]
            colour = colours.setdefault(of, len(colours))
            whole = Interval(cell.middle, low, high).times(1 / unit.divisor)
            marks.append(
                Mark(
                    label, colour, cell.fields["key"] == "expanded", whole.value,
                    whole.low, whole.high, estimate(whole).value,
                )
            )  # fmt: skip
        with svg.drawing():
            drawn = plots.ranking(marks, unit.name, _OF, _WIDTH)
        text = svg.to_svg(drawn, f"f{number}-{place}", clean(f"{figure.name}, {title}"))
        made.append(FigurePanel(title, Markup(text)))
    return made
