"""make tables: rewrite the measured tables of Markdown documents from records and scenarios.

    .venv/bin/python lab/scripts/documents.py [--check] [DOCUMENT…]

A table stands between `<!-- mldsa-lab:KIND NAME=VALUE … -->` and `<!-- /mldsa-lab:KIND -->`;
lab/notes/figures.md lists kinds and names. `prose.py` has the numbers within sentences. Without
DOCUMENT: all documents with such markers. With `--check` nothing is written, and the exit status
is 1 if a document is out of date.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec.inspect
from msgspec import Meta, Struct
from prose import CONFIDENCE, ROOT, filled, loaded, ratio_text

from mldsa_lab import LabError
from mldsa_lab.answers.join import about_records, answer_report, figures_of, page_counts, row_states
from mldsa_lab.answers.page import OwnTable, pages, read_page
from mldsa_lab.estimate.compare import agreement_figures, compare
from mldsa_lab.estimate.figure import Figure
from mldsa_lab.estimate.summary import MeasuredCell
from mldsa_lab.files import write_text
from mldsa_lab.kinds import block
from mldsa_lab.kinds.reports import AGREEMENT
from mldsa_lab.records import read_record
from mldsa_lab.sets import PARAMETER_SETS, PERCENTILES, Operation, parse_set_names
from mldsa_lab.show import figure_tables
from mldsa_lab.show.figure_tables import TableLayout
from mldsa_lab.show.grid import (
    MISSING,
    Unit,
    choose_unit,
    estimate,
    format_plain,
    markdown,
    number,
    pipe_table,
)
from mldsa_lab.show.plots import Mark, ranking
from mldsa_lab.show.report import KEYS, Look, calls, headline_batch_size
from mldsa_lab.show.svg import drawing, to_svg

PATTERNS = ("*.md", "docs/*.md", "docs/answers/*.md", "lab/notes/*.md", "library/evidence/*.md",
            "library/*/*/*.md", "rtl/core/*.md")  # fmt: skip
MARKER = re.compile(
    r"^(?P<code>```).*?^```"
    r"|(?P<start><!-- mldsa-lab:(?P<kind>\w+)\b(?P<words>.*?)-->\n)"
    r"(?P<body>.*?)(?P<end><!-- /mldsa-lab:(?P=kind) -->|\Z)",
    re.S | re.M,
)
"""A marker with its table. A marker within a block of code is an example."""

Quantity = Literal["mean", "p50", "p95", "p99", "p999", "ratio"]
Names = tuple[Annotated[str, Meta(min_length=1)], ...]


def markdown_of(figures: Sequence[Figure], layout: TableLayout) -> str:
    """Return the tables of figures."""
    tables = figure_tables.tables(figures, layout)
    return "".join(markdown(figure_tables.grid(table, CONFIDENCE)) for table in tables)


# --- tables of runs -------------------------------------------------------------------------------


class RunTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A marker of the kind `table`: which rows of which records, and in which columns."""

    record: Annotated[Names, Meta(min_length=1)]
    rows: Literal[
        "implementations",
        "variants",
        "batches",
        "operations",
        "fastest",
        "block",
        "agreement",
    ] = "implementations"
    sets: Names = tuple(PARAMETER_SETS)
    operations: tuple[Operation, ...] = ("sign", "verify", "keygen")
    implementations: Names = ("*",)
    build: Literal["default", "tuned"] | None = None
    columns: Names = ()
    figure: Quantity = "ratio"

    def text(self, folder: Path) -> str:
        """Return the table; paths are relative to ``folder``."""
        paths = [(folder / name).resolve() for name in self.record]
        if self.rows == "block":
            measured = block.KIND.read(read_record(paths[0]), Look(confidence=CONFIDENCE))
            figures, layout = block.brief_block(measured.figures)
            return markdown_of(figures, layout)
        summaries = [loaded(path) for path in paths]
        if self.rows == "agreement":
            return markdown_of(agreement_figures(compare(summaries)), AGREEMENT)
        rows = [r for s in summaries for r in s.cells if self.takes(r)]
        size = headline_batch_size(r.variant for r in rows)
        rows = [r for r in rows if r.variant.mode != "batch" or r.variant.batch_size == size]
        if self.rows in ("operations", "fastest"):
            place = {r: n for n, s in enumerate(summaries) for r in s.cells}
            lines = self.by_operation(rows, place)
        else:
            lines = self.by_variant(sorted(rows, key=lambda r: r.cost))
        if len(lines) < 2:
            raise LabError("the records hold nothing of what the marker asks for")
        return pipe_table(lines[0], lines[1:])

    def takes(self, row: MeasuredCell) -> bool:
        """Return whether a row is among those asked for."""
        v = row.variant
        names = (v.implementation, v.base, v.id)
        return (
            row.set in parse_set_names(self.sets)
            and row.operation in self.operations
            and row.mean is not None
            and v.threads == 1
            and (v.mode == "batch" or v.batch_size == 1)
            and (
                not row.is_duplicate_build
                if self.build is None
                else row.worker.build in (None, self.build)
            )
            and any(fnmatchcase(n, pattern) for pattern in self.implementations for n in names)
        )

    def by_variant(self, rows: Sequence[MeasuredCell]) -> list[list[str]]:
        """Return titles and a line for each implementation or variant."""
        lines: dict[tuple[str, ...], dict[tuple[str, str], MeasuredCell]] = {}
        best = self.rows == "implementations"
        if best:  # an expanded key stands in where there is no other
            rows = sorted(rows, key=lambda row: row.variant.key != "compact")
        for row in rows:
            v = row.variant
            if (self.rows == "batches") != (v.mode == "batch"):
                continue
            if not best or row.operation in ("sign", "verify") or v.key == "compact":
                key = (v.implementation,) if best else (v.id, v.key)
                lines.setdefault(key, {}).setdefault((row.set, row.operation), row)
        columns = [self.column(text) for text in self.columns]
        figures = [c for c in columns if isinstance(c, FigureColumn)]

        def order(cells_of: dict[tuple[str, str], MeasuredCell]) -> tuple[int, float]:
            """Order by the first known figure."""
            first = ((n, cells_of.get((c.sets[0], c.operation))) for n, c in enumerate(figures))
            return next(((n, r.cost) for n, r in first if r), (len(figures), 0.0))

        listed = sorted(lines.values(), key=order)
        cells = [
            c.cells(listed, marked=best)
            if isinstance(c, FigureColumn)
            else [c[0], *(text_of(next(iter(cells_of.values())), c[1]) for cells_of in listed)]
            for c in columns
        ]
        return [list(line) for line in zip(*cells, strict=True)]

    def column(self, text: str) -> FigureColumn | tuple[str, str]:
        """Parse `[TITLE=]key`, or `[TITLE=]sign@44/65.ratio`."""
        title, _, spec = text.rpartition("=")
        if spec in TEXTS:
            return title or spec, spec
        match = re.fullmatch(r"(\w+)(?:@([\w/]+))?\.(mean|ratio|p50|p95|p99|p999)", spec)
        if not match:
            raise LabError(
                f"column {text!r}: must be one of {', '.join(TEXTS)}, or "
                "OPERATION[@SETS].FIGURE like sign@44/65/87.ratio"
            )
        sets = parse_set_names(match[2].split("/") if match[2] else self.sets)
        return FigureColumn(title, match[1], tuple(sets), match[3])

    def by_operation(
        self, rows: Sequence[MeasuredCell], place: Mapping[MeasuredCell, int]
    ) -> list[list[str]]:
        """Return a table of operations, and how they are called, against sets. It has the best of
        the variants asked for, or the fastest implementation and the next. Of several records the
        first that has them is used; ``place``: the record of a row."""
        variants: dict[tuple[str, str, str], list[MeasuredCell]] = {}
        for row in sorted(rows, key=lambda r: (place[r], r.cost)):
            ranked = variants.setdefault((row.operation, calls(row.variant), row.set), [])
            if not ranked or place[ranked[0]] == place[row]:
                ranked.append(row)
        ways = ("compact key", "expanded key", *KEYS.values())
        order = [(o, w) for o in self.operations for w in ways]
        sets = parse_set_names(self.sets)
        lines = [["", *(s.removeprefix("ML-DSA-") for s in sets)]]
        for operation, way in sorted(
            dict.fromkeys(key[:2] for key in variants),
            key=lambda k: order.index((k[0], next(w for w in ways if k[1].endswith(w)))),
        ):
            cells = [variants.get((operation, way, s), []) for s in sets]
            name = operation if way == "compact key" else f"{operation}, {way}"
            if self.rows == "fastest":
                lines.append([name, *map(fastest, cells)])
                continue
            unit = choose_unit([ranked[0].cost for ranked in cells if ranked], "ns")
            name += "" if self.figure == "ratio" else f", {unit.name}"
            texts = (figure_text(r[0] if r else None, self.figure, unit, brief=True) for r in cells)
            lines.append([name, *texts])
        return lines


