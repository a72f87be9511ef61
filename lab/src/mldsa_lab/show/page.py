"""One self-contained HTML page from records: no network, no script needed to read it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.summary import Summary
from mldsa_lab.records import Record
from mldsa_lab.show import plotdata, plots, run_plots, sections, svg
from mldsa_lab.show.compare import agreement, compare
from mldsa_lab.show.findings import Findings, find
from mldsa_lab.show.format import aligned, clean
from mldsa_lab.show.run_paths import batch_paths, rate_paths, scaling_paths
from mldsa_lab.show.runs import Batches, Beside, Threads, batches, threads, versus
from mldsa_lab.show.view import Table, View, assign_colours, build, classical_rows, scheme_name

WIDE, NARROW = 1150, 360
"""Widths in CSS pixels of the distribution plot on a wide page and on a phone."""
RUN_WIDTH, HALF_WIDTH = 760, 540
"""Widths of the plots over batch size, and over threads, of which two stand side by side."""
MOST_WITH_CLOUDS = 2
"""Records in a page that still shows cost against attempts of each; more would make it heavy."""


@dataclass(slots=True)
class Operation:
    """A table with its plots as SVG text."""

    table: Table
    title: str
    ranking: Markup
    ratios: Markup | None
    decomposition: Markup | None = None
    distribution: tuple[Markup, Markup] | None = None
    clouds: list[tuple[str, Markup]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class InRuns:
    """The batches and threads of a record, each table with its plots."""

    batches: list[tuple[Batches, Markup]]
    threads: list[tuple[Threads, Markup, Markup]]
    versus: Beside


@dataclass(frozen=True, slots=True)
class Chapter:
    """One record as the template shows it. `prefix` makes its anchors unique in the page."""

    prefix: str
    name: str
    view: View
    findings: Findings
    sets: tuple[tuple[str, tuple[Operation, ...]], ...]
    runs: InRuns


def write_page(records_and_summaries: Sequence[tuple[Record, Summary]], path: Path) -> None:
    """Write the page of one record, or of several compared, to `path`; LabError if it cannot."""
    text = render(records_and_summaries)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LabError(f"page {path}: cannot write it: {error.strerror}") from None


def render(records_and_summaries: Sequence[tuple[Record, Summary]]) -> str:
    """The page as text."""
    if not records_and_summaries:
        raise LabError("a page needs at least one record")
    colours = assign_colours([record for record, _ in records_and_summaries])
    several = len(records_and_summaries) > 1
    chapters = []
    clouds = len(records_and_summaries) <= MOST_WITH_CLOUDS
    for index, (record, summary) in enumerate(records_and_summaries):
        view = build(record, summary, colours)
        prefix = f"r{index + 1}-" if several else ""
        name = f"Run {chr(65 + index)}" if several and index < 26 else f"Run {index + 1}"
        sets = _sets(view, prefix, clouds)
        chapters.append(Chapter(prefix, name, view, find(view), sets, _runs(view, prefix)))
    compared = compare([c.view for c in chapters]) if several else []
    environment = Environment(
        loader=PackageLoader("mldsa_lab.show", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        # A value without control characters, then escaped like every other.
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
    )  # fmt: skip
    script = _asset("page.js")
    return environment.get_template("page.html.j2").render(
        chapters=chapters, several=several, compared=compared,
        agreement=agreement(compared),
        headline=_headline(chapters, several), css=Markup(_asset("page.css")),
        script=Markup(script), script_hash=_sha256(script), sections=sections, aligned=aligned,
        classical_rows=classical_rows, scheme_name=scheme_name, mix_names=plots.MIX_NAMES,
        total_series=svg.SERIES_COUNT,
    )  # fmt: skip


def _headline(chapters: Sequence[Chapter], several: bool) -> str:
    if not several:
        return chapters[0].findings.headline
    headlines = {c.findings.headline for c in chapters}
    if len(headlines) == 1:
        return f"{headlines.pop()}: {len(chapters)} runs agree"
    return f"{len(chapters)} runs compared"


def _sets(view: View, prefix: str, clouds: bool) -> tuple[tuple[str, tuple[Operation, ...]], ...]:
    return tuple(
        (
            s,
            tuple(
                _operation(view, t, f"{prefix}{s}-{i}", clouds) for i, t in enumerate(view.of(s))
            ),
        )
        for s in view.sets
    )


def _operation(view: View, table: Table, name: str, clouds: bool) -> Operation:
    unit, what = table.unit, f"{table.set} {table.operation}"
    confidence, reference = view.summary.confidence, view.summary.reference
    means, ratios = plotdata.mean_marks(table), plotdata.ratio_marks(table)
    width = 380 if table.operation == "sign" else 460
    listed = ", ".join(f"{m.label} {m.text}" for m in means)
    made = Operation(
        table, sections.TITLES[table.operation],
        _draw(f"{name}-mean", f"Mean cost of {what} in {unit.name}: {listed}",
              lambda: plots.ranking(means, unit.name, confidence, width)),
        _draw(f"{name}-ratio", f"Cost of {what} relative to {reference}: "
              + ", ".join(f"{m.label} {m.text}" for m in ratios),
              lambda: plots.ratios(ratios, reference, width)) if ratios else None,
    )  # fmt: skip
    pairs = plotdata.fitted(view, table) if table.operation == "sign" else []
    if not pairs:
        return made
    curves = plotdata.curves(plotdata.chosen(pairs), table.set, unit)
    bars = plotdata.bars(pairs, table.set, unit)
    law = f"Estimated distribution of the cost of {what} in {unit.name}, over percentiles"
    made.distribution = (
        _draw(f"{name}-law", law, lambda: plots.distribution(curves, unit.name, WIDE)),
        _draw(f"{name}-lawn", law, lambda: plots.distribution(curves, unit.name, NARROW)),
    )
    made.decomposition = _draw(
        f"{name}-parts", f"Parts of the mean cost of {what}",
        lambda: plots.decomposition(bars, unit.name),
    )  # fmt: skip
    for index, (line, fit) in enumerate(pairs if clouds else ()):
        cloud = plotdata.cloud(fit, table.set, unit)
        picture = _draw(
            f"{name}-cloud{index}", f"Cost against attempts of {line.label}, {what}",
            lambda cloud=cloud: plots.cost_against_attempts(cloud, unit.name),  # type: ignore[misc]
        )  # fmt: skip
        made.clouds.append((line.label, picture))
    return made


def _runs(view: View, prefix: str) -> InRuns:
    reference = view.summary.reference
    return InRuns(
        [_batch(t, reference, f"{prefix}batch-{t.set}-{t.operation}") for t in batches(view)],
        [_threaded(t, f"{prefix}threads-{t.set}-{t.operation}") for t in threads(view)],
        versus(view),
    )


def _batch(table: Batches, reference: str, name: str) -> tuple[Batches, Markup]:
    paths, unit = batch_paths(table, reference), table.unit.name
    picture = _draw(
        name, f"Cost of {table.set} {table.operation} over batch size, in {unit}",
        lambda: run_plots.batch_costs(paths, table.sizes, unit, RUN_WIDTH),
    )  # fmt: skip
    return table, picture


def _threaded(table: Threads, name: str) -> tuple[Threads, Markup, Markup]:
    what, unit = f"{table.set} {table.operation}", table.unit.name
    rates = _draw(
        name, f"Throughput of {what} over threads, {unit}",
        lambda: run_plots.throughput(rate_paths(table), table.counts, unit, HALF_WIDTH),
    )  # fmt: skip
    scaling = _draw(
        f"{name}-scaling", f"Throughput of {what} over that of one thread",
        lambda: run_plots.scaling(scaling_paths(table), table.counts, HALF_WIDTH),
    )  # fmt: skip
    return table, rates, scaling


def _draw(name: str, title: str, plot: Callable[[], Figure]) -> Markup:
    with svg.drawing():
        return Markup(svg.to_svg(plot(), name, clean(title)))


def _asset(name: str) -> str:
    return resources.files("mldsa_lab.show").joinpath(name).read_text(encoding="utf-8").strip()


def _sha256(script: str) -> str:
    """The script's hash for the page's content policy: no other script may run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
