"""A study as one self-contained HTML page, in the style of a run's."""

from __future__ import annotations

from typing import Protocol

from markupsafe import Markup

from mldsa_lab.show import svg
from mldsa_lab.show.grid import Grid, heading
from mldsa_lab.show.page import asset, script_hash, templates
from mldsa_lab.study.figures import FigurePanel, draw
from mldsa_lab.study.file import Effort, StudyFile
from mldsa_lab.study.show import StudyFindings


class Found(Protocol):
    """What a study found, for the page."""

    @property
    def study(self) -> StudyFile: ...
    @property
    def profile(self) -> str: ...
    @property
    def amount(self) -> Effort: ...
    def grids(self) -> list[Grid]: ...


_METHOD = (
    "Rounds within a process are not independent of each other, so each process counts once, by "
    "its mean. Where a figure shows both, large dots are processes and faint ones below them "
    "rounds. Ratios are Hodges and Lehmann's with the interval that inverts the Mann-Whitney "
    "test; delta is Cliff's."
)


def render(found: StudyFindings, records: list[str]) -> str:
    """The page as text; ``records``: the files of the runs, as it names them."""
    figures = [
        (figure.name, draw(figure, found.measured, number))
        for number, figure in enumerate(found.study.figures)
    ]
    return render_page(found, figures, _METHOD, records)


def render_page(
    found: Found, figures: list[tuple[str, list[FigurePanel]]], method: str, records: list[str]
) -> str:
    """The page of any study; ``figures``: the panels of each, by name."""
    grids: list[Grid] = found.grids()
    script = asset("page.js")
    return templates("mldsa_lab.study").get_template("page.html.j2").render(
        found=found, grids=grids, figures=figures, records=records, heading=heading, method=method,
        css=Markup(asset("page.css")), script=Markup(script), script_hash=script_hash(script),
        total_series=svg.SERIES_COUNT,
    )  # fmt: skip
