"""`mldsa-lab rtl study` and `mldsa-lab rtl synth`: hardware cores."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mldsa_lab.checkout import find_root, find_target
from mldsa_lab.cli.shared import (
    OutOption,
    SeedText,
    SetsOption,
    Targets,
    ToOption,
    console,
    reject_options,
    show_path,
)

if TYPE_CHECKING:
    from mldsa_lab.screen import Screen
    from mldsa_lab_rtl.manifest import Manifest

_SHIPPED = ("fast", "small")
_OF_RATE = "speed minutes"


def synth(
    ctx: typer.Context,
    cores: Annotated[
        list[Path] | None,
        typer.Argument(help="Manifests; by default the tree's core.", metavar="CORES"),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Place and route for a Lattice ECP5 with seeds 1 to this number instead, with "
            "yosys and nextpnr: the clock rate. A seed takes minutes to hours; those that the file "
            "has are kept.",
            min=1,
            max=100,
        ),
    ] = None,
    speed: Annotated[
        Literal["6", "7", "8"], typer.Option(help="Speed grade; 6 is the slowest.")
    ] = "6",
    minutes: Annotated[
        float, typer.Option(help="Limit of each seed's placement and routing.", min=0.01)
    ] = 120.0,
    out: Annotated[Path, typer.Option(help="Folder for a file of each core.")] = Path("out/synth"),
) -> None:
    """Count the FPGA resources of a core, or find its clock rate."""
    from mldsa_lab.files import check_folder
    from mldsa_lab.screen import Screen

    check_folder(out)
    screen = Screen(console())
    if seeds is None:
        reject_options(ctx, "resources", "need no --seeds", _OF_RATE)
        _count_resources(_manifests(cores), out, screen)
    else:
        _find_rates(_manifests(cores), seeds, speed, minutes, out, screen)


def _count_resources(manifests: Sequence[Manifest], out: Path, screen: Screen) -> None:
    from mldsa_lab.files import write_text
    from mldsa_lab_rtl.study_show import CoreFindings
    from mldsa_lab_rtl.synth import synthesise

    resources = []
    for manifest in manifests:
        with screen.phase("synth") as phase:
            folder = find_target(find_root()) / "synth" / manifest.worker
            resources.append(synthesise(manifest, folder, phase.show))
            phase.summary = f"{manifest.worker}: {resources[-1].total.lut:,} LUT"
        path = out / f"{manifest.worker}.json"
        write_text(path, resources[-1].to_json())
        show_path(screen.console, "resources", path)
    then = " ".join(["mldsa-lab rtl synth", *(str(m.path) for m in manifests), "--seeds 3"])
    Targets().show(CoreFindings([], resources).report(), screen.console, [then])


def _find_rates(
    manifests: Sequence[Manifest], seeds: int, speed: str, minutes: float, out: Path, screen: Screen
) -> None:
    """Find the clock rate of each core; its file is written after each seed."""
    from mldsa_lab.files import write_text
    from mldsa_lab_rtl.clock_rate import Speed, check_tools, measure_clock_rate, read_clock_rate
    from mldsa_lab_rtl.study_show import CoreFindings, clock_words

    check_tools()
    rates = []
    grade: Speed = {"6": 6, "7": 7, "8": 8}[speed]  # type: ignore[assignment]
    paths = [out / f"{manifest.worker}-speed-{grade}.json" for manifest in manifests]
    earlier = [read_clock_rate(path) for path in paths]
    for manifest, path, known in zip(manifests, paths, earlier, strict=True):
        folder = find_target(find_root()) / "fmax" / manifest.worker
        with screen.phase("clock rate", total=seeds) as phase:
            phase.show(manifest.worker)
            numbers = range(1, seeds + 1)
            for record in measure_clock_rate(
                manifest, folder, numbers, grade, minutes, phase.show, known
            ):
                write_text(path, record.to_json())
                done = sum(seed.seed in numbers for seed in record.seeds)
                phase.reach(done, clock_words(record))
            rates.append(record)
            phase.summary = clock_words(record)
        show_path(screen.console, "clock rate", path)
    Targets().show(CoreFindings([], [], clocks=rates).report(), screen.console)
    if not all(record.rates for record in rates):
        raise typer.Exit(1)


def study(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Manifests (.toml) of cores to measure, by default those of the tree's core; or "
            "files to show, measuring nothing: records, random.json, round-3.json, files of "
            "`synth`.",
            metavar="CORES|FILES",
        ),
    ] = None,
    sets: SetsOption = None,
    random: Annotated[
        int | None,
        typer.Option(help="Also sign so many random inputs, and show their mean.", min=2),
    ] = None,
    seed: SeedText = None,
    out: OutOption = Path("out"),
    to: ToOption = None,
) -> None:
    """Measure cores in cycles: every operation by phase."""
    from mldsa_lab.bench.options import parse_seed
    from mldsa_lab.screen import Screen
    from mldsa_lab.sets import parse_set_names
    from mldsa_lab_rtl.study_run import measure_cores
    from mldsa_lab_rtl.study_show import read_findings

    outputs = Targets.parse(to)
    screen = Screen(outputs.console())
    cores = [path for path in files or () if path.suffix == ".toml"]
    shown = [path for path in files or () if path.suffix != ".toml"]
    if shown:
        reject_options(ctx, str(shown[0]), "is shown as it is", "sets seed random")
    key = secrets.token_bytes(32) if seed is None else parse_seed(seed)
    chosen = parse_set_names(sets or ("ml-dsa",), is_ml_dsa_only=True)
    if cores or not shown:
        shown += measure_cores(_manifests(cores), chosen, key, random, out, screen)
    then = " ".join(["mldsa-lab rtl synth", *map(str, cores)])
    outputs.show(read_findings(shown).report(), screen.console, [then])


def _manifests(paths: Sequence[Path] | None) -> list[Manifest]:
    """Read these manifests, or those of the tree's own core."""
    from mldsa_lab_rtl.manifest import Manifest

    shipped = (find_root() / "rtl" / "core" / f"{name}.toml" for name in _SHIPPED)
    return [Manifest.read(path) for path in paths or shipped]
