"""What random messages would have done to a comparison of signers."""

from __future__ import annotations

import numpy as np
import pytest
from report_records import SIGNERS, Shape, build

from mldsa_lab.study.cells import Gathered, gather_cells
from mldsa_lab.study.contrast import compare_groups
from mldsa_lab.study.file import Contrast, Measure
from mldsa_lab.study.luck import LuckOfPair, luck_grid, luck_of
from mldsa_lab.study.run import Step
from mldsa_lab.theory.rejection import RejectionModel

NAMES = ("mldsa-native", "aws-lc", "libcrux")
ASKED = Contrast(
    "c", ("implementation",), where={"implementation": NAMES, "operation": ("sign",)},
    random_messages=(1, 100, 10_000),
)  # fmt: skip


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Gathered:
    """Three signers in six processes: 87, 119 and 111 µs."""
    folder = tmp_path_factory.mktemp("luck")
    signers = tuple(s for s in SIGNERS if s.implementation in NAMES and s.key == "compact")
    steps = []
    for process in range(6):
        path = folder / f"{process}.jsonl"
        build(path, Shape(sets=("ML-DSA-44",), signers=signers, rounds=4, seed=process + 1))
        steps.append((Step(folder, Measure(), 32, process, b""), path))
    return gather_cells(steps, "cpu", 0.95)


def lucks(measured: Gathered, contrast: Contrast = ASKED) -> dict[tuple[str, int], LuckOfPair]:
    (one,) = compare_groups(contrast, measured)
    return {(" ".join(k.pair.groups), k.messages): k for k in luck_of(contrast, one)}


@pytest.mark.simulation
def test_few_random_messages_hide_what_designed_inputs_show(measured: Gathered) -> None:
    found = lucks(measured)
    native = [found["aws-lc mldsa-native", n] for n in ASKED.random_messages]
    for luck in native:
        assert luck.pair.p is not None and luck.pair.p < 0.05  # on designed inputs
        assert luck.width is not None and luck.designed is not None
        assert luck.width > luck.designed
    assert native[0].slower < 0.2 < 0.9 < native[2].slower
    widths = [luck.width or 0.0 for luck in native]
    # Ten times narrower with a hundred times as many, as far as luck is all there is.
    assert 6 < np.log1p(widths[0]) / np.log1p(widths[1]) < 14 and widths[1] > widths[2]
    grid = luck_grid(ASKED, [(compare_groups(ASKED, measured)[0], luck) for luck in native])
    assert grid.rows == 3 and grid.columns[2].cells == ["1", "100", "10,000"]


@pytest.mark.simulation
def test_equal_signers_are_rarely_told_apart(measured: Gathered) -> None:
    same = [c for c in measured.cells if c.fields["implementation"] == "libcrux"]
    twin = [
        type(c)(c.fields | {"implementation": "twin"}, c.unit, c.means, fitted=c.fitted)
        for c in same
    ]
    contrast = Contrast("c", ("implementation",), random_messages=(1, 30))
    both = Gathered(
        [c for c in (*same, *twin) if c.fields["operation"] == "sign"], measured.summaries
    )
    for luck in lucks(both, contrast).values():
        # The exact level of six against six is 4.1 %; a thousand studies have an error of 0.6 %.
        assert 0.015 < luck.slower + luck.faster < 0.065


def test_the_luck_is_that_of_the_law(measured: Gathered) -> None:
    cell = next(c for c in measured.cells if c.fitted)
    fit = cell.fitted[0]
    from mldsa_lab.study.luck import _costs

    model = RejectionModel.of("ML-DSA-44")
    counts, probability = model.class_table()[:2]
    first, z, r, h = fit.attempt_costs
    costs = first + counts @ np.array([z, r, h])
    mean = probability @ costs
    spread = np.sqrt(probability @ (costs / mean - 1) ** 2)
    assert _costs(fit).mean() == pytest.approx(1)
    assert _costs(fit).std() == pytest.approx(spread, rel=0.02)


def test_signers_on_random_inputs_are_left_out(measured: Gathered) -> None:
    cells = [
        type(c)(c.fields, c.unit, c.means) if c.fields["implementation"] == "libcrux" else c
        for c in measured.cells
    ]
    found = lucks(Gathered(cells, []))
    assert {groups for groups, _ in found} == {"aws-lc mldsa-native"}
