"""Synthetic signers of known cost, and random signatures by the exact law of rejections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import ACCEPTED, PASSED, SHIFTS, Array, Ints, Trace, TraceTable

# Its k and l are the largest, so that a table of it takes the traces of any set.
_LARGEST = "ML-DSA-87"


def random_table(model: RejectionModel, count: int, rng: np.random.Generator) -> TraceTable:
    """Traces of ``count`` signatures, drawn from the exact law; ct0 never fails, and the hint only
    where z and r0 pass."""
    parts: list[NDArray[np.uint16]] = []
    result = 0
    while result < count:
        size = int((count - result) * model.expected_iterations * 1.1) + 64
        z = _first_failing(model.p_z, model.l, size, rng)
        r = _first_failing(model.p_r, model.k, size, rng)
        fails = (rng.random(size) < model.fail_h) & (z == PASSED) & (r == PASSED)
        h = np.where(fails, 0, PASSED)
        codes = iteration_codes(z, r, h)
        accepted = np.flatnonzero(codes == ACCEPTED)[: count - result]
        if len(accepted):
            parts.append(codes[: accepted[-1] + 1])
            result += len(accepted)
    drawn = np.concatenate(parts)
    return TraceTable(model.name, drawn, np.flatnonzero(drawn == ACCEPTED) + 1)


def iteration_codes(z: Ints, r: Ints, h: Ints) -> NDArray[np.uint16]:
    """(attempts,) codes by the first failing index of z, r0 and the hint; ct0 passes."""
    codes = z << SHIFTS[0] | r << SHIFTS[1] | PASSED << SHIFTS[2] | h << SHIFTS[3]
    return codes.astype(np.uint16)


def _first_failing(passes: float, length: int, size: int, rng: np.random.Generator) -> Ints:
    """Index of the first of ``length`` polynomials to fail, when all pass with ``passes``."""
    index = np.floor(np.log(rng.random(size)) / (math.log(passes) / length)).astype(np.int64)
    return np.where(index >= length, PASSED, index)


def draw_traces(model: RejectionModel, count: int, rng: np.random.Generator) -> list[Trace]:
    """`random_table` as single traces."""
    return random_table(model, count, rng).traces()


@dataclass(frozen=True)
class Signer:
    """The cost of a signature: by default in ns; `usual` has costs in attempts.

    ``z_step``, ``r_step``: more for each polynomial before the one that fails. ``r_first``: r0 is
    checked before z. ``group``: attempts are computed so many at a time. ``bend``: times the
    square of the number of attempts.
    """

    setup: float = 60_000.0
    z: float = 19_000.0
    r: float = 21_000.0
    h: float = 26_250.0
    z_step: float = 0.0
    r_step: float = 0.0
    r_first: bool = False
    group: int = 1
    bend: float = 0.0

    def cost(self, table: TraceTable) -> Array:
        """(signatures,) the cost of each."""
        each = self._cost_iterations(table.first_failing("z"), table.first_failing("r"))
        each[table.codes == ACCEPTED] = 0.0
        summed = np.bincount(table.signature_numbers(), weights=each, minlength=len(table))
        return np.asarray(self.setup + summed + self._cost_number(table.iterations()))

    def cost_of(self, traces: Sequence[Trace]) -> Array:
        """(traces,) the cost of each."""
        return self.cost(TraceTable.from_traces(_LARGEST, traces))

    def draw(self, model: RejectionModel, count: int, rng: np.random.Generator) -> Array:
        """(count,) costs of random signatures."""
        return self.cost(random_table(model, count, rng))

    def mean(self, model: RejectionModel) -> float:
        """The exact mean over all signatures."""
        z, r = np.append(np.arange(model.l), PASSED), np.append(np.arange(model.k), PASSED)
        chance_z = np.append((1 - model.p_z) * model.first_failing_z(), model.p_z)
        chance_r = np.append((1 - model.p_r) * model.first_failing_r(), model.p_r)
        chance = np.outer(chance_z, chance_r)
        chance[-1, -1] *= model.fail_h
        each = self._cost_iterations(np.repeat(z, len(r)), np.tile(r, len(z)))
        rejected = float(chance.ravel() @ each) * model.expected_iterations
        number = np.arange(1, 400)
        law = model.p_accept * (1 - model.p_accept) ** (number - 1)
        return float(self.setup + rejected + law @ self._cost_number(number))

    def _cost_iterations(self, z: Ints, r: Ints) -> Array:
        """Cost of rejected attempts by the first failing index of z and r0."""
        by_z, by_r = self.z + self.z_step * z, self.r + self.r_step * r
        if self.r_first:
            # An attempt whose r0 fails never comes to z.
            result = np.where(r != PASSED, by_r - 0.25, np.where(z != PASSED, by_z, self.h))
        else:
            result = np.where(z != PASSED, by_z, np.where(r != PASSED, by_r, self.h))
        return np.asarray(result, dtype=np.float64)

    def _cost_number(self, iterations: Ints) -> Array:
        waste = (-iterations) % self.group
        return np.asarray(waste * self.z + self.bend * iterations.astype(np.float64) ** 2)


def usual(**changes: Any) -> Signer:
    """A signer of costs in attempts of class z, with these changes."""
    return replace(Signer(3.0, 1.0, 1.05, 1.3), **changes)
