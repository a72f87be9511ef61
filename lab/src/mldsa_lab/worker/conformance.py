"""The conformance test of a worker: rules of `lab/workers/PROTOCOL.md` as named checks.

Rules are checked in this order: framing, announcements, jobs, samples, phases, runs, chains, blocks
and the end. `suite.py` has the correctness of the outputs. A new worker passes this first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Literal

from mldsa_lab import LabError
from mldsa_lab.sets import OPERATIONS, SCHEME_FAMILIES, USUAL_OPERATIONS
from mldsa_lab.worker.examination import CheckCase, Examination, Items, Subject, judge_sample
from mldsa_lab.worker.protocol import BlockShape, ChainStage, JobInput, Runs, Sample
from mldsa_lab.worker.registry import BuildDirs, WorkerEntry
from mldsa_lab.worker.suite import SUITE
from mldsa_lab.worker.trials import (
    ConformanceRule,
    Nonconformance,
    NotApplicable,
    NotTested,
    Trials,
)
from mldsa_lab.worker.worker import Limits, Worker, WorkerFault, WorkerRefusal

Status = Literal["failed", "untested", "passed", "skipped"]
_COUNTED = {"passed": "passed", "failed": "failed", "untested": "not tested", "skipped": "skipped"}

CONFORMANCE_LIMITS = Limits(hello=20, prepare=60, answer=300, measure=60, forget=20, quit=10)
"""For ordinary programs; a simulator needs longer ones."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. ``reasons``: the worker's words, the reason of a
    skipped check, or the variants and sets that it could not cover."""

    check: str
    description: str
    status: Status
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conformance:
    """The findings on one worker, in the order of the checks."""

    worker: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """True if no check failed and at least one passed."""
        states = {finding.status for finding in self.findings}
        return "failed" not in states and "passed" in states

    def lines(self) -> list[str]:
        """Return lines for readers. First come failures and checks that could not be made, with the
        reasons; then passed checks. Checks that do not apply follow by reason, then all counts."""
        text: list[str] = []
        alike: dict[tuple[Status, tuple[str, ...]], list[Finding]] = {}
        for finding in self.findings:
            alike.setdefault((finding.status, finding.reasons), []).append(finding)
        for status in ("failed", "untested", "passed"):
            shown = "NOT TESTED" if status == "untested" else f"{status:10}"
            for (result, reasons), findings in alike.items():
                if result == status:
                    text += [f"{shown}  {f.check}: {f.description}" for f in findings]
                    text += [f"            {reason}" for reason in reasons]
        for (result, reasons), findings in alike.items():
            if result == "skipped":
                text.append(f"skipped     {reasons[0]}: {', '.join(f.check for f in findings)}")
        states: list[str] = [finding.status for finding in self.findings]
        total = ", ".join(f"{states.count(s)} {word}" for s, word in _COUNTED.items())
        return [*text, f"worker {self.worker}: {total}"]


def conform_entry(
    entry: WorkerEntry,
    dirs: BuildDirs,
    *,
    limits: Limits = CONFORMANCE_LIMITS,
    only: Collection[str] | None = None,
    known: bool = True,
    reference_items: Callable[[str], Items] | None = None,
    progress: Callable[[str], None] = lambda name: None,
    on_note: Callable[[str], None] = lambda text: None,
) -> Conformance:
    """Make the checks on a worker of the registry that has been built; `progress` gets each check's
    name first, `on_note` each note of the worker.

    All are made, or only the rules in `only` and the first one, `hello`. A worker that cannot
    announce itself is judged only by that. `known`: whether it is asked for NIST's known answers.
    `reference_items` makes the gate's items of a set of ML-DSA; without it, checks use only inputs
    that the worker can make. LabError for a name in `only` that no check has.
    """
    argv = entry.fill(entry.run, dirs)
    listed = rules(known=known, reference=reference_items is not None)
    names = [rule.name for rule in listed]
    for name in only or ():
        if name not in names:
            raise LabError(f"unknown conformance check `{name}`; known are {', '.join(names)}")
    findings: list[Finding] = []

    def start() -> Worker:
        worker = Worker.start(entry.name, argv, cwd=dirs.root, limits=limits)
        worker.channel.on_note = on_note
        return worker

    trials = Trials(
        entry.name,
        start,
        entry.implementations,
        known,
        reference_items,
        entry.is_listed,
    )
    try:
        for rule in listed:
            if not findings or only is None or rule.name in only:
                progress(rule.name)
                findings.append(_finding(trials, rule))
            if findings[0].status == "failed":
                break
    finally:
        trials.close()
    return Conformance(entry.name, tuple(findings))


def _finding(trials: Trials, check: ConformanceRule) -> Finding:
    try:
        wrong, untested = check.run(trials)
    except NotApplicable as reason:
        return Finding(check.name, check.description, "skipped", (str(reason),))
    except NotTested as reason:
        wrong, untested = [], [str(reason)]
    except (Nonconformance, WorkerFault, WorkerRefusal) as error:
        wrong, untested = [str(error)], []
    status: Status = "failed" if wrong else "untested" if untested else "passed"
    return Finding(check.name, check.description, status, (*wrong, *untested))


def rules(*, known: bool, reference: bool) -> list[ConformanceRule]:
    """All rules in order; with ``known`` also NIST's known answers, with ``reference`` also the
    gate's questions by the correctness reference. No other implementation takes part."""
    names = [
        name
        for row in SUITE
        for name in _names(row, reference)
        if "peer" not in row.needs and (known or "known" not in row.needs)
    ]
    return [*FRAMING, *map(_suite, dict.fromkeys(names)), *MEASUREMENT]


