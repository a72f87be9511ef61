"""Tables in Markdown files, rewritten from records.

    <!-- mldsa-lab:table record=run.jsonl rows=variants columns=variant,key,sign@65.mean -->
    … what stands here is replaced …
    <!-- /mldsa-lab:table -->

docs/records.md lists what a marker may say.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.blocks import block_figures
from mldsa_lab.estimate.summary import Summary, SummaryRow
from mldsa_lab.files import write_text
from mldsa_lab.records import Record, base_id, read_record
from mldsa_lab.sets import BUILDS, OPERATIONS, PARAMETER_SETS, SIGNATURE_OPERATIONS, parse_set_names
from mldsa_lab.show.figure_tables import grid, tables
from mldsa_lab.show.format import MISSING, Unit, choose_unit, plain
from mldsa_lab.show.grid import markdown, pipe_table
from mldsa_lab.show.kinds.block import brief_block
from mldsa_lab.show.runs import told_size
from mldsa_lab.show.view import KEYS, MAIN_SET, SHOWN_OPERATIONS, cost, how, ratio, way_order

Loaded = tuple[Record, Summary]

_BLOCK_CONFIDENCE = 0.95
_FIGURES = ("mean", "p50", "p95", "p99", "p999", "ratio")
_TEXTS: dict[str, Callable[[SummaryRow], str]] = {
    "variant": lambda r: (
        f"{r.implementation} {r.version}, {r.backend}" + (" (hedged)" * (not r.deterministic))
    ),
    "implementation": lambda r: r.implementation,
    "version": lambda r: r.version,
    "backend": lambda r: r.backend,
    "language": lambda r: r.language,
    "build": lambda r: r.build or MISSING,
    "key": lambda r: r.key,
    "calls": lambda r: f"{r.backend}, {KEYS[r.key]}" if r.mode == "batch" else how(r),
}
_BLOCK = "block"
_KINDS = ("implementations", "variants", "batches", "operations", "fastest", _BLOCK)


@dataclass(slots=True)
class Marker:
    """What one marker asks for. `records`: paths; `where`: file and line, for errors."""

    where: str
    records: list[Path] = field(default_factory=list)
    rows: str = "implementations"
    sets: tuple[str, ...] = tuple(PARAMETER_SETS)
    operations: tuple[str, ...] = tuple(o for o in SHOWN_OPERATIONS if o in SIGNATURE_OPERATIONS)
    implementations: tuple[str, ...] = ("*",)
    build: str | None = None
    columns: str = ""
    figure: str = "ratio"

    def fail(self, text: str) -> LabError:
        """An error that names the marker."""
        return LabError(f"{self.where}: {text}")

    def named(self, words: Sequence[str]) -> tuple[str, ...]:
        """Sets by their names."""
        try:
            return parse_set_names(words)
        except LabError as error:
            raise self.fail(str(error)) from None

    def takes(self, row: SummaryRow) -> bool:
        """Whether a row is among those asked for."""
        names = (row.implementation, base_id(row.variant), row.variant)
        return (
            row.set in self.sets
            and row.operation in self.operations
            and row.mean is not None
            and row.threads == 1
            and (row.mode == "batch" or row.batch_size == 1)
            and (not row.again if self.build is None else row.build in (None, self.build))
            and any(fnmatchcase(n, pattern) for pattern in self.implementations for n in names)
        )


def splice(path: Path, given: Sequence[Loaded], load: Callable[[Path], Loaded]) -> tuple[str, str]:
    """The text of a Markdown file before and after its tables are made anew.

    ``given``: the records for markers that name none; ``load`` reads one. LabError for a file
    without markers, and for a marker that asks for what there is not.
    """
    known: dict[Path, Loaded] = {}

    def made(said: str, where: str) -> str:
        marker = _parse(said, where)
        if marker.rows == _BLOCK:
            return _block_table(marker, path.parent)
        chosen = []
        for record in marker.records:
            of = path.parent / record
            if of not in known:
                known[of] = load(of)
            chosen.append(known[of])
        if not (chosen or given):
            raise marker.fail("the marker names no record, and none is given")
        return _table(marker, [summary for _, summary in chosen or given])

    return replace_marked(path, "table", made)


def replace_marked(path: Path, kind: str, made: Callable[[str, str], str]) -> tuple[str, str]:
    """The text of a Markdown file before and after what stands between each marker
    ``<!-- mldsa-lab:KIND … -->`` and its end is what ``made`` gives for what the marker says; it
    gets file and line too, for errors. LabError for a file without markers."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{path}: cannot read it: {error}") from None
    end = f"<!-- /mldsa-lab:{kind} -->"
    # A marker in a block of code is an example.
    markers = re.compile(
        rf"^(?P<code>```).*?^```|(?P<start><!-- mldsa-lab:{kind}\b(?P<said>.*?)-->\n).*?"
        rf"(?P<end>{end}|\Z)",
        re.S | re.M,
    )

    def replace(found: re.Match[str]) -> str:
        if found["code"]:
            return found[0]
        where = f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
        if not found["end"]:
            raise LabError(f"{where}: the marker has no end: {end}")
        return f"{found['start']}{made(found['said'], where)}{found['end']}"

    if not any(found["start"] for found in markers.finditer(text)):
        raise LabError(f"{path}: has no <!-- mldsa-lab:{kind} … --> to rewrite")
    return text, markers.sub(replace, text)


