"""Reports of records of all kinds, one by one or compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mldsa_lab import located
from mldsa_lab.estimate.compare import agreement_figures, compare
from mldsa_lab.estimate.external import ExternalMeasurement
from mldsa_lab.estimate.figure import FASTER, SLOWER, UNCHANGED, Figure, Figures, Key
from mldsa_lab.estimate.summary import Summary
from mldsa_lab.kinds import kind_of
from mldsa_lab.kinds.kind import Measured
from mldsa_lab.kinds.operations import FIELDS, MeasuredOperations, OperationsKind
from mldsa_lab.records import Record, read_record
from mldsa_lab.records.rows import check_baseline
from mldsa_lab.sets import DEFAULT_BASELINE
from mldsa_lab.show.figure_tables import PERCENT, VERDICT, SpreadColumns, TableLayout
from mldsa_lab.show.grid import estimate
from mldsa_lab.show.plot_specs import external_report
from mldsa_lab.show.report import Look, Report, Section, assign_colours, sections_of

# Comparisons of runs as reports


_MOST = 40
"""With more cells the brief table has only the changed ones."""
FOLDED = ("run", "of", "attempt", "statistic")
"""The keys that are in the names of columns of CSV: a line is a cell."""
AGREEMENT = TableLayout(
    "Agreement of the runs", (), ("operation", "quantity"),
    (
        SpreadColumns("agreement", "intervals overlap", keys={"statistic": "overlapping"}),
        SpreadColumns("agreement", "of", keys={"statistic": "cells"}),
        SpreadColumns("agreement", "median change", keys={"statistic": "median"}, unit=PERCENT),
        SpreadColumns("agreement", "largest change", keys={"statistic": "largest"}, unit=PERCENT),
    ),
)  # fmt: skip
_COSTS = SpreadColumns("mean", "run {value}", "run", spare=1)
_EFFECT = SpreadColumns("effect", "change", spare_interval=3)
_CHANGES = (_COSTS, _EFFECT, SpreadColumns("effect", "verdict", show=VERDICT))
_CLASSES = (
    SpreadColumns(
        "attempt_change", "accepted at once", spare_interval=3, keys={"attempt": "first"}
    ),
    SpreadColumns("attempt_change", "z iteration", spare_interval=3, keys={"attempt": "z"}),
    SpreadColumns("attempt_change", "r0 iteration", spare_interval=2, keys={"attempt": "r"}),
    SpreadColumns("attempt_change", "hint iteration", spare=1, keys={"attempt": "h"}),
)
_OVER_RUNS = (
    SpreadColumns("mean", "run {value}", "run"),
    SpreadColumns("ratio", "ratio, run {value}", "run"),
    SpreadColumns("change", "mean, last ÷ first", keys={"of": "mean"}),
    SpreadColumns("change", "ratio, last ÷ first", keys={"of": "ratio"}),
    SpreadColumns("change", "means", show=VERDICT, keys={"of": "mean"}),
)


def _lay_out(
    figures: Sequence[Figure], title: str, split: tuple[str, ...],
    rows: tuple[str, ...], columns: tuple[SpreadColumns, ...],
) -> TableLayout:  # fmt: skip
    """Rows are variants, with those that they replace where there are such."""
    replaced = ("before",) if any(f.keys.get("before") for f in figures) else ()
    return TableLayout(title, split, (*rows, "variant", *replaced), columns)


def sections_over_runs(figures: Figures, confidence: float) -> list[Section]:
    """Return the tables of a report of several runs."""
    whole = sections_of(agreement_figures(figures), [AGREEMENT], confidence)
    title = "{set} {operation} in each run"
    layout = _lay_out(figures, title, ("set", "operation", "unit"), (), _OVER_RUNS)
    return whole + sections_of(figures, [layout], confidence)


def compare_figures(figures: Figures, confidence: float) -> Report:
    """Return the report of two runs."""
    cells = find_effects(figures)
    changed = {_identify_cell(f) for f in cells if f.verdict != UNCHANGED}
    shown = {True: figures}
    if len(cells) > _MOST:
        shown = {True: figures.only(lambda f: _identify_cell(f) in changed), False: figures}
    note = "cost in the second run over that in the first"
    if baseline := figures[-1].keys.get("reference"):
        note += f", divided by the change of {baseline}"
    sections: list[Section] = []
    for is_brief, part in shown.items():
        title = "Changes of costs" if is_brief else "Changes of costs, all cells"
        layout = _lay_out(part, title, ("unit",), ("set", "operation"), _CHANGES)
        sections += sections_of(part, [layout], confidence, note, is_brief=is_brief)
        signing = part.only(lambda f: f.name == "attempt_change")
        title = "Signing by classes of traces"
        layout = _lay_out(signing, title, ("operation",), ("set",), _CLASSES)
        classes_note = "the same for classes of signatures"
        sections += sections_of(signing, [layout], confidence, classes_note, is_brief=is_brief)
    agreement = agreement_figures(figures)
    note = "cells with intervals in both runs"
    sections += sections_of(agreement, [AGREEMENT], confidence, note)
    verdicts = Counter(f.verdict for f in cells)
    return Report(
        kind="comparison",
        headline=f"{verdicts[SLOWER]} of {len(cells)} cells are slower, {verdicts[FASTER]} faster",
        figures=figures.with_items([*figures, *agreement]),
        sections=sections,
        notes=list(_write_notes(figures)),
        folded=FOLDED,
    )


def find_effects(figures: Sequence[Figure]) -> list[Figure]:
    """Return the effect of each cell that is in both runs."""
    return [f for f in figures if f.name == "effect" and f.value is not None]


def _identify_cell(figure: Figure) -> tuple[Key, ...]:
    return tuple(figure.keys.get(k) for k in ("set", "operation", "variant", "before"))


def _write_notes(figures: Sequence[Figure]) -> Iterator[str]:
    cells = find_effects(figures)
    for text, times in Counter(note for f in cells for note in f.notes).items():
        yield f"{text} ({times} of {len(cells)} cells)."
    lone: dict[str, list[str]] = {}
    for f in figures:
        if f.name == "effect" and f.value is None:
            lone.setdefault(f.notes[0], []).append(str(f.keys["variant"]))
    for text, variants in lone.items():
        yield f"{text}: {len(variants)} cells of {', '.join(dict.fromkeys(variants))}."
    spread = figures[-1]
    if spread.value is None:
        yield f"{'; '.join(spread.notes)}."
    else:
        yield (
            f"Costs of other implementations differ by {100 * spread.value:.1f} % from run to run "
            "(root mean square over cells); intervals of changes include this."
        )


def find_slower_cells(figures: Sequence[Figure], percent: float) -> tuple[int, list[str]]:
    """Return the number of cells in which only the code differs, and a line for each slower one.

    ``percent``: by how much a cell must be slower at least.
    """
    judged = [f for f in find_effects(figures) if not f.notes]
    slower = [f for f in judged if f.low is not None and f.low > 1 + percent / 100]
    lines = [" ".join(str(k) for k in _identify_cell(f) if k) for f in slower]
    return len(judged), [
        f"{line}: {estimate(f.interval)}" for line, f in zip(lines, slower, strict=True)
    ]


# From record files to reports.


MOST_WITH_CLOUDS = 2
"""Records in a page that still shows cost over iterations of each; more would make it heavy."""


def read_reports(
    paths: Sequence[Path],
    look: Look,
    measured: Sequence[ExternalMeasurement] = (),
    narrow: Callable[[Path, Record], Record] = lambda path, record: record,
) -> list[Report]:
    """Return the reports of some records, their comparison first.

    ``measured``: measurements from elsewhere; ``narrow``: returns the part of a record to show.
    LabError for the first record that cannot be shown.
    """
    runs: dict[tuple[str, str], tuple[Path, Record]] = {}
    notes = []
    for path in paths:
        record = narrow(path, read_record(path, lenient=True))
        first = runs.setdefault(record.identity, (path, record))
        if first[0] is not path:
            notes.append(f"{path} has the same run as {first[0]}: it is shown once")
    records = [record for _, record in runs.values()]
    operations = [r for r in records if isinstance(kind_of(r), OperationsKind)]
    has_clouds = len(operations) <= MOST_WITH_CLOUDS
    look = replace(look, colours=assign_colours(operations), has_clouds=has_clouds)
    measured_runs = read_runs(list(runs.values()), look)
    summaries = [run.summary for run in measured_runs if isinstance(run, MeasuredOperations)]
    several, reports = len(runs) > 1, []
    for n, ((path, record), run) in enumerate(zip(runs.values(), measured_runs, strict=True)):
        name = f"Run {chr(65 + n) if n < 26 else n + 1}" * several
        with located(path):
            reports.append(kind_of(record).report(run, str(path), name))
    if several:
        reports.insert(0, _compare_reports(summaries, reports, look))
    reports[0] = replace(reports[0], warnings=[*notes, *reports[0].warnings])
    if measured:
        reports.append(external_report(measured, summaries, look, FIELDS))
    return reports


def read_runs(runs: Sequence[tuple[Path, Record]], look: Look) -> list[Measured]:
    """Return some records with their figures. LabError for the first that has none, and for a
    baseline that none of them announces."""
    read = []
    for path, record in runs:
        with located(path):
            read.append(kind_of(record).read(record, look))
    records = [r for _, r in runs if isinstance(kind_of(r), OperationsKind)]
    announced = [v for record in records for v, _ in record.variants.values()]
    # A run goes on without the baseline that it was started with.
    own = {r.run.options.get("reference") for r in records if r.skipped}
    if look.baseline not in {DEFAULT_BASELINE, *own} and announced:
        check_baseline(look.baseline, announced)
    return read


def _compare_reports(summaries: Sequence[Summary], reports: Sequence[Report], look: Look) -> Report:
    """The report of several runs: how far those of operations agree, and the cost of each cell in
    each of them. Its figures are the runs' own."""
    figures = compare(summaries) if len(summaries) > 1 else Figures([])
    headlines = {r.headline for r in reports}
    agree = f"{reports[0].headline}: {len(reports)} runs agree"
    title = "Comparison of the runs"
    sections = sections_over_runs(figures, look.confidence) if figures else []
    return Report(
        kind=f"{len(reports)} runs",
        headline=agree if len(headlines) == 1 else f"{len(reports)} runs compared",
        figures=figures,
        folded=FOLDED,
        sections=[replace(s, is_brief=False, chapter=title) for s in sections],
        facts={title: [(r.name, f"{r.kind}: {r.headline}") for r in reports]},
        texts={} if sections else {title: ["The runs have no results to compare."]},
        name=title,
    )
