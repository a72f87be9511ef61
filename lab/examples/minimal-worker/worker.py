"""A whole worker: the package dilithium-py behind the protocol of lab/workers/PROTOCOL.md."""

import re
import sys
import time
from hashlib import sha256
from importlib.metadata import version
from itertools import cycle, starmap, takewhile

from dilithium_py import ml_dsa

VARIANT = "dilithium-py:portable:compact"
HELLO = f"""worker minimal\nprotocol 1\nlanguage Python\ncompiler {" ".join(sys.version.split())}
unit ns\nclock time.perf_counter_ns\ncpu_clock time.thread_time_ns\nvariant {VARIANT}
implementation dilithium-py\nversion {version("dilithium-py")}\nbackend portable\nkey compact
family ml-dsa\nsets ML-DSA-44 ML-DSA-65 ML-DSA-87\noperations keygen sign verify\nrnd given
context yes\nprivate_keys sk\nend"""
REQUEST = r"(hello 1|(prepare|answer|forget) \d+|measure \d+ \d+ [1-9]\d* \d+)\n"
JOB = rf"variant {VARIANT}\nset ML-DSA-(44|65|87)\noperation (keygen|sign|verify)\n"
FIELD = r"(seed|sk|pk|message|context|rnd|signature) (-|[0-9a-f]+)\n"
NEEDED = {"keygen": {"seed"}, "sign": {"sk", "message", "context", "rnd"}}
NEEDED["verify"] = {"pk", "message", "context", "signature"}
jobs = {}  # by number: the inputs, each as its number and what `perform` takes


def perform(scheme, operation, f):  # the output; for keygen the public and the private key
    if operation == "keygen":
        return scheme.key_derive(f["seed"])
    if operation == "sign":
        scheme.random_bytes = lambda size: f["rnd"]
        return [scheme.sign(f["sk"], f["message"], f["context"])]
    try:
        return [bytes([scheme.verify(f["pk"], f["message"], f["signature"], f["context"])])]
    except ValueError:  # a key of a wrong length, a context too long
        return [b"\0"]


def result(number, what, calls=0):  # an input's line: its output, or the time of so many calls
    try:
        cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
        for _ in range(calls or 1):
            output = perform(*what)
        wall, cpu = time.perf_counter_ns() - wall, time.thread_time_ns() - cpu
    except ValueError as error:
        return f"failed {number} {error}"
    if calls:
        return f"sample {number} {wall} {cpu} {calls} {sha256(output[0]).hexdigest()}"
    return f"output {number} {' '.join(part.hex() for part in output)}"


def prepare(head, *inputs):  # each input as the arguments of `result`
    set_name, operation = re.fullmatch(JOB, head).groups()
    for text in inputs:
        number, fields = re.fullmatch(rf"(\d+)\n((?:{FIELD})*)", text, re.A).group(1, 2)
        f = {key: bytes.fromhex(value.strip("-")) for key, value in re.findall(FIELD, fields)}
        if len(f) < fields.count("\n") or not f.keys() >= NEEDED[operation]:
            raise ValueError("a field is missing or given twice")
        yield number, (getattr(ml_dsa, f"ML_DSA_{set_name}"), operation, f)


sys.stdin.reconfigure(errors="replace")  # bytes that are no text are an error, not the end
for line in takewhile("quit\n".__ne__, sys.stdin):
    body = "".join(takewhile("end\n".__ne__, sys.stdin)) if line.split()[:1] == ["prepare"] else ""
    try:
        word, job, *numbers = re.fullmatch(REQUEST, line, re.A)[0].split()
        reply = [HELLO if word == "hello" else f"done {job}"]
        if word == "prepare":
            jobs[job], reply = list(prepare(*body.split("input "))), [f"ready {job}"]
        elif word == "forget":
            del jobs[job]
        elif word != "hello":  # answer: one pass, no warm-up, no time
            passes, calls, warmup = map(int, numbers or "100")
            end = time.perf_counter_ns() + warmup
            for _ in starmap(result, cycle(jobs[job] if calls else [])):
                if time.perf_counter_ns() >= end:
                    break
            reply = [result(*item, calls) for item in jobs[job] * passes] + reply
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reply = [f"error not a request, or of no job that is here: {error!a}"]
    print(*reply, sep="\n", flush=True)
