"""Collects costs: many random inputs, several implementations, several rounds.

Every signature is compared with the expected one. A file is written anew after each round (of
counts: after each part of the inputs), so that what was measured stays when a run is interrupted.
"""

from __future__ import annotations

from collections import Counter as Counting
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mldsa_lab import machine
from mldsa_lab.bench.bench import now
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.library import load
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.machine import cores_to_use
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.worker import protocol
from mldsa_studies import greedy
from mldsa_studies.callgrind import Counter
from mldsa_studies.choices import wanted_classes
from mldsa_studies.costs import Costs, CostSeries, Described, write_costs
from mldsa_studies.jobs import SignedInputs
from mldsa_studies.plan import Plan

DEFAULT = ("mldsa-native", "mldsa-lanes", "libcrux", "fips204", "rustcrypto", "circl")
"""Implementations that are measured if none is named, as far as their workers can run."""
COUNTED = ("mldsa-native", "mldsa-lanes", "libcrux", "fips204")
"""Implementations whose instructions are counted if none is named."""
COUNT_PART = 500
"""Inputs that are counted for every implementation before the file is written."""
CANDIDATES = 40_000
"""Inputs that are traced to find some of rare classes."""
MEMBERS = 8
"""Inputs of each class that selections want."""

_WARMUP_NS = 100_000_000
_JOB = 1
_BLOCK = 4096


class Show(Protocol):
    """Told what is being done and how many steps are done since."""

    def __call__(self, text: str, *, step: float = 0) -> None: ...


def added_inputs(
    spec: Spec,
    sample: int,
    plan: Plan,
    *,
    candidates: int = CANDIDATES,
    show: Show = lambda text, *, step=0: None,
) -> list[int]:
    """Numbers of further inputs of a spec, after the first ``sample``: of each class of traces
    that selections want and the sample has few of, up to `MEMBERS` in all, as far as so many
    ``candidates`` have them."""
    wanted = wanted_classes(RejectionModel.of(spec.set), plan)
    have: Counting[tuple[int, ...]] = Counting()
    found: list[int] = []

    def block(start: int) -> NDArray[np.int64]:
        count = min(_BLOCK, sample + candidates - start)
        return greedy.first_failures(load().trace(spec.set, spec.inputs(start, count)))

    starts = range(0, sample + candidates, _BLOCK)
    with ThreadPoolExecutor(cores_to_use()) as pool:
        for start, classes in zip(starts, pool.map(block, starts), strict=True):
            show(f"{spec.set}: {start + len(classes):,} traces")
            for number, row in enumerate(classes.tolist(), start):
                key = tuple(row)
                if number < sample:
                    have[key] += 1
                elif key in wanted and have[key] < MEMBERS:
                    have[key] += 1
                    found.append(number)
    return found


@dataclass
class Gathering:
    """Costs of one parameter set while they are gathered: of inputs ``index``, of which the first
    ``sample`` are a random sample."""

    spec: Spec
    index: NDArray[np.uint64]
    sample: int
    signed: SignedInputs
    table: TraceTable
    variants: tuple[protocol.Announced, ...]

    @classmethod
    def of(
        cls, spec: Spec, sample: int, added: Sequence[int], variants: Iterable[protocol.Announced]
    ) -> Gathering:
        """The first ``sample`` inputs of a spec and those ``added``, signed and traced, for those
        of the variants that have its set."""
        inputs = spec.inputs(0, sample) + [spec.input(number) for number in added]
        return cls(
            spec,
            np.array([*range(sample), *added], dtype=np.uint64),
            sample,
            SignedInputs(spec.set, load().make(spec.set, inputs, first_id=0)),
            load().trace(spec.set, inputs),
            tuple(v for v in variants if spec.set in v.sets),
        )

    def costs(
        self,
        unit: str,
        found: Sequence[tuple[protocol.Announcement, NDArray[np.uint64]]],
        described: dict[str, Any],
        rounds: Sequence[dict[str, Any]],
        clock: str | None = None,
    ) -> Costs:
        """What was found: of each variant (rounds, inputs), of the first inputs where not all are
        done. ``clock`` in place of the worker's own."""
        done = found[0][1].shape[1]
        series = tuple(
            CostSeries(_about(v, announced, clock), cost)
            for v, (announced, cost) in zip(self.variants, found, strict=True)
        )
        return Costs(
            self.spec.set,
            unit,
            self.spec,
            self.index[:done],
            self.table.take(np.arange(done)),
            min(self.sample, done),
            series,
            described,
            tuple(rounds),
        )


def _about(v: protocol.Announced, a: protocol.Announcement, clock: str | None) -> Described:
    return Described(
        variant=v.id,
        implementation=v.implementation,
        version=v.version,
        backend=v.backend,
        key=v.key,
        worker=a.worker,
        language=a.language,
        compiler=a.compiler,
        flags=a.flags,
        clock=clock or a.cpu_clock or a.clock,
        note=v.note,
    )


