"""From chosen traces to a selection: signed inputs, traced with every check."""

from __future__ import annotations

import dataclasses
from typing import Any

from msgspec.structs import replace

from mldsa_lab import __version__
from mldsa_lab.choice.choice import SelectionRequest
from mldsa_lab.choice.chosen import SelectionResult
from mldsa_lab.errors import LabError
from mldsa_lab.files import plain
from mldsa_lab.inputs.library import Library
from mldsa_lab.inputs.pool import Checks, Pool
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.theory.trace import PASSED, Trace


def build(
    pool: Pool, request: SelectionRequest, result: SelectionResult, library: Library
) -> Selection:
    """The selection of the chosen traces of ``pool``, with ids from 1 on.

    ``library`` signs the inputs and traces them again. LabError if its traces are not the pool's.
    """
    chosen = [replace(pool.input(at), id=i) for i, at in enumerate(result.positions, 1)]
    signed = library.make(pool.set, chosen)
    traces = pool.table.take(result.positions).traces()
    for at, trace, item in zip(result.positions, traces, signed, strict=True):
        if _visible(trace, pool.checks) != _visible(item.trace, pool.checks):
            raise LabError(
                f"pool: trace {at} is not that of signing its input; trace the pool again"
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
            raise LabError(f"input {item.id}: its {name} is not that of signing it")
    return dataclasses.replace(selection, inputs=signed)


def _visible(trace: Trace, checks: Checks) -> list[tuple[int, ...]]:
    """The first failing indexes that tracing with these ``checks`` records."""
    indexes = [attempt.first_failing for attempt in trace]
    return [i if checks == "all" or i[:2] == (PASSED, PASSED) else i[:2] for i in indexes]


def _provenance(pool: Pool, request: SelectionRequest, result: SelectionResult) -> dict[str, Any]:
    """Tool, pool, options and expected errors of a selection."""
    about: dict[str, Any] = {} if pool.spec is None else plain(pool.spec)
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
