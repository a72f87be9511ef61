"""One self-contained HTML page from records: no network, no script needed to read it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import resources

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.compare import compare
from mldsa_lab.sets import SIGNATURE_OPERATIONS
from mldsa_lab.show import elsewhere, plotdata, plots, run_plots, sections, svg, tables
from mldsa_lab.show.compare import sections_over_runs
from mldsa_lab.show.elsewhere import Elsewhere
from mldsa_lab.show.findings import Findings, find
from mldsa_lab.show.format import clean
from mldsa_lab.show.grid import Grid, heading
from mldsa_lab.show.runs import batches, scaling, threads
from mldsa_lab.show.view import SHOWN_OPERATIONS, Table, View

WIDE, NARROW = 1150, 360
"""Widths in CSS pixels of a distribution plot on a wide page and on a phone."""
RUN_WIDTH, HALF_WIDTH = 760, 540
"""Widths of the plots over batch size, and over threads, of which two stand side by side."""
MOST_WITH_CLOUDS = 2
"""Records in a page that still shows cost against attempts of each; more would make it heavy."""


@dataclass(slots=True)
class Operation:
    """A table with its plots as SVG text."""

    table: Table
    title: str
    grid: Grid
    ranking: Markup
    ratios: Markup | None
    decomposition: Markup | None = None
    distribution: tuple[Markup, Markup] | None = None
    clouds: list[tuple[str, Markup]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OfSet:
    """One set of a record: how implementations stand in it, then each operation whole."""

    name: str
    overviews: list[Grid]
    operations: tuple[Operation, ...]

    @property
    def distribution(self) -> tuple[Markup, Markup] | None:
        """The distribution of its signing cost, for a wide page and a narrow one."""
        return next((o.distribution for o in self.operations if o.distribution), None)


@dataclass(frozen=True, slots=True)
class Chapter:
    """One record as the template shows it. `prefix` makes its anchors unique in the page;
    `batches` and `threads` are tables with their plots, `versus` and `leaders` tables; `others` is
    the table of each family beside ML-DSA."""

    prefix: str
    name: str
    view: View
    findings: Findings
    sets: tuple[OfSet, ...]
    batches: list[tuple[Grid, Markup]]
    threads: list[tuple[Grid, Markup, Markup]]
    scaling: str
    versus: Grid | None
    leaders: Grid | None
    others: dict[str, Grid]

    @property
    def main(self) -> OfSet | None:
        """The set on the first screen."""
        return next((s for s in self.sets if s.name == self.view.main_set), None)


def render(views: Sequence[View], measured: Sequence[Elsewhere] = ()) -> str:
    """The page of one record, or of several compared, as text; `measured`: what others measured
    elsewhere. LabError if there is no record."""
    if not views:
        raise LabError("a page needs at least one record")
    several = len(views) > 1
    letters = several and len(views) <= 26
    names = [f"Run {chr(65 + i) if letters else i + 1}" for i in range(len(views))]
    chapters = [
        _chapter(view, f"r{i + 1}-" if several else "", names[i], len(views) <= MOST_WITH_CLOUDS)
        for i, view in enumerate(views)
    ]
    compared = _compared(views) if several else []
    confidence = views[0].summary.confidence
    script = asset("page.js")
    return templates("mldsa_lab.show").get_template("page.html.j2").render(
        chapters=chapters, several=several, compared=compared,
        elsewhere=_elsewhere(measured, views, confidence), elsewhere_note=elsewhere.NOTE,
        headline=_headline(chapters, several), css=Markup(asset("page.css")),
        script=Markup(script), script_hash=script_hash(script), sections=sections,
        titles=tables.TITLES, heading=heading,
        shown=[o for o in SHOWN_OPERATIONS if o in SIGNATURE_OPERATIONS],
        mix_names=plots.MIX_NAMES, total_series=svg.SERIES_COUNT,
    )  # fmt: skip


def _compared(views: Sequence[View]) -> list[Grid]:
    whole = views[0].summary
    figures = compare(
        [v.record for v in views], reference=whole.reference, clock=whole.clock,
        confidence=whole.confidence, summaries=[v.summary for v in views],
    )  # fmt: skip
    return [section.grid for section in sections_over_runs(figures, whole.confidence)]


def _headline(chapters: Sequence[Chapter], several: bool) -> str:
    if not several:
        return chapters[0].findings.headline
    headlines = {c.findings.headline for c in chapters}
    if len(headlines) == 1:
        return f"{headlines.pop()}: {len(chapters)} runs agree"
    return f"{len(chapters)} runs compared"


def _chapter(view: View, prefix: str, name: str, clouds: bool) -> Chapter:
    reference = view.summary.reference
    sets = []
    for s in view.sets:
        made = (_operation(view, t, f"{prefix}{s}-{i}", clouds) for i, t in enumerate(view.of(s)))
        sets.append(OfSet(s, tables.overviews(view, s), tuple(made)))
    in_batches, on_threads = [], []
    for batch in batches(view):
        unit, paths = batch.unit.name, run_plots.batch_paths(batch, reference)
        plot = _draw(
            f"{prefix}batch-{batch.set}-{batch.operation}",
            f"Cost of {batch.set} {batch.operation} over batch size, in {unit}",
            run_plots.batch_costs, paths, batch.numbers, unit, RUN_WIDTH,
        )  # fmt: skip
        in_batches.append((tables.of_batches(batch, view), plot))
    for threaded in threads(view):
        what, unit = f"{threaded.set} {threaded.operation}", threaded.unit.name
        counts = threaded.numbers
        anchor = f"{prefix}threads-{threaded.set}-{threaded.operation}"
        rates = _draw(
            anchor, f"Throughput of {what} over threads, {unit}",
            run_plots.throughput, run_plots.rate_paths(threaded), counts, unit, HALF_WIDTH,
        )  # fmt: skip
        scaled = _draw(
            f"{anchor}-scaling", f"Throughput of {what} over that of one thread",
            run_plots.scaling, run_plots.scaling_paths(threaded), counts, HALF_WIDTH,
        )  # fmt: skip
        on_threads.append((tables.of_threads(threaded, view), rates, scaled))
    stands_beside = (in_batches or on_threads) and view.summary.classical
    return Chapter(
        prefix, name, view, find(view), tuple(sets), in_batches, on_threads, scaling(view),
        tables.beside(view) if stands_beside else None, tables.leaders(view),
        {family: tables.of_family(view, family) for family in view.others},
    )  # fmt: skip


def _operation(view: View, table: Table, name: str, clouds: bool) -> Operation:
    unit, what = table.unit, f"{table.set} {table.operation}"
    of = f"mean and {100 * view.summary.confidence:g} % interval"
    reference = view.summary.reference
    means, ratios = plotdata.marks(table, "mean"), plotdata.marks(table, "ratio")
    signing = table.operation == "sign"
    width = 380 if signing else 460
    listed = ", ".join(f"{m.label} {m.text}" for m in means)
    made = Operation(
        table, tables.TITLES[table.operation], tables.results(table, view, brief=not signing),
        _draw(f"{name}-mean", f"Mean cost of {what} in {unit.name}: {listed}",
              plots.ranking, means, unit.name, of, width),
        _draw(f"{name}-ratio", f"Cost of {what} relative to {reference}: "
              + ", ".join(f"{m.label} {m.text}" for m in ratios),
              plots.ratios, ratios, reference, width) if ratios else None,
    )  # fmt: skip
    pairs = plotdata.fitted(view, table) if signing else []
    if not pairs:
        return made
    curves = plotdata.curves(plotdata.chosen(pairs), unit)
    bars = plotdata.bars(pairs, table.set, unit)
    law = f"Estimated distribution of the cost of {what} in {unit.name}, over percentiles"
    made.distribution = _laws(f"{name}-law", law, curves, unit.name)
    made.decomposition = _draw(
        f"{name}-parts", f"Parts of the mean cost of {what}",
        plots.decomposition, bars, unit.name,
    )  # fmt: skip
    for index, (line, fit) in enumerate(pairs if clouds else ()):
        cloud = plotdata.cloud(fit, table.set, unit)
        picture = _draw(
            f"{name}-cloud{index}", f"Cost against attempts of {line.label}, {what}",
            plots.cost_against_attempts, cloud, unit.name,
        )  # fmt: skip
        made.clouds.append((line.label, picture))
    return made


def _laws(name: str, title: str, curves: Sequence[plots.Curve], unit: str) -> tuple[Markup, Markup]:
    return (
        _draw(name, title, plots.distribution, curves, unit, WIDE),
        _draw(f"{name}n", title, plots.distribution, curves, unit, NARROW),
    )


def _elsewhere(
    measured: Sequence[Elsewhere], views: Sequence[View], confidence: float
) -> list[tuple[Grid, tuple[Markup, Markup] | None]]:
    """Tables of what was measured elsewhere, those by set with their distributions."""
    if not measured:
        return []
    made: list[tuple[Grid, tuple[Markup, Markup] | None]] = [
        (elsewhere.costs(measured, confidence), None)
    ]
    for grid in elsewhere.shapes(measured, views, confidence):
        set_name = grid.title.split(":")[0]
        curves = plotdata.relative_curves(measured, views, set_name)
        title = f"Estimated distributions of the cost of {set_name} sign, over each one's mean"
        made.append((grid, _laws(f"elsewhere-{set_name}", title, curves, "× the mean")))
    return made


def _draw(name: str, title: str, plot: Callable[..., Figure], *data: object) -> Markup:
    with svg.drawing():
        return Markup(svg.to_svg(plot(*data), name, clean(title)))


def templates(package: str) -> Environment:
    """The templates of a package, for pages of this style."""
    found = Environment(
        loader=ChoiceLoader([PackageLoader(name, ".") for name in (package, "mldsa_lab.show")]),
        autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        # A value without control characters, then escaped like every other.
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
    )  # fmt: skip
    found.filters["code"] = as_code
    return found


def as_code(text: str) -> Markup:
    """A sentence whose parts between backticks are set as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(clean(text)))))


def asset(name: str) -> str:
    """The text of a file that pages are made of."""
    return resources.files("mldsa_lab.show").joinpath(name).read_text(encoding="utf-8").strip()


def script_hash(script: str) -> str:
    """The script's hash for the page's content policy: no other script may run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
