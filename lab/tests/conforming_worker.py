"""A conforming worker of a toy signature, as the source that the conformance tests alter.

Its signatures, and the ciphertexts of a toy KEM, are hashes under the public key: worthless, but
sized and behaving as the protocol asks, which is what the conformance test is about. Run by itself
it speaks the protocol.
"""

import contextlib
import hashlib
import math
import sys
import time

# Bytes of public key, private key, signature or ciphertext, seed, and rnd other than the plain one.
SIZES = {
    "ML-DSA-44": (1312, 2560, 2420, 32, 32),
    "SLH-DSA-SHA2-128f": (32, 64, 17088, 48, 16),
    "SLH-DSA-SHA2-128s": (32, 64, 7856, 48, 16),
    "FN-DSA-512": (897, 1345, 666, 32, 0),
    "ML-KEM-512": (800, 1632, 768, 64, 32),
}
SETS = {
    "ml-dsa": ["ML-DSA-44"],
    "slh-dsa": ["SLH-DSA-SHA2-128f", "SLH-DSA-SHA2-128s"],
    "fn-dsa": ["FN-DSA-512"],
    "ml-kem": ["ML-KEM-512"],
    "hash": ["SHA3-256"],
    "tls": ["TLS-X25519-ML-DSA-44"],
}
VARIANTS = {
    "toy:python:compact": {
        "rnd": "given", "context": "yes", "private_keys": "seed sk", "mode": "batch",
        "batch_size": "64", "threads": "3",
    },
    "toyzero:python:compact": {
        "rnd": "zero", "context": "no", "private_keys": "sk", "batch_size": "8",
    },
    "toyhedged:python:expanded": {"rnd": "none", "context": "yes", "private_keys": "seed"},
    "toyslh:python:compact": {"family": "slh-dsa", "rnd": "given", "context": "yes"},
    "toyslhzero:python:compact": {"family": "slh-dsa", "rnd": "zero", "context": "no"},
    "toyfn:python:compact": {
        "family": "fn-dsa", "rnd": "none", "context": "yes", "private_keys": "sk",
    },
    "toykem:python:compact": {
        "family": "ml-kem", "rnd": "given", "context": "no", "mode": "batch", "batch_size": "8",
        "threads": "2",
    },
    "toykemseed:python:expanded": {
        "family": "ml-kem", "rnd": "none", "context": "no", "private_keys": "seed",
    },
    "toyhash:python:compact": {
        "family": "hash", "rnd": "none", "context": "no", "mode": "batch", "batch_size": "8",
        "threads": "2",
    },
    "toytls:python:compact": {
        "family": "tls", "rnd": "none", "context": "no", "batch_size": "8", "threads": "2",
    },
}  # fmt: skip
FIELDS = ("seed", "sk", "pk", "message", "context", "rnd", "signature", "ciphertext")
NEEDED = {
    "keygen": "seed",
    "verify": "pk message context signature",
    "encaps": "pk",
    "decaps": "ciphertext",
    "hash": "message",
    "handshake": "",
    "accept": "",
    "lookup": "",
}
jobs = {}
counter = 0


class Failed(Exception):
    pass


def mix(size, *parts):
    state = hashlib.shake_256()
    for part in parts:
        state.update(len(part).to_bytes(4, "big") + part)
    return state.digest(size)


def family_of(variant):
    return VARIANTS[variant].get("family", "ml-dsa")


def operations_of(variant):
    if family_of(variant) == "ml-kem":
        return ("keygen", "encaps", "decaps", "lookup")
    if family_of(variant) == "hash":
        return ("hash",)
    if family_of(variant) == "tls":
        return ("handshake", "accept")
    known = ("keygen", "sign", "verify")
    return known if "family" in VARIANTS[variant] else (*known, "trace", "z_violation")


def keygen(set_name, f):
    pk_size, sk_size, _, seed_size, _ = SIZES[set_name]
    if len(f["seed"]) != seed_size:
        raise Failed("seed has a wrong length")
    sk = f["seed"] + mix(sk_size - seed_size, f["seed"])
    return mix(pk_size, b"pk", f["seed"]), sk


def private_seed(about, set_name, f):
    forms = about.get("private_keys", "seed sk")
    if "sk" in f and "sk" in forms:
        if len(f["sk"]) != SIZES[set_name][1]:
            raise Failed("private key has a wrong length")
        return f["sk"][: SIZES[set_name][3]]
    if "seed" in f and "seed" in forms:
        return f["seed"]
    raise Failed("no private key that can be read")


