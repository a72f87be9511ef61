"""Our figures joined to the published values of an answer, and the state of each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Literal, NamedTuple, get_args

from msgspec import Meta

from mldsa_lab import LabError, located, plugins
from mldsa_lab.answers.page import (
    AnswerCell,
    AnswerPage,
    AnswerPart,
    AnswerTable,
    OurFigures,
    OwnTable,
    pages,
    read_page,
)
from mldsa_lab.answers.sources import about_record, own_findings
from mldsa_lab.audit import audit
from mldsa_lab.audit.claims import FORMS, Quotient
from mldsa_lab.audit.judgement import Verdict, verdict_on
from mldsa_lab.audit.published import PublishedValue
from mldsa_lab.audit.report import counts
from mldsa_lab.audit.values import unit_text
from mldsa_lab.checkout import in_tree
from mldsa_lab.estimate.figure import PLACES, Figure, Figures, Key, evaluate
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.files import Text, decode_toml, read_text
from mldsa_lab.show.figure_tables import NOTES, SpreadColumns, TableLayout
from mldsa_lab.show.report import Report, Section, sections_of

# Published values beside our figures, as figures and as a report.


Arguments = Mapping[str, str]
"""By command, the argument of its source where it was measured here."""

_SCALES = {
    "ns": ("time", 1e-9), "us": ("time", 1e-6), "µs": ("time", 1e-6), "ms": ("time", 1e-3),
    "s": ("time", 1.0), "min": ("time", 60.0), "h": ("time", 3600.0), "d": ("time", 86400.0),
    "B": ("bytes", 1.0), "bytes": ("bytes", 1.0), "KiB": ("bytes", 1024.0),
    "kB": ("bytes", 1e3), "KB": ("bytes", 1e3), "MB": ("bytes", 1e6), "GB": ("bytes", 1e9),
    "B/s": ("rate", 1.0), "KB/s": ("rate", 1e3), "MB/s": ("rate", 1e6), "GB/s": ("rate", 1e9),
    "1": ("", 1.0), "": ("", 1.0), "x": ("", 1.0), "%": ("", 0.01), "count": ("", 1.0),
}  # fmt: skip
"""Dimension and size of the units of claims and figures; others are taken as they are."""
_COLUMNS = (
    SpreadColumns("ours", "ours"),
    SpreadColumns("ratio", "ours / published"),
    SpreadColumns("published", "audit", show=NOTES),
)
_LAYOUT = TableLayout("{table}", ("page", "table"), ("value", "published", "unit"), _COLUMNS)


@cache
def figures_of(source: str, argument: str) -> Figures:
    """Return the figures of a source, made once."""
    figures = plugins.figures(source)(argument)
    return figures if isinstance(figures, Figures) else Figures(figures)


def answer_figures(page: AnswerPage, arguments: Arguments | None = None) -> list[Figure]:
    """Return for each published value a row: ``published`` with the audit's verdict, ``ours`` in
    the same unit, and the ``ratio`` of ours to it. ``arguments`` stand in for the published
    records. LabError for a selection that fits several figures."""
    findings = audit(page.claims())
    made: list[Figure] = []
    for table in page.tables:
        for value in page.values(table):
            with located(f"table {table.title!r}, {value.label!r}"):
                ours = _ours(page, table, value, arguments or {})
            label = value.label if len(table.claims) > 1 else value.name or value.claim
            unit = "" if value.unit == "count" else unit_text(value.unit)
            keys: dict[str, Key] = {
                "page": page.name, "table": table.title, "value": label,
                "published": value.value.text, "unit": unit,
            }  # fmt: skip
            made += _row(keys, value, ours, *verdict_on(value.label, findings))
    return made


def _row(
    keys: dict[str, Key], value: PublishedValue, ours: Figure | None, verdict: str, said: str
) -> Iterator[Figure]:
    span = value.value
    low, high = (None, None) if span.one else (span.low.value, span.high.value)
    published = span.low.value if span.one else None
    yield Figure(
        keys, "published", published, low, high, kind="published", verdict=verdict, notes=(said,)
    )
    if ours is None or ours.interval is None:
        yield Figure(keys, "ours", None)
        return
    factor = _factor(ours.unit, value.unit)
    if ours.low is None and factor == 1:
        yield Figure(keys, "ours", ours.value, notes=ours.notes)
    else:
        yield Figure.of(keys, "ours", ours.interval.times(factor))
    if published:
        yield Figure.of(keys, "ratio", ours.interval.times(factor / published))


def _ours(
    page: AnswerPage,
    table: AnswerTable,
    value: PublishedValue,
    arguments: Arguments,
    users: tuple[str, ...] = (),
) -> Figure | None:
    """The figure that the first fitting selection names; None if there is none. ``users``: labels
    of the values whose figures need this one. LabError if its own is one of them."""
    users = (*users, value.label)
    if value.label in users[:-1]:
        raise LabError(
            f"our figure refers to itself: {' → '.join(map(repr, users))}: "
            "name another value in less or over"
        )
    for ours in table.ours:
        argument = _argument(ours, arguments if ours.measured else {})
        asked = ours.selected(value.label)
        if asked is not None and argument:
            figure = _selected(figures_of(ours.source, argument), *asked)
            return _related(page, ours, value, figure, arguments, users)
    return None


def _related(
    page: AnswerPage,
    ours: OurFigures,
    value: PublishedValue,
    figure: Figure | None,
    arguments: Arguments,
    users: tuple[str, ...],
) -> Figure | None:
    """The figure less another one of ours, over it, or as a change from a published value."""
    field, label = ours.relation(value.label)
    if not field or figure is None or figure.interval is None:
        return figure
    cell = _cell(page, label)
    other: Interval | float = cell.value.value.low.value
    if field == "change_from":
        claim = page.claims().claim(value.claim)
        is_less = isinstance(claim, Quotient) and claim.form == "percent less"
        formula, unit = FORMS["percent less" if is_less else "percent more"], "%"
    else:
        found = _ours(page, cell.table, cell.value, arguments, users)
        if found is None or found.interval is None:
            return None
        other = found.interval.times(_factor(found.unit, figure.unit))
        formula, unit = ("of - over", figure.unit) if field == "less" else (FORMS["ratio"], "")
    result = evaluate(formula, {"of": figure.interval, "over": other})
    return Figure.of(figure.keys, figure.name, result, unit)


def _cell(page: AnswerPage, label: str) -> AnswerCell:
    """The cell of that label. LabError if no table has it."""
    for cell in page.cells():
        if cell.value.label == label:
            return cell
    raise LabError(f"no table has the value {label!r}")


def _selected(figures: Figures, name: str, keys: Mapping[str, Sequence[str]]) -> Figure | None:
    """The figure of that name with the first of the texts that there are of each key or attribute,
    and with as few further keys as there are."""
    found = [f for f in figures if f.name == name]
    known = {id(f): figures.known(f) for f in found}
    for key, texts in sorted(keys.items(), key=lambda item: len(item[1])):
        of = [[f for f in found if str(known[id(f)].get(key, "")) == text] for text in texts]
        found = next(filter(None, of), [])
    further = [len(f.keys.keys() - keys.keys() - PLACES) for f in found]
    found = [f for f, number in zip(found, further, strict=True) if number == min(further)]
    if len(found) > 1:
        differ = [k for k in found[0].keys if len({str(f.keys.get(k)) for f in found}) > 1]
        raise LabError(f"{name} is {len(found)} figures that differ in {', '.join(differ)}")
    return found[0] if found else None


def _factor(unit: str, wanted: str) -> float:
    """What to multiply a figure with to have it in a claim's unit. LabError where they are of
    different things."""
    (what, size), (other, target) = (_SCALES.get(u, (u, 1.0)) for u in (unit, wanted))
    if what != other:
        raise LabError(f"our figure is in {unit or 'no unit'}, the published one in {wanted}")
    return size / target


def about_records(page: AnswerPage, arguments: Arguments | None = None) -> list[str]:
    """Return the records that a page's figures are from, each with its machine and date."""
    given = arguments or {}
    parts: list[OurFigures | OwnTable] = []
    for table in page.tables:
        parts += [*table.ours, *table.beside]
    found: list[str] = []
    for part in parts:
        argument = _argument(part, given)
        if part.source == "study":
            found += argument.split()[1:]
        elif part.source == "record":
            found.append(argument)
    return [about_record(argument) for argument in dict.fromkeys(found) if argument]


