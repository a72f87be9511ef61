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
from mldsa_lab.choice import SelectionResult, round_digits
from mldsa_lab.choice.coverage import choose_coverage, find_paths
from mldsa_lab.choice.design import balanced_order, check_limits, design, quality
from mldsa_lab.choice.greedy import choose_greedy
from mldsa_lab.choice.mean import Classes, choose_mean, choose_percentile
from mldsa_lab.files import reading, to_builtins, write_whole
from mldsa_lab.inputs.pool import Checks, Pool, PoolWriter, read_pool
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
from mldsa_lab.sets import PARAMETER_SETS, PERCENTILES, parameter_set
from mldsa_lab.theory.law import CostModel
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import PASSED, Trace, TraceTable

# Random starts of the search for a design: many where a sweep is short.
_STARTS, _STARTS_MOST = 600, 60


@dataclass(frozen=True)
class SelectionRequest:
    """The purpose, number and limits of a selection. LabError if these do not fit together.

    ``goal``: one of `GOALS`. ``count``: how many inputs; None for the fewest that cover all, only
    with the goal coverage. ``percentile``: in (0, 100), with the goals percentile and greedy.
    ``cost_model``: for the goals mean and percentile; None for the set's default.
    ``max_attempts`` of each input, ``budget`` of all together.
    """

    goal: str = "regression"
    count: int | None = 10
    percentile: float | None = None
    cost_model: CostModel | None = None
    max_attempts: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        goal, share = self.goal, self.percentile
        if goal not in GOALS:
            raise LabError(f"goal {goal!r}: must be one of {', '.join(GOALS)}")
        if goal != "greedy" and (share is None) == (goal == "percentile"):
            raise LabError(
                f"goal {goal}, percentile {share}: the goal 'percentile' needs one, 'greedy' may "
                "have one, others take none"
            )
        if share is not None and not 0 < share < 100:
            raise LabError(f"percentile {share}: must lie in (0, 100)")
        if self.count is None and goal != "coverage":
            raise LabError(f"goal {goal}: needs the number of inputs")
        if self.cost_model is not None and goal not in ("mean", "percentile"):
            raise LabError(f"goal {goal}: takes no cost model")
        if self.budget is not None and goal == "greedy":
            raise LabError("goal greedy: takes no budget, since its method knows none")
        limits = (self.count, self.max_attempts, self.budget)
        names = ("number of inputs", "largest number of attempts", "budget")
        for name, limit in zip(names, limits, strict=True):
            if limit is not None and limit < 1:
                raise LabError(f"{name} {limit}: must be at least 1")


def choose(table: TraceTable, checks: Checks, request: SelectionRequest) -> SelectionResult:
    """The best traces of ``table`` for a request, in the order to measure them
    (`balanced_order`); the same for the same arguments.

    ``checks``: the checks that the table was traced with. LabError if the table has too few
    traces that keep the limits.
    """
    model, iterations = RejectionModel.for_set(table.set), table.iterations()
    n, budget = request.count or 1, request.budget
    usable = check_limits(iterations, n, budget, request.max_attempts)
    common = (Classes(table, model), usable, model, n, budget, request.cost_model)
    goals: dict[str, Callable[[], SelectionResult]] = {
        "regression": lambda: _regression(table, model, n, request),
        "mean": lambda: choose_mean(*common),
        "percentile": lambda: choose_percentile(*common, request.percentile or 0.0),
        "coverage": lambda: choose_coverage(
            find_paths(table, checks), iterations, usable, request.count, budget
        ),
        "greedy": lambda: choose_greedy(table, usable, n, request.percentile),
    }
    result = goals[request.goal]()
    order = balanced_order(table.take(result.positions))
    return replace(result, positions=result.positions[order])


