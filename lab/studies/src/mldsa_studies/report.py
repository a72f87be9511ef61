"""A study of estimators as a report: figures over implementations and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mldsa_lab.estimate.figure import Figure, Key, as_key
from mldsa_lab.show.figure_tables import Lines, SpreadColumns, TableLayout
from mldsa_lab.show.report import Report, sections_of
from mldsa_studies.choices import METHODS, REGRESSION
from mldsa_studies.costs import Costs
from mldsa_studies.evaluate import COUNT, MEDIAN, ONCE, MethodErrors, Study
from mldsa_studies.judge import root_mean_square

KINDS = {ONCE: "time, each input once", MEDIAN: "time, median of the rounds", COUNT: "instructions"}
"""The measurements of each input, in words."""
SHOWN_N = 10
"""The number of inputs of the headline and of detailed tables, if the study has it."""
_METHOD = (
    "Each signature was compared with the expected one. “Each input once”: a draw takes the times "
    "of one round. “Median of the rounds”: every input was measured in all rounds. Counts are "
    "Callgrind's. The truth is a regression of all random inputs on all that is known of their "
    "traces, at the exact expectations; “left open” is the standard deviation of what the trace "
    "does not explain. lab/notes/study-estimators.md describes the methods."
)
_OVER = "over draws and implementations"
_BY_N = SpreadColumns("rmse", "n = {value}", "n")
_MEANS = TableLayout(
    "Error of the mean, {measured}, {set}", ("target", "measured", "set"), ("method",), (_BY_N,),
    (Lines("rmse", "n", ("method",)),),
)  # fmt: skip
_PARTS = [
    TableLayout(
        f"{title} of the mean, {{measured}}", ("target", "measured"), ("set", "method"),
        (SpreadColumns(name, "n = {value}", "n"),),
    )
    for name, title in (("sd", "Standard deviation"), ("bias", "Bias"))
]  # fmt: skip
_TAILS = TableLayout(
    "Error of percentiles from n = {n}, {measured}", ("n", "measured"), ("set", "method"),
    (SpreadColumns("rmse", "{value}", "target"),),
)  # fmt: skip
_SINGLE = TableLayout(
    "Error of the mean from n = {n} by implementation, {measured}", ("target", "n", "measured"),
    ("set", "implementation"), (SpreadColumns("rmse", "{value}", "method"),),
)  # fmt: skip
_PLAIN: Mapping[str, Key] = {"of": "plain mean"}
_TRUTHS = TableLayout(
    "What counts as the truth, {measured}", ("measured",), ("set", "variant"),
    (
        SpreadColumns("mean", "mean"),
        SpreadColumns("standard_error", "its error"),
        SpreadColumns("bias", "plain mean of the sample", keys=_PLAIN),
        SpreadColumns("sd", "left open"),
        SpreadColumns("quantile", "p{value}", "percentile"),
    ),
)  # fmt: skip


def report(study: Study) -> Report:
    """Return the report: its figures are by implementation, as fractions."""
    shown = SHOWN_N if SHOWN_N in study.plan.sizes else max(study.plan.sizes)
    groups, cells = (
        sorted(_groups(study.cells, by), key=_place) for by in ((), ("implementation",))
    )
    means = [f for f in groups if f.keys["target"] == "mean"]
    tails = [f for f in groups if f.keys["target"] != "mean" and f.keys["n"] == shown]
    single = [f for f in cells if f.keys["target"] == "mean" and f.keys["n"] == shown]
    rms = f"root mean square {_OVER}"
    best = {
        f.keys["measured"]: 100 * (f.value or 0.0)
        for f in _groups(study.cells, (), ("measured", "method", "n", "target"))
        if (f.name, f.keys["method"], f.keys["n"], f.keys["target"])
        == ("rmse", REGRESSION, shown, "mean")
    }
    return Report(
        kind="study of estimators",
        headline=f"Mean signing cost from {shown} designed inputs with regression: off by "
        + "; ".join(f"{value:.2g} % ({kind})" for kind, value in best.items()),
        figures=[f for cell in study.cells for f in cell.figures()],
        sections=[
            *sections_of(means, [_MEANS], 0.95, rms),
            *sections_of(tails, [_TAILS], 0.95, rms),
            *sections_of(means, _PARTS, 0.95, _OVER, is_brief=False),
            *sections_of(single, [_SINGLE], 0.95, "root mean square over draws", is_brief=False),
            *sections_of(_truths(study), [_TRUTHS], 0.95, is_brief=False),
        ],
        about=f"{study.plan.draws} draws of each method, for n of 50 and more "
        f"{study.plan.draws_of(50)}; greedy selections from {study.plan.pool:,} candidates; "
        f"seed {study.plan.seed}",
        method=_METHOD,
        notes=list(dict.fromkeys(map(_source, study.costs))),
    )


def _groups(
    cells: Sequence[MethodErrors],
    more: tuple[str, ...],
    names: tuple[str, ...] = ("measured", "set", "method", "n", "target"),
) -> list[Figure]:
    """Return the errors over the cells that agree in these keys: root mean squares, and the mean
    bias."""
    result: dict[tuple[Key, ...], list[dict[str, float]]] = {}
    for cell in cells:
        values = {f.name: f.value or 0.0 for f in cell.figures()}
        keys = {**cell.keys, "implementation": cell.implementation}
        result.setdefault(tuple(keys[k] for k in (*names, *more)), []).append(values)
    figures = []
    for place, errors in result.items():
        keys = dict(zip((*names, *more), place, strict=True))
        keys["measured"] = KINDS[str(keys["measured"])]
        values = {name: root_mean_square(v[name] for v in errors) for name in ("rmse", "sd")}
        values["bias"] = sum(v["bias"] for v in errors) / len(errors)
        figures += [Figure(keys, name, value) for name, value in values.items()]
    return figures


def _place(f: Figure) -> tuple[int, str, int]:
    kind = list(KINDS.values()).index(str(f.keys["measured"]))
    return kind, str(f.keys["set"]), METHODS.index(str(f.keys["method"]))


def _truths(study: Study) -> list[Figure]:
    figures = []
    for (number, kind), result in study.truths.items():
        head, mean = study.costs[number].head, result.mean
        variant = f"{head.series[0].variant} {head.series[0].version}"
        keys: dict[str, Key] = {"measured": KINDS[kind], "set": head.set, "variant": variant}
        figures.append(Figure(keys, "mean", mean.value, unit=head.unit))
        for p, quantile in result.quantiles.items():
            own = {**keys, "percentile": as_key(p)}
            figures.append(Figure(own, "quantile", quantile.value, unit=head.unit))
        figures.append(Figure(keys, "standard_error", mean.error / mean.value))
        figures.append(Figure({**keys, **_PLAIN}, "bias", result.plain / mean.value - 1))
        figures.append(Figure(keys, "sd", result.unexplained))
    return figures


def _source(costs: Costs) -> str:
    """Return where a file's costs come from."""
    head = costs.head
    loads = [r["load1"] for r in head.rounds if isinstance(r.get("load1"), int | float)]
    load = f"load {min(loads):.1f} to {max(loads):.1f}" if loads else "load not known"
    return (
        f"{head.set}, {head.unit}: {head.sample:,} random inputs and {len(costs) - head.sample:,} "
        f"of rare classes, seed {head.spec.seed.hex()}; {len(head.rounds)} rounds from "
        f"{head.rounds[0].get('started', 'an unknown time')}, {load}, "
        f"{head.machine.get('cpu') or 'CPU not known'}."
    )
