"""The picture of an estimation: no text on another, whatever the figures are."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import matplotlib
import measure_cases as cases
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
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
    "exact": (usual(), 10, {"size": 0.0}),
    "one input": (usual(), 1, {}),
    "two inputs": (usual(), 2, {}),
    "large numbers": (usual(), 8, {"unit": 7e11}),
    "small numbers": (usual(), 8, {"unit": 0.0031}),
    "constant": (usual(z=0, r=0, h=0), 8, {}),
    "outliers": (usual(), 12, {"wrong": outliers(12), "size": 0.002}),
    "steps": (usual(group=2), 14, {}),
    "many percentiles": (usual(), 6, {"percentiles": (1, 5, 10, 25, 50, 51, 75, 90, 99.99)}),
    "no percentile": (usual(), 6, {"percentiles": ()}),
}


@pytest.mark.parametrize("case", CASES)
def test_no_text_lies_on_another_or_outside(case: str) -> None:
    target, n, options = CASES[case]
    found = estimation(target, n, **options)
    with matplotlib.rc_context(plot._RC):
        figure = plot.draw(found)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        width, height = figure.bbox.width, figure.bbox.height
        boxes = []
        for text in figure.findobj(Text):
            if text.get_visible() and text.get_text().strip() and text.figure is not None:
                box = text.get_window_extent(renderer)
                # Ticks beyond an axis are never drawn.
                if box.width and -0.5 * width < box.x0 < 1.5 * width:
                    boxes.append((text.get_text(), box))
        drawn = [(t, b) for t, b in boxes if not _beyond(figure, t, b)]
    assert len(drawn) > 10
    for text, box in drawn:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, text
    for (a, one), (b, other) in combinations(drawn, 2):
        # A pixel of a box is air.
        overlap = min(one.x1, other.x1) - max(one.x0, other.x0) > 1 and (
            min(one.y1, other.y1) - max(one.y0, other.y0) > 1
        )
        assert not overlap, (a, b)


def _beyond(figure: matplotlib.figure.Figure, text: str, box: matplotlib.transforms.Bbox) -> bool:
    """Whether it is the label of a tick that the axis' limits leave out."""
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            for tick in axis.get_major_ticks():
                label = tick.label1
                if label.get_text() == text and abs(label.get_window_extent().x0 - box.x0) < 0.5:
                    if abs(label.get_window_extent().y0 - box.y0) > 0.5:
                        continue
                    return not min(limits) <= tick.get_loc() <= max(limits)
    return False


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
    assert any(w.startswith("mean  ") for w in words)
    assert "cost less the fit, %" in words
    with pytest.raises(LabError, match=r"must end in \.svg or \.png"):
        plot.write_plot(found, tmp_path / "a.pdf")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.SVG", "a.png", "b.svg"]


def test_outliers_and_warnings_are_named() -> None:
    found = estimation(usual(), 12, size=0.002, wrong=outliers(12))
    with matplotlib.rc_context(plot._RC):
        texts = [t.get_text() for t in plot.draw(found).findobj(Text)]
    assert texts.count("id 2") == texts.count("id 7") == 2
    assert any(t.startswith("outlier: ") for t in texts)
    assert any("without ids" in t for t in texts)


def test_the_fit_has_a_band_and_every_mark_its_interval() -> None:
    found = estimation(usual(), 10)
    with matplotlib.rc_context(plot._RC):
        figure = plot.draw(found)
    main = figure.axes[0]
    _, band = main.collections
    edges = band.get_paths()[0].vertices
    at_one = edges[np.isclose(edges[:, 0], 1.0)][:, 1]
    first = found.costs["first"]
    assert first.low == pytest.approx(at_one.min()) and first.high == pytest.approx(at_one.max())
    texts = [t.get_text() for t in figure.findobj(Text)]
    for name in ("mean", "p50", "p99.9"):
        assert any(re.match(rf"{name}  \S+ \[\S+, \S+\]$", t) for t in texts)
    assert any("95 % interval" in t for t in texts)


def test_inputs_that_coincide_stand_beside_each_other() -> None:
    traces = [t for t in cases.designed(NAME, 6) for _ in range(4)]
    chosen = cases.selection(NAME, traces)
    costs = usual().cost_of(chosen.traces()) * cases.UNIT
    found = estimate(chosen, cases.measurements(chosen, costs[None, :]))
    with matplotlib.rc_context(plot._RC):
        figure = plot.draw(found)
    for axes in figure.axes:
        dots = [
            line for line in axes.lines if len(line.get_xdata()) == 1 and line.get_zorder() == 3
        ]
        places = [(float(d.get_xdata()[0]), round(float(d.get_ydata()[0]), 6)) for d in dots]
        assert len(places) == 24 and len(set(places)) == 24
        for (x, _), residual in zip(places, found.residuals, strict=True):
            assert abs(x - residual.attempts) < 0.5, "still nearest to its own attempts"
