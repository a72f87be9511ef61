"""Ready-made selections, which ship with the lab in the compact form.

`python -m mldsa_lab.choice.ready --write` makes the pools and selections again; without the
option it names those that differ from fresh ones.
"""

from __future__ import annotations

import argparse
import lzma
import sys
from functools import partial
from pathlib import Path

import numpy as np

from mldsa_lab.choice.build import build
from mldsa_lab.choice.choice import SelectionRequest, choose
from mldsa_lab.errors import LabError
from mldsa_lab.files import reading, write_whole
from mldsa_lab.inputs.library import Library, load
from mldsa_lab.inputs.pool import Pool
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.inputs.shipped import DATA, SIZE, shipped_path, shipped_spec
from mldsa_lab.inputs.tracing import trace_pool
from mldsa_lab.sets import PARAMETER_SETS, parameter_set

COUNTS = (1, 2, 3, 10, 100)
"""Numbers of inputs of the ready-made selections; for coverage there is the smallest cover."""
PERCENTILES = (5, 50, 95, 99)
NAMES = ("regression", "mean", *(f"p{p}" for p in PERCENTILES), "coverage")
"""Goals and percentiles of the ready-made selections."""

# Selections from this size on are compressed.
_LARGE = 100


def all_ready() -> list[tuple[str, int | None]]:
    """Name and number of inputs of every ready-made selection of a set."""
    return [*((name, count) for name in NAMES[:-1] for count in COUNTS), ("coverage", None)]


def request_for(name: str, count: int | None) -> SelectionRequest:
    """The request of the ready-made selection ``name`` (one of `NAMES`) of ``count`` inputs.
    LabError if there is none."""
    if name not in NAMES:
        raise LabError(f"ready-made selection {name!r}: must be one of {', '.join(NAMES)}")
    if (name, count) not in all_ready():
        known = ", ".join(map(str, COUNTS)) if name != "coverage" else "the fewest, without -n"
        raise LabError(f"ready-made selection {name!r} of {count} inputs: there is {known}")
    if name.startswith("p"):
        return SelectionRequest("percentile", count, float(name[1:]))
    return SelectionRequest(name, count)


def ready_path(set_name: str, name: str, count: int | None) -> Path:
    """The path of the ready-made selection. LabError if there is none of this name and number."""
    request_for(name, count)
    folder = DATA / "selections" / parameter_set(set_name).name.lower()
    if count is None:
        return folder / f"{name}.json"
    return folder / f"{name}-{count}.json{'.xz' if count >= _LARGE else ''}"


def read_ready(set_name: str, name: str, count: int | None) -> Selection:
    """The ready-made selection, in the compact form. LabError if there is none."""
    path = ready_path(set_name, name, count)
    with reading(path):
        data = path.read_bytes()
    if path.suffix == ".xz":
        data = lzma.decompress(data)
    return Selection.parse(data.decode("utf-8"), str(path))


def make(pool: Pool, request: SelectionRequest, library: Library) -> str:
    """The text of a ready-made selection."""
    choice = choose(pool.table, pool.checks, request)
    return build(pool, request, choice, library).to_json(compact=True)


def renew(write: bool) -> int:
    """Make all pools and selections afresh; return how many files differ from them."""
    from mldsa_lab.inputs.poolfile import PoolWriter, read_pool  # of an extra

    library = load()
    different: list[Path] = []
    for set_name in PARAMETER_SETS:
        path = shipped_path(set_name)
        pool = trace_pool(shipped_spec(set_name), SIZE)
        if not path.exists() or not _is_same(read_pool(path), pool):
            different.append(path)
            if write:
                with PoolWriter(path, set_name, pool.checks, pool.spec) as writer:
                    writer.write(pool)
        for name, count in all_ready():
            path = ready_path(set_name, name, count)
            data = make(pool, request_for(name, count), library).encode("utf-8")
            if path.suffix == ".xz":
                data = lzma.compress(data, preset=9)
            if not path.exists() or path.read_bytes() != data:
                different.append(path)
                if write:
                    write_whole(path, partial(Path.write_bytes, data=data))
    for path in different:
        print(f"{'written:' if write else 'differs:'} {path}")
    return len(different)


def _is_same(one: Pool, two: Pool) -> bool:
    arrays = ((pool.table.codes, pool.table.ends, pool.index) for pool in (one, two))
    same = (np.array_equal(a, b) for a, b in zip(*arrays, strict=True))
    return (one.spec, one.checks) == (two.spec, two.checks) and all(same)


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write what differs")
    options = parser.parse_args()
    different = renew(options.write)
    return 0 if options.write or not different else 1


if __name__ == "__main__":
    sys.exit(_main())
