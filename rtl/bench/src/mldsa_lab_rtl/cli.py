"""`mldsa-lab synth` and `mldsa-lab study rtl`: hardware cores."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mldsa_lab.cli.shared import ConfidenceOption, SeedText
from mldsa_lab.records.reference import DEFAULT_REFERENCE

if TYPE_CHECKING:
    from mldsa_lab_rtl.study import CoreRow
    from mldsa_lab_rtl.study_random import RandomSignatures

_SHIPPED = ("fast", "small")


def _manifests(given: list[Path] | None) -> tuple[Path, ...]:
    """Those given, or those of the tree's own core."""
    from mldsa_lab.checkout import find_root

    return tuple(given or (find_root() / "rtl" / "core" / f"{name}.toml" for name in _SHIPPED))


def synth(
    cores: Annotated[
        list[Path] | None,
        typer.Argument(help="Manifests; without any those of the tree's core.", metavar="CORES"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for a file of resources of each core.")] = Path(
        "out/synth"
    ),
) -> None:
    """Say what a hardware core takes of an FPGA, module by module, by yosys."""
    from mldsa_lab.checkout import find_root
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.files import write_text
    from mldsa_lab.screen import Screen
    from mldsa_lab.show.grid import terminal
    from mldsa_lab_rtl.manifest import Manifest
    from mldsa_lab_rtl.study_show import resource_grids
    from mldsa_lab_rtl.synth import NOTE, synthesise

    console = make_console()
    screen = Screen(console)
    found = []
    manifests = [Manifest.read(path) for path in _manifests(cores)]
    for manifest in manifests:
        with screen.phase("synth") as phase:
            folder = find_root() / "target" / "synth" / manifest.worker
            made = synthesise(manifest, folder, phase.show)
            phase.summary = f"{manifest.worker}: {made.total.lut:,} LUT"
        path = out / f"{manifest.worker}.json"
        write_text(path, made.to_json())
        show_path(console, "resources", path)
        found.append(made)
    for grid in resource_grids(found):
        console.print(terminal(grid, console.width))
        console.print()
    console.print(NOTE, style="dim")


def study_rtl(
    core: Annotated[
        list[Path] | None,
        typer.Option("--core", help="A manifest; without any those of the tree's core."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Show this run of `bench --core` and measure nothing.")
    ] = None,
    resources: Annotated[
        list[Path] | None, typer.Option(help="Resources that `synth` wrote.", metavar="FILE")
    ] = None,
    sets: Annotated[list[str] | None, typer.Option(help="44, 65, 87.", metavar="NAMES")] = None,
    random: Annotated[
        int | None,
        typer.Option(help="Sign so many random inputs too, and show their mean.", min=2),
    ] = None,
    drawn: Annotated[
        list[Path] | None,
        typer.Option(help="Random signatures that `--random` wrote.", metavar="FILE"),
    ] = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write the rows to this file.", metavar="PATH")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the tables as Markdown to this file.", metavar="PATH")
    ] = None,
    confidence: ConfidenceOption = 0.95,
    seed: SeedText = None,
    out: Annotated[
        Path, typer.Option(help="Folder in which the run gets a folder of its own.")
    ] = Path("out"),
    timeout: Annotated[
        float, typer.Option(help="Seconds a core has for one request.", min=0.5)
    ] = 600.0,
) -> None:
    """Measure hardware cores in cycles: every operation by phase, signing exactly."""
    import json

    from mldsa_lab.bench.options import parse_seed
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import refuse_beside, show_path
    from mldsa_lab.files import check_target, write_text
    from mldsa_lab.records import read_record
    from mldsa_lab.show.grid import terminal
    from mldsa_lab_rtl.manifest import Manifest
    from mldsa_lab_rtl.study import core_rows
    from mldsa_lab_rtl.study_random import read_drawn
    from mldsa_lab_rtl.study_show import CoreFindings
    from mldsa_lab_rtl.synth import read_resources

    console = make_console()
    for path in (json_path, markdown):
        if path is not None:
            check_target(path)
    taken = [read_resources(path) for path in resources or ()]
    rows: list[CoreRow] = []
    signed = [one for path in drawn or () for one in read_drawn(path)]
    if record is None:
        given, chosen = _manifests(core), _sets(sets)
        key = secrets.token_bytes(32) if seed is None else parse_seed(seed)
        standard = {path: Manifest.read(path).file.standard for path in given}
        cores = tuple(path for path in given if standard[path] == "FIPS 204")
        if cores:
            record = _measured(cores, chosen, key, confidence, out, timeout)
            if random is not None:
                path = record.with_name("random.json")
                signed += _drawn(cores, chosen, random, key, timeout, path)
        older = [path for path in given if path not in cores]
        rows += _round_3(older, chosen, key, confidence, timeout)
    else:
        refuse_beside(
            "--record",
            "is shown as it is",
            {"--core": core, "--sets": sets, "--seed": seed, "--random": random},
        )
    if record is not None:
        rows = [*core_rows(read_record(record), confidence), *rows]
    rows += [one.row(confidence) for one in signed]
    found = CoreFindings(rows, taken, confidence)
    for grid in found.grids():
        console.print(terminal(grid, console.width))
        console.print()
    for source in found.sources():
        console.print(source, style="dim", markup=False, highlight=False)
    if json_path is not None:
        write_text(json_path, json.dumps([r.as_dict() for r in found.rows], indent=1) + "\n")
        show_path(console, "rows", json_path)
    if markdown is not None:
        write_text(markdown, found.as_markdown())
        show_path(console, "markdown", markdown)
    if record is not None:
        show_path(console, "record", record)


