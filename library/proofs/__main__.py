"""make prove: proofs of compiled functions for all inputs, and mutants of the same code that must be refused.

    python proofs [--machine x86_64|aarch64]... [--mutants 130]
    python proofs --read PROGRAM     # a program that is there

Prints a table: each function with its instructions, bytes and seconds, and its mutants: with a wrong result,
refused for another reason, proved equal (a store that nobody reads was left out). docs/proofs.md says what
is trusted. Exit code 1 where anything is not proved, 2 if something is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import struct
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts/ct_code"))

try:
    import elf
    import keccak
    from keccak import Code
    from program import TARGETS, build, buildable
    from terms import NotProved
    from words import Space, keccak_f
except ImportError as error:
    print(f"prove: {error.name} is missing: make setup-library", file=sys.stderr)
    sys.exit(2)


def judge_mutants(code: Code, count: int) -> tuple[int, int, int]:
    """Return how many mutants have a wrong result, how many are refused otherwise, and how many are proved equal."""
    wrong = refused = equal = 0
    for seed, mutant in enumerate(keccak.mutants(code, count, seed=1)):
        why = keccak.refuted(mutant, seed)
        if not why:
            try:
                keccak.prove(mutant, code.stacks()[:1])
                equal += 1
                continue
            except NotProved as error:
                why = str(error)
        wrong += why == "result"
        refused += why != "result"
    return wrong, refused, equal


def prove(program: elf.Program, mutants: int, totals: Counter[str]) -> list[str]:
    """Print a row for each function of a program; return what was not proved."""
    wrong = [f"{name}: is not listed in proofs/keccak.py" for name in keccak.unlisted(program)]
    for entry in keccak.ENTRIES[program.machine]:
        start = time.perf_counter()
        try:
            code = keccak.code_of(program, entry)
            keccak.prove(code, code.stacks())
            if why := keccak.refuted(code, 1):
                raise NotProved(f"a run with random states contradicts the proof: {why}")
        except NotProved as error:
            wrong.append(f"{entry.name}: {error}")
            print(f"{program.machine:8} {entry.name:36} NOT PROVED", flush=True)
            continue
        seconds = time.perf_counter() - start
        result, refused, equal = judge_mutants(code, mutants)
        totals += Counter(functions=1, refused=result + refused, equal=equal)
        size = sum(i.size for i in code.instructions)
        print(
            f"{program.machine:8} {entry.name:36} {len(code.instructions):5} {size:6} {seconds:6.1f}"
            f" {result:6} {refused:5} {equal:4}",
            flush=True,
        )
    return wrong


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="proofs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", choices=TARGETS)
    parser.add_argument("--mutants", type=int, default=130, help="of each function")
    parser.add_argument("--read", type=Path, help="a program that is there")
    options = parser.parse_args()
    machines = options.machine or [m for m in TARGETS if buildable(m)]
    wrong = []
    totals: Counter[str] = Counter()
    space = Space(0, 0)
    block = [0x06, *[0] * 15, 1 << 63, *[0] * 8]
    digest = b"".join(w.to_bytes(8, "little") for w in keccak_f(space, block)[:4])  # type: ignore[union-attr, arg-type]
    if digest != hashlib.sha3_256().digest():
        wrong.append("FIPS 202's steps in proofs/words.py are not SHA-3's")
    print("prove: the compiled permutations are FIPS 202's for all states, and touch nothing else")
    print(
        f"{'machine':8} {'function':36} instr.  bytes seconds  mutants: wrong result, refused, equal"
    )
    try:
        for path in (
            [options.read] if options.read else [build(m, "default", None) for m in machines]
        ):
            wrong += prove(elf.read(path), options.mutants, totals)
    except (subprocess.CalledProcessError, ValueError, OSError, struct.error) as error:
        print(f"prove: {error}", file=sys.stderr)
        return 2
    print(
        f"prove: {totals['functions']} functions are proved; {totals['refused']:,} mutants are refused,"
        f" {totals['equal']} proved equal"
    )
    if not totals["functions"]:
        wrong.append("nothing was proved: neither x86-64 nor AArch64 can be built here")
    for line in wrong:
        print(f"prove: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
