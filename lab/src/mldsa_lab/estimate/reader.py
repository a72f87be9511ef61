"""Files of measurements: CSV and JSON, described in docs/files.md.

Lines of CSV are read one by one rather than as a table, so that an error can name its line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from mldsa_lab import LabError
from mldsa_lab.files import convert, parse_json, read_text
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.machine import find_tick
from mldsa_lab.theory.trace import Array

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_LISTED = 8
_UNITS_OF_TIME = ("ns", "us", "µs", "ms", "s")

_Whole = Annotated[int, msgspec.Meta(ge=0)]


class Measurement(msgspec.Struct, forbid_unknown_fields=True):
    """One measurement as a line or an entry gives it. ``cost``: squares of it must be numbers too.
    ``order``, ``time``: when it was made, by number or by a clock; one of them, or neither."""

    id: _Whole
    cost: Annotated[float, msgspec.Meta(ge=1e-100, le=1e100)]
    unit: str | None = None
    round: _Whole | None = None
    set: str | None = None
    order: _Whole | None = None
    time: Annotated[float, msgspec.Meta(ge=-1e100, le=1e100)] | None = None


class MeasurementFile(msgspec.Struct, forbid_unknown_fields=True):
    """The form of a JSON file that says once what all entries have."""

    measurements: list[Measurement]
    unit: str | None = None
    set: str | None = None


COLUMNS = Measurement.__struct_fields__
"""The columns of a CSV file and the keys of a JSON object; id and cost are needed."""

_Rows = Iterable[tuple[str, Measurement, int | None]]
"""The name of each line or entry, its measurement, and the digits after the point of its cost. None
if the digits do not show how fine the scale is."""


@dataclass(frozen=True)
class Measurements:
    """Costs of inputs of a selection.

    ``ids``: of the measured inputs, in the selection's order. ``rounds``: ascending. ``costs``:
    (rounds, inputs), NaN where missing; no row or column is empty. ``order``: (rounds, inputs) the
    places of the measurements in time, from 0. ``unit``: as stated in the file, or "".
    ``resolution``: the step of the scale they are written in, 0 if unknown. ``warnings``: missing
    information.
    """

    ids: tuple[int, ...]
    rounds: tuple[int, ...]
    costs: Array
    order: Array
    unit: str = ""
    resolution: float = 0.0
    warnings: tuple[str, ...] = ()

    @staticmethod
    def from_costs(
        selection: Selection,
        costs: Mapping[int, float | Sequence[float]],
        unit: str = "",
        where: str = "measurements",
    ) -> Measurements:
        """Return measurements in memory: by id one cost, or the costs of rounds 0, 1, .... Rounds
        follow each other in the order of the ids. LabError as for files."""
        rows: list[tuple[str, Measurement, None]] = []
        for number, value in costs.items():
            here = f"{where}, id {number}"
            for turn, cost in enumerate([value] if isinstance(value, int | float) else value):
                fields = {"id": number, "cost": float(cost), "unit": unit or None, "round": turn}
                rows.append((here, convert(fields, Measurement, here), None))
        rows.sort(key=lambda row: row[1].round or 0)
        return _gather(rows, selection, where)

    def only(self, places: Sequence[int]) -> Measurements:
        """Those of the inputs at these places, in all rounds that measured one of them."""
        costs = self.costs[:, places]
        there = np.asarray(~np.isnan(costs).all(axis=1))
        return replace(
            self,
            ids=tuple(self.ids[i] for i in places),
            rounds=tuple(np.array(self.rounds)[there].tolist()),
            costs=costs[there],
            order=self.order[:, places][there],
        )


def read_measurements(path: Path, selection: Selection) -> Measurements:
    """The measurements of ``selection`` in a file, CSV or JSON by its ending.

    LabError that names the file, the line (CSV) or entry (JSON), and the rule that is broken.
    """
    readers = {".csv": _csv, ".json": _json}
    if path.suffix.lower() not in readers:
        raise LabError(f"{path}: must end in .csv or .json, which say what it is")
    text = read_text(path).removeprefix("\ufeff")
    return _gather(readers[path.suffix.lower()](text, str(path)), selection, str(path))


def _gather(rows: _Rows, selection: Selection, where: str) -> Measurements:
    """Check the rows against the selection and each other, and lay them out."""
    seen: dict[tuple[int, int], tuple[str, Measurement]] = {}
    digits: list[int | None] = []
    selected = dict.fromkeys(selection.ids)
    for here, row, decimals in rows:
        digits.append(decimals)
        first = next(iter(seen.values()), (here, row))
        if row.id not in selected:
            rule = f"is not in the selection, whose ids are {_listed(selected)}"
            raise LabError(f"{here}: id {row.id} {rule}")
        _check(here, row, first, selection)
        key = (row.id, row.round or 0)
        if key in seen:
            hint = " (number repeats in a column 'round')" if row.round is None else ""
            which = "" if row.round is None else f" in round {row.round}"
            earlier = seen[key][0]
            raise LabError(f"{here}: id {row.id}{which} was measured at {earlier} already{hint}")
        seen[key] = here, row
    if not seen:
        raise LabError(f"{where}: has no measurements")
    measured = {number for number, _ in seen}
    ids = tuple(i for i in selected if i in measured)
    rounds = tuple(sorted({turn for _, turn in seen}))
    costs = np.full((len(rounds), len(ids)), np.nan)
    order = costs.copy()
    # Where nothing says the order of time, measurements stay as row.
    in_time = sorted(seen.items(), key=lambda item: item[1][1].order or item[1][1].time or 0)
    row_at, column_at = ({value: at for at, value in enumerate(each)} for each in (rounds, ids))
    for place, ((number, turn), (_, row)) in enumerate(in_time):
        at = row_at[turn], column_at[number]
        costs[at], order[at] = row.cost, place
    warnings = []
    if missing := [i for i in selected if i not in measured]:
        warnings.append(
            f"{len(missing)} of the selection's {len(selected)} inputs have no measurement "
            f"(ids {_listed(missing)}): only the others are used"
        )
    known = [n for n in digits if n is not None]
    fine = 10.0 ** -max(known) if known and len(known) == len(digits) else 0.0
    if fine and first[1].unit in _UNITS_OF_TIME:
        steps = np.rint(costs[~np.isnan(costs)] / fine).astype(np.int64)
        fine *= max(find_tick(steps), 1.0)
    return Measurements(ids, rounds, costs, order, first[1].unit or "", fine, tuple(warnings))


def _check(
    here: str, row: Measurement, first: tuple[str, Measurement], selection: Selection
) -> None:
    """LabError where a measurement does not go with the selection or the first one."""
    at, other = first
    units = [m.unit or "none" for m in (row, other)]
    lone = [n for n in ("round", "order", "time")
            if (getattr(row, n) is None) != (getattr(other, n) is None)]  # fmt: skip
    rule = ""
    if row.set and row.set != selection.set:
        rule = f"is of {row.set}, the selection of {selection.set}"
    elif units[0] != units[1]:
        rule = f"unit {units[0]!r} after {units[1]!r} at {at}: all measurements must have one unit"
    elif lone:
        rule = f"all measurements must have a {lone[0]}, or none"
    elif row.order is not None and row.time is not None:
        rule = "has order and time, of which one says all"
    if rule:
        raise LabError(f"{here}: {rule}")


def _csv(text: str, where: str) -> Iterator[tuple[str, Measurement, int | None]]:
    names: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        here = f"{where}, line {number}"
        # One line is one row: no field of numbers and units has line breaks.
        try:
            fields = [field.strip() for field in next(csv.reader([line]))]
        except csv.Error as error:
            raise LabError(f"{here}: is not a line of CSV: {error}") from None
        if not names:
            names = fields
            if not {*COLUMNS[:2]} <= set(names) <= set(COLUMNS) or len(set(names)) < len(names):
                raise LabError(
                    f"{here}: the header is {','.join(fields)[:40]!r}; it must have id and cost, "
                    f"and may have {', '.join(COLUMNS[2:])}, each once, with commas between"
                )
            continue
        if line.count('"') % 2 or len(fields) != len(names):
            comma = " (a decimal comma?)" if len(fields) == len(names) + 1 else ""
            raise LabError(f"{here}: has {len(fields)} fields, the header has {len(names)}{comma}")
        values: dict[str, Any] = {n: field for n, field in zip(names, fields, strict=True) if field}
        # Text that is no number stays, and the type of the column rejects it.
        cost = values.get("cost", "")
        if _NUMBER.fullmatch(cost):
            values["cost"] = float(cost)
        here = f"{here} ({line.strip()[:40]!r})"
        yield here, convert(values, Measurement, here, is_strict=False), _decimals(cost)
    if not names:
        raise LabError(f"{where}: is empty; it must begin with the header id,cost")


def _json(text: str, where: str) -> Iterator[tuple[str, Measurement, int | None]]:
    value = parse_json(text, where)
    once = value if isinstance(value, dict) else {"measurements": value}
    file = convert(once, MeasurementFile, where)
    for number, row in enumerate(file.measurements):
        here = f"{where}, measurements[{number}]"
        if file.unit and row.unit not in (None, file.unit):
            raise LabError(f"{here}: the unit differs from the file's {file.unit!r}")
        row.unit, row.set = row.unit or file.unit, row.set or file.set
        yield here, row, _decimals(str(once["measurements"][number]["cost"]))


def _decimals(text: str) -> int | None:
    """Digits after the point; None in a text with an exponent."""
    return None if "e" in text.lower() else len(text.partition(".")[2])


def _listed(ids: Iterable[int]) -> str:
    every = [str(i) for i in ids]
    if len(every) <= _LISTED:
        return ", ".join(every)
    return f"{', '.join(every[: _LISTED - 1])}, ... {every[-1]} ({len(every)} in all)"
