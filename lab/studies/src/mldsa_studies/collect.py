"""Collects costs: many random inputs, several implementations, several rounds.

Every signature is compared with the expected one. A file of times is written anew after each round,
so that an interrupted run keeps its measurements.
"""

from __future__ import annotations

from collections import Counter as Counting
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from mldsa_lab import LabError, machine
from mldsa_lab.bench.bench import now
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.launch import having, make, start
from mldsa_lab.checkout import find_root
from mldsa_lab.choice import greedy
from mldsa_lab.inputs.input import Input, Spec
from mldsa_lab.inputs.tracing import load
from mldsa_lab.screen import Screen
from mldsa_lab.sets import Unit
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import TraceTable
from mldsa_lab.worker.protocol import AnnouncedVariant, Announcement
from mldsa_lab.worker.registry import BuildDirs, WorkerEntry, named, read_registry
from mldsa_lab.worker.worker import Limits
from mldsa_studies.callgrind import Counter
from mldsa_studies.choices import Plan, wanted_classes
from mldsa_studies.costs import Costs, CostsHead, Described, write_costs
from mldsa_studies.jobs import check_signatures, one_each, sign_jobs

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
Numbers = NDArray[np.uint64]


def added_inputs(spec: Spec, sample: int, plan: Plan, *, candidates: int = CANDIDATES) -> list[int]:
    """Return the numbers of further inputs of a spec, after the first ``sample``.

    Each class of traces that selections need and the sample has few of gets up to `MEMBERS` in all,
    if so many ``candidates`` have them.
    """
    requested = wanted_classes(RejectionModel.for_set(spec.set), plan)
    table = load().trace(spec.set, spec.inputs(0, sample + candidates))
    classes = [tuple(row) for row in greedy.first_failures(table).tolist()]
    have = Counting(classes[:sample])
    result: list[int] = []
    for number, one in enumerate(classes[sample:], sample):
        if one in requested and have[one] < MEMBERS:
            have[one] += 1
            result.append(number)
    return result


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
    def draw(cls, spec: Spec, sample: int, added: Sequence[int]) -> InputBatch:
        """Return the first ``sample`` inputs of a spec and those ``added``."""
        inputs = spec.inputs(0, sample) + [spec.input(number) for number in added]
        index = np.array([*range(sample), *added], dtype=np.uint64)
        numbered = [replace(item, id=place) for place, item in enumerate(inputs)]
        signed = load().make(spec.set, numbered)
        return cls(spec, index, sample, signed, load().trace(spec.set, inputs))

    def write(
        self,
        folder: Path,
        unit: Unit,
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


Cell = tuple[InputBatch, AnnouncedVariant]


def describe(v: AnnouncedVariant, a: Announcement, clock: str | None = None) -> Described:
    """Return the description of a variant; ``clock``: in place of the worker's own."""
    return Described(
        v.id, v.implementation, v.version, v.backend, v.key, a.worker, a.language, a.compiler,
        a.flags, clock or a.cpu_clock or a.clock, v.note,
    )  # fmt: skip


def collect(
    cells: Sequence[Cell],
    rounds: int,
    unit: Unit,
    folder: Path,
    measure: Callable[[InputBatch, AnnouncedVariant, int], Numbers],
    about: Callable[[AnnouncedVariant], Described],
    show: Callable[..., object] = lambda text, step=0: None,
) -> list[Path]:
    """Have `measure` return the costs of all inputs of a cell in each round; a step of ``show`` is
    one cell. A round visits every cell, in rotated order. The file of a set is written when all of
    its cells have the round."""
    started: list[dict[str, Any]] = []
    result: list[list[Numbers]] = [[] for _ in cells]
    paths: dict[str, Path] = {}
    for number in range(rounds):
        started.append({"started": now(), "load1": machine.load1()})
        turn = number * len(cells) // rounds
        for place in (*range(turn, len(cells)), *range(turn)):
            batch, variant = cells[place]
            text = f"round {number + 1}: {variant.id} {batch.spec.set}"
            show(text)
            result[place].append(measure(batch, variant, number))
            show(text, step=1)
            places = [p for p, (item, _) in enumerate(cells) if item.spec == batch.spec]
            if all(len(result[p]) > number for p in places):
                series = [about(cells[p][1]) for p in places]
                cost = [result[p] for p in places]
                paths[batch.spec.set] = batch.write(folder, unit, series, cost, started)
    return list(paths.values())


def measure_time(
    fleet: Fleet, batch: InputBatch, variant: AnnouncedVariant, number: int
) -> Numbers:
    """Return the time of each input, in a process of its own: the thread's own time where the
    worker has its clock.

    Each round has another order of inputs. So work that a process does at its start or now and
    then, such as collecting garbage, does not always meet the same inputs.
    """
    handle = fleet.handle(variant.id)
    handle.stop()
    worker = handle.worker()
    if handle.announcement.unit != "ns":
        raise LabError(f"worker {handle.name}: times in {handle.announcement.unit}, not in ns")
    order = np.random.default_rng(number).permutation(len(batch.inputs))
    jobs = sign_jobs(batch.inputs, variant)
    worker.prepare(_JOB, variant.id, batch.spec.set, "sign", [jobs[i] for i in order])
    samples = worker.measure(_JOB, 1, 1, _WARMUP_NS)
    check_signatures(variant, batch.inputs, ((s.input, s.digest, s.failure) for s in samples))
    handle.stop()
    result = np.zeros(len(jobs), dtype=np.uint64)
    for sample in samples:
        result[sample.input] = sample.wall if sample.cpu is None else sample.cpu
    if not result.all():
        raise LabError(
            f"{variant.id}, {batch.spec.set}: an input took no time: its clock is coarse"
        )
    return result


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
    place = BuildDirs.for_tree(find_root())
    entries = [e for e in read_registry(registry(place)) if e.default]
    needed = having(entries, implementations)
    with screen.phase("inputs") as phase:
        batches = [
            InputBatch.draw(s, inputs, added_inputs(s, inputs, plan))
            for s in (Spec(name, seed) for name in sets)
        ]
        more = sum(len(b.inputs) - inputs for b in batches)
        phase.summary = f"{inputs:,} random inputs per set, and {more:,} of rare classes"

    def cells(variants: Sequence[AnnouncedVariant]) -> list[Cell]:
        return [(b, v) for b in batches for v in variants if b.spec.set in v.sets]

    with Fleet() as fleet:
        for entry in needed:
            start(entry, Limits(), place, fleet, screen)
        optional = () if implementations else DEFAULT
        chosen = cells(one_each(fleet.announced.values(), implementations or DEFAULT, optional))
        with screen.phase("times", total=rounds * len(chosen), still=True) as phase:
            paths = collect(
                chosen, rounds, "ns", folder, partial(measure_time, fleet),
                lambda v: describe(v, fleet.handle(v.id).announcement), phase.show,
            )  # fmt: skip
            phase.summary = f"{rounds} rounds of {len(chosen)} variants and sets"
    entry = counting_worker(place)
    try:
        counter = Counter(entry, place)
    except LabError as error:
        screen.warn("counts", str(error))
        return paths
    make(entry, place, screen)
    with counter:
        announced = counter.announcement
        requested = implementations or COUNTED
        chosen = cells(one_each(announced.variants, requested, implementations))
        with screen.phase("counts", total=len(chosen)) as phase:
            paths += collect(
                chosen, 1, "instructions", folder,
                lambda b, v, number: counter.count(v, b.spec.set, b.inputs),
                lambda v: describe(v, announced, counter.tool), phase.show,
            )  # fmt: skip
            phase.summary = f"{len(chosen)} variants and sets"
    return paths


def registry(place: BuildDirs) -> Path:
    """Return the file of the tree's workers."""
    return place.root / "lab" / "workers" / "registry.toml"


def counting_worker(place: BuildDirs) -> WorkerEntry:
    """Return the worker whose instructions are counted."""
    return named(read_registry(registry(place)), (COUNTING_WORKER,))[0]
