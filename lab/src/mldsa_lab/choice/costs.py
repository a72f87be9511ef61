"""The cost models that a choice has to be good for: the one taken, and others around it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.cost_model import CostModel
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.signers import CLASS_H, CLASS_Z, FIRST

# Where one is given, its costs are trusted to this fraction.
_TRUST = 0.1


@dataclass(frozen=True)
class CostRange:
    """The cost model taken, and the corners of the range about it that is guarded against."""

    nominal: CostModel
    corners: tuple[CostModel, ...]

    @staticmethod
    def around(set_name: str, given: CostModel | None) -> CostRange:
        """The range about ``given``, or about the set's default where that is None. LabError if
        the model is of another set, or has attempts that cost nothing."""
        nominal = given if given is not None else CostModel.default(set_name)
        nominal.check_set(set_name)
        if not (nominal.z or nominal.r):
            raise LabError(
                "cost model: attempts of class z and r cost nothing, "
                "so that it cannot tell inputs apart"
            )
        if given is None:
            unit = nominal.r
            first, z, h = ((unit * low, unit * high) for low, high in (FIRST, CLASS_Z, CLASS_H))
        else:
            first, z, h = (
                (cost * (1 - _TRUST), cost * (1 + _TRUST))
                for cost in (nominal.first, nominal.z, nominal.h)
            )
        return CostRange(
            nominal,
            tuple(
                replace(nominal, first=f, z=z, h=h, source="") for f, z, h in product(first, z, h)
            ),
        )

    def weights(self, goal: Array) -> Array:
        """(models, 3) relative error, per unit of error in the means of n_z, n_r, n_h, of a mean
        cost that is to be that of the counts ``goal`` (3,): of the model taken, then of the
        corners."""
        models = (self.nominal, *self.corners)
        return np.array([np.array([m.z, m.r, m.h]) / m.of(goal) for m in models])

    def biases(self, counts: Array, model: RejectionModel) -> Array:
        """(models,) relative bias of the plain average over inputs of these ``counts`` (n, 3),
        likewise."""
        biases: Array = self.weights(model.expected_counts) @ (
            counts.mean(axis=0) - model.expected_counts
        )
        return biases
