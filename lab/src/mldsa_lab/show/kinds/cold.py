"""Records of cold starts."""

from __future__ import annotations

from collections.abc import Sequence

from mldsa_lab.estimate.cold import LATE, cold_figures
from mldsa_lab.estimate.figure import Figure
from mldsa_lab.records import Record
from mldsa_lab.show.figure_tables import Lines, SpreadColumns, TableLayout
from mldsa_lab.show.kinds.kind import ROW_KEYS, Kind

_SPREAD = ("min", "p50", "p95", "p99", "max", "sd", "resolution")


def _cold_layouts(record: Record) -> tuple[TableLayout, ...]:
    over = SpreadColumns("cost", "{value}", "call")
    rows = ("language", *ROW_KEYS)
    title = "{set} {operation}: cost of the n-th call of a process"
    spread = tuple(SpreadColumns(n, n) for n in _SPREAD)
    late = f"{{set}} {{operation}}: single calls from the {LATE}th of a process on"
    return (
        TableLayout(
            title,
            ("set", "operation"),
            rows,
            (over,),
            (Lines("cost", "call", ("implementation",)),),
        ),
        TableLayout(late, ("set", "operation"), rows, spread),
    )


def _cold_headline(record: Record, figures: Sequence[Figure]) -> str:
    """The range over implementations of what the first call costs, in multiples of the last."""
    first = [f for f in figures if f.name == "over_last" and f.keys["call"] == 1]
    named = [f for f in first if f.keys["operation"] == first[0].keys["operation"]]
    named = [f for f in named if f.keys["set"] == first[0].keys["set"]]
    values = sorted(f.value for f in named if f.value is not None)
    if not values:
        return "Cost of the first operations of a process"
    of = f"{named[0].keys['set']} {named[0].keys['operation']}"
    span = f"{values[0]:.3g}" + (f" to {values[-1]:.3g}" if len(values) > 1 else "")
    return f"{of}: the first call of a process costs {span} times as much as a late one"


COLD = Kind(
    "cold start",
    _cold_headline,
    cold_figures,
    _cold_layouts,
)
