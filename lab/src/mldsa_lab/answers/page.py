"""An answer as data: our figure of each published value."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from msgspec import Meta, Struct, structs

from mldsa_lab import LabError
from mldsa_lab.audit import read_claims
from mldsa_lab.audit.claims import ClaimTable, PublishedValue, published_values, read_pattern
from mldsa_lab.audit.judgement import BYTES, SECONDS
from mldsa_lab.audit.reading import example_path
from mldsa_lab.checkout import in_tree
from mldsa_lab.estimate.figure import Figure, Figures, Key, parse_identity
from mldsa_lab.files import Text, decode_toml, read_text
from mldsa_lab.show.figure_tables import NOTES, SpreadColumns, TableLayout
from mldsa_lab.show.grid import Unit

RELATIONS = ("less", "over", "change_from")
"""Fields that name another value, to which our figure is put in relation."""
Texts = Key | tuple[Key, ...]
"""The value of a key, or several in the order of preference."""
Words = Mapping[str, Mapping[str, Texts]]
"""By key, our values for the page's words."""

_TIMES = {**SECONDS, "µs": 1e-6, "min": 60.0, "h": 3600.0, "d": 86400.0}
_UNITS = {
    **{unit: Unit(seconds, "s") for unit, seconds in _TIMES.items()},
    **{unit: Unit(size, "B") for unit, size in BYTES.items()},
    **{f"{unit}/s": Unit(size, "B/s") for unit, size in BYTES.items()},
    **dict.fromkeys(("1", "x", "count", "bits"), Unit(1.0, "")),
    "MHz": Unit(1e6, "Hz"), "%": Unit(0.01, ""),
}  # fmt: skip


def stored_unit(unit: str) -> Unit:
    """Return the size of a page's unit, and the name of the one in which figures are stored."""
    return _UNITS.get(unit) or Unit(1.0, unit)


