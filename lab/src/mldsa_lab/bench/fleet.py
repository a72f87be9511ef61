"""The workers of a run, started when first needed and again after a fault; shapes of runs.

A variant measured in runs of several operations is a variant of its own in the record. Its id is
the announced id and the shape: `mldsa-lanes:avx2:compact:batch-1000`,
`mldsa-native:avx2:compact:loop-100:threads-2`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from msgspec import structs

from mldsa_lab import LabError
from mldsa_lab.inputs.tracing import CRATE, library_name
from mldsa_lab.records import MANY_KEYS, ONE_KEY, RANDOM, Variant, WorkerRow
from mldsa_lab.sets import OPERATIONS, PARAMETER_SETS, Implementation
from mldsa_lab.worker.build import lock_digests
from mldsa_lab.worker.protocol import AnnouncedVariant, Announcement, JobInput, Output, Runs
from mldsa_lab.worker.registry import BuildDirs, WorkerEntry
from mldsa_lab.worker.worker import Limits, Worker, WorkerFault


@dataclass(eq=False)
class WorkerHandle:
    """One worker, which may be started more than once in a run.

    ``prefix`` precedes the command that starts it; ``env`` adds to its environment.
    """

    entry: WorkerEntry
    dirs: BuildDirs
    limits: Limits
    prefix: Sequence[str] = ()
    env: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        self.name = self.entry.label
        self.starts = 0
        """How often it was started: jobs prepared before the last start are gone."""
        self._command = self.entry.fill(self.entry.run, self.dirs)
        self._locks = lock_digests(self.entry, self.dirs)
        self._worker: Worker | None = None
        self._is_killed = False
        self.on_warning: Callable[[str], None] = lambda text: None
        self.on_note: Callable[[str], None] = lambda text: None
        self._job = 0
        self._announced: Announcement | None = None
        self.shaped: list[Variant] = []
        """Its variants that are measured in runs."""

    @property
    def announcement(self) -> Announcement:
        """Return the announcement, of a first start if need be. WorkerFault if it cannot start."""
        if self._announced is None:
            self.worker()
        assert self._announced is not None
        return self._announced

    @property
    def is_running(self) -> bool:
        """Return whether there is a process that was not seen to end."""
        return self._worker is not None and self._worker.is_alive

    def worker(self) -> Worker:
        """Return the running worker, started if need be. WorkerFault if it cannot be started."""
        if self._worker is not None and self.is_running:
            return self._worker
        argv = [*self.prefix, *self._command]
        worker = Worker.start(self.name, argv, cwd=self.dirs.root, env=self.env, limits=self.limits)
        worker.channel.on_note = lambda text: self.on_note(f"worker {self.name}: {text}")
        try:
            self._announced = self._checked(worker.hello())
        except BaseException:
            worker.kill()
            raise
        self._worker = worker
        self.starts += 1
        return worker

    def _checked(self, announced: Announcement) -> Announcement:
        """Return the announcement. WorkerFault if it is of another build than the entry's, or
        differs from the first start."""
        asked = self.entry.chosen
        if asked is not None and announced.build != asked:
            build = f"build {announced.build!r}" if announced.build else "no build"
            raise WorkerFault(
                self.name,
                "hello",
                f"the registry's build {asked!r} announces {build}, with the flags "
                f"{announced.flags or 'none'}: something else decides how it is built, perhaps "
                "the environment",
            )
        if self._announced is not None and announced != self._announced:
            rule = "announces something else than at its first start"
            raise WorkerFault(self.name, "hello", rule)
        return announced

    @property
    def library(self) -> Path | None:
        """The library of traces that the worker's build makes too; None if it does not."""
        library = Path(self._command[0]).with_name(library_name())
        return library if CRATE in self.entry.build else None

    def stop(self) -> None:
        """End the process if there is one; the next request starts it afresh.

        A worker that does not end as it should is reported once. From then on it is killed without
        a request."""
        if self._worker is not None and self.is_running and not self._is_killed:
            try:
                self._worker.quit()
            except WorkerFault as fault:
                self._is_killed = True
                self.on_warning(
                    f"worker {self.name}: {fault.rule}; its figures stay, and from now on its "
                    "processes are killed without `quit`"
                )
        self.kill()

    def kill(self) -> None:
        """End the process at once."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def variants(self) -> list[tuple[Variant, AnnouncedVariant]]:
        """Return its variants by single calls, each with its announcement.

        Their ids tell the build, so that two builds of a worker can take part in a run."""
        build = self.announcement.build
        return [(_row(v, build), v) for v in self.announcement.variants]

    def prepare(
        self, variant: Implementation, set_name: str, operation: str, inputs: Sequence[JobInput]
    ) -> int:
        """Hand over a job and return its number."""
        worker = self.worker()
        self._job += 1
        worker.prepare(self._job, variant.announced_id, set_name, operation, inputs)
        return self._job

    def answer(
        self, variant: Implementation, set_name: str, operation: str, inputs: Sequence[JobInput]
    ) -> dict[int, Output]:
        """Return the outputs of a job of its own, by input number; in batches if it has them."""
        job = self.prepare(variant, set_name, operation, inputs)
        batch = variant.batch_size if variant.mode == "batch" else None
        outputs = self.worker().answer(job, batch=batch)
        self.worker().forget(job)
        return outputs

    def row(self) -> WorkerRow:
        """Its line in a record."""
        a = self.announcement
        return WorkerRow(
            worker=self.name,
            language=a.language,
            compiler=a.compiler,
            flags=a.flags,
            unit=a.unit,
            clock=a.clock,
            cpu_clock=a.cpu_clock,
            build=a.build,
            locks=self._locks,
            languages={v.implementation: v.language for v in a.variants if v.language},
            warmups={row.id: v.warmup for row, v in self.variants() if v.warmup},
            variants=(*(row for row, _ in self.variants()), *self.shaped),
        )


def _row(announced: AnnouncedVariant, build: str | None) -> Variant:
    """Return the variant by single calls, with its id in the run."""
    fields = structs.asdict(announced)
    del fields["private_keys"], fields["language"], fields["warmup"]
    single = Variant(**fields | {"mode": "single", "batch_size": 1, "threads": 1})
    return structs.replace(single, id=single.id_in(build))


class Fleet:
    """All workers of a run, and which of them has a variant."""

    def __init__(self) -> None:
        self.on_warning: Callable[[str], None] = lambda text: None
        """Gets problems of workers that are not excluded."""
        self.on_note: Callable[[str], None] = lambda text: None
        """Gets the notes of workers."""
        self.handles: list[WorkerHandle] = []
        self.variants: dict[str, Variant] = {}
        self.announced: dict[str, AnnouncedVariant] = {}
        self._handle_of: dict[str, WorkerHandle] = {}

    def add(self, handle: WorkerHandle) -> None:
        """Start a worker and take in its variants.

        WorkerFault if it cannot be started; LabError if it announces another worker's variant.
        In a run it goes by its registry's name, so that one program can be entered twice.
        """
        handle.on_warning, handle.on_note = self.on_warning, self.on_note
        for variant, _ in handle.variants():
            if variant.id in self.variants:
                handle.kill()
                other = self._handle_of[variant.id].name
                raise LabError(
                    f"worker {handle.name}: variant {variant.id} is worker {other}'s already"
                )
        self.handles.append(handle)
        for variant, announced in handle.variants():
            self.variants[variant.id] = variant
            self.announced[variant.id] = announced
            self._handle_of[variant.id] = handle

    def handle(self, variant_id: str) -> WorkerHandle:
        """The worker that has this variant."""
        return self._handle_of[variant_id]

    def add_in_runs(self, variant: Variant) -> Variant:
        """Take in a variant that is measured in runs, which has a line of its own."""
        handle = self._handle_of[variant.id] = self._handle_of[variant.base]
        handle.shaped.append(variant)
        return variant

    def stop(self) -> None:
        """End every process; the next request to a worker starts it afresh."""
        for handle in self.handles:
            handle.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        for handle in self.handles:
            handle.stop() if kind is None else handle.kill()


def find_handle(fleet: Fleet, name: str, feature: str) -> WorkerHandle:
    """Return the worker with this name. LabError unless it announces the feature and measures
    time."""
    handle = next((s for s in fleet.handles if s.entry.name == name), None)
    if handle is None:
        raise LabError(f"worker {name} does not take part")
    if not getattr(handle.announcement, feature):
        raise LabError(f"worker {name} has no {feature} (`{feature} yes`)")
    if handle.announcement.unit != "ns":
        raise LabError(f"worker {name} counts {handle.announcement.unit}, not ns")
    return handle


def find_variants(
    fleet: Fleet,
    handle: WorkerHandle,
    variants: Sequence[Variant],
    pattern: str,
    set_name: str,
    operation: str,
) -> list[Variant]:
    """Return the worker's variants that fit the pattern. LabError if there is none."""
    able = [
        v
        for v in variants
        if fleet.handle(v.id) is handle and set_name in v.sets and operation in v.operations
    ]
    matching = [v for v in able if v.matches(pattern)]
    if not matching:
        known = ", ".join(dict.fromkeys(v.implementation for v in able)) or "none"
        raise LabError(
            f"no implementation {pattern!r} of worker {handle.entry.name} has {operation} of "
            f"{set_name}: known are {known}"
        )
    return matching


