"""How far each row of the published pages is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple, get_args

from msgspec import Meta

from mldsa_lab.answers.join import answer_figures
from mldsa_lab.answers.page import AnswerPage, AnswerPart, pages, read_page
from mldsa_lab.checkout import in_tree
from mldsa_lab.files import Text, decode_toml, read_text

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
