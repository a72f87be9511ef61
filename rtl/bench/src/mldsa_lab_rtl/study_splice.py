"""Tables of hardware cores in Markdown files, rewritten from records.

    <!-- mldsa-lab:rtl record=run.jsonl.xz resources=a.json drawn=random.json table="resources" -->
    … what stands here is replaced …
    <!-- /mldsa-lab:rtl -->

``table``: the title of a table of `study rtl`. Paths are relative to the document.
"""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path

from mldsa_lab.errors import LabError
from mldsa_lab.files import write_text
from mldsa_lab.records import read_record
from mldsa_lab.show.grid import markdown
from mldsa_lab.show.splice import replace_marked
from mldsa_lab_rtl.study import core_rows
from mldsa_lab_rtl.study_random import read_drawn
from mldsa_lab_rtl.study_show import BESIDE, CoreFindings
from mldsa_lab_rtl.synth import read_resources

_SAID, _MAY = {"table"}, {"record", "drawn", "resources"}


def splice(path: Path, confidence: float = 0.95) -> tuple[str, str]:
    """The text of a Markdown file before and after its tables are made anew."""

    @cache
    def findings(record: str, drawn: str, resources: str) -> CoreFindings:
        rows = core_rows(read_record(path.parent / record), confidence) if record else []
        for name in filter(None, drawn.split(",")):
            rows += [one.row(confidence) for one in read_drawn(path.parent / name)]
        taken = [read_resources(path.parent / name) for name in filter(None, resources.split(","))]
        return CoreFindings(rows, taken, confidence)

    def made(said: str, where: str) -> str:
        words = [word.partition("=") for word in shlex.split(said)]
        given = {name: value for name, _, value in words}
        if not _SAID <= set(given) <= _SAID | _MAY:
            raise LabError(f"{where}: the marker must say table; record, drawn, resources")
        found = findings(
            given.get("record", ""), given.get("drawn", ""), given.get("resources", "")
        )
        tables = {grid.title: grid for grid in found.grids()}
        if given["table"] not in tables:
            known = "; ".join(tables)
            raise LabError(f"{where}: table {given['table']!r}: must be one of {known}")
        text = markdown(tables[given["table"]])
        if given["table"] == BESIDE:
            text += "\n" + "".join(f"- {source}\n" for source in found.sources())
        return text

    return replace_marked(path, "rtl", made)


def splice_file(path: Path) -> bool:
    """Rewrite the tables of a Markdown file; whether anything changed."""
    old, new = splice(path)
    if new != old:
        write_text(path, new)
    return new != old
