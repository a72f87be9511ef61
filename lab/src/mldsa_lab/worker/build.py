"""Building workers, and setting up what they need, by the commands of the registry.

`python -m mldsa_lab.worker.build [--test] WORKER...` does so by hand: it builds the workers named
(`rust`, or `rust:tuned` for another build than the default one), or runs their own tests in the
same environment, so that nothing is compiled twice.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

from mldsa_lab.checkout import NOT_SHIPPED, SHIPPED, BuildError, find_root, run_tool
from mldsa_lab.errors import LabError
from mldsa_lab.files import reading, write_text, writing
from mldsa_lab.sets import build_mark
from mldsa_lab.worker.registry import (
    Place,
    WorkerEntry,
    every_build,
    named,
    read_registry,
)


def set_up(entry: WorkerEntry, place: Place, on_line: Callable[[str], None]) -> None:
    """Run the worker's `setup` commands; `on_line` gets each line they print.

    BuildError if a needed tool is missing or a command fails: the worker is not set up then,
    whatever it was before.
    """
    if lacking := entry.unmet() if is_shipped(entry, place) else [NOT_SHIPPED]:
        raise BuildError("; ".join(lacking), [])
    stamp = _stamp(entry, place)
    with writing(stamp):
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
    digest = _digest(entry, place)
    for command in entry.setup:
        filled = entry.fill(command, place)
        on_line(" ".join(filled))
        run_tool(filled, place.root, entry.environment(place), on_line, "set-up")
    present = [path for path in _named_paths(entry, place) if (place.target / path).exists()]
    write_text(stamp, json.dumps({"digest": digest, "made": present}) + "\n")


def is_set_up(entry: WorkerEntry, place: Place) -> bool:
    """True where its `setup` has succeeded with the present commands and lock files, and the
    files that it made for the worker's commands still exist; also where there is no `setup`."""
    if not entry.setup:
        return True
    try:
        stamp = json.loads(_stamp(entry, place).read_bytes())
    except (OSError, ValueError):
        return False
    if not isinstance(stamp, dict):
        return False
    there = all((place.target / path).exists() for path in stamp.get("made", ()))
    return there and bool(stamp.get("digest") == _digest(entry, place))


def is_shipped(entry: WorkerEntry, place: Place) -> bool:
    """True where the worker's folder exists: always in a checkout, not always in a wheel."""
    return place.root != SHIPPED or (place.root / entry.folder).is_dir()


def unmet(entry: WorkerEntry, place: Place) -> list[str]:
    """The obstacles to building and running the worker here, each with its remedy."""
    if not is_shipped(entry, place):
        return [NOT_SHIPPED]
    if is_set_up(entry, place):
        return entry.unmet()
    name = entry.home_of or entry.label
    return [*entry.unmet(), f"not set up: run `mldsa-lab workers setup {name}`"]


def lock_digests(entry: WorkerEntry, place: Place) -> dict[str, str]:
    """The SHA-256 of each of a worker's lock files; of paths outside the tree the name alone."""
    digests = {}
    for name in entry.fill(entry.locks, place):
        path = place.root / name
        with reading(path, f"worker {entry.name}, lock file "):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        digests[path.name if Path(name).is_absolute() else name] = digest
    return digests


def _stamp(entry: WorkerEntry, place: Place) -> Path:
    # Each build has a set-up of its own.
    return entry.home(place.target) / f"setup{build_mark(entry.chosen).replace(':', '-')}.json"


def _digest(entry: WorkerEntry, place: Place) -> str:
    # The templates and not what they are filled with: the tree may be moved.
    text = json.dumps([entry.setup, lock_digests(entry, place)])
    return hashlib.sha256(text.encode()).hexdigest()


def _named_paths(entry: WorkerEntry, place: Place) -> list[str]:
    """Paths below the target folder that its commands name, relative to that folder."""
    paths = map(Path, entry.fill((*entry.run, *entry.build), place))
    return [str(p.relative_to(place.target)) for p in paths if p.is_relative_to(place.target)]


def build(entry: WorkerEntry, place: Place, on_line: Callable[[str], None]) -> None:
    """Run the worker's build command; `on_line` gets each line it prints.

    BuildError if a needed tool is missing, the worker is not set up or the command fails. Nothing
    is done where the registry names no command; whether there is something to rebuild is the build
    tool's business.
    """
    _run(entry, entry.fill(entry.build, place), place, on_line, "build")


def test(entry: WorkerEntry, place: Place, on_line: Callable[[str], None]) -> None:
    """Run the worker's own tests as `build` builds it; BuildError if they fail."""
    command = entry.fill(entry.test, place)
    if not command:
        raise BuildError(f"worker {entry.name}: the registry names no tests of its own", [])
    _run(entry, command, place, on_line, "test")


def _run(
    entry: WorkerEntry, command: list[str], place: Place, on_line: Callable[[str], None], what: str
) -> None:
    if lacking := unmet(entry, place):
        raise BuildError("; ".join(lacking), [])
    if command:
        place.target.mkdir(parents=True, exist_ok=True)
        run_tool(command, place.root, entry.environment(place), on_line, what)


def main(arguments: list[str]) -> int:
    """The command line of this module; returns the exit status."""
    names = [a for a in arguments if a != "--test"]
    action = test if "--test" in arguments else build
    try:
        place = Place.of(find_root())
        entries = every_build(read_registry(place.root / "workers" / "registry.toml"))
        if not names:
            known = ", ".join(e.label for e in entries)
            raise LabError(f"no worker is named: the registry has {known}")
        for entry in named(entries, names):
            action(entry, place, print)
    except LabError as error:
        print(f"mldsa-lab: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