def own_rnd():
    global counter
    counter += 1
    return mix(32, counter.to_bytes(8, "big"))


def sign(variant, set_name, f):
    about = VARIANTS[variant]
    if len(f["context"]) > 255 or (f["context"] and about["context"] == "no"):
        raise Failed("context cannot be used")
    seed = private_seed(about, set_name, f)
    rnd = f.get("rnd", b"")
    plain = b"" if family_of(variant) == "slh-dsa" else bytes(32)
    if about["rnd"] == "zero" and rnd != plain:
        raise Failed("rnd must be that of deterministic signing")
    if about["rnd"] == "given" and rnd != plain and len(rnd) != SIZES[set_name][4]:
        raise Failed("rnd has a wrong length")
    rnd = mix(32, own_rnd() if about["rnd"] == "none" else rnd)
    pk, _ = keygen(set_name, {"seed": seed})
    return rnd + mix(SIZES[set_name][2] - 32, pk, f["context"], f["message"], rnd)


def encaps(variant, set_name, f):
    if len(f["pk"]) != SIZES[set_name][0]:
        raise Failed("public key has a wrong length")
    if f["pk"].startswith(b"\xff\xff"):
        raise Failed("a coefficient is not reduced")
    m = own_rnd() if VARIANTS[variant]["rnd"] == "none" else f["rnd"]
    if len(m) != 32:
        raise Failed("m has a wrong length")
    return m + mix(SIZES[set_name][2] - 32, f["pk"], m) + mix(32, b"secret", f["pk"], m)


def decaps(variant, set_name, f):
    seed = private_seed(VARIANTS[variant], set_name, f)
    c = f["ciphertext"]
    if len(c) != SIZES[set_name][2]:
        raise Failed("ciphertext has a wrong length")
    pk, _ = keygen(set_name, {"seed": seed})
    good = c[32:] == mix(len(c) - 32, pk, c[:32])
    implicit = hashlib.shake_256(seed[32:] + c).digest(32)  # FIPS 203 Algorithm 18
    return mix(32, b"secret", pk, c[:32]) if good else implicit


def verify(set_name, f):
    if len(f["pk"]) != SIZES[set_name][0] or len(f["signature"]) != SIZES[set_name][2]:
        return False
    if len(f["context"]) > 255:
        return False
    rnd = f["signature"][:32]
    return f["signature"][32:] == mix(
        SIZES[set_name][2] - 32, f["pk"], f["context"], f["message"], rnd
    )


def perform(job, f):
    """The output, and for keygen the private key."""
    variant, set_name, operation, _ = job
    if operation == "keygen":
        return keygen(set_name, f)
    if operation == "verify":
        return (b"\1" if verify(set_name, f) else b"\0"), None
    if operation == "encaps":
        return encaps(variant, set_name, f), None
    if operation == "decaps":
        return decaps(variant, set_name, f), None
    if operation == "hash":
        return hashlib.sha3_256(f["message"]).digest(), None
    if operation in ("handshake", "accept"):
        return bytes.fromhex("03041302001d"), None
    if operation == "lookup":
        return b"", None
    signature = sign(variant, set_name, f)
    if operation == "z_violation":
        return mix(len(signature), signature), None
    return signature, None


def hexa(data):
    return data.hex() or "-"


def unhex(text):
    if text == "-":
        return b""
    if text != text.lower() or len(text) % 2 or not text:
        raise ValueError("not hexadecimal")
    return bytes.fromhex(text)


def say(line):
    sys.stdout.write(line + "\n")


def number(text):
    if not text.isascii() or not text.isdigit():
        raise ValueError("not a number")
    return int(text)


def hello(version):
    if version != "1":
        raise ValueError("unknown version")
    say("worker toy\nprotocol 1\nlanguage Python\ncompiler CPython\nunit ns")
    say("clock time.monotonic_ns\ncpu_clock time.thread_time_ns\nchains yes\nblocks yes")
    for name, about in VARIANTS.items():
        implementation, backend, key = name.split(":")
        say(f"variant {name}\nimplementation {implementation}\nversion 1\nbackend {backend}")
        family = family_of(name)
        say(f"key {key}\nfamily {family}\nsets {' '.join(SETS[family])}")
        say(f"operations {' '.join(operations_of(name))}")
        for item in about.items():
            if item[0] != "family":
                say(" ".join(item))
    say("end")