def _argument(part: OurFigures | OwnTable, arguments: Arguments) -> str:
    """The argument of a part's source: where its command measured, the records of this; of a study
    its name stands before them."""
    if part.command not in arguments:
        return part.of
    name = part.of.partition(" ")[0] + " " if part.source == "study" else ""
    return name + arguments[part.command]


def answer_report(
    page: AnswerPage, arguments: Arguments | None = None, confidence: float = 0.95
) -> Report:
    """Return the report of an answer, a section for each table."""
    figures = answer_figures(page, arguments)
    sections = []
    for table in page.tables:
        of_table = [f for f in figures if f.keys["table"] == table.title]
        note = "; ".join(filter(None, (*(f"`{c}`" for c in table.commands), table.remark)))
        sections += sections_of(of_table, [_LAYOUT], confidence, note.removesuffix("."))
        for own in table.beside:
            found = own.of_source(figures_of(own.source, _argument(own, arguments or {})))
            shown = sections_of(found, [own.layout], confidence)
            if not (shown or arguments):
                raise LabError(f"table {own.title!r}: no figure has exactly its rows and keys")
            sections += shown
    source = page.claims().source
    notes = about_records(page, arguments)
    notes += [
        f"our figures contradict each other: {f.claim}: {f.claimed}, "
        f"but the others give {f.predicted}"
        for f in own_findings(page, figures)
        if f.verdict is not Verdict.CONSISTENT
    ]
    notes += [f"left out: {values.text}" for values in page.left_out]
    return Report(
        kind=f"answer to {page.name}", headline=f"{page.title}: {counts(audit(page.claims()))}",
        figures=figures, sections=[Section(s.grid, s.table) for s in sections],
        about=f"{source.title}, {source.url}".removesuffix(", "), notes=notes,
    )  # fmt: skip


