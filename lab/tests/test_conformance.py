"""The conformance test passes workers that conform and names what is wrong with the others."""

import sys
from pathlib import Path

import pytest
from test_families import examined

from mldsa_lab.errors import LabError
from mldsa_lab.worker.build import Place, build, unmet
from mldsa_lab.worker.conformance import Conformance, conform_entry
from mldsa_lab.worker.registry import WorkerEntry, read_registry
from mldsa_lab.worker.worker import Limits

ROOT = Path(__file__).parents[2]
GOOD = (Path(__file__).parent / "conforming_worker.py").read_text(encoding="utf-8")
LISTED = (
    "toy", "toyzero", "toyhedged", "toyslh", "toyslhzero", "toyfn", "toykem", "toykemseed",
    "toyhash",
)  # fmt: skip
QUICK = Limits(hello=2, prepare=5, answer=5, measure=5, forget=2, quit=2)


def judge(folder: Path, source: str, *only: str) -> Conformance:
    """The findings on a worker of this source, whose signatures are worthless."""
    path = folder / "toy.py"
    path.write_text(source, encoding="utf-8")
    run = (sys.executable, "-S", str(path))
    entry = WorkerEntry("toy", "Python", ".", (), run, implementations=LISTED)
    return conform_entry(entry, folder, folder, limits=QUICK, only=only or None, known=False)


def test_conforming_worker_passes_every_check(tmp_path: Path) -> None:
    found = judge(tmp_path, GOOD)
    assert found.passed, "\n".join(found.lines())
    assert {finding.status for finding in found.findings} == {"passed"}
    names = [finding.check for finding in found.findings]
    assert len(set(names)) == len(names)
    assert found.lines()[-1] == f"worker toy: {len(names)} passed, 0 failed, 0 skipped"
    named = {check for _, _, checks, _ in DEVIATIONS.values() for check in checks.split()}
    assert set(names) == named, "every check has a deviation that fails it"


