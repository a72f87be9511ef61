"""Tables that a study asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mldsa_lab.errors import LabError
from mldsa_lab.sets import ALL_SETS, parse_set_names
from mldsa_lab.show.format import MISSING, choose_unit, plain
from mldsa_lab.show.grid import Column, Grid
from mldsa_lab.sizes import ObjectSize, sizes
from mldsa_lab.study.cells import Gathered, StudyCell
from mldsa_lab.study.contrast import GroupTest
from mldsa_lab.study.file import SPREAD, Contrast, CostsAsked, SizesAsked

_NOTES = {
    "mean": "means, the median over the processes",
    SPREAD: "how far the largest mean of a process lies above the least",
}


def percent(share: float | None) -> str:
    """A share as text."""
    return MISSING if share is None else f"{100 * share:.1f}"


def place_columns(contrast: Contrast, rows: Sequence[GroupTest]) -> list[Column]:
    """The columns that tell where the groups of each row were compared, those alike left out."""
    columns = []
    for place, name in enumerate(contrast.within):
        texts = [one.within[place] for one in rows]
        if len(set(texts)) > 1:
            columns.append(Column(name.replace("_", " "), texts))
    return columns


@dataclass(frozen=True)
class CostTable:
    """A figure of cells: by row (its texts) and column (one text) that which is there."""

    asked: CostsAsked
    rows: dict[tuple[str, ...], dict[str, StudyCell]]

    @classmethod
    def of(cls, asked: CostsAsked, measured: Gathered) -> CostTable:
        """LabError where two cells belong to one place, costs of a column are in different units,
        or no cell fits. Rows that begin alike stand together, as they first come."""
        try:
            rows = measured.sorted_in(asked.where, asked.rows, asked.columns)
            texts = [list(dict.fromkeys(of)) for of in zip(*rows, strict=True)]
            order = sorted(rows, key=lambda row: tuple(map(list.index, texts, row)))
            found = cls(asked, {row: rows[row] for row in order})
            for label, cells in found.columns.items():
                units = {cell.unit for cell in cells if cell is not None}
                if len(units) > 1 and asked.figure != SPREAD:
                    raise LabError(f"{label}: costs in {' and '.join(sorted(units))}")
        except LabError as error:
            raise LabError(f"table {asked.name!r}: {error}") from None
        return found

    @property
    def columns(self) -> dict[str, list[StudyCell | None]]:
        """The cells of each column."""
        labels = dict.fromkeys(label for row in self.rows.values() for label in row)
        return {label: [row.get(label) for row in self.rows.values()] for label in labels}

    def grid(self) -> Grid:
        """As a table to be shown."""
        figure = self.asked.figure
        columns = [
            Column(name.replace("_", " "), [row[place] for row in self.rows], head=place == 0)
            for place, name in enumerate(self.asked.rows)
        ]
        for label, cells in self.columns.items():
            values = [None if cell is None else cell.figure(figure) for cell in cells]
            if figure == SPREAD:
                title = f"{label}, %"
                texts = [percent(v) for v in values]
            else:
                unit = choose_unit(values, next(cell.unit for cell in cells if cell))
                title, texts = f"{label}, {unit.name}", [plain(v, unit) for v in values]
            columns.append(Column(title.removeprefix(", "), texts, number=True))
        note = _NOTES.get(figure, f"{figure} of one operation, the median over the processes")
        return Grid(self.asked.name, note, tuple(columns))

    def as_json(self) -> dict[str, Any]:
        """What `study.json` holds of it; docs/studies.md describes it."""
        return {
            "name": self.asked.name,
            "figure": self.asked.figure,
            "cells": [
                {
                    "row": dict(zip(self.asked.rows, row, strict=True)),
                    "column": {name: cell.fields[name] for name in self.asked.columns},
                    "unit": "ratio" if self.asked.figure == SPREAD else cell.unit,
                    "value": cell.figure(self.asked.figure),
                }
                for row, cells in self.rows.items()
                for cell in cells.values()
            ],
        }


@dataclass(frozen=True)
class SizeTable:
    """What the objects of some sets weigh."""

    asked: SizesAsked
    sizes: dict[str, tuple[ObjectSize, ...]]

    @classmethod
    def of(cls, asked: SizesAsked, measured: Gathered) -> SizeTable:
        """Of the sets asked for, else of those measured."""
        present = {cell.fields["set"] for cell in measured.cells}
        names = parse_set_names(asked.sets) or [name for name in ALL_SETS if name in present]
        return cls(asked, {name: sizes(name) for name in names})

    def grid(self) -> Grid:
        """As a table to be shown: a row for each object and encoding of a set."""
        rows = [(name, size) for name, of in self.sizes.items() for size in of]
        return Grid(
            self.asked.name,
            "bytes, the most where they vary",
            (
                Column("set", [name for name, _ in rows], head=True),
                Column("object", [size.object for _, size in rows]),
                Column("encoding", [size.encoding for _, size in rows]),
                Column("bytes", [f"{size.bytes:,}" for _, size in rows], number=True),
                Column("mean", [f"{s.mean:,.1f}" if s.mean else "" for _, s in rows], number=True),
                Column("source", [size.source for _, size in rows], spare=1),
            ),
        )

    def as_json(self) -> dict[str, Any]:
        """What `study.json` holds of it; docs/studies.md describes it."""
        return {
            "name": self.asked.name,
            "sizes": [
                {"set": name, **asdict(size)} for name, of in self.sizes.items() for size in of
            ],
        }
