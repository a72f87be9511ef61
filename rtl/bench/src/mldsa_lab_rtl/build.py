"""`python -m mldsa_lab_rtl.build MANIFEST FOLDER`: the harness around a core's model, a program
that speaks the worker protocol."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from mldsa_lab import LabError
from mldsa_lab.checkout import BuildError, find_root, run_tool
from mldsa_lab.files import write_text, writing
from mldsa_lab.machine import cores_to_use, tool_version
from mldsa_lab_rtl.binding import PREFIX, header
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.verilator import Verilator

PROGRAM = "mldsa-worker-core"
"""The program in the folder."""
_FLAGS = "-std=c++17 -pthread"
# The package's makefile leaves out how g++ is told of a precompiled header.
_MAKE = ["make", "-f", f"{PREFIX}.mk", "OPT_FAST=-O2", "CFG_CXXFLAGS_PCH_I=-include"]
_TEMPORARY = re.compile(r"\bos *<< *(?!__Vcheckval)\w*(?:__V|unnamedblk)\w*(?:\[\w+\])*;")


def make(manifest: Manifest, folder: Path, on_line: Callable[[str], None]) -> Path:
    """The worker's program, made anew if its text, the harness or the tools changed. `on_line` gets
    the output of the tools. LabError if Verilator is missing, BuildError if it fails."""
    tool = Verilator.find()
    compiler = tool_version((os.environ.get("CXX") or "c++", "--version"))
    if compiler is None:
        raise LabError("a C++ compiler is missing: on Debian `apt-get install g++ make`")
    harness = find_root() / "rtl" / "harness"
    text = header(manifest, f"{tool.version}, {compiler}")
    stamp, program = folder / "made", folder / PROGRAM
    digest = _digest(manifest, text, harness, _verilate(manifest, tool, folder, harness) + _MAKE)
    if program.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return program
    # In a new folder: files of an earlier model would be taken for this one's, and another process
    # may be making the same.
    work = folder / f"making-{os.getpid()}"
    try:
        with writing(work):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
        write_text(work / "binding.hpp", text)
        model = work / "model"
        run_tool(_verilate(manifest, tool, work, harness), work, tool.environment, on_line)
        for source in model.glob("*__Slow.cpp"):
            write_text(source, without_temporaries(source.read_text(encoding="utf-8")))
        compile_model = [*_MAKE, "-C", str(model), "-j", str(cores_to_use())]
        run_tool(compile_model, work, tool.environment, on_line)
        built = model / PROGRAM
        if not built.is_file():
            raise BuildError(f"{tool.version} made no program of {manifest.path}", [])
        built.replace(program)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    write_text(stamp, digest)
    return program


def without_temporaries(text: str) -> str:
    """Return Verilator's text without the temporaries and loop variables among what it saves of a
    model. They are not registers, and may keep a secret that the core no longer has."""
    head, begin, rest = text.partition("__Vserialize(")
    body, end, tail = rest.partition("\n}")
    return head + begin + _TEMPORARY.sub("", body) + end + tail


def _verilate(manifest: Manifest, tool: Verilator, folder: Path, harness: Path) -> list[str]:
    f = manifest.file
    return [
        tool.program, "--cc", "--exe", "-O3",
        # Whatever a reset leaves out begins with a random value.
        "--x-initial", "unique", "--x-assign", "unique",
        *(["--savable"] if f.zeroize else []),
        # How the text is written is judged by a linter, not here.
        "--no-timing", "-Wno-lint", "-Wno-style", "-Wno-fatal",
        "--prefix", PREFIX, "--top-module", f.top,
        *(f"-G{chosen}" for chosen in manifest.parameters()),
        *(f"-I{path}" for path in manifest.included()),
        "-CFLAGS", f"{_FLAGS} -I{harness} -I{folder}", "-LDFLAGS", "-pthread",
        "--Mdir", str(folder / "model"), "-o", PROGRAM,
        *map(str, manifest.sources()), str(harness / "worker.cpp"),
    ]  # fmt: skip


def _digest(manifest: Manifest, text: str, harness: Path, command: list[str]) -> str:
    whole = hashlib.sha256((text + manifest.digest + "\0".join(command)).encode())
    for path in sorted(harness.glob("*.[ch]pp")):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def main(arguments: list[str]) -> int:
    """The command line of this module; returns the exit status."""
    path, folder = map(Path, arguments)
    try:
        make(Manifest.read(path), folder.resolve(), print)
    except BuildError:
        return 2  # its lines have been shown
    except LabError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
