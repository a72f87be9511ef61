"""Pools: the traces of many candidate inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.theory.table import TraceTable

FORMAT = "mldsa-lab pool"
VERSION = 1
"""Version of the pool format."""
ROWS = 1 << 16
"""Signatures of a row group: what is held in memory at a time."""

Checks = Literal["reached", "all"]
"""``reached``: c t0 and the hint weight were looked at in attempts that pass z and r0 alone, as
Algorithm 7 does; ``all``: in every attempt."""
Key = Literal["xi", "sk"]
"""The form in which listed inputs have their key: its seed, or the private key."""

NamedInputs = tuple[tuple[str, Input], ...]
"""Inputs of a file, each with its name."""


class About(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The metadata of a pool: see docs/pools.md."""

    format: Literal["mldsa-lab pool"]
    version: Literal[1]
    tool: str
    set: Literal["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]
    checks: Checks
    spec: Spec | None

    def __post_init__(self) -> None:
        if self.spec is not None and self.spec.set != self.set:
            raise LabError(f"is of {self.set}, but its spec of {self.spec.set}")


@dataclass(frozen=True)
class Pool:
    """Traces of candidate inputs.

    ``index``: (signatures,) the inputs' numbers in ``spec``, or in the list. ``spec``: the source
    of generated inputs; ``listed``: the inputs of a file.
    """

    table: TraceTable
    index: NDArray[np.uint64]
    checks: Checks
    spec: Spec | None = None
    listed: NamedInputs | None = None

    @property
    def set(self) -> str:
        """The parameter set."""
        return self.table.set

    def __len__(self) -> int:
        return len(self.table)

    def input(self, number: int) -> Input:
        """The input of trace ``number`` of the table."""
        if self.listed is not None:
            return self.listed[number][1]
        assert self.spec is not None
        return self.spec.input(int(self.index[number]))

    def take(self, numbers: Sequence[int] | NDArray[np.int64]) -> Pool:
        """The pool of only these traces."""
        places = np.asarray(numbers, dtype=np.int64)
        listed = None if self.listed is None else tuple(self.listed[i] for i in places)
        return replace(self, table=self.table.take(places), index=self.index[places], listed=listed)


def join_pools(parts: Sequence[Pool]) -> Pool:
    """Several parts of one pool, one after another; at least one."""
    listed = None
    if parts[0].listed is not None:
        listed = tuple(item for part in parts for item in part.listed or ())
    return replace(
        parts[0],
        table=TraceTable.join([part.table for part in parts]),
        index=np.concatenate([part.index for part in parts]),
        listed=listed,
    )
