"""Files of measured cores: random signatures, cores of the competition's third round, resources,
clock rates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct

from mldsa_lab.estimate.figure import Figure
from mldsa_lab.files import Count, Hex, Positive, Text, decode_json, read_text, to_builtins
from mldsa_lab.sets import SetName
from mldsa_lab.theory.trace import parse_trace
from mldsa_lab_rtl.clock_rate import ClockRate
from mldsa_lab_rtl.study import TOTAL, core_keys, cycles, mean_cycles, operation_figures
from mldsa_lab_rtl.synth import Resources

ROUND_3 = "round 3"
"""The end of the names of cores of that round."""
AVERAGES = 10
"""Averages, and signatures of each."""


class RandomSignatures(Struct, frozen=True, forbid_unknown_fields=True):
    """The ``cycles`` of a core's random signatures in a set. Each has a key and a message of its
    own, from the ``seed``. ``digest``: of the core's manifest and sources. ``counters``: the
    first fault of each of its own counters, or nothing."""

    core: Text
    configuration: Text
    digest: Text
    set: SetName
    seed: Hex
    cycles: Annotated[tuple[Positive, ...], Meta(min_length=2)]
    counters: dict[Text, str] = {}

    def counter_rows(self) -> Iterator[Figure]:
        """Yield, for each counter, the number of signatures in which it was right; None if it was
        wrong."""
        keys = {"set": self.set, "core": f"{self.core} {self.configuration}"}
        for name, fault in self.counters.items():
            value = None if fault else len(self.cycles)
            notes = (fault,) if fault else ()
            yield Figure({**keys, "of": name}, "count", value, notes=notes)

    def row(self) -> Figure:
        """Return the plain mean, which is shown next to the mean from designed inputs."""
        keys = core_keys(self.core, self.configuration, self.set)
        mean = mean_cycles(np.array(self.cycles))
        return cycles(keys, "sign", "mean", TOTAL, mean, inputs="drawn")

    def averages(self) -> Iterator[Figure]:
        """Yield the least and the highest of ten averages of ten signatures each, the first ones;
        nothing of fewer signatures."""
        counts = np.array(self.cycles[: AVERAGES * AVERAGES], dtype=float)
        if len(counts) < AVERAGES * AVERAGES:
            return
        means = counts.reshape(AVERAGES, AVERAGES).mean(axis=1)
        keys = {"set": self.set, "core": f"{self.core} {self.configuration}", "of": "averages"}
        for name, value in (("min", means.min()), ("max", means.max())):
            yield Figure(keys, name, float(value), unit="cycles")


class Round3Cycles(Struct, frozen=True, forbid_unknown_fields=True):
    """Cycles of a core in a set, by operation (`sign_loaded`: the key was there) and phase, one of
    each input. ``traces``: the iterations of the inputs' signatures. ``digest``: of the core's
    manifest and sources."""

    core: Text
    configuration: Text
    digest: Text
    tool: Text
    set: SetName
    seed: Hex
    traces: tuple[Text, ...]
    operations: dict[Text, dict[Text, tuple[Count, ...]]]

    def rows(self) -> Iterator[Figure]:
        """Yield the figures; the configuration names the round."""
        keys = core_keys(self.core, f"{self.configuration}, {ROUND_3}", self.set)
        traces = [parse_trace(trace.split(), self.set) for trace in self.traces]
        for operation, phases in self.operations.items():
            counts = {phase: np.array(cycles) for phase, cycles in phases.items()}
            yield from operation_figures(keys, operation, counts, traces)


class _MeasuredFile(Struct, frozen=True, forbid_unknown_fields=True, tag_field="format"):
    """A file whose ``format`` tells its type."""


class RandomFile(_MeasuredFile, frozen=True, tag="mldsa-lab random signatures"):
    """The file that `rtl study --random` writes."""

    version: Literal[1]
    signatures: tuple[RandomSignatures, ...]


class Round3File(_MeasuredFile, frozen=True, tag="mldsa-lab round 3 cycles"):
    """The file that `rtl study` writes of cores of round 3."""

    version: Literal[1]
    cores: tuple[Round3Cycles, ...]


StudyFile = RandomFile | Round3File | Resources | ClockRate


def read_study(path: Path) -> StudyFile:
    """Read a file of any of these formats. LabError names the file and the rule it breaks."""
    return decode_json(read_text(path), StudyFile, str(path))  # type: ignore[arg-type]


def study_text(result: RandomFile | Round3File) -> str:
    """Return the text of a file, a line for each core and set."""
    text = json.dumps(to_builtins(result), separators=(",", ":"))
    return text.replace('{"core"', '\n{"core"') + "\n"