def splice_file(path: Path, given: Sequence[Loaded], load: Callable[[Path], Loaded]) -> bool:
    """Rewrite the tables of a Markdown file; whether anything changed."""
    old, new = splice(path, given, load)
    if new != old:
        write_text(path, new)
    return new != old


def _parse(said: str, where: str) -> Marker:
    marker = Marker(where)
    try:
        words = shlex.split(said)
    except ValueError as error:
        raise marker.fail(str(error)) from None
    for word in words:
        name, separator, value = word.partition("=")
        parts = tuple(part.strip() for part in value.split(",") if part.strip())
        if not separator or not parts:
            raise marker.fail(f"{word!r}: must be NAME=VALUE")
        match name:
            case "record":
                marker.records = [Path(part) for part in parts]
            case "sets":
                marker.sets = marker.named(parts)
            case "operations" | "implementations":
                setattr(marker, name, parts)
            case "rows" | "build" | "columns" | "figure":
                setattr(marker, name, value)
            case _:
                raise marker.fail(
                    f"{name!r}: must be record, rows, sets, operations, implementations, build, "
                    "columns or figure"
                )
    for name, known in (("rows", _KINDS), ("build", (None, *BUILDS)), ("figure", _FIGURES)):
        if getattr(marker, name) not in known:
            listed = ", ".join(str(k) for k in known if k)
            raise marker.fail(f"{name} {getattr(marker, name)!r}: must be one of {listed}")
    for operation in marker.operations:
        if operation not in OPERATIONS:
            listed = ", ".join(OPERATIONS)
            raise marker.fail(f"operation {operation!r}: must be one of {listed}")
    return marker


def _block_table(marker: Marker, folder: Path) -> str:
    if len(marker.records) != 1:
        raise marker.fail(f"rows={_BLOCK}: the marker must name one record")
    try:
        figures = block_figures(read_record(folder / marker.records[0]), _BLOCK_CONFIDENCE)
    except LabError as error:
        raise marker.fail(str(error)) from None
    chosen, layout = brief_block(figures)
    return "".join(markdown(grid(t, _BLOCK_CONFIDENCE)) for t in tables(chosen, layout))


def _table(marker: Marker, summaries: Sequence[Summary]) -> str:
    rows = [r for s in summaries for r in s.rows if marker.takes(r)]
    size = told_size(r.batch_size for r in rows if r.mode == "batch")
    rows = [r for r in rows if r.mode != "batch" or r.batch_size == size]
    if not rows:
        raise marker.fail("the records hold nothing of what the marker asks for")
    rows.sort(key=lambda r: r.mean or 0.0)
    if marker.rows in ("operations", "fastest"):
        return _of_operations(marker, summaries, rows)
    lines: dict[tuple[str, ...], dict[tuple[str, str], SummaryRow]] = {}
    for row in rows:
        if (marker.rows == "batches") != (row.mode == "batch"):
            continue
        if marker.rows == "implementations" and row.key != "compact":
            continue
        best = marker.rows == "implementations"
        key = (row.implementation,) if best else (row.variant, row.key)
        lines.setdefault(key, {}).setdefault((row.set, row.operation), row)
    if not lines:
        raise marker.fail("the records hold nothing of what the marker asks for")
    columns = [
        _column(marker, part.strip()) for part in (marker.columns or _usual(marker)).split(",")
    ]
    listed = sorted(lines.values(), key=lambda of: _order(of, columns))
    cells = [c.cells(listed) for c in columns]
    titles = [title for title, _ in cells]
    return pipe_table(titles, zip(*(texts for _, texts in cells), strict=True))


def _usual(marker: Marker) -> str:
    main = MAIN_SET if MAIN_SET in marker.sets else marker.sets[0]
    short = main.removeprefix("ML-DSA-")
    first = "implementation" if marker.rows == "implementations" else "variant"
    first = "calls" if marker.rows == "batches" else first
    return ",".join([first, "build", *(f"{o}@{short}.mean" for o in marker.operations)])


