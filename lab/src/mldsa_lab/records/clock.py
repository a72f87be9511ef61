"""The tick of a clock, as the readings of a record show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from mldsa_lab.theory.arrays import Array, Ints

# A smaller tick cannot be told from chance among fine readings. Of a sample of 150 µs it is 0.01 %.
_LEAST = 16
# Readings are rounded to whole units; a tick may be no whole number of them.
_ROUNDING, _RELATIVE = 1.0, 1e-4
# The share of the readings that must repeat, and of those that must be whole ticks.
_REPEATED, _WHOLE = 0.5, 0.9
_TRIES = 8


def find_tick(readings: Ints | Sequence[int]) -> float:
    """Return the tick of the clock that gave these ``readings``, lengths of time in whole units.

    It is 0 where the readings show none: a clock that is finer than their noise repeats few of
    them. It is infinite where all readings are 0. Readings that are all the same are one tick.
    """
    read = np.asarray(readings)
    values, counts = np.unique(read, return_counts=True)
    if not values.any():
        return math.inf
    often = counts > 1
    if counts[often].sum() <= _REPEATED * len(read):
        return 0.0
    # An empty interval reads 0.
    repeated = np.union1d(values[often], [0]).astype(np.float64)
    gaps = np.unique(np.diff(repeated))
    gaps = gaps[gaps >= _LEAST][:_TRIES]
    # Of few values no two may be neighbours.
    tries = (gap / parts for parts, gap in product(range(1, _TRIES), gaps))
    for step in (step for step in tries if step >= _LEAST):
        steps = np.round(repeated / step)
        tick = float(repeated @ steps / (steps @ steps))
        if _are_whole(values, counts, tick) >= _WHOLE:
            return tick
    return 0.0


def _are_whole(values: Ints, counts: Ints, tick: float) -> float:
    """Return the share of the readings that are whole ticks."""
    off: Array = np.abs(values - tick * np.round(values / tick))
    return float(counts[off <= _ROUNDING + _RELATIVE * tick].sum() / counts.sum())
