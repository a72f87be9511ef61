"""A report: tables, plots and their figures, on screen and as files.

docs/schema/figures.json is made from `FiguresFile`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, to_builtins
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from mldsa_lab.estimate.figure import Figure, FigureKind, Figures, Key
from mldsa_lab.records import Record, Variant
from mldsa_lab.screen import print_end
from mldsa_lab.sets import DEFAULT_BASELINE, FAMILIES
from mldsa_lab.show import figure_tables
from mldsa_lab.show.figure_tables import FigureTable, TableLayout
from mldsa_lab.show.grid import SERIES_COUNT, Dot, Grid, clean, markdown, terminal

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


# Figures as a file of JSON.


FORMAT, VERSION = "mldsa-lab figures", 1
KeyValue = str | int | float | bool | None


class FigureParts(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A figure without its keys and name. ``value``: null where it is not known. ``low``, ``high``:
    limits of the interval, null on a side without one. ``source``: the place, from 0, of its source
    in the list's ``sources``."""

    value: int | float | None
    low: int | float | None = None
    high: int | float | None = None
    unit: str = ""
    kind: FigureKind = "measured"
    source: int | None = None
    verdict: str = ""
    notes: tuple[str, ...] = ()


class FigureGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """The figures of the same keys, by name."""

    keys: dict[str, KeyValue]
    figures: dict[str, FigureParts]