# What is altered in the conforming worker, the checks that must fail, and a part of what the first
# one shows.
DEVIATIONS = {
    "other name": ("worker toy\\n", "worker tay\\n", "hello", "it calls itself tay"),
    "no clock": ('say("clock time.monotonic_ns\\n', 'say("', "hello", "hello: clock is missing"),
    "unknown key in hello": ("language Python", "language Python\\ncolour red", "hello", "colour"),
    "not listed": (
        '"toyzero:python:compact"',
        '"toyhero:python:compact"',
        "implementations",
        "it announces toyhero, which is not listed",
    ),
    "hello once": (
        'say("end")\n',
        'say(f"note {time.monotonic_ns()}")\n    say("end")\n',
        "hello-again",
        "two announcements differ",
    ),
    "any version": ('if version != "1":', "if False:", "hello-version", "to `hello 999999`"),
    "unknown request ignored": (
        'raise ValueError("unknown request")',
        "pass",
        "unknown-request",
        "no whole reply within 2 s",
    ),
    "unknown request echoed": (
        'raise ValueError("unknown request")',
        'say("what?")',
        "unknown-request",
        "to `frobnicate` it said `what?`, not an error",
    ),
    "garbage kills": (
        "        word, *words = ",
        "        line.encode('ascii')\n        word, *words = ",
        "garbage",
        "the worker ended with status 1",
    ),
    "two errors for garbage": (
        'raise ValueError("unknown request")',
        'say("error one") or say("error two")',
        "unknown-request",
        "after `frobnicate` and its error: worker toy, request hello",
    ),
    "unknown job answered": (
        "    for i, fields in jobs[job][3]:\n        try:\n            value",
        "    for i, fields in jobs.get(job, [[]] * 4)[3]:\n        try:\n            value",
        "unknown-job",
        "to `answer 4711` it said `done 4711`",
    ),
    "malformed prepare not read through": (
        'if word == "prepare":\n            while',
        'if word == "prepare" and words[0] != "x":\n            while',
        "malformed-prepare",
        "and its error: worker toy, request hello",
    ),
    "upper case accepted": ("if text != text.lower() or", "if", "malformed-prepare", "seed AB"),
    "missing field accepted": (
        'raise ValueError("missing " + key)',
        "pass",
        "malformed-prepare",
        "",
    ),
    "one job at a time": (
        "    jobs[job] = (",
        "    jobs.clear()\n    jobs[job] = (",
        "jobs",
        "the worker refused: 1000",
    ),
    "forget keeps": ("del jobs[job]", "jobs[job]", "jobs", "to `answer 1000`"),
    "job without inputs": (
        "    began, lines = ",
        '    if not jobs[job][3]:\n        raise ValueError("no inputs")\n    began, lines = ',
        "no-inputs",
        "the worker refused: no inputs",
    ),
    "sorted answers": (
        "    for i, fields in jobs[job][3]:\n        try:\n            value",
        "    for i, fields in sorted(jobs[job][3], key=lambda x: x[0]):\n"
        "        try:\n            value",
        "keygen-again jobs",
        "in order: expected 6, got 1",
    ),
    "short public key": (
        'return mix(pk_size, b"pk"',
        'return mix(pk_size - 1, b"pk"',
        "keygen-again worker-keygen",
        "the public key has 1311 bytes, must have 1312",
    ),
    "random keys": (
        'return mix(pk_size, b"pk"',
        "return mix(pk_size, str(time.monotonic_ns()).encode()",
        "keygen-again worker-keygen",
        "the same input gave another output the second time",
    ),
    "seed ignored": (
        'return mix(pk_size, b"pk", f["seed"])',
        'return mix(pk_size, b"pk")',
        "keygen-again",
        "different inputs gave the same output",
    ),
    "seed of any length": (
        'if len(f["seed"]) != seed_size:',
        "if False:",
        "refuses-seed batch-keygen measure-failed",
        "a seed of 31 bytes: gave an output of 1312 bytes",
    ),
    "announced key form not read": (
        '"private_keys": "seed sk",',
        '"private_keys": "seed  sk",',
        "hello",
        "private_keys[1]: '' must be one of seed, sk",
    ),
    "seed announced but not read": (
        'if "seed" in f and "seed" in forms',
        "if False",
        "signs worker-trace decaps-each-key-form",
        "failed: no private key that can be read",
    ),
    "hedged though zero": (
        'own_rnd() if about["rnd"] == "none"',
        'own_rnd() if about["rnd"] != "given"',
        "signs-again signs",
        "the same input gave another output the second time",
    ),
    "deterministic though none": (
        "counter += 1",
        "counter += 0",
        "signs-again encaps-again",
        "it gave the same output twice",
    ),
    "rnd ignored though given": (
        'rnd = f.get("rnd", b"")',
        "rnd = bytes(32)",
        "signs-rnd",
        "it gave the same output twice",
    ),
    "rnd not refused": (
        'if about["rnd"] == "zero" and rnd != plain:',
        "if False:",
        "signs-rnd",
        "an rnd other than that of deterministic signing: gave an output",
    ),
    "long messages cut": (
        'mix(SIZES[set_name][2] - 32, pk, f["context"], f["message"], rnd)',
        'mix(SIZES[set_name][2] - 32, pk, f["context"], f["message"][:9999], rnd)',
        "verifies-own",
        "(message 1048576 bytes): refused, must be accepted",
    ),
    "empty message fails": (
        '    rnd = f.get("rnd", b"")',
        '    if not f["message"]:\n        raise Failed("no message")\n    rnd = f.get("rnd", b"")',
        "signs",
        "failed: no message",
    ),
    "context ignored": (
        'mix(SIZES[set_name][2] - 32, pk, f["context"],',
        'mix(SIZES[set_name][2] - 32, pk, b"",',
        "refuses-context verifies-own",
        "context: none: accepted, must be refused",
    ),
    "context though no": (
        'or (f["context"] and about["context"] == "no")',
        "",
        "refuses-long-context",
        "a context of 1 bytes: gave an output",
    ),
    "256 bytes of context": (
        'if len(f["context"]) > 255 or',
        "if",
        "refuses-long-context",
        "a context of 256 bytes: gave an output",
    ),
    "private key of any length": (
        'if len(f["sk"]) != SIZES[set_name][1]:',
        "if not f['sk']:",
        "refuses-private-key batch-sign",
        "a sk of 2559 bytes: gave an output",
    ),
    "accepts everything": (
        '(b"\\1" if verify(set_name, f) else b"\\0")',
        'b"\\1"',
        "refuses-signature refuses-c-tilde refuses-z refuses-hint refuses-message refuses-key",
        "a bit of the first byte of the signature: accepted, must be refused",
    ),
    "wrong length is an error": (
        "!= SIZES[set_name][2]:\n        return False",
        '!= SIZES[set_name][2]:\n        raise Failed("length")',
        "refuses-as-verdict",
        "the last byte cut off: it said `failed` length, not 00",
    ),
    "trailing byte ignored": (
        'len(f["signature"]) != SIZES[set_name][2]:\n        return False',
        'len(f["signature"]) < SIZES[set_name][2]:\n        return False\n'
        '    f["signature"] = f["signature"][: SIZES[set_name][2]]',
        "refuses-length refuses-as-verdict",
        "a zero byte appended: accepted, must be refused",
    ),
    "verdict as text": (
        'b"\\1" if verify',
        'b"ok" if verify',
        "verifies-worker verifies-own",
        "must be 00 or 01",
    ),
    "ciphertext without its secret": (
        '+ mix(32, b"secret", f["pk"], m)',
        "",
        "encaps decaps-own decaps-worker",
        "the output has 768 bytes, must have 800",
    ),
    "own m though given": (
        'm = own_rnd() if VARIANTS[variant]["rnd"] == "none" else f["rnd"]',
        "m = own_rnd()",
        "encaps-again encaps",
        "the same input gave another output",
    ),
    "public key of any length": (
        'if len(f["pk"]) != SIZES[set_name][0]:\n        raise Failed("public',
        'if False:\n        raise Failed("public',
        "refuses-key batch-encaps",
        "a pk of 799 bytes: gave an output",
    ),
    "ciphertext of any length": (
        'if len(c) != SIZES[set_name][2]:\n        raise Failed("ciphertext',
        'if len(c) < 32:\n        raise Failed("ciphertext',
        "refuses-length batch-decaps",
        "a ciphertext of 767 bytes: gave an output of 32 bytes",
    ),
    "no implicit rejection": (
        "good else implicit",
        "True else implicit",
        "rejects-ciphertext",
        "a bit of the first byte: the secret of implicit rejection differs",
    ),
    "digest of a part of the secret": (
        "digest = hashlib.sha256(value).hexdigest()",
        "digest = hashlib.sha256(value[:31]).hexdigest()",
        "measure-decaps measure-encaps measure-hash measure-keygen",
        "is not the SHA-256 of its output",
    ),
    "another hash": (
        'hashlib.sha3_256(f["message"])',
        'hashlib.sha256(f["message"])',
        "known-digests batch-hash",
        "0 bytes: the output differs from byte 0 on",
    ),
    "a chain that verifies what was prepared": (
        '((message, "message"), (signature, "signature"))',
        '((message, "message"),)',
        "chain",
        "the signature of the stage before is refused",
    ),
    "a block in the order of its inputs": (
        "turn * stride % count",
        "turn",
        "block",
        "is not the SHA-256 of its output",
    ),
    "a block that leaves out an input": (
        "for place in turns]",
        "for place in turns[1:]]",
        "block",
        "is not the SHA-256 of its output",
    ),
    "a block of any stride": (
        " or math.gcd(stride, count) != 1",
        "",
        "block",
        "to `block 1 1 0 1 2 0` it said `sample",
    ),
    "digest of no output at all": (
        "digest = hashlib.sha256(value).hexdigest()",
        'digest = hashlib.sha256(value or b"-").hexdigest()',
        "measure-lookup",
        "is not the SHA-256 of its output",
    ),
    "one sample too few": (
        "    for line in lines:\n",
        "    for line in lines[1:]:\n",
        "measure-keygen",
        "inputs must be answered in order",
    ),
    "passes ignored": (
        "for _ in range(passes):\n        for i, fields",
        "for _ in range(1):\n        for i, fields",
        "measure-sign",
        "the reply must have 6 lines before its last, got 2",
    ),
    "calls ignored": ("{cpu} {calls} {digest}", "{cpu} 1 {digest}", "measure-verify", "of 2 calls"),
    "no ticks": (
        "{i} {wall} {cpu}",
        "{i} 0 {cpu}",
        "measure-keygen measure-lookup",
        "a sample of no wall ticks",
    ),
    "picoseconds": (
        "{i} {wall} {cpu}",
        "{i} {wall * 1000}000 {cpu}",
        "measure-keygen",
        "the unit is wrong",
    ),
    "CPU time of another clock": (
        "cpu = time.monotonic_ns() - wall, time.thread_time_ns() - cpu",
        "cpu = time.monotonic_ns() - wall, time.time_ns()",
        "measure-keygen",
        "ns of CPU time in",
    ),
    "CPU time left out": ("{wall} {cpu}", "{wall} -", "measure-keygen", "CPU ticks must be `-`"),
    "failed stops the measurement": (
        'lines.append(f"failed {i} {error}")',
        "raise ValueError('failed') from error",
        "measure-failed",
        "the worker refused: failed",
    ),
    "trace without ok": ("z0r2 h1 ok", "z0r2 h1", "worker-trace", "and only that, must be 'ok'"),
    "z violation is accepted": (
        "return mix(len(signature), signature), None",
        "return signature, None",
        "refuses-z-norm",
        "a signature whose only fault is the norm of z: accepted",
    ),
    "rejects everything": (
        '(b"\\1" if verify(set_name, f) else b"\\0")',
        'b"\\0"',
        "verifies-own verifies-worker",
        "refused, must be accepted",
    ),
    "another secret": (
        'mix(32, b"secret", pk, c[:32]) if',
        'mix(32, b"secret", c[:32]) if',
        "decaps-own decaps-worker",
        "the secret differs from byte 0 on",
    ),
    "quit with status 3": (
        'if word == "quit":\n            return',
        'if word == "quit":\n            sys.exit(3)',
        "quit",
        "status 3 instead of status 0",
    ),
    "chatty quit": (
        'if word == "quit":\n            return',
        'if word == "quit":\n            return print("bye")',
        "quit",
        "spoke after it was told to end",
    ),
    "batch in another order": (
        "        for i, output in zip(items,",
        "        for i, output in zip(list(items)[::-1],",
        "batch-keygen",
        "inputs must be answered in order",
    ),
    "a bad input spoils its batch": (
        "    return outputs\n\n\ndef limited",
        "    bad = [o for o in outputs if isinstance(o, Failed)]\n"
        "    return bad * len(outputs) if len(bad) == 1 else outputs\n\n\ndef limited",
        "batch-keygen batch-encaps",
        "in batches of 3: input 9",
    ),
    "a batch does its first input alone": (
        "            outputs.append(perform(job, job[3][i][1]))",
        "            outputs.append(perform(job, job[3][items[0]][1]))",
        "batch-sign batch-encaps batch-decaps batch-hash",
        "in batches of 3: input 0",
    ),
    "a bad signature spoils its batch": (
        "    return outputs\n\n\ndef limited",
        "    values = [o[0] for o in outputs if not isinstance(o, Failed)]\n"
        '    bad = job[2] == "verify" and b"\\0" in values\n'
        '    return [(b"\\0", None)] * len(outputs) if bad else outputs\n\n\ndef limited',
        "batch-verify",
        "in batches of 3: input 9",
    ),
    "runs that begin at the first input": (
        "        first = place * count // runs + thread",
        "        first = thread",
        "runs-keygen runs-encaps runs-decaps runs-hash",
        "is not the SHA-256 of its output",
    ),
    "one thread for all": (
        "    for thread in range(threads):\n        first = place",
        "    for thread in range(1):\n        first = place",
        "runs-sign",
        "a loop of 2 on 2 threads: digest",
    ),
    "threads in step": (
        "        first = place * count // runs + thread * (count // threads)",
        "        first = place * count // runs",
        "runs-sign",
        "a loop of 2 on 2 threads: digest",
    ),
    "runs of any size": (
        "    if not 1 <= size <= int",
        "    if size > 10**9 + int",
        "runs-verify",
        "to `measure 1 1 1 0 loop 0 1 1` it said `sample",
    ),
    "any number of threads": (
        "    if not 1 <= threads <= int",
        "    if not 1 <= threads <= 99 * int",
        "runs-verify",
        "to `measure 1 1 1 0 loop 1 1 4` it said `sample",
    ),
    "batches that are not announced": (
        '(form == "batch" and about.get("mode") != "batch")',
        "False",
        "runs-keygen",
        "to `measure 1 1 1 0 batch 1 1 1` it said `sample",
    ),
    "a failure in a run is overlooked": (
        "        if failed:\n",
        "        outputs = [o for o in outputs if o not in failed]\n        if False:\n",
        "runs-keygen",
        "a loop of 2: runs with a bad input failed as [False, False, False",
    ),
    "hangs at the end of input": (
        "if not line:\n            return",
        "if not line:\n            time.sleep(60)",
        "end-of-input",
        "did not end within 2 s",
    ),
    "z violation cut": (
        "return mix(len(signature), signature), None",
        "return signature[1:], None",
        "z-violation",
        "the signature has 2419 bytes, must have 2420",
    ),
    "coefficients of any size": (
        'if f["pk"].startswith(b"\\xff\\xff"):',
        "if False:",
        "refuses-key",
        "a coefficient of pk above q: gave an output",
    ),
    "encoded private key misread": (
        'return f["sk"][: SIZES[set_name][3]]',
        'return f["sk"][::-1][: SIZES[set_name][3]]',
        "signs-each-key-form decaps-each-key-form",
        "a private key as",
    ),
}


