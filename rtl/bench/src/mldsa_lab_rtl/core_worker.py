"""Cores as running workers: random signatures, and cores of the competition's third round.

Every measured output is compared with the expected one. A core's own counters are compared with the
harness's cycles and known rejections; a wrong counter is noted and has a dash. The gate knows FIPS
204 only, so dilithium-py takes its place in round 3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from mldsa_lab import LabError
from mldsa_lab.bench.launch import time_limits
from mldsa_lab.checkout import find_root
from mldsa_lab.files import Hex
from mldsa_lab.inputs.input import Input, candidates
from mldsa_lab.inputs.tracing import load
from mldsa_lab.theory.trace import Trace, format_trace
from mldsa_lab.worker.build import build
from mldsa_lab.worker.protocol import REFUSED, AnnouncedVariant, Sample, expected_output, make_job
from mldsa_lab.worker.registry import BuildDirs
from mldsa_lab.worker.worker import Worker
from mldsa_lab_rtl.binding import variant
from mldsa_lab_rtl.entry import core_entry
from mldsa_lab_rtl.manifest import CoreCounters, Manifest
from mldsa_lab_rtl.study import LOADED, PHASES
from mldsa_lab_rtl.study_files import RandomSignatures, Round3Cycles

TIMEOUT = 600.0
"""Seconds that a core has for one request."""
_JOB = 1
_NAMES = CoreCounters.__struct_fields__
_AT_ONCE = 50  # random signatures of a request
INPUTS = 16
"""Random keys and messages of each set."""


def start_core(manifest: Manifest, show: Callable[[str], None]) -> Worker:
    """Build a core's worker and start it."""
    entry, place = core_entry(manifest), BuildDirs.for_tree(find_root())
    show(f"{entry.name}: building")
    build(entry, place, lambda line: None)
    argv = entry.fill(entry.run, place)
    worker = Worker.start(entry.name, argv, cwd=place.root, limits=time_limits(TIMEOUT))
    worker.channel.on_note = show
    return worker


def measure(
    worker: Worker, variant: AnnouncedVariant, operation: str, items: Sequence[Input]
) -> list[Sample]:
    """Perform the operation once on each item of a set. LabError for the first output that is not
    the expected one."""
    set_name = items[0].set
    jobs = [make_job(item, operation, variant) for item in items]
    worker.prepare(_JOB, variant.id, set_name, operation, jobs)
    samples = worker.measure(_JOB, 1, 1, 0)
    for item, sample in zip(items, samples, strict=True):
        if (
            sample.digest
            != hashlib.sha256(expected_output(item, operation, variant) or b"").digest()
        ):
            why = sample.failure or "it is not the expected one"
            raise LabError(
                f"{worker.name} {set_name}, {operation}: the answer to input {item.id}: {why}"
            )
    return samples


def own_counters(worker: Worker, job: int, inputs: int) -> list[dict[str, int]]:
    """Return the core's counters for each input of a job that the harness has just performed."""
    word, *chosen = worker.raw(f"counters {job}\n".encode()).split(" ")
    lists = [one.split(",") for one in chosen]
    if word != "counters" or [len(values) for values in lists] != [len(_NAMES)] * inputs:
        raise LabError(f"worker {worker.name}: counters {job}: not {inputs} lists of {len(_NAMES)}")
    return [
        {n: int(v) for n, v in zip(_NAMES, values, strict=True) if v != "-"} for values in lists
    ]


def wrong_counters(reported: dict[str, int], trace: Trace) -> dict[str, str]:
    """Return the faults of counters of attempts, and of rejections by the first failing check, by
    the counters' names."""
    first = [iteration.failed & -iteration.failed for iteration in trace]
    known = {"attempts": len(trace)}
    known |= {name: first.count(1 << bit) for bit, name in enumerate(("z", "r0", "ct0", "hint"))}
    return {
        name: f"says {reported[name]}, and there were {value}"
        for name, value in known.items()
        if reported.get(name, value) != value
    }


