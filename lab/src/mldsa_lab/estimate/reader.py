"""Files of measurements: CSV and JSON, described in docs/measurements.md.

Lines of CSV are read one by one rather than as a table, so that an error can name its line.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.files import checked, convert, parse_json, read_text
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.theory.arrays import Array

_ROUND_TOO = "repeat"  # another name of the round
_COST = re.compile(r"\+?(\d+(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d{1,4}))?", re.ASCII)
_LISTED = 8
# Squares of costs must be numbers too.
_RANGE = (1e-100, 1e100)

_Whole = Annotated[int, msgspec.Meta(ge=0)]


class Measurement(msgspec.Struct, forbid_unknown_fields=True):
    """One measurement as a line or an entry gives it. ``order``, ``time``: when it was made, by
    number or by a clock; one of them, or neither."""

    id: _Whole
    cost: float
    unit: str | None = None
    round: _Whole | None = None
    set: str | None = None
    order: _Whole | None = None
    time: float | None = None


COLUMNS = Measurement.__struct_fields__
"""The columns of a CSV file and the keys of a JSON object; id and cost are needed."""


class _Read(msgspec.Struct):
    """A measurement with the name of its line or entry, and the digits after the point that its
    cost was written with, None where that does not say how fine the scale is."""

    where: str
    given: Measurement
    decimals: int | None


@dataclass(frozen=True)
class Measurements:
    """Costs of inputs of a selection.

    ``ids``: of the measured inputs, in the selection's order; ``rounds``: ascending;
    ``costs``: (rounds, inputs), NaN where there is none, no row or column without any; ``order``:
    (rounds, inputs) the places of the measurements in time, from 0; ``unit``: as given, or "" ;
    ``resolution``: the step of the scale they are written in, 0 where unknown; ``warnings``: what
    is missing.
    """

    ids: tuple[int, ...]
    rounds: tuple[int, ...]
    costs: Array
    order: Array
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
        """Measurements held in memory: by id one cost, or those of rounds 0, 1, ..., made round
        by round in the order of the ids given; LabError as for files."""
        rows = []
        for number, value in costs.items():
            values = [value] if isinstance(value, int | float) else list(value)
            for turn, cost in enumerate(values):
                made = Measurement(number, float(cost), unit or None, turn)
                rows.append(_Read(f"{where}, id {number}", made, None))
        return _gather(sorted(rows, key=lambda row: row.given.round or 0), selection, where)

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
    name = str(path)
    kind = path.suffix.lower()
    if kind not in (".csv", ".json"):
        raise LabError(f"{name}: must end in .csv or .json, which say what it is")
    text = read_text(path).removeprefix("\ufeff")
    return _gather(list((_csv if kind == ".csv" else _json)(text, name)), selection, name)


def _gather(rows: Sequence[_Read], selection: Selection, where: str) -> Measurements:
    """Check the rows against the selection and each other, and lay them out."""
    if not rows:
        raise LabError(f"{where}: has no measurements")
    first = rows[0].given
    found: dict[tuple[int, int], int] = {}
    for place, row in enumerate(rows):
        given = row.given
        _check_cost(given.cost, row.where)
        if given.id not in selection.ids:
            raise LabError(
                f"{row.where}: id {given.id} is not in the selection, whose ids are "
                f"{_listed(selection.ids)}"
            )
        if given.set and given.set != selection.set:
            raise LabError(f"{row.where}: is of {given.set}, the selection of {selection.set}")
        if given.unit != first.unit:
            raise LabError(
                f"{row.where}: unit {given.unit or 'none'!r} after {first.unit or 'none'!r} at "
                f"{rows[0].where}: all measurements must have one unit"
            )
        for name in ("round", "order", "time"):
            if (getattr(given, name) is None) != (getattr(first, name) is None):
                raise LabError(f"{row.where}: all measurements must have a {name}, or none")
        if given.time is not None and not math.isfinite(given.time):
            raise LabError(f"{row.where}: time {given.time} must be a number, such as seconds")
        if given.order is not None and given.time is not None:
            raise LabError(f"{row.where}: has order and time, of which one says all")
        key = (given.id, given.round or 0)
        if key in found:
            again = f"id {given.id}" + ("" if given.round is None else f" in round {given.round}")
            hint = "; repeats need a column 'round' that numbers them"
            raise LabError(
                f"{row.where}: {again} was measured at {rows[found[key]].where} already"
                + (hint if given.round is None else "")
            )
        found[key] = place
    measured = {number for number, _ in found}
    ids = tuple(i for i in selection.ids if i in measured)
    rounds = tuple(sorted({turn for _, turn in found}))
    costs = np.full((len(rounds), len(ids)), np.nan)
    order = costs.copy()
    in_time = sorted(found.items(), key=lambda item: _when(rows[item[1]].given))
    for turn_at, (key, place) in enumerate(in_time):
        at = rounds.index(key[1]), ids.index(key[0])
        costs[at], order[at] = rows[place].given.cost, turn_at
    warnings = []
    missing = [i for i in selection.ids if i not in measured]
    if missing:
        warnings.append(
            f"{len(missing)} of the selection's {len(selection.ids)} inputs have no measurement "
            f"(ids {_listed(missing)}): the others alone are used"
        )
    known = [row.decimals for row in rows if row.decimals is not None]
    fine = 10.0 ** -max(known) if len(known) == len(rows) else 0.0
    return Measurements(ids, rounds, costs, order, first.unit or "", fine, tuple(warnings))


def _when(given: Measurement) -> float:
    """What measurements are put in order of time by; where nothing says it, they stay as given."""
    return next((float(v) for v in (given.order, given.time) if v is not None), 0.0)


# ---------------------------------------------------------------------------------------------
# CSV


def _csv(text: str, where: str) -> Iterator[_Read]:
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if _is_data(line)]
    if not lines:
        raise LabError(f"{where}: is empty; it must begin with the header id,cost")
    number, line = lines[0]
    names = _header(line, f"{where}, line {number}")
    for number, line in lines[1:]:
        here = f"{where}, line {number}"
        # One line is one row: no field of numbers and units has line breaks.
        fields = [field.strip() for field in next(csv.reader([line]))]
        if line.count('"') % 2 or len(fields) != len(names):
            comma = " (a decimal comma?)" if len(fields) == len(names) + 1 else ""
            raise LabError(f"{here}: has {len(fields)} fields, the header has {len(names)}{comma}")
        texts = {name: text for name, text in zip(names, fields, strict=True) if text}
        # Text that is no number stays, and is refused as what the column must hold.
        cost = texts.get("cost", "")
        size = float(cost) if _COST.fullmatch(cost.removeprefix("-")) else None
        values: dict[str, Any] = texts if size is None else texts | {"cost": size}
        with checked(Measurement, f"{here} ({line.strip()[:40]!r})"):
            given = msgspec.convert(values, Measurement, strict=False)
        yield _Read(here, given, _decimals(cost))


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _header(text: str, here: str) -> list[str]:
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
            raise LabError(f"{here}: the column {name!r} appears twice")
    for needed in COLUMNS[:2]:
        if needed not in names:
            raise LabError(f"{here}: the header has no column {needed!r}")
    return names


def _decimals(text: str) -> int | None:
    """Digits after the point; None in a text with an exponent."""
    match = _COST.fullmatch(text)
    return None if match is None or match[4] is not None else len(match[2] or match[3] or "")


# ---------------------------------------------------------------------------------------------
# JSON


class MeasurementFile(msgspec.Struct, forbid_unknown_fields=True):
    """The form of a JSON file that says once what all entries have."""

    measurements: list[Measurement]
    unit: str | None = None
    set: str | None = None


def _json(text: str, where: str) -> Iterator[_Read]:
    value = parse_json(text, where)
    if not isinstance(value, list | dict):
        raise LabError(
            f"{where}: must be a list of objects with id and cost, or an object with the key "
            "measurements that holds it"
        )
    given_once = {"measurements": value} if isinstance(value, list) else value
    entries = given_once.get("measurements")
    # Entries are read one by one, so that an error can count them.
    alone = given_once | ({"measurements": []} if isinstance(entries, list) else {})
    file = convert(alone, MeasurementFile, where)
    for number, entry in enumerate(entries or (), 1):
        here = f"{where}, entry {number}"
        if isinstance(entry, dict) and _ROUND_TOO in entry and "round" not in entry:
            entry["round"] = entry.pop(_ROUND_TOO)
        given = convert(entry, Measurement, here)
        digits = _decimals(json.dumps(entry["cost"]))
        given.unit, given.set = ((v or "").strip() or None for v in (given.unit, given.set))
        if given.unit and file.unit and given.unit != file.unit.strip():
            raise LabError(f"{here}: unit {given.unit!r} differs from the file's {file.unit!r}")
        given.unit = given.unit or (file.unit or "").strip() or None
        given.set = given.set or file.set
        yield _Read(here, given, digits)


# ---------------------------------------------------------------------------------------------


def _check_cost(cost: float, here: str) -> None:
    if math.isnan(cost):
        raise LabError(f"{here}: the cost is not a number")
    if math.isinf(cost):
        raise LabError(f"{here}: the cost is infinite or too large a number")
    if cost <= 0:
        raise LabError(f"{here}: cost {cost:g} must be above 0")
    if not _RANGE[0] <= cost <= _RANGE[1]:
        raise LabError(f"{here}: cost {cost:g} is out of the range {_RANGE[0]:g} to {_RANGE[1]:g}")


def _listed(ids: Iterable[int]) -> str:
    every = [str(i) for i in ids]
    if len(every) <= _LISTED:
        return ", ".join(every)
    return f"{', '.join(every[: _LISTED - 1])}, ... {every[-1]} ({len(every)} in all)"
