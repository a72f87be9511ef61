"""Building workers by the commands of the registry.

`python -m mldsa_lab.worker.build [--test] WORKER...` does so by hand: it builds the workers named
(`rust`, or `rust:tuned` for another build than the default one), or runs their own tests in the
same environment, so that nothing is compiled twice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mldsa_lab.checkout import BuildError, find_root, run_tool
from mldsa_lab.errors import LabError
from mldsa_lab.worker.registry import WorkerEntry, read_registry


@dataclass(frozen=True, slots=True)
class Place:
    """The tree that workers are built and run in."""

    root: Path
    target: Path

    @classmethod
    def of(cls, root: Path) -> Place:
        """The ordinary place for build results of the tree at `root`."""
        return cls(root, root / "target" / "workers")


def build(entry: WorkerEntry, place: Place, on_line: Callable[[str], None]) -> None:
    """Run the worker's build command; `on_line` gets each line it prints.

    BuildError if a needed tool is missing or the command fails. Nothing is done where the
    registry names no command; whether there is something to rebuild is the build tool's business.
    """
    _run(entry, entry.build_command(place.root, place.target), place, on_line, "build")


def test(entry: WorkerEntry, place: Place, on_line: Callable[[str], None]) -> None:
    """Run the worker's own tests as `build` builds it; BuildError if they fail."""
    command = entry.test_command(place.root, place.target)
    if not command:
        raise BuildError(f"worker {entry.name}: the registry names no tests of its own", [])
    _run(entry, command, place, on_line, "test")


def _run(
    entry: WorkerEntry,
    command: list[str],
    place: Place,
    on_line: Callable[[str], None],
    what: str,
) -> None:
    unmet = entry.unmet()
    if unmet:
        raise BuildError("; ".join(unmet), [])
    if command:
        place.target.mkdir(parents=True, exist_ok=True)
        environment = entry.environment(place.root, place.target)
        run_tool(command, place.root, environment, on_line, what)


def main(arguments: list[str]) -> int:
    """The command line of this module; returns the exit status."""
    names = [a for a in arguments if a != "--test"]
    action = test if "--test" in arguments else build
    try:
        place = Place.of(find_root())
        read = read_registry(place.root / "workers" / "registry.toml")
        every = [e.with_build(name) for e in read for name in e.builds] + read
        entries = {e.label: e for e in every}
        unknown = [name for name in names if name not in entries]
        if unknown or not names:
            rule = f"unknown worker {unknown[0]!r}" if unknown else "no worker is named"
            raise LabError(f"{rule}: the registry has {', '.join(entries)}")
        for name in names:
            action(entries[name], place, print)
    except LabError as error:
        print(f"mldsa-lab: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
