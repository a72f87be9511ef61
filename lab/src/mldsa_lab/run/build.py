"""Building workers by the commands of the registry."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mldsa_lab.errors import LabError
from mldsa_lab.run.registry import WorkerEntry

LINES_SHOWN = 15
"""Lines of a failed build that are shown."""
_LINES_KEPT = 400


class BuildError(LabError):
    """A build that failed; `lines` are the last ones its tools printed."""

    def __init__(self, text: str, lines: list[str]) -> None:
        super().__init__(text)
        self.lines = lines


@dataclass(frozen=True, slots=True)
class Place:
    """The tree that workers are built and run in."""

    root: Path
    target: Path

    @classmethod
    def of(cls, root: Path) -> Place:
        """The ordinary place for build results of the tree at `root`."""
        return cls(root, root / "target" / "workers")


def find_root() -> Path:
    """The checkout this package stands in, or the one around the current folder.

    LabError if neither has a worker registry.
    """
    for start in (Path(__file__).resolve(), Path.cwd() / "x"):
        for folder in start.parents:
            if (folder / "workers" / "registry.toml").is_file():
                return folder
    raise LabError("no workers/registry.toml: mldsa-lab must be run from a checkout of its source")


def build(entry: WorkerEntry, place: Place, on_line: Callable[[str], None]) -> None:
    """Run the worker's build command; `on_line` gets each line it prints.

    BuildError if a needed tool is missing or the command fails. Nothing is done where the
    registry names no command; whether there is something to rebuild is the build tool's business.
    """
    unmet = entry.unmet()
    if unmet:
        raise BuildError("; ".join(unmet), [])
    command = entry.build_command(place.root, place.target)
    if not command:
        return
    place.target.mkdir(parents=True, exist_ok=True)
    try:
        process = subprocess.Popen(
            command,
            cwd=place.root,
            env={**os.environ, **entry.environment(place.root, place.target)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error.strerror}", []) from None
    kept: deque[str] = deque(maxlen=_LINES_KEPT)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            text = line.rstrip()
            if text:
                kept.append(text)
                on_line(text)
        status = process.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if status != 0:
        raise BuildError(
            f"build failed with status {status}: {' '.join(command)}", list(kept)[-LINES_SHOWN:]
        )
