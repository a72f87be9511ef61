"""What the conformance checks are made with: a worker under test, its cells, and the check list."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from mldsa_lab.errors import LabError
from mldsa_lab.sets import LOOKUP, SCHEMES, SECRET_BYTES, SEED_BYTES, Scheme, SchemeFamily
from mldsa_lab.worker.protocol import Announced, Announcement, JobInput, Output, Sample, quote
from mldsa_lab.worker.worker import Worker, WorkerFault, WorkerRefusal

_FAULTS_PER_CHECK = 3  # a worker that hangs in every cell would otherwise take hours
_SEED = bytes(range(SEED_BYTES))


class Nonconformance(LabError):
    """A check's rule does not hold; the text is what the worker said."""


class NotApplicable(LabError):
    """A check cannot be made on this worker or cell; the text says why."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A key pair of a set; those that are no bytes on the protocol are their seed alone."""

    seed: bytes
    pk: bytes | None = None
    sk: bytes | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """A variant with one of its sets."""

    variant: Announced
    set: str

    def __str__(self) -> str:
        return f"{self.variant.id} {self.set}"

    @property
    def scheme(self) -> Scheme:
        return SCHEMES[self.set]

    @property
    def kin(self) -> SchemeFamily:
        return self.scheme.kin

    def seed(self, seed: bytes) -> bytes:
        """A seed of the set's length, from one of 32 bytes."""
        size = self.scheme.seed_bytes
        return seed if len(seed) == size else hashlib.shake_256(seed).digest(size)

    @property
    def deterministic(self) -> bool:
        """Whether signing or encapsulating the same input again must give the same output."""
        return self.variant.rnd != "none"

    def sign_input(
        self,
        number: int,
        keys: Keys,
        message: bytes = b"message",
        context: bytes = b"",
        rnd: bytes | None = None,
        forms: tuple[str, ...] = ("seed", "sk"),
    ) -> JobInput:
        """An input of `sign`, `trace` or `z_violation`, with the private key in these forms; rnd is
        that of deterministic signing unless another is given."""
        private = self._private(number, keys, forms)
        if self.kin.encoded and self.deterministic:
            private = replace(private, rnd=self.kin.plain_rnd if rnd is None else rnd)
        return replace(private, message=message, context=context)

    def reads(self, keys: Keys) -> bool:
        """Whether the private key is there in a form that the variant reads."""
        forms = self.variant.private_keys
        return "seed" in forms or ("sk" in forms and keys.sk is not None)

    def _private(self, number: int, keys: Keys, forms: tuple[str, ...]) -> JobInput:
        """The keys of an input that starts from the private one."""
        seed = keys.seed if "seed" in forms and "seed" in self.kin.private_keys else None
        return JobInput(number, seed=seed, sk=keys.sk if "sk" in forms else None, pk=keys.pk)

    def encaps_input(self, number: int, keys: Keys, message: bytes = b"message") -> JobInput:
        """An input of `encaps`, whose randomness is made of the message."""
        rnd = hashlib.shake_256(message).digest(self.scheme.rnd_bytes)
        return JobInput(number, pk=keys.pk, rnd=rnd if self.deterministic else None)

    def decaps_input(
        self,
        number: int,
        keys: Keys,
        encapsulated: bytes,
        forms: tuple[str, ...] = ("seed", "sk"),
    ) -> JobInput:
        """An input of `decaps`, from an output of `encaps`."""
        ciphertext = encapsulated[:-SECRET_BYTES]
        return replace(self._private(number, keys, forms), ciphertext=ciphertext)

    def verify_input(
        self,
        number: int,
        keys: Keys,
        signature: bytes,
        message: bytes = b"message",
        context: bytes = b"",
    ) -> JobInput:
        """An input of `verify`."""
        return JobInput(
            number,
            seed=None if self.kin.encoded else keys.seed,
            pk=keys.pk,
            message=message,
            context=context,
            signature=signature,
        )


