"""The workers of a run: started when first needed, started afresh after a fault."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from mldsa_lab.errors import LabError
from mldsa_lab.records import Variant
from mldsa_lab.records import Worker as WorkerRow
from mldsa_lab.run import protocol
from mldsa_lab.run.build import Place
from mldsa_lab.run.protocol import JobInput, Output
from mldsa_lab.run.registry import WorkerEntry
from mldsa_lab.run.shapes import Shape
from mldsa_lab.run.worker import Limits, Worker, WorkerFault


class Station:
    """One worker, which may be started more than once in a run."""

    def __init__(self, entry: WorkerEntry, place: Place, limits: Limits) -> None:
        self.entry = entry
        self.name = entry.name
        self.starts = 0
        """How often it was started: jobs prepared before the last start are gone."""
        self._argv = entry.run_command(place.root, place.target)
        self._place = place
        self._limits = limits
        self._worker: Worker | None = None
        self._job = 0
        self._announced: protocol.Announcement | None = None
        self._shaped: dict[str, tuple[Variant, str, Shape]] = {}

    @property
    def announcement(self) -> protocol.Announcement:
        """What it announced; starts it if it never was. WorkerFault if it cannot."""
        if self._announced is None:
            self.worker()
        assert self._announced is not None
        return self._announced

    def worker(self) -> Worker:
        """The running worker, started if it is not. WorkerFault if it cannot be started."""
        if self._worker is not None and self._worker.alive:
            return self._worker
        worker = Worker.start(self.name, self._argv, cwd=self._place.root, limits=self._limits)
        try:
            announced = worker.hello()
        except BaseException:
            worker.kill()
            raise
        if self._announced is not None and announced != self._announced:
            worker.kill()
            raise WorkerFault(
                self.name, "hello", "announces something else than at its first start"
            )
        self._announced = announced
        self._worker = worker
        self.starts += 1
        return worker

    def stop(self) -> None:
        """End the process if there is one; the next request starts it afresh."""
        if self._worker is not None:
            # Leaving the context asks it to quit before it is killed.
            self._worker.__exit__(None, None, None)
            self._worker = None

    def kill(self) -> None:
        """End the process at once."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def shape(self, variant: Variant, shape: Shape) -> Variant:
        """Take in a variant measured in this shape, which then has an id and a line of its own."""
        made = shape.of(variant)
        self._shaped[made.id] = (made, variant.id, shape)
        return made

    def shape_of(self, variant: str) -> Shape | None:
        """The shape in which this variant is measured; None for single calls."""
        return self._shaped[variant][2] if variant in self._shaped else None

    def prepare(
        self, variant: str, set_name: str, operation: str, inputs: Sequence[JobInput]
    ) -> int:
        """Hand over a job and return its number."""
        worker = self.worker()
        self._job += 1
        announced = self._shaped[variant][1] if variant in self._shaped else variant
        worker.prepare(self._job, announced, set_name, operation, inputs)
        return self._job

    def answer(
        self, variant: str, set_name: str, operation: str, inputs: Sequence[JobInput]
    ) -> dict[int, Output]:
        """The outputs of a job of its own, by input number; in batches where it is measured so."""
        job = self.prepare(variant, set_name, operation, inputs)
        shape = self.shape_of(variant)
        batch = shape.size if shape is not None and shape.form == "batch" else None
        outputs = self.worker().answer(job, batch=batch)
        self.worker().forget(job)
        return outputs

    def trace(
        self, variant: str, set_name: str, inputs: Sequence[JobInput]
    ) -> dict[int, tuple[str, ...]]:
        """The attempts of each input, by input number."""
        job = self.prepare(variant, set_name, "trace", inputs)
        traces = self.worker().trace(job)
        self.worker().forget(job)
        return {number: tuple(attempts) for number, attempts in traces.items()}

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
            variants=(
                *(_row(v) for v in a.variants),
                *(made for made, _, _ in self._shaped.values()),
            ),
        )


def _row(v: protocol.Variant) -> Variant:
    """The variant as it is measured by single calls."""
    return Variant(
        id=v.id,
        implementation=v.implementation,
        version=v.version,
        backend=v.backend,
        key=v.key,
        family=v.family,
        sets=v.sets,
        operations=v.operations,
        rnd=v.rnd,
        context=v.context,
        note=v.note,
    )


class Fleet:
    """All workers of a run, and which of them has a variant."""

    def __init__(self) -> None:
        self.stations: list[Station] = []
        self.variants: dict[str, Variant] = {}
        self.announced: dict[str, protocol.Variant] = {}
        self._station_of: dict[str, Station] = {}

    def add(self, station: Station) -> None:
        """Start a worker and take in its variants.

        WorkerFault if it cannot be started; LabError if it announces another worker's variant.
        In a run it goes by its registry's name, so that one program can be entered twice.
        """
        announced = station.announcement
        for variant in announced.variants:
            if variant.id in self.variants:
                station.kill()
                other = self._station_of[variant.id].name
                raise LabError(
                    f"worker {station.name}: variant {variant.id} is worker {other}'s already"
                )
        self.stations.append(station)
        for variant in announced.variants:
            self.variants[variant.id] = _row(variant)
            self.announced[variant.id] = variant
            self._station_of[variant.id] = station

    def station(self, variant_id: str) -> Station:
        """The worker that has this variant."""
        return self._station_of[variant_id]

    def shape(self, variant: Variant, shape: Shape) -> Variant:
        """The variant measured in this shape, with its worker as its station."""
        station = self.station(variant.id)
        made = station.shape(variant, shape)
        self._station_of[made.id] = station
        return made

    def stop(self) -> None:
        """End every process; the next request to a worker starts it afresh."""
        for station in self.stations:
            station.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for station in self.stations:
            station.stop() if kind is None else station.kill()


def first_with(variants: Iterable[Variant], operation: str, set_name: str) -> Variant | None:
    """The first variant that has this operation for this set."""
    for variant in variants:
        if operation in variant.operations and set_name in variant.sets:
            return variant
    return None
