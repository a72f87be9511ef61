"""Study files, and the cells of the runs that a study made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct, structs

from mldsa_lab import LabError
from mldsa_lab.bench.options import Jmh, Pipeline, Profile, check_pipelines
from mldsa_lab.checkout import file_or_shipped, find_root
from mldsa_lab.estimate.cells import CellEstimate, CellSamples
from mldsa_lab.estimate.figure import Key
from mldsa_lab.estimate.summary import MeasuredCell, summarise
from mldsa_lab.files import Positive, Text, decode_toml, read_text
from mldsa_lab.records import METRICS, NO_CELL, Filters, Record, read_record
from mldsa_lab.sets import OBJECTS, OPERATIONS, PERCENTILES, Operation, parse_set_names
from mldsa_lab.theory.trace import Array

FIELDS = (
    "implementation", "version", "language", "backend", "build", "key", "mode", "batch_size",
    "threads", "set", "operation", "worker", "message_bytes",
)  # fmt: skip
"""The fields that distinguish the cells of a study."""

Field = Literal[FIELDS]  # type: ignore[valid-type]
TESTS = ("mann-whitney", "kruskal-wallis", "dunn")
Test = Literal[TESTS]  # type: ignore[valid-type]
Share = Annotated[float, Meta(gt=0, lt=1)]
Fields = tuple[Field, ...]
SomeFields = Annotated[Fields, Meta(min_length=1)]
Where = dict[Field, tuple[str, ...]]
SPREAD = "spread"
COST_FIGURES = ("mean", *PERCENTILES, SPREAD, *METRICS)
"""The figures of a table of costs."""
CostFigure = Literal[COST_FIGURES]  # type: ignore[valid-type]


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a study file."""


Sizes = tuple[Annotated[int, Meta(ge=0, le=1 << 16)], ...]


class Measure(_Table, frozen=True):
    """The cells that a run of the bench measures, in the words of its options; by default all.

    Each size of ``message_bytes`` is a run of its own.
    """

    workers: tuple[Text, ...] = ()
    implementations: tuple[Text, ...] = ()
    sets: tuple[Text, ...] = ()
    operations: tuple[Operation, ...] = ()
    message_bytes: Annotated[Sizes, Meta(min_length=1)] = (32,)
    build: Literal["default", "tuned", "both"] = "default"

    def __post_init__(self) -> None:
        parse_set_names(self.sets)


