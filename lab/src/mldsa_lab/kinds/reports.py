"""From record files to reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from mldsa_lab.errors import located
from mldsa_lab.estimate.compare import compare
from mldsa_lab.estimate.figure import Figures
from mldsa_lab.estimate.summary import Summary
from mldsa_lab.kinds import kind_of
from mldsa_lab.kinds.kind import Measured
from mldsa_lab.kinds.operations import FIELDS, MeasuredOperations, OperationsKind
from mldsa_lab.records import Record, read_record
from mldsa_lab.records.reference import DEFAULT_REFERENCE, known_reference
from mldsa_lab.show.compare import FOLDED, sections_over_runs
from mldsa_lab.show.operations.elsewhere import Elsewhere, elsewhere_report
from mldsa_lab.show.report import Look, Report
from mldsa_lab.show.variants import assign_colours

MOST_WITH_CLOUDS = 2
"""Records in a page that still shows cost over iterations of each; more would make it heavy."""


def read_reports(
    paths: Sequence[Path],
    look: Look,
    measured: Sequence[Elsewhere] = (),
    narrow: Callable[[Path, Record], Record] = lambda path, record: record,
) -> list[Report]:
    """Return the reports of some records, their comparison first.

    ``measured``: what others measured elsewhere; ``narrow``: returns the part of a record to show.
    LabError for the first record that cannot be shown.
    """
    runs: dict[tuple[str, str], tuple[Path, Record]] = {}
    notes = []
    for path in paths:
        record = narrow(path, read_record(path, lenient=True))
        first = runs.setdefault(record.identity, (path, record))
        if first[0] is not path:
            notes.append(f"{path} holds the same run as {first[0]}: it is shown once")
    records = [record for _, record in runs.values()]
    operations = [r for r in records if isinstance(kind_of(r), OperationsKind)]
    clouds = len(operations) <= MOST_WITH_CLOUDS
    look = replace(look, colours=assign_colours(operations), clouds=clouds)
    measured_runs = read_runs(list(runs.values()), look)
    summaries = [run.summary for run in measured_runs if isinstance(run, MeasuredOperations)]
    several, reports = len(runs) > 1, []
    for n, ((path, record), run) in enumerate(zip(runs.values(), measured_runs, strict=True)):
        name = f"Run {chr(65 + n) if n < 26 else n + 1}" * several
        with located(path):
            reports.append(kind_of(record).report(run, str(path), name))
    if several:
        reports.insert(0, _compared(summaries, reports, look))
    reports[0] = replace(reports[0], warnings=[*notes, *reports[0].warnings])
    if measured:
        reports.append(elsewhere_report(measured, summaries, look, FIELDS))
    return reports


def read_runs(runs: Sequence[tuple[Path, Record]], look: Look) -> list[Measured]:
    """Return some records with their figures. LabError for the first that has none, and for a
    reference that none of them announces."""
    read = []
    for path, record in runs:
        with located(path):
            read.append(kind_of(record).read(record, look))
    records = [r for _, r in runs if isinstance(kind_of(r), OperationsKind)]
    announced = [v for record in records for v, _ in record.variants.values()]
    # A run goes on without the reference that it was started with.
    own = {r.run.options.get("reference") for r in records if r.skipped}
    if look.reference not in {DEFAULT_REFERENCE, *own} and announced:
        known_reference(look.reference, announced)
    return read


def _compared(summaries: Sequence[Summary], reports: Sequence[Report], look: Look) -> Report:
    """The report of several runs: how far those of operations agree, and the cost of each cell in
    each of them. Its figures are those of the runs."""
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
        sections=[replace(s, brief=False, chapter=title) for s in sections],
        facts={title: [(r.name, f"{r.kind}: {r.headline}") for r in reports]},
        texts={} if sections else {title: ["The runs hold no results to compare."]},
        name=title,
    )