def altered(name: str) -> str:
    """The source of the worker with this deviation."""
    old, new, _, _ = DEVIATIONS[name]
    assert GOOD.count(old) == 1, f"{GOOD.count(old)} places to alter"
    return GOOD.replace(old, new)


@pytest.mark.parametrize("name", DEVIATIONS)
def test_deviation_is_named(tmp_path: Path, name: str) -> None:
    _, _, checks, said = DEVIATIONS[name]
    found = judge(tmp_path, altered(name), *checks.split())
    findings = {finding.check: finding for finding in found.findings}
    failed = [findings[check] for check in checks.split()]
    assert not found.passed and {f.status for f in failed} == {"failed"}, "\n".join(found.lines())
    assert said in " ".join(failed[0].said), failed[0].said
    shown = "\n".join(found.lines())
    assert failed[0].description in shown and failed[0].said[0] in shown


@pytest.mark.parametrize(
    ("name", "variant", "check"),
    [
        ("short public key", "toy", "others-keygen"),
        ("random keys", "toyslh", "others-keygen"),
        ("seed announced but not read", "toyhedged", "signs"),
        ("hedged though zero", "toyslhzero", "signs"),
        ("encoded private key misread", "toyfn", "own-keys-verify"),
        ("context though no", "toyzero", "refuses-long-context"),
        ("private key of any length", "toy", "refuses-private-key"),
        ("accepts everything", "toyfn", "refuses-signature"),
        ("rejects everything", "toyslh", "verifies-own"),
        ("trailing byte ignored", "toy", "refuses-length"),
        ("ciphertext without its secret", "toykem", "encaps"),
        ("another secret", "toykem", "decaps-own"),
        ("no implicit rejection", "toykem", "rejects-ciphertext"),
        ("coefficients of any size", "toykem", "refuses-key"),
        ("another hash", "toyhash", "known-digests"),
    ],
)
def test_the_gate_names_deviations_too(name: str, variant: str, check: str) -> None:
    """By its own choice of the suite's checks, on inputs that a sound implementation made."""
    assert check not in {c.check for c in examined(variant, GOOD).checks if c.failed}
    exam = examined(variant, altered(name))
    assert check in {c.check for c in exam.checks if c.failed}, exam.reason


