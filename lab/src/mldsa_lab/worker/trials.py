"""A worker under test (its process, its cells, and good inputs for each), and a rule for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mldsa_lab.errors import LabError
from mldsa_lab.sets import SCHEMES
from mldsa_lab.worker.examination import Examination, Items
from mldsa_lab.worker.protocol import Announcement, JobInput, Output, quote
from mldsa_lab.worker.request import Item
from mldsa_lab.worker.subject import Subject, make_items
from mldsa_lab.worker.suite import SUITE
from mldsa_lab.worker.worker import Worker, WorkerFault, WorkerRefusal

_NUMBERS = (9, 0, 4, 7)  # of the inputs: in no order, which answers have to keep

_FAULTS_PER_RULE = 3  # a worker that hangs in every cell would otherwise take hours


class Nonconformance(LabError):
    """A rule does not hold; the text is what the worker said."""


class NotApplicable(LabError):
    """A rule does not apply to this worker or cell; the text says why."""


@dataclass(eq=False)
class Trials:
    """A worker under test: started when first needed and afresh after every fault.

    ``known``: whether NIST's known answers are asked, and its keys used where it makes none.
    """

    name: str
    start: Callable[[], Worker]
    implementations: Collection[str]
    known: bool

    def __post_init__(self) -> None:
        self._worker: Worker | None = None
        self._announcement: Announcement | None = None
        self._items: dict[str, list[Item]] = {}
        self._exams: dict[str, Examination] = {}

    def close(self) -> None:
        """End the process if there is one."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def fresh(self) -> Worker:
        """A worker just started, that was asked nothing yet."""
        self.close()
        self._worker = self.start()
        return self._worker

    @property
    def worker(self) -> Worker:
        """The running worker, which has announced itself."""
        if self._worker is None or not self._worker.alive:
            self._announcement = self.fresh().hello()
        assert self._worker is not None
        return self._worker

    @property
    def announcement(self) -> Announcement:
        """What it announced."""
        if self._announcement is None:
            self._announcement = self.worker.hello()
        return self._announcement

    def cells(self, operation: str) -> Iterator[Subject]:
        """All variants and sets that announce the operation."""
        for v in self.announcement.variants:
            if operation in v.operations:
                for set_name in v.sets:
                    yield Subject(self.answer, v, set_name, v.private_keys)

    def is_first(self, cell: Subject) -> bool:
        """Whether it is the set to ask of a variant that has sets whose operations take seconds."""
        sets = sorted(cell.variant.sets, key=lambda s: SCHEMES[s].slow)
        return cell.set == sets[0] or not any(SCHEMES[s].slow for s in sets)

    def answer(
        self,
        variant: str,
        set_name: str,
        operation: str,
        inputs: Sequence[JobInput],
        batch: int | None = None,
    ) -> dict[int, Output]:
        """The outputs of a job of its own, by input number."""
        self.worker.prepare(1, variant, set_name, operation, inputs)
        outputs = self.worker.answer(1, batch=batch)
        self.worker.forget(1)
        return outputs

    def refuses(self, *requests: str | bytes) -> None:
        """Send whole requests, each of which must be answered by one `error` line and no more."""
        for given in requests:
            request = (given.encode() if isinstance(given, str) else given) + b"\n"
            asked = quote(request.decode("utf-8", "replace").rstrip("\n"))
            try:
                said = self.worker.raw(request)
            except WorkerRefusal:
                pass
            else:
                self.close()  # it may have more to say
                raise Nonconformance(f"to {asked} it said {quote(said)}, not an error")
            try:  # a second error line would be taken for the answer to this
                self.worker.hello()
            except (WorkerRefusal, WorkerFault) as error:
                self.close()
                raise Nonconformance(f"after {asked} and its error: {error}") from None

    def items(self, cell: Subject) -> list[Item]:
        """Items of the cell's set, of different keys, with what variants of this worker make of
        them; of a cell whose keys never leave it with what it makes itself."""
        shared = cell.kin.encoded or not cell.kin.keyed
        key = cell.set if shared else str(cell)
        if key not in self._items:
            numbers = _NUMBERS if self.is_first(cell) else _NUMBERS[:1]
            drawn = [self._draw(cell, n) for n in numbers]
            others = [c for o in ("keygen", *cell.kin.operations) for c in self.cells(o)]
            able = {str(c): c for c in [cell, *others] if c.set == cell.set}
            makers = list(able.values()) if shared else [cell]
            self._items[key] = make_items(drawn, makers, makers, published=self.known)
        return self._items[key]

    def _draw(self, cell: Subject, number: int) -> Item:
        seed = bytes([number + 1]) * cell.scheme.seed_bytes  # not zero: no private key of ECDSA
        message = b"message %d" % number
        is_kem = "encaps" in cell.kin.operations
        m = hashlib.shake_256(message).digest(cell.scheme.rnd_bytes) if is_kem else None
        return Item(cell.set, number, seed, message, rnd=m)

    def good(self, cell: Subject, operation: str, count: int = 3) -> list[JobInput]:
        """Inputs that must succeed. NotApplicable where this worker cannot make them."""
        items = self.items(cell)[:count]
        needs_key = cell.kin.encoded and operation not in ("keygen", "lookup")
        if needs_key and items[0].pk is None:
            raise NotApplicable(f"no variant of this worker makes keys of {cell.set}")
        if operation in ("sign", "decaps") and needs_key and not cell.reads(items[0]):
            raise NotApplicable(f"no variant of this worker gives private keys of {cell.set}")
        if operation in ("verify", "decaps") and items[0].output is None:
            verb = "encapsulates" if operation == "decaps" else "signs"
            raise NotApplicable(f"no variant of this worker {verb} for {cell.set}")
        return [item.job(operation, cell.variant) for item in items]

    def exam(self, cell: Subject, batch: int | None = None) -> Examination:
        """The correctness suite on a cell, by batches of a size where one is given."""
        key = f"{cell} {batch}"
        if key not in self._exams:
            made = self.items(cell)
            readable = not cell.kin.keyed or not cell.kin.encoded or made[0].pk is not None
            items = Items("worker", made if readable else (), known=self.known, every=True)
            if not self.is_first(cell):
                items = replace(items, bases=[m for m in made if m.output])
            if batch is not None:
                cell = replace(cell, answer=partial(self.answer, batch=batch))
                items = replace(items, group=items.made)
            self._exams[key] = Examination(cell, items, SUITE)
        return self._exams[key]


