"""The checks of the conformance test, in the order they are made."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from itertools import pairwise

from mldsa_lab.sets import CONTEXT_BYTES_MAX, OPERATIONS, SECRET_BYTES, SEED_BYTES
from mldsa_lab.theory.trace import format_trace
from mldsa_lab.worker.conformance_bench import (
    Keys,
    Nonconformance,
    NotApplicable,
    Rules,
    Subject,
    Trials,
)
from mldsa_lab.worker.conformance_runs import add_rules
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.worker import WorkerRefusal

RULES = Rules()

_LONG_MESSAGE_BYTES = 1 << 20
_OTHER_SEED = bytes(range(100, 100 + SEED_BYTES))
_THIRD_SEED = bytes([1]) * SEED_BYTES  # not zero, which is no private key of ECDSA
# Clocks may differ by rate and be read a little apart; anything beyond is a wrong unit.
_CLOCK_SLACK = 1.2
_CLOCK_SLACK_NS = 20_000_000


# --- the worker as a whole ----------------------------------------------------------------------


@RULES.of_worker
def hello(bench: Trials) -> None:
    """`hello 1` is answered by an announcement of the protocol's form, of this worker."""
    announced = bench.worker.hello()
    if announced.worker != bench.name:
        raise Nonconformance(f"it calls itself {announced.worker}, the registry {bench.name}")


@RULES.of_worker
def implementations(bench: Trials) -> None:
    """No implementation is announced that the registry does not list."""
    if not bench.implementations:
        raise NotApplicable("the registry lists no implementations")
    for variant in bench.announcement.variants:
        if variant.implementation not in bench.implementations:
            raise Nonconformance(f"it announces {variant.implementation}, which is not listed")


@RULES.of_worker
def hello_again(bench: Trials) -> None:
    """`hello 1` is answered the same each time."""
    if bench.worker.hello() != bench.worker.hello():
        raise Nonconformance("two announcements differ")


@RULES.of_worker
def hello_version(bench: Trials) -> None:
    """A version that the worker does not speak is an error."""
    bench.refuses(b"hello 999999\n")


@RULES.of_worker
def unknown_request(bench: Trials) -> None:
    """An unknown request is answered by one error line."""
    for text in (b"frobnicate\n", b"frobnicate 1 2 3\n", b"HELLO 1\n", b"end\n"):
        bench.refuses(text)


@RULES.of_worker
def garbage(bench: Trials) -> None:
    """A line of garbage is answered by one error line, and no more."""
    for text in (
        b"\n",
        b" \n",
        b"\x00\x01\x7f\n",
        b"\xc3\xa9 \xff\xfe\n",
        b"x" * 100_000 + b"\n",
        b"hello\n",
    ):
        bench.refuses(text)


@RULES.of_worker
def unknown_job(bench: Trials) -> None:
    """`answer`, `measure` and `forget` of an unknown job are errors."""
    unknown = (b"answer 4711\n", b"measure 4711 1 1 0\n", b"forget 4711\n")
    malformed = (b"answer\n", b"answer x\n", b"measure 4711\n", b"measure 4711 1 x 0\n")
    for text in (*unknown, *malformed):
        bench.refuses(text)


@RULES.of_worker
def malformed_prepare(bench: Trials) -> None:
    """A malformed `prepare` is read through its `end` and is one error."""
    cell, operation = _any_cell(bench)
    head = [f"variant {cell.variant.id}", f"set {cell.set}", f"operation {operation}"]
    bench.refuses("\n".join(["prepare x", *head, "end\n"]).encode())
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
        bench.refuses("\n".join(["prepare 1", *lines, "end\n"]).encode())


@RULES.of_worker
def jobs(bench: Trials) -> None:
    """Jobs are kept side by side, replaced and forgotten, each by its number."""
    cell, operation = _any_cell(bench)
    worker, variant = bench.worker, cell.variant.id

    seeds = {5: _THIRD_SEED, 6: _OTHER_SEED, 7: _THIRD_SEED}
    first, second, third = (bench.good_input(cell, operation, n, s) for n, s in seeds.items())
    worker.prepare(1000, variant, cell.set, operation, [first])
    worker.prepare(18446744073709551615, variant, cell.set, operation, [second, third])
    if list(worker.answer(1000)) != [5] or len(worker.answer(18446744073709551615)) != 2:
        raise Nonconformance("two jobs were not kept side by side")
    worker.prepare(1000, variant, cell.set, operation, [third, first])
    worker.answer(1000)
    worker.forget(1000)
    bench.refuses(b"answer 1000\n")
    worker.answer(18446744073709551615)
    worker.forget(18446744073709551615)


