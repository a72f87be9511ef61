"""make prove: what a machine has checked for all inputs, with mutants of the same code that it must refuse.

    python proofs [--machine x86_64|aarch64]... [--mutants 150]
    python proofs --read PROGRAM     # a program that is there

Prints a table: the property, the bytes that it is about, the seconds, and the mutants that were refused. A mutant that
does what it should, such as a store that nobody reads left out, is proved equal instead. docs/proofs.md says
what is trusted. Exit code 1 where anything is not proved, 2 if something is missing.
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts/ct_code"))

try:
    import elf
    import keccak
    from keccak import Code
    from program import TARGETS, build, buildable
    from words import NotProved
except ImportError as error:
    print(f"prove: {error.name} is missing: make setup-library", file=sys.stderr)
    sys.exit(2)


def judge_mutants(code: Code, count: int) -> tuple[int, int]:
    """Return how many mutants are refused, and how many are proved equal."""
    refused = equal = 0
    for seed, mutant in enumerate(keccak.mutants(code, count, seed=1)):
        if keccak.is_refuted(mutant, seed):
            refused += 1
            continue
        try:
            keccak.prove(mutant)
            equal += 1
        except NotProved:
            refused += 1
    return refused, equal


def prove(program: elf.Program, mutants: int) -> list[str]:
    """Print a row for each function of a program; return what was not proved."""
    wrong = []
    for entry in keccak.ENTRIES[program.machine]:
        start = time.perf_counter()
        try:
            code = keccak.code_of(program, entry)
            keccak.prove(code)
            if keccak.is_refuted(code, 1):
                raise NotProved("a run with random states contradicts the proof")
        except NotProved as error:
            wrong.append(f"{entry.name}: {error}")
            print(f"{program.machine:8} {entry.name:36} NOT PROVED", flush=True)
            continue
        seconds = time.perf_counter() - start
        refused, equal = judge_mutants(code, mutants)
        size = sum(i.size for i in code.instructions)
        print(
            f"{program.machine:8} {entry.name:36} {len(code.instructions):5} {size:6} {seconds:6.1f}"
            f" {refused:5} {equal:4}",
            flush=True,
        )
    return wrong


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="proofs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", choices=TARGETS)
    parser.add_argument("--mutants", type=int, default=150, help="of each function")
    parser.add_argument("--read", type=Path, help="a program that is there")
    options = parser.parse_args()
    machines = options.machine or [m for m in TARGETS if buildable(m)]
    wrong = []
    print("prove: the compiled permutations are FIPS 202's for all states, and touch nothing else")
    print(f"{'machine':8} {'function':36} instr.  bytes seconds  mutants refused, equal")
    try:
        for path in (
            [options.read] if options.read else [build(m, "default", None) for m in machines]
        ):
            wrong += prove(elf.read(path), options.mutants)
    except (subprocess.CalledProcessError, ValueError, OSError, struct.error) as error:
        print(f"prove: {error}", file=sys.stderr)
        return 2
    for line in wrong:
        print(f"prove: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
