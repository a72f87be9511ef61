"""Cost models: exact percentiles, the times between checks, files and their faults."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mldsa_lab import LabError
from mldsa_lab.files import convert
from mldsa_lab.theory.law import CostModel
from mldsa_lab.theory.rejection import RejectionModel

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
MODEL = RejectionModel.for_set("ML-DSA-65")
ODD = CostModel(61.0, 17.3, 21.1, 29.9, unit="us", source="a test")


def ordered_paths(
    model: RejectionModel, cost: CostModel, longest: int
) -> list[tuple[float, float]]:
    """Cost and probability of every ordered sequence of rejections, one by one."""
    p = model.iteration
    each = (cost.z, cost.r, cost.h)
    return sorted(
        (cost.first + sum(each[c] for c in path), math.prod(p[c] for c in path) * p[3])
        for length in range(longest + 1)
        for path in product(range(3), repeat=length)
    )


@pytest.mark.parametrize("share", [0.05, 0.5, 0.7])
@pytest.mark.parametrize("name", SETS)
def test_quantiles_are_those_of_enumerated_paths(name: str, share: float) -> None:
    model = RejectionModel.for_set(name)
    paths = ordered_paths(model, ODD, 9)
    # Paths of more than nine rejections cost more than any quantile asked for here.
    cumulated = np.cumsum([p for _, p in paths])
    value = paths[int(np.searchsorted(cumulated, share))][0]
    assert value < ODD.first + 10 * ODD.z
    assert ODD.quantile(model, share) == pytest.approx(value, rel=1e-12)
    law = ODD.law(model, share)
    level = law.level(share)
    below = sum(p for c, p in paths if c < value - 1e-9)
    upto = sum(p for c, p in paths if c < value + 1e-9)
    assert level == pytest.approx((value, below, upto), abs=1e-9)
    assert level.below < share <= level.upto
    assert law.share_up_to(value) == pytest.approx(upto, abs=1e-9)


def test_files(tmp_path: Path) -> None:
    for model in (ODD, CostModel.default("ML-DSA-87")):
        path = tmp_path / "model.json"
        path.write_text(model.to_json())
        assert CostModel.read(path) == model
    short = {k: v for k, v in ODD.as_json().items() if k not in ("unit", "source")}
    assert convert(short, CostModel, "x") == CostModel(61.0, 17.3, 21.1, 29.9)


def test_arguments_out_of_range() -> None:
    for share in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(LabError, match="strictly between 0 and 1"):
            ODD.quantile(MODEL, share)
    with pytest.raises(LabError, match="of ML-DSA-44: cannot be used for ML-DSA-65"):
        CostModel.default("ML-DSA-44").mean(MODEL)
    with pytest.raises(LabError, match="r is inf"):
        CostModel(1, 1, math.inf, 1)
    with pytest.raises(LabError, match="known are"):
        CostModel.default("ML-DSA-43")
