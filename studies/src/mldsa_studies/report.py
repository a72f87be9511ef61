"""A study of estimators as a report: figures over implementations, their tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.show.figure_tables import SpreadColumns, TableLayout
from mldsa_lab.show.format import Unit, plain
from mldsa_lab.show.report import PlotSpec, Report, Section, sections_of
from mldsa_studies.costs import Costs
from mldsa_studies.evaluate import COUNT, MEDIAN, ONCE, MethodErrors, Study, target_name
from mldsa_studies.judge import root_mean_square
from mldsa_studies.plan import MEAN, METHODS, PARTS, PERCENTILES, REGRESSION

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

KINDS = {
    ONCE: "time, each input once",
    MEDIAN: "time, median of the rounds",
    COUNT: "instructions",
}
"""What was measured of each input, in words."""
SHOWN_N = 10
"""The number of inputs of the headline and of detailed tables, if the study has it."""
PERCENT = "%"
_METHOD = (
    "Each signature was compared with the expected one. Times are the thread's own. “Each input "
    "once”: a draw takes the times of one round, the rounds brought to one level. “Median of the "
    "rounds”: every input was measured in all rounds. Instructions are counted by Callgrind. "
    "Random: the mean of n random inputs, and their sample percentiles. Greedy: the nearest "
    "published method (zeroRISC, “Efficiently Measuring ML-DSA Signing Performance”), implemented "
    "anew; each draw has a fresh pool of {pool:,} candidates by the exact law of rejections, and "
    "measured inputs that failed the same checks as often stand for the chosen ones. Balanced: "
    "inputs whose rejected attempts add up to n times the expected ones. Regression: inputs "
    "designed to tell the cost of each kind of attempt; the fitted cost at the exact expectations. "
    "Balanced and designed inputs come from pools of one part in {parts} of the inputs measured, "
    "so draws are not quite independent. The truth is a regression of all random inputs on all "
    "that is known of their traces, at the exact expectations; “left open” is the standard "
    "deviation of what the trace does not explain."
)


def report(study: Study) -> Report:
    """Return the report: its figures are those of each implementation, as fractions."""
    shown = _shown_n(study)
    groups = _groups(study.cells)
    columns = [SpreadColumns("rmse", "n = {value}", "n")]
    mean = [f for f in groups if f.keys["target"] == target_name(MEAN)]
    sections = sections_of(
        mean,
        [
            TableLayout(
                "Error of the mean, {measured}, {set}", ("measured", "set"), ("method",),
                tuple(columns), columns[0], series=("method",),
            )
        ],
        0.95, "root mean square over draws and implementations",
    )  # fmt: skip
    apart = tuple(SpreadColumns(name, "n = {value}", "n") for name in ("sd", "bias"))
    for title, spread in zip(("Standard deviation", "Bias"), apart, strict=True):
        layout = TableLayout(
            f"{title} of the mean, {{measured}}", ("measured",), ("set", "method"), (spread,)
        )
        sections += sections_of(mean, [layout], 0.95, brief=False)
    tails = [f for f in groups if f.keys not in [m.keys for m in mean] and f.keys["n"] == shown]
    layout = TableLayout(
        f"Error of percentiles from n = {shown}, {{measured}}", ("measured",), ("set", "method"),
        (SpreadColumns("rmse", "{value}", "target"),),
    )  # fmt: skip
    sections += sections_of(tails, [layout], 0.95, "root mean square")
    sections += _single(study, shown)
    layout = TableLayout(
        "What counts as the truth, {measured}", ("measured",), ("set", "variant"),
        (SpreadColumns("mean", "mean"), SpreadColumns("error", "its error"),
         SpreadColumns("plain", "plain mean of the sample"), SpreadColumns("open", "left open"),
         *(SpreadColumns(target_name(p), target_name(p)) for p in PERCENTILES)),
    )  # fmt: skip
    sections += sections_of(_truths(study), [layout], 0.95, brief=False)
    return Report(
        kind="study of estimators",
        headline=f"Mean signing cost from {shown} designed inputs with regression: off by "
        + "; ".join(_summary(study, mean, shown)),
        figures=[f for cell in study.cells for f in cell.figures()],
        sections=sections,
        about=f"{study.plan.draws} draws of each method, for n of 50 and more "
        f"{study.plan.draws_of(50)}; seed {study.plan.seed}",
        method=_METHOD.format(pool=study.plan.pool, parts=PARTS),
        notes=list(dict.fromkeys(map(_source, study.costs))),
    )


def _shown_n(study: Study) -> int:
    return SHOWN_N if SHOWN_N in study.plan.sizes else max(study.plan.sizes)


def _groups(cells: Sequence[MethodErrors]) -> list[Figure]:
    """Return the errors over implementations, in percent: root mean squares, and the mean bias."""
    found: dict[tuple[Key, ...], list[dict[str, float]]] = {}
    names = ("measured", "set", "method", "n", "target")
    for cell in cells:
        place = tuple(cell.keys[name] for name in names)
        values = {f.name: 100 * (f.value or 0.0) for f in cell.figures()}
        found.setdefault(place, []).append(values)
    figures = []
    for place, of in found.items():
        keys = dict(zip(names, place, strict=True)) | {"measured": KINDS[str(place[0])]}
        rmse, sd = (root_mean_square(v[name] for v in of) for name in ("rmse", "sd"))
        bias = sum(v["bias"] for v in of) / len(of)
        for name, value in (("rmse", rmse), ("sd", sd), ("bias", bias)):
            figures.append(Figure(keys, name, value, unit=PERCENT))
    return sorted(figures, key=_place)


def _place(f: Figure) -> tuple[int, str, int, int]:
    """Where a figure stands in tables."""
    kind = list(KINDS.values()).index(str(f.keys["measured"]))
    n = f.keys["n"]
    assert isinstance(n, int)
    return kind, str(f.keys["set"]), METHODS.index(str(f.keys["method"])), n


def _summary(study: Study, mean: Sequence[Figure], shown: int) -> list[str]:
    """Return the error of the regression for each kind of measurement, over all sets."""
    found: dict[str, list[float]] = {}
    for f in mean:
        if (f.name, f.keys["n"], f.keys["method"]) == ("rmse", shown, REGRESSION):
            found.setdefault(str(f.keys["measured"]), []).append(f.value or 0.0)
    unit = Unit(1.0, PERCENT)
    return [f"{plain(root_mean_square(of), unit)} % ({kind})" for kind, of in found.items()]


def _single(study: Study, shown: int) -> list[Section]:
    """Return errors of the mean by implementation, with the spread of the draws as a plot."""
    sections = []
    for kind, words in KINDS.items():
        cells = [
            c
            for c in study.cells
            if (c.keys["measured"], c.keys["n"], c.keys["target"]) == (kind, shown, "mean")
        ]
        figures = [
            Figure(c.keys, f.name, 100 * (f.value or 0.0), unit=PERCENT)
            for c in cells
            for f in c.figures()
            if f.name == "rmse"
        ]
        title = f"Error of the mean from n = {shown} by implementation, {words}"
        spread = (SpreadColumns("rmse", "{value}", "method"),)
        layout = TableLayout(title, (), ("set", "implementation"), spread)
        made = sections_of(figures, [layout], 0.95, "root mean square over draws", brief=False)
        plot = PlotSpec(
            "Estimates of the mean: the middle half of the draws, the middle 90 %, the median",
            lambda cells=cells: draw_spread(cells),  # type: ignore[misc]
        )
        sections += [Section(s.grid, s.table, (plot,), brief=False) for s in made]
    return sections


def draw_spread(cells: Sequence[MethodErrors]) -> Drawing:
    """Draw the relative errors of the draws: a box for each implementation, set and method."""
    from mldsa_lab.show import svg

    cells = sorted(cells, key=lambda c: METHODS.index(str(c.keys["method"])), reverse=True)
    height = 56 + 16 * len(cells)
    figure = svg.new_figure(760, height)
    axes = figure.subplots()
    errors = [100 * c.errors for c in cells]
    labels = [f"{c.keys['method']}, {c.keys['implementation']} {c.keys['set']}" for c in cells]
    found = axes.boxplot(
        errors, orientation="horizontal", whis=(5, 95), showfliers=False, patch_artist=True
    )
    axes.set_yticklabels(labels)
    for place, cell in enumerate(cells):
        colour = svg.series(METHODS.index(str(cell.keys["method"])))
        found["boxes"][place].set(facecolor=colour, edgecolor=colour)
        found["medians"][place].set(color=svg.INK)
        for name in ("whiskers", "caps"):
            for line in found[name][2 * place : 2 * place + 2]:
                line.set(color=colour)
    axes.set_xscale("symlog", linthresh=0.1 if cells[0].keys["measured"] == COUNT else 1.0)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.axvline(0, color=svg.MUTED, linewidth=1)
    axes.grid(axis="x")
    axes.set_xlabel("estimate less truth, in % of the truth")
    figure.subplots_adjust(left=0.32, right=0.98, bottom=46 / height, top=0.99)
    return figure


def _truths(study: Study) -> list[Figure]:
    figures = []
    for (number, kind), found in study.truths.items():
        head = study.costs[number].head
        about = head.series[0]
        keys: dict[str, Key] = {
            "measured": KINDS[kind], "set": head.set, "variant": f"{about.variant} {about.version}",
        }  # fmt: skip
        mean = found.mean
        costs = {"mean": mean.value} | {target_name(p): q.value for p, q in found.quantiles.items()}
        figures += [Figure(keys, name, value, unit=head.unit) for name, value in costs.items()]
        relative = {
            "error": mean.error / mean.value,
            "plain": found.plain / mean.value - 1,
            "open": found.unexplained,
        }
        figures += [Figure(keys, name, 100 * v, unit=PERCENT) for name, v in relative.items()]
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
