"""The conformance test passes workers that conform and names what is wrong with the others."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mldsa_lab.errors import LabError
from mldsa_lab.worker.build import Place, build, unmet
from mldsa_lab.worker.conformance import conform, conform_entry
from mldsa_lab.worker.registry import WorkerEntry, read_registry
from mldsa_lab.worker.worker import Limits, Worker

ROOT = Path(__file__).parents[2]
GOOD = (Path(__file__).parent / "conforming_worker.py").read_text(encoding="utf-8")
LISTED = (
    "toy", "toyzero", "toyhedged", "toyslh", "toyslhzero", "toyfn", "toykem", "toykemseed",
    "toyhash",
)  # fmt: skip
QUICK = Limits(hello=2, prepare=5, answer=5, measure=5, forget=2, quit=2)


def starter(folder: Path, source: str) -> Callable[[], Worker]:
    path = folder / "toy.py"
    path.write_text(source, encoding="utf-8")
    return lambda: Worker.start("toy", [sys.executable, "-S", str(path)], limits=QUICK)


def test_conforming_worker_passes_every_check(tmp_path: Path) -> None:
    seen: list[str] = []
    found = conform("toy", starter(tmp_path, GOOD), implementations=LISTED, progress=seen.append)
    assert found.passed, "\n".join(found.lines())
    assert {finding.status for finding in found.findings} == {"passed"}
    assert seen == [finding.check for finding in found.findings]
    assert len(set(seen)) == len(seen)
    assert found.lines()[-1] == f"worker toy: {len(seen)} passed, 0 failed, 0 skipped"


# What is altered in the conforming worker, the check that must fail, and a part of what it shows.
DEVIATIONS = {
    "other name": ("worker toy\\n", "worker tay\\n", "hello", "it calls itself tay"),
    "no clock": (
        'say("clock time.monotonic_ns\\n',
        'say("',
        "hello",
        "hello: clock is missing",
    ),
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
    "upper case accepted": (
        "if text != text.lower() or",
        "if",
        "malformed-prepare",
        "seed AB",
    ),
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
        "keygen",
        "inputs must be answered in order: expected 9, got 0",
    ),
    "short public key": (
        'return mix(pk_size, b"pk"',
        'return mix(pk_size - 1, b"pk"',
        "keygen",
        "a public key of 1311 bytes, must be 1312",
    ),
    "random keys": (
        'return mix(pk_size, b"pk"',
        "return mix(pk_size, str(time.monotonic_ns()).encode()",
        "keygen",
        "one seed gave two different key pairs",
    ),
    "seed ignored": (
        'return mix(pk_size, b"pk", f["seed"])',
        'return mix(pk_size, b"pk")',
        "keygen",
        "two seeds gave the same public key",
    ),
    "seed of any length": (
        'if len(f["seed"]) != seed_size:',
        "if False:",
        "keygen-seed-length",
        "keygen of a seed of 0 bytes gave an output of 1312 bytes",
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
        "sign",
        "sign of a good input: `failed` no private key that can be read",
    ),
    "hedged though zero": (
        'own_rnd() if about["rnd"] == "none"',
        'own_rnd() if about["rnd"] != "given"',
        "sign-rnd",
        "it announces rnd zero, and signatures of one input differ",
    ),
    "deterministic though none": (
        "counter += 1",
        "counter += 0",
        "sign-rnd",
        "it announces rnd none, and signatures of one input repeat",
    ),
    "rnd ignored though given": (
        'rnd = f.get("rnd", b"")',
        "rnd = bytes(32)",
        "sign-rnd",
        "another rnd gives the same signature",
    ),
    "rnd not refused": (
        'if about["rnd"] == "zero" and rnd != plain:',
        "if False:",
        "sign-rnd",
        "with another rnd than",
    ),
    "long messages cut": (
        'mix(SIZES[set_name][2] - 32, pk, f["context"], f["message"], rnd)',
        'mix(SIZES[set_name][2] - 32, pk, f["context"], f["message"][:9999], rnd)',
        "messages",
        "refused a signature of toy:python:compact",
    ),
    "empty message fails": (
        '    rnd = f.get("rnd", b"")',
        '    if not f["message"]:\n        raise Failed("no message")\n    rnd = f.get("rnd", b"")',
        "messages",
        "`failed` no message",
    ),
    "context ignored": (
        'mix(SIZES[set_name][2] - 32, pk, f["context"],',
        'mix(SIZES[set_name][2] - 32, pk, b"",',
        "context",
        "signatures with different contexts are the same",
    ),
    "context though no": (
        'or (f["context"] and about["context"] == "no")',
        "",
        "context",
        "with a context, where none can be, gave an output",
    ),
    "256 bytes of context": (
        'if len(f["context"]) > 255 or',
        "if",
        "context",
        "with a context of 256 bytes gave an output",
    ),
    "private key of any length": (
        'if len(f["sk"]) != SIZES[set_name][1]:',
        "if not f['sk']:",
        "sign-key-length",
        "with a private key of 2559 bytes gave an output",
    ),
    "accepts everything": (
        '(b"\\1" if verify(set_name, f) else b"\\0")',
        'b"\\1"',
        "verify",
        "with the first bit flipped it said 01, not 00",
    ),
    "wrong length is an error": (
        "!= SIZES[set_name][2]:\n        return False",
        '!= SIZES[set_name][2]:\n        raise Failed("length")',
        "verify",
        "with the last byte cut off it said `failed` length, not 00",
    ),
    "trailing byte ignored": (
        'len(f["signature"]) != SIZES[set_name][2]:\n        return False',
        'len(f["signature"]) < SIZES[set_name][2]:\n        return False\n'
        '    f["signature"] = f["signature"][: SIZES[set_name][2]]',
        "verify",
        "with a byte appended it said 01, not 00",
    ),
    "verdict as text": ('b"\\1" if verify', 'b"ok" if verify', "verify", "must be 00 or 01"),
    "ciphertext without its secret": (
        '+ mix(32, b"secret", f["pk"], m)',
        "",
        "encaps",
        "a ciphertext with its secret of 768 bytes, must be 800",
    ),
    "own m though given": (
        'm = own_rnd() if VARIANTS[variant]["rnd"] == "none" else f["rnd"]',
        "m = own_rnd()",
        "encaps",
        "it announces rnd given; of two m and the first one again the outputs are different and",
    ),
    "public key of any length": (
        'if len(f["pk"]) != SIZES[set_name][0]:\n        raise Failed("public',
        'if False:\n        raise Failed("public',
        "encaps-key-length",
        "encaps for a public key of 0 bytes gave an output",
    ),
    "ciphertext of any length": (
        'if len(c) != SIZES[set_name][2]:\n        raise Failed("ciphertext',
        'if len(c) < 32:\n        raise Failed("ciphertext',
        "decaps",
        "decaps of a ciphertext of 767 bytes gave an output of 32 bytes",
    ),
    "no implicit rejection": (
        'mix(32, b"secret", pk, c[:32]) if good else mix(32, seed, c)',
        'mix(32, b"secret", pk, c[1:32])',
        "decaps",
        "decapsulation does not find the secret of a good ciphertext",
    ),
    "digest of the ciphertext alone": (
        "digest = hashlib.sha256(value).hexdigest()",
        "digest = hashlib.sha256(value[:768]).hexdigest()",
        "measure-encaps",
        "is not the SHA-256 of its output",
    ),
    "digest of a part of the secret": (
        "digest = hashlib.sha256(value).hexdigest()",
        "digest = hashlib.sha256(value[:31]).hexdigest()",
        "measure-decaps",
        "is not the SHA-256 of its output",
    ),
    "another hash": (
        'hashlib.sha3_256(f["message"])',
        'hashlib.sha256(f["message"])',
        "hash",
        "the digest of a message of 0 bytes is e3b0c442",
    ),
    "digest of a part of the digest": (
        "digest = hashlib.sha256(value).hexdigest()",
        "digest = hashlib.sha256(value[:31]).hexdigest()",
        "measure-hash",
        "is not the SHA-256 of its output",
    ),
    "a batch of hashes does its first input alone": (
        "            outputs.append(perform(job, job[3][i][1]))",
        '            sole = items[0] if job[2] == "hash" else i\n'
        "            outputs.append(perform(job, job[3][sole][1]))",
        "batch-hash",
        "the output of input 0 is another than alone",
    ),
    "runs of hashes that begin at the first input": (
        "        first = place * count // runs + thread",
        "        first = thread",
        "runs-hash",
        "is not the SHA-256 of its output",
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
    "no ticks": ("{i} {wall} {cpu}", "{i} 0 {cpu}", "measure-keygen", "a sample of no wall ticks"),
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
    "digest of something else": (
        "hashlib.sha256(value)",
        "hashlib.sha256(value.hex().encode())",
        "measure-sign",
        "is not the SHA-256 of its output",
    ),
    "failed stops the measurement": (
        'lines.append(f"failed {i} {error}")',
        "raise ValueError('failed') from error",
        "measure-failed",
        "the worker refused: failed",
    ),
    "trace without ok": ("z0r2 h1 ok", "z0r2 h1", "trace", "and only that, must be 'ok'"),
    "z violation is accepted": (
        "return mix(len(signature), signature), None",
        "return signature, None",
        "z-violation",
        "its own verification accepts it",
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
        "batch-keygen",
        "in batches of 3 the output of input 9 is another than alone",
    ),
    "a batch signs its first input alone": (
        "            outputs.append(perform(job, job[3][i][1]))",
        '            sole = items[0] if job[2] == "sign" else i\n'
        "            outputs.append(perform(job, job[3][sole][1]))",
        "batch-sign",
        "the output of input 0 is another than alone",
    ),
    "a batch of encaps does its first input alone": (
        "            outputs.append(perform(job, job[3][i][1]))",
        '            sole = items[0] if job[2] == "encaps" else i\n'
        "            outputs.append(perform(job, job[3][sole][1]))",
        "batch-encaps",
        "the output of input 0 is another than alone",
    ),
    "runs of encaps that begin at the first input": (
        "        first = place * count // runs + thread",
        "        first = thread",
        "runs-encaps",
        "is not the SHA-256 of its output",
    ),
    "a batch of decaps does its first input alone": (
        "            outputs.append(perform(job, job[3][i][1]))",
        '            sole = items[0] if job[2] == "decaps" else i\n'
        "            outputs.append(perform(job, job[3][sole][1]))",
        "batch-decaps",
        "the output of input 0 is another than alone",
    ),
    "runs of decaps that begin at the first input": (
        "        first = place * count // runs + thread",
        "        first = thread",
        "runs-decaps",
        "is not the SHA-256 of its output",
    ),
    "a bad signature spoils its batch": (
        "    return outputs\n\n\ndef limited",
        "    values = [o[0] for o in outputs if not isinstance(o, Failed)]\n"
        '    bad = job[2] == "verify" and b"\\0" in values\n'
        '    return [(b"\\0", None)] * len(outputs) if bad else outputs\n\n\ndef limited',
        "batch-verify",
        "in batches of 3 the output of input 9 is another than alone",
    ),
    "runs that begin at the first input": (
        "        first = place * count // runs + thread",
        "        first = thread",
        "runs-keygen",
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
        "a loop of 2: runs with a bad input failed as [False, False, False]",
    ),
    "hangs at the end of input": (
        "if not line:\n            return",
        "if not line:\n            time.sleep(60)",
        "end-of-input",
        "did not end within 2 s",
    ),
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_deviation_is_named(tmp_path: Path, name: str) -> None:
    old, new, check, said = DEVIATIONS[name]
    assert GOOD.count(old) == 1, f"{GOOD.count(old)} places to alter"
    altered = starter(tmp_path, GOOD.replace(old, new))
    found = conform("toy", altered, implementations=LISTED, only=[check])
    assert not found.passed
    (finding,) = [finding for finding in found.findings if finding.check == check]
    assert finding.status == "failed", "\n".join(found.lines())
    assert said in " ".join(finding.said), finding.said
    shown = "\n".join(found.lines())
    assert finding.description in shown and finding.said[0] in shown


def test_program_that_is_no_worker_is_judged_by_hello_alone(tmp_path: Path) -> None:
    found = conform("toy", starter(tmp_path, "print('Usage: toy FILE')"))
    assert [finding.check for finding in found.findings] == ["hello"]
    assert not found.passed


def test_every_check_has_a_deviation_that_fails_it(tmp_path: Path) -> None:
    names = {finding.check for finding in conform("toy", starter(tmp_path, GOOD)).findings}
    assert names - {check for _, _, check, _ in DEVIATIONS.values()} == set()


def test_unknown_check_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="unknown conformance check `speed`; known are hello, "):
        conform("toy", starter(tmp_path, GOOD), only=["speed"])


def test_program_that_does_not_exist() -> None:
    found = conform("none", lambda: Worker.start("none", ["/no/such/program"], limits=QUICK))
    assert not found.passed and "cannot run" in found.findings[0].said[0]


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
