"""Random signatures by the exact law of rejections: what a pool of any size holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.inputs.table import ACCEPTED, TraceTable
from mldsa_lab.inputs.trace import PASSED
from mldsa_lab.models.rejection import RejectionModel
from mldsa_lab.stats.simulate import draw_attempts

_NONE = 15
Positions = NDArray[np.int64]


def random_table(model: RejectionModel, count: int, rng: np.random.Generator) -> TraceTable:
    """Traces of ``count`` signatures, drawn from the exact law; ct0 never fails."""
    drawn = draw_attempts(model, count, rng)
    z = np.where(drawn.z == PASSED, _NONE, drawn.z)
    r = np.where(drawn.r == PASSED, _NONE, drawn.r)
    passed = (z == _NONE) & (r == _NONE)
    h = np.where(passed & drawn.h, 0, _NONE)
    codes = z | r << 4 | _NONE << 8 | h << 12
    accepted = codes == ACCEPTED
    return TraceTable(model.name, codes.astype(np.uint16), np.flatnonzero(accepted) + 1)


class Stock:
    """Inputs at hand by their class: which checks failed first, and how often.

    A method that looks at classes alone may take its inputs from a pool of any size: for one that
    was not measured, a measured one of the same class stands, drawn at random.
    """

    def __init__(self, classes: NDArray[np.int64]) -> None:
        """``classes``: (inputs, columns) the class of each input at hand."""
        self.classes, self._of, self._sizes = np.unique(
            classes, axis=0, return_inverse=True, return_counts=True
        )
        """(classes, columns) all classes at hand, in ascending order."""
        self._members = np.argsort(self._of.reshape(-1), kind="stable")
        self._starts = np.cumsum(self._sizes) - self._sizes

    def stand_in(self, classes: NDArray[np.int64], rng: np.random.Generator) -> Positions:
        """Inputs of these classes (numbers in `classes`), each drawn anew; none twice as long as
        the class has others."""
        found = np.empty(len(classes), dtype=np.int64)
        for wanted in np.unique(classes):
            places = np.flatnonzero(classes == wanted)
            start, size = self._starts[wanted], self._sizes[wanted]
            members = self._members[start : start + size]
            turns = -(-len(places) // size)
            order = np.concatenate([rng.permutation(members) for _ in range(turns)])
            found[places] = order[: len(places)]
        return found
