"""`mldsa-lab synth` and `mldsa-lab study rtl`: hardware cores."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mldsa_lab.checkout import find_root, find_target
from mldsa_lab.cli.shared import (
    JsonOption,
    OutputOptions,
    PageOption,
    SeedText,
    console,
    refuse_given,
    show_path,
)
from mldsa_lab.files import write_text
from mldsa_lab.sets import parse_set_names

if TYPE_CHECKING:
    from mldsa_lab_rtl.manifest import Manifest

_SHIPPED = ("fast", "small")


def synth(
    cores: Annotated[
        list[Path] | None,
        typer.Argument(help="Manifests; by default those of the tree's core.", metavar="CORES"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for a file of resources of each core.")] = Path(
        "out/synth"
    ),
) -> None:
    """Count what a hardware core takes of an FPGA, module by module, with yosys."""
    from mldsa_lab.screen import Screen
    from mldsa_lab_rtl.study_show import CoreFindings
    from mldsa_lab_rtl.synth import synthesise

    screen = Screen(console())
    found = []
    for manifest in _manifests(cores):
        with screen.phase("synth") as phase:
            folder = find_target(find_root()) / "synth" / manifest.worker
            found.append(synthesise(manifest, folder, phase.show))
            phase.summary = f"{manifest.worker}: {found[-1].total.lut:,} LUT"
        path = out / f"{manifest.worker}.json"
        write_text(path, found[-1].to_json())
        show_path(screen.console, "resources", path)
    OutputOptions().show(CoreFindings([], found).report(), screen.console)


def study_rtl(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Show these files and measure nothing: records, random.json, round-3.json, "
            "files of `synth`.",
            metavar="FILES",
        ),
    ] = None,
    core: Annotated[
        list[Path] | None,
        typer.Option("--core", help="A manifest; by default those of the tree's core. Repeatable."),
    ] = None,
    sets: Annotated[list[str] | None, typer.Option(help="44, 65, 87.", metavar="NAMES")] = None,
    random: Annotated[
        int | None,
        typer.Option(help="Also sign so many random inputs, and show their mean.", min=2),
    ] = None,
    seed: SeedText = None,
    out: Annotated[
        Path, typer.Option(help="Folder in which the run gets a folder of its own.")
    ] = Path("out"),
    json_path: JsonOption = None,
    page: PageOption = None,
) -> None:
    """Measure hardware cores in cycles: every operation by phase, signing exactly."""
    from mldsa_lab.bench.options import parse_seed
    from mldsa_lab.screen import Screen
    from mldsa_lab_rtl.study_run import measure_cores
    from mldsa_lab_rtl.study_show import read_findings

    screen = Screen(console())
    outputs = OutputOptions(page is None, json_path, page=page).check()
    if files:
        refuse_given(ctx, "FILES", "are shown as they are", "core sets seed random")
        found = read_findings(files)
    else:
        key = secrets.token_bytes(32) if seed is None else parse_seed(seed)
        chosen = parse_set_names(sets or ("ml-dsa",), ml_dsa=True)
        found = read_findings(measure_cores(_manifests(core), chosen, key, random, out, screen))
    outputs.show(found.report(), screen.console)


def _manifests(given: Sequence[Path] | None) -> list[Manifest]:
    """Those given, or those of the tree's own core."""
    from mldsa_lab_rtl.manifest import Manifest

    shipped = (find_root() / "rtl" / "core" / f"{name}.toml" for name in _SHIPPED)
    return [Manifest.read(path) for path in given or shipped]
