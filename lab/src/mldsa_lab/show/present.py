"""From records to what a person reads: tables, the page, rows, Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.files import write_text
from mldsa_lab.records import Record, read_record
from mldsa_lab.records.reference import DEFAULT_REFERENCE, known_reference
from mldsa_lab.show import exports
from mldsa_lab.show.elsewhere import Elsewhere
from mldsa_lab.show.sections import why_empty
from mldsa_lab.show.terminal import print_elsewhere, print_view
from mldsa_lab.show.view import View, assign_colours, build


@dataclass(frozen=True, slots=True)
class Look:
    """How to look at records: the reference of ratios, the clock, the confidence of intervals."""

    reference: str = DEFAULT_REFERENCE
    clock: str = "cpu"
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The files that a report writes, each whole or not at all; None for those not asked for."""

    page: Path | None = None
    json: Path | None = None
    csv: Path | None = None
    markdown: Path | None = None

    def named(self) -> list[tuple[str, Path]]:
        """What was written, with a title each."""
        titled = (
            ("page", self.page), ("table", self.json), ("table", self.csv),
            ("markdown", self.markdown),
        )  # fmt: skip
        return [(title, path) for title, path in titled if path is not None]


def load(paths: Sequence[Path], look: Look) -> list[tuple[Record, Summary]]:
    """Read and summarise records; LabError for the first that cannot be."""
    loaded = []
    for path in paths:
        record = read_record(path)
        try:
            summary = summarise(
                record, reference=look.reference, clock=look.clock, confidence=look.confidence
            )
        except LabError as error:
            raise LabError(f"{path}: {error}") from None
        loaded.append((record, summary))
    announced = [v for record, _ in loaded for worker in record.workers for v in worker.variants]
    if look.reference != DEFAULT_REFERENCE and announced:
        known_reference(look.reference, announced)
    return loaded


def once(
    paths: Sequence[Path], loaded: Sequence[tuple[Record, Summary]]
) -> tuple[list[Path], list[tuple[Record, Summary]], list[str]]:
    """Each run once, whatever files hold it, and a note for each that was there already."""
    kept: dict[tuple[str, str], Path] = {}
    notes, chosen, pairs = [], [], []
    for path, pair in zip(paths, loaded, strict=True):
        run = pair[0].run
        first = kept.setdefault((run.seed, run.started), path)
        if first is path:
            chosen.append(path)
            pairs.append(pair)
        else:
            notes.append(f"{path} holds the same run as {first}: it is shown once")
    return chosen, pairs, notes


def present(
    paths: Sequence[Path],
    look: Look,
    console: Console,
    outputs: ReportFiles,
    measured: Sequence[Elsewhere] = (),
    *,
    tables: bool = True,
    every: bool = False,
) -> list[View]:
    """Print the tables of each record and write the files asked for; the records as views.

    ``tables``: whether to print any; ``every``: whether to print all. LabError, once all is
    written, where a run holds no measurements.
    """
    paths, loaded, notes = once(paths, load(paths, look))
    for note in notes:
        console.print(f"note: {note}", style="yellow", markup=False, highlight=False)
    colours = assign_colours([record for record, _ in loaded])
    views = [build(record, summary, colours) for record, summary in loaded]
    for path, view in zip(paths, views, strict=True):
        if tables and len(paths) > 1:
            console.rule(str(path))
        if tables:
            print_view(view, console, every=every)
    if measured and tables:
        console.print()
        print_elsewhere(measured, views, look.confidence, console)
    rows = exports.all_rows(views, measured)
    if outputs.json is not None:
        write_text(outputs.json, exports.as_json(rows))
    if outputs.csv is not None:
        write_text(outputs.csv, exports.as_csv(rows))
    if outputs.markdown is not None:
        write_text(outputs.markdown, exports.as_markdown(views, measured))
    page = outputs.page
    if page is not None:
        # Imported only here: its libraries may be missing, and take long to load.
        from mldsa_lab.show.page import render

        with console.status("drawing the page"):
            write_text(page, render(views, measured))
    for path, view in zip(paths, views, strict=True):
        if not view.summary.rows:
            raise LabError(f"{path}: the run holds no measurements: {why_empty(view.record)}")
    return views
