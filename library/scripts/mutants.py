"""One-token mutants of mldsa-lanes: every one must make the tests fail.

Each mutant of mutants.toml replaces one piece of source text in a copy of the working tree under
target/mutants. Tests that are likely to fail run there first, then all of them. Afterwards the text
is restored. A mutant that all of them let pass has survived: the tests have a hole. Exit code 0 if
every mutant is caught, 1 if one survives, 2 if the run itself is wrong. It is wrong if an anchor
occurs more or less often than expected, a mutant does not compile, or tests fail without mutants.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "mutants"
COPY = WORK / "tree"
TREE = COPY / "library"
SOURCE = Path("crates/mldsa-lanes/src")
# The suite and the unit tests see the library's internals; the other programs see the published package.
SUITE = ROOT / "crates/mldsa-inside/tests/suite"
TESTS = ROOT / "crates/mldsa-lanes/tests"
INSIDE = ("mldsa-inside",)
PUBLISHED = ("mldsa-lanes", "--all-features")
# What `first` may name: a module of the suite, a test that is a program of its own, or the unit tests.
LIB = "lib"
MODULES = {path.stem for path in SUITE.glob("*.rs")} - {"main"}
PROGRAMS = (
    {path.stem for path in TESTS.glob("*.rs")}
    | {path.parent.name for path in TESTS.glob("*/main.rs")}
    | {LIB}
)
# Long runs beside another implementation catch nothing that the others let pass; what reads the
# source and the documents would catch every mutant.
LEFT_OUT = ("--skip", "accumulated::", "--skip", "documents::", "--skip", "bug_06")
# A mutant may make a loop endless: so many times as long as the tests take without it, and never
# less than so many seconds; and so many for the tests without one.
PATIENCE, LEAST_LIMIT, MOST_LIMIT = 4, 120, 1800


class MutantError(Exception):
    """The run cannot say anything about the tests."""


@dataclass(frozen=True)
class Mutant:
    """`old` becomes `new` at its `at`th occurrence; `first` is the test tried first."""

    name: str
    file: str
    old: str
    new: str
    at: int = 0
    occurrences: int = 1
    first: str = "rejection_paths"
    # The target of library/verify/mldsa-fuzz whose bounded session must find it too (`--fuzz`).
    fuzz: str | None = None


def load_mutants() -> list[Mutant]:
    """The mutants of mutants.toml."""
    path = Path(__file__).with_name("mutants.toml")
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
        mutants = [Mutant(**entry) for entry in entries]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise MutantError(f"{path}: {error}") from None
    for mutant in mutants:
        if mutant.first not in MODULES | PROGRAMS:
            raise MutantError(f"{mutant.name}: no test is called {mutant.first}")
    return mutants


def copy_tree() -> None:
    """Copy what git tracks or would track; the dependencies that an earlier run built stay usable."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard", "library", "docs"],
        cwd=ROOT.parent,
        check=True,
        capture_output=True,
    )
    if COPY.exists():
        shutil.rmtree(COPY)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = ROOT.parent / name
        if source.is_file():
            target = COPY / name
            target.parent.mkdir(parents=True, exist_ok=True)
            # With the time of now: the last mutant's build must not count as that of the copy.
            shutil.copy(source, target)


def mutate(mutant: Mutant, text: str) -> str:
    """The file's text with the mutant in it."""
    parts = text.split(mutant.old)
    if len(parts) != mutant.occurrences + 1:
        raise MutantError(
            f"{mutant.name}: {mutant.file} has {mutant.old!r} {len(parts) - 1} times;"
            f" {mutant.occurrences} expected"
        )
    before = mutant.old.join(parts[: mutant.at + 1])
    after = mutant.old.join(parts[mutant.at + 1 :])
    return before + mutant.new + after


@dataclass(frozen=True)
class Run:
    """A test program, or a part of it."""

    program: str
    arguments: tuple[str, ...] = ()
    package: tuple[str, ...] = INSIDE

    @property
    def target(self) -> tuple[str, ...]:
        """Cargo's name of it."""
        return ("--lib",) if self.program == LIB else ("--test", self.program)

    def build(self) -> tuple[bool, str]:
        """Return whether it compiles, and Cargo's output."""
        return cargo("-p", *self.package, "--no-run", *self.target)

    def test(self, limit: float) -> tuple[bool, str]:
        """Return whether the tests pass within so many seconds, and their output."""
        return cargo("-p", *self.package, *self.target, "--", *self.arguments, limit=limit)


def whole(program: str) -> Run:
    """All tests of a program of PROGRAMS."""
    return Run(program, package=INSIDE if program == LIB else PUBLISHED)


def session(target: str) -> Run:
    """The bounded session of a fuzzing target."""
    return Run("bounded", (target, "--exact"), ("mldsa-fuzz",))


