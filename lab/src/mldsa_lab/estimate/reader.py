"""Files of measurements: CSV and JSON, described in docs/measurements.md.

Lines are read one by one rather than as a table, so that an error can name its line.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.files import parse_json, read_text
from mldsa_lab.inputs.selection import Selection

Array = NDArray[np.float64]

COLUMNS = ("id", "cost", "unit", "round", "set")
"""The columns of a CSV file and the keys of a JSON object; id and cost are needed."""
_ROUND_TOO = "repeat"  # another name of the round
_COST = re.compile(r"\+?(\d+(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d{1,4}))?", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_LISTED = 8
# Squares of costs must be numbers too.
_RANGE = (1e-100, 1e100)


@dataclass(frozen=True)
class Row:
    """One measurement as read: ``where`` names its line or entry; ``round`` and ``unit`` are None
    where not given; ``decimals`` are the digits after the point that its cost was written with,
    None where that does not say how fine the scale is."""

    where: str
    id: int
    cost: float
    unit: str | None
    round: int | None
    decimals: int | None


@dataclass(frozen=True)
class Measurements:
    """Costs of inputs of a selection.

    ``ids``: of the measured inputs, in the selection's order; ``rounds``: ascending;
    ``costs``: (rounds, inputs), NaN where there is none, no row or column without any; ``unit``:
    as given, or "" ; ``resolution``: the step of the scale they are written in, 0 where unknown;
    ``warnings``: what is missing.
    """

    ids: tuple[int, ...]
    rounds: tuple[int, ...]
    costs: Array
    unit: str = ""
    resolution: float = 0.0
    warnings: tuple[str, ...] = ()

    @staticmethod
    def of(
        selection: Selection,
        costs: Mapping[int, float | Sequence[float]],
        unit: str = "",
        where: str = "measurements",
    ) -> Measurements:
        """Measurements held in memory: by id one cost, or those of rounds 0, 1, ...; LabError as
        for files."""
        rows = []
        for number, value in costs.items():
            values = [value] if isinstance(value, int | float) else list(value)
            for turn, cost in enumerate(values):
                name = f"{where}, id {number}"
                rows.append(Row(name, number, _checked(float(cost), name), unit, turn, None))
        return gather(rows, selection, where)


def read_measurements(path: Path, selection: Selection) -> Measurements:
    """The measurements of ``selection`` in a file, CSV or JSON by its ending.

    LabError that names the file, the line (CSV) or entry (JSON), and the rule that is broken.
    """
    name = str(path)
    kind = path.suffix.lower()
    if kind not in (".csv", ".json"):
        raise LabError(f"{name}: must end in .csv or .json, which say what it is")
    text = read_text(path).removeprefix("\ufeff")
    rows = _csv(text, name, selection.set) if kind == ".csv" else _json(text, name, selection.set)
    return gather(rows, selection, name)


def gather(rows: Sequence[Row], selection: Selection, where: str) -> Measurements:
    """Check the rows against the selection and each other, and lay them out."""
    if not rows:
        raise LabError(f"{where}: has no measurements")
    known = set(selection.ids)
    found: dict[tuple[int, int], Row] = {}
    with_round = rows[0].round is not None
    for row in rows:
        if row.id not in known:
            raise LabError(
                f"{row.where}: id {row.id} is not in the selection, whose ids are "
                f"{_listed(selection.ids)}"
            )
        if (row.unit or "") != (rows[0].unit or ""):
            raise LabError(
                f"{row.where}: unit {row.unit or 'none'!r} after {rows[0].unit or 'none'!r} at "
                f"{rows[0].where}: all measurements must have one unit"
            )
        if (row.round is not None) != with_round:
            raise LabError(f"{row.where}: all measurements must have a round, or none")
        key = (row.id, row.round or 0)
        if key in found:
            again = f"id {row.id}" + (f" in round {row.round}" if with_round else "")
            hint = "" if with_round else "; repeats need a column 'round' that numbers them"
            raise LabError(f"{row.where}: {again} was measured at {found[key].where} already{hint}")
        found[key] = row
    measured = {row.id for row in rows}
    ids = tuple(i for i in selection.ids if i in measured)
    rounds = tuple(sorted({number for _, number in found}))
    costs = np.full((len(rounds), len(ids)), np.nan)
    column = {number: at for at, number in enumerate(ids)}
    line = {number: at for at, number in enumerate(rounds)}
    for (number, turn), row in found.items():
        costs[line[turn], column[number]] = row.cost
    warnings = []
    missing = [i for i in selection.ids if i not in column]
    if missing:
        warnings.append(
            f"{len(missing)} of the selection's {len(selection.ids)} inputs have no measurement "
            f"(ids {_listed(missing)}): the others alone are used"
        )
    decimals = [row.decimals for row in rows]
    known_decimals = [d for d in decimals if d is not None]
    fine = 10.0 ** -max(known_decimals) if len(known_decimals) == len(rows) else 0.0
    return Measurements(ids, rounds, costs, rows[0].unit or "", fine, tuple(warnings))


# ---------------------------------------------------------------------------------------------
# CSV


def _csv(text: str, where: str, set_name: str) -> list[Row]:
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if _is_data(line)]
    if not lines:
        raise LabError(f"{where}: is empty; it must begin with the header id,cost")
    names = _header(lines[0], where)
    rows = []
    for number, line in lines[1:]:
        here = f"{where}, line {number}"
        texts = dict(zip(names, _fields(number, line, names, where), strict=True))
        _same_set(texts.get("set") or None, set_name, here)
        turn = texts.get("round")
        rows.append(
            Row(
                here,
                _whole(texts["id"], "id", here),
                _cost(texts["cost"], here),
                texts.get("unit") or None,
                None if turn is None else _whole(turn, "round", here),
                _decimals(texts["cost"]),
            )
        )
    return rows


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _header(line: tuple[int, str], where: str) -> list[str]:
    number, text = line
    here = f"{where}, line {number}"
    given = [name.strip() for name in next(csv.reader([text]))]
    names = ["round" if name == _ROUND_TOO else name for name in given]
    for name in names:
        if name not in COLUMNS:
            semicolons = "; columns are separated by commas" if ";" in name else ""
            raise LabError(
                f"{here}: the header has {name[:40]!r}, the columns are {', '.join(COLUMNS)}"
                f"{semicolons}"
            )
        if names.count(name) > 1:
            raise LabError(f"{here}: the column {name!r} stands twice")
    for needed in COLUMNS[:2]:
        if needed not in names:
            raise LabError(f"{here}: the header has no column {needed!r}")
    return names


def _fields(number: int, line: str, names: list[str], where: str) -> list[str]:
    """The fields of one line, which is one row: no field of numbers and units has line breaks."""
    fields = next(csv.reader([line]))
    if line.count('"') % 2 or len(fields) != len(names):
        comma = " (a decimal comma?)" if len(fields) == len(names) + 1 else ""
        raise LabError(
            f"{where}, line {number}: has {len(fields)} fields, the header has {len(names)}{comma}"
        )
    return [field.strip() for field in fields]


def _whole(text: str, name: str, here: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise LabError(f"{here}: {name} {text[:40]!r} must be a whole number, not negative")
    return int(text)


def _cost(text: str, here: str) -> float:
    if not text:
        raise LabError(f"{here}: the cost is missing")
    if text.startswith("-") and _COST.fullmatch(text[1:]):
        raise LabError(f"{here}: cost {text[:40]} must be above 0")
    if not _COST.fullmatch(text):
        raise LabError(f"{here}: cost {text[:40]!r} must be a number above 0 such as 1234 or 12.5")
    return _checked(float(text), here)


def _decimals(text: str) -> int | None:
    """Digits after the point; None in a text with an exponent."""
    match = _COST.fullmatch(text)
    if match is None or match[4] is not None:
        return None
    return len(match[2] or match[3] or "")


# ---------------------------------------------------------------------------------------------
# JSON


def _json(text: str, where: str, set_name: str) -> list[Row]:
    value = parse_json(text, where)
    unit: str | None = None
    if isinstance(value, Mapping):
        for key in value:
            if key not in ("unit", "set", "measurements"):
                raise LabError(f"{where}: the key {key!r} is unknown")
        if "measurements" not in value:
            raise LabError(f"{where}: measurements is missing")
        unit = _text(value, "unit", where)
        _same_set(_text(value, "set", where), set_name, where)
        value = value["measurements"]
    if not isinstance(value, list):
        raise LabError(
            f"{where}: must be a list of objects with id and cost, or an object with the key "
            "measurements that holds it"
        )
    return [_entry(row, unit, set_name, f"{where}, entry {n}") for n, row in enumerate(value, 1)]


def _entry(row: object, unit: str | None, set_name: str, here: str) -> Row:
    if not isinstance(row, Mapping):
        raise LabError(f"{here}: must be an object with id and cost")
    given: dict[str, Any] = dict(row)
    if _ROUND_TOO in given and "round" not in given:
        given["round"] = given.pop(_ROUND_TOO)
    for key in given:
        if key not in COLUMNS:
            raise LabError(f"{here}: the key {key!r} is unknown")
    for key in COLUMNS[:2]:
        if key not in given:
            raise LabError(f"{here}: {key} is missing")
    for key in ("id", "round"):
        if key in given and (type(given[key]) is not int or given[key] < 0):
            raise LabError(f"{here}: {key} must be a whole number, not negative")
    cost = given["cost"]
    if type(cost) not in (int, float):
        raise LabError(f"{here}: cost must be a number")
    own = _text(given, "unit", here)
    if own is not None and unit is not None and own != unit:
        raise LabError(f"{here}: unit {own!r} differs from the file's {unit!r}")
    _same_set(_text(given, "set", here), set_name, here)
    try:
        size = float(cost)
    except OverflowError:
        raise LabError(f"{here}: the cost is too large a number") from None
    decimals = _decimals(json.dumps(cost)) if size > 0 else None
    return Row(here, given["id"], _checked(size, here), own or unit, given.get("round"), decimals)


def _text(value: Mapping[str, Any], key: str, here: str) -> str | None:
    found = value.get(key)
    if found is not None and not isinstance(found, str):
        raise LabError(f"{here}: {key} must be a text")
    return found.strip() or None if found is not None else None


# ---------------------------------------------------------------------------------------------


def _checked(cost: float, here: str) -> float:
    if math.isnan(cost):
        raise LabError(f"{here}: the cost is not a number")
    if math.isinf(cost):
        raise LabError(f"{here}: the cost is infinite or too large a number")
    if cost <= 0:
        raise LabError(f"{here}: cost {cost:g} must be above 0")
    if not _RANGE[0] <= cost <= _RANGE[1]:
        raise LabError(f"{here}: cost {cost:g} is out of the range {_RANGE[0]:g} to {_RANGE[1]:g}")
    return cost


def _same_set(found: str | None, wanted: str, here: str) -> None:
    if found is not None and found != wanted:
        raise LabError(f"{here}: is of {found}, the selection of {wanted}")


def _listed(ids: Iterable[int]) -> str:
    every = [str(i) for i in ids]
    if len(every) <= _LISTED:
        return ", ".join(every)
    return f"{', '.join(every[: _LISTED - 1])}, ... {every[-1]} ({len(every)} in all)"