class AnswerPart(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the file of an answer."""


AnyPart = TypeVar("AnyPart", bound="FigureSource")


class FigureSource(AnswerPart, frozen=True):
    """A record or another origin of figures. ``source`` is an entry point of `mldsa_lab.figures`,
    ``argument`` its argument, "" where no record is published; ``command`` makes the argument's
    file. A part of a table may give the name of one of the page's `sources` instead."""

    source: Text
    argument: str = ""
    command: str = ""


class OurFigures(FigureSource, frozen=True, kw_only=True):
    """Our figures of some values.

    ``figures``: by a pattern of the values' labels, the name and keys of our figure. They may refer
    to groups of the pattern (``\\1``); named groups are keys too. ``keys``: further ones, a list
    being in the order of preference. ``rows``: as of a table, where only some of its values are
    meant.

    ``less``, ``over``: the label of another value, whose figure of ours is subtracted or divides.
    ``change_from``: the label of a published value; our figure is the change from it in percent. At
    most one of the three; it may refer to groups.
    """

    figures: Annotated[dict[str, Text], Meta(min_length=1)]
    keys: dict[str, Texts] = {}
    rows: tuple[int, ...] = ()
    less: str = ""
    over: str = ""
    change_from: str = ""

    def __post_init__(self) -> None:
        names = [name for name in RELATIONS if getattr(self, name)]
        if len(names) > 1:
            raise ValueError(f"{' and '.join(names)}: give one of them")
        for text, figure in self.figures.items():
            pattern = read_pattern(text)
            for name in ("figures", *names):
                try:
                    pattern.sub(figure if name == "figures" else getattr(self, name), "")
                except (re.error, IndexError) as error:
                    raise ValueError(f"{name}: no reference to groups: {error}") from None

    @property
    def is_measured(self) -> bool:
        """True if the command measures; other sources compute."""
        return not self.argument or self.argument.startswith("records/")

    def match(self, label: str) -> re.Match[str] | None:
        """Return the match of the first pattern that a value's label fits."""
        return next(filter(None, (read_pattern(t).fullmatch(label) for t in self.figures)), None)

    def relation(self, label: str) -> tuple[str, str]:
        """Return which of `RELATIONS` is given, and by it the label of the other value; two empty
        texts for none."""
        match = self.match(label)
        field = next((name for name in RELATIONS if getattr(self, name)), "")
        return field, match.expand(getattr(self, field)) if match and field else ""

    def select(self, label: str, words: Words) -> tuple[str, dict[str, tuple[str, ...]]] | None:
        """Return the name of the figure for a value, and by key the texts that it may have; None
        for another value. ``words``: those of the page."""
        match = self.match(label)
        if match is None:
            return None
        name, own = parse_identity(match.expand(self.figures[match.re.pattern]))
        groups = {key: text for key, text in match.groupdict().items() if text is not None}
        keys = {k: _translate(v, words.get(k, {})) for k, v in (self.keys | groups | own).items()}
        return name, keys


def _translate(texts: Texts, words: Mapping[str, Texts]) -> tuple[str, ...]:
    """Return the values that a key may have, in our words."""
    every = (words.get(str(t), t) for t in (texts if isinstance(texts, tuple) else (texts,)))
    return tuple(str(t) for each in every for t in (each if isinstance(each, tuple) else (each,)))


class _Excuse(AnswerPart, frozen=True):
    """The reason ``why`` of values, whose labels fit the pattern ``cells``."""

    cells: Text
    why: Text

    def __post_init__(self) -> None:
        read_pattern(self.cells)


class MissingFigures(_Excuse, frozen=True):
    """Values that have no figure of ours on purpose. The reason counts against the ``rows`` and
    those of the table."""

    rows: tuple[int, ...] = ()


class LeftOutValues(_Excuse, frozen=True):
    """Values that are in no table. ``title``: their name for a reader."""

    title: Text

    @property
    def text(self) -> str:
        """The title and the reason."""
        return f"{self.title}: {self.why}"


class OwnTable(FigureSource, frozen=True, kw_only=True):
    """A table with only figures of ours. ``columns``: figures of a source, each by its name and
    keys. ``rows``: keys of the rows. ``keys``: keys that all figures have; a list means
    alternatives. ``findings``: figures whose notes are shown in place of their values. ``across``:
    a key whose values have a column each, in place of a figure's title."""

    title: Text
    rows: tuple[Text, ...]
    columns: dict[str, Text] = {}
    findings: dict[str, Text] = {}
    across: str = ""
    keys: dict[str, Texts] = {}

    def select(self, figures: Figures) -> Figures:
        """Return the figures that have the keys."""
        texts = {key: _translate(value, {}) for key, value in self.keys.items()}

        def has_keys(figure: Figure) -> bool:
            known = figures.known(figure)
            return all(str(known.get(key)) in options for key, options in texts.items())

        return figures.only(has_keys)

    @property
    def layout(self) -> TableLayout:
        """Return how it is shown."""
        columns = []
        for declared, show in ((self.columns, ""), (self.findings, NOTES)):
            for text, title in declared.items():
                name, keys = parse_identity(text)
                heading = "{value}" if self.across else title
                columns.append(SpreadColumns(name, heading, self.across, show=show, keys=keys))
        split = [key for key, texts in self.keys.items() if not isinstance(texts, tuple)]
        free = tuple(self.keys.keys() - split)
        return TableLayout(self.title, tuple(split), self.rows, tuple(columns), free=free)


class AnswerTable(AnswerPart, frozen=True):
    """One table of the page. ``values``: a pattern of the labels that are its rows. ``rows``: the
    numbers of docs/answers/rows.toml that it answers. ``missing``: values without a figure of ours.
    ``own``: tables with only our figures. ``note``: a caveat for readers."""

    title: Text
    claims: Annotated[tuple[Text, ...], Meta(min_length=1)]
    values: str = ".*"
    ours: tuple[OurFigures, ...] = ()
    missing: tuple[MissingFigures, ...] = ()
    own: tuple[OwnTable, ...] = ()
    rows: tuple[int, ...] = ()
    note: str = ""

    def ours_of(self, label: str) -> OurFigures | None:
        """Return where our figure of a value is from; None if it has none."""
        return next((o for o in self.ours if o.argument and o.match(label)), None)

    def missing_of(self, label: str) -> MissingFigures | None:
        """Return the entry with the reason why a value has no figure of ours, or None."""
        if self.ours_of(label):
            return None
        return next((m for m in self.missing if read_pattern(m.cells).fullmatch(label)), None)

    def rows_of(self, label: str) -> set[int]:
        """Return the numbers of the rows that a value belongs to: all that the table names, where
        nothing is said of the value."""
        part = self.ours_of(label) or self.missing_of(label)
        parts: list[OurFigures | MissingFigures] = [part] if part else [*self.ours, *self.missing]
        return {*self.rows, *(number for part in parts for number in part.rows)}

    @property
    def remark(self) -> str:
        """The note, and why some values have no figure of ours."""
        reasons = "; ".join(missing.why for missing in self.missing)
        missing = f"No figure of ours: {reasons}." if reasons else ""
        return " ".join(filter(None, (self.note, missing)))

    @property
    def commands(self) -> list[str]:
        """The commands of its figures, each once."""
        commands = [part.command for part in self.ours] + [part.command for part in self.own]
        return list(dict.fromkeys(filter(None, commands)))


class AnswerCell(NamedTuple):
    """A published value in a table of an answer."""

    table: AnswerTable
    value: PublishedValue

    @property
    def is_mapped(self) -> bool:
        """True if it has a figure of ours."""
        return self.table.ours_of(self.value.label) is not None


class AnswerPage(AnswerPart, frozen=True):
    """The answer to a page: its tables in the page's order, and the values that are in no table.
    ``words``: our words for the page's, by key. ``name``: also the name of the audit's example with
    the published values."""

    title: Text
    tables: Annotated[tuple[AnswerTable, ...], Meta(min_length=1)]
    left_out: tuple[LeftOutValues, ...] = ()
    sources: dict[str, FigureSource] = {}
    words: dict[str, dict[str, Texts]] = {}
    name: str = ""

    def claims(self) -> ClaimTable:
        """Return the published claims."""
        return _claims(self.name)

    def cells(self) -> list[AnswerCell]:
        """Return the values of all tables in their order."""
        return [AnswerCell(table, value) for table in self.tables for value in self.values(table)]

    def values(self, table: AnswerTable) -> Iterator[PublishedValue]:
        """Yield the rows of a table. LabError for a claim that does not exist."""
        known = {c.id: c for c in self.claims().claims}
        for name in table.claims:
            if name not in known:
                raise LabError(f"table {table.title!r}, claims: the page has no claim {name!r}")
            for value in published_values(known[name]):
                if read_pattern(table.values).fullmatch(value.label):
                    yield value


@cache
def _claims(name: str) -> ClaimTable:
    return read_claims(example_path(name))


def pages() -> dict[str, Path]:
    """Return the files of all answers by name, in the order of the pages."""
    folder = in_tree("docs", "answers")
    return {p.stem.partition("-")[2]: p for p in sorted(folder.glob("[0-9]*-*.toml"))}


def read_page(name: str) -> AnswerPage:
    """Return the answer to a page. LabError for an unknown one or a wrong file."""
    known = pages()
    if name not in known:
        raise LabError(f"answer: unknown page {name!r}: known are {', '.join(known)}")
    path = known[name]
    page = decode_toml(read_text(path), AnswerPage, path.name)
    tables = tuple(_with_sources(table, page.sources) for table in page.tables)
    return structs.replace(page, tables=tables, name=name)


def _with_sources(table: AnswerTable, sources: Mapping[str, FigureSource]) -> AnswerTable:
    """Return a table whose parts have the sources that they name."""

    def resolve(part: AnyPart) -> AnyPart:
        known = sources.get(part.source)
        return structs.replace(part, **structs.asdict(known)) if known else part

    ours, own = tuple(map(resolve, table.ours)), tuple(map(resolve, table.own))
    return structs.replace(table, ours=ours, own=own)


def command_words(command: str) -> list[str]:
    """Return the arguments of a command of the lab, without the program."""
    words = shlex.split(command)
    if words[:1] == ["mldsa-lab"]:
        return words[1:]
    raise LabError(f"command {command!r}: must begin with mldsa-lab")
