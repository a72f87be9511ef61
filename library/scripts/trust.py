"""make trust: a bounded version of the evidence for mldsa-lanes, in one table (docs/trust.md).

Runs the commands below, the emulators next to the others, and reports how each ends. It prints a
table of the evidence, the backends that it covers, and its figure. What a missing tool prevents is
in the table as left out. Exit code 1 if anything failed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "target" / "trust"
# Of the library as it is published.
TESTS = ("cargo", "test", "--locked", "-p", "mldsa-lanes", "--all-features")
COMMANDS: dict[str, tuple[str, ...]] = {
    "tests": (
        *TESTS,
        "-p",
        "mldsa-inside",
        "-p",
        "mldsa-fuzz",
        "--lib",
        "--test",
        "*",
        "--",
        "--show-output",
    ),
    "memory": (*TESTS, "--release", "--test", "memory"),
    "bounds": ("make", "bounds"),
    "ct": ("make", "ct"),
    "ct-code": (sys.executable, "scripts/ct_code"),
    "prove": (sys.executable, "proofs"),
    "miri": ("make", "miri"),
    "arm": ("make", "test-emulated", "PART=arm"),
    "s390x": ("make", "test-emulated", "PART=big-endian"),
    "x86": ("make", "test-emulated", "PART=x86"),
    "faults": (sys.executable, "scripts/mutants.py", "--fuzz"),
    "injected": ("make", "faults"),
    "supply": (sys.executable, "scripts/supply.py"),
}
# Emulators, one thread each: these run one after another beside the others.
BESIDE = ("miri", "arm", "s390x", "x86")
# Programs without which a command has nothing to run on.
NEEDS = {
    "ct": ("valgrind", "objdump"),
    "ct-code": ("c++filt", "addr2line", "aarch64-linux-gnu-gcc"),
    "miri": ("rustup",),
    "arm": ("qemu-aarch64", "aarch64-linux-gnu-gcc"),
    "s390x": ("qemu-s390x", "s390x-linux-gnu-gcc"),
    "x86": ("bochs",),
}


def passed(pattern: str) -> Callable[[str], str | None]:
    """How many tests passed whose name begins so; None if none did."""

    def count(output: str) -> str | None:
        number = len(re.findall(rf"^test (?:{pattern})\S* \.\.\. ok$", output, re.MULTILINE))
        return f"{number} tests" if number else None

    return count


def matching(pattern: str, shown: str = r"\1") -> Callable[[str], str | None]:
    """Return a function for the pattern's last match, in the form of ``shown``; None without a
    match."""

    def figure(output: str) -> str | None:
        matches = list(re.finditer(pattern, output, re.MULTILINE))
        return matches[-1].expand(shown) if matches else None

    return figure


def inputs(output: str) -> str | None:
    """The inputs of all sessions."""
    counts = [int(n) for n in re.findall(r"^\w+: (\d+) inputs, seed", output, re.MULTILINE)]
    return f"{len(counts)} targets, {sum(counts):,} inputs" if counts else None


@dataclass(frozen=True)
class Row:
    """A line of the table: what ``command`` says of ``evidence``."""

    evidence: str
    command: str
    figure: Callable[[str], str | None]
    backends: str = "this CPU's"


ROWS = (
    Row("NIST ACVP", "tests", passed("acvp::")),
    Row("Wycheproof", "tests", passed("wycheproof::")),
    Row(
        "accumulated digests, published",
        "tests",
        lambda output: passed("accumulated::")(output) and "10,000 keys and signatures a set",
    ),
    Row("literal oracle: keys, signatures, traces", "tests", passed("oracle_agreement::")),
    Row(
        "every rejection path, ω, all 821 attempts",
        "tests",
        passed("rejection_paths::|batch::limit"),
    ),
    Row("past bugs of others", "tests", passed("past_bugs_")),
    Row("bad input: error or verdict, no panic", "tests", passed("bad_input::")),
    Row("batches against single calls", "tests", passed("batch::(?!limit)|batch_")),
    Row("kernels against portable", "tests", passed("backend::|kernels::")),
    Row(
        "bounds of kernels, every operation, by intervals",
        "bounds",
        matching(r"^bounds: (.*)$"),
        "portable, neon, avx2, avx512",
    ),
    Row("rounding, reductions, packing: all inputs", "bounds", passed(r"backend::\S*_kernels")),
    Row("fuzzing targets: corpora, short sessions", "tests", inputs),
    Row("soak: memory flat", "tests", matching(r"memory: (.*): flat$")),
    Row(
        "secrets left in stack, heap, freed memory",
        "memory",
        matching(r"test result: ok\. (\d+) passed", r"\1 tests"),
    ),
    Row(
        "no branch, index or division by a secret",
        "ct",
        matching(r"secret: (\d+ functions)"),
        "portable, avx2",
    ),
    Row(
        "the same in compiled kernels, read",
        "ct-code",
        matching(r"secret in (\d+ functions) .*; (\d+) leaks", r"\1, \2 planted leaks found"),
        "avx2, avx512, neon, neon-sha3",
    ),
    Row(
        "undefined behaviour (Miri)",
        "miri",
        matching(r"test result: ok\. (\d+) passed", r"\1 tests"),
        "portable",
    ),
    Row("Arm, emulated", "arm", passed(""), "neon, neon-sha3"),
    Row("big-endian CPU, emulated", "s390x", passed(""), "portable"),
    Row("AVX-512, emulated", "x86", passed(""), "avx512"),
    Row(
        "compiled kernels, for all inputs",
        "prove",
        matching(r"prove: (\d+ statements about \d+ functions)"),
        "all",
    ),
    Row("planted faults found by the sessions", "faults", matching(r"(\d+ of \d+) mutants")),
    Row(
        "faults injected, nothing wrong from the hardened mode",
        "injected",
        matching(r"hardened, portable: (\d+ faults), 0 wrong, 0 revealing"),
        "portable",
    ),
    Row(
        "dependencies, SBOM, package twice the same",
        "supply",
        matching(r"supply: (\d+ crates)"),
        "–",
    ),
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command: its output, or the reason why it was skipped."""

    output: str
    failed: bool = False
    left_out: str = ""


