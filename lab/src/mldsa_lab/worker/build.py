"""Builds of workers and their set-up, by the commands of the registry; JDKs on the machine.

`python -m mldsa_lab.worker.build [--test] WORKER...` builds the named workers: `rust` in its
default build, `rust:tuned` in another. With `--test` it runs their own tests in the same
environment, so that nothing is compiled twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from pathlib import Path

from msgspec import structs

from mldsa_lab import LabError, located
from mldsa_lab.checkout import NOT_SHIPPED, SHIPPED, BuildError, find_root, in_tree, run_tool
from mldsa_lab.files import reading, write_text, writing
from mldsa_lab.sets import build_mark
from mldsa_lab.worker.registry import (
    NAME,
    BuildDirs,
    WorkerEntry,
    ask,
    every_build,
    named,
    read_registry,
    to_name,
)

OLDEST = 17
"""The oldest Java release that the Java worker runs on."""
_MODULES = ("java.management", "java.compiler")  # clocks and settings; Eclipse's compiler
_FOLDERS = ("usr/lib/jvm/*", "Library/Java/JavaVirtualMachines/*/Contents/Home")
_OF_USER = ".sdkman/candidates/java/*"


def set_up(entry: WorkerEntry, dirs: BuildDirs, on_line: Callable[[str], None]) -> None:
    """Run the worker's `setup` commands; `on_line` gets each line they print.

    BuildError if a needed tool is missing or a command fails: the worker is not set up then,
    whatever it was before.
    """
    if lacking := entry.unmet() if is_shipped(entry, dirs) else [NOT_SHIPPED]:
        raise BuildError("; ".join(lacking), [])
    stamp = _stamp(entry, dirs)
    with writing(stamp):
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
    digest = _digest(entry, dirs)
    for command in entry.setup:
        filled = entry.fill(command, dirs)
        on_line(" ".join(filled))
        run_tool(filled, dirs.root, entry.environment(dirs), on_line, "set-up")
    files = [path for path in _named_files(entry, dirs) if (dirs.target / path).exists()]
    write_text(stamp, json.dumps({"digest": digest, "made": files}) + "\n")


def is_set_up(entry: WorkerEntry, dirs: BuildDirs) -> bool:
    """Return whether its `setup` has succeeded with the present commands and lock files.

    The files that it made for the worker's commands must still exist. Without `setup`: True.
    """
    if not entry.setup:
        return True
    try:
        stamp = json.loads(_stamp(entry, dirs).read_bytes())
    except (OSError, ValueError):
        return False
    return (
        isinstance(stamp, dict)
        and all((dirs.target / path).exists() for path in stamp.get("made", ()))
        and bool(stamp.get("digest") == _digest(entry, dirs))
    )


def is_shipped(entry: WorkerEntry, dirs: BuildDirs) -> bool:
    """Return whether the worker's folder exists: always in a checkout, not in a wheel."""
    return dirs.root != SHIPPED or (dirs.root / entry.folder).is_dir()


def unmet(entry: WorkerEntry, dirs: BuildDirs) -> list[str]:
    """List the obstacles to building and running the worker here, each with its remedy."""
    if not is_shipped(entry, dirs):
        return [NOT_SHIPPED]
    if is_set_up(entry, dirs):
        return entry.unmet()
    name = entry.home_of or entry.label
    return [*entry.unmet(), f"not set up: run `mldsa-lab workers setup {name}`"]


def lock_digests(entry: WorkerEntry, dirs: BuildDirs) -> dict[str, str]:
    """Return the SHA-256 of each lock file of a worker, by path, or name outside the tree."""
    digests = {}
    for name in entry.fill(entry.locks, dirs):
        path = dirs.root / name
        with reading(path, f"worker {entry.name}, lock file "):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        digests[path.name if Path(name).is_absolute() else name] = digest
    return digests


def _stamp(entry: WorkerEntry, dirs: BuildDirs) -> Path:
    # Each build has a set-up of its own.
    return entry.home(dirs.target) / f"setup{build_mark(entry.chosen).replace(':', '-')}.json"


def _digest(entry: WorkerEntry, dirs: BuildDirs) -> str:
    # The templates and not what they are filled with: the tree may be moved.
    content = json.dumps([entry.setup, lock_digests(entry, dirs)])
    return hashlib.sha256(content.encode()).hexdigest()


def _named_files(entry: WorkerEntry, dirs: BuildDirs) -> list[str]:
    """List the files below the target folder in its commands, relative to that folder."""
    paths = map(Path, entry.fill((*entry.run, *entry.build), dirs))
    return [str(p.relative_to(dirs.target)) for p in paths if p.is_relative_to(dirs.target)]


def build(entry: WorkerEntry, dirs: BuildDirs, on_line: Callable[[str], None]) -> None:
    """Run the worker's build command; `on_line` gets each line it prints.

    BuildError if a needed tool is missing, the worker is not set up or the command fails. Nothing
    is done where the registry names no command; whether there is something to rebuild is the build
    tool's business.
    """
    _run(entry, entry.fill(entry.build, dirs), dirs, on_line, "build")


def test(entry: WorkerEntry, dirs: BuildDirs, on_line: Callable[[str], None]) -> None:
    """Run the worker's own tests as `build` builds it; BuildError if they fail."""
    command = entry.fill(entry.test, dirs)
    if not command:
        raise BuildError(f"worker {entry.name}: the registry names no tests of its own", [])
    _run(entry, command, dirs, on_line, "test")


def _run(
    entry: WorkerEntry,
    command: list[str],
    dirs: BuildDirs,
    on_line: Callable[[str], None],
    what: str,
) -> None:
    if lacking := unmet(entry, dirs):
        raise BuildError("; ".join(lacking), [])
    if command:
        dirs.target.mkdir(parents=True, exist_ok=True)
        run_tool(command, dirs.root, entry.environment(dirs), on_line, what)