class Trials:
    """A worker under test: started when first needed and afresh after every fault."""

    def __init__(
        self, name: str, start: Callable[[], Worker], implementations: Collection[str] = ()
    ) -> None:
        self.name = name
        self.implementations = implementations
        self._start = start
        self._worker: Worker | None = None
        self._announcement: Announcement | None = None
        self._keys: dict[tuple[str, bytes], Keys] = {}

    def close(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def fresh(self) -> Worker:
        """A worker just started, that was asked nothing yet."""
        self.close()
        self._worker = self._start()
        return self._worker

    @property
    def worker(self) -> Worker:
        if self._worker is None or not self._worker.alive:
            worker = self.fresh()
            self._announcement = worker.hello()
        assert self._worker is not None
        return self._worker

    @property
    def announcement(self) -> Announcement:
        if self._announcement is None:
            self._announcement = self.worker.hello()
        return self._announcement

    def cells(self, operation: str) -> Iterator[Subject]:
        """All cells that announce the operation."""
        for variant in self.announcement.variants:
            if operation in variant.operations:
                for set_name in variant.sets:
                    yield Subject(variant, set_name)

    def refuses(self, request: bytes) -> None:
        """Sends a whole request, which must be answered by one `error` line and no more."""
        worker = self.worker
        asked = quote(request.decode("utf-8", "replace").rstrip("\n"))
        try:
            said = worker.raw(request)
        except WorkerRefusal:
            pass
        else:
            self.close()  # it may have more to say
            raise Nonconformance(f"to {asked} it said {quote(said)}, not an error")
        try:  # a second error line would be taken for the answer to this
            worker.hello()
        except (WorkerRefusal, WorkerFault) as error:
            self.close()
            raise Nonconformance(f"after {asked} and its error: {error}") from None

    @contextmanager
    def job(self, cell: Subject, operation: str, inputs: list[JobInput]) -> Iterator[Worker]:
        """The worker with these inputs prepared as job 1, which is forgotten afterwards."""
        worker = self.worker
        worker.prepare(1, cell.variant.id, cell.set, operation, inputs)
        yield worker
        worker.forget(1)

    def answer(self, cell: Subject, operation: str, inputs: list[JobInput]) -> list[Output]:
        """The outputs of the inputs, in order, by a job of its own."""
        with self.job(cell, operation, inputs) as worker:
            outputs = worker.answer(1)
        return [outputs[item.id] for item in inputs]

    def values(self, cell: Subject, operation: str, inputs: list[JobInput]) -> list[bytes]:
        """The same where every input must succeed."""
        values: list[bytes] = []
        for output in self.answer(cell, operation, inputs):
            if output.value is None:
                raise Nonconformance(f"{operation} of a good input: `failed` {output.failure}")
            values.append(output.value)
        return values

    def fails(self, cell: Subject, operation: str, item: JobInput, why: str) -> None:
        """The input must be `failed`, or the request refused."""
        try:
            (output,) = self.answer(cell, operation, [item])
        except WorkerRefusal:
            return
        if output.failure is None:
            raise Nonconformance(f"{operation} {why} gave an output of {_size(output)} bytes")

    def keys(self, cell: Subject, seed: bytes = _SEED) -> Keys:
        """The key pair of a seed, from whichever variants of this worker make it."""
        seed = cell.seed(seed)
        if not cell.kin.encoded:
            return Keys(seed)
        known = self._keys.get((cell.set, seed))
        if known is not None:
            return known
        pk = sk = None
        for maker in self.cells("keygen"):
            if maker.set == cell.set and (pk is None or sk is None):
                (output,) = self.answer(maker, "keygen", [JobInput(0, seed=seed)])
                if "seed" in cell.kin.private_keys or output.private_key:
                    pk, sk = output.value or pk, output.private_key or sk
        if pk is None:
            raise NotApplicable(f"no variant of this worker makes keys of {cell.set}")
        self._keys[cell.set, seed] = Keys(seed, pk, sk)
        return self._keys[cell.set, seed]

    def signature(
        self, cell: Subject, keys: Keys, message: bytes = b"message", context: bytes = b""
    ) -> bytes:
        """A signature that the cell must accept: its own if it signs, else another variant's."""
        for signer in self.able(cell, "sign", context):
            item = signer.sign_input(0, keys, message, context)
            return self.values(signer, "sign", [item])[0]
        raise NotApplicable(f"no variant of this worker signs for {cell.set}")

    def encapsulated(self, cell: Subject, keys: Keys, message: bytes = b"message") -> bytes:
        """Ciphertext and secret for these keys: the cell's own, else another variant's."""
        for maker in self.able(cell, "encaps"):
            return self.values(maker, "encaps", [maker.encaps_input(0, keys, message)])[0]
        raise NotApplicable(f"no variant of this worker encapsulates for {cell.set}")

    def able(self, cell: Subject, operation: str, context: bytes = b"") -> Iterator[Subject]:
        """The cell and the others of its set that share its keys, where they can do this."""
        for other in [cell, *self.cells(operation)]:
            has = operation in other.variant.operations and (other.variant.context or not context)
            if has and other.set == cell.set and (other == cell or cell.kin.encoded):
                yield other

    def good_input(
        self,
        cell: Subject,
        operation: str,
        number: int,
        seed: bytes = _SEED,
        message: bytes = b"message",
    ) -> JobInput:
        """An input that must succeed, under the key of this seed."""
        if operation == "keygen":
            return JobInput(number, seed=cell.seed(seed))
        if operation == "hash":
            return JobInput(number, message=message)
        if operation == LOOKUP:
            return JobInput(number)
        keys = self.keys(cell, seed)
        if operation == "encaps":
            return cell.encaps_input(number, keys, message)
        if operation == "decaps":
            if not cell.reads(keys):
                raise NotApplicable(f"no variant of this worker gives private keys of {cell.set}")
            return cell.decaps_input(number, keys, self.encapsulated(cell, keys, message))
        if operation == "sign":
            return cell.sign_input(number, keys, message)
        return cell.verify_input(number, keys, self.signature(cell, keys, message), message)

    def check_sample(self, cell: Subject, operation: str, sample: Sample, output: bytes) -> None:
        """A sample of good inputs must have taken time and have the digest of their output, where
        that is the same each time."""
        if sample.failure is not None:
            raise Nonconformance(f"{operation}: `failed` {sample.failure}, where `answer` was good")
        if sample.wall == 0:
            raise Nonconformance(f"{operation}: a sample of no wall ticks at all")
        repeats = not operation.startswith(("sign", "encaps")) or cell.deterministic
        if repeats and sample.digest != hashlib.sha256(output).digest():
            raise Nonconformance(
                f"{operation}: digest {sample.digest.hex()} from input {sample.input} on is not "
                "the SHA-256 of its output"
            )


def _size(output: Output) -> int:
    return len(output.value or b"")


Check = Callable[[Trials], None]
CellCheck = Callable[[Trials, Subject], None]


@dataclass(frozen=True, slots=True)
class ConformanceRule:
    """A named rule. `run` returns what is wrong, raises NotApplicable, or lets a fault through."""

    name: str
    description: str
    run: Callable[[Trials], list[str]]


@dataclass(slots=True)
class Rules:
    """The rules in order. Its methods are the decorators that add to it: a rule is a function that
    raises what is wrong, named as the function is and described by its docstring."""

    listed: list[ConformanceRule] = field(default_factory=list)

    def of_worker(self, check: Check) -> Check:
        """A rule of the worker as a whole."""

        def run(bench: Trials) -> list[str]:
            check(bench)
            return []

        self._add(check, run)
        return check

    def of_cells(
        self, operation: str, suffix: str = "", *, slow: bool = False
    ) -> Callable[[CellCheck], CellCheck]:
        """A rule of every variant and set that announce the operation. Of a variant that has sets
        whose operations take seconds one set alone, unless ``slow``: rules of the protocol hold for
        one as for the other."""

        def add(check: CellCheck) -> CellCheck:
            self._add(check, lambda bench: _all_cells(bench, operation, check, slow), suffix)
            return check

        return add

    def _add(
        self, check: Callable[..., None], run: Callable[[Trials], list[str]], suffix: str = ""
    ) -> None:
        name = check.__name__.strip("_").replace("_", "-") + suffix
        description = " ".join((check.__doc__ or "").split())
        self.listed.append(ConformanceRule(name, description.rstrip("."), run))


def _all_cells(bench: Trials, operation: str, check: CellCheck, slow: bool) -> list[str]:
    wrong: list[str] = []
    reasons: list[str] = []
    faults = made = 0
    for cell in bench.cells(operation):
        sets = sorted(cell.variant.sets, key=lambda s: SCHEMES[s].slow)
        if any(SCHEMES[s].slow for s in sets) and not slow and cell.set != sets[0]:
            continue
        try:
            check(bench, cell)
            made += 1
        except NotApplicable as reason:
            reasons.append(str(reason))
        except (Nonconformance, WorkerRefusal) as error:
            wrong.append(f"{cell}: {error}")
        except WorkerFault as fault:
            wrong.append(f"{cell}: {fault}")
            faults += 1
            if faults == _FAULTS_PER_CHECK:
                wrong.append("too many faults: the remaining cells were not asked")
                break
    if not wrong and not made:
        raise NotApplicable(reasons[0] if reasons else f"no variant announces {operation}")
    return wrong