def _sets(given: list[str] | None) -> tuple[str, ...]:
    """Those of ML-DSA that are named, all without names."""
    from mldsa_lab.errors import LabError
    from mldsa_lab.sets import PARAMETER_SETS, parse_set_names

    chosen = parse_set_names(given or PARAMETER_SETS)
    for name in chosen:
        if name not in PARAMETER_SETS:
            raise LabError(f"study rtl: {name} is no parameter set of ML-DSA")
    return chosen


def _drawn(
    cores: tuple[Path, ...],
    sets: tuple[str, ...],
    count: int,
    seed: bytes,
    timeout: float,
    path: Path,
) -> list[RandomSignatures]:
    """Random signatures of cores that were built, which are written to the file too."""
    from mldsa_lab.checkout import find_root
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.files import write_text
    from mldsa_lab.inputs.library import load
    from mldsa_lab.screen import Screen
    from mldsa_lab.worker.build import Place
    from mldsa_lab_rtl.manifest import Manifest
    from mldsa_lab_rtl.study_random import draw, drawn_text

    console = make_console()
    place, library = Place.of(find_root()), load()
    found: list[RandomSignatures] = []
    with Screen(console).phase("random") as phase:
        for manifest in map(Manifest.read, cores):
            found += draw(manifest, place, library, sets, count, seed, timeout, phase.show)
        phase.summary = f"{count} random signatures of each core and set"
    write_text(path, drawn_text(found))
    show_path(console, "random signatures", path)
    return found


def _round_3(
    cores: Sequence[Path], sets: tuple[str, ...], seed: bytes, confidence: float, timeout: float
) -> list[CoreRow]:
    """The rows of cores of the competition's third round."""
    from mldsa_lab.checkout import find_root
    from mldsa_lab.cli.shared import console
    from mldsa_lab.screen import Screen
    from mldsa_lab.worker.build import Place
    from mldsa_lab_rtl.manifest import Manifest
    from mldsa_lab_rtl.study_round3 import INPUTS, round_3_rows

    rows: list[CoreRow] = []
    for manifest in map(Manifest.read, cores):
        with Screen(console()).phase("round 3") as phase:
            place = Place.of(find_root())
            rows += round_3_rows(manifest, place, sets, seed, confidence, timeout, phase.show)
            phase.summary = f"{manifest.worker}: {INPUTS} random inputs agree with dilithium-py"
    return rows


def _measured(
    cores: tuple[Path, ...],
    sets: tuple[str, ...],
    seed: bytes,
    confidence: float,
    out: Path,
    timeout: float,
) -> Path:
    """The record of a run of one round, since a model's cycles do not vary."""
    from mldsa_lab.bench.bench import run_bench
    from mldsa_lab.bench.material import input_sizes
    from mldsa_lab.bench.options import Options, Profile
    from mldsa_lab.cli.shared import EXIT_INTERRUPTED
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.screen import Screen
    from mldsa_lab.sets import SIGNATURE_OPERATIONS
    from mldsa_lab.worker.registry import CORES

    options = Options(
        sets=sets,
        operations=SIGNATURE_OPERATIONS,
        implementations=(),
        workers=(CORES,),
        cores=cores,
        profile=Profile("custom", 0.0, 1, 1),
        rounds=1,
        sizes=input_sizes(32),
        reference=DEFAULT_REFERENCE,
        clock="wall",
        confidence=confidence,
        seed=seed,
        timeout=timeout,
        out=out,
    )
    outcome = run_bench(options, Screen(make_console()), lambda record: None)
    if outcome.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    return outcome.record