@dataclass(frozen=True, slots=True)
class _Spec:
    """A column: a text of the row, or a figure of an operation in one set or several."""

    title: str
    text: str | None
    operation: str = ""
    sets: tuple[str, ...] = ()
    figure: str = ""

    def cells(self, lines: Sequence[dict[tuple[str, str], SummaryRow]]) -> tuple[str, list[str]]:
        """Title and texts."""
        if self.text is not None:
            return self.title, [_TEXTS[self.text](next(iter(of.values()))) for of in lines]
        rows = [[of.get((s, self.operation)) for s in self.sets] for of in lines]
        known = [r for each in rows for r in each if r is not None]
        unit = choose_unit([r.mean for r in known], known[0].unit if known else "ns")
        shown = "p99.9" if self.figure == "p999" else self.figure
        sets = " / ".join(s.removeprefix("ML-DSA-") for s in self.sets)
        what = shown if self.figure == "ratio" else f"{shown}, {unit.name}"
        title = self.title or f"{self.operation} {sets}, {what}"
        return title, [" / ".join(_figure(r, self.figure, unit, len(each) > 1) for r in each)
                       if any(each) else MISSING for each in rows]  # fmt: skip


def _column(marker: Marker, said: str) -> _Spec:
    """`[TITLE=]key`, or `[TITLE=]sign@44/65.ratio`."""
    title, _, spec = said.rpartition("=")
    if spec in _TEXTS:
        return _Spec(title or spec, spec)
    found = re.fullmatch(r"(\w+)(?:@([\w/]+))?\.(\w+)", spec)
    if not found or found[1] not in OPERATIONS or found[3] not in _FIGURES:
        raise marker.fail(
            f"column {said!r}: must be one of {', '.join(_TEXTS)}, or OPERATION[@SETS].FIGURE like "
            f"sign@44/65/87.ratio, with one of {', '.join(_FIGURES)}"
        )
    sets = marker.named(found[2].split("/")) if found[2] else marker.sets
    return _Spec(title, None, found[1], sets, found[3])


def _figure(row: SummaryRow | None, figure: str, unit: Unit, joined: bool) -> str:
    if row is None:
        return MISSING
    if figure in ("mean", "ratio"):
        found = cost(row, unit) if figure == "mean" else ratio(row)
        if not joined:
            return f"{found.value} {found.distance}".rstrip()
        if figure == "ratio" and row.ratio is not None:
            return f"{row.ratio:.2f}" if row.ratio < 10 else f"{row.ratio:.1f}"
        return found.value
    return plain(getattr(row, figure), unit)


def _order(of: dict[tuple[str, str], SummaryRow], columns: Sequence[_Spec]) -> tuple[int, float]:
    """By the first figure that it has."""
    for place, column in enumerate(c for c in columns if c.text is None):
        row = of.get((column.sets[0], column.operation))
        if row is not None:
            return place, row.mean or 0.0
    return len(columns), 0.0


def _of_operations(marker: Marker, summaries: Sequence[Summary], rows: Sequence[SummaryRow]) -> str:
    """Operations and how they are called against sets, the best of the variants asked for, or the
    names of the fastest implementation and the next; of several records the first that has it."""
    place = {id(r): i for i, s in enumerate(summaries) for r in s.rows}
    found: dict[tuple[str, str], dict[str, SummaryRow]] = {}
    following: dict[tuple[str, str, str], SummaryRow] = {}
    for row in sorted(rows, key=lambda r: (place[id(r)], r.mean or 0.0)):
        first = found.setdefault((row.operation, how(row)), {}).setdefault(row.set, row)
        if first.implementation != row.implementation and place[id(first)] == place[id(row)]:
            following.setdefault((row.operation, how(row), row.set), row)
    order = {o: i for i, o in enumerate(marker.operations)}
    listed = sorted(found, key=lambda k: (order[k[0]], way_order(k[1])))
    texts = []
    for operation, way in listed:
        of = found[operation, way]
        known = [of.get(s) for s in marker.sets]
        unit = choose_unit([r.mean for r in known if r], "ns")
        name = operation if way == "compact key" else f"{operation}, {way}"
        if marker.rows == "fastest":
            after = [following.get((operation, way, s)) for s in marker.sets]
            texts.append([name, *(map(_names, known, after))])
            continue
        if marker.figure != "ratio":
            name += f", {unit.name}"
        texts.append([name, *(_figure(r, marker.figure, unit, True) for r in known)])
    return pipe_table(["", *(s.removeprefix("ML-DSA-") for s in marker.sets)], texts)


def _names(row: SummaryRow | None, after: SummaryRow | None) -> str:
    """The fastest, and how many times as much the next one costs."""
    if row is None:
        return MISSING
    if after is None or not row.mean or after.mean is None:
        return row.implementation
    return f"{row.implementation}; {after.implementation} × {after.mean / row.mean:.2f}"