# --- the worker as a whole ----------------------------------------------------------------------


def _hello(trials: Trials) -> None:
    announced = trials.worker.hello()
    if trials.is_listed and announced.worker != trials.name:
        raise Nonconformance(f"it calls itself {announced.worker}, the registry {trials.name}")


def _implementations(trials: Trials) -> None:
    if not trials.implementations:
        raise NotApplicable("the registry lists no implementations")
    for variant in trials.announcement.variants:
        if variant.implementation not in trials.implementations:
            raise Nonconformance(f"it announces {variant.implementation}, which is not listed")


def _hello_again(trials: Trials) -> None:
    if trials.worker.hello() != trials.worker.hello():
        raise Nonconformance("two announcements differ")


def _refuses(*requests: str | bytes) -> Callable[[Trials], None]:
    return lambda trials: trials.refuses(*requests)


def _any_cell(trials: Trials) -> tuple[Subject, str]:
    for operation in OPERATIONS:
        for cell in trials.cells(operation):
            return cell, operation
    raise NotApplicable("no variant announces an operation that is timed")


def _malformed_prepare(trials: Trials) -> None:
    cell, operation = _any_cell(trials)
    head = [f"variant {cell.variant.id}", f"set {cell.set}", f"operation {operation}"]
    trials.refuses("\n".join(["prepare x", *head, "end"]))
    for lines in (
        [],
        head[:2],
        ["variant no:such:variant", *head[1:]],
        [head[0], "set ML-DSA-1024", head[2]],
        [*head[:2], "operation frobnicate"],
        [*head, "seed 00"],
        [*head, "input x"],
        [*head, "input 0", "seed 0"],
        [*head, "input 0", "seed xy"],
        [*head, "input 0", "seed AB"],
        [*head, "input 0", "frobnicate 00"],
        [*head, "input 0"],
        ["garbage", "hello 1", "quit"],
    ):
        trials.refuses("\n".join(["prepare 1", *lines, "end"]))


def _jobs(trials: Trials) -> None:
    cell, operation = _any_cell(trials)
    worker, large = trials.worker, 18446744073709551615
    first, second, third = trials.good(cell, operation)
    worker.prepare(1000, cell.variant.id, cell.set, operation, [first])
    worker.prepare(large, cell.variant.id, cell.set, operation, [second, third])
    if list(worker.answer(1000)) != [first.id] or len(worker.answer(large)) != 2:
        raise Nonconformance("two jobs were not kept side by side")
    worker.prepare(1000, cell.variant.id, cell.set, operation, [third, first])
    worker.answer(1000)
    worker.forget(1000)
    trials.refuses("answer 1000")
    worker.answer(large)
    worker.forget(large)


