"""`mldsa-lab synth` and `mldsa-lab study rtl`: hardware cores."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mldsa_lab.cli.shared import JsonOption, SeedText

if TYPE_CHECKING:
    from mldsa_lab.estimate.figure import Figure
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
    from mldsa_lab.checkout import find_root
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.files import write_text
    from mldsa_lab.screen import Screen
    from mldsa_lab.show.present import ReportFiles
    from mldsa_lab.show.report import publish
    from mldsa_lab_rtl.study_show import CoreFindings
    from mldsa_lab_rtl.synth import synthesise

    console = make_console()
    found = []
    for manifest in _manifests(cores):
        with Screen(console).phase("synth") as phase:
            folder = find_root() / "target" / "synth" / manifest.worker
            found.append(synthesise(manifest, folder, phase.show))
            phase.summary = f"{manifest.worker}: {found[-1].total.lut:,} LUT"
        path = out / f"{manifest.worker}.json"
        write_text(path, found[-1].to_json())
        show_path(console, "resources", path)
    publish(CoreFindings([], found).report(), console, ReportFiles())


def study_rtl(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Show these files and measure nothing: records, random.json, files of `synth`.",
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
    page: Annotated[
        Path | None, typer.Option(help="Write a page with all tables to this file.", metavar="PATH")
    ] = None,
) -> None:
    """Measure hardware cores in cycles: every operation by phase, signing exactly."""
    from mldsa_lab.bench.options import parse_seed
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import refuse_beside, show_path
    from mldsa_lab.extras import need
    from mldsa_lab.files import check_target
    from mldsa_lab.show.present import ReportFiles
    from mldsa_lab.show.report import publish
    from mldsa_lab_rtl.study_show import read_findings

    console = make_console()
    outputs = ReportFiles(page, json_path)
    for _, path in outputs.named():
        check_target(path)
    if page is not None:
        need("page", "the page")
    if files:
        options = {"--core": core, "--sets": sets, "--seed": seed, "--random": random}
        refuse_beside("FILES", "are shown as they are", dict[str, object](options))
        found = read_findings(files)
    else:
        key = secrets.token_bytes(32) if seed is None else parse_seed(seed)
        found = read_findings(*_measured(_manifests(core), _sets(sets), key, random, out))
    publish(found.report(), console, outputs)
    for title, path in outputs.named():
        show_path(console, title, path)


def _manifests(given: Sequence[Path] | None) -> list[Manifest]:
    """Those given, or those of the tree's own core."""
    from mldsa_lab.checkout import find_root
    from mldsa_lab_rtl.manifest import Manifest

    shipped = (find_root() / "rtl" / "core" / f"{name}.toml" for name in _SHIPPED)
    return [Manifest.read(path) for path in given or shipped]


def _sets(given: list[str] | None) -> tuple[str, ...]:
    from mldsa_lab.errors import LabError
    from mldsa_lab.sets import PARAMETER_SETS, parse_set_names

    chosen = parse_set_names(given or PARAMETER_SETS)
    for name in chosen:
        if name not in PARAMETER_SETS:
            raise LabError(f"study rtl: {name} is not a parameter set of ML-DSA")
    return chosen


def _measured(
    manifests: Sequence[Manifest], sets: tuple[str, ...], seed: bytes, random: int | None, out: Path
) -> tuple[list[Path], list[Figure]]:
    """Measure cores: the files of those of FIPS 204, the figures of those of round 3."""
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.files import write_text
    from mldsa_lab.screen import Screen
    from mldsa_lab_rtl.study_random import draw, drawn_text
    from mldsa_lab_rtl.study_round3 import INPUTS, round_3_rows

    console = make_console()
    final = [m for m in manifests if m.file.standard == "FIPS 204"]
    paths = [_bench([m.path for m in final], sets, seed, out)] if final else []
    if final and random is not None:
        with Screen(console).phase("random") as phase:
            drawn = [one for m in final for one in draw(m, sets, random, seed, phase.show)]
            phase.summary = f"{random} random signatures of each core and set"
        paths.append(paths[0].with_name("random.json"))
        write_text(paths[-1], drawn_text(drawn))
    figures: list[Figure] = []
    for manifest in (m for m in manifests if m not in final):
        with Screen(console).phase("round 3") as phase:
            figures += round_3_rows(manifest, sets, seed, phase.show)
            phase.summary = f"{manifest.worker}: {INPUTS} random inputs agree with dilithium-py"
    for path in paths:
        show_path(console, "record", path)
    return paths, figures


def _bench(cores: Sequence[Path], sets: tuple[str, ...], seed: bytes, out: Path) -> Path:
    """Return the record of a run of one round, since a model's cycles do not vary."""
    from mldsa_lab.bench.bench import run_bench
    from mldsa_lab.bench.material import input_sizes
    from mldsa_lab.bench.options import Options, Profile
    from mldsa_lab.cli.shared import EXIT_INTERRUPTED
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.records.reference import DEFAULT_REFERENCE
    from mldsa_lab.screen import Screen
    from mldsa_lab.sets import SIGNATURE_OPERATIONS
    from mldsa_lab.worker.registry import CORES
    from mldsa_lab_rtl.core_worker import TIMEOUT

    options = Options(
        sets=sets, operations=SIGNATURE_OPERATIONS, implementations=(), workers=(CORES,),
        cores=tuple(cores), profile=Profile("custom", 0.0, 1, 1), rounds=1, sizes=input_sizes(32),
        reference=DEFAULT_REFERENCE, clock="wall", confidence=0.95, seed=seed, timeout=TIMEOUT,
        out=out,
    )  # fmt: skip
    outcome = run_bench(options, Screen(make_console()), lambda record: None)
    if outcome.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    return outcome.record
