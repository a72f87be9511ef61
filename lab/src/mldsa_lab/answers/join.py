"""Our figures joined to the published values of an answer, and the state of each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Literal, NamedTuple, get_args

from msgspec import Meta

from mldsa_lab import LabError, located, plugins
from mldsa_lab.answers.page import (
    AnswerCell,
    AnswerPage,
    AnswerPart,
    AnswerTable,
    FigureSource,
    OurFigures,
    pages,
    read_page,
    stored_unit,
)
from mldsa_lab.answers.sources import CONFIDENCE, about_record, own_findings
from mldsa_lab.audit import audit
from mldsa_lab.audit.audit import counts
from mldsa_lab.audit.claims import FORMS, PublishedValue, Quotient
from mldsa_lab.audit.judgement import Verdict, unit_text, verdict_on
from mldsa_lab.checkout import in_tree
from mldsa_lab.estimate.figure import PLACES, Figure, Figures, Key, evaluate
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.files import Text, decode_toml, read_text
from mldsa_lab.show.figure_tables import NOTES, SpreadColumns, TableLayout
from mldsa_lab.show.report import Report, sections_of

# Published values next to our figures, as figures and as a report.


Arguments = Mapping[str, str]
"""By command, the argument of its source where it was measured here."""

_COLUMNS = (
    SpreadColumns("ours", "ours", unit_of=lambda keys: stored_unit(str(keys["unit"]))),
    SpreadColumns("ratio", "ours / published"),
    SpreadColumns("claimed", "audit", show=NOTES),
)
_LAYOUT = TableLayout("{table}", ("table",), ("value", "published", "unit"), _COLUMNS)


@cache
def figures_of(source: str, argument: str) -> Figures:
    """Return the figures of a source, made once."""
    figures = plugins.figures(source)(argument)
    return figures if isinstance(figures, Figures) else Figures(figures)


def answer_figures(page: AnswerPage, arguments: Arguments | None = None) -> Figures:
    """Return for each published value: ``claimed`` with the audit's verdict, ``ours``, and the
    ``ratio`` of ours to it. Attributes of the cell are its texts on the page. ``arguments`` replace
    the published records. LabError for a selection that fits several figures."""
    findings = audit(page.claims())
    figures: list[Figure] = []
    about: dict[str, dict[str, Key]] = {}
    for table, value in page.cells():
        with located(f"table {table.title!r}, {value.label!r}"):
            ours = _ours(page, table, value, arguments or {})
        label = value.label if len(table.claims) > 1 else value.name or value.claim
        unit = "" if value.unit == "count" else unit_text(value.unit)
        about[value.label] = {"value": label, "published": value.value.text, "unit": unit}
        keys: dict[str, Key] = {"table": table.title, "cell": value.label}
        figures += _row(keys, value, ours, *verdict_on(value.label, findings))
    return Figures(figures, {"cell": about}, {"page": page.name})


def _row(
    keys: dict[str, Key], value: PublishedValue, ours: Figure | None, verdict: str, note: str
) -> Iterator[Figure]:
    unit = stored_unit(value.unit)
    low, high = (unit.divisor * end.value for end in (value.value.low, value.value.high))
    claimed = Figure(keys, "claimed", low, unit=unit.name, kind="published")
    if not value.value.one:
        yield replace(claimed, keys={**keys, "statistic": "least"})
        yield replace(claimed, keys={**keys, "statistic": "largest"}, value=high)
        claimed = replace(claimed, value=None)
    yield replace(claimed, verdict=verdict, notes=(note,))
    if ours is None or ours.interval is None:
        yield Figure(keys, "ours", None)
        return
    factor = _factor(ours.unit, unit.name)
    if ours.low is None and factor == 1:
        yield Figure(keys, "ours", ours.value, unit=unit.name, notes=ours.notes)
    else:
        yield Figure.from_interval(keys, "ours", ours.interval.times(factor), unit.name)
    if claimed.value:
        yield Figure.from_interval(keys, "ratio", ours.interval.times(factor / claimed.value))


def _ours(
    page: AnswerPage,
    table: AnswerTable,
    value: PublishedValue,
    arguments: Arguments,
    users: tuple[str, ...] = (),
) -> Figure | None:
    """Return the figure that the first fitting selection names, None without one. ``users``: labels
    of the values whose figures need this one. LabError if its own is one of them."""
    users = (*users, value.label)
    if value.label in users[:-1]:
        raise LabError(
            f"our figure refers to itself: {' → '.join(map(repr, users))}: "
            "name another value in less or over"
        )
    for ours in table.ours:
        argument = _argument(ours, arguments if ours.is_measured else {})
        selection = ours.select(value.label, page.words)
        if selection is not None and argument:
            figure = _select_one(figures_of(ours.source, argument), *selection)
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
    """Return the figure less another one of ours, over it, or as a change from a published
    value."""
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
        related = _ours(page, cell.table, cell.value, arguments, users)
        if related is None or related.interval is None:
            return None
        other = related.interval.times(_factor(related.unit, figure.unit))
        formula, unit = ("value - over", figure.unit) if field == "less" else (FORMS["ratio"], "")
    result = evaluate(formula, {"value": figure.interval, "over": other})
    return Figure.from_interval(figure.keys, figure.name, result, unit)


def _cell(page: AnswerPage, label: str) -> AnswerCell:
    """Return the cell of that label. LabError if no table has it."""
    for cell in page.cells():
        if cell.value.label == label:
            return cell
    raise LabError(f"no table has the value {label!r}")


def _select_one(figures: Figures, name: str, keys: Mapping[str, Sequence[str]]) -> Figure | None:
    """Return the figure of that name with the first known text of each key or attribute, and with
    as few further keys as possible. LabError for several."""
    known = [(f, figures.known(f)) for f in figures if f.name == name]
    for key, texts in sorted(keys.items(), key=lambda item: len(item[1])):
        by_text = ([pair for pair in known if str(pair[1].get(key, "")) == t] for t in texts)
        known = next(filter(None, by_text), [])
    further = [len(f.keys.keys() - keys.keys() - PLACES) for f, _ in known]
    fitting = [f for (f, _), n in zip(known, further, strict=True) if n == min(further)]
    if len(fitting) > 1:
        differ = [k for k in fitting[0].keys if len({str(f.keys.get(k)) for f in fitting}) > 1]
        raise LabError(f"{name} is {len(fitting)} figures that differ in {', '.join(differ)}")
    return fitting[0] if fitting else None


def _factor(unit: str, target: str) -> float:
    """Return the factor from a figure's unit to a claim's. LabError for different dimensions."""
    one, other = stored_unit(unit), stored_unit(target)
    if one.name != other.name:
        raise LabError(f"our figure is in {unit or 'no unit'}, the published one in {target}")
    return one.divisor / other.divisor


def about_records(page: AnswerPage, arguments: Arguments | None = None) -> list[str]:
    """Return the records that a page's figures are from, each with its machine and date."""
    records: list[str] = []
    for part in (part for table in page.tables for part in (*table.ours, *table.own)):
        argument = _argument(part, arguments or {})
        if part.source == "study":
            records += argument.split()[1:]
        elif part.source == "record":
            records.append(argument)
    return [about_record(record) for record in dict.fromkeys(records) if record]


