"""The picture of an estimation."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import measure_cases as cases
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.measured import Estimation, estimate
from mldsa_lab.show import estimate_plot as plot
from mldsa_studies.signers import Signer, usual

NAME = "ML-DSA-65"


def estimation(
    target: Signer,
    n: int,
    *,
    unit: float = cases.UNIT,
    size: float = 0.01,
    wrong: NDArray[np.float64] | float = 1.0,
    percentiles: tuple[float, ...] = (50, 95, 99, 99.9),
) -> Estimation:
    chosen = cases.selection(NAME, cases.designed(NAME, n))
    noise = np.exp(size * np.random.default_rng(n).standard_normal((1, n)))
    costs = target.cost_of(chosen.traces()) * unit * noise * wrong
    return estimate(chosen, cases.measurements(chosen, costs), percentiles=percentiles)


def outliers(n: int) -> NDArray[np.float64]:
    wrong = np.ones(n)
    wrong[[1, 6]] = 1.3, 0.7
    return wrong


CASES = {
    "good": (usual(), 10, {}),
    "one input": (usual(), 1, {}),
    "large numbers": (usual(), 8, {"unit": 7e11}),
    "outliers": (usual(), 12, {"wrong": outliers(12), "size": 0.002}),
    "many percentiles": (usual(), 6, {"percentiles": (1, 5, 10, 25, 50, 51, 75, 90, 99.99)}),
    "no percentile": (usual(), 6, {"percentiles": ()}),
}


@pytest.mark.parametrize("case", CASES)
def test_no_text_lies_outside_or_on_the_warnings(case: str) -> None:
    target, n, options = CASES[case]
    figure = plot.draw(estimation(target, n, **options))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    main, below, _ = figure.axes
    boxes = [axes.get_tightbbox(canvas.get_renderer()) for axes in (main, below)]
    if figure.get_suptitle():
        title = figure.findobj(lambda part: getattr(part, "_text", "") == figure.get_suptitle())
        boxes.insert(0, title[0].get_window_extent())
    for box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0
        assert box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height
    for upper, lower in pairwise(boxes):
        assert upper.y0 >= lower.y1


def test_files_by_their_ending(tmp_path: Path) -> None:
    found = estimation(usual(), 10)
    plot.write_plot(found, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    plot.write_plot(found, tmp_path / "a.SVG")
    plot.write_plot(found, tmp_path / "b.svg")
    text = (tmp_path / "b.svg").read_text()
    assert text == (tmp_path / "a.SVG").read_text()
    words = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert "ML-DSA-65 signing, 10 inputs" in words
    assert any(re.match(r"mean  \S+ \[\S+, \S+\]$", w) for w in words)
    with pytest.raises(LabError, match=r"must end in \.svg or \.png"):
        plot.write_plot(found, tmp_path / "a.pdf")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.SVG", "a.png", "b.svg"]