def prepare(words, lines):
    (job,) = map(number, words)
    head = [line.partition(" ") for line in lines[:3]]
    if [key for key, _, _ in head] != ["variant", "set", "operation"]:
        raise ValueError("malformed head")
    variant, set_name, operation = (value for _, _, value in head)
    if set_name not in SETS[family_of(variant)] or operation not in operations_of(variant):
        raise ValueError("not announced")
    inputs = []
    for line in lines[3:]:
        key, _, value = line.partition(" ")
        if key == "input":
            inputs.append((number(value), {}))
        elif key in FIELDS:
            inputs[-1][1][key] = unhex(value)
        else:
            raise ValueError("unknown field")
    for _, fields in inputs:
        for key in NEEDED.get(operation, "message context").split():
            if key not in fields:
                raise ValueError("missing " + key)
    jobs[job] = (variant, set_name, operation, inputs)
    say(f"ready {job}")


def batches(job, items):
    """The outputs of each item by its position, performed together; failures stay alone."""
    outputs = []
    for i in items:
        try:
            outputs.append(perform(job, job[3][i][1]))
        except Failed as error:
            outputs.append(error)
    return outputs


def limited(job, form, size, threads):
    about = VARIANTS[job[0]]
    if form not in ("loop", "batch") or (form == "batch" and about.get("mode") != "batch"):
        raise ValueError("no such form")
    if not 1 <= size <= int(about.get("batch_size", 1)):
        raise ValueError("no such size")
    if not 1 <= threads <= int(about.get("threads", 1)):
        raise ValueError("no so many threads")


def answer_in_batches(words):
    job, size = number(words[0]), number(words[2])
    limited(jobs[job], words[1] if words[1] == "batch" else "none", size, 1)
    inputs = jobs[job][3]
    for start in range(0, len(inputs), size):
        items = range(start, min(start + size, len(inputs)))
        for i, output in zip(items, batches(jobs[job], items), strict=True):
            if isinstance(output, Failed):
                say(f"failed {inputs[i][0]} {output}")
            else:
                value, private = output
                say(
                    f"output {inputs[i][0]} {hexa(value)}"
                    + (f" {hexa(private)}" if private else "")
                )
    say(f"done {job}")


def run_once(job, size, place, runs, threads):
    """All outputs of a run, thread after thread."""
    count = len(job[3])
    made = []
    for thread in range(threads):
        first = place * count // runs + thread * (count // threads)
        made += batches(job, [(first + j) % count for j in range(size)])
    return made


