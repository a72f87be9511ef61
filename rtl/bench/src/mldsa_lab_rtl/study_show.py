"""The tables of `rtl study` and `rtl synth`, made of figures."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

from msgspec.structs import asdict

from mldsa_lab.checkout import files_of
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.records import read_record
from mldsa_lab.show import figure_tables
from mldsa_lab.show.figure_tables import SpreadColumns, TableLayout
from mldsa_lab.show.grid import Grid, number
from mldsa_lab.show.report import Report, Section
from mldsa_lab_rtl.clock_rate import CLOCK_NOTE, ClockRate
from mldsa_lab_rtl.study import CONFIDENCE, PERCENTILES, PHASES, TOTAL, core_rows
from mldsa_lab_rtl.study_files import (
    ROUND_3,
    RandomFile,
    RandomSignatures,
    Round3File,
    read_study,
)
from mldsa_lab_rtl.synth import NOTE, Resources, Taken

BESIDE = "beside what was published"
"""The title of the table whose rows have sources."""
CLOCK_RATE = "clock rate"
_SIGN: Mapping[str, Key] = {"operation": "sign"}
_KEPT: Mapping[str, Key] = {**_SIGN, "key": "expanded"}
_COMPARED = (
    SpreadColumns("mean", "key generation", keys={"operation": "keygen"}),
    SpreadColumns("min", "signing, best", keys=_SIGN),
    SpreadColumns("mean", "signing, mean", keys=_SIGN),
    SpreadColumns("mean", "verification", keys={"operation": "verify"}),
)
_OPERATIONS = (
    *_COMPARED[:3],
    *(
        SpreadColumns("quantile", f"signing, p{n}", keys={**_SIGN, "percentile": n})
        for n in PERCENTILES
    ),
    _COMPARED[3],
)
_FMAX = SpreadColumns("clock", "fmax", spare=1)
_RESOURCES = tuple(
    SpreadColumns("count", title, keys={"resource": name}, spare=int(name in ("ff", "dsp", "bram")))
    for name, title in (
        ("lut", "LUT"), ("memory", "memory"), ("cells", "cells"), ("ff", "FF"), ("dsp", "DSP"),
        ("bram", "BRAM"),
    )
)  # fmt: skip
_MAIN = tuple(c for c in _RESOURCES if c.title not in ("memory", "cells"))
_LUT: Mapping[str, Key] = {"resource": "lut"}
_PUBLISHED = {
    **dict(zip(("keygen", "sign_best", "sign_mean", "verify"), _COMPARED, strict=True)),
    **{str(c.keys["resource"]): c for c in _MAIN},
    "fmax": _FMAX,
}
"""By the names of published.toml."""
_AFTER = (10, 100)
"""Signatures after one load of the key."""
_TOTALS = (
    (
        "a rejected attempt", "cycles, by the first check that fails",
        tuple(
            SpreadColumns("attempt_cost", title, keys={**_SIGN, "attempt": end})
            for end, title in (("z", "z"), ("r", "r0"), ("h", "hint"))
        ),
    ),
    (
        "signatures under one key", "mean cycles of each",
        (
            SpreadColumns("mean", "loaded each time", keys=_SIGN),
            *(
                SpreadColumns("mean", f"{n} after one load", keys={**_SIGN, "operations": n})
                for n in _AFTER
            ),
            SpreadColumns("mean", "key stays", keys=_KEPT),
        ),
    ),
    (
        "random signatures", "mean cycles; the exact mean has to lie within their interval",
        (
            SpreadColumns("mean", "exact mean", keys=_SIGN),
            SpreadColumns("mean", "random ones", keys={**_SIGN, "inputs": "drawn"}),
        ),
    ),
)  # fmt: skip
"""Tables of whole operations, by set and core: title, note, columns."""
_RATES = (
    SpreadColumns("count", "seeds", keys={"of": "seeds"}),
    SpreadColumns("clock", "fmax", keys={"statistic": "median"}),
    SpreadColumns("clock", "least", keys={"statistic": "least"}),
    SpreadColumns("clock", "largest", keys={"statistic": "largest"}),
)
_PATH = (
    SpreadColumns("clock", "fmax"),
    *(SpreadColumns("time", part, keys={"of": part}) for part in ("logic", "routing")),
)

Place = tuple[Key, Key]
"""Set and core of a table's row."""


@cache
def published() -> dict[str, Any]:
    """Return the published figures: `sources` by letter, and `cores` with their rows."""
    return tomllib.loads(files("mldsa_lab_rtl").joinpath("published.toml").read_text("utf-8"))


