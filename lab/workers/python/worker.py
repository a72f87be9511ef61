"""The worker of Python's packages: it performs and times their operations for the lab, as
lab/workers/PROTOCOL.md defines. A package that is not installed is left out."""

import re
import sys
import time
from contextlib import suppress
from functools import partial
from hashlib import sha256

from packages import installed

# For each operation the fields that an input has, and those that it may have.
FIELDS = {
    "keygen": ({"seed"}, set()),
    "sign": ({"message", "context"}, {"seed", "sk", "pk", "rnd"}),
    "verify": ({"pk", "message", "context", "signature"}, set()),
    "encaps": ({"pk"}, {"rnd"}),
    "decaps": ({"ciphertext"}, {"seed", "sk", "pk"}),
}
ZERO = bytes(32)


class Item:
    """An input made ready: a call, or why there is none."""

    def __init__(self, package, name, operation, fields):
        self.operation = operation
        self.package = package
        try:
            forms = package.private_keys.split()
            if operation in ("sign", "decaps") and not fields.keys() & set(forms):
                raise ValueError(f"it reads private keys as {' or '.join(forms)} alone")
            if operation == "sign" and package.rnd == "zero" and fields["rnd"] != ZERO:
                raise ValueError("rnd must be zero")
            if package.context == "no" and fields.get("context"):
                raise ValueError("the context must be empty")
            self.call = getattr(package, operation)(name, fields)
        except Exception as error:
            self.call = partial(self.fail, error)

    @staticmethod
    def fail(error):
        raise error

    def timed(self, calls):
        """Wall and CPU ticks of so many calls, and the last one's outputs, encoded."""
        call = self.call
        cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
        for _ in range(calls):
            try:
                output = call()
            except Exception as error:  # whatever a package raises
                output = error
        wall, cpu = time.perf_counter_ns() - wall, time.thread_time_ns() - cpu
        refused = isinstance(output, Exception)
        if self.operation == "verify":
            return wall, cpu, (b"\0" if refused or output is False else b"\1",)
        if refused:
            raise output
        match self.operation:
            case "keygen":
                outputs = self.package.encoded(output)
            case "encaps":
                outputs = (self.package.joined(output),)
            case _:
                outputs = (output,)
        return wall, cpu, outputs


class Worker:
    def __init__(self, name, packages):
        self.name = name
        self.packages = packages
        self.jobs = {}  # by number: the inputs' numbers and items

    def hello(self, number):
        if number != 1:
            raise ValueError("this worker speaks version 1 of the protocol")
        head = (
            f"worker {self.name}\nprotocol 1\nlanguage Python\n"
            f"compiler {' '.join(sys.version.split())}\nunit ns\n"
            "clock time.perf_counter_ns\ncpu_clock time.thread_time_ns"
        )
        return [head, *(package.announce() for package in self.packages.values()), "end"]

    def prepare(self, job, lines):
        head, rest = lines[:3], lines[3:]
        keys, values = zip(*(line.split(" ") for line in head), strict=True)
        variant, name, operation = values
        package = self.packages[variant]
        known = name in package.sets and operation in package.operations.split()
        if keys != ("variant", "set", "operation") or not known:
            raise ValueError("no such variant, set or operation")
        required, optional = FIELDS[operation]
        if operation in ("sign", "encaps"):
            required = required | ({"rnd"} if package.rnd != "none" else set())
        inputs, fields = {}, None
        for line in rest:
            key, value = line.split(" ")
            if key == "input":
                number = count(value)
                if number in inputs:
                    raise ValueError("an input is given twice")
                fields = inputs[number] = {}
                continue
            if key in fields or key not in required | optional:
                raise ValueError(f"the field {key} is unknown or given twice")
            if not re.fullmatch(r"-|([0-9a-f]{2})+", value):
                raise ValueError(f"the field {key} is not hexadecimal")
            fields[key] = bytes.fromhex(value.strip("-"))
        if not all(fields.keys() >= required for fields in inputs.values()):
            raise ValueError("a field is missing")
        made = [(n, Item(package, name, operation, fields)) for n, fields in inputs.items()]
        self.jobs[job] = made
        return [f"ready {job}"]

    def answer(self, job):
        said = []
        for number, item in self.jobs[job]:
            try:
                _, _, outputs = item.timed(1)
                said.append(f"output {number} {' '.join(part.hex() or '-' for part in outputs)}")
            except Exception as error:
                said.append(failed(number, error))
        return [*said, f"done {job}"]

    def measure(self, job, passes, calls, warmup):
        if not calls:
            raise ValueError("CALLS is 0")
        items = self.jobs[job]
        end = time.perf_counter_ns() + warmup
        warm = not items
        while not warm:
            for _, item in items:
                with suppress(Exception):  # one that fails is skipped
                    item.timed(1)
                warm = time.perf_counter_ns() >= end
                if warm:
                    break
        said = []
        for _ in range(passes):
            for number, item in items:
                try:
                    wall, cpu, outputs = item.timed(calls)
                    digest = sha256(outputs[0]).hexdigest()
                    said.append(f"sample {number} {wall} {cpu} {calls} {digest}")
                except Exception as error:
                    said.append(failed(number, error))
        return [*said, f"done {job}"]

    def forget(self, job):
        del self.jobs[job]
        return [f"done {job}"]

    def reply(self, line, lines):
        """The lines that answer a request; `lines` are those between `prepare` and `end`."""
        word, *numbers = line.split(" ")
        arguments = [count(n) for n in numbers]
        if word == "prepare":
            return self.prepare(*arguments, lines)
        if word not in ("hello", "answer", "measure", "forget"):
            raise ValueError("no such request")
        return getattr(self, word)(*arguments)


def count(text):
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) >= 1 << 64:
        raise ValueError(f"{text!a} is no number")
    return int(text)


def failed(number, error):
    return f"failed {number} {' '.join(str(error).split()) or type(error).__name__}"


def main():
    worker = Worker(sys.argv[1] if sys.argv[1:] else "python", installed())
    # Bytes that are no text are an error of the request, not the worker's end.
    sys.stdin.reconfigure(encoding="ascii", errors="replace", newline="\n")
    requests = (line.rstrip("\n") for line in sys.stdin)
    for line in requests:
        if line == "quit":
            return
        lines = []
        if line.split(" ")[0] == "prepare":
            for text in requests:
                if text == "end":
                    break
                lines.append(text)
        try:
            said = worker.reply(line, lines)
        except (KeyError, TypeError, ValueError) as error:
            text = " ".join(str(error).split())
            said = [f"error not a request, or of no job or variant that is here: {text!a}"]
        print(*said, sep="\n", flush=True)


main()
