"""Selections of drawn traces, and synthetic measurements of them, for the tests of `measure`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.choice.design import design
from mldsa_lab.estimate.reader import Measurements
from mldsa_lab.inputs.input import Digests, Input
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Trace
from mldsa_studies.signers import draw_traces

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
UNIT = 41_234.0
"""Cost of a usual attempt in the synthetic measurements."""


@cache
def pool(set_name: str, seed: int = 0, size: int = 600) -> tuple[Trace, ...]:
    """Drawn traces."""
    rng = np.random.default_rng([seed, size])
    return tuple(draw_traces(RejectionModel.for_set(set_name), size, rng))


@cache
def designed(set_name: str, n: int, seed: int = 0) -> tuple[Trace, ...]:
    """Traces chosen for the regression."""
    drawn = pool(set_name, seed)
    chosen = design(drawn, RejectionModel.for_set(set_name), n, seed=seed, restarts=1)
    return tuple(drawn[i] for i in chosen)


def selection(
    set_name: str,
    traces: Sequence[Trace],
    goal: str = "regression",
    percentile: float | None = None,
    seeds: Sequence[bytes] = (),
) -> Selection:
    """A selection of these traces, with ids from 1; ``seeds`` of their keys, else made up."""
    made = Digests(*("00" * 32,) * 3)
    keys = seeds or [number.to_bytes(32, "big") for number in range(1, len(traces) + 1)]
    inputs = tuple(
        Input(set_name, number, key, b"message", trace=trace, known_digests=made)
        for number, (key, trace) in enumerate(zip(keys, traces, strict=True), 1)
    )
    return Selection(set_name, goal, inputs, percentile)


def measurements(
    chosen: Selection, costs: NDArray[np.float64], unit: str = "cycles"
) -> Measurements:
    """Of ``costs`` (rounds, inputs)."""
    return Measurements.from_costs(
        chosen, {number: costs[:, at].tolist() for at, number in enumerate(chosen.ids)}, unit
    )


def write(
    folder: Path, chosen: Selection, costs: NDArray[np.float64], unit: str = "cycles"
) -> tuple[Path, Path]:
    """Files of a selection and of ``costs`` (inputs), each measured once."""
    selection, measured = folder / "selection.json", folder / "costs.csv"
    selection.write_text(chosen.to_json(is_compact=True))
    rows = [f"{i},{cost:.2f},{unit},0" for i, cost in zip(chosen.ids, costs, strict=True)]
    measured.write_text("\n".join(["id,cost,unit,round", *rows]) + "\n")
    return selection, measured