@RULES.of_worker
def no_inputs(bench: Trials) -> None:
    """A job without inputs is answered by `done` alone."""
    cell, operation = _any_cell(bench)
    with bench.job(cell, operation, []) as worker:
        worker.answer(1)
        worker.measure(1, 2, 1, 0)


def _any_cell(bench: Trials) -> tuple[Subject, str]:
    for operation in OPERATIONS:
        for cell in bench.cells(operation):
            return cell, operation
    raise NotApplicable("no variant announces an operation that is timed")


# --- key generation -----------------------------------------------------------------------------


@RULES.of_cells("keygen", slow=True)
def keygen(bench: Trials, cell: Subject) -> None:
    """Keys have the set's sizes, are the seed's alone and come in order."""
    seeds = [_OTHER_SEED, _THIRD_SEED, _OTHER_SEED]
    numbers = [9, 0, 4]
    inputs = [JobInput(n, seed=cell.seed(s)) for n, s in zip(numbers, seeds, strict=True)]
    first, second, again = bench.answer(cell, "keygen", inputs)
    for output in (first, second, again):
        if output.value is None:
            raise Nonconformance(f"keygen of a good seed: `failed` {output.failure}")
        if cell.kin.encoded:
            _has_size("public key", output.value, cell.scheme.public_key_bytes)
            if output.private_key is not None:
                _has_size("private key", output.private_key, cell.scheme.private_key_bytes)
    if first.value != again.value or first.private_key != again.private_key:
        raise Nonconformance("one seed gave two different key pairs")
    if first.value == second.value and cell.scheme.seeded:
        raise Nonconformance("two seeds gave the same public key")


@RULES.of_cells("keygen")
def keygen_seed_length(bench: Trials, cell: Subject) -> None:
    """A seed that is not of the set's length is `failed`."""
    right = cell.scheme.seed_bytes
    for size in (0, right - 1, right + 1):
        bench.fails(cell, "keygen", JobInput(0, seed=bytes(size)), f"of a seed of {size} bytes")


# --- signing ------------------------------------------------------------------------------------


@RULES.of_cells("sign")
def sign(bench: Trials, cell: Subject) -> None:
    """Each announced private key form signs, in order, and the public key accepts."""
    keys, other = bench.keys(cell), bench.keys(cell, _OTHER_SEED)
    for form in _forms(cell):
        if form == ("sk",) and (keys.sk is None or other.sk is None):
            continue  # no variant here gives private keys as bytes
        messages = {9: b"first", 0: b"second", 4: b"third"}
        owners = {9: keys, 0: other, 4: keys}
        signatures = bench.values(
            cell,
            "sign",
            [cell.sign_input(n, owners[n], m, forms=form) for n, m in messages.items()],
        )
        if cell.kin.encoded:
            for signature in signatures:
                _has_size("signature", signature, cell.scheme.output_bytes)
        for (n, message), signature in zip(messages.items(), signatures, strict=True):
            _accepted(bench, cell, cell.verify_input(0, owners[n], signature, message))


@RULES.of_cells("sign")
def sign_rnd(bench: Trials, cell: Subject) -> None:
    """`rnd given` and `zero` repeat a signature, another `rnd` or `none` changes it."""
    keys = bench.keys(cell)
    job = [cell.sign_input(n, keys) for n in range(2)]
    signatures = {*bench.values(cell, "sign", job), *bench.values(cell, "sign", job)}
    if cell.deterministic and len(signatures) != 1:
        raise Nonconformance(
            f"it announces rnd {cell.variant.rnd}, and signatures of one input differ"
        )
    if not cell.deterministic and len(signatures) != 4:
        raise Nonconformance("it announces rnd none, and signatures of one input repeat")
    if not cell.kin.encoded or not cell.deterministic:
        return
    hedged = cell.sign_input(0, keys, rnd=bytes([7]) * cell.scheme.rnd_bytes)
    if cell.variant.rnd == "zero":
        bench.fails(
            cell, "sign", hedged, "with another rnd than rnd zero, which is announced, allows"
        )
    elif bench.values(cell, "sign", [hedged])[0] in signatures:
        raise Nonconformance("it announces rnd given, and another rnd gives the same signature")


