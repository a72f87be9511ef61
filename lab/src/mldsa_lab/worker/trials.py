"""A worker under test (its process, its cells, and good inputs for each), and a rule for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle

from msgspec import structs

from mldsa_lab import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import PARAMETER_SETS, SCHEMES, Implementation
from mldsa_lab.worker import examination
from mldsa_lab.worker.cases import suits
from mldsa_lab.worker.examination import Examination, Items, Subject, make_items
from mldsa_lab.worker.protocol import Announcement, JobInput, Output, make_job, quote
from mldsa_lab.worker.suite import SUITE
from mldsa_lab.worker.worker import Worker, WorkerFault, WorkerRefusal

_NUMBERS = (9, 0, 4, 7)  # of the inputs: in no order, which answers have to keep

_FAULTS_PER_RULE = 3  # a worker that hangs in every cell would otherwise take hours


class Nonconformance(LabError):
    """A rule is broken; the text is the worker's answer."""


class NotApplicable(LabError):
    """A rule does not apply to this worker or cell; the text says why."""


class NotTested(LabError):
    """A rule applies, and could not be checked; the text says why."""


@dataclass(eq=False)
class Trials:
    """A worker under test: started when first needed and afresh after every fault.

    ``known``: whether NIST's known answers are asked, and its keys used where it makes none.
    ``reference_items``: makes a set's gate items of the correctness reference; None: no check uses
    them. ``is_listed``: whether ``name`` is from a registry.
    """

    name: str
    start: Callable[[], Worker]
    implementations: Collection[str]
    known: bool
    reference_items: Callable[[str], Items] | None = None
    is_listed: bool = True

    def __post_init__(self) -> None:
        self._worker: Worker | None = None
        self._announcement: Announcement | None = None
        self._items: dict[str, list[Input]] = {}
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
        if self._worker is None or not self._worker.is_alive:
            self._announcement = self.fresh().hello()
        assert self._worker is not None
        return self._worker

    @property
    def announcement(self) -> Announcement:
        """Its announcement."""
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
        """Return whether it is the set to test of a variant whose other sets are slow."""
        sets = sorted(cell.variant.sets, key=lambda s: SCHEMES[s].is_slow)
        return cell.set == sets[0] or not any(SCHEMES[s].is_slow for s in sets)

    def answer(
        self,
        variant: Implementation,
        set_name: str,
        operation: str,
        inputs: Sequence[JobInput],
        batch: int | None = None,
    ) -> dict[int, Output]:
        """The outputs of a job of its own, by input number."""
        self.worker.prepare(1, variant.id, set_name, operation, inputs)
        outputs = self.worker.answer(1, batch=batch)
        self.worker.forget(1)
        return outputs

    def refuses(self, *requests: str | bytes) -> None:
        """Send whole requests, each of which must be answered by one `error` line and no more."""
        for text in requests:
            request = (text.encode() if isinstance(text, str) else text) + b"\n"
            asked = quote(request.decode("utf-8", "replace").rstrip("\n"))
            try:
                answer = self.worker.raw(request)
            except WorkerRefusal:
                pass
            else:
                self.close()  # it may have more to say
                raise Nonconformance(f"to {asked} it said {quote(answer)}, not an error")
            try:  # a second error line would be taken for the answer to this
                self.worker.hello()
            except (WorkerRefusal, WorkerFault) as error:
                self.close()
                raise Nonconformance(f"after {asked} and its error: {error}") from None

    def items(self, cell: Subject) -> list[Input]:
        """Return items of the cell's set, of different keys, made by variants of this worker. For a
        cell whose keys never leave it, it makes the items itself."""
        shared = cell.traits.has_bytes or not cell.traits.has_keys
        key = cell.set if shared else str(cell)
        if key not in self._items:
            numbers = _NUMBERS if self.is_first(cell) else _NUMBERS[:1]
            drawn = [self._draw(cell, n) for n in numbers]
            others = [c for o in ("keygen", *cell.traits.operations) for c in self.cells(o)]
            able = {str(c): c for c in [cell, *others] if c.set == cell.set}
            makers = list(able.values()) if shared else [cell]
            items = make_items(drawn, makers, makers, published=self.known)
            if not (items[0].sk and items[0].output) and (reference := self._reference(cell)):
                makers.append(reference)
                items = make_items(drawn, makers, makers, published=self.known)
            if items[0].output is None:
                items = self._published(makers, items) or items
            self._items[key] = items
        return self._items[key]

    def _published(self, cells: Sequence[Subject], items: Sequence[Input]) -> list[Input]:
        """NIST's valid signatures in the place of the items, for cells that only verify. All have a
        context."""
        name, scheme = items[0].set, items[0].scheme
        is_published = self.known and scheme.family in ("ml-dsa", "slh-dsa")
        if not is_published or any(c.has("sign") or not c.variant.context for c in cells):
            return []
        valid = [a for a in examination.known_answers(name, "sigver") if a.is_valid]
        if (p := PARAMETER_SETS.get(name)) is not None:
            valid.sort(key=lambda a: suits(p, a.output or b""), reverse=True)
        return [structs.replace(a, id=m.id) for m, a in zip(items, cycle(valid), strict=False)]

    def _reference(self, cell: Subject) -> Subject | None:
        """The correctness reference, which can make inputs that no variant of the worker makes."""
        if self.reference_items is None or cell.scheme.family != "ml-dsa":
            return None
        with suppress(LabError):  # the checks that need it say so
            return self.reference_items(cell.set).reference
        return None

    def _draw(self, cell: Subject, number: int) -> Input:
        seed = bytes([number + 1]) * cell.scheme.seed_bytes  # not zero: no private key of ECDSA
        message = b"message %d" % number
        is_kem = "encaps" in cell.traits.operations
        m = hashlib.shake_256(message).digest(cell.scheme.rnd_bytes) if is_kem else None
        return Input(cell.set, number, seed, message, rnd=m)

    def good(self, cell: Subject, operation: str, count: int = 3) -> list[JobInput]:
        """Inputs that must succeed. NotTested where this worker cannot make them."""
        items = self.items(cell)[:count]
        needs_key = cell.traits.has_bytes and operation not in ("keygen", "lookup")
        if needs_key and items[0].pk is None:
            raise NotTested(self.lacking(cell, "keygen"))
        if operation in ("sign", "decaps") and needs_key and not cell.reads(items[0]):
            raise NotTested(self.lacking(cell, "keygen", "private keys"))
        if operation in ("verify", "decaps") and items[0].output is None:
            raise NotTested(self.lacking(cell, cell.traits.operations[1]))
        return [make_job(item, operation, cell.variant) for item in items]

    def lacking(self, cell: Subject, operation: str, what: str = "keys") -> str:
        """Return why there are no outputs of an operation: none has it, or it failed."""
        names = {"keygen": what, "sign": "signatures", "encaps": "ciphertexts"}
        text = f"there are no {names[operation]} of {cell.set}"
        items = self.items(cell)
        makers = [c for c in self.cells(operation) if c.set == cell.set]
        if not makers:
            return f"{text}: no variant of this worker announces {operation}"
        for maker in makers:
            try:
                outputs = maker.ask(
                    operation, [make_job(item, operation, maker.variant) for item in items]
                )
                failures = [o.failure for o in outputs.values() if o.failure is not None]
            except LabError as error:
                failures = [str(error)]
            if failures:
                return f"{text}: {operation} of {maker.variant.id} failed: {failures[0]}"
        return f"{text}: what {operation} of {makers[0].variant.id} gave cannot be used"

    def exam(self, cell: Subject, batch: int | None = None) -> Examination:
        """The correctness suite on a cell, by batches of a size where one is given."""
        key = f"{cell} {batch}"
        if key not in self._exams:
            inputs = self.items(cell)
            readable = not cell.traits.has_bytes or inputs[0].pk is not None
            items = Items("worker", inputs if readable else (), known=self.known, every=True)
            if not self.is_first(cell):
                items = replace(items, bases=[m for m in inputs if m.output])
            if batch is not None:
                cell = replace(cell, answer=partial(self.answer, batch=batch))
                items = replace(items, group=items.inputs)
            self._exams[key] = Examination(cell, items, SUITE)
        return self._exams[key]

    def gate_exam(self, cell: Subject) -> Examination | None:
        """The same on the inputs that the gate has from the correctness reference; None where
        there are none. NotTested if it cannot make them."""
        if self.reference_items is None or cell.scheme.family != "ml-dsa":
            return None
        key = f"{cell} gate"
        if key not in self._exams:
            try:
                items = self.reference_items(cell.set)
            except LabError as error:
                raise NotTested(str(error)) from None
            items = replace(items, group=(), known=False)
            self._exams[key] = Examination(cell, items, SUITE)
        return self._exams[key]


