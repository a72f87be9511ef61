"""From chosen traces to a selection: inputs signed, traces made again with every check."""

from __future__ import annotations

import dataclasses
from typing import Any

from msgspec.structs import replace

from mldsa_lab import __version__
from mldsa_lab.choice.choice import Wish
from mldsa_lab.choice.chosen import Choice
from mldsa_lab.errors import LabError
from mldsa_lab.files import plain
from mldsa_lab.inputs.library import Library
from mldsa_lab.inputs.pool import Checks, Pool
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.theory.trace import PASSED, Attempt


def build(pool: Pool, wish: Wish, choice: Choice, library: Library) -> Selection:
    """The selection of the chosen traces of ``pool``, with ids from 1 on.

    ``library`` signs the inputs and traces them again. LabError if its traces are not the pool's.
    """
    chosen = [replace(pool.input(at), id=i) for i, at in enumerate(choice.positions, 1)]
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
    about: dict[str, Any] = {} if pool.spec is None else plain(pool.spec)
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
