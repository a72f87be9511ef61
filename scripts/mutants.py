"""One-token mutants of mldsa-lanes: every one must make the tests fail.

Each mutant of mutants.toml replaces one piece of source text in a copy of the working tree under
target/mutants, builds the suite of tests there, runs the module that is likely to fail, then all of
them, and puts the text back. A mutant that all of them let pass has survived: the tests have a hole.
Exit code 0 if every mutant is caught, 1 if one survives, 2 if the run itself is wrong (an anchor
that is not in its file as often as it should be, a mutant that does not compile, tests that fail
without any mutant).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "mutants"
TREE = WORK / "tree"
SOURCE = Path("crates/mldsa-lanes/src")
TIME_LIMIT = 900

# The modules of tests/suite that may be named `first`: each of the others runs with all of them.
MODULES = {path.stem for path in (ROOT / "crates/mldsa-lanes/tests/suite").glob("*.rs")} - {"main"}
# It compares long runs with another implementation, and catches nothing that the others let pass.
LEFT_OUT = ("--skip", "accumulated::")


class MutantError(Exception):
    """The run cannot say anything about the tests."""


@dataclass(frozen=True)
class Mutant:
    """`old` becomes `new` at its `at`th occurrence; `first` is the module tried first."""

    name: str
    file: str
    old: str
    new: str
    at: int = 0
    of: int = 1
    first: str = "rejection_paths"


def load_mutants() -> list[Mutant]:
    """The mutants of mutants.toml."""
    path = Path(__file__).with_name("mutants.toml")
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
        mutants = [Mutant(**entry) for entry in entries]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise MutantError(f"{path}: {error}") from None
    for mutant in mutants:
        if mutant.first not in MODULES:
            raise MutantError(f"{mutant.name}: the suite has no module {mutant.first}")
    return mutants


def copy_tree() -> None:
    """Copy what git tracks or would track; a build of an earlier run stays usable."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    if TREE.exists():
        shutil.rmtree(TREE)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = ROOT / name
        if source.is_file():
            target = TREE / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def mutate(mutant: Mutant, text: str) -> str:
    """The file's text with the mutant in it."""
    parts = text.split(mutant.old)
    if len(parts) != mutant.of + 1:
        raise MutantError(
            f"{mutant.name}: {mutant.file} has {mutant.old!r} {len(parts) - 1} times;"
            f" {mutant.of} expected"
        )
    before = mutant.old.join(parts[: mutant.at + 1])
    after = mutant.old.join(parts[mutant.at + 1 :])
    return before + mutant.new + after


def cargo(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`cargo test` of the suite in the copy."""
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(WORK / "build"),
        # Building takes most of the time of a mutant, so build less well.
        "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
        "CARGO_PROFILE_TEST_DEBUG": "0",
        "RUST_BACKTRACE": "0",
    }
    return subprocess.run(
        ["cargo", "test", "--locked", "-q", "-p", "mldsa-lanes", "--test", "suite", *arguments],
        cwd=TREE,
        env=environment,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIME_LIMIT,
    )


def caught_by(mutant: Mutant | None) -> str | None:
    """What fails: a module, `the suite`, or None if all pass."""
    built = cargo("--no-run")
    if built.returncode != 0:
        name = mutant.name if mutant else "the tree as it is"
        raise MutantError(f"{name}: does not compile\n{built.stdout}")
    tries = {"the suite": LEFT_OUT}
    if mutant:
        tries = {mutant.first: (f"{mutant.first}::",)} | tries
    for name, tests in tries.items():
        try:
            if cargo("--", *tests).returncode != 0:
                return name
        except subprocess.TimeoutExpired:
            return f"{name} (time limit)"
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


def run(mutants: list[Mutant]) -> list[str]:
    """Try all; return the names of those that survive."""
    copy_tree()
    check_anchors(mutants)
    failed = caught_by(None)
    if failed is not None:
        raise MutantError(f"{failed} fails without any mutant")
    survivors = []
    for number, mutant in enumerate(mutants, 1):
        path = TREE / SOURCE / mutant.file
        original = path.read_text(encoding="utf-8")
        started = time.monotonic()
        path.write_text(mutate(mutant, original), encoding="utf-8")
        try:
            test = caught_by(mutant)
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
    options = parser.parse_args()
    try:
        chosen = [
            mutant
            for mutant in load_mutants()
            if not options.names or any(part in mutant.name for part in options.names)
        ]
        if not chosen:
            raise MutantError("no mutant has such a name")
        if options.list:
            for mutant in chosen:
                print(f"{mutant.name} ({mutant.file})")
            return 0
        survivors = run(chosen)
    except (MutantError, OSError, subprocess.SubprocessError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants caught")
    for name in survivors:
        print(f"mutants: survived: {name}", file=sys.stderr)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