def _argument(part: FigureSource, arguments: Arguments) -> str:
    """Return the argument of a source: where its command measured, the records of this; of a study
    after its name."""
    if part.command not in arguments:
        return part.argument
    name = part.argument.partition(" ")[0] + " " if part.source == "study" else ""
    return name + arguments[part.command]


def answer_report(page: AnswerPage, arguments: Arguments | None = None) -> Report:
    """Return the report of an answer, a section for each table."""
    figures = answer_figures(page, arguments)
    sections = []
    for table in page.tables:
        of_table = figures.with_items([f for f in figures if f.keys["table"] == table.title])
        note = "; ".join(filter(None, (*(f"`{c}`" for c in table.commands), table.remark)))
        sections += sections_of(of_table, [_LAYOUT], CONFIDENCE, note.removesuffix("."))
        for own in table.own:
            own_figures = own.select(figures_of(own.source, _argument(own, arguments or {})))
            own_sections = sections_of(own_figures, [own.layout], CONFIDENCE)
            if not (own_sections or arguments):
                raise LabError(f"table {own.title!r}: no figure has exactly its rows and keys")
            sections += own_sections
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
        figures=figures, sections=sections, notes=notes, folded=("statistic",),
        about=f"{source.title}, {source.url}".removesuffix(", "),
    )  # fmt: skip


# States of rows.


State = Literal["works", "partly", "not"]


class PageRow(AnswerPart, frozen=True):
    """Something that a page shows. ``state``, ``why``: how far it is answered, and the missing
    parts. The tables that name the row can only lower the state."""

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
    """State of a row. ``known`` of the ``cells`` of its tables have a figure of ours; both are 0
    where no table names it. ``missing``: the reasons of the others, and of the row."""

    state: State
    known: int = 0
    cells: int = 0
    missing: tuple[str, ...] = ()


def computed_states() -> dict[int, RowState]:
    """Return the states of the rows that tables of answers name, by number: all, some or none of
    their values have a figure of ours."""
    known: dict[int, list[bool]] = {}
    reasons: dict[int, dict[str, None]] = {}
    unexplained: dict[int, list[str]] = {}
    for page in map(read_page, pages()):
        ours = (f for f in answer_figures(page) if f.name == "ours")
        for (table, value), figure in zip(page.cells(), ours, strict=True):
            missing = table.missing_of(value.label)
            for number in table.rows_of(value.label):
                known.setdefault(number, []).append(figure.value is not None)
                if figure.value is None and missing:
                    reasons.setdefault(number, {})[missing.why] = None
                elif figure.value is None:
                    unexplained.setdefault(number, []).append(value.label)
    for number, labels in unexplained.items():
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        reasons.setdefault(number, {})[f"no figure of {labels[0]}{more}"] = None
    return {
        n: RowState(_state(has), sum(has), len(has), tuple(reasons.get(n, ())))
        for n, has in known.items()
    }


def _state(has_figure: Sequence[bool]) -> State:
    return "works" if all(has_figure) else "partly" if any(has_figure) else "not"


def row_states() -> list[tuple[PageRow, RowState]]:
    """Return all rows, each with the worse of its computed state and the one that the file has."""
    computed = computed_states()
    states = []
    for row in page_rows():
        own = (row.why,) if row.why else ()
        state = computed.get(row.number, RowState(row.state))
        worse = max(row.state, state.state, key=get_args(State).index)
        states.append((row, state._replace(state=worse, missing=(*state.missing, *own))))
    return states


def page_counts(page: AnswerPage) -> tuple[int, int]:
    """Return how many values of a page's tables have a figure of ours, and how many there are."""
    cells = page.cells()
    return sum(cell.is_mapped for cell in cells), len(cells)