class RunPicture(RunTable, frozen=True, kw_only=True):
    """Handle a marker of the kind `picture`. The plot in the SVG file ``out``, next to the
    document, has the means of each implementation's best variant with compact keys. ``title``
    replaces the plot where it is not shown."""

    out: str
    title: str

    def text(self, folder: Path) -> str:
        """Return the image's Markdown."""
        return f"![{self.title}]({self.out})\n"

    def drawn(self, folder: Path) -> str:
        """Return the SVG file's text."""
        summary = loaded((folder / self.record[0]).resolve())
        best: dict[str, MeasuredCell] = {}
        for row in sorted(summary.cells, key=lambda row: row.cost):
            v = row.variant
            if self.takes(row) and v.key == "compact" and v.mode != "batch":
                best.setdefault(v.implementation, row)
        unit = choose_unit([row.cost for row in best.values()], "ns")
        marks = []
        for colour, (name, row) in enumerate(best.items()):
            assert row.mean is not None  # `takes` has seen it
            x = row.mean.times(1 / unit.divisor)
            shown = number(x.value, 0 if x.value >= 100 else 1)
            marks.append(Mark(name, colour, False, x.value, x.low, x.high, shown))
        with drawing():
            text = to_svg(ranking(marks, unit.name, "mean", 400), "picture", self.title)
        # Alone, without the page's style sheet: its colours on white.
        css = files("mldsa_lab.show").joinpath("page.css").read_text(encoding="utf-8")
        text = re.sub(
            r"var\((--[\w-]+)\)",
            lambda m: re.findall(rf"{m[1]}: *([^;]+);", css)[0],
            text,
        )
        style = "background:#fff;font-family:system-ui,sans-serif"
        head = f'<svg xmlns="http://www.w3.org/2000/svg" style="{style}"'
        return text.replace("<svg", head, 1) + "\n"


