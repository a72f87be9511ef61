"""Figures as a file of JSON: what `--to FILE.json` writes and the page offers.

docs/schema/figures.json is made from these types.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal

from msgspec import Struct, to_builtins

from mldsa_lab.estimate.figure import Figure, FigureKind, Figures

FORMAT, VERSION = "mldsa-lab figures", 1
Key = str | int | float | bool | None


class FigureParts(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A figure without its keys and name. ``value``: null where it is not known; ``low``, ``high``:
    limits of the interval, null on a side without one; ``source``: the place, from 0, of its source
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

    keys: dict[str, Key]
    figures: dict[str, FigureParts]


class FigureList(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The figures of a report. ``about``: by key and by its values as text, the attributes of what
    these name; ``head``: what holds for all figures; ``lacking``: why there is no figure."""

    title: str
    groups: tuple[FigureGroup, ...]
    name: str = ""
    head: dict[str, Key] = {}
    about: dict[str, dict[str, dict[str, Key]]] = {}
    sources: tuple[str, ...] = ()
    lacking: str = ""


class FiguresFile(Struct, frozen=True, forbid_unknown_fields=True):
    """All lists of figures of a command, one for each report."""

    format: Literal["mldsa-lab figures"]
    version: Literal[1]
    lists: tuple[FigureList, ...]


def figure_list(
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
            _number(f.value), _number(f.low), _number(f.high), f.unit, f.kind,
            places.get(f.source), f.verdict, f.notes,
        )  # fmt: skip
    about = {
        key: {str(value): dict(of) for value, of in named.items()}
        for key, named in source.about.items()
    }
    return FigureList(
        title, tuple(groups.values()), name, dict(source.head), about, tuple(places), lacking
    )


def _number(value: float | None) -> int | float | None:
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