def draw(
    manifest: Manifest, sets: Sequence[str], count: int, seed: bytes, show: Callable[[str], None]
) -> list[RandomSignatures]:
    """Measure ``count`` random signatures in every set of the core. LabError for a signature that
    is not the library's."""
    f, library = manifest.file, load()
    counters = [name for name in _NAMES if getattr(f.counters, name) is not None]
    drawn = []
    with start_core(manifest, show) as worker:
        requested = f"{variant(f)}:compact"
        signer = next((v for v in worker.hello().variants if v.id == requested), None)
        if signer is None:
            raise LabError(f"{worker.name}: announces no variant {requested}")
        for name in (name for name in sets if name in f.sets and f.operations.sign):
            inputs = library.make(name, list(candidates(seed, name, count, stream="random")))
            counts: list[int] = []
            faults = dict.fromkeys(counters, "")
            for at in range(0, count, _AT_ONCE):
                several = inputs[at : at + _AT_ONCE]
                show(f"{worker.name} {name}: {at} of {count} random signatures")
                samples = measure(worker, signer, "sign", several)
                for i, reported in zip(
                    several, own_counters(worker, _JOB, len(several)), strict=True
                ):
                    unlike = "is not the harness's count of cycles"
                    wrong = {c: unlike for c in counters if c not in reported}
                    for counter, fault in (wrong | wrong_counters(reported, i.trace)).items():
                        faults[counter] = faults[counter] or f"input {i.id}: {fault}"
                counts += [sample.wall for sample in samples]
            about = (f.name, f.configuration, manifest.digest, name, Hex(seed))
            drawn.append(RandomSignatures(*about, tuple(counts), faults))
    return drawn


def measure_round_3(
    manifest: Manifest, sets: Sequence[str], seed: bytes, show: Callable[[str], None]
) -> Iterator[Round3Cycles]:
    """Yield the cycles of a core of round 3 in each set.

    LabError for the first answer, under random stalls or without, that is not dilithium-py's. Also
    for a valid signature that it rejects, and for one of another message that it accepts.
    """
    f = manifest.file
    with start_core(manifest, show) as worker:
        hello = worker.hello()
        for name in (name for name in sets if name in f.sets):
            show(f"{worker.name} {name}: {INPUTS} inputs by dilithium-py")
            items, traces = _items(name, seed)
            operations = {}
            for variant in hello.variants:
                for operation in variant.operations:
                    show(f"{worker.name} {name}: {operation}")
                    samples = _checked(worker, variant, operation, items)
                    cycles = zip(*(sample.phases or () for sample in samples), strict=True)
                    figure = operation + LOADED * (variant.key == "expanded")
                    operations[figure] = dict(zip(PHASES, cycles, strict=True))
            words = tuple(map(format_trace, traces))
            about = (f.name, f.configuration, manifest.digest, hello.compiler, name, Hex(seed))
            yield Round3Cycles(*about, words, operations)


def _items(set_name: str, seed: bytes) -> tuple[list[Input], list[Trace]]:
    """Return inputs with keys and signatures, and the traces of these."""
    from mldsa_lab_rtl.round3 import Round3

    scheme = Round3(set_name)
    items, traces = [], []
    for one in candidates(seed, set_name, INPUTS, stream="round 3"):
        pk, sk = scheme.keys(one.key)
        signature = scheme.sign(sk, one.message)
        items.append(replace(one, pk=pk, sk=sk, output=signature))
        traces.append(scheme.trace(sk, one.message))
    return items, traces


def _checked(
    worker: Worker, variant: AnnouncedVariant, operation: str, items: Sequence[Input]
) -> list[Sample]:
    """Return the samples of an operation on all inputs."""
    samples = measure(worker, variant, operation, items)
    where = f"{worker.name} {items[0].set}, {operation}"
    # Answers are given under random stalls, measurements without.
    for item, answer in zip(items, worker.answer(_JOB).values(), strict=True):
        is_right = answer.value == expected_output(item, operation, variant)
        if not is_right or answer.private_key not in (None, b"", item.sk):
            why = answer.failure or "it is not that of dilithium-py"
            raise LabError(f"{where}: the answer to input {item.id}: {why}")
    if operation == "verify":
        others = [replace(item, message=item.message + b"x") for item in items]
        jobs = [make_job(item, operation, variant) for item in others]
        worker.prepare(_JOB, variant.id, items[0].set, operation, jobs)
        if any(answer.value != REFUSED for answer in worker.answer(_JOB).values()):
            raise LabError(f"{where}: a signature of another message is accepted")
    return samples
