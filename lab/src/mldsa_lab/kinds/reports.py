"""From record files to reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mldsa_lab.errors import located
from mldsa_lab.estimate.compare import compare
from mldsa_lab.kinds import kind_of
from mldsa_lab.kinds.kind import Kind
from mldsa_lab.records import Record, busy_notes, read_record
from mldsa_lab.records.reference import DEFAULT_REFERENCE, known_reference
from mldsa_lab.show.compare import sections_over_runs
from mldsa_lab.show.operations.elsewhere import Elsewhere, elsewhere_report
from mldsa_lab.show.operations.report import FIELDS, operations_report
from mldsa_lab.show.operations.view import View, assign_colours, read_view
from mldsa_lab.show.report import Look, Report

MOST_WITH_CLOUDS = 2
"""Records in a page that still shows cost over iterations of each; more would make it heavy."""


def read_reports(
    paths: Sequence[Path], look: Look, measured: Sequence[Elsewhere] = ()
) -> list[Report]:
    """Return the reports of some records, their comparison first; ``measured``: what others
    measured elsewhere. LabError for the first record that cannot be shown."""
    runs: dict[tuple[str, str], tuple[Path, Record]] = {}
    notes = []
    for path in paths:
        record = read_record(path, lenient=True)
        first = runs.setdefault(record.identity, (path, record))
        if first[0] is not path:
            notes.append(f"{path} holds the same run as {first[0]}: it is shown once")
    operations = [(path, r) for path, r in runs.values() if kind_of(r) is None]
    views = dict(zip((path for path, _ in operations), read_views(operations, look), strict=True))
    several, clouds = len(runs) > 1, len(views) <= MOST_WITH_CLOUDS
    reports = []
    for n, (path, record) in enumerate(runs.values()):
        name, kind = f"Run {chr(65 + n) if n < 26 else n + 1}" * several, kind_of(record)
        with located(path):
            report = (
                operations_report(views[path], str(path), name, clouds=clouds)
                if kind is None
                else _of_kind(kind, record, path, look, name)
            )
        reports.append(report)
    if several:
        reports.insert(0, _compared(list(views.values()), reports, look))
    reports[0] = replace(reports[0], warnings=[*notes, *reports[0].warnings])
    if measured:
        listed = list(views.values())
        reports.append(elsewhere_report(measured, listed, look.confidence, FIELDS))
    return reports


def _of_kind(kind: Kind, record: Record, path: Path, look: Look, name: str) -> Report:
    """Return the report of a record of another kind than operations."""
    report = kind.report(record, path.name, look)
    warnings = [*busy_notes([record.busy]), *record.warnings, *report.warnings]
    return replace(report, name=name, warnings=warnings)


def read_views(runs: Sequence[tuple[Path, Record]], look: Look) -> list[View]:
    """Return the views of records of operations, with one colour for each implementation."""
    colours = assign_colours([record for _, record in runs])
    views = []
    for path, record in runs:
        with located(path):
            views.append(read_view(record, look, colours))
    announced = [v for _, record in runs for v, _ in record.variants.values()]
    # A run goes on without the reference that it was started with.
    own = {r.run.options.get("reference") for _, r in runs if r.skipped}
    if look.reference not in {DEFAULT_REFERENCE, *own} and announced:
        known_reference(look.reference, announced)
    return views


def _compared(views: Sequence[View], reports: Sequence[Report], look: Look) -> Report:
    """The report of several runs: how far those of operations agree, and the cost of each cell in
    each of them. Its figures are those of the runs."""
    figures = compare([v.summary for v in views]) if len(views) > 1 else []
    headlines = {r.headline for r in reports}
    agree = f"{reports[0].headline}: {len(reports)} runs agree"
    title = "Comparison of the runs"
    sections = sections_over_runs(figures, look.confidence) if figures else []
    return Report(
        kind=f"{len(reports)} runs",
        headline=agree if len(headlines) == 1 else f"{len(reports)} runs compared",
        figures=(),
        sections=[replace(s, brief=False, chapter=title) for s in sections],
        facts={title: [(r.name, f"{r.kind}: {r.headline}") for r in reports]},
        texts={} if sections else {title: ["The runs hold no results to compare."]},
        name=title,
    )