class FigureList(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The figures of a report. ``about``: by key and by its values as text, their attributes.
    ``head``: attributes of all figures; ``lacking``: the reason why there is no figure."""

    title: str
    groups: tuple[FigureGroup, ...]
    name: str = ""
    head: dict[str, KeyValue] = {}
    about: dict[str, dict[str, dict[str, KeyValue]]] = {}
    sources: tuple[str, ...] = ()
    lacking: str = ""


class FiguresFile(Struct, frozen=True, forbid_unknown_fields=True):
    """All lists of figures of a command, one for each report."""

    format: Literal["mldsa-lab figures"]
    version: Literal[1]
    lists: tuple[FigureList, ...]


def list_figures(
    figures: Sequence[Figure], title: str, *, name: str = "", lacking: str = ""
) -> FigureList:
    """Return figures as a list of the file, grouped by their keys. Those of the same name and keys
    are an error of the program."""
    source = figures if isinstance(figures, Figures) else Figures(figures)
    sources = dict.fromkeys(f.source for f in source if f.source)
    places = {text: place for place, text in enumerate(sources)}
    groups: dict[frozenset[tuple[str, object]], FigureGroup] = {}
    for f in source:
        group = groups.setdefault(frozenset(f.keys.items()), FigureGroup(dict(f.keys), {}))
        assert f.name not in group.figures, f"{f.name} of {dict(f.keys)} occurs twice"
        group.figures[f.name] = FigureParts(
            _plain_number(f.value), _plain_number(f.low), _plain_number(f.high), f.unit, f.kind,
            places.get(f.source), f.verdict, f.notes,
        )  # fmt: skip
    about = {
        key: {str(value): dict(attributes) for value, attributes in named.items()}
        for key, named in source.about.items()
    }
    return FigureList(
        title, tuple(groups.values()), name, dict(source.head), about, tuple(places), lacking
    )


def _plain_number(value: float | None) -> int | float | None:
    """A number without NumPy's type."""
    return value if isinstance(value, int | None) else float(value)


def as_text(lists: Iterable[FigureList]) -> str:
    """Return the text of a file, with a line for each group."""
    dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    texts = []
    for one in lists:
        parts = to_builtins(one)
        groups = ",\n".join(dumps(group) for group in parts.pop("groups"))
        head = "".join(f",\n{dumps(name)}:{dumps(part)}" for name, part in parts.items())
        texts.append(f'{{{head[2:]},\n"groups":[\n{groups}\n]}}')
    listed = ",\n".join(texts)
    return f'{{"format":"{FORMAT}","version":{VERSION},"lists":[\n{listed}\n]}}\n'


# Reports.


REJECTED_TITLE, EXCLUDED_TITLE = (
    "Rejected by the correctness gate, not timed",
    "Excluded after a fault",
)
"""Titles of remarks on what is missing, which the first screen of a page has."""
_NAMED = 3
"""Subjects that a group of remarks names."""


@dataclass(frozen=True, slots=True)
class Look:
    """How to look at records: the baseline of ratios, the clock, the confidence of intervals;
    ``colours`` of implementations; ``has_clouds``: with plots of cost over iterations."""

    baseline: str = DEFAULT_BASELINE
    clock: str = "cpu"
    confidence: float = 0.95
    colours: Mapping[str, int] = field(default_factory=dict)
    has_clouds: bool = True


@dataclass(frozen=True, slots=True)
class PlotSpec:
    """A plot that the page draws: its title, the function that draws it (inside `svg.drawing()`),
    and the names of its colours.

    ``text``: words before all plots that share it; ``alt``: the plot in words. ``narrow``: draws it
    for a phone, ``draw`` then for the whole width. ``is_small``: it is one of many.
    """

    title: str
    draw: Callable[[], Drawing]
    legend: tuple[tuple[str, Dot], ...] = ()
    text: str = ""
    alt: str = ""
    narrow: Callable[[], Drawing] | None = None
    is_small: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A table of a report. ``table``: its figures, which the page draws as its layout says;
    ``plots``: further plots; ``is_brief``: the terminal shows it without ``--all``.

    ``chapter``: the chapter of the page that it belongs to, if it has none of its own.
    ``is_first``: it is on the page's first screen, and last in the terminal. ``is_page_only``: it
    is nowhere else.
    """

    grid: Grid
    table: FigureTable | None = None
    plots: tuple[PlotSpec, ...] = ()
    is_brief: bool = True
    chapter: str = ""
    is_first: bool = False
    is_page_only: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """A remark on a subject, such as a variant that the gate rejected; ``where``: its places."""

    subject: str
    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.subject}{f' ({self.where})' if self.where else ''}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is shown at once.

    ``kind``: words for the page's title. ``about``: subject, place and time, in a sentence without
    its full stop. ``sentences`` support the headline; ``warnings`` say why figures are doubtful.
    ``remarks`` by their title. ``method``: for the end of the page. ``source``: the file that the
    figures are from.

    ``texts``: the paragraphs of a chapter of the page, by its title; one within backticks is a
    command. ``facts``: name and value, by chapter. ``fields``: those of a row of CSV, where these
    are documented: see `figure_tables.wide_rows`. ``name``: distinguishes it on its page.
    ``lacking``: why it has no figures. ``has_brief_notes``: the terminal shows its notes without
    ``--all``. ``folded``: keys that are in the names of their columns of CSV: see
    `figure_tables.as_rows`.
    """

    kind: str
    headline: str
    figures: Sequence[Figure]
    sections: Sequence[Section]
    about: str = ""
    method: str = ""
    notes: Sequence[str] = field(default=())
    source: str = ""
    sentences: Sequence[str] = ()
    warnings: Sequence[str] = ()
    remarks: Mapping[str, Sequence[Reason]] = field(default_factory=dict)
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    lacking: str = ""
    has_brief_notes: bool = True
    folded: Sequence[str] = ()

    @property
    def serious(self) -> dict[str, Sequence[Reason]]:
        """The remarks on what is missing."""
        return {t: self.remarks[t] for t in (REJECTED_TITLE, EXCLUDED_TITLE) if t in self.remarks}


def sections_of(
    figures: Sequence[Figure],
    layouts: Sequence[TableLayout],
    confidence: float,
    note: str = "",
    *,
    is_brief: bool = True,
    chapter: str = "",
) -> list[Section]:
    """Return a section for each table of the layouts."""
    return [
        Section(figure_tables.grid(table, confidence, note), table, (), is_brief, chapter)
        for layout in layouts
        for table in figure_tables.tables(figures, layout)
    ]


def print_report(report: Report, console: Console, *, is_full: bool) -> None:
    """Print tables, those of the first screen last; then remarks, headline and warnings.

    ``is_full``: with the tables that are not brief.
    """
    listed = [s for s in report.sections if not s.is_page_only]
    shown = [s for s in listed if is_full or s.is_brief]
    for section in sorted(shown, key=lambda s: s.is_first):
        console.print(terminal(section.grid, console.width))
        console.print()
    for note in report.notes if is_full or report.has_brief_notes else ():
        console.print(Text(clean(note)), soft_wrap=True)
    if more := len(listed) - len(shown):
        text = f"{more} more table{'s' * (more > 1)}: --all, or the page."
        console.print(Text(text, style="dim"))
    for title, remarks in report.remarks.items():
        console.print(Text(title, style="bold"))
        for line in _group_reasons(remarks):
            console.print(Padding(Text(clean(line)), (0, 0, 0, 2)))
    print_end(
        console,
        f"{clean(report.headline)}.",
        map(clean, report.sentences),
        map(clean, report.warnings),
    )


def _group_reasons(remarks: Iterable[Reason]) -> list[str]:
    """Remarks, those of one kind in one line: a count, some subjects, the first of them."""
    kinds: dict[str, list[Reason]] = {}
    for remark in remarks:
        kind = re.sub(r"[\d.,]+|\b[0-9a-f]{8,}\b", "#", remark.reason)
        kinds.setdefault(kind, []).append(remark)
    lines = []
    for same in kinds.values():
        subjects = list(dict.fromkeys(remark.subject for remark in same))
        more = len(subjects) - _NAMED
        named = ", ".join(subjects[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"{len(same)} × {named}; {same[0]}" if len(same) > 1 else str(same[0]))
    return lines


def as_json(reports: Sequence[Report]) -> str:
    """Return the figures as the text of a file of JSON."""
    return as_text(
        list_figures(r.figures, r.headline, name=r.name, lacking=r.lacking) for r in reports
    )


def as_csv(reports: Sequence[Report]) -> str:
    """Return the figures as lines of CSV, under a header of all names; rows whose fields are
    documented come first."""
    listed = sorted(reports, key=lambda r: not r.fields)
    return figure_tables.as_csv([row for r in listed for row in rows_of(r)])


def rows_of(report: Report) -> list[figure_tables.FigureRow]:
    """Return the figures as rows."""
    if isinstance(report.figures, Figures) and report.fields:
        return figure_tables.wide_rows(report.figures, report.fields)
    return figure_tables.as_rows(report.figures, report.folded)


def as_markdown(reports: Sequence[Report]) -> str:
    """Return headline, tables and notes as Markdown."""
    parts = []
    for r in reports:
        about = [f"{r.about}."] if r.about else []
        parts += [f"## {clean(r.headline)}\n"]
        parts += [f"{clean(text)}\n" for text in (*about, *r.sentences, *r.warnings)]
        parts += [
            f"### {clean(g.title)}\n\n{f'{clean(g.note)}.' if g.note else ''}\n\n{markdown(g)}"
            for g in (s.grid for s in r.sections if not s.is_page_only)
        ]
        remarks = (f"{title}: {r}" for title, listed in r.remarks.items() for r in listed)
        if listed := "".join(f"- {clean(text)}\n" for text in (*r.notes, *remarks)):
            parts.append(listed)
    return "\n".join(parts)


# Variants for a reader.


COMPACT = "compact key"
"""The text of `calls` for single calls that begin with the key's bytes."""
KEYS = {"compact": "many keys", "expanded": "one key"}
"""Which keys the operations of a batch have, by the variant's key form."""
HEADLINE_BATCH = 1000
"""The batch size that represents all, where it was measured; else the largest."""
_COLOURED = (
    "mldsa-native", "mldsa-lanes", "aws-lc", "libcrux", "rustcrypto", "fips204", "filippo", "circl",
    "mldsa-lanes-hardened", "wolfssl",
    "openssl", "boringssl", "jdk", "bouncycastle", "botan", "liboqs", "go-ml-dsa", "mldsa-oracle",
    "cryptography", "zig-ml-dsa",
    "mldsa-lanes-c", "mldsa-lanes-python", "conscrypt", "accp", "node-crypto", "liboqs-js",
    "noble-post-quantum", "bouncycastle-1.83", "pqcrypto", "dilithium-py", "fast-mldsa",
    "qybersafe", "mldsa", "mldsa-core",
)  # fmt: skip
"""Implementations of ML-DSA whose colours are the same in every report, by number."""


def describe_record(record: Record, figures: Sequence[Figure], look: Look) -> Figures:
    """Return figures of a record with the attributes of its variants and of its run."""
    labels = record.labels()
    about: dict[Key, dict[str, Key]] = {
        v.id: {
            **worker.about(v),
            "label": labels.get(v.base, v.base),
            "calls": calls(v),
            "keys": KEYS[v.key],
            "size": v.batch_size if v.mode == "batch" else "loop",
        }
        for v, worker in record.variants.values()
    }
    head: dict[str, Key] = {
        "reference": look.baseline, "asked_clock": look.clock, "confidence": look.confidence,
    }  # fmt: skip
    return Figures(figures, {"variant": about}, head | record.facts())


def calls(variant: Variant) -> str:
    """Return how operations are called: with which key, and in which batches."""
    if variant.mode == "batch":
        return f"batch of {variant.batch_size:,}, {KEYS[variant.key]}"
    return f"{variant.key} key"


def headline_batch_size(variants: Iterable[Variant]) -> int:
    """Return the batch size that represents all; 0 where there is none."""
    known = {v.batch_size for v in variants if v.mode == "batch"}
    return HEADLINE_BATCH if HEADLINE_BATCH in known else max(known, default=0)


def assign_colours(records: Iterable[Record]) -> dict[str, int]:
    """Return a colour number per implementation: the same for the known ones in every report. No
    number occurs twice in a family, and no plot shows two families."""
    measured = ((record.variants, {s.variant for s in record.samples}) for record in records)
    timed = {variants[name][0] for variants, ids in measured for name in ids}
    colours = {name: number for number, name in enumerate(_COLOURED)}
    for family in FAMILIES:
        names = {v.implementation for v in timed if v.family == family}
        known = names.intersection(_COLOURED)
        colours |= free_colours(sorted(names - known), {colours[name] for name in known})
    return colours


def free_colours(names: Iterable[str], taken: Collection[int]) -> dict[str, int]:
    """Return a number for each name that no other has and that is not ``taken``; those of known
    implementations come last."""
    known = len(_COLOURED)
    usual = (*range(known, SERIES_COUNT), *range(known), *range(SERIES_COUNT, 10 * SERIES_COUNT))
    free = (number for number in usual if number not in taken)
    return dict(zip(names, free, strict=False))
