"""make prove: proofs of compiled functions for all inputs, and mutants of the same code that must be refused.

    python proofs [--machine x86_64|aarch64]... [--mutants 22] [--jobs 2]
    python proofs --read PROGRAM     # a program that is there; repeatable

Prints a table: each function with its instructions, those that the proofs run, its bytes, statements and seconds of
CPU time, and its mutants: with a wrong result, refused for another reason, proved equal (a store that nobody reads
was left out), not refused by the few patterns that are tried. library/evidence/proofs.md says what is trusted. Exit code 1 where anything is not proved, 2 if something is missing.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import struct
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts/ct_code"))

try:
    import elf
    import kernels
    import sampling
    from compiled import INSIDE, Code, Statement, Verdict, build_inside, code_of, judge
    from keccak import ENTRIES, Permutation, function_of, unlisted
    from program import TARGETS, build, buildable
    from terms import NotProved
    from words import Space, keccak_f
except ImportError as error:
    print(f"prove: {error.name} is missing: make setup-library", file=sys.stderr)
    sys.exit(2)

Job = tuple[str, Code, list[Statement]]
FAILURES = (subprocess.CalledProcessError, ValueError, OSError, struct.error)
_read = functools.cache(elf.read)


def keccak_jobs(program: elf.Program) -> tuple[list[Job], list[str]]:
    """Return the permutations with their statements, and what is missing."""
    wrong = [f"{name}: is not listed in proofs/keccak.py" for name in unlisted(program)]
    result: list[Job] = []
    for entry in ENTRIES[program.machine]:
        try:
            code = code_of(program, function_of(program, entry))
            result.append((f"Keccak {entry.name}", code, [Permutation(entry)]))
        except NotProved as error:
            wrong.append(f"{program.machine} {error}")
    return result, wrong


def work(paths: list[Path], kind: str, mutants: int) -> tuple[list[tuple[str, Verdict]], list[str]]:
    """Judge the functions of one kind in all programs: one process decides equal terms once."""
    result = []
    wrong: list[str] = []
    proved: dict[str, set[tuple[str, str]]] = {}
    for path in paths:
        is_inside = path.name == INSIDE
        if (is_inside and kind == "keccak") or (not is_inside and kind in sampling.KINDS):
            continue
        program = _read(path)
        module = sampling if kind in sampling.KINDS else kernels
        jobs, lines = keccak_jobs(program) if kind == "keccak" else module.assigned(program, kind)
        wrong += lines
        for name, code, statements in jobs:
            start = time.process_time()
            verdict = judge(name, code, statements, mutants)
            verdict.seconds = time.process_time() - start
            wrong += [f"{program.machine} {line}" for line in verdict.errors]
            result.append((program.machine, verdict))
            engine = name.split()[0].removesuffix("Sha3")
            proved.setdefault(program.machine, set()).update((engine, s.name) for s in statements)
    if kind in kernels.KINDS:
        for machine, names in proved.items():
            wrong += kernels.missing(machine, kind, names)
    return result, wrong


def row(machine: str, v: Verdict) -> str:
    what = "" if not v.errors else " NOT PROVED"
    return (
        f"{machine:8} {v.name:36} {v.instructions:6} {v.run:6} {v.size:6} {v.statements:6} {v.seconds:7.1f}"
        f" {v.wrong:6} {v.refused:6} {v.equal:5} {v.kept:4}{what}"
    )


def is_sha3() -> bool:
    """Return whether FIPS 202's steps in words.py give SHA3-256 of nothing."""
    block = [0x06, *[0] * 15, 1 << 63, *[0] * 8]
    words = keccak_f(Space(0, 0), block)[:4]  # type: ignore[arg-type]
    return b"".join(w.to_bytes(8, "little") for w in words) == hashlib.sha3_256().digest()  # type: ignore[union-attr]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="proofs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", choices=TARGETS)
    parser.add_argument(
        "--mutants", type=int, default=22, help="of each function, of slow ones a sixth"
    )
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    parser.add_argument(
        "--kind", action="append", help="keccak, a kernel's or a sampler's name; all by default"
    )
    parser.add_argument(
        "--read",
        type=Path,
        action="append",
        help="a program that is there; by the name inside that of inside.rs",
    )
    options = parser.parse_args()
    # The longest first.
    every = ["combine", *reversed(sampling.KINDS), "keccak", *kernels.KINDS, *sampling.KINDS]
    kinds = options.kind or list(dict.fromkeys(every))
    wrong = [] if is_sha3() else ["FIPS 202's steps in proofs/words.py are not SHA-3's"]
    verdicts: list[Verdict] = []
    try:
        kernels.check_reduced()
        machines = options.machine or [m for m in TARGETS if buildable(m)]
        paths = options.read or [
            path for m in machines for path in (build(m, "default", None), build_inside(m))
        ]
        print("prove: the compiled kernels are FIPS 202's and FIPS 204's for all inputs")
        print(
            f"{'machine':8} {'function':36} instr.    run  bytes proofs seconds  mutants: wrong, refused, equal, not refused"
        )
        with ProcessPoolExecutor(options.jobs) as pool:
            tasks = [pool.submit(work, paths, kind, options.mutants) for kind in kinds]
            for task in tasks:
                judged, missing = task.result()
                wrong += missing
                for machine, verdict in judged:
                    verdicts.append(verdict)
                    print(row(machine, verdict), flush=True)
    except (*FAILURES, NotProved) as error:
        print(f"prove: {error}", file=sys.stderr)
        return 2
    print(
        f"prove: {sum(v.statements for v in verdicts)} statements about {len(verdicts)} functions;"
        f" {sum(v.wrong + v.refused for v in verdicts):,} mutants are refused,"
        f" {sum(v.equal for v in verdicts)} proved equal, {sum(v.kept for v in verdicts)} not refused by parts of"
        f" the proofs; {sum(v.seconds for v in verdicts):.0f} s of CPU time"
    )
    print(sampling.SCOPE)
    if not verdicts:
        wrong.append("nothing was proved: neither x86-64 nor AArch64 can be built here")
    for line in wrong:
        print(f"prove: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