def read_findings(paths: Sequence[Path]) -> CoreFindings:
    """Read records of cores, random signatures and resources, in any order."""
    rows: list[Figure] = []
    drawn: list[RandomSignatures] = []
    resources, clocks = [], []
    for path in paths:
        if ".jsonl" in path.suffixes:
            rows += core_rows(read_record(path))
            continue
        match read_study(path):
            case Resources() as taken:
                resources.append(taken)
            case ClockRate() as rate:
                clocks.append(rate)
            case Round3File(cores=cores):
                rows += (row for core in cores for row in core.rows())
            case RandomFile(signatures=signatures):
                drawn += signatures
    counters = [f for one in drawn for f in one.counter_rows()]
    every = [*rows, *(one.row() for one in drawn)]
    return CoreFindings(every, resources, counters, drawn, clocks=clocks)


def core_figures(argument: str) -> list[Figure]:
    """Return the figures of cores for answers; ``argument``: files below the checkout, separated
    by spaces. Cycles of whole operations by set and core, those of phases, resources, and clock
    rates with the times that follow."""
    result = read_findings(files_of(argument, "file of cores"))
    whole = (f for figures in result.totals.values() for f in figures)
    averages = (f for one in result.random for f in one.averages())
    cycles = (replace(f, unit="cycles") for f in whole)
    return [*cycles, *result.rows, *result.taken, *result.timed, *averages]


