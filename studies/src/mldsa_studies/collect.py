"""Collects costs: many random inputs, several implementations, several rounds.

Every signature is compared with the expected one. A file of times is written anew after each round,
so that what was measured stays when a run is interrupted.
"""

from __future__ import annotations

from collections import Counter as Counting
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mldsa_lab import machine
from mldsa_lab.bench.bench import now
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.launch import having, make, start
from mldsa_lab.checkout import find_root
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.library import load
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.machine import cores_to_use
from mldsa_lab.screen import Screen
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.protocol import Announced, Announcement
from mldsa_lab.worker.registry import WorkerEntry, named, read_registry
from mldsa_lab.worker.worker import Limits
from mldsa_studies import greedy
from mldsa_studies.callgrind import Counter
from mldsa_studies.choices import wanted_classes
from mldsa_studies.costs import Costs, CostsHead, Described, write_costs
from mldsa_studies.jobs import check_signatures, one_each, sign_jobs
from mldsa_studies.plan import Plan

DEFAULT = ("mldsa-native", "mldsa-lanes", "libcrux", "fips204", "rustcrypto", "circl")
"""Implementations that are measured if none is named, as far as their workers can run."""
COUNTED = DEFAULT[:4]
"""Implementations whose instructions are counted if none is named."""
CANDIDATES = 40_000
"""Inputs that are traced to find some of rare classes."""
MEMBERS = 8
"""Inputs of each class that selections want."""
COUNTING_WORKER = "rust"
"""The worker whose instructions are counted."""

_WARMUP_NS = 100_000_000
_JOB = 1
_BLOCK = 4096
Numbers = NDArray[np.uint64]


def added_inputs(
    spec: Spec,
    sample: int,
    plan: Plan,
    *,
    candidates: int = CANDIDATES,
    show: Callable[[str], object] = lambda text: None,
) -> list[int]:
    """Return the numbers of further inputs of a spec, after the first ``sample``.

    Each class of traces that selections want and the sample has few of gets up to `MEMBERS` in all,
    as far as so many ``candidates`` have them.
    """
    wanted = wanted_classes(RejectionModel.of(spec.set), plan)
    have: Counting[tuple[int, ...]] = Counting()
    found: list[int] = []

    def block(start: int) -> NDArray[np.int64]:
        count = min(_BLOCK, sample + candidates - start)
        return greedy.first_failures(load().trace(spec.set, spec.inputs(start, count)))

    starts = range(0, sample + candidates, _BLOCK)
    with ThreadPoolExecutor(cores_to_use()) as pool:
        for start_at, classes in zip(starts, pool.map(block, starts), strict=True):
            show(f"{spec.set}: {start_at + len(classes):,} traces")
            for number, row in enumerate(classes.tolist(), start_at):
                key = tuple(row)
                if number < sample:
                    have[key] += 1
                elif key in wanted and have[key] < MEMBERS:
                    have[key] += 1
                    found.append(number)
    return found


@dataclass(frozen=True)
class InputBatch:
    """The inputs of one parameter set: numbers ``index`` of a spec, of which the first ``sample``
    are a random sample, signed and traced."""

    spec: Spec
    index: Numbers
    sample: int
    inputs: tuple[Input, ...]
    table: TraceTable

    @classmethod
    def of(cls, spec: Spec, sample: int, added: Sequence[int]) -> InputBatch:
        """Return the first ``sample`` inputs of a spec and those ``added``."""
        inputs = spec.inputs(0, sample) + [spec.input(number) for number in added]
        index = np.array([*range(sample), *added], dtype=np.uint64)
        signed = load().make(spec.set, inputs, first_id=0)
        return cls(spec, index, sample, signed, load().trace(spec.set, inputs))

    def write(
        self,
        folder: Path,
        unit: str,
        series: Sequence[Described],
        cost: Sequence[Sequence[Numbers]],
        rounds: Sequence[dict[str, Any]],
    ) -> Path:
        """Write the costs: of each of the series (rounds, inputs)."""
        head = CostsHead(
            set=self.spec.set, unit=unit, spec=self.spec, sample=self.sample,
            machine=dict(machine.describe()), series=list(series), rounds=list(rounds),
        )  # fmt: skip
        kind = "counts" if unit == "instructions" else "times"
        path = folder / f"{self.spec.set.lower()}-{kind}.parquet"
        write_costs(Costs(head, self.index, self.table, np.array(cost)), path)
        return path


def describe(v: Announced, a: Announcement, clock: str | None = None) -> Described:
    """Return what a variant is; ``clock``: in place of the worker's own."""
    return Described(
        v.id, v.implementation, v.version, v.backend, v.key, a.worker, a.language, a.compiler,
        a.flags, clock or a.cpu_clock or a.clock, v.note,
    )  # fmt: skip


