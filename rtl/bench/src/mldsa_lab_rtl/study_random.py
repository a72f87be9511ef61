"""Random signatures of a core: their plain mean stands beside the mean from designed inputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure
from mldsa_lab.files import Hex, Positive, Text, decode_json, plain, read_text
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.inputs.library import load
from mldsa_lab.sets import SetName
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab_rtl.binding import variant
from mldsa_lab_rtl.core_worker import check_attempts, measure, own_counters, start_core
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.study import TOTAL, core_keys, cycles, mean_cycles

_AT_ONCE = 50  # signatures of a request


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


def draw(
    manifest: Manifest,
    sets: Sequence[str],
    count: int,
    seed: bytes,
    show: Callable[[str], None],
) -> list[RandomSignatures]:
    """Measure ``count`` random signatures in every set of the core. LabError for a signature that
    is not the library's, and for counters of the core that contradict the trace."""
    f, library = manifest.file, load()
    drawn = []
    with start_core(manifest, show) as worker:
        worker.hello()
        for name in (name for name in sets if name in f.sets and f.operations.sign):
            inputs = library.make(name, list(candidates(seed, name, count, stream="random")))
            counts: list[int] = []
            for at in range(0, count, _AT_ONCE):
                several = inputs[at : at + _AT_ONCE]
                show(f"{worker.name} {name}: {at} of {count} random signatures")
                jobs = [
                    JobInput(i.id, seed=i.what.xi, sk=i.made.sk, message=i.what.message,
                             context=i.what.context, rnd=i.what.rnd)
                    for i in several
                ]  # fmt: skip
                signatures = [i.made.signature for i in several]
                samples = measure(worker, f"{variant(f)}:compact", name, "sign", jobs, signatures)
                for i, told in zip(several, own_counters(worker, 1, len(several)), strict=True):
                    try:
                        check_attempts(told, i.trace)
                    except LabError as error:
                        raise LabError(f"{worker.name} {name}, input {i.id}: {error}") from None
                counts += [sample.wall for sample in samples]
            about = (f.name, f.configuration, manifest.digest, name, Hex(seed))
            drawn.append(RandomSignatures(*about, tuple(counts)))
    return drawn