TEXTS = ("variant", "implementation", "version", "backend", "language", "key")
"""Texts that a column may have instead of figures."""


def text_of(row: MeasuredCell, name: str) -> str:
    """Return one of `TEXTS` of a row."""
    v = row.variant
    hedged = "" if v.deterministic else " (hedged)"
    whole = f"{v.implementation} {v.version}, {v.backend}{hedged}"
    return whole if name == "variant" else str(row.worker.about(v)[name])


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """A column with a figure of an operation in one set or several."""

    title: str
    operation: str
    sets: tuple[str, ...]
    figure: str

    def cells(
        self, lines: Sequence[dict[tuple[str, str], MeasuredCell]], *, marked: bool
    ) -> list[str]:
        """Return the title and a text for each line; ``marked``: with a star where the key is an
        expanded one."""
        rows = [[row.get((s, self.operation)) for s in self.sets] for row in lines]
        known = [r for each in rows for r in each if r is not None]
        unit = choose_unit([r.cost for r in known], known[0].unit if known else "ns")
        heading = {"p999": "p99.9", "ratio": "ratio"}.get(self.figure, self.figure)
        heading += "" if self.figure == "ratio" else f", {unit.name}"
        sets = " / ".join(s.removeprefix("ML-DSA-") for s in self.sets)
        brief = len(self.sets) > 1
        return [
            self.title or f"{self.operation} {sets}, {heading}",
            *(
                " / ".join(figure_text(r, self.figure, unit, brief=brief) for r in each)
                + "\\*" * (marked and any(r and r.variant.key == "expanded" for r in each))
                if any(each)
                else MISSING
                for each in rows
            ),
        ]


def figure_text(row: MeasuredCell | None, figure: str, unit: Unit, *, brief: bool) -> str:
    """Return a figure as text, with its interval unless it is ``brief``."""
    if row is None:
        return MISSING
    if figure in PERCENTILES:
        return format_plain(row.value("quantile", percentile=PERCENTILES[figure]), unit)
    if brief and figure == "ratio" and (ratio := row.value("ratio")) is not None:
        return ratio_text(ratio)
    shown = estimate(row.interval(figure), unit if figure == "mean" else None)
    return shown.value if brief else f"{shown.value} {shown.distance}".rstrip()


