"""What the costs of one key have in common beyond what the traces explain."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from mldsa_lab.theory.arrays import Array

# Relative standard deviation between keys where the costs do not show it: a board's was of this
# size, and verifications under 24 keys each differ by 0.26 % beyond their noise in the median of
# the 45 cells of records/2026-11-21-epyc-zen3/first.jsonl.xz. As if so many degrees of freedom had
# shown it.
_USUAL = 0.003
_WORTH = 4
_SURE = 0.05


@dataclass(frozen=True)
class KeyOffsets:
    """``keys``: how many the inputs have; ``size``: relative standard deviation of the costs of
    one key about those of others; ``seen``: whether the costs show it, else it is the usual one;
    ``error``: relative standard error that it leaves in every estimate beyond what the inputs'
    own deviations show, 0 where each input has a key of its own."""

    keys: int
    size: float
    seen: bool
    error: float


def key_offsets(keys: Sequence[Hashable], relative: Array) -> KeyOffsets:
    """For inputs of these ``keys``, ``relative`` (inputs,) being what a fit leaves of each cost."""
    total = len(keys)
    _, place, times = np.unique([hash(k) for k in keys], return_inverse=True, return_counts=True)
    groups, size, seen = len(times), _USUAL, False
    if 1 < groups < total:
        means = np.bincount(place, weights=relative) / times
        within = float(((relative - means[place]) ** 2).sum()) / (total - groups)
        between = float(times @ (means - relative.mean()) ** 2) / (groups - 1)
        seen = float(fdtrc(groups - 1, total - groups, between / max(within, 1e-300))) < _SURE
        if seen:
            usual = (total - float((times**2).sum()) / total) / (groups - 1)  # inputs a key
            found = (groups - 1) * (between - within) / usual
            size = float(np.sqrt((_WORTH * _USUAL**2 + found) / (_WORTH + groups - 1)))
    # The mean square of the keys' shares, less that of inputs with a key each.
    excess = float(((times / total) ** 2).sum()) - 1 / total
    return KeyOffsets(groups, size, seen, size * max(excess, 0.0) ** 0.5)