def _intersect(own: tuple[str, ...], kept: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names in both, where no names mean all; None if there are none."""
    if not own or not kept:
        return own or kept
    return tuple(name for name in own if name in kept) or None


class Effort(_Table, frozen=True):
    """How much to measure: ``processes`` times, each in fresh processes and with other inputs.

    ``seconds`` and ``rounds`` (least and most) are of one process. With ``jmh`` JMH measures, each
    process being a fork. ``workers``, ``sets`` and ``operations`` are those to keep of every
    measure; ``implementations`` and ``message_bytes`` replace its own.
    """

    seconds: Annotated[float, Meta(ge=1)] | None = None
    rounds: tuple[Positive, Positive] | None = None
    jmh: Jmh | None = None
    processes: Positive = 1
    workers: tuple[Text, ...] = ()
    implementations: tuple[Text, ...] = ()
    sets: tuple[Text, ...] = ()
    operations: tuple[Operation, ...] = ()
    message_bytes: Sizes = ()

    def narrow(self, measure: Measure) -> Measure | None:
        """The part of a measure that this profile keeps, if any."""
        narrowed = {
            "workers": _intersect(measure.workers, self.workers),
            "implementations": self.implementations or measure.implementations,
            "sets": _intersect(parse_set_names(measure.sets), parse_set_names(self.sets)),
            "operations": _intersect(measure.operations, self.operations),
            "message_bytes": self.message_bytes or measure.message_bytes,
        }
        if None in narrowed.values():
            return None
        return structs.replace(measure, **narrowed)

    def __post_init__(self) -> None:
        parse_set_names(self.sets)
        has_values = [value is not None for value in (self.seconds, self.rounds, self.jmh)]
        if has_values not in ([True, True, False], [False, False, True]):
            raise ValueError("a profile has either seconds and rounds, or jmh")
        if self.rounds is not None and self.rounds[0] > self.rounds[1]:
            raise ValueError("rounds: the first number must not be above the second")

    def profile(self, name: str) -> Profile:
        """As the bench takes it."""
        if self.jmh is not None:
            return Profile(name, self.jmh.seconds, self.jmh.iterations, self.jmh.iterations)
        assert self.seconds is not None and self.rounds is not None
        return Profile(name, self.seconds, *self.rounds)


class Contrast(_Table, frozen=True):
    """Groups of cells to compare by the means of their ``replicates``.

    A group is told by the fields ``between``; within each of the fields ``within`` groups are
    compared with each other. ``where``: the cells to take, by the texts of their fields. ``alpha``:
    the probability of a false finding in one of these places. It is valid for processes; rounds
    within one are not independent of each other.
    """

    name: Text
    between: SomeFields
    within: Fields = ("set", "operation", "message_bytes")
    where: Where = {}
    tests: Annotated[tuple[Test, ...], Meta(min_length=1)] = ("mann-whitney",)
    alpha: Share = 0.05
    replicates: Literal["processes", "rounds"] = "processes"

    def __post_init__(self) -> None:
        for name in self.between:
            if name in self.within:
                raise ValueError(f"between and within both have {name}")
        if "dunn" in self.tests and "kruskal-wallis" not in self.tests:
            raise ValueError("tests: dunn comes after kruskal-wallis")


class CostsAsked(_Table, frozen=True):
    """A table: a ``figure`` of each cell, told by the fields ``rows`` and ``columns``."""

    name: Text
    rows: SomeFields
    columns: Fields = ("operation",)
    figure: CostFigure = "mean"
    where: Where = {}

    def __post_init__(self) -> None:
        for name in self.rows:
            if name in self.columns:
                raise ValueError(f"rows and columns both have {name}")


class SizesAsked(_Table, frozen=True):
    """A table of the bytes of objects of ``sets``, by default of the measured ones."""

    name: Text
    sets: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        parse_set_names(self.sets)


AXES = (*OPERATIONS, *OBJECTS)
"""The values of an axis: the cost of an operation, or the bytes of an object."""
Axis = Literal[AXES]  # type: ignore[valid-type]


class FigureAsked(_Table, frozen=True):
    """A figure, with a panel for each of the fields ``panel``; ``by``: fields that name a cell.

    ``bars``: the mean of each cell, least to largest over the processes. ``distribution``: the mean
    of every process and round. ``scatter``: a point for each set, its cost or bytes on ``x`` and
    ``y``.
    """

    name: Text
    by: SomeFields
    kind: Literal["bars", "distribution", "scatter"] = "bars"
    panel: Fields | None = None
    where: Where = {}
    x: Axis | None = None
    y: Axis | None = None

    @property
    def panels(self) -> tuple[str, ...]:
        """The fields that tell panels."""
        if self.panel is None:
            return () if self.kind == "scatter" else ("set", "operation")
        return self.panel

    def __post_init__(self) -> None:
        if {self.x is None, self.y is None} != {self.kind != "scatter"}:
            raise ValueError("x and y: a scatter has both, other figures have neither")
        if self.kind == "scatter" and "operation" in (*self.by, *self.panels):
            raise ValueError("operation: that of a scatter is told by x and y")


class StudyFile(_Table, frozen=True):
    """A whole study."""

    format: Literal["mldsa-lab study"]
    version: Literal[1]
    title: Text
    profiles: dict[Text, Effort]
    measure: tuple[Measure, ...] = ()
    pipeline: tuple[Pipeline, ...] = ()
    text: str = ""
    contrasts: tuple[Contrast, ...] = ()
    tables: tuple[CostsAsked, ...] = ()
    sizes: tuple[SizesAsked, ...] = ()
    figures: tuple[FigureAsked, ...] = ()

    def __post_init__(self) -> None:
        if "default" not in self.profiles:
            raise ValueError("profiles: the profile default is missing")
        if bool(self.measure) == bool(self.pipeline):
            raise ValueError("a study has either [[measure]] or [[pipeline]]")
        check_pipelines(self.pipeline)
        parts = (self.contrasts, self.tables, self.sizes, self.figures)
        if self.pipeline and any(parts):
            raise ValueError("[[pipeline]] has no contrasts, tables, sizes or figures")
        if self.pipeline and any(effort.jmh for effort in self.profiles.values()):
            raise ValueError("[[pipeline]] is not measured by JMH")
        for name, effort in self.profiles.items():
            if self.measure and not any(map(effort.narrow, self.measure)):
                raise ValueError(f"the profile {name} keeps nothing of any [[measure]]")
        if self.pipeline and any(e.narrow(Measure()) != Measure() for e in self.profiles.values()):
            raise ValueError("sets, operations and message_bytes of a profile are of [[measure]]")
        seen: set[str] = set()
        for kind in ("contrasts", "tables", "sizes", "figures"):
            for number, part in enumerate(getattr(self, kind)):
                if part.name in seen:
                    raise ValueError(f"{kind}[{number}]: the name {part.name!r} is given twice")
                seen.add(part.name)

    @property
    def named(self) -> frozenset[str]:
        """The workers and implementations that it may measure; a profile may omit some."""
        return frozenset(t for m in self.measure for t in (*m.workers, *m.implementations))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of each process; one run of all pipelines."""
        if self.measure:
            return self.measure
        stages = [stage for pipeline in self.pipeline for stage in pipeline.stage]
        return (
            Measure(
                workers=_each(pipeline.worker for pipeline in self.pipeline),
                implementations=_each(stage.implementation for stage in stages),
                sets=_each(stage.set for stage in stages),
            ),
        )

    def amount(self, profile: str) -> Effort:
        """How much a profile measures; LabError for an unknown one."""
        try:
            return self.profiles[profile]
        except KeyError:
            known = ", ".join(self.profiles)
            raise LabError(f"unknown profile {profile!r}: the study has {known}") from None


def _each(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def shipped() -> dict[str, Path]:
    """The studies of the source tree by name."""
    paths = sorted((find_root() / "lab" / "studies").glob("*.toml"))
    return {path.stem: path for path in paths if path.name != "pyproject.toml"}


def find_study(name: str) -> Path:
    """The file of a study: one of the tree by its name, or a path. LabError for an unknown one."""
    return file_or_shipped(name, shipped(), "study")


def read_study(path: Path) -> StudyFile:
    """LabError names the file, the place and the rule it breaks."""
    return parse_study(read_text(path), path)


def parse_study(text: str, path: Path) -> StudyFile:
    """`read_study` of the text of the file ``path``."""
    return decode_toml(text, StudyFile, str(path))


# Cells of a study.


Values = Mapping[str, Sequence[str]]
_NUMBERS = ("batch_size", "threads", "message_bytes")
_USUAL = {"mode": "single", "batch_size": "1", "threads": "1"}
_DISTINCT = tuple(name for name in FIELDS if name not in ("version", "language", "build"))
"""Fields of a cell that do not follow from others."""
_DEFAULT_MESSAGE = 32


def choose_key(field: str) -> str:
    """Return the key that has the text of a field."""
    return "batch" if field == "batch_size" else field


def identify_figure(asked: str) -> tuple[str, dict[str, Key]]:
    """Return the name and the keys of a figure that a study file names."""
    if asked in PERCENTILES:
        return "quantile", {"percentile": PERCENTILES[asked]}
    return asked, {}


@dataclass(frozen=True)
class StudyCell:
    """One cell over all processes: its ``fields`` as texts, the ``unit`` of its costs, and
    ``means``: (processes,) for one operation.

    ``further``: (processes,) by name, the percentiles and metrics that every process could tell.
    ``rounds``: the mean of each round, process after process.
    """

    fields: Mapping[str, str]
    unit: str
    means: Array
    further: Mapping[str, Array] = field(default_factory=dict)
    rounds: Array = field(default_factory=lambda: np.empty(0))

    def texts(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the texts of these fields."""
        return tuple(self.fields[name] for name in names)

    def keys(self, names: Iterable[str] | None = None) -> dict[str, Key]:
        """Return these fields as keys of a figure; None: those that tell the cell."""
        if names is None:
            names = [n for n in _DISTINCT if self.fields[n] != _USUAL.get(n)]
        texts = {choose_key(name): (name, self.fields[name]) for name in names}
        return {
            key: int(t) if name in _NUMBERS and t.isdecimal() else t
            for key, (name, t) in texts.items()
        }

    @property
    def middle(self) -> float:
        """The median over the processes."""
        return float(np.median(self.means))

    def all_figures(self) -> Iterator[tuple[str, dict[str, Key], Array, str]]:
        """Yield the name, the keys, the value in each process and the unit of every figure."""
        for asked, values in {"mean": self.means, **self.further}.items():
            name, more = identify_figure(asked)
            yield name, self.keys() | more, values, self.choose_unit(asked)

    def choose_unit(self, name: str) -> str:
        """Return the unit of a figure that a study file names."""
        if name == SPREAD:
            return ""
        return METRICS[name][0] if name in METRICS else self.unit

    def figure(self, name: str) -> float | None:
        """Return the median over the processes of a figure that a study file names.

        `SPREAD` is the share by which the largest mean is above the least. None where unknown.
        """
        if name == SPREAD:
            return float(self.means.max() / self.means.min() - 1)
        values = {"mean": self.means, **self.further}.get(name)
        return None if values is None else float(np.median(values))


@dataclass(frozen=True)
class Gathered:
    """The cells of a study. ``excluded``: reasons, with the number of runs that have each.

    ``runs``: the number of all runs. ``named``: texts that the study may have asked for, which need
    not have been measured. ``loads``: of each run, as of `Record.busy`.
    """

    cells: list[StudyCell]
    excluded: Counter[str] = field(default_factory=Counter)
    runs: int = 1
    named: frozenset[str] = frozenset()
    loads: Sequence[str] = ()

    def matching(self, where: Values) -> list[StudyCell]:
        """Return the cells whose fields have one of the texts asked for. LabError for a text that
        no cell has and the study does not name, and where none fits for another reason."""
        for name, texts in where.items():
            known = list(dict.fromkeys(c.fields[name] for c in self.cells))
            for text in texts:
                if text not in known and text not in self.named:
                    raise LabError(f"{name} {text!r}: measured are {', '.join(known)}")
        cells = [c for c in self.cells if all(c.fields[n] in ts for n, ts in where.items())]
        if not cells and not {t for texts in where.values() for t in texts} <= self.named:
            raise LabError("no cell was measured that fits all of `where`")
        return cells

    def arranged(
        self, where: Values, outer: Sequence[str], inner: Sequence[str]
    ) -> dict[tuple[str, ...], dict[str, StudyCell]]:
        """Return the cells that fit, by their texts of the fields ``outer`` and, joined, ``inner``.
        LabError where two have the same."""
        places: dict[tuple[str, ...], dict[str, StudyCell]] = {}
        for cell in self.matching(where):
            place = places.setdefault(cell.texts(outer), {})
            label = " ".join(cell.texts(inner))
            if label in place:
                other = place[label].fields
                differ = [n for n, text in cell.fields.items() if other[n] != text]
                named = " ".join(filter(None, (*cell.texts(outer), label)))
                raise LabError(
                    f"{named} is several cells that differ in {', '.join(differ)}: name what to "
                    "take in where, or add it to the fields"
                )
            place[label] = cell
        return places


def gather_cells(
    paths: Sequence[Path], clock: str, confidence: float, filters: Filters = ((), (), ())
) -> Gathered:
    """Return the cells of a study's records, one for each process. LabError if the filters leave
    none."""
    processes: dict[tuple[str, ...], list[tuple[MeasuredCell, Array]]] = {}
    excluded = Counter[str]()
    loads = []
    for path in paths:
        record = read_record(path).narrow(*filters)
        if any(filters) and not record.samples:
            continue
        loads.append(record.busy)
        summary = summarise(record, clock=clock, confidence=confidence)
        excluded.update(set(_list_excluded(record)))
        message_bytes = record.run.options.get("message_bytes", _DEFAULT_MESSAGE)
        for cell in summary.cells:
            if cell.estimate is None:
                excluded.update(f"{' '.join(cell.id)}: {note}" for note in cell.notes)
                continue
            keys = {**cell.keys, **cell.worker.about(cell.variant)}
            keys |= {"worker": cell.worker.worker, "message_bytes": message_bytes}
            keys["build"] = cell.worker.build or ""
            texts = tuple(str(keys[name]) for name in FIELDS)
            rounds = _average_rounds(cell.estimate, cell.samples)
            processes.setdefault(texts, []).append((cell, rounds))
    cells = [
        _join(dict(zip(FIELDS, texts, strict=True)), listed) for texts, listed in processes.items()
    ]
    if any(filters) and not loads:
        raise LabError(NO_CELL)
    return Gathered(cells, excluded, len(loads), loads=loads)


def _list_excluded(record: Record) -> Iterator[str]:
    for row in record.skipped:
        yield f"worker {row.worker}: {row.reason}"
    for gate in record.gates:
        if not gate.passed:
            yield f"{gate.variant} {gate.set}: rejected by the correctness gate"
    for fault in record.faults:
        yield " ".join(filter(None, (fault.variant, fault.set))) + f": {fault.reason}"


def _average_rounds(estimate: CellEstimate, samples: CellSamples) -> Array:
    """The mean of each round: of inputs that all rounds have, by the level of the round."""
    if estimate.level is not None:
        return np.asarray(estimate.mean.value * np.exp(estimate.level))
    sums = np.bincount(samples.round_of, weights=samples.ticks)
    return np.asarray(sums / np.bincount(samples.round_of))


def _join(fields: dict[str, str], processes: Sequence[tuple[MeasuredCell, Array]]) -> StudyCell:
    """Return the cell of these processes, each with the means of its rounds."""
    cells, rounds = zip(*processes, strict=True)
    known = {name: [cell.value(name) for cell in cells] for name in METRICS}
    for name, percentile in PERCENTILES.items():
        known[name] = [cell.value("quantile", percentile=percentile) for cell in cells]
    return StudyCell(
        fields,
        cells[0].unit,
        np.array([cell.cost for cell in cells]),
        {name: np.array(values) for name, values in known.items() if None not in values},
        np.concatenate(rounds),
    )