def _regression(
    table: TraceTable, model: RejectionModel, n: int, request: SelectionRequest
) -> SelectionResult:
    """The best design, the errors of the estimate under its assumptions, and the costs that its
    inputs do not determine. LabError if the limits leave nothing to tell the cost of an attempt
    by."""
    starts = max(1, min(_STARTS_MOST, _STARTS // n))
    budget, most = request.budget, request.max_attempts
    traces = design(table, model, n, budget=budget, max_attempts=most, restarts=starts)
    chosen = table.take(traces)
    counts, iterations = chosen.counts(), chosen.iterations()
    if n > 1 and (budget or most) and (iterations == iterations[0]).all():
        raise LabError(
            f"goal regression: within these limits all {n} inputs have {iterations[0]} "
            f"attempt{'s' if iterations[0] > 1 else ''}, so that no cost of an attempt can be "
            "estimated; allow more attempts, or choose another goal"
        )
    errors = quality(chosen, model)
    names = ("mean", *(f"p{p:g}" for p in PERCENTILES.values()))
    expected: dict[str, Any] = {
        what: {name: round_digits(100 * e) for name, e in zip(names, values, strict=True)}
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
    return SelectionResult(np.array(traces), expected)


# From chosen traces to a selection.


def build(
    pool: Pool, request: SelectionRequest, result: SelectionResult, library: Library
) -> Selection:
    """The selection of the chosen traces of ``pool``, with ids from 1 on.

    ``library`` signs the inputs and traces them again. LabError if its traces are not the pool's.
    """
    chosen = [replace_struct(pool.input(at), id=i) for i, at in enumerate(result.positions, 1)]
    signed = library.make(pool.set, chosen)
    traces = pool.table.take(result.positions).traces()
    for at, trace, item in zip(result.positions, traces, signed, strict=True):
        if _visible(trace, pool.checks) != _visible(item.trace, pool.checks):
            raise LabError(
                f"pool: trace {at} differs from its input's signature; trace the pool again"
            )
    model = None if result.cost_model is None else result.cost_model.as_json()
    provenance = _provenance(pool, request, result)
    return Selection(pool.set, request.goal, signed, request.percentile, model, provenance)


def complete(selection: Selection, library: Library) -> Selection:
    """The selection with keys and signatures. LabError if these or the traces differ from those
    that the selection states."""
    signed = library.make(selection.set, selection.inputs)
    for item, right in zip(selection.inputs, signed, strict=True):
        parts = zip(
            ("public key", "private key", "signature"), item.digests, right.digests, strict=True
        )
        differs = [name for name, one, two in parts if one != two]
        for name in ["trace"] * (right.trace != item.trace) + differs:
            raise LabError(f"input {item.id}: wrong {name}: signing it gives another")
    return dataclasses.replace(selection, inputs=signed)


def _visible(trace: Trace, checks: Checks) -> list[tuple[int, ...]]:
    """The first failing indexes that tracing with these ``checks`` records."""
    indexes = [iteration.first_failing for iteration in trace]
    return [i if checks == "all" or i[:2] == (PASSED, PASSED) else i[:2] for i in indexes]


def _provenance(pool: Pool, request: SelectionRequest, result: SelectionResult) -> dict[str, Any]:
    """Tool, pool, options and expected errors of a selection."""
    about: dict[str, Any] = {} if pool.spec is None else to_builtins(pool.spec)
    about |= {"size": len(pool), "checks": pool.checks}
    if pool.listed is None:
        about["index"] = [int(pool.index[at]) for at in result.positions]
    else:
        about["ids"] = [pool.listed[at][0] for at in result.positions]
    options = {name: getattr(request, name) for name in ("count", "max_attempts", "budget")}
    return {
        "tool": f"mldsa-lab {__version__}",
        "pool": about,
        "options": {name: value for name, value in options.items() if value is not None},
        "expected": result.expected,
    }


# Selections that ship.


COUNTS = (1, 2, 3, 10, 100)
"""Numbers of inputs of the ready-made selections; for coverage there is the smallest cover."""
SHIPPED_PERCENTILES = (5, 50, 95, 99)
NAMES = ("regression", "mean", *(f"p{p}" for p in SHIPPED_PERCENTILES), "coverage")
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
    return build(pool, request, choice, library).to_json(is_compact=True)


def renew(write: bool) -> int:
    """Make all pools and selections afresh; return how many files differ from them."""
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