def file_name(set_name: str, unit: str) -> str:
    """What the file of costs of a set and unit is called."""
    kind = "counts" if unit == "instructions" else "times"
    return f"{set_name.lower()}-{kind}.parquet"


def collect_times(
    fleet: Fleet,
    gatherings: Sequence[Gathering],
    rounds: int,
    folder: Path,
    show: Show = lambda text, *, step=0: None,
) -> list[Path]:
    """Time all inputs in ``rounds`` rounds; one step of ``show`` is one variant in one set.

    A round visits every variant in every set, in rotated order and in fresh processes, and each
    input once, in an order of its own: what a process does at its start or from time to time, such
    as collecting garbage, so does not always meet the same inputs. The clock is the thread's own
    where the worker has one.
    """
    described = dict(machine.describe())
    found: list[list[list[NDArray[np.uint64]]]] = [[[] for _ in g.variants] for g in gatherings]
    about: list[dict[str, Any]] = []
    cells = [(g, v) for g, item in enumerate(gatherings) for v in range(len(item.variants))]
    paths: list[Path] = []
    for number in range(rounds):
        about.append({"started": now(), "load1": machine.load1()})
        turn = number * len(cells) // max(rounds, 1) % max(len(cells), 1)
        for g, v in cells[turn:] + cells[:turn]:
            gathering = gatherings[g]
            variant = gathering.variants[v]
            show(f"round {number + 1}: {variant.id} {gathering.spec.set}")
            station = fleet.station(variant.id)
            found[g][v].append(_timed(station, variant, gathering.signed, number))
            show(f"round {number + 1}: {variant.id} {gathering.spec.set}", step=1)
        paths = []
        for gathering, rows in zip(gatherings, found, strict=True):
            announced = [fleet.station(v.id).announcement for v in gathering.variants]
            pairs = [(a, np.stack(r)) for a, r in zip(announced, rows, strict=True)]
            path = folder / file_name(gathering.spec.set, "ns")
            write_costs(gathering.costs("ns", pairs, described, about), path)
            paths.append(path)
    return paths


def _timed(
    station: Station, variant: protocol.Announced, signed: SignedInputs, number: int
) -> NDArray[np.uint64]:
    """The time of each input in round ``number``, in a process of its own."""
    station.stop()
    worker = station.worker()
    if station.announcement.unit != "ns":
        raise LabError(f"worker {station.name}: times in {station.announcement.unit}, not in ns")
    order = np.random.default_rng(number).permutation(len(signed))
    given = signed.jobs(variant)
    worker.prepare(_JOB, variant.id, signed.set, "sign", [given[i] for i in order])
    samples = worker.measure(_JOB, 1, 1, _WARMUP_NS)
    signed.check(variant, ((s.input, s.digest, s.failure) for s in samples))
    station.stop()
    found = np.zeros(len(signed), dtype=np.uint64)
    for sample in samples:
        found[sample.input] = sample.wall if sample.cpu is None else sample.cpu
        if not found[sample.input]:
            raise LabError(
                f"{variant.id}, {signed.set}, input {sample.input}: took no time, the clock is "
                "too coarse"
            )
    return found


def collect_counts(
    counter: Counter,
    gatherings: Sequence[Gathering],
    folder: Path,
    show: Show = lambda text, *, step=0: None,
) -> list[Path]:
    """Count the instructions of all inputs; one step of ``show`` is one input of one variant."""
    described = dict(machine.describe())
    about = [{"started": now(), "load1": machine.load1()}]
    found: list[list[list[NDArray[np.uint64]]]] = [[[] for _ in g.variants] for g in gatherings]
    longest = max((len(g.signed) for g in gatherings), default=0)
    paths: dict[str, Path] = {}
    for start in range(0, longest, COUNT_PART):
        for gathering, rows in zip(gatherings, found, strict=True):
            part = gathering.signed.part(start, start + COUNT_PART)
            if not len(part) or not gathering.variants:
                continue
            for variant, row in zip(gathering.variants, rows, strict=True):
                row.append(_counted(counter, variant, part, show))
            pairs = [(counter.announcement, np.concatenate(r)[None, :]) for r in rows]
            costs = gathering.costs("instructions", pairs, described, about, clock=counter.tool)
            path = folder / file_name(gathering.spec.set, "instructions")
            write_costs(costs, path)
            paths[gathering.spec.set] = path
    return list(paths.values())


def _counted(
    counter: Counter, variant: protocol.Announced, part: SignedInputs, show: Show
) -> NDArray[np.uint64]:
    name = f"{variant.id} {part.set}"
    show(name)
    return counter.count(variant, part, lambda step: show(name, step=step))
