"""The measuring loop of every workload: interleaved rounds over cases, in fresh processes.

A round visits every case once. Neighbours in the order differ in one thing only, so that a
disturbance of the machine meets all of them alike. The first case changes from round to round, and
every second round runs backwards. One worker measures at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Generic, TypeVar

from mldsa_lab import LabError
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.machine import load1
from mldsa_lab.records import Fault, Load, Row, Samples, Variant
from mldsa_lab.worker.worker import WorkerFault, WorkerRefusal

T = TypeVar("T")


class Case(ABC):
    """One thing that a workload measures."""

    variant: Variant
    set_name: str
    operation: str

    def samples(
        self,
        number: int,
        turn: int,
        inputs: Iterable[int],
        metrics: Mapping[str, tuple[int, ...]],
        *,
        calls: int = 1,
        phases: Mapping[str, tuple[int, ...]] | None = None,
        shape: Mapping[str, str | int] | None = None,
    ) -> Samples:
        """Return the record's line of a visit."""
        cell = self.variant.id, self.set_name, self.operation
        return Samples(
            number, turn, *cell, calls, tuple(inputs), dict(metrics), dict(phases or {}),
            dict(shape or {}),
        )  # fmt: skip

    @abstractmethod
    def __str__(self) -> str: ...

    @property
    @abstractmethod
    def group(self) -> Hashable:
        """Cases of one group are neighbours in the order of a round."""

    @abstractmethod
    def excludes(self, other: Case, *, whole: bool) -> bool:
        """Return whether `other` is excluded with this case: after a refusal, or, with ``whole``,
        after a broken process or a wrong output."""

    @abstractmethod
    def fault(self, number: int | None, reason: str, *, whole: bool) -> Fault:
        """Return the record's line of its exclusion in round ``number``."""

    def is_due(self, number: int) -> bool:
        """Return whether round ``number`` measures it."""
        return True


C = TypeVar("C", bound=Case)


class Excluded(LabError):
    """A case that cannot be measured from here on. ``whole``: after a wrong output, which also
    excludes other cases of its variant (`Case.excludes`) and ends the worker's process."""

    def __init__(self, reason: str, *, whole: bool = False) -> None:
        super().__init__(reason)
        self.whole = whole


class Workload(ABC, Generic[C]):
    """A kind of measurement. A LabError of its methods excludes the case, and the run goes on."""

    cases: list[C]
    """Everything to measure."""
    noun: str
    """The cases in words, for the screen."""
    visits: int | None = None
    """How often each case is visited, where the pace does not decide."""
    rounds_of_visit = 1
    first = 0
    """The rotation of the order of round 0."""

    @abstractmethod
    def sample(self, case: C, number: int, turn: int) -> Iterable[Row]:
        """Measure a case once, as visit ``turn`` of round ``number``."""

    def definitions(self) -> Iterable[Row]:
        """Describe the workload in the record before anything is measured."""
        return ()

    def prepare(self, case: C) -> Iterable[Row]:
        """Check and calibrate a case before the first round."""
        return ()

    def is_prepared(self, case: C) -> bool:
        """Return whether the worker's present process has the case's job."""
        return True

    def warm(self, case: C, ticks: int) -> Iterable[Row]:
        """Run a case for so many ticks of its worker's clock in a new process."""
        return ()

    def close(self) -> None:
        """End processes that only this workload has started."""


class Engine(Generic[C]):
    """Runs a workload; everything that happens goes to `write` as record lines."""

    def __init__(self, fleet: Fleet, workload: Workload[C], write: Callable[[Row], None]) -> None:
        self.fleet = fleet
        self.workload = workload
        self.cases = workload.cases
        """The cases that are still measured."""
        self.part = 0.0
        """The finished share of the round."""
        self._write = write

    def calibrate(self, on_case: Callable[[C], None]) -> None:
        """Prepare every case; `on_case` gets each before."""
        for row in self.workload.definitions():
            self._write(row)
        self._warm_up(None, self.cases, on_case)
        for case in list(self.cases):
            if case in self.cases:
                on_case(case)
                if not self._guarded(case, None, partial(self.workload.prepare, case)):
                    # Earlier cases too: their first round would be in a process that is not warm.
                    self._warm_up(None, self.cases, on_case)

    def round(self, number: int, on_case: Callable[[C], None]) -> None:
        """Visit every case once; `on_case` gets each before.

        Each round has processes of its own. The addresses of a process's memory make some
        operations faster or slower by percents for its whole life. In one process this is a bias
        that no interval shows; over rounds it is scatter that every interval includes.
        """
        self.part = 0.0
        if number > 0:
            self.fleet.stop()
            self._warm_up(number, self.order(number), on_case)
        self._write(Load(number, load1()))
        order = self.order(number)
        for turn, case in enumerate(order):
            # Another case's fault may have excluded this one meanwhile.
            if case in self.cases:
                self.part = turn / len(order)
                on_case(case)
                sample = partial(self.workload.sample, case, number, turn)
                if not self._guarded(case, number, sample):
                    self._warm_up(number, order[turn + 1 :], on_case)

    def order(self, number: int) -> list[C]:
        """Return the order of round ``number``: rotated by pairs of rounds, odd rounds reversed."""
        due = [case for case in self.cases if case.is_due(number)]
        groups = [list(cases) for _, cases in groupby(due, key=lambda case: case.group)]
        by, reverse = divmod(self.workload.first + number, 2)
        turned = [case for group in rotated(groups, by) for case in rotated(group, by)]
        return turned[::-1] if reverse else turned

    def _warm_up(
        self, number: int | None, cases: Sequence[C], on_case: Callable[[C], None]
    ) -> None:
        """Run the cases of new processes for as long as their variants ask, in equal shares.

        All do so before any is measured: a just-in-time compiler compiles code that cases share
        once, and again when another case shows it more. After a fault, the cases that were warm in
        the broken process begin again in the next one.
        """
        of_variant = Counter(case.variant.base for case in cases)
        ticks = {b: self.fleet.announced[b].warmup // count for b, count in of_variant.items()}
        due = [case for case in cases if ticks[case.variant.base]]
        while cold := [c for c in due if c in self.cases and not self.workload.is_prepared(c)]:
            for case in cold:
                on_case(case)
                warm = partial(self.workload.warm, case, ticks[case.variant.base])
                if not self._guarded(case, number, warm):
                    break

    def _guarded(self, case: C, number: int | None, rows: Callable[[], Iterable[Row]]) -> bool:
        """Write the rows, or exclude the case; return whether all were written."""
        try:
            for row in rows():
                self._write(row)
            return True
        except WorkerFault as fault:
            reason, whole = fault.rule, True
        except WorkerRefusal as refusal:
            reason, whole = f"the worker refused {refusal.request}: {refusal.text}", False
        except Excluded as excluded:
            reason, whole = str(excluded), excluded.whole
            if whole:
                self.fleet.handle(case.variant.id).kill()
        except LabError as error:
            reason, whole = str(error), False
        self.cases = [c for c in self.cases if not case.excludes(c, whole=whole)]
        self._write(case.fault(number, reason, whole=whole))
        return False


def rotated(items: Sequence[T], by: int) -> list[T]:
    """Return the items from number ``by`` on, then those before it."""
    by %= max(len(items), 1)
    return [*items[by:], *items[:by]]
