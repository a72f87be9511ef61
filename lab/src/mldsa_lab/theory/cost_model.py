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
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.files import parse_json, read_text
from mldsa_lab.sets import PARAMETER_SETS, parameter_set
from mldsa_lab.theory.linear import model_matrix
from mldsa_lab.theory.rejection import RejectionModel

Array = NDArray[np.float64]

FORMAT = "mldsa-lab cost model"
VERSION = 1
"""Version of the file format."""

_COSTS = ("setup", "z", "r", "h")
_NEEDED = ("format", "version", "set", *_COSTS)
_KNOWN = (*_NEEDED, "unit", "source")
# Classes are left out whose probability is together below the first, and below this share of
# what lies beyond a quantile.
_TAIL = 1e-12
_TAIL_SHARE = 1e-3
# Costs that differ by less than rounding are one cost.
_SAME = 1e-9

# mldsa-native (AVX2, keys as bytes) on an AMD EPYC (Zen 3), cost of an attempt of class r as 1:
# `mldsa-lab study fits` prints the fits behind them. The record's inputs hold
# too few attempts of class h to tell their cost in two of the sets; 1.25 is the share that the
# fit then assumes.
_DEFAULTS = {
    "ML-DSA-44": (2.47, 0.78, 1.0, 1.28),
    "ML-DSA-65": (2.90, 0.71, 1.0, 1.25),
    "ML-DSA-87": (3.60, 0.83, 1.0, 1.25),
}
_DEFAULT_SOURCE = (
    "mldsa-native 0.0.1-alpha.6, AVX2, keys as bytes, fitted from "
    "records/2026-11-21-epyc-zen3/first.jsonl.xz; cost of an attempt of class r = 1"
)


class CostClass(NamedTuple):
    """Signatures with the same rejected attempts n_z, n_r, n_h: their cost, their probability,
    and the probabilities of all signatures that cost less (``below``) and no more (``upto``)."""

    counts: tuple[int, int, int]
    cost: float
    probability: float
    below: float
    upto: float


