"""`mldsa-lab synth`, `mldsa-lab fmax` and `mldsa-lab study rtl`: hardware cores."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
from mldsa_lab.files import check_folder, write_text
from mldsa_lab.sets import parse_set_names

if TYPE_CHECKING:
    from mldsa_lab_rtl.manifest import Manifest

_SHIPPED = ("fast", "small")


CoresArgument = Annotated[
    list[Path] | None,
    typer.Argument(help="Manifests; by default those of the tree's core.", metavar="CORES"),
]


def synth(
    cores: CoresArgument = None,
    out: Annotated[Path, typer.Option(help="Folder for a file of resources of each core.")] = Path(
        "out/synth"
    ),
) -> None:
    """Count what a hardware core takes of an FPGA, module by module, with yosys."""
    from mldsa_lab.screen import Screen
    from mldsa_lab_rtl.study_show import CoreFindings
    from mldsa_lab_rtl.synth import synthesise

    screen = Screen(console())
    result = []
    for manifest in _manifests(cores):
        with screen.phase("synth") as phase:
            folder = find_target(find_root()) / "synth" / manifest.worker
            result.append(synthesise(manifest, folder, phase.show))
            phase.summary = f"{manifest.worker}: {result[-1].total.lut:,} LUT"
        path = out / f"{manifest.worker}.json"
        write_text(path, result[-1].to_json())
        show_path(screen.console, "resources", path)
    OutputOptions().show(CoreFindings([], result).report(), screen.console)


def fmax(
    cores: CoresArgument = None,
    seeds: Annotated[
        int, typer.Option(help="Seeds of the placement: 1 to this number.", min=1, max=100)
    ] = 3,
    speed: Annotated[
        Literal["6", "7", "8"], typer.Option(help="Speed grade; 6 is the slowest.")
    ] = "6",
    minutes: Annotated[
        float, typer.Option(help="Limit of each seed's placement and routing.", min=0.01)
    ] = 120.0,
    out: Annotated[Path, typer.Option(help="Folder for a file of each core's clock rate.")] = Path(
        "out/fmax"
    ),
) -> None:
    """Place and route hardware cores for a Lattice ECP5 with yosys and nextpnr: the clock rate of
    each seed. A seed takes minutes to hours. The file is written after each, and seeds that it has
    of the same text and tools are not run again."""
    from mldsa_lab.screen import Screen
    from mldsa_lab_rtl.clock_rate import Speed, check_tools, measure_clock_rate, read_clock_rate
    from mldsa_lab_rtl.study_show import CoreFindings, clock_words

    check_tools()
    check_folder(out)
    screen = Screen(console())
    result = []
    grade: Speed = {"6": 6, "7": 7, "8": 8}[speed]  # type: ignore[assignment]
    manifests = _manifests(cores)
    paths = [out / f"{manifest.worker}-speed-{grade}.json" for manifest in manifests]
    earlier = [read_clock_rate(path) for path in paths]
    for manifest, path, known in zip(manifests, paths, earlier, strict=True):
        folder = find_target(find_root()) / "fmax" / manifest.worker
        with screen.phase("fmax", total=seeds) as phase:
            phase.show(manifest.worker)
            numbers = range(1, seeds + 1)
            for record in measure_clock_rate(
                manifest, folder, numbers, grade, minutes, phase.show, known
            ):
                write_text(path, record.to_json())
                done = sum(seed.seed in numbers for seed in record.seeds)
                phase.reach(done, clock_words(record))
            result.append(record)
            phase.summary = clock_words(record)
        show_path(screen.console, "clock rate", path)
    OutputOptions().show(CoreFindings([], [], clocks=result).report(), screen.console)
    if not all(record.rates for record in result):
        raise typer.Exit(1)


def study_rtl(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Show these files and measure nothing: records, random.json, round-3.json, "
            "files of `synth` and `fmax`.",
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
        result = read_findings(files)
    else:
        key = secrets.token_bytes(32) if seed is None else parse_seed(seed)
        chosen = parse_set_names(sets or ("ml-dsa",), ml_dsa=True)
        result = read_findings(measure_cores(_manifests(core), chosen, key, random, out, screen))
    outputs.show(result.report(), screen.console)


def _manifests(chosen: Sequence[Path] | None) -> list[Manifest]:
    """Those given, or those of the tree's own core."""
    from mldsa_lab_rtl.manifest import Manifest

    shipped = (find_root() / "rtl" / "core" / f"{name}.toml" for name in _SHIPPED)
    return [Manifest.read(path) for path in chosen or shipped]
