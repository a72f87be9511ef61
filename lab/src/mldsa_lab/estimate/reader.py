"""Files of measurements: CSV and JSON, described in docs/measurements.md.

Lines of CSV are read one by one rather than as a table, so that an error can name its line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
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
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_LISTED = 8

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


COLUMNS = Measurement.__struct_fields__
"""The columns of a CSV file and the keys of a JSON object; id and cost are needed."""

_Rows = Iterable[tuple[str, dict[str, Any], int | None]]
"""The name of each line or entry, what it says, and the digits after the point of its cost, None
where these do not say how fine the scale is."""


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
        rows: list[tuple[str, dict[str, Any], None]] = []
        for number, value in costs.items():
            values = [value] if isinstance(value, int | float) else list(value)
            for turn, cost in enumerate(values):
                made = {"id": number, "cost": float(cost), "unit": unit or None, "round": turn}
                rows.append((f"{where}, id {number}", made, None))
        rows.sort(key=lambda row: row[1]["round"])
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
    name, kind = str(path), path.suffix.lower()
    if kind not in (".csv", ".json"):
        raise LabError(f"{name}: must end in .csv or .json, which say what it is")
    text = read_text(path).removeprefix("\ufeff")
    rows = (_csv if kind == ".csv" else _json)(text, name)
    return _gather(rows, selection, name, strict=kind == ".json")


def _gather(rows: _Rows, selection: Selection, where: str, *, strict: bool = True) -> Measurements:
    """Check the rows against their type, the selection and each other, and lay them out."""
    found: dict[tuple[int, int], tuple[str, Measurement]] = {}
    digits: list[int | None] = []
    for here, values, decimals in rows:
        digits.append(decimals)
        with checked(Measurement, here):
            given = msgspec.convert(values, Measurement, strict=strict)
        first = next(iter(found.values()), (here, given))
        _check(here, given, first, selection)
        key = (given.id, given.round or 0)
        if key in found:
            hint = " (number repeats in a column 'round')" if given.round is None else ""
            which = "" if given.round is None else f" in round {given.round}"
            earlier = found[key][0]
            raise LabError(f"{here}: id {given.id}{which} was measured at {earlier} already{hint}")
        found[key] = here, given
    if not found:
        raise LabError(f"{where}: has no measurements")
    measured = {number for number, _ in found}
    ids = tuple(i for i in selection.ids if i in measured)
    rounds = tuple(sorted({turn for _, turn in found}))
    costs = np.full((len(rounds), len(ids)), np.nan)
    order = costs.copy()
    # Where nothing says the order of time, measurements stay as given.
    in_time = sorted(found.items(), key=lambda item: item[1][1].order or item[1][1].time or 0)
    for place, ((number, turn), (_, given)) in enumerate(in_time):
        at = rounds.index(turn), ids.index(number)
        costs[at], order[at] = given.cost, place
    warnings = []
    if missing := [i for i in selection.ids if i not in measured]:
        warnings.append(
            f"{len(missing)} of the selection's {len(selection.ids)} inputs have no measurement "
            f"(ids {_listed(missing)}): the others alone are used"
        )
    known = [n for n in digits if n is not None]
    fine = 10.0 ** -max(known) if known and len(known) == len(digits) else 0.0
    return Measurements(ids, rounds, costs, order, first[1].unit or "", fine, tuple(warnings))


def _check(
    here: str, given: Measurement, first: tuple[str, Measurement], selection: Selection
) -> None:
    """LabError where a measurement goes with the selection or the first one not."""
    if given.id not in selection.ids:
        known = f"whose ids are {_listed(selection.ids)}"
        raise LabError(f"{here}: id {given.id} is not in the selection, {known}")
    if given.set and given.set != selection.set:
        raise LabError(f"{here}: is of {given.set}, the selection of {selection.set}")
    if given.unit != first[1].unit:
        raise LabError(
            f"{here}: unit {given.unit or 'none'!r} after {first[1].unit or 'none'!r} at "
            f"{first[0]}: all measurements must have one unit"
        )
    for name in ("round", "order", "time"):
        if (getattr(given, name) is None) != (getattr(first[1], name) is None):
            raise LabError(f"{here}: all measurements must have a {name}, or none")
    if given.order is not None and given.time is not None:
        raise LabError(f"{here}: has order and time, of which one says all")


def _csv(text: str, where: str) -> _Rows:
    names: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        here = f"{where}, line {number}"
        # One line is one row: no field of numbers and units has line breaks.
        fields = [field.strip() for field in next(csv.reader([line]))]
        if not names:
            names = _header(fields, here)
            continue
        if line.count('"') % 2 or len(fields) != len(names):
            comma = " (a decimal comma?)" if len(fields) == len(names) + 1 else ""
            raise LabError(f"{here}: has {len(fields)} fields, the header has {len(names)}{comma}")
        values: dict[str, Any] = {n: field for n, field in zip(names, fields, strict=True) if field}
        # Text that is no number stays, and is refused as what the column must hold.
        cost = values.get("cost", "")
        if _NUMBER.fullmatch(cost):
            values["cost"] = float(cost)
        yield f"{here} ({line.strip()[:40]!r})", values, _decimals(cost)
    if not names:
        raise LabError(f"{where}: is empty; it must begin with the header id,cost")


def _header(fields: Sequence[str], here: str) -> list[str]:
    names = ["round" if name == _ROUND_TOO else name for name in fields]
    if not set(names) <= set(COLUMNS) or not {*COLUMNS[:2]} <= set(names):
        raise LabError(
            f"{here}: the header is {','.join(fields)[:40]!r}; it must have id and cost, "
            f"and may have {', '.join(COLUMNS[2:])}, with commas between"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise LabError(f"{here}: the column {twice!r} appears twice")
    return names


def _decimals(text: str) -> int | None:
    """Digits after the point; None in a text with an exponent."""
    return None if "e" in text.lower() else len(text.partition(".")[2])


class MeasurementFile(msgspec.Struct, forbid_unknown_fields=True):
    """The form of a JSON file that says once what all entries have."""

    measurements: list[Measurement]
    unit: str | None = None
    set: str | None = None


def _json(text: str, where: str) -> _Rows:
    value = parse_json(text, where)
    if not isinstance(value, list | dict):
        raise LabError(
            f"{where}: must be a list of objects with id and cost, or an object with the key "
            "measurements that holds it"
        )
    once = {"measurements": value} if isinstance(value, list) else value
    entries = once.get("measurements")
    # Entries are read one by one, so that an error can count them.
    alone = once | ({"measurements": []} if isinstance(entries, list) else {})
    file = convert(alone, MeasurementFile, where)
    for number, entry in enumerate(entries or (), 1):
        here, decimals = f"{where}, entry {number}", None
        if isinstance(entry, dict):
            decimals = _decimals(str(entry.get("cost")))
            if file.unit and entry.get("unit", file.unit) != file.unit:
                raise LabError(f"{here}: the unit differs from the file's {file.unit!r}")
            entry |= {key: entry.get(key) or getattr(file, key) for key in ("unit", "set")}
            if _ROUND_TOO in entry:
                entry["round"] = entry.pop(_ROUND_TOO)
        yield here, entry, decimals


def _listed(ids: Iterable[int]) -> str:
    every = [str(i) for i in ids]
    if len(every) <= _LISTED:
        return ", ".join(every)
    return f"{', '.join(every[: _LISTED - 1])}, ... {every[-1]} ({len(every)} in all)"