def fastest(ranked: Sequence[MeasuredCell]) -> str:
    """Return the fastest implementation and how many times as much the next one costs."""
    if not ranked:
        return MISSING
    name = ranked[0].variant.implementation
    after = next((r for r in ranked if r.variant.implementation != name), None)
    if after is None:
        return name
    return f"{name}; {after.variant.implementation} × {after.cost / ranked[0].cost:.2f}"


# --- scenarios and cores --------------------------------------------------------------------------


class ScenarioTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A marker of the kind `impact`: figures of a scenario's template, for all or some schemes;
    lists are separated by `|`. A figure is its name and its keys, after the title of its column and
    ` = ` where that is another one."""

    scenario: str
    template: str
    figures: str
    schemes: str = ""

    def text(self, folder: Path) -> str:
        """Return the table."""
        from pqc_impact.show import document_table

        schemes = self.schemes.split("|") if self.schemes else ()
        impact = scenario_figures(self.scenario)
        pairs = (one.partition(" = ") for one in self.figures.split("|"))
        asked = {title: identity or title for title, _, identity in pairs}
        grid = document_table(impact, self.template, asked, schemes)
        return markdown(grid) + (f"\n{grid.note}.\n" if grid.note else "")


@cache
def scenario_figures(name: str) -> Any:
    """Return the figures of a scenario by the shipped records."""
    from pqc_impact.cli.impact import figures_of

    return figures_of(name, None)


class CoreTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A marker of the kind `rtl`: a table of `rtl study` by its title, from these files."""

    table: str
    record: Names = ()
    drawn: Names = ()
    resources: Names = ()
    clock: Names = ()

    def text(self, folder: Path) -> str:
        """Return the table; paths are relative to ``folder``."""
        from mldsa_lab_rtl.study_show import BESIDE, read_findings

        names = (*self.record, *self.drawn, *self.resources, *self.clock)
        findings = read_findings([folder / name for name in names])
        grids = {grid.title: grid for grid in findings.grids()}
        if self.table not in grids:
            raise LabError(f"table {self.table!r}: must be one of {'; '.join(grids)}")
        sources = findings.sources() if self.table == BESIDE else []
        listed = "".join(f"- {source}\n" for source in sources)
        return markdown(grids[self.table]) + (f"\n{listed}" if listed else "")


class AnswerTables(Struct, frozen=True, forbid_unknown_fields=True):
    """A marker of the kind `answer`: all tables of a published page, beside our figures."""

    page: str

    def text(self, folder: Path) -> str:
        """Return the tables, each under its title with the commands that make it."""
        page = read_page(self.page)
        sections = iter(answer_report(page).sections)
        parts = []
        for table in page.tables:
            commands = "".join(f"    {command}\n" for command in table.commands)
            words = [part for part in (commands, f"{table.remark}\n" * bool(table.remark)) if part]
            parts.append("\n".join([f"## {table.title}\n", *words, markdown(next(sections).grid)]))
            for own in table.own:
                parts.append(f"{own.title}:\n\n{markdown(next(sections).grid)}")
        if records := about_records(page):
            parts.append("## Records\n\n" + "".join(f"- {text}\n" for text in records))
        if page.left_out:
            listed = "".join(f"- {values.text}\n" for values in page.left_out)
            parts.append(f"## Left out\n\n{listed}")
        return "\n".join(parts)


class FigureTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A marker of the kind `figures`: figures of a source of answers. ``columns`` are IDENTITY =
    TITLE, ``keys`` KEY=TEXT."""

    source: str
    of: str
    rows: Names
    columns: Names
    keys: Names = ()

    def text(self, folder: Path) -> str:
        """Return the table."""
        columns = dict(text.partition(" = ")[::2] for text in self.columns)
        keys = dict(text.partition("=")[::2] for text in self.keys)
        own = OwnTable(self.source, self.of, title="", rows=self.rows, columns=columns, keys=keys)
        return markdown_of(own.select(figures_of(self.source, self.of)), own.layout)


class AnswerStates(Struct, frozen=True, forbid_unknown_fields=True):
    """A marker of the kind `states`: every row of the published pages, and how far it is
    answered."""

    def text(self, folder: Path) -> str:
        """Return the counts and the table."""
        rows = row_states()
        counts = Counter(state.state for _, state in rows)
        values = [page_counts(read_page(name)) for name in pages()]
        known, cells = (sum(counts) for counts in zip(*values, strict=True))
        head = (
            f"{counts['works']} of {len(rows)} rows work, {counts['partly']} partly, "
            f"{counts['not']} not. Of the {cells:,} values in the tables of the five pages, "
            f"{known:,} have a figure of ours.\n\n"
        )
        lines = [
            [str(r.number), r.page, r.what, f"`{r.command}`" if r.command else MISSING,
             s.state, f"{s.known} of {s.cells}" if s.cells else MISSING, "; ".join(s.missing)]
            for r, s in rows
        ]  # fmt: skip
        titles = ["row", "page", "what it shows", "command", "state", "values", "missing"]
        return head + pipe_table(titles, lines)


# --- documents ------------------------------------------------------------------------------------

KINDS: dict[str, Any] = {
    "table": RunTable, "impact": ScenarioTable, "rtl": CoreTable, "answer": AnswerTables,
    "states": AnswerStates, "figures": FigureTable, "picture": RunPicture,
}  # fmt: skip


def parse_marker(kind: str, words: str) -> Any:
    """Return the marker of these words. LabError for a wrong one."""
    if kind not in KINDS:
        raise LabError(f"mldsa-lab:{kind}: must be one of {', '.join(KINDS)}")
    fields = msgspec.inspect.type_info(KINDS[kind]).fields
    lists = {f.name for f in fields if isinstance(f.type, msgspec.inspect.VarTupleType)}
    values: dict[str, object] = {}
    try:
        for word in shlex.split(words):
            name, separator, value = word.partition("=")
            if not separator:
                raise LabError(f"{word!r}: must be NAME=VALUE")
            parts = tuple(part.strip() for part in value.split(","))
            values[name] = parts if name in lists else value
        return msgspec.convert(values, KINDS[kind])
    except ValueError as error:
        raise LabError(str(error)) from None


def rewritten(path: Path, text: str) -> str:
    """Return the text of a document with its tables and phrases made anew. LabError names the file
    and, of a table, the line."""

    def replaced(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        if not match["end"]:
            raise LabError(f"{where}: the marker has no end: <!-- /mldsa-lab:{match['kind']} -->")
        try:
            table = parse_marker(match["kind"], match["words"]).text(path.parent)
        except LabError as error:
            raise LabError(f"{where}: {error}") from None
        return f"{match['start']}{table}{match['end']}"

    text = MARKER.sub(replaced, text)
    try:
        return filled(path.resolve(), text)
    except LabError as error:
        raise LabError(f"{path}: {error}") from None


def pictures(path: Path, text: str) -> Iterator[tuple[Path, str, str]]:
    """Yield the pictures of a document: the file, its text, and that made anew."""
    for match in MARKER.finditer(text):
        if match["kind"] == "picture":
            marker = parse_marker("picture", match["words"])
            file = path.parent / marker.out
            old = file.read_text(encoding="utf-8") if file.exists() else ""
            yield file, old, marker.drawn(path.parent)


def documents() -> Iterator[Path]:
    """Yield the documents of the tree that have markers."""
    for path in sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern)):
        if any(m["start"] for m in MARKER.finditer(path.read_text(encoding="utf-8"))):
            yield path


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite or check the documents; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("documents", nargs="*", type=Path, metavar="DOCUMENT")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if out of date")
    asked = parser.parse_args(arguments)
    stale = 0
    for path in asked.documents or documents():
        try:
            old = path.read_text(encoding="utf-8")
            new = rewritten(path, old)
        except (OSError, UnicodeDecodeError, LabError) as error:
            print(error, file=sys.stderr)
            return 2
        listed = [(path, old, new), *pictures(path, old)]
        for file, before, after in listed:
            stale += after != before
            if after != before and not asked.check:
                write_text(file, after)
            verb = "out of date" if asked.check else "rewritten"
            print(f"{'unchanged' if after == before else verb:<12} {file}")
    return int(asked.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
