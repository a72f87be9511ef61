"""The core's model behind `driver.cpp`, for tests of what the harness does not reach: statuses, mu,
counters, several operations after one another."""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mldsa_lab.checkout import find_root, run_tool
from mldsa_lab.inputs import tracing
from mldsa_lab.inputs.input import Input
from mldsa_lab_rtl.verilator import Verilator

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
KEYGEN, LOAD_SK, SIGN, VERIFY, ZEROIZE = range(5)
(OK, REFUSED, BAD_KEY, BAD_SIGNATURE, BAD_HINT, NO_KEY, BAD_OPERAND, BAD_COMMAND, LIMIT) = range(9)
OPERATIONS = ("KEYGEN", "SIGN", "VERIFY")
"""Parameters of the core, one for each operation that a configuration may leave out."""
PARTIAL = ("-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM")
"""Options of lint: a configuration without an operation has ports that only this one uses."""
HERE = Path(__file__).parent


class Answer(NamedTuple):
    """The end of an operation: status, cycles from command to response, the core's own
    counters, rejections by the first failing check."""

    status: int
    cycles: int
    load: int
    compute: int
    store: int
    attempts: int
    rejected: tuple[int, int, int, int]
    packets: list[bytes]


class Packet(NamedTuple):
    """An operand with a false count of bytes in its last word."""

    data: bytes
    last_bytes: int

    def hex(self) -> str:
        """As the driver reads it."""
        return f"{self.data.hex() or '-'}:{self.last_bytes}"