# States of rows.


State = Literal["works", "partly", "not"]


class PageRow(AnswerPart, frozen=True):
    """Something that a page shows. ``state``, ``why``: how far it is answered, and what is missing;
    the cells of the tables that name the row can only make the state worse."""

    number: Annotated[int, Meta(ge=1)]
    page: Text
    what: Text
    state: State
    command: str = ""
    why: str = ""


class PageRows(AnswerPart, frozen=True):
    """The file docs/answers/rows.toml."""

    rows: tuple[PageRow, ...]


def page_rows() -> Sequence[PageRow]:
    """Return all rows as the file has them."""
    path = in_tree("docs", "answers", "rows.toml")
    return decode_toml(read_text(path), PageRows, path.name).rows


class RowState(NamedTuple):
    """State of a row: ``known`` of the ``cells`` of its tables have a figure of ours,
    both 0 where no table names it; ``missing``: the reasons of the others, and its own."""

    state: State
    known: int = 0
    cells: int = 0
    missing: tuple[str, ...] = ()


def computed_states() -> dict[int, RowState]:
    """Return by number the states of the rows that tables of answers name: whether all, some or
    none of the values of their tables have a figure of ours."""
    known: dict[int, list[bool]] = {}
    reasons: dict[int, dict[str, None]] = {}
    unsaid: dict[int, list[str]] = {}
    for name in pages():
        page = read_page(name)
        ours = (f for f in answer_figures(page) if f.name == "ours")
        for (table, value), figure in zip(page.cells(), ours, strict=True):
            missing = table.missing_of(value.label)
            for number in table.rows_of(value.label):
                known.setdefault(number, []).append(figure.value is not None)
                if figure.value is None and missing:
                    reasons.setdefault(number, {})[missing.why] = None
                elif figure.value is None:
                    unsaid.setdefault(number, []).append(value.label)
    for number, labels in unsaid.items():
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        reasons.setdefault(number, {})[f"no figure of {labels[0]}{more}"] = None
    return {
        n: RowState(_state(has), sum(has), len(has), tuple(reasons.get(n, ())))
        for n, has in known.items()
    }


def _state(has: Sequence[bool]) -> State:
    return "works" if all(has) else "partly" if any(has) else "not"


def row_states() -> list[tuple[PageRow, RowState]]:
    """Return all rows, each with the worse of its computed state and the one that the file has."""
    computed = computed_states()
    found = []
    for row in page_rows():
        own = (row.why,) if row.why else ()
        state = computed.get(row.number, RowState(row.state))
        worse = max(row.state, state.state, key=get_args(State).index)
        found.append((row, state._replace(state=worse, missing=(*state.missing, *own))))
    return found


def page_counts(page: AnswerPage) -> tuple[int, int]:
    """Return how many values of a page's tables have a figure of ours, and how many there are."""
    cells = page.cells()
    return sum(cell.is_mapped for cell in cells), len(cells)
