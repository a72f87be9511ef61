"""From chosen traces to a signed selection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mldsa_lab.choice.build import build
from mldsa_lab.choice.choice import Wish, choose
from mldsa_lab.errors import LabError
from mldsa_lab.files import plain
from mldsa_lab.inputs.library import load
from mldsa_lab.inputs.pool import Pool
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.inputs.shipped import shipped_pool
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.theory.cost_model import CostModel
from mldsa_lab.theory.table import TraceTable


def test_a_selection_holds_what_was_signed() -> None:
    pool, wish = shipped_pool("ML-DSA-65"), Wish("percentile", 4, 90, max_attempts=20, budget=60)
    choice = choose(pool.table, pool.checks, wish)
    selection = build(pool, wish, choice, load())
    assert (selection.goal, selection.percentile, selection.ids) == ("percentile", 90, (1, 2, 3, 4))
    assert selection.cost_model == CostModel.default("ML-DSA-65").as_json()
    for item, at in zip(selection.inputs, choice.positions, strict=True):
        assert item.what == pool.input(at) and item.trace == pool.table.trace(at)
        assert item.digests == item.made.digests
    assert [item.made for item in selection.inputs] == load().sign(
        "ML-DSA-65", [item.what for item in selection.inputs]
    )
    made = selection.made
    assert made is not None and pool.spec is not None
    assert made["pool"] == plain(pool.spec) | {
        "size": 10_000,
        "checks": "all",
        "index": [int(pool.index[at]) for at in choice.positions],
    }
    assert made["options"] == {"count": 4, "max_attempts": 20, "budget": 60}
    assert made["expected"] == choice.expected
    assert Selection.parse(selection.to_json(), "here") == selection


def test_given_inputs_and_pools_of_the_reached_checks() -> None:
    inputs = Spec("ML-DSA-87", bytes(32)).inputs(0, 60)
    given = tuple((f"case {i}", item) for i, item in enumerate(inputs))
    table = load().trace("ML-DSA-87", inputs, "reached")
    pool = Pool(table, np.arange(60, dtype=np.uint64), "reached", None, given)
    wish = Wish("coverage", 8)
    choice = choose(pool.table, pool.checks, wish)
    selection = build(pool, wish, choice, load())
    assert selection.made is not None
    assert selection.made["pool"]["ids"] == [f"case {i}" for i in choice.positions]
    full = load().trace("ML-DSA-87", [inputs[i] for i in choice.positions], "all")
    assert selection.traces() == full.traces()


@pytest.mark.parametrize("checks", ["all", "reached"])
def test_a_pool_of_other_inputs_is_noticed(checks: str) -> None:
    spec = Spec("ML-DSA-44", bytes(32))
    table = load().trace("ML-DSA-44", spec.inputs(0, 40), checks)  # type: ignore[arg-type]
    index = np.arange(40, dtype=np.uint64)
    pool = Pool(table, index, checks, spec)  # type: ignore[arg-type]
    wish = Wish("mean", 5)
    choice = choose(table, pool.checks, wish)
    assert len(build(pool, wish, choice, load()).inputs) == 5
    shifted = replace(pool, index=index + 1)
    with pytest.raises(LabError, match=r"pool: trace \d+ is not that of signing its input"):
        build(shifted, wish, choice, load())


def test_checks_that_the_pool_has_seen_are_compared() -> None:
    """A wrong hint check in an attempt that fails z is seen where all checks were traced."""
    spec = Spec("ML-DSA-44", bytes(32))
    table = load().trace("ML-DSA-44", spec.inputs(0, 40), "all")
    codes = table.codes.copy()
    failing_z = np.flatnonzero(((codes & 0xF) != 0xF) & ((codes >> 12) == 0xF))
    codes[failing_z] = (codes[failing_z] & 0x0FFF) | (3 << 12)
    wrong = TraceTable("ML-DSA-44", codes, table.ends)
    wish = Wish("mean", 5)
    choice = choose(wrong, "all", wish)
    index = np.arange(40, dtype=np.uint64)
    with pytest.raises(LabError, match="is not that of signing its input"):
        build(Pool(wrong, index, "all", spec), wish, choice, load())
    assert build(Pool(wrong, index, "reached", spec), wish, choice, load()).set == "ML-DSA-44"
