"""Figures of averages of few inputs, for answers to published pages."""

from __future__ import annotations

import math

import pytest

from mldsa_lab.estimate.figure import Figure
from mldsa_studies.spread import _of_all_sets


def test_sets_together_have_the_root_of_their_mean_square() -> None:
    """Two kinds, one of a single set, which is no pool; three variances have thrice the degrees of
    freedom, and so nearer limits."""
    result = [
        Figure({"set": f"ML-DSA-{name}", "method": "greedy", "n": 10}, "sd", value)
        for name, value in (("44", 0.03), ("65", 0.04), ("87", 0.05))
    ]
    result += [
        Figure({"set": "ML-DSA-44", "method": "random", "n": 10}, "sd", 0.2),
        Figure({"set": "ML-DSA-65", "method": "greedy", "n": 10}, "draws", 20),
    ]
    (together,) = _of_all_sets(result)
    assert together.keys == {"set": "all", "method": "greedy", "n": 10}
    assert together.value == pytest.approx(math.sqrt(50 / 3) / 100)
    assert together.low and together.high
    # The chi-square law of 57 degrees of freedom: 38.03 and 79.75 at 2.5 and 97.5 %.
    assert together.low == pytest.approx(together.value * math.sqrt(57 / 79.75), rel=1e-3)
    assert together.high == pytest.approx(together.value * math.sqrt(57 / 38.03), rel=1e-3)
