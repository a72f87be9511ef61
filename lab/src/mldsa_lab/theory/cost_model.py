"""The cost of signing by its trace: cost models as values, in files, and by default.

A model has the cost of a signature accepted at once and of each rejected attempt of class z, r
and h. Percentiles are exact: all classes (n_z, n_r, n_h) have known probabilities, which count
their orderings as multinomial coefficients, so no path is ever enumerated.

The idea to choose inputs at a percentile by the times between a signer's checks is zeroRISC's
(https://www.zerorisc.com/blog/efficiently-measuring-ml-dsa-signing-performance). Any such times
give the same linear model as four fitted costs (docs/selections.md).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.files import decode_format, plain, read_text
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.law import Law
from mldsa_lab.theory.rejection import RejectionModel, check_share
from mldsa_lab.theory.signers import USUAL, USUAL_SOURCE

FORMAT = "mldsa-lab cost model"
VERSION = 2
"""Version of the file format."""

# Classes left out are together less likely than this.
_TAIL = 1e-12


class CostModel(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag=FORMAT
):
    """Cost of a signature accepted at the first attempt (``first``) and of a rejected attempt of
    each class, as a file has it.

    Classes: z (the norm of z fails, whatever else does), r (else r0), h (else ct0 or the hint
    weight). ``unit``: of all four; ``attempts`` where an attempt of class r is 1. ``source``:
    where the costs are from. ``set``: the parameter set, None where the model does not say.
    LabError if a cost is negative, infinite or not a number, or all are 0.
    """

    first: float
    z: float
    r: float
    h: float
    unit: str = "attempts"
    source: str = ""
    set: str | None = None
    version: Literal[2] = 2

    def __post_init__(self) -> None:
        costs = {"first": self.first, "z": self.z, "r": self.r, "h": self.h}
        for name, value in costs.items():
            if not (math.isfinite(value) and value >= 0):
                raise LabError(f"cost model: {name} is {value}, it must be a number, 0 or more")
        if not any(costs.values()):
            raise LabError("cost model: one of first, z, r, h must be above 0")
        if self.set is not None:
            parameter_set(self.set)

    @classmethod
    def default(cls, set_name: str) -> CostModel:
        """The model used if the user names none: a common implementation's, as measured here."""
        parameter_set(set_name)
        return cls(*USUAL[set_name], source=USUAL_SOURCE, set=set_name)

    @classmethod
    def read(cls, path: Path) -> CostModel:
        """The model in a JSON file; LabError that names the file and the broken rule."""
        return decode_format(read_text(path), cls, str(path), FORMAT, VERSION)

    def as_json(self) -> dict[str, Any]:
        """The object that a file holds."""
        return {"format": FORMAT, "version": VERSION, "set": self.set, **plain(self)}

    def to_json(self) -> str:
        """The text of a file."""
        return json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n"

    def costs(self, counts: Array) -> Array:
        """Cost of each row n_z, n_r, n_h of ``counts`` (rows, 3), shape (rows,)."""
        cost: Array = self.first + np.asarray(counts) @ np.array([self.z, self.r, self.h])
        return cost

    def mean(self, model: RejectionModel) -> float:
        """The exact mean over all signatures."""
        self.check_set(model.name)
        return float(self.costs(model.expected_counts))

    def law(self, model: RejectionModel, share: float = 0.999) -> Law:
        """The law of the cost over all signatures, abort indexes left out of account; ``share``:
        the largest whose quantile will be asked for. LabError if it is not in (0, 1), or the
        model is of another parameter set."""
        self.check_set(model.name)
        check_share(share)
        costs = (self.first, self.z, self.r, self.h)
        return Law.from_costs(model, costs, share=share, tail=_TAIL)

    def quantile(self, model: RejectionModel, share: float) -> float:
        """The least cost that at least ``share`` (0 < share < 1) of all signatures do not exceed:
        always that of a class."""
        return self.law(model, share).quantile(share)[0]

    def check_set(self, set_name: str) -> None:
        """LabError if the model is of another parameter set."""
        if self.set not in (None, set_name):
            raise LabError(f"cost model of {self.set}: cannot be used for {set_name}")
