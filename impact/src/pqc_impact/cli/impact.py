"""`mldsa-lab impact`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mldsa_lab.cli.shared import AllTablesOption
from pqc_impact.cli.propagate import Dask, Processes, simulate

if TYPE_CHECKING:
    from pqc_impact.figures import Impact
    from pqc_impact.times import RecordTimes

    Add = Callable[[Impact, RecordTimes, Path], Impact]

_LIST = "list"
_STANDARD_OUTPUT = "-"


def figures_of(name: str, records: list[Path] | None, add: Add | None = None) -> Impact:
    """The figures of a scenario, by the name or path that a command was given; ``add`` has more of
    the scenario at a path."""
    from mldsa_lab.errors import LabError
    from mldsa_lab.files import read_text
    from mldsa_lab.toml import line_of
    from pqc_impact import figures
    from pqc_impact.base import ScenarioFault
    from pqc_impact.compress import compressibility
    from pqc_impact.file import find_scenario, read_scenario
    from pqc_impact.protocol import Protocol
    from pqc_impact.schemes import scheme_of
    from pqc_impact.times import RecordTimes, reference_records

    path = find_scenario(name)
    read = read_scenario(path)
    schemes = [scheme_of(name) for name in read.schemes]
    parts = [part for scheme in schemes for part in scheme.parts]
    protocol = isinstance(read, Protocol)
    operations = ("sign", "verify") if protocol else ("verify",)
    times = RecordTimes(records or reference_records(), parts, operations)
    try:
        shrunk = {} if protocol else compressibility(f for s in schemes for f in s.forms)
        found = figures.impact(path.stem, read, times, shrunk)
        return found if add is None else add(found, times, path)
    except ScenarioFault as fault:
        line = line_of(read_text(path), fault.keys)
        raise LabError(f"{path}, line {line}, {fault}") from None
    except LabError as error:
        raise LabError(f"{path}: {error}") from None


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
    json_path: Annotated[
        str | None,
        typer.Option(
            "--json", help="Write the figures as rows to this file alone; - for standard output.",
            metavar="PATH",
        ),
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(
            help="Write the tables as Markdown to this file alone; - for standard output.",
            metavar="PATH",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of page, rows and Markdown; by default out/impact-SCENARIO."),
    ] = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no page.")] = False,
    no_network: Annotated[
        bool, typer.Option("--no-network", help="Leave out the scenario's network.")
    ] = False,
    all_tables: AllTablesOption = False,
    processes: Processes = None,
    dask: Dask = None,
) -> None:  # fmt: skip
    """What a change of signature scheme costs a chain: sizes, throughput, storage, verification."""
    from dataclasses import replace

    from rich.console import Console

    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.errors import LabError
    from mldsa_lab.files import check_target, write_text
    from mldsa_lab.show.grid import terminal
    from pqc_impact import file, show
    from pqc_impact.spreading import add_network

    screen = make_console()
    if scenario == _LIST:
        for name, path in file.shipped().items():
            screen.print(f"[bold]{name:<12}[/] {file.read_scenario(path).title}")
        return
    if scenario is None:
        raise LabError("impact: name a scenario, or list")
    single = {"json": json_path, "markdown": markdown}
    quiet = _STANDARD_OUTPUT in single.values()
    for given in single.values():
        if given not in (None, _STANDARD_OUTPUT):
            check_target(Path(given))
    path = file.find_scenario(scenario)
    folder = out or (None if any(single.values()) else Path("out") / f"impact-{path.stem}")
    progress = Console(stderr=True) if quiet else screen

    def spread(found: Impact, times: RecordTimes, of: Path) -> Impact:
        return add_network(
            found, times, of.parent,
            lambda network, loads: simulate(network, loads, progress, processes, dask),
        )  # fmt: skip

    found = figures_of(scenario, records, None if no_network else spread)
    if not quiet:
        for grid in show.grids(found) if all_tables else [show.overview(found)]:
            screen.print(terminal(replace(grid, note=""), screen.width))
            screen.print()
        for line in show.remarks(found) if all_tables else ():
            screen.print(line, markup=False, highlight=False)
        screen.print(f"{show.headline(found)}.", style="bold", markup=False, highlight=False)
        if not all_tables:
            screen.print("More tables: --all-tables, or the page.")
        for record in found.records:
            show_path(screen, "record", Path(record))
    texts = {"json": show.as_json(found.rows), "markdown": show.as_markdown(found)}
    for title, given in single.items():
        if given == _STANDARD_OUTPUT:
            print(texts[title], end="")
        elif given is not None:
            write_text(Path(given), texts[title])
            show_path(screen, title, Path(given))
    if folder is None:
        return
    files = {"json": folder / "impact.json", "markdown": folder / "impact.md"}
    if not no_page:
        from pqc_impact.page import render

        texts["page"], files["page"] = render(found), folder / "impact.html"
    for title, target in files.items():
        write_text(target, texts[title])
        show_path(screen, title, target)
