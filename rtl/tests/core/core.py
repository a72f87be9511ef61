"""The core's model behind `driver.cpp`, for tests of what the harness does not reach: statuses, mu,
counters, several operations after one another."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mldsa_lab.checkout import find_root, run_tool
from mldsa_lab.rtl.verilator import Verilator

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
KEYGEN, LOAD_SK, SIGN, VERIFY = range(4)
(OK, REFUSED, BAD_KEY, BAD_SIGNATURE, BAD_HINT, NO_KEY, BAD_OPERAND, BAD_COMMAND) = range(8)
HERE = Path(__file__).parent


class Answer(NamedTuple):
    """What an operation ended with: status, cycles, rejections by the first failing check."""

    status: int
    load: int
    compute: int
    store: int
    attempts: int
    rejected: tuple[int, int, int, int]
    packets: list[bytes]


class Core:
    """A running model. `stalls`: the seed of random stalls, 0 for none."""

    def __init__(self, program: Path, stalls: int = 0) -> None:
        self.stalls = stalls
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        """Ends it."""
        self._process.communicate()

    def line(
        self,
        op: int,
        set_name: str | int,
        packets: Sequence[bytes],
        mu: bool = False,
        reset: int = 0,
        pause: int = 0,
    ) -> str:
        """The driver's answer to an operation."""
        number = set_name if isinstance(set_name, int) else SETS.index(set_name)
        shown = (p.hex() or "-" for p in packets)
        words = [op, number, int(mu), self.stalls, reset, pause, *shown]
        if self.stalls:
            self.stalls += 1
        assert self._process.stdin is not None and self._process.stdout is not None
        print(*words, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().rstrip("\n")

    def run(
        self, op: int, set_name: str | int, *packets: bytes, mu: bool = False, pause: int = 0
    ) -> Answer:
        """Performs an operation. `pause`: the operand word that comes late."""
        line = self.line(op, set_name, packets, mu, pause=pause)
        assert not line.startswith("broken") and line, line
        n = line.split()
        status, load, compute, store, attempts, z, r0, ct0, hint = map(int, n[:9])
        results = [bytes.fromhex(p) for p in n[9:]]
        return Answer(status, load, compute, store, attempts, (z, r0, ct0, hint), results)

    def reset_in(self, cycle: int, op: int, set_name: str, *packets: bytes) -> bool:
        """Begins an operation and resets the core in that cycle; whether it came so far."""
        return self.line(op, set_name, packets, reset=cycle) == "reset"


def sources() -> list[str]:
    """The core for Verilator's command line: the top, waivers, packages first."""
    rtl = find_root() / "rtl"
    packages = [rtl / "core" / f"{name}_pkg.sv" for name in ("mldsa", "arith", "keccak")]
    modules = sorted(set((rtl / "core").glob("*.sv")) - set(packages))
    return ["--top-module", "mldsa_core", *map(str, [rtl / "core.vlt", *packages, *modules])]


def build(fast: bool) -> Path:
    """The model's program, made anew."""
    tool = Verilator.find()
    folder = find_root() / "target" / "rtl" / f"driver-{'fast' if fast else 'small'}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [
        tool.program, "--cc", "--exe", "--build", "-Wall", "-O3", f"-GFAST={int(fast)}",
        "--x-initial", "unique", "--x-assign", "unique", "-CFLAGS", "-std=c++17 -O1",
        "--threads", "1", "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include",
        "--Mdir", str(folder), "-o", "driver", *sources(), str(HERE / "driver.cpp"),
    ]  # fmt: skip
    run_tool(command, folder, tool.environment, lambda line: None)
    return folder / "driver"
