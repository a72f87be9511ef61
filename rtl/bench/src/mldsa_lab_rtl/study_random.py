"""Random signatures of a core, to set beside the mean that a dozen designed ones tell."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct

from mldsa_lab.bench.launch import time_limits
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.estimators import around
from mldsa_lab.files import Hex, Positive, Text, decode_json, plain, read_text
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.inputs.library import Library
from mldsa_lab.sets import SetName
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.worker import Worker
from mldsa_lab_rtl.binding import variant
from mldsa_lab_rtl.counters import check_attempts, own_counters
from mldsa_lab_rtl.entry import core_entry
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.study import RANDOM_MEAN, TOTAL, CoreRow

_AT_ONCE = 50  # signatures of a request


class RandomSignatures(Struct, frozen=True, forbid_unknown_fields=True):
    """The ``cycles`` of each of a core's random signatures in a set, of other keys and messages
    each, which the ``seed`` gives. ``digest``: of the core's manifest and sources."""

    core: Text
    configuration: Text
    digest: Text
    set: SetName
    seed: Hex
    cycles: Annotated[tuple[Positive, ...], Meta(min_length=2)]

    def row(self, confidence: float) -> CoreRow:
        """Their plain mean."""
        cycles = np.array(self.cycles)
        found = around(float(cycles.mean()), cycles / cycles.mean() - 1, confidence)
        return CoreRow(self.core, self.configuration, self.set, RANDOM_MEAN, TOTAL, *found)


class RandomFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What `study rtl --random` writes."""

    format: Literal["mldsa-lab random signatures"]
    version: Literal[1]
    signatures: tuple[RandomSignatures, ...]


def read_drawn(path: Path) -> tuple[RandomSignatures, ...]:
    """LabError names the file and the rule it breaks."""
    return decode_json(read_text(path), RandomFile, str(path)).signatures


def drawn_text(found: Iterable[RandomSignatures]) -> str:
    """The text of a file."""
    whole = plain(RandomFile("mldsa-lab random signatures", 1, tuple(found)))
    return json.dumps(whole, separators=(",", ":")).replace('{"core"', '\n{"core"') + "\n"


def draw(
    manifest: Manifest,
    place: Place,
    library: Library,
    sets: Sequence[str],
    count: int,
    seed: bytes,
    timeout: float,
    progress: Callable[[str], None],
) -> list[RandomSignatures]:
    """``count`` random signatures in every set that the core has; LabError for one that is not the
    library's, and for counters of the core that tell other rejections. The core has been built."""
    f, entry = manifest.file, core_entry(manifest)
    argv = entry.run_command(place.root, place.target)
    about = (f.name, f.configuration, manifest.digest)
    drawn = []
    with Worker.start(entry.name, argv, cwd=place.root, limits=time_limits(timeout)) as worker:
        worker.hello()
        for name in (name for name in sets if name in f.sets and f.operations.sign):
            inputs = library.make(name, list(candidates(seed, name, count, stream="random")))
            cycles: list[int] = []
            for at in range(0, count, _AT_ONCE):
                several = inputs[at : at + _AT_ONCE]
                progress(f"{entry.name} {name}: {len(cycles)} of {count} random signatures")
                jobs = [
                    JobInput(i.id, seed=i.what.xi, sk=i.made.sk, message=i.what.message,
                             context=i.what.context, rnd=i.what.rnd)
                    for i in several
                ]  # fmt: skip
                worker.prepare(1, f"{variant(f)}:compact", name, "sign", jobs)
                samples = worker.measure(1, 1, 1, 0)
                told = own_counters(worker, 1, len(several))
                for i, sample, counted in zip(several, samples, told, strict=True):
                    where = f"{entry.name} {name}, random signature {i.id}"
                    if sample.digest != hashlib.sha256(i.made.signature).digest():
                        why = sample.failure or "it is not the library's"
                        raise LabError(f"{where}: {why}")
                    try:
                        check_attempts(counted, i.trace)
                    except LabError as error:
                        raise LabError(f"{where}: {error}") from None
                    cycles.append(sample.wall)
            drawn.append(RandomSignatures(*about, name, Hex(seed), tuple(cycles)))
    return drawn
