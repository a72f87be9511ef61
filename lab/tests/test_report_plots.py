"""The plots' own arithmetic, and that a figure becomes a small, themed, self-contained SVG."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from mldsa_lab.show import plots, svg

MARKS = [
    plots.Mark("fast & <b>", 0, False, 80.0, 79.0, 81.0, "80.0"),
    plots.Mark("slow exp.", 1, True, 800.0, 700.0, 900.0, "800"),
    plots.Mark("bare", 12, False, 90.0, None, None, "90.0"),
]


def test_quantiles_of_a_curve() -> None:
    curve = plots.Curve("a", 0, False, np.array([1.0, 2, 3]), np.array([0.5, 0.9, 1.0]))
    assert [curve.quantile(p) for p in (1e-9, 0.5, 0.51, 0.95, 1.0)] == [1, 1, 2, 3, 3]


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_the_law_drawn_is_that_of_the_percentiles(noise: float) -> None:
    """With the scatter about the fit that the percentiles include."""
    from mldsa_lab.estimate.fit import fit_costs
    from mldsa_lab.show.operations.signing_plots import curve_of
    from mldsa_lab.theory.rejection import RejectionModel
    from mldsa_studies.signers import Signer, draw_traces

    model, rng = RejectionModel.of("ML-DSA-65"), np.random.default_rng(1)
    traces = draw_traces(model, 20, rng)
    cost = Signer().cost_of(traces) * np.exp(noise * rng.standard_normal(20))
    fit = fit_costs(traces, cost[None, :], model, noise=0.0)
    curve = curve_of("a", 0, False, fit.law(), 1.0)
    shares = (0.5, 0.95, 0.99, 0.999)
    for share, interval in zip(shares, fit.quantiles(shares, 0.95), strict=True):
        assert curve.quantile(share) == pytest.approx(interval.value, rel=2e-3)


def draw(figure_of: str) -> str:
    attempts = np.array([1.0, 3, 6, 9])
    cloud = plots.Cloud(
        attempts, np.array([math.nan, 0.0, 0.5, 1.0]), 40 + 20 * attempts, 60.0, 19.0, 21.0, 2, 2.2
    )
    law = np.arange(1.0, 60), 1 - 0.8 ** np.arange(1.0, 60)
    curve = [plots.Curve(m.label, m.colour, m.hollow, m.value * law[0], law[1]) for m in MARKS]
    parts = tuple((c, svg.ON_DARK, v) for c, v in ((svg.SETUP, 20), (svg.Z, 30), (svg.R, -1e-9)))
    bars = [plots.PartedBar(m.label, m.text, parts) for m in MARKS]
    with svg.drawing():
        figure = {
            "ranking": lambda: plots.ranking(MARKS, "µs", "mean"),
            "ratios": lambda: plots.ratios(MARKS, "fast"),
            "cloud": lambda: plots.cost_against_attempts(cloud, "µs"),
            "law": lambda: plots.distribution(curve, "µs"),
            "narrow law": lambda: plots.distribution(curve, "µs", 360),
            "bars": lambda: plots.shares(bars, "µs", 380),
        }[figure_of]()
        return svg.to_svg(figure, "name", 'a "title" <b>')


@pytest.mark.parametrize("name", ["ranking", "ratios", "cloud", "law", "narrow law", "bars"])
def test_a_figure_is_small_themed_and_self_contained(name: str) -> None:
    text = draw(name)
    assert text.startswith("<svg ") and text.endswith("</svg>")
    assert len(text) < 60_000
    assert "http" not in text and "<style" not in text and "<metadata" not in text
    assert "#fe0" not in text, "a stand-in colour is left over"
    assert re.search(r"#[0-9a-f]{6}", text) is None, "a colour that no theme can change"
    assert 'aria-label="a &quot;title&quot; &lt;b&gt;"' in text
    used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    assert used == set(re.findall(r' id="([^"]+)"', text))
    assert all(i.startswith("name-") for i in used)
    if name not in ("cloud",):
        for mark in MARKS:
            assert (
                mark.label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in text
            )


@pytest.mark.parametrize("lowest", [-30.0, -90.0, 0.0])
def test_a_law_that_reaches_below_0_is_drawn_from_where_it_is_above(lowest: float) -> None:
    """Costs that do not follow the attempts, of a caching signer or a busy machine, may be fitted
    by negative ones, for which a log axis has no room."""
    shares = 1 - 0.8 ** np.arange(1.0, 61)
    below = plots.Curve("below", 0, False, lowest + np.arange(60.0), shares)
    assert math.isnan(below.quantile(0.1)) and below.quantile(0.9999) != 0
    sound = plots.Curve("sound", 1, False, np.arange(1.0, 61), shares)
    for curves in ([below], [below, sound]):
        with svg.drawing():
            text = svg.to_svg(plots.distribution(curves, "µs"), "law", "law")
        assert (">below<" in text) == (lowest > -60) and (">sound<" in text) == (sound in curves)