def cargo(*arguments: str, limit: float | None = None) -> tuple[bool, str]:
    """`cargo test` in the copy: whether it succeeds in time, and what it said."""
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(WORK / "build"),
        # Building takes most of the time of a mutant, so build less well.
        "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
        "CARGO_PROFILE_TEST_DEBUG": "0",
        "RUST_BACKTRACE": "0",
    }
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            ["cargo", "test", "--locked", "-q", *arguments],
            cwd=TREE,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            succeeded = process.wait(limit) == 0
        except BaseException as error:
            # The test program too, not just Cargo.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            succeeded = False
        output.seek(0)
        return succeeded, output.read()


def runs(mutant: Mutant, fuzz: bool) -> Iterator[Run]:
    """Return the programs to try, in order: the likely one, then everything; or only a session."""
    first = mutant.first
    if fuzz and mutant.fuzz:
        yield session(mutant.fuzz)
        return
    if first in MODULES:
        yield Run("suite", (f"{first}::", *LEFT_OUT))
    else:
        yield whole(first)
    yield Run("suite", LEFT_OUT)
    yield from (whole(program) for program in sorted(PROGRAMS - {first}))


def check_unchanged(mutants: list[Mutant], fuzz: bool) -> float:
    """Fail if a test fails without any mutant; return the longest time that one takes."""
    longest = 0.0
    if fuzz:
        first = [session(target) for target in sorted({mutant.fuzz or "" for mutant in mutants})]
    else:
        programs = sorted(PROGRAMS & {mutant.first for mutant in mutants})
        first = [Run("suite", LEFT_OUT), *(whole(program) for program in programs)]
    for run in first:
        built, output = run.build()
        if not built:
            raise MutantError(f"the tree as it is does not compile\n{output}")
        started = time.monotonic()
        passed, output = run.test(MOST_LIMIT)
        if not passed:
            raise MutantError(f"{run.program} fails without any mutant, or does not end\n{output}")
        longest = max(longest, time.monotonic() - started)
    return longest


def caught_by(mutant: Mutant, limit: float, fuzz: bool) -> str | None:
    """The test that fails, or None if all pass."""
    for number, run in enumerate(runs(mutant, fuzz)):
        built, output = run.build()
        if not built:
            raise MutantError(f"{mutant.name}: does not compile\n{output}")
        if not run.test(limit)[0]:
            if fuzz:
                return f"the session of {mutant.fuzz}"
            return mutant.first if number == 0 else run.program
    return None


def check_anchors(mutants: list[Mutant]) -> None:
    """Fail before the long run if the source has moved on."""
    problems = []
    for mutant in mutants:
        try:
            mutate(mutant, (TREE / SOURCE / mutant.file).read_text(encoding="utf-8"))
        except (MutantError, OSError) as error:
            problems.append(str(error))
    if problems:
        raise MutantError("\n".join(problems))


def run(mutants: list[Mutant], fuzz: bool) -> list[str]:
    """Try all; return the names of those that survive."""
    copy_tree()
    check_anchors(mutants)
    limit = max(LEAST_LIMIT, PATIENCE * check_unchanged(mutants, fuzz))
    survivors = []
    for number, mutant in enumerate(mutants, 1):
        path = TREE / SOURCE / mutant.file
        original = path.read_text(encoding="utf-8")
        started = time.monotonic()
        path.write_text(mutate(mutant, original), encoding="utf-8")
        try:
            test = caught_by(mutant, limit, fuzz)
        finally:
            path.write_text(original, encoding="utf-8")
        if test is None:
            survivors.append(mutant.name)
        verdict = f"caught by {test}" if test else "SURVIVED"
        seconds = time.monotonic() - started
        print(
            f"{number:3}/{len(mutants)} {mutant.name}: {verdict} ({seconds:.0f} s)",
            flush=True,
        )
    return survivors


def main() -> int:
    """Command line: substrings of mutant names; all mutants if there are none."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "names", nargs="*", help="run only mutants whose name contains one of these"
    )
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    parser.add_argument(
        "--fuzz",
        action="store_true",
        help="those that a bounded fuzzing session must find, against that session alone",
    )
    options = parser.parse_args()
    try:
        chosen = [
            mutant
            for mutant in load_mutants()
            if (not options.names or any(part in mutant.name for part in options.names))
            and (mutant.fuzz or not options.fuzz)
        ]
        if not chosen:
            raise MutantError("no mutant has such a name")
        if options.list:
            for mutant in chosen:
                print(f"{mutant.name} ({mutant.file})")
            return 0
        survivors = run(chosen, options.fuzz)
    except (MutantError, OSError, subprocess.SubprocessError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants caught")
    for name in survivors:
        print(f"mutants: survived: {name}", file=sys.stderr)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
