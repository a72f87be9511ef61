"""`mldsa-lab impact`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mldsa_lab.cli.shared import AllTablesOption
from pqc_impact.cli.propagate import Dask, Processes, check_folder, kept_folder, simulate

if TYPE_CHECKING:
    from pqc_impact.figures import Impact
    from pqc_impact.times import RecordTimes

    Add = Callable[[Impact, RecordTimes, Path], Impact]

_LIST = "list"
_STANDARD_OUTPUT = "-"


def figures_of(name: str, records: list[Path] | None, add: Add | None = None) -> Impact:
    """Return the figures of a scenario, by the name or path that a command was given; ``add`` adds
    to those of the scenario at a path."""
    from mldsa_lab.errors import LabError
    from pqc_impact.chain_figures import impact
    from pqc_impact.compress import compressibility
    from pqc_impact.file import find_scenario, read_scenario
    from pqc_impact.protocol import Protocol
    from pqc_impact.schemes import scheme_of
    from pqc_impact.times import RecordTimes, reference_records

    path = find_scenario(name)
    scenario = read_scenario(path)
    schemes = [scheme_of(name) for name in scenario.schemes]
    parts = [part for scheme in schemes for part in scheme.parts]
    protocol = isinstance(scenario, Protocol)
    operations = ("sign", "verify") if protocol else ("verify",)
    times = RecordTimes(records or reference_records(), parts, operations)
    try:
        shrunk = {} if protocol else compressibility(f for s in schemes for f in s.forms)
        found = impact(path.stem, scenario, times, shrunk)
        return found if add is None else add(found, times, path)
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
    new: Annotated[
        Path | None,
        typer.Option(
            help="Write a scenario of your own to this file: the template chain (default) or "
            "protocol, or a copy of a scenario of the tree, whichever SCENARIO names.",
            metavar="PATH",
        ),
    ] = None,
    json_path: Annotated[
        str | None,
        typer.Option(
            "--json", help="Write the figures as rows to this file alone; - for standard output.",
            metavar="PATH",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of page, rows and Markdown; by default out/impact-SCENARIO."),
    ] = None,
    splice: Annotated[
        list[Path] | None,
        typer.Option(
            help="Rewrite the tables between <!-- mldsa-lab:impact … --> and "
            "<!-- /mldsa-lab:impact --> in this Markdown file.",
            metavar="PATH",
        ),
    ] = None,
    no_network: Annotated[
        bool, typer.Option("--no-network", help="Leave out the scenario's network.")
    ] = False,
    all_tables: AllTablesOption = False,
    processes: Processes = None,
    dask: Dask = None,
) -> None:  # fmt: skip
    """Show what a change of signature scheme costs a chain or protocol: sizes, throughput, storage,
    verification."""
    from dataclasses import replace
    from functools import cache

    from rich.console import Console

    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.errors import LabError
    from mldsa_lab.files import check_target
    from mldsa_lab.show.present import ReportFiles
    from mldsa_lab.show.report import as_json, publish
    from pqc_impact import file, show
    from pqc_impact.spreading import add_network

    screen = make_console()
    if scenario == _LIST:
        for name, path in file.shipped().items():
            screen.print(f"[bold]{name:<12}[/] {file.read_scenario(path).title}")
        return
    if new is not None:
        file.write_template(scenario, new)
        show_path(screen, "template", new)
        screen.print(f"Change it, then run: mldsa-lab impact {new}", markup=False, soft_wrap=True)
        return
    if splice is not None:
        from pqc_impact.splice import splice_file

        for document in splice:
            changed = splice_file(document, cache(lambda name: figures_of(name, records)))
            show_path(screen, "spliced" if changed else "unchanged", document)
        if scenario is None:
            return
    if scenario is None:
        raise LabError("impact: name a scenario, or list")
    quiet = json_path == _STANDARD_OUTPUT
    if json_path is None:
        folder = out or Path("out") / f"impact-{file.find_scenario(scenario).stem}"
        check_folder(folder)
        files = ReportFiles(*(folder / f"impact.{end}" for end in ("html", "json", "csv", "md")))
    else:
        files = ReportFiles(json=None if quiet else Path(json_path))
    for _, target in files.named():
        check_target(target)
    read = file.read_scenario(file.find_scenario(scenario))
    has_network = not no_network and getattr(read, "network", None) is not None
    kept = kept_folder() if has_network else None
    progress = Console(stderr=True) if quiet else screen

    def spread(found: Impact, times: RecordTimes, of: Path) -> Impact:
        return add_network(
            found, times, of.parent,
            lambda network, loads: simulate(network, loads, progress, processes, dask, kept),
        )  # fmt: skip

    found = figures_of(scenario, records, spread if has_network else None)
    report = show.report(found)
    if quiet:
        print(as_json(report), end="")
        return
    # Notes of a scenario fill screens: without --all-tables they are in the files alone.
    shown = report if all_tables else replace(report, notes=())
    publish(shown, screen, ReportFiles(), every=all_tables)
    publish(report, screen, files, tables=False)
    for title, target in files.named():
        show_path(screen, title, target)