def _no_inputs(trials: Trials) -> None:
    cell, operation = _any_cell(trials)
    worker = trials.worker
    worker.prepare(1, cell.variant.id, cell.set, operation, [])
    worker.answer(1)
    worker.measure(1, 2, 1, 0)
    worker.forget(1)


# --- correctness ----------------------------------------------------------------------------------


def _suite(name: str) -> ConformanceRule:
    """A check of the correctness suite, all rows that have its name."""
    rows = [row for row in SUITE if name in _names(row, reference=True)]
    operations = tuple(dict.fromkeys(map(_asked, rows)))
    cheap = set(operations) <= {"keygen", "verify"} and name != "verifies-own"
    text = "; ".join(dict.fromkeys(row.description for row in rows))
    check = partial(_check_suite, rows=rows, name=name)
    return ConformanceRule(name, text, check, operations, cheap)


def _names(row: CheckCase, reference: bool) -> list[str]:
    """The names that the check has by its sources, the reference among them or not."""
    sources = ["worker"] * ("reference" not in row.needs) + ["reference"] * reference
    able = [s for s in sources if s in row.sources and (s == "worker" or _is_of_gate(row))]
    return list(dict.fromkeys(row.name.format(source=s, peer="") for s in able))


def _is_of_gate(row: CheckCase) -> bool:
    """Return whether the gate makes the check on inputs of the correctness reference."""
    is_known = row.operation in SCHEME_FAMILIES["ml-dsa"].worker_operations
    return (
        row.is_fast
        and "inputs" in row.needs
        and is_known
        and "ml-dsa" in (row.families or ["ml-dsa"])
    )


def _asked(row: CheckCase) -> str:
    """The operation that the subject must have; the reference verifies the subject's signatures."""
    return row.operation if row.asks == "subject" else "sign"


def _check_suite(trials: Trials, cell: Subject, rows: Sequence[CheckCase], name: str) -> None:
    lacking: list[LabError] = []
    has_passed = False
    for row in (row for row in rows if row.has(cell) and cell.has(_asked(row))):
        for where, exam in _exams(trials, cell, row, name, lacking):
            result = exam.make(row)
            if result is None:
                lacking.append(_lacking(trials, cell, row, exam))
            elif not result.cases:
                lacking.append(NotApplicable(str(result.first_failure)))
            elif result.failed:
                count = f" ({result.failed} of {result.cases})"
                raise Nonconformance(f"{where}{result.first_failure}{count}")
            else:
                has_passed = True
    if not has_passed:
        lacking.sort(key=lambda error: isinstance(error, NotTested))
        raise lacking[0] if lacking else NotApplicable(f"not a check of {cell.set}")


def _exams(
    trials: Trials, cell: Subject, row: CheckCase, name: str, lacking: list[LabError]
) -> list[tuple[str, Examination]]:
    """Return the examinations that make the check under this name, each with words for it; to
    ``lacking`` goes why the correctness reference gives none."""
    sources = [s for s in row.sources if row.name.format(source=s, peer="") == name]
    if "group" in row.needs:
        sizes = _batch_sizes(cell)
        return [(f"in batches of {size}: ", trials.exam(cell, size)) for size in sizes]
    exams = [("", trials.exam(cell))] if "worker" in sources else []
    if "reference" in sources and _is_of_gate(row):
        try:
            exam = trials.gate_exam(cell)
        except NotTested as error:
            lacking.append(error)
        else:
            exams += [] if exam is None else [("", exam)]
    return exams


