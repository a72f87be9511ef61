"""An answer as data: which of our figures stands beside which published value."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, structs

from mldsa_lab import LabError
from mldsa_lab.audit import read_claims
from mldsa_lab.audit.claims import ClaimTable
from mldsa_lab.audit.published import PublishedValue, published_values
from mldsa_lab.audit.reading import example_path
from mldsa_lab.checkout import in_tree
from mldsa_lab.estimate.figure import Figure, Figures, Key, parse_identity
from mldsa_lab.files import Text, decode_toml, read_text
from mldsa_lab.show.figure_tables import NOTES, SpreadColumns, TableLayout

FIGURE = "figure"
"""The group of a pattern that names the figure; other groups are keys."""
RELATIONS = ("less", "over", "change_from")
"""Fields that name another value, to which our figure is put in relation."""


def _pattern(cells: str) -> re.Pattern[str]:
    """The pattern of labels. ValueError for a wrong one."""
    try:
        return re.compile(cells)
    except re.error as error:
        raise ValueError(f"cells: no pattern: {error}") from None


class AnswerPart(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the file of an answer."""


class OurFigures(AnswerPart, frozen=True):
    """Where our figures of some values are from.

    ``source``: an entry point of `mldsa_lab.figures`; ``of``: its argument, "" where no record is
    published; ``command`` makes what it names. ``cells``: a pattern of the values' labels, whose
    groups are keys of the figure and its name (`FIGURE`, or ``figure`` for all, keys with it), with
    ``words`` for what is called otherwise here; ``keys``: further ones, a list being in the order
    of preference; ``rows``: as of a table, where only some of its values are meant.

    ``less``, ``over``: the label of another value, whose figure of ours is subtracted or divides;
    ``change_from``: the label of a published value, from which our figure is a change in percent.
    At most one of the three; it may refer to groups of ``cells`` (``\\1``).
    """

    source: Text
    cells: Text
    of: str = ""
    command: str = ""
    figure: str = ""
    keys: dict[str, Key | tuple[Key, ...]] = {}
    words: dict[str, Key] = {}
    rows: tuple[int, ...] = ()
    less: str = ""
    over: str = ""
    change_from: str = ""

    def __post_init__(self) -> None:
        pattern = _pattern(self.cells)
        if (FIGURE in pattern.groupindex) == bool(self.figure):
            raise ValueError(f"figure: name it here or by a group {FIGURE!r} of cells, not both")
        names = [name for name in RELATIONS if getattr(self, name)]
        if len(names) > 1:
            raise ValueError(f"{' and '.join(names)}: give one of them")
        for name in names:
            try:
                pattern.sub(getattr(self, name), "")
            except (re.error, IndexError) as error:
                raise ValueError(f"{name}: no reference to groups of cells: {error}") from None

    @property
    def measured(self) -> bool:
        """Whether the command measures; other sources compute."""
        return not self.of or self.of.startswith("records/")

    def relation(self, label: str) -> tuple[str, str]:
        """Return which of `RELATIONS` is given, and by it the label of the other value; two empty
        texts for none."""
        match = re.fullmatch(self.cells, label)
        field = next((name for name in RELATIONS if getattr(self, name)), "")
        return field, match.expand(getattr(self, field)) if match and field else ""

    def selected(self, label: str) -> tuple[str, dict[str, tuple[str, ...]]] | None:
        """Return the name of the figure for a value, and by key the texts that it may have; None
        for another value."""
        match = re.fullmatch(self.cells, label)
        if match is None:
            return None
        groups = {k: v for k, v in match.groupdict().items() if v is not None}
        found = {k: str(self.words.get(v, v)) for k, v in groups.items()}
        name, own = parse_identity(found.pop(FIGURE, self.figure))
        found |= {key: str(value) for key, value in own.items()}
        listed = {k: v if isinstance(v, tuple) else (v,) for k, v in (self.keys | found).items()}
        return name, {k: tuple(map(str, texts)) for k, texts in listed.items()}


class MissingFigures(AnswerPart, frozen=True):
    """Values that have no figure of ours on purpose. ``cells``, ``rows``: as of `OurFigures`;
    ``why``: the reason, which counts against these rows and those of the table."""

    cells: Text
    why: Text
    rows: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _pattern(self.cells)