def run(name: str) -> Outcome:
    """Runs a command; its output is kept in target/trust."""
    if name == "x86" and re.search(r"\bavx512bw\b", Path("/proc/cpuinfo").read_text()):
        return Outcome("", left_out="this CPU has it")
    missing = [tool for tool in NEEDS.get(name, ()) if shutil.which(tool) is None]
    if missing:
        return Outcome("", left_out=f"{', '.join(missing)} missing")
    done = subprocess.run(
        COMMANDS[name], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    (LOGS / f"{name}.log").write_text(done.stdout, encoding="utf-8")
    return Outcome(done.stdout, done.returncode != 0)


def line(row: Row, outcome: Outcome, here: str) -> tuple[str, str, str]:
    """A row's cells."""
    backends = here if row.backends == "this CPU's" else row.backends
    figure = None if outcome.failed else row.figure(outcome.output)
    if outcome.left_out:
        figure = f"left out: {outcome.left_out}"
    return row.evidence, backends, figure or "FAILED"


def run_all(names: Iterable[str]) -> dict[str, Outcome]:
    """Runs commands one after another and tells how each ended."""
    outcomes = dict[str, Outcome]()
    for name in names:
        begun = time.monotonic()
        outcomes[name] = outcome = run(name)
        verdict = "failed" if outcome.failed else outcome.left_out or "passed"
        print(f"trust: {name}: {verdict}, {time.monotonic() - begun:.0f} s", flush=True)
        for test in re.findall(r"^test (\S+) \.\.\. FAILED$", outcome.output, re.MULTILINE):
            print(f"trust: {name}: {test} failed", flush=True)
    return outcomes


def main() -> int:
    """Runs all and prints the table."""
    LOGS.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with ThreadPoolExecutor() as threads:
        others = threads.submit(run_all, BESIDE)
        outcomes = run_all(name for name in COMMANDS if name not in BESIDE)
        outcomes |= others.result()
    here = matching(r"backends (portable.*)$")(outcomes["tests"].output) or "?"
    cells = [line(row, outcomes[row.command], here) for row in ROWS]
    widths = [max(len(cell[i]) for cell in cells) for i in range(3)]
    print()
    for cell in cells:
        print(
            "  ".join(text.ljust(width) for text, width in zip(cell, widths, strict=True)).rstrip()
        )
    print(f"\ntrust: {(time.monotonic() - start) / 60:.0f} minutes; what was said is in {LOGS}")
    failed = [evidence for evidence, _, figure in cells if figure == "FAILED"]
    for evidence in failed:
        print(f"trust: FAILED: {evidence}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
