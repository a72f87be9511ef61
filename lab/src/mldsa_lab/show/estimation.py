"""Reports of an estimation, and of a traced pool next to theory."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from mldsa_lab import join_words
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.measured import Estimation, Residual
from mldsa_lab.estimate.misfit import off_text
from mldsa_lab.inputs.tracing import Tally
from mldsa_lab.show.grid import UNKNOWN, Column, Grid, Shown, format_cost, show_interval
from mldsa_lab.show.report import Report, Section

# An estimation as a report.


_COSTS = {
    "setup": "set-up, without the final attempt",
    "z": "attempt rejected at z",
    "r": "attempt rejected at r0",
    "h": "attempt rejected at the hint",
    "final": "final attempt (as one rejected at the hint)",
    "first": "signature accepted at once",
}
# More residuals than this are shown by the largest ones.
_RESIDUALS = 24


def estimation_report(estimation: Estimation) -> Report:
    """Return the report: estimates, then residuals; findings as its notes. Where no estimate holds,
    only the costs as measured."""
    about = f"{estimation.unit or 'unit not given'}, {estimation.inputs} input"
    about += "s" if estimation.inputs > 1 else ""
    about += f", {estimation.rounds} rounds" if estimation.rounds > 1 else ""
    findings = list(map(str, estimation.findings))
    residuals = Section(_list_residuals(estimation))
    if estimation.refutation:
        text = f"{estimation.set} signing: no estimate holds"
        return Report("estimate", text, estimation.figures(), [residuals], notes=[about, *findings])
    estimates = {"all inputs": _name_estimates(estimation)}
    if estimation.without_outliers is not None:
        estimates[estimation.without] = _name_estimates(estimation.without_outliers)
    columns = [Column("estimate of", list(_name_estimates(estimation)), is_head=True)]
    for title, intervals in estimates.items():
        cells = [show_interval(interval) for interval in intervals.values()]
        columns.append(Column(title, cells, is_numeric=True))
    average = [_word_average(estimation)] if estimation.average is not None else []
    mean = show_interval((estimation.without_outliers or estimation).mean)
    headline = (f"{estimation.set} signing: mean {mean}", estimation.unit, estimation.without)
    return Report(
        kind="estimate",
        headline=" ".join(filter(None, headline)),
        figures=estimation.figures(),
        sections=[
            Section(
                Grid(f"{estimation.set} signing", about, tuple(columns), estimation.confidence)
            ),
            residuals,
        ],
        notes=[*average, *findings],
    )


def _name_estimates(estimation: Estimation) -> dict[str, Interval]:
    percentiles = {f"p{percent:g}": i for percent, i in estimation.percentiles.items()}
    return {
        "mean": estimation.mean,
        **percentiles,
        **{t: estimation.costs[n] for n, t in _COSTS.items()},
    }


def _word_average(estimation: Estimation) -> str:
    """The plain average, which the selection was made for."""
    assert estimation.average is not None
    text = f"plain average of the inputs: {format_cost(estimation.average.value)}"
    if estimation.goal_percentile is None:
        off = 100 * (estimation.average.value / estimation.mean.value - 1)
        return f"{text}, {off:+.2f} % from the mean above"
    share = f"{100 * estimation.average.share:.2f} % of all signatures"
    return f"{text}, chosen for p{estimation.goal_percentile:g}; by the fit {share} cost no more"


def _list_residuals(estimation: Estimation) -> Grid:
    """Return the largest residuals, or all where these are few; costs alone where no fit holds."""
    shown: Sequence[Residual] = estimation.residuals
    note = ""
    if len(shown) > _RESIDUALS:
        note = f"the {'first' if estimation.refutation else 'largest'} {_RESIDUALS} of {len(shown)}"
        by_size = sorted(shown, key=lambda r: -abs(r.relative or 0.0))
        shown = (shown if estimation.refutation else by_size)[:_RESIDUALS]
    least = min(r.cost for r in estimation.residuals)
    relative = [
        UNKNOWN if r.relative is None else Shown(off_text(1 + r.relative, 2)) for r in shown
    ]
    cells: dict[str, Sequence[str | Shown]] = {
        "id": [f"{r.id} (outlier)" if r.outlier else str(r.id) for r in shown],
        "attempts": [str(r.iterations) for r in shown],
        "z": [str(r.z) for r in shown],
        "r0": [str(r.r) for r in shown],
        "hint": [str(r.h) for r in shown],
        "cost": [format_cost(r.cost, least) for r in shown],
    }
    if not estimation.refutation:
        cells |= {"fit": [format_cost(r.fitted, least) for r in shown], "residual": relative}
    columns = (Column(title, values, is_numeric=True) for title, values in cells.items())
    return Grid("Costs" if estimation.refutation else "Residuals", note, tuple(columns))


# Traced shares next to theory.


_FAR = 4.0  # standard errors, which chance makes in one figure of 16,000


def print_tallies(tallies: Sequence[Tally], console: Console) -> None:
    """A table of the shares found and expected, with their distance in standard errors; and a
    sentence on those that chance does not explain."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("set", "", "found", "expected", "standard errors"):
        table.add_column(title, justify="left" if title in ("set", "") else "right")
    for tally in tallies:
        for number, (name, measured, expected, distance) in enumerate(tally.rows()):
            table.add_row(
                tally.set if number == 0 else "",
                name,
                f"{measured:.5f}",
                f"{expected:.5f}",
                "depends on the key" if distance is None else f"{distance:+.1f}",
            )
        table.add_row("", "longest", f"{tally.longest} attempts", "", "")
    console.print(table)
    for tally in tallies:
        far = {name: abs(d) for name, _, _, d in tally.rows() if d is not None and abs(d) > _FAR}
        if far:
            console.print(
                f"{tally.set}: {join_words(far)} up to {max(far.values()):.0f} standard errors "
                "from what theory says of all signatures. Were these inputs chosen by their "
                "traces, or crafted? Averages over them are not those of all signatures."
            )
