"""How far each row of the published pages is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from mldsa_lab.answers.join import answer_figures
from mldsa_lab.answers.page import AnswerPart, pages, read_page
from mldsa_lab.checkout import in_tree
from mldsa_lab.files import Text, read_text
from mldsa_lab.toml import decode_toml

State = Literal["works", "partly", "not"]


class PageRow(AnswerPart, frozen=True):
    """Something that a page shows. ``state``, ``why``: how far it is answered, and what is missing;
    the state holds where no table of an answer names the row."""

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


def computed_states() -> dict[int, State]:
    """Return by number the state of the rows that tables of answers name: all, some or none of
    their values have a figure of ours."""
    known: dict[int, list[bool]] = {}
    for name in pages():
        page = read_page(name)
        has = iter([f.value is not None for f in answer_figures(page) if f.name == "ours"])
        for table in page.tables:
            for value in page.values(table):
                is_known = next(has)
                fitting = [o for o in table.ours if o.selected(value.label)][:1]
                for number in (*table.rows, *(n for o in fitting for n in o.rows)):
                    known.setdefault(number, []).append(is_known)
    return {n: "works" if all(h) else "partly" if any(h) else "not" for n, h in known.items()}
