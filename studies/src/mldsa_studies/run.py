"""Collecting for a study from the workers of the registry."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.options import unknown_implementation
from mldsa_lab.checkout import BuildError, find_root
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.screen import Screen
from mldsa_lab.worker.build import Place, build
from mldsa_lab.worker.registry import WorkerEntry, read_registry
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
    entries = [e for e in read_registry(place.root / "workers" / "registry.toml") if e.default]
    check_known(entries, wanted.implementations)
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
            for entry in entries:
                _start(entry, place, fleet, screen)
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
        with suppress(_NoCounts):
            found += _counts(wanted, specs, added, place, entries, folder, screen)
    if not found:
        raise LabError("nothing was measured")
    return found


class _NoCounts(Exception):
    pass


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
        raise _NoCounts from None
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
    _build(entry, place, screen)
    return counter


def worker_entry(place: Place, name: str) -> WorkerEntry:
    """The registry's worker of this name; LabError if there is none."""
    entries = read_registry(place.root / "workers" / "registry.toml")
    for entry in entries:
        if entry.name == name:
            return entry
    raise LabError(
        f"unknown worker {name!r}: the registry has {', '.join(e.name for e in entries)}"
    )


def check_known(entries: Sequence[WorkerEntry], names: Sequence[str]) -> None:
    """LabError for an implementation or variant id that none of the workers can have, as far as
    the registry tells."""
    known = [name for entry in entries for name in entry.implementations]
    for name in names:
        implementation = name.partition(":")[0]
        if all(e.implementations and implementation not in e.implementations for e in entries):
            raise unknown_implementation(name, known)


def _start(entry: WorkerEntry, place: Place, fleet: Fleet, screen: Screen) -> None:
    try:
        _build(entry, place, screen)
        fleet.add(Station(entry, place, Limits()))
    except BuildError as error:
        screen.trouble("build", f"worker {entry.name}: {error}")
        screen.lines(error.lines)
    except LabError as error:
        screen.trouble("start", str(error))


def _build(entry: WorkerEntry, place: Place, screen: Screen) -> None:
    with screen.phase("build") as phase:
        build(entry, place, phase.show)
        phase.summary = f"worker [cyan]{entry.name}[/] ({entry.language})"
