"""The checkout of the source, or the part of it that a wheel carries: its place, and its build
tools."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Timer

from mldsa_lab import LabError

LINES_SHOWN = 15
"""Lines of a failed build that are shown."""
SHIPPED = Path(__file__).parent / "tree"
"""The files of the checkout that a wheel carries; a checkout has no such folder."""
REPOSITORY = "https://example.org/mldsa-lab.git"
"""Where the source is (docs/release.md: set once)."""
GET_CHECKOUT = f"`git clone {REPOSITORY} && cd mldsa-lab && make setup`"
"""The commands that get a checkout, for errors."""
NOT_SHIPPED = f"not part of the wheel, a checkout has it: {GET_CHECKOUT}"


class BuildError(LabError):
    """A build that failed; `lines` are the last ones its tools printed."""

    def __init__(self, text: str, lines: list[str]) -> None:
        super().__init__(text)
        self.lines = lines


def find_root() -> Path:
    """The checkout with this package, the one around the current folder, or the part in the wheel;
    the first that has a worker registry. LabError if none has.
    """
    for start in (Path(__file__).resolve(), Path.cwd() / "x"):
        for folder in start.parents:
            if (folder / "lab" / "workers" / "registry.toml").is_file():
                return folder
    if (SHIPPED / "lab" / "workers" / "registry.toml").is_file():
        return SHIPPED
    raise LabError(f"no lab/workers/registry.toml: run mldsa-lab in a checkout: {GET_CHECKOUT}")


def find_target(root: Path) -> Path:
    """Return the folder for builds to keep: that of a checkout, or the user's cache."""
    if root != SHIPPED:
        return root / "lab" / "target"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "mldsa-lab"


def in_tree(*parts: str) -> Path:
    """A file or folder of the checkout. LabError where a wheel does not carry it."""
    path = find_root().joinpath(*parts)
    if not path.exists():
        raise LabError(f"{'/'.join(parts)}: {NOT_SHIPPED}")
    return path


def install_command(name: str, checkout: str, *, is_published: bool = True) -> str:
    """Return the command that installs a Python package.

    It is the target ``checkout`` of the Makefile in a checkout, else pip. A package that is not
    published needs the commands that get a checkout.
    """
    try:
        is_wheel = find_root() == SHIPPED
    except LabError:
        is_wheel = True
    if not is_wheel:
        return f"`make {checkout}`"
    if not is_published:
        return f"{GET_CHECKOUT.rstrip('`')} {checkout}`"
    return f"`pip install '{name}'`"


def file_or_shipped(name: str, known: Mapping[str, Path], what: str) -> Path:
    """The file that somebody names: a path, which ends in .toml or has folders, or one of the
    ``known`` of the tree. LabError for an unknown one says ``what`` it is."""
    path = Path(name)
    if path.suffix == ".toml" or len(path.parts) > 1:
        return path
    if name not in known:
        raise LabError(
            f"unknown {what} {name!r}: known are {', '.join(known)}; a path ends in .toml"
        )
    return known[name]


def files_of(argument: str, what: str) -> list[Path]:
    """Return the files of words separated by spaces: paths or patterns below the checkout, or
    absolute ones. LabError for a word without a file says ``what`` it should be."""
    paths = []
    for word in argument.split():
        path = Path(word)
        base, pattern = (Path("/"), word[1:]) if path.is_absolute() else (find_root(), word)
        files = sorted(base.glob(pattern))
        if not files:
            raise LabError(f"{word}: no such {what}")
        paths += files
    return paths


def run_tool(
    command: Sequence[str],
    root: Path,
    environment: Mapping[str, str],
    on_line: Callable[[str], None],
    what: str = "build",
    seconds: float | None = None,
) -> None:
    """Run a build tool in `root`; `on_line` gets each line it prints, none of them empty.

    `environment` adds to the process's own. An interrupt ends started processes too. BuildError
    with the last lines if the tool cannot be run or fails; `what` says in it what failed.
    TimeoutError where it runs longer than `seconds`.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=root,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error.strerror}", []) from None
    kept: deque[str] = deque(maxlen=LINES_SHOWN)
    assert process.stdout is not None
    is_over = Event()

    def stop() -> None:
        is_over.set()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = Timer(seconds or 0, stop)
    try:
        if seconds is not None:
            timer.start()
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
    finally:
        timer.cancel()
    if status != 0 and is_over.is_set():
        raise TimeoutError(f"{what} did not end in {seconds:g} s")
    if status != 0:
        raise BuildError(f"{what} failed with status {status}: {' '.join(command)}", list(kept))