def _lacking(trials: Trials, cell: Subject, row: CheckCase, exam: Examination) -> LabError:
    """Return why a check has no cases: it does not apply, or its inputs cannot be made."""
    if not row.applies(exam):
        return NotTested(trials.lacking(cell, "keygen"))
    if row.operation in ("verify", "decaps"):
        maker = cell.traits.operations[1]
        if row.name.endswith("-own") and not cell.has(maker):
            return NotApplicable(f"it does not announce {maker}")
        if not any(m.output for m in exam.items.inputs):
            return NotTested(trials.lacking(cell, maker))
        if not row.is_quiet:
            return NotTested(f"there is no signature of {cell.set} that this can be made of")
    what = cell.set if row.is_quiet else f"rnd {cell.variant.rnd}"
    return NotApplicable(f"not a check of {what}")


def _batch_sizes(cell: Subject) -> Sequence[int | None]:
    """Sizes of batches that have neighbours, rests and a place for all, of those announced."""
    v = cell.variant
    if v.mode != "batch":
        raise NotApplicable("no variant announces mode batch")
    return [n for n in sorted({1, 3, 4, min(v.batch_size, 64)}) if n <= v.batch_size]


# --- measurement --------------------------------------------------------------------------------


def _repeats(cell: Subject, operation: str) -> bool:
    return operation not in ("sign", "encaps") or cell.variant.deterministic


def _check(what: str, sample: Sample, output: bytes | None) -> None:
    wrong = judge_sample(sample, output)
    if wrong is not None:
        raise Nonconformance(f"{what}: {wrong}")


def _measure(trials: Trials, cell: Subject, operation: str) -> None:
    first, second = (trials.good(cell, operation, 2) * 2)[:2]
    if operation == "verify":  # a refusal is timed too
        second = replace(second, message=b"another")
    second = replace(second, id=second.id + (first.id == second.id))
    _check_samples(trials, cell, operation, [first, second], None)


def _check_samples(
    trials: Trials, cell: Subject, operation: str, inputs: Sequence[JobInput], runs: Runs | None
) -> None:
    """Samples of single calls or of runs have the digests of the outputs of `answer`."""
    worker, v = trials.worker, cell.variant
    what = operation if runs is None else f"{operation}, {_name(runs)}"
    worker.prepare(1, v.id, cell.set, operation, inputs)
    outputs = worker.answer(1)
    for passes, calls, warmup in ((1, 1, 0), (3, 2, 1)):
        samples = worker.measure(1, passes, calls, warmup, runs=runs)
        for place, sample in enumerate(samples):
            values = (outputs[inputs[p].id].value or b"" for p in _places(place, len(inputs), runs))
            known = b"".join(values) if _repeats(cell, operation) else None
            _check(what, sample, known)
    worker.forget(1)


def _places(place: int, inputs: int, runs: Runs | None) -> list[int]:
    """The positions in a job of the operations of a sample, by its place in the reply."""
    if runs is None:
        return [place % inputs]
    number = place % runs.count
    return [p for t in range(runs.threads) for p in runs.positions(number, inputs, t)]


def _name(runs: Runs) -> str:
    threads = f" on {runs.threads} threads" if runs.threads > 1 else ""
    return f"a {runs.form} of {runs.size}{threads}"


def _check_failed(trials: Trials, cell: Subject, runs: Runs | None = None) -> None:
    """Samples with a bad input fail, the others do not."""
    worker, inputs = trials.worker, trials.good(cell, "keygen")
    job = [inputs[0], replace(inputs[-1], id=inputs[0].id + 1, seed=bytes(3)), *inputs[1:2]]
    worker.prepare(1, cell.variant.id, cell.set, "keygen", job)
    samples = worker.measure(1, 2, 1, 0, runs=runs)
    failed = [sample.failure is not None for sample in samples]
    expected = [1 in _places(place, len(job), runs) for place in range(len(samples))]
    if failed != expected:
        what = "samples" if runs is None else f"{_name(runs)}: runs"
        raise Nonconformance(f"{what} with a bad input failed as {failed}, not as {expected}")
    worker.forget(1)


# --- runs, chains and blocks ----------------------------------------------------------------------


