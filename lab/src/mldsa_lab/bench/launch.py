"""The workers of a run: which are needed, built and started.

Requests that no worker of the registry can serve are rejected before anything is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from mldsa_lab import LabError, plugins
from mldsa_lab.bench.fleet import Fleet, WorkerHandle
from mldsa_lab.bench.options import ORACLE, Options, split_words, unknown_implementation
from mldsa_lab.checkout import BuildError
from mldsa_lab.records import Skipped, Variant
from mldsa_lab.screen import Screen
from mldsa_lab.sets import DEFAULT_BASELINE, DEFAULT_BUILD, PARAMETER_SETS, SCHEMES
from mldsa_lab.worker.build import build, is_jdk, jdk_entries
from mldsa_lab.worker.registry import (
    ADDED,
    ALL,
    DEFAULT,
    BuildDirs,
    WorkerEntry,
    named,
    read_registry,
)
from mldsa_lab.worker.worker import Limits


@dataclass(frozen=True)
class Launch:
    """The variants to choose from, and the workers that cannot take part."""

    variants: list[Variant]
    skipped: list[Skipped]
    absent: list[WorkerEntry]

    def excuses(self, patterns: Sequence[str]) -> list[str]:
        """Return the patterns that variants of absent workers may fit."""
        return [p for p in split_words(patterns) if any(_may_have(e, p) for e in self.absent)]


def launch(options: Options, dirs: BuildDirs, fleet: Fleet, screen: Screen) -> Launch:
    """Build and start the workers.

    For an ML-DSA set, the tree's own worker with the correctness reference starts too. Its other
    variants are measured only if the worker is among the chosen ones.
    """
    own = read_registry(dirs.root / "lab" / "workers" / "registry.toml")
    limits = time_limits(options.timeout)
    skipped: list[Skipped] = []
    absent: list[WorkerEntry] = []
    chosen = needed(_named(options, own), options)
    for entry in chosen:
        builds = {e.label: e for e in map(entry.with_build, options.builds)}
        for build_entry in builds.values():
            lost = start(build_entry, limits, dirs, fleet, screen)
            skipped += lost
            absent += [build_entry] * len(lost)
    if not fleet.handles:
        reasons = "; ".join(f"worker {s.worker}: {s.reason}" for s in skipped)
        raise LabError(f"no worker can run here: {reasons}")
    variants = list(fleet.variants.values())
    names = [e.name for e in chosen]
    for entry in own if set(options.sets) & set(PARAMETER_SETS) else ():
        if any(v.implementation == ORACLE for v in fleet.variants.values()):
            break
        if entry.name not in names and ORACLE in (entry.implementations or (ORACLE,)):
            skipped += start(entry.with_build(DEFAULT_BUILD), limits, dirs, fleet, screen)
    return Launch(variants, skipped, absent)


def time_limits(seconds: float) -> Limits:
    """Return the limits of a worker that has so many seconds for one request."""
    short = min(seconds, 30.0)
    return Limits(
        hello=short, prepare=seconds, answer=seconds, measure=seconds, forget=short,
        quit=min(seconds, Limits().quit),
    )  # fmt: skip


def _named(options: Options, own: list[WorkerEntry]) -> list[WorkerEntry]:
    """Return the workers that the options name, else the default ones."""
    listed = own if options.registry is None else read_registry(options.registry)
    added = find_workers(options.added, listed, own)
    usual = [e for e in [*listed, *added] if e.default or options.registry is not None]
    groups = {ALL: [*listed, *added], DEFAULT: usual, ADDED: added}
    chosen = [e.label for word in options.workers for e in groups.get(word, ())]
    rest = [word for word in options.workers if word not in groups]
    if ADDED in options.workers and not added and not rest:
        raise LabError(f"{ADDED}: pass at least one --worker [NAME=]FOLDER")
    return find_workers([*chosen, *rest], [*listed, *added], own) if options.workers else usual


def find_workers(
    words: Sequence[str], listed: Sequence[WorkerEntry], own: Sequence[WorkerEntry]
) -> list[WorkerEntry]:
    """Return the workers that words name. A word is the label of one of ``listed``, a program, the
    folder of a JDK, or a hardware core's manifest. A JDK runs the tree's ``own`` Java worker.
    LabError for an unknown one."""
    folders = [word for word in words if is_jdk(word)]
    manifests = [word for word in words if ".toml" in word]
    jdks = jdk_entries(folders, own)
    cores = plugins.workers("core")(manifests, [*listed, *jdks]) if manifests else []
    rest = [word for word in words if word not in (*folders, *manifests)]
    return [*named(listed, rest), *jdks, *cores]


def needed(entries: Sequence[WorkerEntry], options: Options) -> list[WorkerEntry]:
    """Return the workers that may have a chosen variant and set, as far as the registry tells.

    Named workers are taken whatever their sets are. LabError for a pattern or a baseline that
    none of them can have.
    """
    able = having(entries, split_words(options.implementations))
    baseline = options.baseline
    if baseline != DEFAULT_BASELINE and not any(_may_have(e, baseline) for e in entries):
        known = ", ".join(_implementations(entries))
        raise LabError(f"unknown baseline {baseline!r}: known are {known}")
    if options.workers:
        return able
    families = {SCHEMES[name].family for name in options.sets}
    # Without any, the one that is started says what is wrong.
    return [e for e in able if not e.families or families & set(e.families)] or able


def having(entries: Sequence[WorkerEntry], patterns: Sequence[str]) -> list[WorkerEntry]:
    """Return the workers that may have a variant for one of the patterns; all without patterns.
    LabError for a pattern that fits none."""
    for pattern in patterns:
        if not any(_may_have(entry, pattern) for entry in entries):
            raise unknown_implementation(pattern, _implementations(entries))
    return [e for e in entries if any(_may_have(e, p) for p in patterns or ["*"])]


def _implementations(entries: Sequence[WorkerEntry]) -> list[str]:
    return [name for entry in entries for name in entry.implementations]


def _may_have(entry: WorkerEntry, pattern: str) -> bool:
    """Return whether a variant of the worker may fit the pattern; only a no is certain."""
    if not entry.implementations:
        return True
    fixed = "".join(takewhile(lambda letter: letter not in "*?[", pattern))
    implementation, colon, _ = fixed.partition(":")
    if colon or fixed == pattern:
        return implementation in entry.implementations
    return any(name.startswith(fixed) for name in entry.implementations)


def start(
    entry: WorkerEntry, limits: Limits, dirs: BuildDirs, fleet: Fleet, screen: Screen
) -> list[Skipped]:
    """Build and start a worker; return a record's line if it cannot take part."""
    try:
        make(entry, dirs, screen)
        fleet.add(WorkerHandle(entry, dirs, limits))
    except BuildError as error:
        screen.warn("build", f"worker {entry.label}: {error}")
        screen.lines(error.lines)
        last = f": {error.lines[-1]}" if error.lines else ""
        return [Skipped(entry.label, f"{error}{last}")]
    except LabError as error:
        screen.warn("start", str(error))
        return [Skipped(entry.label, str(error))]
    return []


def make(entry: WorkerEntry, dirs: BuildDirs, screen: Screen) -> None:
    """Build a worker; LabError if it cannot be built."""
    with screen.phase("build") as phase:
        phase.show(f"{entry.label}: {' '.join(entry.fill(entry.build, dirs))}")
        build(entry, dirs, phase.show)
        which = f"{entry.chosen} build" if entry.chosen else "its one build"
        phase.summary = f"worker {entry.title}, {which if entry.build else 'nothing to build'}"
