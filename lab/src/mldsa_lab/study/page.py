"""A study as one self-contained HTML page, in the style of a run's."""

from __future__ import annotations

from markupsafe import Markup

from mldsa_lab.show import svg
from mldsa_lab.show.grid import Grid, heading
from mldsa_lab.show.page import asset, script_hash, templates
from mldsa_lab.study.figures import draw
from mldsa_lab.study.show import StudyFindings


def render(found: StudyFindings, records: list[str]) -> str:
    """The page as text; ``records``: the files of the runs, as it names them."""
    grids: list[Grid] = found.grids()
    figures = [
        (figure.name, draw(figure, found.measured, number))
        for number, figure in enumerate(found.study.figures)
    ]
    script = asset("page.js")
    return templates("mldsa_lab.study").get_template("page.html.j2").render(
        found=found, grids=grids, figures=figures, records=records, heading=heading,
        css=Markup(asset("page.css")), script=Markup(script), script_hash=script_hash(script),
        total_series=svg.SERIES_COUNT,
    )  # fmt: skip
