"""The checks of the conformance test on runs: loops, batches and threads."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from mldsa_lab.sets import SEED_BYTES, USUAL_OPERATIONS
from mldsa_lab.worker.conformance_bench import (
    Nonconformance,
    NotApplicable,
    Rules,
    Subject,
    Trials,
)
from mldsa_lab.worker.protocol import BlockShape, ChainStage, JobInput, Runs
from mldsa_lab.worker.worker import WorkerRefusal

_SEEDS = [bytes([n]) * SEED_BYTES for n in (1, 2, 3)]


def add_rules(rules: Rules) -> None:
    """Append the rules of runs to a list."""
    for operation in USUAL_OPERATIONS:
        _add(rules, operation)

    @rules.of_cells("verify")
    def chain(bench: Trials, cell: Subject) -> None:
        """`chain` verifies the signatures of the stage before, and not those that were prepared."""
        if not bench.announcement.chains:
            raise NotApplicable("it does not announce chains")
        _chain(bench, cell)

    @rules.of_cells("verify")
    def block(bench: Trials, cell: Subject) -> None:
        """`block` performs every input once, in the order that it is asked for."""
        if not bench.announcement.blocks:
            raise NotApplicable("it does not announce blocks")
        _block(bench, cell)


def _add(rules: Rules, operation: str) -> None:
    @rules.of_cells(operation, f"-{operation}")
    def batch(bench: Trials, cell: Subject) -> None:
        """`answer JOB batch SIZE` answers as `answer` does, bad inputs alone."""
        if cell.variant.mode != "batch":
            raise NotApplicable("no variant announces mode batch")
        _batches(bench, cell, operation)

    @rules.of_cells(operation, f"-{operation}")
    def runs(bench: Trials, cell: Subject) -> None:
        """`measure` of runs takes the inputs in turn, on one thread and on several."""
        if cell.variant.batch_size < 2:
            raise NotApplicable("no variant announces a batch_size above 1")
        forms = ["loop", "batch"] if cell.variant.mode == "batch" else ["loop"]
        for form in forms:
            for threads in sorted({1, min(cell.variant.threads, 2)}):
                _runs(bench, cell, operation, Runs(form, 2, 3, threads))
        _refusals(bench, cell, operation)


def _inputs(bench: Trials, cell: Subject, operation: str) -> list[JobInput]:
    """Three good inputs of three keys, numbered 9, 0 and 4."""
    return [
        bench.good_input(cell, operation, number, seed, b"message %d" % number)
        for number, seed in zip((9, 0, 4), _SEEDS, strict=True)
    ]


def _bad(bench: Trials, cell: Subject, operation: str) -> JobInput:
    """An input that fails, or is refused: a short seed, a long context, a cut signature, a short
    key or ciphertext."""
    if operation == "keygen":
        return JobInput(7, seed=bytes(3))
    if operation == "hash":  # takes whatever there is
        return JobInput(7, message=b"")
    keys = bench.keys(cell, _SEEDS[1])
    if operation == "encaps":
        return replace(cell.encaps_input(7, keys), pk=bytes(3))
    if operation == "decaps":
        return replace(bench.good_input(cell, operation, 7, _SEEDS[1]), ciphertext=bytes(3))
    if operation == "sign":
        return cell.sign_input(7, keys, context=bytes(256))
    return cell.verify_input(7, keys, bench.signature(cell, keys)[:-1])


def _batches(bench: Trials, cell: Subject, operation: str) -> None:
    first, second, third = _inputs(bench, cell, operation)
    job = [first, second, _bad(bench, cell, operation), third]
    worker = bench.worker
    worker.prepare(1, cell.variant.id, cell.set, operation, job)
    alone = worker.answer(1)
    repeats = operation not in ("sign", "encaps") or cell.deterministic
    for size in sorted({1, 3, 4, min(cell.variant.batch_size, 64)}):
        if size > cell.variant.batch_size:
            continue
        together = worker.answer(1, batch=size)
        for item in job:
            one, other = alone[item.id], together[item.id]
            failed = (one.failure is None, other.failure is None)
            same = failed[0] == failed[1] and (not repeats or one.value == other.value)
            if not same:
                raise Nonconformance(
                    f"in batches of {size} the output of input {item.id} is another than alone"
                )
    worker.forget(1)


def _runs(bench: Trials, cell: Subject, operation: str, runs: Runs) -> None:
    inputs = _inputs(bench, cell, operation)
    worker = bench.worker
    worker.prepare(1, cell.variant.id, cell.set, operation, inputs)
    outputs = worker.answer(1)
    for passes, calls, warmup in ((1, 1, 0), (2, 2, 1)):
        samples = worker.measure(1, passes, calls, warmup, runs=runs)
        for place, sample in enumerate(samples):
            values = [
                outputs[inputs[position].id].value or b""
                for thread in range(runs.threads)
                for position in runs.positions(place % runs.count, len(inputs), thread)
            ]
            bench.check_sample(cell, f"{operation}, {_named(runs)}", sample, b"".join(values))
    if operation == "keygen":
        bad = [*inputs[:2], JobInput(4, seed=bytes(3))]
        worker.prepare(1, cell.variant.id, cell.set, operation, bad)
        failed = [sample.failure is not None for sample in worker.measure(1, 1, 1, 0, runs=runs)]
        expected = [_touches(runs, number, 2) for number in range(runs.count)]
        if failed != expected:
            raise Nonconformance(
                f"{_named(runs)}: runs with a bad input failed as {failed}, not as {expected}"
            )
    worker.forget(1)


def _chain(bench: Trials, cell: Subject) -> None:
    """Signed and verified, all with one key; what is prepared for verification is of another
    message, so that both of its fields have to come from the chain."""
    signer = next(bench.able(cell, "sign"), None)
    if signer is None:
        raise NotApplicable("no variant of this worker signs for it")
    keys, worker = bench.keys(cell), bench.worker
    numbers = (9, 0)
    signs = [signer.sign_input(n, keys, b"message %d" % n) for n in numbers]
    own = [replace(bench.good_input(cell, "verify", n), message=i.message)
           for n, i in zip(numbers, signs, strict=True)]  # fmt: skip
    other = [bench.good_input(cell, "verify", n) for n in numbers]
    worker.prepare(1, signer.variant.id, cell.set, "sign", signs)
    for inputs, expected, said in ((own, b"\1", "refused"), (other, b"\0", "accepted")):
        worker.prepare(2, cell.variant.id, cell.set, "verify", inputs)
        stages = [ChainStage(1), ChainStage(2, signature=1)]
        for threads in sorted({1, min(cell.variant.threads, signer.variant.threads, 2)}):
            for done in worker.chain(stages, 2, 1, threads):
                for link in done.links:
                    if link.failure is not None:
                        raise Nonconformance(f"a link of good inputs: `failed` {link.failure}")
                    if sum(wall for wall, _ in link.stages) > link.wall:
                        raise Nonconformance("the stages of a link take longer than the link")
                    if link.stages[1][1] != hashlib.sha256(expected).digest():
                        raise Nonconformance(
                            f"the signature of the stage before is {said}, for the message that "
                            "was prepared"
                        )
    for request in (
        "chain 1 0 1 1 0 1 0",
        "chain 1 0 0 1 0 0 0",
        "chain 1 0 1 4711 0 0 0",
        "chain",
    ):
        bench.refuses(f"{request}\n".encode())
    for job in (1, 2):
        worker.forget(job)


def _block(bench: Trials, cell: Subject) -> None:
    """Of four signatures the second is refused, so that the order and who is left out show."""
    first, second, third = _inputs(bench, cell, "verify")
    bad = replace(third, id=7, signature=second.signature)
    inputs, verdicts = [first, bad, second, third], (1, 0, 1, 1)
    worker = bench.worker
    worker.prepare(1, cell.variant.id, cell.set, "verify", inputs)
    for batch in (0, 3) if cell.variant.mode == "batch" else (0,):
        for threads in sorted({1, min(cell.variant.threads, 3)}):
            for stride, cold in ((1, 0), (3, 100_000)):
                shape = BlockShape(batch, threads, stride, cold)
                ordered = bytes(verdicts[turn] for turn in shape.turns(len(inputs)))
                for sample in worker.block(1, 2, shape):
                    bench.check_sample(cell, f"block {shape.text()}", sample, ordered)
    asked = [
        "1 1 0 0 1 0",
        "1 1 0 5 1 0",
        "1 1 0 1 2 0",
        "1 1 0 1 0 0",
        "4711 1 0 1 1 0",
        "1 1 0 1 1",
    ]
    if cell.variant.mode != "batch":
        asked.append("1 1 1 1 1 0")
    for words in asked:
        bench.refuses(f"block {words}\n".encode())
    worker.forget(1)


def _touches(runs: Runs, number: int, position: int) -> bool:
    """Whether a thread performs the input at this position, of three, in this run."""
    return any(position in runs.positions(number, 3, t) for t in range(runs.threads))


def _refusals(bench: Trials, cell: Subject, operation: str) -> None:
    """Runs that are not announced are errors, and so are numbers that make no sense."""
    v = cell.variant
    asked: Sequence[str] = [
        "measure 1 1 1 0 loop 0 1 1",
        "measure 1 1 1 0 loop 1 0 1",
        "measure 1 1 1 0 loop 1 1 0",
        f"measure 1 1 1 0 loop {v.batch_size + 1} 1 1",
        f"measure 1 1 1 0 loop 1 1 {v.threads + 1}",
        "measure 1 1 1 0 heap 1 1 1",
        "answer 1 batch 0",
        f"answer 1 batch {v.batch_size + 1}",
        "answer 1 loop 1",
    ]
    if v.mode != "batch":
        asked = [*asked, "measure 1 1 1 0 batch 1 1 1", "answer 1 batch 1"]
    worker = bench.worker
    worker.prepare(1, v.id, cell.set, operation, _inputs(bench, cell, operation))
    for request in asked:
        bench.refuses(f"{request}\n".encode())
    try:
        worker.forget(1)
    except WorkerRefusal as refusal:
        raise Nonconformance(f"a refused run lost the job: {refusal.text}") from None


def _named(runs: Runs) -> str:
    threads = f" on {runs.threads} threads" if runs.threads > 1 else ""
    return f"a {runs.form} of {runs.size}{threads}"