def collect_times(
    fleet: Fleet,
    batches: Sequence[InputBatch],
    variants: Sequence[Announced],
    rounds: int,
    folder: Path,
    show: Callable[..., object] = lambda text, step=0: None,
) -> list[Path]:
    """Time all inputs in ``rounds`` rounds; one step of ``show`` is one variant in one set.

    A round visits every variant in every set, in rotated order and in fresh processes, and each
    input once, in an order of its own: what a process does at its start or from time to time, such
    as collecting garbage, so does not always meet the same inputs. The clock is the thread's own
    where the worker has one.
    """
    about: list[dict[str, Any]] = []
    cells = [(b, v) for b in batches for v in variants if b.spec.set in v.sets]
    found: list[list[Numbers]] = [[] for _ in cells]
    paths: list[Path] = []
    for number in range(rounds):
        about.append({"started": now(), "load1": machine.load1()})
        turn = number * len(cells) // rounds
        for place in (*range(turn, len(cells)), *range(turn)):
            batch, variant = cells[place]
            text = f"round {number + 1}: {variant.id} {batch.spec.set}"
            show(text)
            found[place].append(_timed(fleet, variant, batch, number))
            show(text, step=1)
        paths = []
        for batch in batches:
            places = [p for p, (of, _) in enumerate(cells) if of is batch]
            series = [describe(v, fleet.station(v.id).announcement) for _, v in
                      (cells[p] for p in places)]  # fmt: skip
            paths.append(batch.write(folder, "ns", series, [found[p] for p in places], about))
    return paths


def _timed(fleet: Fleet, variant: Announced, batch: InputBatch, number: int) -> Numbers:
    """The time of each input in round ``number``, in a process of its own."""
    station = fleet.station(variant.id)
    station.stop()
    worker = station.worker()
    if station.announcement.unit != "ns":
        raise LabError(f"worker {station.name}: times in {station.announcement.unit}, not in ns")
    order = np.random.default_rng(number).permutation(len(batch.inputs))
    jobs = sign_jobs(batch.inputs, variant)
    worker.prepare(_JOB, variant.id, batch.spec.set, "sign", [jobs[i] for i in order])
    samples = worker.measure(_JOB, 1, 1, _WARMUP_NS)
    check_signatures(variant, batch.inputs, ((s.input, s.digest, s.failure) for s in samples))
    station.stop()
    found = np.zeros(len(jobs), dtype=np.uint64)
    for sample in samples:
        found[sample.input] = sample.wall if sample.cpu is None else sample.cpu
    if not found.all():
        raise LabError(
            f"{variant.id}, {batch.spec.set}: an input took no time: its clock is coarse"
        )
    return found


def collect_counts(
    counter: Counter,
    batches: Sequence[InputBatch],
    variants: Sequence[Announced],
    folder: Path,
    show: Callable[..., object] = lambda text, step=0: None,
) -> list[Path]:
    """Count the instructions of all inputs; one step of ``show`` is one input of one variant."""
    paths = []
    for batch in batches:
        about = [{"started": now(), "load1": machine.load1()}]
        chosen = [v for v in variants if batch.spec.set in v.sets]
        cost = []
        for variant in chosen:

            def step(size: int, text: str = f"{variant.id} {batch.spec.set}") -> None:
                show(text, step=size)

            cost.append([counter.count(variant, batch.spec.set, batch.inputs, step)])
        series = [describe(v, counter.announcement, counter.tool) for v in chosen]
        paths.append(batch.write(folder, "instructions", series, cost, about))
    return paths


def collect_all(
    sets: Iterable[str],
    implementations: Sequence[str],
    inputs: int,
    rounds: int,
    seed: bytes,
    plan: Plan,
    folder: Path,
    screen: Screen,
) -> list[Path]:
    """Measure ``inputs`` random inputs of each set in ``rounds`` rounds, and count their
    instructions where Valgrind works. Returns files in ``folder``."""
    place = Place.of(find_root())
    entries = [e for e in registry(place) if e.default]
    needed = having(entries, implementations)
    with screen.phase("inputs") as phase:
        batches = [
            InputBatch.of(s, inputs, added_inputs(s, inputs, plan, show=phase.show))
            for s in (Spec(name, seed) for name in sets)
        ]
        more = sum(len(b.inputs) - inputs for b in batches)
        phase.summary = f"{inputs:,} random inputs per set, and {more:,} of rare classes"
    with Fleet() as fleet:
        for entry in needed:
            start(entry, Limits(), place, fleet, screen)
        optional = () if implementations else DEFAULT
        variants = one_each(fleet.announced.values(), implementations or DEFAULT, optional)
        with screen.phase(
            "times", total=rounds * len(variants) * len(batches), still=True
        ) as phase:
            paths = collect_times(fleet, batches, variants, rounds, folder, phase.show)
            phase.summary = f"{rounds} rounds of {len(variants)} implementations"
    entry = counting_worker(place)
    try:
        counter = Counter(entry, place)
    except LabError as error:
        screen.trouble("counts", str(error))
        return paths
    make(entry, place, screen)
    with counter:
        announced = counter.announcement.variants
        variants = one_each(announced, implementations or COUNTED, implementations)
        total = len(variants) * sum(len(b.inputs) for b in batches)
        with screen.phase("counts", total=total) as phase:
            if variants:
                paths += collect_counts(counter, batches, variants, folder, phase.show)
            phase.summary = f"{total:,} signatures of {len(variants)} implementations"
    return paths


def registry(place: Place) -> list[WorkerEntry]:
    """Return the workers of the tree."""
    return read_registry(place.root / "workers" / "registry.toml")


def counting_worker(place: Place) -> WorkerEntry:
    """Return the worker whose instructions are counted."""
    return named(registry(place), (COUNTING_WORKER,))[0]