@dataclass(frozen=True)
class CoreFindings:
    """Figures of cores, the resources and clock rates of some of them, and random signatures."""

    rows: Sequence[Figure]
    resources: Sequence[Resources]
    counters: Sequence[Figure] = ()
    """Of the cores' own counters, by set and core."""
    random: Sequence[RandomSignatures] = ()
    clocks: Sequence[ClockRate] = ()

    def report(self) -> Report:
        """Return everything for the terminal, the page and files."""
        parts = [f"{_name(r)}: {r.total.lut:,} LUT" for r in self.resources]
        parts += map(clock_words, self.clocks)
        for (set_name, core), figures in self.totals.items():
            signing = _find(figures, "mean", _SIGN)
            if set_name == next(iter(self.totals))[0] and signing is not None:
                mean = number(signing.value, 0)
                parts.append(f"{core}, {set_name}: {mean} cycles for a mean signature")
        return Report(
            kind="hardware cores",
            headline="; ".join(parts) or "Cycles of hardware cores",
            figures=[*self.rows, *self.taken, *self.timed, *self.counters],
            sections=[Section(grid) for grid in self.grids()],
            notes=[
                *self._counter_faults(),
                *self.sources(),
                *([NOTE] if self.resources else ()),
                *([CLOCK_NOTE] if self.clocks else ()),
                *(reason for clock in self.clocks for reason in clock.reasons()),
            ],
        )

    def grids(self) -> list[Grid]:
        """Return all tables that have rows."""
        built = [self._latency(core) for core in dict.fromkeys(map(_core, self.rows))]
        for title, note, columns in _TOTALS:
            rows = [
                f
                for figures in self.totals.values()
                if all(_find(figures, c.name, c.keys) for c in columns)
                for f in figures
            ]
            built.append(_grid(title, note, ("set", "core"), columns, rows))
        names = dict.fromkeys(str(f.keys["of"]) for f in self.counters)
        counted = [SpreadColumns("count", name, keys={"of": name}) for name in names]
        note = "random signatures in which each is right; a dash: it is wrong"
        built.append(_grid("counters of the core", note, ("set", "core"), counted, self.counters))
        built += self._resource_grids()
        built += self._clock_grids()
        columns = (*_COMPARED, *_MAIN, _FMAX)
        note = "cycles; constants, each with its source"
        built.append(_grid(BESIDE, note, ("set", "core", "source"), columns, self.compared))
        built.append(self._product())
        return [grid for grid in built if grid is not None]

    def _counter_faults(self) -> list[str]:
        """Return the faults of counters, each with its core and set."""
        return [
            f"{f.keys['core']}, {f.keys['set']}, counter of {f.keys['of']}: {note}"
            for f in self.counters
            for note in f.notes
        ]

    def sources(self) -> list[str]:
        """Return the sources of the published figures of these sets, by their letters."""
        used = {f.keys["source"] for f in self.compared}
        return [f"[{k}] {text}" for k, text in published()["sources"].items() if k in used]

    def _latency(self, core: str) -> Grid | None:
        """Every operation in every set, split by phase."""
        figures = [
            _cell(f, {"set": f.keys["set"], "operation": column.title}, str(f.keys["phase"]))
            for f in self.rows
            for column in _OPERATIONS
            if _core(f) == core and (f.name, _own(f)) == (column.name, column.keys)
        ]
        note = "cycles; signing with the private key handed over"
        columns = [SpreadColumns(phase, phase) for phase in (TOTAL, *PHASES)]
        return _grid(core, note, ("set", "operation"), columns, figures)

    @cached_property
    def totals(self) -> dict[Place, list[Figure]]:
        """The cycles of whole operations by set and core."""
        result: dict[Place, list[Figure]] = {}
        for f in sorted(self.rows, key=lambda f: str(f.keys["set"])):
            if f.keys["phase"] == TOTAL:
                place = {"set": f.keys["set"], "core": _core(f)}
                cell = _cell(f, {**place, **_own(f)}, f.name)
                result.setdefault((f.keys["set"], _core(f)), []).append(cell)
        for (set_name, core), figures in result.items():
            whole, loaded = _find(figures, "mean", _SIGN), _find(figures, "mean", _KEPT)
            if whole is not None and loaded is not None:
                each, kept = whole.value or 0.0, loaded.value or 0.0
                for count in _AFTER:
                    keys = {"set": set_name, "core": core, **_SIGN, "operations": count}
                    figures.append(Figure(keys, "mean", round(kept + (each - kept) / count)))
        return result

    @cached_property
    def taken(self) -> list[Figure]:
        """Return the resources of cores, as wholes and by module."""
        figures = []
        for one in self.resources:
            rows: list[tuple[dict[str, Key], Taken]] = [({}, one.total)]
            rows += [({"module": m.module, "instances": m.instances}, m.taken) for m in one.modules]
            for place, taken in rows:
                keys = {"core": _name(one), **place}
                figures += [_count(keys, name, value) for name, value in asdict(taken).items()]
        return figures

    @cached_property
    def timed(self) -> list[Figure]:
        """Clock rates, those of the published cores with their technology, and the times of whole
        operations at the median rate."""
        if not self.clocks:
            return []
        figures = [f for clock in self.clocks for f in clock.figures()]
        figures += _published_rates()
        for clock in self.clocks:
            for (set_name, core), totals in self.totals.items():
                if core == _name(clock) and clock.rates:
                    keys = {"set": set_name, "core": core, "technology": clock.technology}
                    figures += [
                        _time(cycles, {**keys, **column.keys}, median(clock.rates))
                        for column in _COMPARED
                        if (cycles := _find(totals, column.name, column.keys)) is not None
                    ]
        return figures

    def _clock_grids(self) -> list[Grid | None]:
        """Return clock rates by core and by seed, and times of operations."""
        has_rate = any(clock.rates for clock in self.clocks)
        seeds = [f for f in self.timed if "seed" in f.keys and has_rate]
        times = [f for f in self.timed if "set" in f.keys]
        by_seed = ("core", "technology", "seed", "start", "end")
        place = ("set", "core", "technology")
        note = "fmax is the median of the seeds; rates of two technologies do not compare"
        columns = (*_RATES, replace(_MAIN[0], title="LUT4"), *_MAIN[1:])
        return [
            _grid(CLOCK_RATE, note, ("core", "technology"), columns, self.timed),
            _grid("clock rate by seed", "with the critical path", by_seed, _PATH, seeds),
            _grid("time", "cycles / median fmax", place, _COMPARED, times),
        ]

    def _resource_grids(self) -> list[Grid | None]:
        """Return the resources of cores, as wholes and by module."""
        whole = [f for f in self.taken if "module" not in f.keys]
        by = {f"{r.target}, by {', '.join(r.tools.values())}": None for r in self.resources}
        built = [_grid("resources", "; ".join(by), ("core",), _RESOURCES, whole)]
        note = "without the modules within each"
        for name in map(_name, self.resources):
            parts = [
                replace(f, keys={k: v for k, v in f.keys.items() if k != "core"})
                for f in self.taken
                if f.keys["core"] == name and "module" in f.keys
            ]
            rows = ("module", "instances")
            built.append(_grid(f"{name} by module", note, rows, _RESOURCES, parts))
        return built

    @cached_property
    def compared(self) -> list[Figure]:
        """Cycles and resources of these cores and of published ones, by set."""
        taken = {_name(r): asdict(r.total) for r in self.resources}
        result = []
        for (set_name, core), figures in self.totals.items():
            keys = {"set": set_name, "core": core, "source": "this run"}
            result += [
                Figure({**keys, **c.keys}, c.name, round(cycles.value or 0))
                for c in _COMPARED
                if (cycles := _find(figures, c.name, c.keys)) is not None
            ]
            parts = taken.get(str(core).removesuffix(f", {ROUND_3}"), {})
            result += [_count(keys, name, value) for name, value in parts.items()]
        sets = {set_name for set_name, _ in self.totals}
        for core, rows in published()["cores"].items():
            for row in (row for row in rows if row["set"] in sets):
                keys = {"set": row["set"], "core": core, "source": row["source"]}
                for k in (k for k in row if k not in keys):
                    column, value, unit = _PUBLISHED[k], row[k], ""
                    if k == "fmax":
                        value, unit = value * 1e6, "Hz"
                    result.append(Figure({**keys, **column.keys}, column.name, value, unit=unit))
        return sorted(result, key=lambda f: str(f.keys["set"]))

    def _product(self) -> Grid | None:
        """Cycles times LUTs. Published cores: the first figures of the set that a source has."""
        result: dict[Place, list[Figure]] = {}
        for f in self.compared if self.resources else ():
            result.setdefault((f.keys["set"], f.keys["core"]), []).append(f)
        figures = [
            Figure(
                {"set": set_name, "core": core, **c.keys}, c.name, cycles.value * lut.value / 1e6
            )
            for (set_name, core), figures in result.items()
            for c in _COMPARED
            if (cycles := _find(figures, c.name, c.keys)) and (lut := _find(figures, "count", _LUT))
            if cycles.value and lut.value
        ]
        note = "millions of cycles x LUTs, less is better"
        return _grid("latency x area", note, ("set", "core"), _COMPARED, figures)