@dataclass(frozen=True, slots=True)
class ConformanceRule:
    """A named rule, of the worker as a whole or, with ``operations``, of every variant and set that
    announces one of them. It raises what is wrong, or NotApplicable.

    Of a variant that has sets whose operations take seconds one set alone is asked, unless
    ``of_every_set``.
    """

    name: str
    description: str
    check: Callable[[Trials], None] | Callable[[Trials, Subject], None]
    operations: tuple[str, ...] = ()
    of_every_set: bool = False

    def run(self, trials: Trials) -> list[str]:
        """Return what is wrong. NotApplicable where the rule applies to no cell."""
        if not self.operations:
            self.check(trials)  # type: ignore[call-arg]
            return []
        wrong: list[str] = []
        reasons: list[str] = []
        faults = made = 0
        cells = {str(c): c for operation in self.operations for c in trials.cells(operation)}
        for cell in cells.values():
            if not self.of_every_set and not trials.is_first(cell):
                continue
            try:
                self.check(trials, cell)  # type: ignore[call-arg]
                made += 1
            except NotApplicable as reason:
                reasons.append(str(reason))
            except (Nonconformance, WorkerRefusal) as error:
                wrong.append(f"{cell}: {error}")
            except WorkerFault as fault:
                wrong.append(f"{cell}: {fault}")
                faults += 1
                if faults == _FAULTS_PER_RULE:
                    wrong.append("too many faults: the remaining cells were not asked")
                    break
        if not wrong and not made:
            announced = f"no variant announces {' or '.join(self.operations)}"
            raise NotApplicable(reasons[0] if reasons else announced)
        return wrong
