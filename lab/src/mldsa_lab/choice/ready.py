"""Ready-made selections, which ship with the lab in the compact form.

`python -m mldsa_lab.choice.ready --write` makes the pools and selections again; without the
option it says which of them differ from what it makes.
"""

from __future__ import annotations

import argparse
import lzma
import sys
from functools import partial
from pathlib import Path

from mldsa_lab.choice.build import build
from mldsa_lab.choice.choice import Wish, choose
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
"""What the ready-made selections are for."""

# Selections from this size on are compressed.
_LARGE = 100


def all_ready() -> list[tuple[str, int | None]]:
    """Name and number of inputs of every ready-made selection of a set."""
    return [*((name, count) for name in NAMES[:-1] for count in COUNTS), ("coverage", None)]


def wish_of(name: str, count: int | None) -> Wish:
    """What the selection called ``name`` (one of `NAMES`) of ``count`` inputs is for. LabError if
    there is none."""
    if name not in NAMES:
        raise LabError(f"ready-made selection {name!r}: must be one of {', '.join(NAMES)}")
    if name == "coverage":
        if count is not None:
            raise LabError("ready-made selection 'coverage': is the smallest cover, without -n")
        return Wish("coverage", None)
    if count not in COUNTS:
        raise LabError(
            f"ready-made selection {name!r} of {count} inputs: there are those of "
            f"{', '.join(map(str, COUNTS))}"
        )
    if name.startswith("p"):
        return Wish("percentile", count, float(name[1:]))
    return Wish(name, count)


def path_of(set_name: str, name: str, count: int | None) -> Path:
    """Where the ready-made selection is. LabError if there is none of this name and number."""
    wish_of(name, count)
    folder = DATA / "selections" / parameter_set(set_name).name.lower()
    if count is None:
        return folder / f"{name}.json"
    return folder / f"{name}-{count}.json{'.xz' if count >= _LARGE else ''}"


def read_ready(set_name: str, name: str, count: int | None) -> Selection:
    """The ready-made selection, in the compact form. LabError if there is none."""
    path = path_of(set_name, name, count)
    with reading(path):
        data = path.read_bytes()
    if path.suffix == ".xz":
        data = lzma.decompress(data)
    return Selection.parse(data.decode("utf-8"), str(path))


def make(pool: Pool, wish: Wish, library: Library) -> str:
    """The text of a ready-made selection."""
    choice = choose(pool.table, pool.checks, wish)
    return build(pool, wish, choice, library).to_json(compact=True)


def _file(text: str, path: Path) -> bytes:
    data = text.encode("utf-8")
    return lzma.compress(data, preset=9) if path.suffix == ".xz" else data


def renew(write: bool) -> int:
    """Make everything again; returns how many files differ from what was made."""
    from mldsa_lab.inputs.poolfile import PoolWriter, read_pool  # of an extra

    library = load()
    different: list[Path] = []

    def differs(path: Path) -> bool:
        """Whether to write it."""
        different.append(path)
        print(f"{'writing' if write else 'differs:'} {path}")
        return write

    for set_name in PARAMETER_SETS:
        path = shipped_path(set_name)
        pool = trace_pool(shipped_spec(set_name), SIZE)
        same = path.exists() and _same_pool(read_pool(path), pool)
        if not same and differs(path):
            with PoolWriter(path, set_name, pool.checks, pool.spec) as writer:
                writer.write(pool)
        for name, count in all_ready():
            path = path_of(set_name, name, count)
            data = _file(make(pool, wish_of(name, count), library), path)
            same = path.exists() and path.read_bytes() == data
            if not same and differs(path):
                write_whole(path, partial(Path.write_bytes, data=data))
    return len(different)


def _same_pool(one: Pool, two: Pool) -> bool:
    return (
        one.spec == two.spec
        and one.checks == two.checks
        and one.table.codes.tobytes() == two.table.codes.tobytes()
        and one.table.ends.tobytes() == two.table.ends.tobytes()
        and one.index.tobytes() == two.index.tobytes()
    )


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write what differs")
    wanted = parser.parse_args()
    different = renew(wanted.write)
    return 0 if wanted.write or not different else 1


if __name__ == "__main__":
    sys.exit(_main())