def measure_runs(words):
    job, passes, calls, warmup = map(number, words[:4])
    size, count, threads = map(number, words[5:])
    limited(jobs[job], words[4], size, threads)
    if not count:
        raise ValueError("no runs")
    inputs, replies = jobs[job][3], []
    started = time.monotonic_ns()
    while inputs and time.monotonic_ns() - started < warmup:
        run_once(jobs[job], size, 0, count, threads)
    for place in list(range(count)) * passes if inputs else []:
        first = inputs[place * len(inputs) // count][0]
        begin = time.thread_time_ns(), time.monotonic_ns()
        for _ in range(0, calls):
            outputs = run_once(jobs[job], size, place, count, threads)
        spent = time.monotonic_ns() - begin[1], time.thread_time_ns() - begin[0]
        failed = [o for o in outputs if isinstance(o, Failed)]
        if failed:
            replies.append(f"failed {first} {failed[0]}")
        else:
            digest = hashlib.sha256(b"".join(value for value, _ in outputs)).hexdigest()
            replies.append(f"sample {first} {spent[0]} {spent[1]} {calls} {digest}")
    replies.append(f"done {job}")
    say("\n".join(replies))


def answer(words):
    if len(words) == 3:
        answer_in_batches(words)
        return
    (job,) = map(number, words)
    for i, fields in jobs[job][3]:
        try:
            value, private = perform(jobs[job], fields)
            if jobs[job][2] == "trace":
                say(f"trace {i} z0r2 h1 ok")
            else:
                say(f"output {i} {hexa(value)}" + (f" {hexa(private)}" if private else ""))
        except Failed as error:
            say(f"failed {i} {error}")
    say(f"done {job}")


def measure(words):
    if len(words) == 8:
        measure_runs(words)
        return
    job, passes, calls, warmup = map(number, words)
    began, lines = time.monotonic_ns(), []
    while jobs[job][3]:
        with contextlib.suppress(Failed):
            perform(jobs[job], jobs[job][3][0][1])
        if time.monotonic_ns() - began >= warmup:
            break
    for _ in range(passes):
        for i, fields in jobs[job][3]:
            try:
                cpu, wall = time.thread_time_ns(), time.monotonic_ns()
                for _ in range(calls):
                    value, _ = perform(jobs[job], fields)
                wall, cpu = time.monotonic_ns() - wall, time.thread_time_ns() - cpu
                digest = hashlib.sha256(value).hexdigest()
                lines.append(f"sample {i} {wall} {cpu} {calls} {digest}")
            except Failed as error:
                lines.append(f"failed {i} {error}")
    for line in lines:
        say(line)
    say(f"done {job}")


def chain(words):
    passes, _, threads, *stages = map(number, words)
    stages = [stages[i : i + 4] for i in range(0, len(stages), 4)]
    listed = [jobs[job] for job, _, _, _ in stages]
    ids = [i for i, _ in listed[0][3]]
    group = max(1, *(batch for _, batch, _, _ in stages))
    if any([i for i, _ in job[3]] != ids for job in listed) or len(ids) % group or not threads:
        raise ValueError("no chain of these jobs")
    for place, (_, batch, *sources) in enumerate(stages):
        if max(sources) > place or (batch and group % batch):
            raise ValueError("no such stage")
    for job, (_, batch, _, _) in zip(listed, stages, strict=True):
        limited(job, "batch" if batch else "loop", batch or 1, threads)
    replies = []
    for _ in range(passes):
        began = time.monotonic_ns()
        for thread in range(threads):
            first = thread * (len(ids) // threads)
            for start in range(first, first + len(ids), group):
                items = [(start + j) % len(ids) for j in range(group)]
                replies.append(link(thread, ids[items[0]], listed, stages, items))
        replies.append(f"pass {time.monotonic_ns() - began}")
    say("\n".join([*replies, "done chain"]))


def block(words):
    number_, passes, batch, threads, stride, cold = map(number, words)
    job = jobs[number_]
    inputs = job[3]
    count = len(inputs)
    if not 1 <= threads <= count or math.gcd(stride, count) != 1:
        raise ValueError("no such block")
    limited(job, "batch" if batch else "loop", batch or 1, threads)
    turns = [turn * stride % count for turn in range(count)]
    for _ in range(passes):
        other = bytes(cold)
        whole = time.thread_time_ns(), time.monotonic_ns()
        values = [perform(job, inputs[place][1])[0] for place in turns]
        spent = time.monotonic_ns() - whole[1], time.thread_time_ns() - whole[0]
        digest = hashlib.sha256(b"".join(values)).hexdigest()
        say(f"sample {inputs[0][0]} {spent[0]} {spent[1]} 1 {digest}")
        del other
    say(f"done {number_}")


def link(thread, first, listed, stages, items):
    whole = time.thread_time_ns(), time.monotonic_ns()
    made, told = [], []
    for job, (_, _, message, signature) in zip(listed, stages, strict=True):
        fields = {i: dict(job[3][i][1]) for i in items}
        for source, field in ((message, "message"), (signature, "signature")):
            for i in items if source else []:
                fields[i][field] = made[source - 1][i]
        began = time.monotonic_ns()
        try:
            made.append({i: perform(job, fields[i])[0] for i in items})
        except Failed as error:
            return f"failed {first} {error}"
        spent = time.monotonic_ns() - began
        told.append(f"{spent} {hashlib.sha256(b''.join(made[-1].values())).hexdigest()}")
    spent = time.monotonic_ns() - whole[1], time.thread_time_ns() - whole[0]
    return f"link {thread} {first} {spent[0]} {spent[1]} {' '.join(told)}"


def serve():
    while True:
        line = sys.stdin.readline()
        if not line:
            return
        word, *words = line.removesuffix("\n").split(" ")
        if word == "quit":
            return
        body = []
        if word == "prepare":
            while (part := sys.stdin.readline().removesuffix("\n")) != "end":
                body.append(part)
        try:
            if word == "hello":
                hello(*words)
            elif word == "prepare":
                prepare(words, body)
            elif word == "answer":
                answer(words)
            elif word == "measure":
                measure(words)
            elif word == "chain":
                chain(words)
            elif word == "block":
                block(words)
            elif word == "forget":
                (job,) = map(number, words)
                del jobs[job]
                say(f"done {job}")
            else:
                raise ValueError("unknown request")
        except (ValueError, KeyError, IndexError, TypeError) as error:
            say("error " + " ".join(str(error).split()))
        sys.stdout.flush()


if __name__ == "__main__":
    sys.stdin.reconfigure(errors="replace")
    serve()