def _runs(trials: Trials, cell: Subject, operation: str) -> None:
    v = cell.variant
    if v.batch_size < 2:
        raise NotApplicable("no variant announces a batch_size above 1")
    for form in ["loop", "batch"] if v.mode == "batch" else ["loop"]:
        for threads in sorted({1, min(v.threads, 2)}):
            runs = Runs(form, 2, 3, threads)
            _check_samples(trials, cell, operation, trials.good(cell, operation), runs)
            if operation == "keygen":
                _check_failed(trials, cell, runs)
    worker = trials.worker
    worker.prepare(1, v.id, cell.set, operation, trials.good(cell, operation))
    _refuse_runs(trials, cell)
    try:
        worker.forget(1)
    except WorkerRefusal as refusal:
        raise Nonconformance(f"a refused run lost the job: {refusal}") from None


def _refuse_runs(trials: Trials, cell: Subject) -> None:
    """Runs that are not announced are errors, and so are numbers that make no sense."""
    v = cell.variant
    trials.refuses(
        "measure 1 1 1 0 loop 0 1 1",
        "measure 1 1 1 0 loop 1 0 1",
        "measure 1 1 1 0 loop 1 1 0",
        f"measure 1 1 1 0 loop {v.batch_size + 1} 1 1",
        f"measure 1 1 1 0 loop 1 1 {v.threads + 1}",
        "measure 1 1 1 0 heap 1 1 1",
        "answer 1 batch 0",
        f"answer 1 batch {v.batch_size + 1}",
        "answer 1 loop 1",
    )
    if v.mode != "batch":
        trials.refuses("measure 1 1 1 0 batch 1 1 1", "answer 1 batch 1")


def _chain(trials: Trials, cell: Subject) -> None:
    """Check a chain that signs and verifies with one key. The inputs prepared for verification are
    of another message, so both of its fields have to come from the chain."""
    if not trials.announcement.chains:
        raise NotApplicable("it does not announce chains")
    signers = [cell, *trials.cells("sign")] if cell.traits.has_bytes else [cell]
    signer = next((s for s in signers if s.has("sign") and s.set == cell.set), None)
    if signer is None:
        raise NotApplicable("no variant of this worker signs for it")
    worker, number = trials.worker, (9, 0)
    sign, verify = trials.good(signer, "sign", 1)[0], trials.good(cell, "verify", 1)[0]
    signs = [replace(sign, id=n, message=b"chained %d" % n) for n in number]
    own = [replace(verify, id=s.id, message=s.message) for s in signs]
    other = [replace(verify, id=n) for n in number]
    worker.prepare(1, signer.variant.id, cell.set, "sign", signs)
    for inputs, expected, reasons in ((own, b"\1", "refused"), (other, b"\0", "accepted")):
        worker.prepare(2, cell.variant.id, cell.set, "verify", inputs)
        stages = [ChainStage(1), ChainStage(2, signature=1)]
        for threads in sorted({1, min(cell.variant.threads, signer.variant.threads, 2)}):
            passes = worker.chain(stages, 2, 1, threads)
            for link in chain.from_iterable(done.links for done in passes):
                if link.failure is not None:
                    raise Nonconformance(f"a link of good inputs: `failed` {link.failure}")
                if sum(wall for wall, _ in link.stages) > link.wall:
                    raise Nonconformance("the stages of a link take longer than the link")
                if link.stages[1][1] != hashlib.sha256(expected).digest():
                    text = f"the signature of the stage before is {reasons}, for the message that "
                    raise Nonconformance(text + "was prepared")
    trials.refuses("chain 1 0 1 1 0 1 0", "chain 1 0 0 1 0 0 0", "chain 1 0 1 4711 0 0 0", "chain")
    for job in (1, 2):
        worker.forget(job)


