"""Collecting for a study from the workers of the registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.launch import having, make, start
from mldsa_lab.checkout import find_root
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.screen import Screen
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.registry import WorkerEntry, named, read_registry
from mldsa_lab.worker.worker import Limits
from mldsa_studies import collect
from mldsa_studies.callgrind import FUNCTIONS, Counter
from mldsa_studies.jobs import one_each
from mldsa_studies.plan import Plan


@dataclass(frozen=True)
class Wanted:
    """What to collect: ``inputs`` random ones of each set, timed in ``rounds`` rounds (0: none),
    and whether their instructions are counted. Empty ``implementations``: the default ones."""

    sets: tuple[str, ...]
    implementations: tuple[str, ...]
    inputs: int
    rounds: int
    counts: bool
    seed: bytes


def collect_all(wanted: Wanted, plan: Plan, folder: Path, screen: Screen) -> list[Path]:
    """Files of costs in ``folder``. LabError if nothing can be collected."""
    place = Place.of(find_root())
    entries = [e for e in _registry(place) if e.default]
    needed = having(entries, wanted.implementations)
    found: list[Path] = []
    added: dict[str, list[int]] = {}
    specs = [Spec(name, wanted.seed) for name in wanted.sets]
    with screen.phase("inputs") as phase:
        for spec in specs:
            added[spec.set] = collect.added_inputs(spec, wanted.inputs, plan, show=phase.show)
        more = sum(map(len, added.values()))
        phase.summary = f"{wanted.inputs:,} random inputs per set, and {more:,} of rare classes"
    with Fleet() as fleet:
        if wanted.rounds:
            for entry in needed:
                start(entry, Limits(), place, fleet, screen)
            names = wanted.implementations or collect.DEFAULT
            known = None if wanted.implementations else collect.DEFAULT
            variants = one_each(fleet.announced.values(), names, known)
            if variants:
                gatherings = [
                    collect.Gathering.of(s, wanted.inputs, added[s.set], variants) for s in specs
                ]
                total = wanted.rounds * sum(len(g.variants) for g in gatherings)
                with screen.phase("times", total=total, still=True) as phase:
                    found += collect.collect_times(
                        fleet, gatherings, wanted.rounds, folder, phase.show
                    )
                    phase.summary = f"{wanted.rounds} rounds of {len(variants)} implementations"
    if wanted.counts:
        found += _counts(wanted, specs, added, place, entries, folder, screen)
    if not found:
        raise LabError("nothing was measured")
    return found


def _counts(
    wanted: Wanted,
    specs: Sequence[Spec],
    added: dict[str, list[int]],
    place: Place,
    entries: Sequence[WorkerEntry],
    folder: Path,
    screen: Screen,
) -> list[Path]:
    entry = next(e for e in entries if e.name in FUNCTIONS)
    try:
        counter = open_counter(entry, place, screen)
    except LabError as error:
        screen.trouble("counts", str(error))
        return []
    with counter:
        variants = one_each(
            counter.announcement.variants,
            wanted.implementations or collect.COUNTED,
            wanted.implementations or None,
        )
        gatherings = [collect.Gathering.of(s, wanted.inputs, added[s.set], variants) for s in specs]
        total = sum(len(g.variants) * len(g.signed) for g in gatherings)
        with screen.phase("counts", total=total) as phase:
            paths = collect.collect_counts(counter, gatherings, folder, phase.show)
            phase.summary = f"{total:,} signatures of {len(variants)} implementations"
        return paths


def open_counter(
    entry: WorkerEntry, place: Place, screen: Screen, function: str | None = None
) -> Counter:
    """A worker under Callgrind, built first; LabError if it cannot."""
    counter = Counter(entry, place, function)
    make(entry, place, screen)
    return counter


def worker_entry(place: Place, name: str) -> WorkerEntry:
    """The registry's worker of this name; LabError if there is none."""
    return named(_registry(place), (name,))[0]


def _registry(place: Place) -> list[WorkerEntry]:
    return read_registry(place.root / "workers" / "registry.toml")
