"""Where candidates come from: the pools that ship with the lab, or one traced for the purpose."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

from mldsa_lab.inputs.library import Library
from mldsa_lab.inputs.pool import Pool, read_pool
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.table import TraceTable

DATA = Path(__file__).parents[1] / "data"
"""The folder of what ships."""
SIZE = 10_000
"""Signatures of a pool that ships, and of one that is traced for a choice."""

_BLOCK = 1000


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
    return read_pool(shipped_path(set_name))


def trace_pool(
    spec: Spec,
    size: int,
    library: Library,
    *,
    threads: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> Pool:
    """The first ``size`` inputs of ``spec``, traced with every check; the same for any number of
    threads. ``progress`` is told how many are done."""
    starts = range(0, size, _BLOCK)

    def block(start: int) -> TraceTable:
        inputs = spec.inputs(start, min(_BLOCK, size - start))
        return library.trace(spec.set, inputs, "all")

    tables = []
    done = 0
    with ThreadPoolExecutor(threads) as workers:
        try:
            for table in workers.map(block, starts):
                tables.append(table)
                done += len(table)
                progress(done)
        except BaseException:
            workers.shutdown(wait=True, cancel_futures=True)
            raise
    return Pool(TraceTable.join(tables), np.arange(size, dtype=np.uint64), "all", spec)
