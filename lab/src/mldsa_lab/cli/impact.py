"""`mldsa-lab impact`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mldsa_lab.cli.propagate import Dask, Processes, simulate

_LIST = "list"
_STANDARD_OUTPUT = "-"


def impact(
    scenario: Annotated[
        str,
        typer.Argument(
            help="A scenario of the tree, a path to a .toml file, or list, which names those of "
            "the tree."
        ),
    ],
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
    processes: Processes = None,
    dask: Dask = None,
) -> None:  # fmt: skip
    """What a change of signature scheme costs a chain: sizes, throughput, storage, verification."""
    from dataclasses import replace

    from rich.console import Console

    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.errors import LabError
    from mldsa_lab.extras import need
    from mldsa_lab.files import check_target, write_text
    from mldsa_lab.impact import file, show
    from mldsa_lab.impact.compress import compressibility
    from mldsa_lab.impact.figures import impact as figures
    from mldsa_lab.impact.schemes import scheme_of
    from mldsa_lab.impact.spreading import add_network
    from mldsa_lab.impact.times import VerifyTimes, reference_records
    from mldsa_lab.show.grid import terminal

    screen = make_console()
    if scenario == _LIST:
        for name, path in file.shipped().items():
            screen.print(f"[bold]{name:<12}[/] {file.read_scenario(path).title}")
        return
    path = file.find_scenario(scenario)
    read = file.read_scenario(path)
    single = {"json": json_path, "markdown": markdown}
    quiet = _STANDARD_OUTPUT in single.values()
    for given in single.values():
        if given not in (None, _STANDARD_OUTPUT):
            check_target(Path(given))
    folder = out or (None if any(single.values()) else Path("out") / f"impact-{path.stem}")
    if folder is not None and not no_page:
        need("page", "the page")
    parts = [part for name in read.schemes for part in scheme_of(name).parts]
    times = VerifyTimes(records or reference_records(), parts)
    try:
        found = figures(path.stem, read, times, compressibility(parts))
        if not no_network:
            progress = Console(stderr=True) if quiet else screen
            found = add_network(
                found, times, path.parent,
                lambda network, loads: simulate(network, loads, progress, processes, dask),
            )  # fmt: skip
    except LabError as error:
        raise LabError(f"{path}: {error}") from None
    if not quiet:
        for grid in show.grids(found):
            screen.print(terminal(replace(grid, note=""), screen.width))
            screen.print()
        for line in show.remarks(found):
            screen.print(line, markup=False, highlight=False)
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
        from mldsa_lab.impact.page import render

        texts["page"], files["page"] = render(found), folder / "impact.html"
    for title, target in files.items():
        write_text(target, texts[title])
        show_path(screen, title, target)