# Shapes of runs.


BATCH_SIZES = (1, 8, 32, 100, 1000, 10_000)
"""The batch sizes of `--batch all`."""
BATCH_SIZE_MAX = 100_000
GROUP = 100
"""Inputs that runs take in turn; of an ML-DSA set their mean trace is the expected one."""
LOOP = GROUP
"""Operations of a loop of single calls: its cost for one does not depend on their number."""
THREADS_BATCH = 1000
"""Size of each thread's batch where threads are measured."""
_PASS, _PASS_MOST = 1000, 10_000  # operations of the runs of one pass together


def runs_of(variant: Variant, inputs: int) -> Runs | None:
    """Return the runs of one pass over a group of inputs; None for single calls.

    A pass has as many different runs as about a thousand operations allow. All inputs are used
    equally often, unless that takes more than ten thousand operations.
    """
    if not variant.runs:
        return None
    size = variant.batch_size
    counts = [n for n in range(1, inputs + 1) if inputs % n == 0]
    equal = [n for n in counts if size % (inputs // n) == 0]
    few = [n for n in equal if n * size <= _PASS]
    many = [n for n in equal if n * size <= _PASS_MOST]
    uneven = [n for n in counts if n * size <= _PASS_MOST]
    count = (few[-1:] or many[:1] or uneven[-1:] or [1])[0]
    return Runs(variant.form, size, count, variant.threads)


def in_runs(variant: Variant, form: str, size: int, threads: int = 1) -> Variant:
    """Return the variant measured by runs of ``size`` operations, in single calls (`loop`) or in
    one call (`batch`), on each of so many ``threads``."""
    how = f"a loop of {size} single calls" if form == "loop" else f"calls of {size} operations"
    how += f", the inputs of {'many keys' if variant.key == 'compact' else 'one key'}"
    if threads > 1:
        how += f", on each of {threads} threads"
    shaped = structs.replace(
        variant,
        operations=tuple(o for o in variant.operations if o in OPERATIONS),
        mode="batch" if form == "batch" else "single",
        batch_size=size,
        threads=threads,
        note=f"{variant.note}; {how}" if variant.note else how,
    )
    return structs.replace(shaped, id=shaped.id_in(variant.build))


def role_of(variant: Variant, set_name: str) -> str:
    """Return the role of the inputs that runs of this variant take."""
    if set_name not in PARAMETER_SETS:
        return RANDOM
    return ONE_KEY if variant.key == "expanded" else MANY_KEYS


def shapes(
    announced: AnnouncedVariant, batch_sizes: Sequence[int], thread_counts: Sequence[int]
) -> list[tuple[str, int, int]]:
    """Return form, size and threads of each kind of runs to measure of an announced variant, in
    the order of the record.

    A batch interface is measured at all sizes; who has none, by a loop of single calls, once.
    """
    listed: list[tuple[str, int, int]] = []
    batch = announced.mode == "batch"
    if batch_sizes and announced.batch_size >= max((LOOP, *batch_sizes) if batch else (LOOP,)):
        if batch:
            listed += [("batch", size, 1) for size in batch_sizes]
        listed.append(("loop", LOOP, 1))
    if thread_counts and announced.threads >= max(thread_counts):
        for threads in thread_counts:
            if announced.batch_size >= LOOP:
                listed.append(("loop", LOOP, threads))
            if batch and announced.batch_size >= THREADS_BATCH:
                listed.append(("batch", THREADS_BATCH, threads))
    return list(dict.fromkeys(listed))


def shaped_variants(
    fleet: Fleet,
    variants: Sequence[Variant],
    batch_sizes: Sequence[int],
    thread_counts: Sequence[int],
    *,
    in_memory: bool = False,
) -> list[Variant]:
    """Add the variants to measure in runs to the fleet. LabError if there is none.

    Classical references, which are for comparison, have only loops. ``in_memory``: only batches,
    since a loop takes the memory of single calls.
    """
    shaped = [
        (v, shape)
        for v in variants
        for shape in shapes(fleet.announced[v.id], batch_sizes, thread_counts)
    ]
    names = ", ".join(dict.fromkeys(v.implementation for v in variants))
    if batch_sizes and not any(form == "batch" for _, (form, _, _) in shaped):
        raise LabError(
            f"nothing to measure in batches: no chosen implementation has a batch interface that "
            f"takes {max(batch_sizes)} operations; chosen are {names}"
        )
    if thread_counts and not any(t == max(thread_counts) for _, (_, _, t) in shaped):
        raise LabError(
            f"nothing to measure on {max(thread_counts)} threads: no chosen implementation's "
            f"worker runs so many; chosen are {names}"
        )
    return [
        fleet.add_in_runs(in_runs(v, form, size, threads))
        for v, (form, size, threads) in shaped
        if form == "batch" or not in_memory
        if v.family == "ml-dsa" or form == "loop" or in_memory
    ]
