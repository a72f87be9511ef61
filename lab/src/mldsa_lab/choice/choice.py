"""The choice of inputs for a goal from the traces of a pool, made into a selection.

The chosen inputs are signed and traced again with every check.
`python -m mldsa_lab.choice.choice --write` makes the pools and selections that ship; without the
option it names those that differ from the newly made ones.
"""

from __future__ import annotations

import argparse
import dataclasses
import lzma
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace as replace_struct

from mldsa_lab import LabError, __version__
from mldsa_lab.choice.coverage import choose_coverage, paths_of
from mldsa_lab.choice.design import PERCENTILES, balanced_order, check_limits, design, quality
from mldsa_lab.choice.greedy import choose_greedy
from mldsa_lab.choice.mean import choose_mean, choose_percentile
from mldsa_lab.choice.solver import Choice, Classes, short
from mldsa_lab.files import reading, to_builtins, write_whole
from mldsa_lab.inputs.pool import Checks, Pool
from mldsa_lab.inputs.selection import GOALS, Selection
from mldsa_lab.inputs.tracing import (
    DATA,
    SIZE,
    Library,
    load,
    shipped_path,
    shipped_spec,
    trace_pool,
)
from mldsa_lab.sets import PARAMETER_SETS, parameter_set
from mldsa_lab.theory.law import CostModel
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import PASSED, Attempt, TraceTable

# Random starts of the search for a design: many where a sweep is short.
_STARTS, _STARTS_MOST = 600, 60


@dataclass(frozen=True)
class Wish:
    """What to choose.

    ``goal``: one of `GOALS`. ``count``: how many inputs; None for the fewest that cover all, with
    the goal coverage alone. ``percentile``: in (0, 100), with the goals percentile and greedy.
    ``cost_model``: for the goals mean and percentile; None for the set's default.
    ``max_attempts`` of each input, ``budget`` of all together. LabError if these do not fit
    together.
    """

    goal: str = "regression"
    count: int | None = 10
    percentile: float | None = None
    cost_model: CostModel | None = None
    max_attempts: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        name, share = f"goal {self.goal}", self.percentile
        numbers = {
            "number of inputs": self.count,
            "largest number of attempts": self.max_attempts,
            "budget": self.budget,
        }
        if self.goal not in GOALS:
            raise LabError(f"goal {self.goal!r}: must be one of {', '.join(GOALS)}")
        if self.goal != "greedy" and (share is None) == (self.goal == "percentile"):
            raise LabError(
                f"{name}, percentile {share}: the goal 'percentile' needs one, 'greedy' may have "
                "one, others take none"
            )
        if share is not None and not 0 < share < 100:
            raise LabError(f"percentile {share}: must lie in (0, 100)")
        if self.count is None and self.goal != "coverage":
            raise LabError(f"{name}: needs the number of inputs")
        if self.cost_model is not None and self.goal not in ("mean", "percentile"):
            raise LabError(f"{name}: takes no cost model")
        if self.budget is not None and self.goal == "greedy":
            raise LabError(f"{name}: takes no budget, since its method knows none")
        for number, value in numbers.items():
            if value is not None and value < 1:
                raise LabError(f"{number} {value}: must be at least 1")


def choose(table: TraceTable, checks: Checks, wish: Wish) -> Choice:
    """The best traces of ``table`` for what is wished, in the order to measure them
    (`balanced_order`); the same for the same arguments.

    ``checks``: which checks the table was made with. LabError if the table has too few traces
    that keep the limits.
    """
    model, attempts = RejectionModel.of(table.set), table.attempts()
    n = wish.count or 1
    usable = check_limits(attempts, n, wish.budget, wish.max_attempts)
    common = (Classes(table, model), usable, model, n, wish.budget, wish.cost_model)
    goals: dict[str, Callable[[], Choice]] = {
        "regression": lambda: _regression(table, model, n, wish),
        "mean": lambda: choose_mean(*common),
        "percentile": lambda: choose_percentile(*common, wish.percentile or 0.0),
        "coverage": lambda: choose_coverage(
            paths_of(table, checks), attempts, usable, wish.count, wish.budget
        ),
        "greedy": lambda: choose_greedy(table, usable, n, wish.percentile),
    }
    found = goals[wish.goal]()
    order = balanced_order(table.take(found.positions))
    return replace(found, positions=found.positions[order])