@dataclass(frozen=True, slots=True)
class ConformanceRule:
    """A named rule, of the worker as a whole or, with ``operations``, of every variant and set that
    announces one of them. It raises the fault, NotApplicable, or NotTested.

    A variant with sets whose operations take seconds is asked for only one set, unless
    ``of_every_set``.
    """

    name: str
    description: str
    check: Callable[[Trials], None] | Callable[[Trials, Subject], None]
    operations: tuple[str, ...] = ()
    of_every_set: bool = False

    def run(self, trials: Trials) -> tuple[list[str], list[str]]:
        """Return the faults and the untested parts, each text once. NotApplicable where the rule
        applies to no cell."""
        if not self.operations:
            self.check(trials)  # type: ignore[call-arg]
            return [], []
        wrong: dict[str, list[str]] = {}
        untested: dict[str, list[str]] = {}
        reasons: list[str] = []
        faults = passed = 0
        cells = {str(c): c for operation in self.operations for c in trials.cells(operation)}
        for cell in cells.values():
            if not self.of_every_set and not trials.is_first(cell):
                continue
            try:
                self.check(trials, cell)  # type: ignore[call-arg]
                passed += 1
            except NotApplicable as reason:
                reasons.append(str(reason))
            except NotTested as reason:
                untested.setdefault(str(reason), []).append(str(cell))
            except (Nonconformance, WorkerRefusal) as error:
                wrong.setdefault(str(error), []).append(str(cell))
            except WorkerFault as fault:
                wrong.setdefault(str(fault), []).append(str(cell))
                faults += 1
                if faults == _FAULTS_PER_RULE:
                    untested.setdefault("too many faults", []).append("the other cells")
                    break
        if not wrong and not untested and not passed:
            announced = f"no variant announces {' or '.join(self.operations)}"
            raise NotApplicable(reasons[0] if reasons else announced)
        return _by_cells(wrong), _by_cells(untested)


def _by_cells(texts: Mapping[str, Sequence[str]]) -> list[str]:
    """The texts, each behind its cells: `a:b:compact ML-DSA-44, ML-DSA-65: why`."""
    lines = []
    for text, cells in texts.items():
        sets: dict[str, list[str]] = {}
        for variant, _, set_name in (cell.partition(" ") for cell in cells):
            sets.setdefault(variant, []).append(set_name)
        listed = "; ".join(f"{variant} {', '.join(names)}" for variant, names in sets.items())
        lines.append(f"{listed}: {text}")
    return lines