@dataclass(frozen=True)
class CostModel:
    """Cost of a signature accepted at once (``setup``) and of a rejected attempt of each class.

    Classes: z (the norm of z fails, whatever else does), r (else r0), h (else ct0 or the hint
    weight). ``unit``: of all four; ``attempts`` where an attempt of class r is 1. ``source``:
    where the costs are from. ``set``: the parameter set, None where the model does not say.
    LabError if a cost is negative, infinite or not a number, or all are 0.
    """

    setup: float
    z: float
    r: float
    h: float
    unit: str = "attempts"
    source: str = ""
    set: str | None = None

    def __post_init__(self) -> None:
        for name in _COSTS:
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise LabError(f"cost model: {name} is {value}, it must be a number from 0 on")
        if not any(getattr(self, name) for name in _COSTS):
            raise LabError("cost model: one of setup, z, r, h must be above 0")
        if self.set is not None:
            parameter_set(self.set)

    # Making models ------------------------------------------------------------------------------

    @classmethod
    def default(cls, set_name: str) -> CostModel:
        """The model taken where none is given: a common implementation's, as measured here."""
        parameter_set(set_name)
        return cls(*_DEFAULTS[set_name], source=_DEFAULT_SOURCE, set=set_name)

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
        times = {"outside": outside, "to_z": to_z, "z_to_r": z_to_r, "r_to_end": r_to_end}
        for name, value in times.items():
            if not (math.isfinite(value) and value >= 0):
                raise LabError(f"cost model: {name} is {value}, it must be a number from 0 on")
        whole = to_z + z_to_r + r_to_end
        return cls(outside + whole, to_z, to_z + z_to_r, whole, unit, source, set)

    @classmethod
    def read(cls, path: Path) -> CostModel:
        """The model in a JSON file; LabError that names the file and the broken rule."""
        return cls.from_json(parse_json(read_text(path), str(path)), str(path))

    @classmethod
    def from_json(cls, value: object, where: str) -> CostModel:
        """The inverse of `as_json`; LabError, beginning with ``where``, if it is not one."""
        if not isinstance(value, Mapping) or value.get("format") != FORMAT:
            raise LabError(
                f"{where}: is no cost model: it must be an object with format {FORMAT!r}"
            )
        if value.get("version") != VERSION:
            raise LabError(
                f"{where}: has format version {value.get('version')!r}, this reader knows {VERSION}"
            )
        for name in _NEEDED:
            if name not in value:
                raise LabError(f"{where}: {name} is missing")
        for name in value:
            if name not in _KNOWN:
                raise LabError(f"{where}: the key {name!r} is unknown")
        for name in _COSTS:
            if isinstance(value[name], bool) or not isinstance(value[name], int | float):
                raise LabError(f"{where}: {name} must be a number")
        for name in ("unit", "source"):
            if not isinstance(value.get(name, ""), str):
                raise LabError(f"{where}: {name} must be a text")
        if value["set"] not in (None, *PARAMETER_SETS):
            known = ", ".join(PARAMETER_SETS)
            raise LabError(f"{where}: set {value['set']!r} must be null or one of {known}")
        try:
            setup, z, r, h = (float(value[name]) for name in _COSTS)
        except OverflowError:
            raise LabError(f"{where}: a cost is too large a number") from None
        try:
            unit, source = value.get("unit", "attempts"), value.get("source", "")
            return cls(setup, z, r, h, unit, source, value["set"])
        except LabError as error:
            raise LabError(f"{where}: {error}") from None

    def as_json(self) -> dict[str, Any]:
        """The object that a file holds."""
        return {"format": FORMAT, "version": VERSION, "set": self.set} | asdict(self)

    def to_json(self) -> str:
        """The text of a file."""
        return json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n"

    # What follows from a model ------------------------------------------------------------------

    @property
    def beta(self) -> Array:
        """The coordinates of `mldsa_lab.theory.linear`: setup, z, r, h - r, shape (4,)."""
        return np.array([self.setup, self.z, self.r, self.h - self.r])

    def of(self, counts: Array) -> Array:
        """Cost of each row n_z, n_r, n_h of ``counts`` (rows, 3), shape (rows,)."""
        cost: Array = model_matrix(np.asarray(counts, dtype=np.float64)) @ self.beta
        return cost

    def mean(self, model: RejectionModel) -> float:
        """The exact mean over all signatures."""
        self.check_set(model.name)
        return float(self.of(model.expected_counts[None, :])[0])

    def quantile(self, model: RejectionModel, share: float) -> float:
        """The least cost that at least ``share`` (0 < share < 1) of all signatures do not exceed;
        abort indexes left out of account, so it is always the cost of a class."""
        return self.classes_at(model, share)[0].cost

    def share_up_to(self, model: RejectionModel, cost: float) -> float:
        """The share of all signatures that cost at most ``cost``."""
        self.check_set(model.name)
        table = model.class_table(_TAIL)
        within = self.of(table.counts.astype(np.float64)) <= cost * (1 + _SAME)
        return float(table.probability[within].sum())

    def classes_at(
        self, model: RejectionModel, share: float, *, within: float = 0.0
    ) -> list[CostClass]:
        """The classes of traces whose cost is the quantile at ``share`` (0 < share < 1), or
        differs from it by at most the fraction ``within``; by cost, the likelier first among
        equals. At least one."""
        self.check_set(model.name)
        if not 0 < share < 1:
            raise LabError(f"quantile {share}: must lie strictly between 0 and 1")
        if not 0 <= within < 1:
            raise LabError(f"relative distance {within}: must be from 0 to below 1")
        table = model.class_table(min(_TAIL, _TAIL_SHARE * (1 - share)))
        cost = self.of(table.counts.astype(np.float64))
        order = np.lexsort((-table.probability, cost))
        cost, probability = cost[order], table.probability[order]
        # Level: the classes of one cost.
        level = np.concatenate([[0], np.cumsum(np.diff(cost) > _SAME * cost[-1])])
        mass = np.bincount(level, weights=probability)
        upto = np.cumsum(mass)
        at = min(int(np.searchsorted(upto, share * (1 - 1e-15))), len(upto) - 1)
        value = cost[int(np.searchsorted(level, at))]
        near = (level == at) | (np.abs(cost - value) <= within * value)
        return [
            CostClass(
                tuple(table.counts[order[i]].tolist()),
                float(cost[i]),
                float(probability[i]),
                float(upto[level[i]] - mass[level[i]]),
                float(upto[level[i]]),
            )
            for i in np.flatnonzero(near)
        ]

    def check_set(self, set_name: str) -> None:
        """LabError if the model is of another parameter set."""
        if self.set not in (None, set_name):
            raise LabError(f"cost model of {self.set}: cannot be used for {set_name}")