class Core:
    """A running model. `stalls`: the seed of random stalls, 0 for none. `seed`: of the first values
    of registers and memories, 0 for zeros."""

    def __init__(self, program: Path, stalls: int = 0, seed: int = 0) -> None:
        self.stalls = stalls
        self._program = program
        self._process = subprocess.Popen(
            [program, *([str(seed)] if seed else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """Ends it."""
        self._process.communicate()

    def line(
        self,
        op: int,
        set_name: str | int,
        packets: Sequence[bytes | Packet],
        mu: bool = False,
        reset: int = 0,
        pause: int = 0,
        wait: int = 0,
        zeroize: int = 0,
        attempts: int = 0,
    ) -> str:
        """The driver's answer to an operation."""
        number = set_name if isinstance(set_name, int) else SETS.index(set_name)
        shown = (p.hex() or "-" for p in packets)
        words = [op, number, int(mu), self.stalls, reset, pause, wait, zeroize, attempts, *shown]
        if self.stalls:
            self.stalls += 1
        return self._ask(*words)

    def _ask(self, *words: int | str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(*words, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().rstrip("\n")

    def run(
        self,
        op: int,
        set_name: str | int,
        *packets: bytes | Packet,
        mu: bool = False,
        pause: int = 0,
        wait: int = 0,
        attempts: int = 0,
    ) -> Answer:
        """Performs an operation. `pause`: the operand word that comes late. `wait`: cycles before
        the command. `attempts`: what the counter of attempts is set to when all operands are taken.
        """
        line = self.line(op, set_name, packets, mu, pause=pause, wait=wait, attempts=attempts)
        assert not line.startswith("broken") and line, line
        n = line.split()
        status, cycles, load, compute, store, attempts, z, r0, ct0, hint = map(int, n[:10])
        results = [bytes.fromhex(p) for p in n[10:]]
        return Answer(status, cycles, load, compute, store, attempts, (z, r0, ct0, hint), results)

    def reset_in(self, cycle: int, op: int, set_name: str, *packets: bytes) -> bool:
        """Begins an operation and resets the core in that cycle; whether it came so far."""
        return self.words_before(cycle, op, set_name, *packets) is not None

    def words_before(self, cycle: int, op: int, set_name: str, *packets: bytes) -> int | None:
        """Begins an operation and resets the core in that cycle; the result words taken before,
        None if the operation ended before."""
        line = self.line(op, set_name, packets, reset=cycle)
        assert not line.startswith("broken"), line
        return int(line.split()[1]) if line.startswith("reset") else None

    def zeroize_in(self, cycle: int, op: int, set_name: str, *packets: bytes) -> int:
        """Begins an operation and raises the input `zeroize` in that cycle; the cycles until the
        core takes a command again, 0 if the operation ended before."""
        line = self.line(op, set_name, packets, zeroize=cycle)
        assert not line.startswith("broken"), line
        return int(line.split()[1]) if line.startswith("zeroized") else 0

    def state(self) -> dict[str, bytes]:
        """Every register and memory of the model, and the signals that Verilator keeps. A value of
        up to 64 bits takes 1, 2, 4 or 8 bytes, a wider one words of 4 bytes; memories are arrays
        of these."""
        saved = bytes.fromhex(self._ask("state"))
        result: dict[str, bytes] = {}
        sizes = saved_sizes(self._program.parent)
        at = len(saved) - sum(size for _, size in sizes)  # behind Verilator's own
        for name, size in sizes:
            if "__V" not in name and "unnamedblk" not in name:  # temporaries, loop variables
                result[name.replace("__DOT__", ".")] = saved[at : at + size]
            at += size
        return result


_BYTES = {"CData": 1, "SData": 2, "IData": 4, "QData": 8}
_PORT_BYTES = {"8": 1, "16": 2, "": 4, "64": 8}
_PORT = re.compile(r"VL_(?:IN|OUT)(\d*)\(&?(\w+),")
_MEMBER = re.compile(r"^\s*((?:Vl|[CSIQ]Data/).*) (\w+);", re.MULTILINE)
_SAVED = re.compile(r"os\s*<<\s*(\w+)")


@cache
def saved_sizes(folder: Path) -> list[tuple[str, int]]:
    """The members of the model in the order in which it is saved, with their bytes: from the text
    that Verilator made."""
    text = (folder / "Vmldsa_core___024root.h").read_text(encoding="utf-8")
    sizes = {name: _PORT_BYTES[bits] for bits, name in _PORT.findall(text)}
    for kind, name in _MEMBER.findall(text):
        wide = re.search(r"VlWide<(\d+)>", kind)
        narrow = re.search(r"([CSIQ]Data)/", kind)
        if wide is None and narrow is None:
            continue
        size = 4 * int(wide[1]) if wide else _BYTES[narrow[1]] if narrow else 0
        for depth in re.findall(r", (\d+)>", kind):
            size *= int(depth)
        sizes[name] = size
    text = (folder / "Vmldsa_core___024root__Slow.cpp").read_text(encoding="utf-8")
    body = text.partition("__Vserialize(")[2].partition("\n}")[0]
    own = {"__Vcheckval", "vlSymsp"}
    return [(name, sizes[name]) for name in _SAVED.findall(body) if name not in own]


def sources() -> list[str]:
    """The core for Verilator's command line: the top, waivers, packages first."""
    rtl = find_root() / "rtl"
    packages = [rtl / "core" / f"{name}_pkg.sv" for name in ("mldsa", "arith", "keccak")]
    modules = sorted(set((rtl / "core").glob("*.sv")) - set(packages))
    return ["--top-module", "mldsa_core", *map(str, [rtl / "core.vlt", *packages, *modules])]


def parameters(fast: bool, operations: Sequence[str] = OPERATIONS) -> list[str]:
    """The options of Verilator for a configuration with these operations."""
    has = {"FAST": fast, **{name: name in operations for name in OPERATIONS}}
    return [f"-G{name}={int(value)}" for name, value in has.items()]


@cache
def build(fast: bool, operations: tuple[str, ...] = OPERATIONS) -> Path:
    """Build the model with these operations, once in each run of the tests. Return its program."""
    tool = Verilator.find()
    name = "-".join(
        ["fast" if fast else "small", *(() if operations == OPERATIONS else operations)]
    )
    folder = find_root() / "rtl" / "target" / f"driver-{name.lower()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lint = [] if operations == OPERATIONS else PARTIAL
    command = [
        tool.program, "--cc", "--exe", "--build", "-Wall", *lint, "-O3",
        *parameters(fast, operations),
        "--x-initial", "unique", "--x-assign", "unique", "--savable", "-CFLAGS", "-std=c++17 -O1",
        "--threads", "1", "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include",
        "--Mdir", str(folder), "-o", "driver", *sources(), str(HERE / "driver.cpp"),
    ]  # fmt: skip
    run_tool(command, folder, tool.environment, lambda line: None)
    return folder / "driver"


def lint(fast: bool, operations: Sequence[str]) -> None:
    """BuildError for a warning of Verilator."""
    tool = Verilator.find()
    command = [tool.program, "--lint-only", "-Wall", *PARTIAL, *parameters(fast, operations)]
    run_tool([*command, *sources()], find_root(), tool.environment, lambda line: None)


def inputs(set_name: str, count: int, seed: int = 1) -> tuple[Input, ...]:
    """Random inputs of one key, with their traces, keys and signatures."""
    draw = random.Random(f"{set_name} {seed}")
    xi = draw.randbytes(32)
    built = []
    for number in range(count):
        message = draw.randbytes(draw.choice([0, 5, 6, 70, 200]))
        built.append(Input(set_name, number, xi, message, rnd=draw.randbytes(32)))
    return tracing.load().make(set_name, built)


def m_prime(built: Input) -> bytes:
    """M' of Algorithms 2 and 3."""
    return bytes([0, len(built.context)]) + built.context + built.message


def mu(pk: bytes, built: Input) -> bytes:
    tr = hashlib.shake_256(pk).digest(64)
    return hashlib.shake_256(tr + m_prime(built)).digest(64)


def rejections(built: Input) -> tuple[int, int, int, int]:
    """How many attempts failed z first, r0 first, ct0 first, the hint alone."""
    result = [0, 0, 0, 0]
    for attempt in built.trace[:-1]:
        result[(attempt.failed & -attempt.failed).bit_length() - 1] += 1
    return tuple(result)  # type: ignore[return-value]