def _grid(
    title: str,
    note: str,
    rows: tuple[str, ...],
    columns: Sequence[SpreadColumns],
    figures: Iterable[Figure],
) -> Grid | None:
    """Return a table; None without figures."""
    for table in figure_tables.tables(list(figures), TableLayout(title, (), rows, tuple(columns))):
        return figure_tables.grid(table, CONFIDENCE, note)
    return None


def _own(f: Figure) -> dict[str, Key]:
    """Return the keys that tell a figure from others of its core, set and phase."""
    places = ("core", "configuration", "set", "phase", "source")
    return {key: value for key, value in f.keys.items() if key not in places}


def _count(keys: Mapping[str, Key], resource: str, number: float) -> Figure:
    """Return how many of a resource are taken."""
    return Figure({**keys, "resource": resource}, "count", number)


def _find(figures: Iterable[Figure], name: str, keys: Mapping[str, Key]) -> Figure | None:
    """Return the first figure of this name with exactly these keys, other than its place."""
    return next((f for f in figures if f.name == name and _own(f) == keys), None)


def clock_words(clock: ClockRate) -> str:
    """Return the core's clock rate in a few words."""
    rates = clock.rates
    rate = f"{number(median(rates), 1)} MHz" if rates else "no clock rate"
    seeds = f"{len(rates)} of {len(clock.seeds)} seeds"
    return f"{clock.core} {clock.configuration}: {rate} on an {clock.technology} ({seeds})"


def _published_rates() -> list[Figure]:
    """Return the clock rates of published cores whose technology is known, each once, as the
    median of one rate."""
    result: dict[tuple[str, str], Figure] = {}
    for core, rows in published()["cores"].items():
        rated = [row for row in rows if "fmax" in row]
        for row in rated:
            rates = {r["fmax"] for r in rated if r["source"] == row["source"]}
            name = core if len(rates) == 1 else f"{core}, {row['set']}"
            if technology := published()["technologies"].get(row["source"]):
                keys: dict[str, Key] = {
                    "core": name, "technology": technology, "statistic": "median"
                }  # fmt: skip
                result[name, technology] = Figure(
                    keys, "clock", row["fmax"] * 1e6, unit="Hz", kind="published",
                    source=published()["sources"][row["source"]],
                )  # fmt: skip
    return list(result.values())


def _time(cycles: Figure, keys: Mapping[str, Key], megahertz: float) -> Figure:
    """Return the time of an operation at a clock rate."""
    ns = 1e3 / megahertz
    if cycles.interval is None:
        return Figure(keys, cycles.name, None, unit="ns")
    return Figure.from_interval(keys, cycles.name, cycles.interval.times(ns), "ns")


def _core(f: Figure) -> str:
    return f"{f.keys['core']} {f.keys['configuration']}"


def _name(one: Resources | ClockRate) -> str:
    return f"{one.core} {one.configuration}"


def _cell(f: Figure, keys: Mapping[str, Key], name: str) -> Figure:
    """A figure of a table; one that is the same for every input has no interval."""
    if f.low == f.high:
        return Figure(keys, name, round(f.value or 0.0))
    return Figure(keys, name, f.value, f.low, f.high)
