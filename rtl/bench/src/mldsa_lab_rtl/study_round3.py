"""Files of measured cores of the competition's third round."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec import Struct

from mldsa_lab.estimate.figure import Figure
from mldsa_lab.files import Count, Hex, Text, decode_json, plain, read_text
from mldsa_lab.sets import SetName
from mldsa_lab.theory.trace import parse_trace
from mldsa_lab_rtl.study import core_keys, operation_figures

ROUND_3 = "round 3"
"""What the names of such cores end in."""


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

    def rows(self, confidence: float = 0.95) -> Iterator[Figure]:
        """Yield the figures; the configuration names the round."""
        keys = core_keys(self.core, f"{self.configuration}, {ROUND_3}", self.set)
        traces = [parse_trace(trace.split(), self.set) for trace in self.traces]
        for operation, phases in self.operations.items():
            counts = {phase: np.array(cycles) for phase, cycles in phases.items()}
            yield from operation_figures(keys, operation, counts, traces, confidence)


class Round3File(Struct, frozen=True, forbid_unknown_fields=True):
    """The file that `study rtl` writes of cores of round 3."""

    format: Literal["mldsa-lab round 3 cycles"]
    version: Literal[1]
    cores: tuple[Round3Cycles, ...]


def read_round_3(path: Path) -> tuple[Round3Cycles, ...]:
    """Read a file. LabError names the file and the rule it breaks."""
    return decode_json(read_text(path), Round3File, str(path)).cores


def round_3_text(found: Iterable[Round3Cycles]) -> str:
    """Return the text of a file."""
    whole = plain(Round3File("mldsa-lab round 3 cycles", 1, tuple(found)))
    return json.dumps(whole, separators=(",", ":")).replace('{"core"', '\n{"core"') + "\n"
