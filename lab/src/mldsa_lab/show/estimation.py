"""Reports of an estimation, and of a traced pool next to theory."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from mldsa_lab import join_words
from mldsa_lab.estimate.external import Estimation, Residual
from mldsa_lab.estimate.interval import Interval
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


def estimation_report(result: Estimation) -> Report:
    """Return the report: estimates, then residuals; findings as its notes. Without a valid estimate
    it has only the costs as measured."""
    about = f"{result.unit or 'unit not given'}, {result.inputs} input{'s' * (result.inputs > 1)}"
    about += f", {result.rounds} rounds" if result.rounds > 1 else ""
    findings = list(map(str, result.findings))
    residuals = Section(_list_residuals(result))
    if result.refutation:
        text = f"{result.set} signing: no estimate is valid"
        return Report("estimate", text, result.figures(), [residuals], notes=[about, *findings])
    estimates = {"all inputs": _name_estimates(result)}
    if result.without_outliers is not None:
        estimates[result.without] = _name_estimates(result.without_outliers)
    columns = [Column("estimate of", list(_name_estimates(result)), is_head=True)]
    for title, intervals in estimates.items():
        cells = [show_interval(interval) for interval in intervals.values()]
        columns.append(Column(title, cells, is_numeric=True))
    average = [_word_average(result)] if result.average is not None else []
    mean = show_interval((result.without_outliers or result).mean)
    headline = (f"{result.set} signing: mean {mean}", result.unit, result.without)
    return Report(
        kind="estimate",
        headline=" ".join(filter(None, headline)),
        figures=result.figures(),
        sections=[
            Section(Grid(f"{result.set} signing", about, tuple(columns), result.confidence)),
            residuals,
        ],
        notes=[*average, *findings],
        sentences=[_word_percentiles(result.without_outliers or result, result.unit)],
    )


def _name_estimates(result: Estimation) -> dict[str, Interval]:
    percentiles = {f"p{percent:g}": i for percent, i in result.percentiles.items()}
    return {"mean": result.mean, **percentiles, **{t: result.costs[n] for n, t in _COSTS.items()}}


def _word_percentiles(result: Estimation, unit: str | None) -> str:
    """The percentiles in a line."""
    listed = (f"p{percent:g} {show_interval(i)}" for percent, i in result.percentiles.items())
    return f"{' '.join(filter(None, (', '.join(listed), unit)))}."


def _word_average(result: Estimation) -> str:
    """The plain average, which the selection was made for."""
    assert result.average is not None
    text = f"plain average of the inputs: {format_cost(result.average.value)}"
    if result.goal_percentile is None:
        off = 100 * (result.average.value / result.mean.value - 1)
        return f"{text}, {off:+.2f} % from the mean above"
    share = f"{100 * result.average.share:.2f} % of all signatures"
    return f"{text}, chosen for p{result.goal_percentile:g}; by the fit {share} cost no more"


def _list_residuals(result: Estimation) -> Grid:
    """Return the largest residuals, or all where these are few; only costs where no fit is
    valid."""
    shown: Sequence[Residual] = result.residuals
    note = ""
    if len(shown) > _RESIDUALS:
        note = f"the {'first' if result.refutation else 'largest'} {_RESIDUALS} of {len(shown)}"
        by_size = sorted(shown, key=lambda r: -abs(r.relative or 0.0))
        shown = (shown if result.refutation else by_size)[:_RESIDUALS]
    least = min(r.cost for r in result.residuals)
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
    if not result.refutation:
        cells |= {"fit": [format_cost(r.fitted, least) for r in shown], "residual": relative}
    columns = (Column(title, values, is_numeric=True) for title, values in cells.items())
    return Grid("Costs" if result.refutation else "Residuals", note, tuple(columns))


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
