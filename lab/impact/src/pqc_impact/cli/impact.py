"""`mldsa-lab impact`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mldsa_lab import LabError, located
from mldsa_lab.checkout import find_root
from mldsa_lab.cli.shared import (
    FORMATS,
    AllOption,
    ImplementationsOption,
    ProcessesOption,
    Targets,
    ToOption,
    console,
    show_named,
    show_path,
    words,
)
from mldsa_lab.files import writing
from pqc_impact.cli.propagate import simulate

if TYPE_CHECKING:
    from mldsa_lab.estimate.figure import Figure
    from pqc_impact.figures import Impact
    from pqc_impact.times import RecordTimes

    Add = Callable[[Impact, RecordTimes], Impact]


def figures_of(
    name: str,
    records: list[Path] | None,
    add: Add | None = None,
    widest: float | None = None,
    implementations: Sequence[str] = (),
) -> Impact:
    """Return the figures of a scenario, by the name or path that a command was given; ``add`` adds
    further ones; ``widest``, ``implementations``: as of `RecordTimes`."""
    from pqc_impact.chain_figures import impact
    from pqc_impact.compress import compressibility
    from pqc_impact.file import find_scenario, read_scenario
    from pqc_impact.protocol import Protocol
    from pqc_impact.schemes import scheme_of
    from pqc_impact.times import WIDEST, RecordTimes

    path = find_scenario(name)
    scenario = read_scenario(path)
    schemes = [scheme_of(name) for name in scenario.schemes]
    parts = [part for scheme in schemes for part in scheme.parts]
    limit = WIDEST if widest is None else widest
    times = RecordTimes(records or (), parts, widest=limit, implementations=implementations)
    with located(path):
        archived = [] if isinstance(scenario, Protocol) else schemes
        shrunk = compressibility(form for scheme in archived for form in scheme.forms)
        figures = impact(path.stem, scenario, times, shrunk)
        return figures if add is None else add(figures, times)


def scenario_figures(argument: str) -> list[Figure]:
    """Return the figures of a scenario for an answer to a published page; ``argument``: its name,
    or its path below the checkout. A factor has no unit; there are no notes."""
    name = str(find_root() / argument) if argument.endswith(".toml") else argument
    figures = figures_of(name, None).figures
    units = {"×": ""}
    return [replace(f, unit=units.get(f.unit, f.unit), notes=()) for f in figures]


def impact(
    scenario: Annotated[
        str | None,
        typer.Argument(
            help="A scenario of the tree, a path to a .toml file, or list, which names those of "
            "the tree."
        ),
    ] = None,
    records: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Records that verification times are from, by default the shipped ones.",
            metavar="RECORD…",
        ),
    ] = None,
    new: Annotated[
        Path | None,
        typer.Option(
            help="Write a scenario of your own to this file: the template chain (default) or "
            "protocol, or a copy of a scenario of the tree, whichever SCENARIO names.",
            metavar="PATH",
        ),
    ] = None,
    implementations: ImplementationsOption = None,
    to: ToOption = None,
    no_network: Annotated[
        bool, typer.Option("--no-network", help="Leave out the scenario's network.")
    ] = False,
    widest: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            help="Reject a record with a 95 % confidence interval wider than this percentage of "
            "its value; by default 50.",
            metavar="PERCENT",
        ),
    ] = None,
    every: AllOption = False,
    processes: ProcessesOption = None,
) -> None:
    """Show what a new scheme costs a chain or protocol. Covers sizes, throughput, storage and
    verification."""
    from pqc_impact import file
    from pqc_impact.show import report
    from pqc_impact.spreading import add_network

    if scenario == "list":
        for name, path in file.shipped().items():
            show_named(console(), f"{name:<12} ", file.read_scenario(path).title)
        return
    if new is not None:
        file.write_template(scenario, new)
        show_path(console(), "template", new)
        show_named(console(), "", f"Change it, then run: mldsa-lab impact {new}")
        return
    if scenario is None:
        raise LabError("impact: name a scenario, or list")
    path = file.find_scenario(scenario)
    read = file.read_scenario(path)
    outputs = _outputs(to, Path("out") / f"impact-{path.stem}")
    screen = outputs.console()
    add: Add | None = None
    if not no_network and getattr(read, "network", None) is not None:
        simulator = partial(simulate, screen=screen, processes=processes)
        add = partial(add_network, folder=path.parent, simulate=simulator)
    limit = None if widest is None else widest / 100
    figures = figures_of(scenario, records, add, limit, words(implementations))
    own = [f"mldsa-lab impact {scenario} --new mine.toml"] if path.stem == scenario else []
    outputs.show(report(figures), screen, own, is_full=every)


def _outputs(to: Sequence[str] | None, folder: Path) -> Targets:
    """Return the files to write: those of --to, or one of each kind in ``folder``."""
    outputs = Targets.parse(to)
    if outputs.is_chosen:
        return outputs
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return outputs.with_files(folder / f"impact.{end}" for end in FORMATS)