def _regression(table: TraceTable, model: RejectionModel, n: int, wish: Wish) -> Choice:
    """The best design, the errors of the estimate under its assumptions, and what its inputs
    cannot tell. LabError if the limits leave nothing to tell the cost of an attempt by."""
    starts = max(1, min(_STARTS_MOST, _STARTS // n))
    budget, most = wish.budget, wish.max_attempts
    traces = design(table, model, n, budget=budget, max_attempts=most, restarts=starts)
    chosen = table.take(traces)
    counts, attempts = chosen.counts(), chosen.attempts()
    if n > 1 and (budget or most) and (attempts == attempts[0]).all():
        raise LabError(
            f"goal regression: within these limits all {n} inputs have {attempts[0]} "
            f"attempt{'s' if attempts[0] > 1 else ''}, so that no cost of an attempt can be "
            "estimated; allow more attempts, or choose another goal"
        )
    errors = quality(chosen, model)
    names = ("mean", *(f"p{100 * p:g}" for p in PERCENTILES))
    expected: dict[str, Any] = {
        what: {name: short(100 * e) for name, e in zip(names, values, strict=True)}
        for what, values in (
            ("standard error where costs have 1.5 % noise, %", errors.standard_error),
            ("bias for a signer that is not linear, at most, %", errors.bias),
        )
    }
    unknown = [
        f"what a rejected attempt of class {name} costs"
        for name, n_class in zip("zr", counts.T, strict=False)
        if (n_class == n_class[0]).all()
    ]
    if n > 1 and unknown:
        expected["not to be told from these inputs"] = unknown
    return Choice(np.array(traces), expected)


# From chosen traces to a selection.


def build(pool: Pool, wish: Wish, choice: Choice, library: Library) -> Selection:
    """The selection of the chosen traces of ``pool``, with ids from 1 on.

    ``library`` signs the inputs and traces them again. LabError if its traces are not the pool's.
    """
    chosen = [replace_struct(pool.input(at), id=i) for i, at in enumerate(choice.positions, 1)]
    made = library.make(pool.set, chosen)
    known = pool.table.take(choice.positions)
    for at, trace, item in zip(choice.positions, known.traces(), made, strict=True):
        if [_seen(a, pool.checks) for a in trace] != [_seen(a, pool.checks) for a in item.trace]:
            raise LabError(
                f"pool: trace {at} is not that of signing its input; trace the pool again"
            )
    model = None if choice.cost_model is None else choice.cost_model.as_json()
    about = _made(pool, wish, choice)
    return Selection(pool.set, wish.goal, made, wish.percentile, model, about)


def complete(selection: Selection, library: Library) -> Selection:
    """The selection with keys and signatures. LabError if these, or the traces, are not what the
    selection says."""
    made = library.make(selection.set, selection.inputs)
    for item, right in zip(selection.inputs, made, strict=True):
        if right.trace != item.trace:
            raise LabError(f"input {item.id}: its trace is not that of signing it")
        names = ("public key", "private key", "signature")
        for name, one, two in zip(names, item.digests, right.digests, strict=True):
            if one != two:
                raise LabError(f"input {item.id}: its {name} is not that of signing it")
    return dataclasses.replace(selection, inputs=made)


def _seen(attempt: Attempt, checks: Checks) -> tuple[int, ...]:
    """What the pool's kind of tracing sees of an attempt."""
    z, r, _, _ = attempt.first_failing
    reached = z == PASSED and r == PASSED
    return attempt.first_failing if checks == "all" or reached else (z, r)


def _made(pool: Pool, wish: Wish, choice: Choice) -> dict[str, Any]:
    """How it was made: tool, pool, options, and what to expect of it."""
    about: dict[str, Any] = {} if pool.spec is None else to_builtins(pool.spec)
    about |= {"size": len(pool), "checks": pool.checks}
    if pool.given is None:
        about["index"] = [int(pool.index[at]) for at in choice.positions]
    else:
        about["ids"] = [pool.given[at][0] for at in choice.positions]
    options = {name: getattr(wish, name) for name in ("count", "max_attempts", "budget")}
    return {
        "tool": f"mldsa-lab {__version__}",
        "pool": about,
        "options": {name: value for name, value in options.items() if value is not None},
        "expected": choice.expected,
    }


# Selections that ship.


COUNTS = (1, 2, 3, 10, 100)
"""Numbers of inputs of the ready-made selections; for coverage there is the smallest cover."""
SHIPPED_PERCENTILES = (5, 50, 95, 99)
NAMES = ("regression", "mean", *(f"p{p}" for p in SHIPPED_PERCENTILES), "coverage")
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
    if (name, count) not in all_ready():
        known = ", ".join(map(str, COUNTS)) if name != "coverage" else "the fewest, without -n"
        raise LabError(f"ready-made selection {name!r} of {count} inputs: there is {known}")
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


def renew(write: bool) -> int:
    """Make everything again; returns how many files differ from what was made."""
    from mldsa_lab.inputs.poolfile import PoolWriter, read_pool

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
            path = path_of(set_name, name, count)
            data = make(pool, wish_of(name, count), library).encode("utf-8")
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
    wanted = parser.parse_args()
    different = renew(wanted.write)
    return 0 if wanted.write or not different else 1


if __name__ == "__main__":
    sys.exit(_main())