def _block(trials: Trials, cell: Subject) -> None:
    """Of four signatures the second is refused, so that the order and who is left out show."""
    if not trials.announcement.blocks:
        raise NotApplicable("it does not announce blocks")
    first, second, third = trials.good(cell, "verify")
    bad = replace(third, id=7, signature=second.signature)
    inputs, verdicts, v = [first, bad, second, third], (1, 0, 1, 1), cell.variant
    worker = trials.worker
    worker.prepare(1, v.id, cell.set, "verify", inputs)
    for batch in (0, 3) if v.mode == "batch" else (0,):
        for threads in sorted({1, min(v.threads, 3)}):
            for stride, cold in ((1, 0), (3, 100_000)):
                shape = BlockShape(batch, threads, stride, cold)
                ordered = bytes(verdicts[turn] for turn in shape.turns(len(inputs)))
                for sample in worker.block(1, 2, shape):
                    _check(f"block {shape.text()}", sample, ordered)
    asked = ["1 1 0 0 1 0", "1 1 0 5 1 0", "1 1 0 1 2 0", "1 1 0 1 0 0", "4711 1 0 1 1 0",
             "1 1 0 1 1", *(["1 1 1 1 1 0"] if v.mode != "batch" else [])]  # fmt: skip
    trials.refuses(*(f"block {words}" for words in asked))
    worker.forget(1)


# --- the end ------------------------------------------------------------------------------------


def _quit(trials: Trials) -> None:
    trials.fresh().quit()
    trials.worker.quit()


def _end_of_input(trials: Trials) -> None:
    trials.fresh().end_of_input()
    trials.worker.end_of_input()


# --- the table ------------------------------------------------------------------------------------

_GARBAGE = (b"", b" ", b"\x00\x01\x7f", b"\xc3\xa9 \xff\xfe", b"x" * 100_000, b"hello")
_SAMPLES = (
    "`measure` gives passes × inputs samples in order, plausible ticks, digests of the outputs"
)
_RUNS = "`measure` of runs takes the inputs in turn, on one thread and on several"

# fmt: off
FRAMING = (
    ConformanceRule("hello", "`hello 1` is answered by an announcement of the protocol's form, of "
                    "this worker", _hello),
    ConformanceRule("implementations", "No implementation is announced that the registry does not "
                    "list", _implementations),
    ConformanceRule("hello-again", "`hello 1` is answered the same each time", _hello_again),
    ConformanceRule("hello-version", "A version that the worker does not speak is an error",
                    _refuses("hello 999999")),
    ConformanceRule("unknown-request", "An unknown request is answered by one error line",
                    _refuses("frobnicate", "frobnicate 1 2 3", "HELLO 1", "end")),
    ConformanceRule("garbage", "A line of garbage is answered by one error line, and no more",
                    _refuses(*_GARBAGE)),
    ConformanceRule("unknown-job", "`answer`, `measure` and `forget` of an unknown job are errors",
                    _refuses("answer 4711", "measure 4711 1 1 0", "forget 4711", "answer",
                             "answer x", "measure 4711", "measure 4711 1 x 0")),
    ConformanceRule("malformed-prepare", "A malformed `prepare` is read through its `end` and is "
                    "one error", _malformed_prepare),
    ConformanceRule("jobs", "Jobs are kept side by side, replaced and forgotten, each by its "
                    "number", _jobs),
    ConformanceRule("no-inputs", "A job without inputs is answered by `done` alone", _no_inputs),
)
MEASUREMENT = (
    *(ConformanceRule(f"measure-{o}", _SAMPLES, partial(_measure, operation=o), (o,))
      for o in OPERATIONS),
    ConformanceRule("measure-failed", "An input that fails is `failed` in every pass, the others "
                    "are timed", _check_failed, ("keygen",)),
    *(ConformanceRule(f"runs-{o}", _RUNS, partial(_runs, operation=o), (o,))
      for o in USUAL_OPERATIONS),
    ConformanceRule("chain", "`chain` verifies the signatures of the stage before, and not those "
                    "that were prepared", _chain, ("verify",)),
    ConformanceRule("block", "`block` performs every input once, in the order that it is asked for",
                    _block, ("verify",)),
    ConformanceRule("quit", "On `quit` the worker says nothing and exits with status 0", _quit),
    ConformanceRule("end-of-input", "At the end of input the worker exits with status 0",
                    _end_of_input),
)
# fmt: on
