"""`python rtl/others/prepare.py [NAME ...] [--clone FOLDER]`: fetch the designs of `designs.toml`
and make their text ready for the harness, in `rtl/others/NAME/made`.

VHDL becomes Verilog by `ghdl --synth`. `designs.toml` lists each change of a design's text.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CLONES = HERE.parent / "target" / "others"
# Names in VHDL that SystemVerilog reserves; a netlist of GHDL keeps them.
_RESERVED = re.compile(r"\b(input|output|reg|do|buf)\b", re.IGNORECASE)
_MISSING = {"ghdl": "on Debian `apt-get install ghdl`", "git": "on Debian `apt-get install git`"}


class PrepareError(Exception):
    """What failed, and what to do."""


def run(argv: Sequence[str], cwd: Path) -> str:
    """Return what a program prints. PrepareError with its last lines if it fails."""
    try:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise PrepareError(f"{argv[0]} is missing: {_MISSING[argv[0]]}") from None
    if done.returncode != 0:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise PrepareError(f"{' '.join(argv[:3])} failed:\n{said}")
    return done.stdout


def fetch(repository: str, commit: str) -> Path:
    """Return a work tree of a repository at a commit; clone it if it is not there."""
    folder = CLONES / f"{repository.rpartition('/')[2]}-{commit[:12]}"
    if not (folder / ".complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run(["git", "init", "-q"], folder)
        run(["git", "fetch", "-q", "--depth", "1", repository, commit], folder)
        run(["git", "checkout", "-q", "--detach", "FETCH_HEAD"], folder)
        (folder / ".complete").touch()
    return folder


def check_commit(clone: Path, commit: str) -> Path:
    """Return a given clone. PrepareError if its work tree is of another commit."""
    head = run(["git", "rev-parse", "HEAD"], clone).strip()
    if head != commit:
        raise PrepareError(f"{clone} is at {head[:12]}: check out {commit[:12]} there")
    return clone


def prepare(name: str, design: Mapping[str, Any], clone: Path) -> Path:
    """Make a design's text anew and return its folder. PrepareError for a rule of `designs.toml`
    that fits nothing, and for GHDL."""
    made = HERE / name / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    for path in _files(clone, design.get("verilog", ())):
        (made / path.name).write_text(_edited(path, design, clone), encoding="utf-8")
    for netlist in design.get("netlists", ()):
        folder = CLONES / "ghdl" / name / netlist["top"]
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        options = [*design["options"], f"--workdir={folder}", f"-P{folder}"]
        for library, patterns in netlist["libraries"].items():
            into = folder / library
            into.mkdir()
            for path in _files(HERE / name if library != "work" else clone, patterns):
                text = _RESERVED.sub(r"\1_net", _edited(path, design, clone))
                (into / path.name).write_text(text, encoding="utf-8")
            sources = [str(path) for path in sorted(into.iterdir())]
            run(["ghdl", "-i", *options, f"--work={library}", *sources], folder)
        run(["ghdl", "-m", *options, netlist["top"]], folder)
        synth = ["ghdl", "--synth", *options]
        text = run([*synth, "--out=verilog", netlist["top"]], folder)
        text = _with_defaults(text, run([*synth, "--out=raw-vhdl", netlist["top"]], folder))
        # Comments name this machine's folders.
        text = re.sub(r"^\s*/\* .*? \*/\n", "", text, flags=re.M)
        top = rf"^module {netlist['top']}$"
        text = re.sub(top, f"module {netlist['module']}", text, flags=re.M)
        text = _clean(text)
        for box in design.get("blackboxes", ()):
            text = re.sub(rf"^module {box}$.*?^endmodule$", "", text, flags=re.M | re.S)
        (made / netlist["file"]).write_text(text, encoding="utf-8")
    return made


def _with_defaults(verilog: str, vhdl: str) -> str:
    """Return a netlist of GHDL 2.0 in Verilog with the defaults of its `case` statements, which
    that output leaves out; they are taken from the same netlist in VHDL."""
    defaults = dict(re.findall(r"select (\w+) <=\n[^;]*? (\S[^,;\n]*) when others;", vhdl))

    def completed(last: re.Match[str]) -> str:
        value = defaults[last[2]]
        value = "'x" if "X" in value else re.sub(r"'([01])'", r"1'b\1", value)
        return f"{last[1]}      default: {last[2]} <= {value};\n    endcase"

    return re.sub(r"(: (\w+) <= [^;]+;\n) +endcase", completed, verilog)


def _clean(netlist: str) -> str:
    """Return a netlist of GHDL 2.0 in which wires are 0 where nothing drives them, a wire's initial
    value does not replace what drives it, long constants are numbers instead of VHDL's strings, and
    combinational assignments are blocking, and `mod` has the sign of its right side, a positive
    constant, where GHDL writes the unsigned remainder."""
    netlist = re.sub(r'"([01]+)"', lambda bits: f"{len(bits[1])}'b{bits[1]}", netlist)
    netlist = re.sub(r"(\d+'b)Z\b", r"\g<1>0", netlist)
    driven = r"always @\*\n( +\w+ = [^;]+; // \(isignal\)\n) +initial\n +\w+ <= [^;]+;\n"
    netlist = re.sub(driven, r"always_comb\n\1", netlist)
    # Assertions are for simulation; synthesis defines SYNTHESIS.
    asserted = r"^ +always @\*\n +if \([^\n]*\)\n +\$fatal\([^\n]*\);\n"
    netlist = re.sub(asserted, r"`ifndef SYNTHESIS\n\g<0>`endif\n", netlist, flags=re.M)
    # slang takes an initial value by a blocking assignment alone.
    netlist = re.sub(r"^( +initial\n +\w+) <= ", r"\1 = ", netlist, flags=re.M)
    modulo = r"(\w+) % (32'b0[01]+); // smod$"
    signed = r"($signed(\1) % $signed(\2) + $signed(\2)) % $signed(\2);"
    netlist = re.sub(modulo, signed, netlist, flags=re.M)
    return re.sub(r"^( +(?:\d+'b[01]+|default): \w+) <= ", r"\1 = ", netlist, flags=re.M)


def _files(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    for pattern in patterns:
        if not (found := sorted(folder.glob(pattern))):
            raise PrepareError(f"{folder} has no {pattern}")
        yield from found


def _edited(path: Path, design: Mapping[str, Any], clone: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    for edit in design.get("edits", ()):
        if path.match(edit["file"]):
            text, times = re.subn(edit["old"], edit["new"], text)
            if not times:
                raise PrepareError(f"{path}: nothing matches {edit['old']!r}")
    for memory in design.get("memories", ()):
        if path.match(memory["file"]):
            words = (clone / memory["words"]).read_text(encoding="utf-8").split()
            lines = (f"{memory['name']}[{i}] = 'h{word};" for i, word in enumerate(words))
            text = text.replace(memory["old"], "\n".join(lines))
    return text


def main(arguments: Sequence[str]) -> int:
    """The command line; returns the exit status."""
    designs = tomllib.loads((HERE / "designs.toml").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description="Fetch public designs and make them ready.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(designs)}")
    parser.add_argument("--clone", type=Path, help="a clone at the commit of designs.toml")
    given = parser.parse_args(arguments)
    try:
        for name in given.names or designs:
            if name not in designs:
                raise PrepareError(f"no design {name!r}: there are {', '.join(designs)}")
            repository, commit = designs[name]["repository"], designs[name]["commit"]
            if given.clone is None:
                clone = fetch(repository, commit)
            else:
                clone = check_commit(given.clone, commit)
            print(f"{name}: {prepare(name, designs[name], clone)}")
    except PrepareError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
