"""What signing costs by its trace: cost models as values, in files, and by default.

A model has the cost of a signature accepted at once and of each rejected attempt of class z, r
and h. Percentiles are exact: all classes (n_z, n_r, n_h) have known probabilities, which count
their orderings as multinomial coefficients, so no path is ever enumerated.

The idea to choose inputs at a percentile by the times between a signer's checks is zeroRISC's
(https://www.zerorisc.com/blog/efficiently-measuring-ml-dsa-signing-performance); there the time
before the check of z is taken to exceed the rest of an attempt. `CostModel.from_checks` takes any
times and gives the same linear model as four fitted costs.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.files import convert, parse_json, read_text
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.law import Law, check_share
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.signers import USUAL, USUAL_SOURCE

FORMAT = "mldsa-lab cost model"
VERSION = 2
"""Version of the file format. Version 1, which is read too, calls ``first`` ``setup``."""

# Classes left out are together less likely than this.
_TAIL = 1e-12


class CostModelFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A cost model as its file has it."""

    format: Literal["mldsa-lab cost model"]
    version: Literal[2]
    set: Literal["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"] | None
    first: float
    z: float
    r: float
    h: float
    unit: str = "attempts"
    source: str = ""


@dataclass(frozen=True)
class CostModel:
    """Cost of a signature accepted at the first attempt (``first``) and of a rejected attempt of
    each class.

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

    def __post_init__(self) -> None:
        costs = {name: getattr(self, name) for name in ("first", "z", "r", "h")}
        _check_costs(costs)
        if not any(costs.values()):
            raise LabError("cost model: one of first, z, r, h must be above 0")
        if self.set is not None:
            parameter_set(self.set)

    # Making models ------------------------------------------------------------------------------

    @classmethod
    def default(cls, set_name: str) -> CostModel:
        """The model taken where none is given: a common implementation's, as measured here."""
        parameter_set(set_name)
        return cls(*USUAL[set_name], source=USUAL_SOURCE, set=set_name)

    @classmethod
    def from_checks(
        cls,
        *,
        outside: float,
        to_z: float,
        z_to_r: float,
        r_to_end: float,
        unit: str = "attempts",
        source: str = "times between the checks",
        set: str | None = None,
    ) -> CostModel:
        """The model of a signer by the times between its checks.

        ``outside``: all that is done once for each signature; of one attempt ``to_z``: from its
        start to the decision on z; ``z_to_r``: from there to that on r0; ``r_to_end``: from there
        to its end, where it is accepted or the hint fails. A signer that decides on both norms at
        once has ``z_to_r`` 0. LabError for a time that is negative or not finite.
        """
        _check_costs({"outside": outside, "to_z": to_z, "z_to_r": z_to_r, "r_to_end": r_to_end})
        whole = to_z + z_to_r + r_to_end
        return cls(outside + whole, to_z, to_z + z_to_r, whole, unit, source, set)

    @classmethod
    def read(cls, path: Path) -> CostModel:
        """The model in a JSON file; LabError that names the file and the broken rule."""
        return cls.from_json(parse_json(read_text(path), str(path)), str(path))

    @classmethod
    def from_json(cls, value: object, where: str) -> CostModel:
        """The inverse of `as_json`; LabError, beginning with ``where``, if it is not one."""
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise LabError(
                f"{where}: is not a cost model: it must be an object with format {FORMAT!r}"
            )
        version = value.get("version")
        if version not in (1, VERSION):
            raise LabError(
                f"{where}: has format version {version!r}, this reader knows 1 and {VERSION}"
            )
        if version == 1:
            renamed = {"first" if name == "setup" else name: cost for name, cost in value.items()}
            value = renamed | {"version": VERSION}
        found = msgspec.structs.asdict(convert(value, CostModelFile, where))
        del found["format"], found["version"]
        try:
            return cls(**found)
        except LabError as error:
            raise LabError(f"{where}: {error}") from None

    def as_json(self) -> dict[str, Any]:
        """The object that a file holds."""
        return {"format": FORMAT, "version": VERSION, "set": self.set} | asdict(self)

    def to_json(self) -> str:
        """The text of a file."""
        return json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n"

    # What follows from a model ------------------------------------------------------------------

    def of(self, counts: Array) -> Array:
        """Cost of each row n_z, n_r, n_h of ``counts`` (rows, 3), shape (rows,)."""
        cost: Array = self.first + np.asarray(counts) @ np.array([self.z, self.r, self.h])
        return cost

    def mean(self, model: RejectionModel) -> float:
        """The exact mean over all signatures."""
        self.check_set(model.name)
        return float(self.of(model.expected_counts))

    def law(self, model: RejectionModel, share: float = 0.999) -> Law:
        """The law of the cost over all signatures, abort indexes left out of account; ``share``:
        the largest whose quantile will be asked for. LabError if it is not in (0, 1), or the
        model is of another parameter set."""
        self.check_set(model.name)
        check_share(share)
        costs = (self.first, self.z, self.r, self.h)
        return Law.of_costs(model, costs, share=share, tail=_TAIL)

    def quantile(self, model: RejectionModel, share: float) -> float:
        """The least cost that at least ``share`` (0 < share < 1) of all signatures do not exceed:
        always that of a class."""
        return self.law(model, share).quantile(share)[0]

    def check_set(self, set_name: str) -> None:
        """LabError if the model is of another parameter set."""
        if self.set not in (None, set_name):
            raise LabError(f"cost model of {self.set}: cannot be used for {set_name}")


def _check_costs(costs: dict[str, float]) -> None:
    for name, value in costs.items():
        if not (math.isfinite(value) and value >= 0):
            raise LabError(f"cost model: {name} is {value}, it must be a number, 0 or more")