@dataclass(frozen=True, slots=True)
class Jdk:
    """A virtual machine that the worker can run on, with a name by version and vendor."""

    folder: Path
    name: str

    @classmethod
    def at(cls, folder: Path) -> Jdk:
        """Ask the JDK in a folder. LabError, with the folder and the rule, for anything else, for
        a release before `OLDEST`, and without a module that the worker needs."""
        java = folder / "bin" / "java"
        with reading(folder):  # which may be forbidden, or its name too long
            if not folder.is_dir():
                raise LabError(f"{folder}: there is no such folder")
            if not java.is_file():
                raise LabError(f"{folder} is no JDK: it has no bin/java")
        printed = _output(java, "-XshowSettings:properties", "-version").splitlines()
        settings = {name.strip(): value for name, _, value in (s.partition(" = ") for s in printed)}
        release = settings.get("java.specification.version", "")
        version = settings.get("java.version", "")
        if not release or not version:
            raise LabError(f"{folder}: its bin/java does not tell its version, as Java does")
        major = release.removeprefix("1.").partition(".")[0]
        if not major.isdigit() or int(major) < OLDEST:
            raise LabError(f"{folder} is Java {version}: the worker needs {OLDEST} or newer")
        modules = {line.partition("@")[0] for line in _output(java, "--list-modules").splitlines()}
        for module in _MODULES:
            if module not in modules:
                raise LabError(f"{folder}: the worker needs the module {module}, which it lacks")
        # `Temurin-25.0.3+9`, where the vendor names its product, else the vendor: `Debian`.
        names = (settings.get(f"java.{key}", "") for key in ("vendor.version", "vendor"))
        vendors = filter(None, ("".join(takewhile(str.isalpha, name)) for name in names))
        return cls(folder, to_name("-".join(["java", version, *islice(vendors, 1)])))

    @classmethod
    def parse(cls, text: str) -> Jdk:
        """Read a value of `--worker`: `PATH`, or `NAME=PATH`."""
        name, equals, rest = text.partition("=")
        try:
            if not equals or Path(text).exists():
                return cls.at(Path(text).expanduser())
            if not NAME.fullmatch(name):
                rule = "must be small letters, digits, hyphens and dots"
                raise LabError(f"worker {text}: the name {rule}, is {name!r}")
            return replace(cls.at(Path(rest).expanduser()), name=name)
        except (OSError, RuntimeError) as error:  # a name that is too long; ~ of nobody
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise LabError(f"worker {text}: {why}") from None

    def entry(self, java: WorkerEntry) -> WorkerEntry:
        """The worker on this machine, with the set-up of the registry's `java`."""
        program = str(self.folder.absolute() / "bin" / "java")
        changed = {"name": self.name, "program": program, "home_of": java.name, "needs": ()}
        return structs.replace(java, **changed, default=True)


def is_jdk(text: str) -> bool:
    """Return whether a text is `NAME=PATH`, or the path of a folder."""
    if "/" not in text or "=" in text.partition("/")[0]:
        return "/" in text
    try:
        return Path(text).expanduser().is_dir()
    except (OSError, RuntimeError):  # a name that is too long; ~ of nobody
        return True


def jdk_entries(texts: Sequence[str], own: Sequence[WorkerEntry]) -> list[WorkerEntry]:
    """Return a worker for each JDK; ``own``: the tree's workers. LabError also for two with one
    name."""
    if not texts:
        return []
    java = next((e for e in own if e.name == "java"), None)
    if java is None:
        raise LabError(f"worker {texts[0]}: the tree's registry has no worker 'java'")
    in_tree(java.folder)
    entries: list[WorkerEntry] = []
    for text in texts:
        entry = Jdk.parse(text).entry(java)
        if entry.name in {e.name for e in (*own, *entries)}:
            raise LabError(
                f"worker {text}: a worker is called {entry.name} already; NAME=PATH names another"
            )
        entries.append(entry)
    return entries


def find_jdks() -> Iterator[Jdk]:
    """Find the JDKs in the usual places that the worker can run on, each once."""
    own = os.environ.get("JAVA_HOME")
    folders = [Path(own)] if own else []
    for pattern in _FOLDERS:
        folders += sorted(Path("/").glob(pattern))
    with suppress(RuntimeError):  # a user without a home
        folders += sorted(Path.home().glob(_OF_USER))
    seen: set[Path] = set()
    for folder in folders:
        with suppress(LabError, OSError, RuntimeError):
            if (real := folder.resolve()) in seen:
                continue
            seen.add(real)
            yield Jdk.at(folder)


def _output(java: Path, *options: str) -> str:
    """Return both outputs of a program. LabError if it does not start."""
    with located(f"{java} does not start"):
        done = ask([str(java), *options])
    text = done.stdout + done.stderr
    if done.returncode != 0:
        first = (text.strip() or "no output").splitlines()[0]
        raise LabError(f"{java} does not start (status {done.returncode}): {first}")
    return text


def main(arguments: list[str]) -> int:
    """The command line of this module; returns the exit status."""
    names = [a for a in arguments if a != "--test"]
    action = test if "--test" in arguments else build
    try:
        dirs = BuildDirs.for_tree(find_root())
        entries = every_build(read_registry(dirs.root / "lab" / "workers" / "registry.toml"))
        if not names:
            known = ", ".join(e.label for e in entries)
            raise LabError(f"no worker is named: the registry has {known}")
        for entry in named(entries, names):
            action(entry, dirs, print)
    except LabError as error:
        print(f"mldsa-lab: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
