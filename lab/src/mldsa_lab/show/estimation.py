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
from mldsa_lab.show.grid import UNKNOWN, Column, Grid, Shown, of_cost, of_interval
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


def estimation_report(found: Estimation) -> Report:
    """Return the report: estimates, then residuals; findings as its notes. Where no estimate holds,
    only the costs as measured."""
    about = f"{found.unit or 'unit not given'}, {found.inputs} input{'s' * (found.inputs > 1)}"
    about += f", {found.rounds} rounds" if found.rounds > 1 else ""
    findings = list(map(str, found.findings))
    residuals = Section(_residuals(found))
    if found.refutation:
        text = f"{found.set} signing: no estimate holds"
        return Report("estimate", text, found.figures(), [residuals], notes=[about, *findings])
    estimates = {"all inputs": _estimates(found)}
    if found.without_outliers is not None:
        estimates[found.without] = _estimates(found.without_outliers)
    columns = [Column("estimate of", list(_estimates(found)), head=True)]
    for title, intervals in estimates.items():
        cells = [of_interval(interval) for interval in intervals.values()]
        columns.append(Column(title, cells, number=True))
    average = [_average(found)] if found.average is not None else []
    mean = of_interval((found.without_outliers or found).mean)
    headline = (f"{found.set} signing: mean {mean}", found.unit, found.without)
    return Report(
        kind="estimate",
        headline=" ".join(filter(None, headline)),
        figures=found.figures(),
        sections=[
            Section(Grid(f"{found.set} signing", about, tuple(columns), found.confidence)),
            residuals,
        ],
        notes=[*average, *findings],
    )


def _estimates(found: Estimation) -> dict[str, Interval]:
    percentiles = {f"p{percent:g}": i for percent, i in found.percentiles.items()}
    return {"mean": found.mean, **percentiles, **{t: found.costs[n] for n, t in _COSTS.items()}}


def _average(found: Estimation) -> str:
    """The plain average, which the selection was made for."""
    assert found.average is not None
    text = f"plain average of the inputs: {of_cost(found.average.value)}"
    if found.goal_percentile is None:
        off = 100 * (found.average.value / found.mean.value - 1)
        return f"{text}, {off:+.2f} % from the mean above"
    share = f"{100 * found.average.share:.2f} % of all signatures"
    return f"{text}, chosen for p{found.goal_percentile:g}; by the fit {share} cost no more"


def _residuals(found: Estimation) -> Grid:
    """Return the largest residuals, or all where these are few; costs alone where no fit holds."""
    shown: Sequence[Residual] = found.residuals
    note = ""
    if len(shown) > _RESIDUALS:
        note = f"the {'first' if found.refutation else 'largest'} {_RESIDUALS} of {len(shown)}"
        by_size = sorted(shown, key=lambda r: -abs(r.relative or 0.0))
        shown = (shown if found.refutation else by_size)[:_RESIDUALS]
    least = min(r.cost for r in found.residuals)
    relative = [
        UNKNOWN if r.relative is None else Shown(off_text(1 + r.relative, 2)) for r in shown
    ]
    cells: dict[str, Sequence[str | Shown]] = {
        "id": [f"{r.id} (outlier)" if r.outlier else str(r.id) for r in shown],
        "attempts": [str(r.attempts) for r in shown],
        "z": [str(r.z) for r in shown],
        "r0": [str(r.r) for r in shown],
        "hint": [str(r.h) for r in shown],
        "cost": [of_cost(r.cost, least) for r in shown],
    }
    if not found.refutation:
        cells |= {"fit": [of_cost(r.fitted, least) for r in shown], "residual": relative}
    columns = (Column(title, of, number=True) for title, of in cells.items())
    return Grid("Costs" if found.refutation else "Residuals", note, tuple(columns))


# What was traced, beside what theory says.


_FAR = 4.0  # standard errors, which chance makes in one figure of 16,000


def print_tallies(tallies: Sequence[Tally], console: Console) -> None:
    """A table of the shares found and expected, with their distance in standard errors; and a
    sentence on those that chance does not explain."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("set", "", "found", "expected", "standard errors"):
        table.add_column(title, justify="left" if title in ("set", "") else "right")
    for tally in tallies:
        for number, (name, found, expected, distance) in enumerate(tally.rows()):
            table.add_row(
                tally.set if number == 0 else "",
                name,
                f"{found:.5f}",
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
