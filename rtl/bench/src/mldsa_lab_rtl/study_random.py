"""Files of random signatures of cores, whose plain mean stands beside the mean from designed
inputs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct

from mldsa_lab.estimate.figure import Figure
from mldsa_lab.files import Hex, Positive, Text, decode_json, plain, read_text
from mldsa_lab.sets import SetName
from mldsa_lab_rtl.study import TOTAL, core_keys, cycles, mean_cycles


class RandomSignatures(Struct, frozen=True, forbid_unknown_fields=True):
    """The ``cycles`` of a core's random signatures in a set. Each has a key and a message of its
    own, from the ``seed``. ``digest``: of the core's manifest and sources."""

    core: Text
    configuration: Text
    digest: Text
    set: SetName
    seed: Hex
    cycles: Annotated[tuple[Positive, ...], Meta(min_length=2)]

    def row(self, confidence: float = 0.95) -> Figure:
        """Return the plain mean."""
        keys = core_keys(self.core, self.configuration, self.set)
        mean = mean_cycles(np.array(self.cycles), confidence)
        return cycles(keys, "sign_random", TOTAL, mean)


class RandomFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file that `study rtl --random` writes."""

    format: Literal["mldsa-lab random signatures"]
    version: Literal[1]
    signatures: tuple[RandomSignatures, ...]


def read_drawn(path: Path) -> tuple[RandomSignatures, ...]:
    """Read a file. LabError names the file and the rule it breaks."""
    return decode_json(read_text(path), RandomFile, str(path)).signatures


def drawn_text(found: Iterable[RandomSignatures]) -> str:
    """Return the text of a file."""
    whole = plain(RandomFile("mldsa-lab random signatures", 1, tuple(found)))
    return json.dumps(whole, separators=(",", ":")).replace('{"core"', '\n{"core"') + "\n"
