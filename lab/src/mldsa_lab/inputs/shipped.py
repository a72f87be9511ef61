"""The pools that ship with the lab."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from mldsa_lab.inputs.pool import Pool
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.sets import parameter_set

DATA = Path(__file__).parents[1] / "data"
"""The folder of what ships."""
SIZE = 10_000
"""Signatures of a pool that ships, and of one that is traced for a choice."""


def shipped_spec(set_name: str) -> Spec:
    """The inputs of the pool that ships: 32-byte messages, no contexts, a key for each, rnd zero.
    The seed is the SHA-256 of ``mldsa-lab pool 1 `` and the set's name."""
    seed = hashlib.sha256(b"mldsa-lab pool 1 " + set_name.encode("ascii")).digest()
    return Spec(set_name, seed)


def shipped_path(set_name: str) -> Path:
    """Where the pool is that ships."""
    return DATA / "pools" / f"{parameter_set(set_name).name.lower()}.parquet"


@cache
def shipped_pool(set_name: str) -> Pool:
    """The pool that ships with the lab, traced with every check."""
    from mldsa_lab.inputs.poolfile import read_pool

    return read_pool(shipped_path(set_name))
