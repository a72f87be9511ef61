"""Random signatures of a core, to set beside the mean that a dozen designed ones tell."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from mldsa_lab.bench.launch import time_limits
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.estimators import around
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.inputs.library import Library
from mldsa_lab.rtl.binding import variant
from mldsa_lab.rtl.entry import core_entry
from mldsa_lab.rtl.manifest import Manifest
from mldsa_lab.study.rtl import RANDOM_MEAN, TOTAL, CoreRow
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.worker import Worker

_AT_ONCE = 50  # signatures of a request


def random_rows(
    manifest: Manifest,
    place: Place,
    library: Library,
    sets: Sequence[str],
    count: int,
    seed: bytes,
    confidence: float,
    timeout: float,
    progress: Callable[[str], None],
) -> list[CoreRow]:
    """The plain mean of ``count`` signatures of other keys and messages each, in every set that the
    core has; LabError for one that is not the library's. The core has been built."""
    f, entry = manifest.file, core_entry(manifest)
    argv = entry.run_command(place.root, place.target)
    rows = []
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
                for i, sample in zip(several, worker.measure(1, 1, 1, 0), strict=True):
                    if sample.digest != hashlib.sha256(i.made.signature).digest():
                        why = sample.failure or "it is not the library's"
                        raise LabError(f"{entry.name} {name}, random signature {i.id}: {why}")
                    cycles.append(sample.wall)
            mean = float(np.mean(cycles))
            found = around(mean, np.array(cycles) / mean - 1, confidence)
            rows.append(CoreRow(f.name, f.configuration, name, RANDOM_MEAN, TOTAL, *found))
    return rows