class LeftOutValues(AnswerPart, frozen=True):
    """Values that are in no table. ``cells``: a pattern of their labels; ``title``: their name for
    a reader; ``why``: the reason."""

    cells: Text
    title: Text
    why: Text

    def __post_init__(self) -> None:
        _pattern(self.cells)

    @property
    def text(self) -> str:
        """The title and the reason."""
        return f"{self.title}: {self.why}"


class OwnTable(AnswerPart, frozen=True):
    """A table of ours alone: figures ``columns`` of a source, each by its name and keys, by the
    keys ``rows``; of those with the ``keys`` alone, a list being alternatives. ``findings``:
    figures whose notes are shown in place of their values; ``across``: a key whose values have a
    column each, in place of a figure's title."""

    title: Text
    source: Text
    of: Text
    rows: tuple[Text, ...]
    columns: dict[str, Text] = {}
    findings: dict[str, Text] = {}
    across: str = ""
    command: str = ""
    keys: dict[str, Key | tuple[Key, ...]] = {}

    def of_source(self, figures: Figures) -> Figures:
        """Return the figures that have the keys."""
        texts = {k: v if isinstance(v, tuple) else (v,) for k, v in self.keys.items()}

        def takes(figure: Figure) -> bool:
            known = figures.known(figure)
            return all(str(known.get(k)) in map(str, v) for k, v in texts.items())

        return figures.only(takes)

    @property
    def layout(self) -> TableLayout:
        """Return how it is shown."""
        columns = []
        for asked, show in ((self.columns, ""), (self.findings, NOTES)):
            for text, title in asked.items():
                name, keys = parse_identity(text)
                heading = "{value}" if self.across else title
                columns.append(SpreadColumns(name, heading, self.across, show=show, keys=keys))
        split = [key for key, of in self.keys.items() if not isinstance(of, tuple)]
        free = tuple(self.keys.keys() - split)
        return TableLayout(self.title, tuple(split), self.rows, tuple(columns), free=free)


class AnswerTable(AnswerPart, frozen=True):
    """One table of the page. ``values``: a pattern of the labels that are its rows; ``rows``: the
    numbers of docs/answers/rows.toml that it answers; ``missing``: values without a figure of ours;
    ``beside``: tables of ours alone; ``note``: what a reader must know."""

    title: Text
    claims: Annotated[tuple[Text, ...], Meta(min_length=1)]
    values: str = ".*"
    ours: tuple[OurFigures, ...] = ()
    missing: tuple[MissingFigures, ...] = ()
    beside: tuple[OwnTable, ...] = ()
    rows: tuple[int, ...] = ()
    note: str = ""

    def ours_of(self, label: str) -> OurFigures | None:
        """Return where our figure of a value is from; None if it has none."""
        return next((o for o in self.ours if o.of and o.selected(label)), None)

    def missing_of(self, label: str) -> MissingFigures | None:
        """Return what says why a value has no figure of ours; None where nothing does."""
        if self.ours_of(label):
            return None
        return next((m for m in self.missing if re.fullmatch(m.cells, label)), None)

    def rows_of(self, label: str) -> set[int]:
        """Return the numbers of the rows that a value belongs to: all that the table names, where
        nothing is said of the value."""
        part = self.ours_of(label) or self.missing_of(label)
        if part is not None:
            return {*self.rows, *part.rows}
        return {*self.rows, *(n for o in self.ours for n in o.rows),
                *(n for m in self.missing for n in m.rows)}  # fmt: skip

    @property
    def remark(self) -> str:
        """The note, and why some values have no figure of ours."""
        reasons = "; ".join(missing.why for missing in self.missing)
        missing = f"No figure of ours: {reasons}." if reasons else ""
        return " ".join(filter(None, (self.note, missing)))

    @property
    def commands(self) -> list[str]:
        """The commands of its figures, each once."""
        commands = [part.command for part in self.ours] + [part.command for part in self.beside]
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
    ``name``: also the name of the audit's example with the published values."""

    title: Text
    tables: Annotated[tuple[AnswerTable, ...], Meta(min_length=1)]
    left_out: tuple[LeftOutValues, ...] = ()
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
                if re.fullmatch(table.values, value.label):
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
    found = decode_toml(read_text(path), AnswerPage, path.name)
    return structs.replace(found, name=name)


def command_words(command: str) -> list[str]:
    """Return the arguments of a command of the lab, without what starts it."""
    words = shlex.split(command)
    if words[:1] == ["mldsa-lab"]:
        return words[1:]
    raise LabError(f"command {command!r}: must begin with mldsa-lab")
