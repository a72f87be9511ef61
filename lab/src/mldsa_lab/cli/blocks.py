"""`mldsa-lab bench --scenario`, and `mldsa-lab report` of such a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from mldsa_lab.bench.blocks import GivenBlock
from mldsa_lab.bench.material import GATE_SIZES
from mldsa_lab.bench.options import Options, Profile
from mldsa_lab.errors import LabError
from mldsa_lab.files import write_text
from mldsa_lab.records import Record, read_record
from mldsa_lab.sets import parse_set_names
from mldsa_lab.show.present import ReportFiles


def of_block(options: Options, given: GivenBlock) -> Options:
    """The bench's options for a block: its file says what is verified and by whom."""
    file, amount = given.file, given.amount
    patterns = [pattern for asked in file.verify for pattern in asked.implementations]
    return replace(
        options,
        sets=parse_set_names(asked.set for asked in file.verify),
        operations=("verify",),
        implementations=tuple(dict.fromkeys(patterns)),
        workers=(file.worker,),
        profile=Profile(given.profile, amount.seconds, *amount.rounds),
        sizes=GATE_SIZES,
        clock="wall",
        block=given,
    )


def has_block(paths: Sequence[Path]) -> bool:
    """Whether these records are of a block. LabError if only some are, or there are several."""
    found = [bool(read_record(path).blocks) for path in paths]
    if any(found) and len(found) > 1:
        raise LabError(f"{paths[found.index(True)]}: is of a block, which is shown by itself")
    return any(found)


def show_block(
    path: Path, confidence: float, console: Console, outputs: ReportFiles, *, tables: bool = True
) -> str:
    """Print the tables of a block's record and write the files asked for; the tables as Markdown
    too."""
    from mldsa_lab.estimate.blocks import block_times
    from mldsa_lab.show import blocks
    from mldsa_lab.show.exports import as_json
    from mldsa_lab.show.grid import terminal

    if outputs.csv is not None:
        raise LabError(f"{path}: is of a block, whose rows are written with --json")
    record: Record = read_record(path)
    try:
        found = block_times(record, confidence)
    except LabError as error:
        raise LabError(f"{path}: {error}") from None
    text = blocks.as_markdown(found)
    if tables:
        for grid in blocks.grids(found):
            console.print(terminal(grid, console.width))
            console.print()
        for remark in blocks.remarks(found):
            console.print(Text(remark), soft_wrap=True)
    if outputs.json is not None:
        write_text(outputs.json, as_json(blocks.as_rows(found)))
    if outputs.markdown is not None:
        write_text(outputs.markdown, text)
    if outputs.page is not None:
        # Imported only here: its libraries may be missing, and take long to load.
        from mldsa_lab.show.block_page import render

        write_text(outputs.page, render(found, path.name))
    return text