def test_what_is_no_worker_is_judged_by_hello_alone(tmp_path: Path) -> None:
    found = judge(tmp_path, "print('Usage: toy FILE')")
    assert [finding.check for finding in found.findings] == ["hello"] and not found.passed
    entry = WorkerEntry("none", "Python", ".", (), ("/no/such/program",))
    found = conform_entry(entry, tmp_path, tmp_path, limits=QUICK)
    assert not found.passed and "cannot run" in found.findings[0].said[0]


def test_unknown_check_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="unknown conformance check `speed`; known are hello, "):
        judge(tmp_path, GOOD, "speed")


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(e, id=e.name, marks=[] if e.name == "rust" else pytest.mark.toolchain)
        for e in read_registry(ROOT / "workers" / "registry.toml")
    ],
)
def test_workers_of_this_repository_conform(entry: WorkerEntry) -> None:
    """Every registered worker, built here; skipped where a tool is missing or it is not set up."""
    place = Place.of(ROOT)
    if lacking := unmet(entry, place):
        pytest.skip("; ".join(lacking))
    build(entry, place, lambda line: None)
    # What both of its parts do has been looked at.
    only = ("hello", "implementations", "chain") if entry.name == "rust-all" else ()
    found = conform_entry(entry, place.root, place.target, only=only)
    assert found.passed, "\n".join(found.lines())
