"""An estimation in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.measured import Estimation
from mldsa_lab.show.format import MISSING, clean, of_cost, of_interval

_COSTS = (
    ("setup", "once a signature, the final attempt left out"),
    ("z", "attempt rejected at z"),
    ("r", "attempt rejected at r0"),
    ("h", "attempt rejected at the hint"),
    ("final", "final attempt (as one rejected at the hint)"),
    ("first", "signature accepted at once"),
)
# More residuals than this are shown by the largest ones.
_RESIDUALS = 24


def print_estimation(found: Estimation, console: Console) -> None:
    """The tables of an estimation, then what was found to be wrong."""
    inputs = len(found.residuals)
    counted = f"{inputs} input{'s' if inputs > 1 else ''}"
    if found.rounds > 1:
        counted += f", {found.rounds} rounds"
    console.print(
        Text.assemble(
            (f"{found.set}  signing", "bold"),
            (f"   {found.unit or 'unit not given'}, {counted}", "dim"),
        )
    )
    calm = found.without_outliers
    table = _table("", f"{100 * found.confidence:g} % interval", found, calm)
    _row(table, "mean", found.mean, None if calm is None else calm.mean, "bold")
    for percent, interval in found.percentiles.items():
        other = None if calm is None else calm.percentiles[percent]
        _row(table, f"p{percent:g}", interval, other)
    console.print(Padding(table, (1, 0)))
    if found.average is not None:
        _average(found, console)
    table = _table("cost of", f"{100 * found.confidence:g} % interval", found, calm)
    for name, text in _COSTS:
        _row(table, text, found.costs[name], None if calm is None else calm.costs[name])
    console.print(Padding(table, (0, 0, 1, 0)))
    console.print(Padding(_residuals(found), (0, 0, 1, 0)))
    if inputs > _RESIDUALS:
        console.print(f"the {_RESIDUALS} largest residuals of {inputs}\n", style="dim")
    for finding in found.findings:
        style = "bold red" if finding.severity == "warning" else "yellow"
        console.print(
            Text.assemble((f"{finding.severity}: {finding.code}: ", style), clean(finding.text))
        )


def _table(name: str, limits: str, found: Estimation, calm: Estimation | None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(name, no_wrap=True)
    table.add_column("estimate", justify="right")
    table.add_column(limits)
    if calm is not None:
        ids = ", ".join(str(r.id) for r in found.residuals if r.outlier)
        table.add_column(f"without {ids}", justify="right")
        table.add_column(limits)
    return table


def _row(
    table: Table, name: str, interval: Interval, other: Interval | None, style: str = ""
) -> None:
    cells = [name]
    for each in (interval, other):
        if each is not None:
            shown = of_interval(each)
            cells += [shown.value, shown.interval]
    table.add_row(*cells, style=style)


def _average(found: Estimation, console: Console) -> None:
    """The plain average, which the selection was made for."""
    assert found.average is not None
    value = of_cost(found.average.value)
    if found.goal == "mean":
        off = 100 * (found.average.value / found.mean.value - 1)
        text = f"plain average of the inputs: {value}, {off:+.2f} % from the mean above"
    else:
        text = (
            f"plain average of the inputs, chosen for p{found.percentile:g}: {value}, which by "
            f"the fit {100 * found.average.share:.2f} % of all signatures do not exceed"
        )
    console.print(Text(text + "\n"))


def _residuals(found: Estimation) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("id", "attempts", "z", "r0", "hint", "cost", "fit", "residual"):
        table.add_column(title, justify="right")
    shown = found.residuals
    if len(shown) > _RESIDUALS:
        shown = tuple(sorted(shown, key=lambda r: -abs(r.relative or 0.0))[:_RESIDUALS])
    least = min(r.cost for r in found.residuals)
    for r in shown:
        table.add_row(
            *(str(v) for v in (r.id, r.attempts, r.z, r.r, r.h)), of_cost(r.cost, least),
            of_cost(r.fitted, least),
            MISSING if r.relative is None else f"{100 * r.relative:+.2f} %",
            style="red" if r.outlier else "",
        )  # fmt: skip
    return table