@RULES.of_cells("sign")
def messages(bench: Trials, cell: Subject) -> None:
    """The empty message and one of 1 MiB are signed and accepted."""
    keys = bench.keys(cell)
    for message in (b"", bytes(range(256)) * (_LONG_MESSAGE_BYTES // 256)):
        (signature,) = bench.values(cell, "sign", [cell.sign_input(0, keys, message)])
        _accepted(bench, cell, cell.verify_input(0, keys, signature, message))


@RULES.of_cells("sign")
def context(bench: Trials, cell: Subject) -> None:
    """Contexts up to 255 bytes are signed where announced, all others are `failed`."""
    keys = bench.keys(cell)
    longest = bytes(range(CONTEXT_BYTES_MAX))
    if not cell.variant.context:
        bench.fails(
            cell,
            "sign",
            cell.sign_input(0, keys, context=b"c"),
            "with a context, where none can be,",
        )
        return
    job = [
        cell.sign_input(n, keys, context=context) for n, context in enumerate((b"", b"c", longest))
    ]
    signatures = bench.values(cell, "sign", job)
    if cell.deterministic and any(a == b for a, b in pairwise(signatures)):
        raise Nonconformance("signatures with different contexts are the same")
    for item, signature in zip(job, signatures, strict=True):
        context = item.context or b""
        _accepted(bench, cell, cell.verify_input(0, keys, signature, context=context))
    too_long = cell.sign_input(0, keys, context=longest + b"x")
    bench.fails(cell, "sign", too_long, "with a context of 256 bytes")


@RULES.of_cells("sign")
def sign_key_length(bench: Trials, cell: Subject) -> None:
    """A private key of a wrong length is `failed`."""
    if not cell.kin.encoded or "sk" not in cell.variant.private_keys:
        raise NotApplicable("no variant announces private keys as `sk`")
    sk = bench.keys(cell).sk
    if sk is None:
        raise NotApplicable(f"no variant of this worker gives private keys of {cell.set} as bytes")
    for wrong in (b"", sk[:-1], sk + b"\0"):
        item = cell.sign_input(0, Keys(b"", sk=wrong), b"", forms=("sk",))
        bench.fails(cell, "sign", item, f"with a private key of {len(wrong)} bytes")


# --- verification -------------------------------------------------------------------------------


@RULES.of_cells("verify", slow=True)
def verify(bench: Trials, cell: Subject) -> None:
    """A good signature is 01; with anything altered or of wrong length it is 00."""
    keys = bench.keys(cell)
    signature = bench.signature(cell, keys)
    _accepted(bench, cell, cell.verify_input(0, keys, signature))
    flipped = bytes([signature[0] ^ 1]) + signature[1:]
    last = signature[:-1] + bytes([signature[-1] ^ 0xFF])
    wrong = {
        "the first bit flipped": cell.verify_input(1, keys, flipped),
        "the last byte inverted": cell.verify_input(2, keys, last),
        "the last byte cut off": cell.verify_input(3, keys, signature[:-1]),
        "a byte appended": cell.verify_input(4, keys, signature + b"\0"),
        "no signature at all": cell.verify_input(5, keys, b""),
        "zeros as signature": cell.verify_input(6, keys, bytes(len(signature))),
        "ones as signature": cell.verify_input(7, keys, b"\xff" * len(signature)),
        "another message": cell.verify_input(8, keys, signature, b"massage"),
    }
    if cell.variant.context:
        wrong["another context"] = cell.verify_input(9, keys, signature, context=b"c")
        wrong["a context of 256 bytes"] = cell.verify_input(10, keys, signature, context=bytes(256))
    if cell.scheme.seeded:
        other = bench.keys(cell, _OTHER_SEED)
        wrong["another public key"] = cell.verify_input(11, other, signature)
    if keys.pk is not None:
        for number, pk in ((12, b""), (13, keys.pk[:-1]), (14, keys.pk + b"\0")):
            wrong[f"a public key of {len(pk)} bytes"] = JobInput(
                number, pk=pk, message=b"message", context=b"", signature=signature
            )
    outputs = bench.answer(cell, "verify", list(wrong.values()))
    for what, output in zip(wrong, outputs, strict=True):
        if output.value != b"\x00":
            said = "01" if output.failure is None else f"`failed` {output.failure}"
            raise Nonconformance(f"with {what} it said {said}, not 00")


# --- encapsulation ------------------------------------------------------------------------------


@RULES.of_cells("encaps")
def encaps(bench: Trials, cell: Subject) -> None:
    """The output is a ciphertext and a secret, the same again with `rnd given`, else another."""
    keys = bench.keys(cell)
    job = [cell.encaps_input(n, keys, m) for n, m in ((9, b"one"), (0, b"two"), (4, b"one"))]
    first, second, again = bench.values(cell, "encaps", job)
    for value in (first, second, again):
        _has_size("ciphertext with its secret", value, cell.scheme.output_bytes + SECRET_BYTES)
    if first == second or (first == again) != cell.deterministic:
        raise Nonconformance(
            f"it announces rnd {cell.variant.rnd}; of two m and the first one again the outputs "
            f"are {'the same' if first == second else 'different'} and "
            f"{'the same' if first == again else 'different'}"
        )
    for decapsulator in bench.able(cell, "decaps"):
        if not decapsulator.reads(keys):
            continue
        item = decapsulator.decaps_input(0, keys, first)
        if bench.values(decapsulator, "decaps", [item])[0] != first[-SECRET_BYTES:]:
            raise Nonconformance(
                f"{decapsulator.variant.id} finds another secret in its ciphertext"
            )
        break


@RULES.of_cells("encaps")
def encaps_key_length(bench: Trials, cell: Subject) -> None:
    """A public key of a wrong length is `failed`."""
    keys = bench.keys(cell)
    pk = keys.pk or b""
    for wrong in (b"", pk[:-1], pk + b"\0"):
        item = replace(cell.encaps_input(0, keys), pk=wrong)
        bench.fails(cell, "encaps", item, f"for a public key of {len(wrong)} bytes")


@RULES.of_cells("decaps")
def decaps(bench: Trials, cell: Subject) -> None:
    """Each announced private key form finds the secret; an altered ciphertext has another, which is
    no failure, and one of a wrong length is `failed`."""
    keys = bench.keys(cell)
    whole = bench.encapsulated(cell, keys)
    ciphertext, secret = whole[:-SECRET_BYTES], whole[-SECRET_BYTES:]
    for form in _forms(cell):
        if form == ("sk",) and keys.sk is None:
            continue  # no variant here gives private keys as bytes
        good = cell.decaps_input(9, keys, whole, form)
        altered = replace(good, id=0, ciphertext=bytes([ciphertext[0] ^ 1]) + ciphertext[1:])
        again = replace(good, id=4)
        found, rejected, repeated = bench.values(cell, "decaps", [good, altered, again])
        if not found == repeated == secret:
            raise Nonconformance("decapsulation does not find the secret of a good ciphertext")
        _has_size("secret", rejected, SECRET_BYTES)
        if rejected == secret:
            raise Nonconformance("an altered ciphertext has the same secret")
        for wrong in (b"", ciphertext[:-1], ciphertext + b"\0"):
            item = replace(good, ciphertext=wrong)
            bench.fails(cell, "decaps", item, f"of a ciphertext of {len(wrong)} bytes")
        for sk in (b"", (good.sk or b"")[:-1], (good.sk or b"") + b"\0") if good.sk else ():
            item = replace(good, sk=sk)
            bench.fails(cell, "decaps", item, f"with a private key of {len(sk)} bytes")


# --- measurement --------------------------------------------------------------------------------


def _measured(bench: Trials, cell: Subject, operation: str) -> None:
    first = bench.good_input(cell, operation, 3, _OTHER_SEED, b"three")
    second = bench.good_input(cell, operation, 0, _THIRD_SEED, b"none")
    if operation == "verify":  # a refusal is timed too
        second = replace(second, message=b"another")
    worker = bench.worker
    worker.prepare(1, cell.variant.id, cell.set, operation, [first, second])
    outputs = worker.answer(1)
    for passes, calls, warmup in ((1, 1, 0), (3, 2, 1)):
        began = time.monotonic_ns()
        samples = worker.measure(1, passes, calls, warmup)
        elapsed = time.monotonic_ns() - began
        for sample in samples:
            bench.check_sample(cell, operation, sample, outputs[sample.input].value or b"")
        if bench.announcement.unit == "ns":
            wall = sum(sample.wall for sample in samples)
            cpu = sum(sample.cpu or 0 for sample in samples)
            if wall > elapsed * _CLOCK_SLACK + _CLOCK_SLACK_NS:
                raise Nonconformance(
                    f"{operation}: {wall} ns in a request that took {elapsed} ns: the unit is wrong"
                )
            threads = cell.variant.threads
            if cpu > wall * threads * _CLOCK_SLACK + _CLOCK_SLACK_NS:
                raise Nonconformance(
                    f"{operation}: {cpu} ns of CPU time in {wall} ns of {threads} thread"
                )
    worker.forget(1)


def _add_measure(operation: str) -> None:
    @RULES.of_cells(operation, f"-{operation}")
    def measure(bench: Trials, cell: Subject) -> None:
        """`measure` gives passes × inputs samples in order, plausible ticks, digests of the
        outputs."""
        _measured(bench, cell, operation)


for _operation in OPERATIONS:
    _add_measure(_operation)


@RULES.of_cells("keygen")
def measure_failed(bench: Trials, cell: Subject) -> None:
    """An input that fails is `failed` in every pass, the others are timed."""
    worker = bench.worker
    job = [JobInput(0, seed=bytes(3)), JobInput(1, seed=cell.seed(_THIRD_SEED))]
    try:
        worker.prepare(1, cell.variant.id, cell.set, "keygen", job)
    except WorkerRefusal as refusal:
        raise Nonconformance(f"one bad input made the request an error: {refusal.text}") from None
    failed = [sample.failure is not None for sample in worker.measure(1, 2, 1, 0)]
    if failed != [True, False, True, False]:
        raise Nonconformance(f"of bad, good, bad, good the failed ones were {failed}")
    worker.forget(1)


add_rules(RULES)


# --- hash functions ------------------------------------------------------------------------------


@RULES.of_cells("hash")
def hash_(bench: Trials, cell: Subject) -> None:
    """The digest is that of the message, whatever its length."""
    messages = [b"", b"message", bytes(range(200)) * 5]
    inputs = [JobInput(n, message=m) for n, m in zip((9, 0, 4), messages, strict=True)]
    for message, digest in zip(messages, bench.values(cell, "hash", inputs), strict=True):
        if digest != hashlib.sha3_256(message).digest():
            raise Nonconformance(
                f"the digest of a message of {len(message)} bytes is {digest.hex()[:16]}…"
            )


# --- traces -------------------------------------------------------------------------------------


@RULES.of_cells("trace")
def trace(bench: Trials, cell: Subject) -> None:
    """A trace ends with `ok` and repeats."""
    keys = bench.keys(cell)
    job = [cell.sign_input(n, keys, bytes([n])) for n in (3, 0, 7)]
    with bench.job(cell, "trace", job) as worker:
        first, second = worker.trace(1), worker.trace(1)
    if cell.deterministic and first != second:
        texts = (", ".join(map(format_trace, traces.values())) for traces in (first, second))
        raise Nonconformance(f"the traces of one job differ: {' and '.join(texts)}")


@RULES.of_cells("z_violation")
def z_violation(bench: Trials, cell: Subject) -> None:
    """The signature has the set's size and verification refuses it."""
    keys = bench.keys(cell)
    (signature,) = bench.values(cell, "z_violation", [cell.sign_input(0, keys)])
    _has_size("signature", signature, cell.scheme.output_bytes)
    if "verify" in cell.variant.operations:
        (verdict,) = bench.values(cell, "verify", [cell.verify_input(0, keys, signature)])
        if verdict != b"\x00":
            raise Nonconformance("its own verification accepts it")


# --- the end ------------------------------------------------------------------------------------


@RULES.of_worker
def quit(bench: Trials) -> None:
    """On `quit` the worker says nothing and exits with status 0."""
    bench.fresh().quit()
    bench.worker.quit()


@RULES.of_worker
def end_of_input(bench: Trials) -> None:
    """At the end of input the worker exits with status 0."""
    bench.fresh().end_of_input()
    bench.worker.end_of_input()


def _forms(cell: Subject) -> list[tuple[str, ...]]:
    """The private key forms that the variant reads, each by itself."""
    return [(form,) for form in cell.kin.private_keys if form in cell.variant.private_keys]


def _accepted(bench: Trials, cell: Subject, item: JobInput) -> None:
    """The variant, or where it does not verify another of its worker, must accept."""
    for verifier in bench.able(cell, "verify", item.context or b""):
        (verdict,) = bench.values(verifier, "verify", [item])
        if verdict != b"\x01":
            raise Nonconformance(f"{verifier.variant.id} refused a signature of {cell.variant.id}")
        return


def _has_size(what: str, data: bytes, expected: int) -> None:
    if len(data) != expected:
        raise Nonconformance(f"a {what} of {len(data)} bytes, must be {expected}")
