"""From records to what a person reads: the table, the page, the rows as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.files import write_text, write_whole
from mldsa_lab.records import Record, read_record
from mldsa_lab.records.reference import DEFAULT_REFERENCE, known_reference
from mldsa_lab.show.table import print_table


@dataclass(frozen=True, slots=True)
class View:
    """How to look at records: the reference of ratios, the clock, the confidence of intervals."""

    reference: str
    clock: str
    confidence: float


def load(paths: Sequence[Path], view: View) -> list[tuple[Record, Summary]]:
    """Read and summarise records; LabError for the first that cannot be."""
    loaded = []
    for path in paths:
        record = read_record(path)
        try:
            summary = summarise(
                record, reference=view.reference, clock=view.clock, confidence=view.confidence
            )
        except LabError as error:
            raise LabError(f"{path}: {error}") from None
        loaded.append((record, summary))
    announced = [v for record, _ in loaded for worker in record.workers for v in worker.variants]
    if view.reference != DEFAULT_REFERENCE:
        known_reference(view.reference, announced)
    return loaded


def present(
    paths: Sequence[Path],
    view: View,
    console: Console,
    *,
    page: Path | None,
    json_path: Path | None,
) -> list[tuple[Record, Summary]]:
    """Print the table of each record and write the files asked for, each whole or not at all."""
    loaded = load(paths, view)
    for path, (record, summary) in zip(paths, loaded, strict=True):
        if len(paths) > 1:
            console.rule(str(path))
        for warning in record.warnings:
            console.print(f"[yellow]note:[/] {warning}", highlight=False, soft_wrap=True)
        print_table(summary, record, console)
    if json_path is not None:
        rows = [row.as_dict() for _, summary in loaded for row in summary.rows]
        text = json.dumps(rows, indent=1, allow_nan=False) + "\n"
        write_text(json_path, text)
    if page is not None:
        # Imported only here: its libraries may be missing, and take long to load.
        from mldsa_lab.show.page import write_page

        with console.status("drawing the page"):
            write_whole(page, lambda target: write_page(loaded, target))
    return loaded
