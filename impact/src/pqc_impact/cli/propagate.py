"""`mldsa-lab propagate`, and the options and output that it shares with `impact`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from mldsa_lab.cli.shared import OutputOptions, console
from mldsa_lab.files import check_target, writing

if TYPE_CHECKING:
    from mldsa_lab.show.report import Report
    from pqc_impact.network import Network
    from pqc_impact.propagation import BlockLoad
    from pqc_impact.sweep import Propagation

STANDARD_OUTPUT = "-"
JsonFile = Annotated[
    str,
    typer.Option(
        "--json", help="Write the figures to this file alone; - for standard output.",
        metavar="PATH",
    ),
]  # fmt: skip
Processes = Annotated[
    int | None, typer.Option(help="Processes to simulate with; by default all cores.", min=1)
]
Dask = Annotated[
    str | None,
    typer.Option(
        help="Address of a Dask scheduler whose workers simulate, tcp://host:8786.",
        metavar="ADDRESS",
    ),
]


def propagate(
    network: Annotated[
        str,
        typer.Argument(help="A network of the tree, as bitcoin-2019, or a path to a .toml file."),
    ],
    block_bytes: Annotated[
        list[int], typer.Option("--bytes", help="Bytes of a block; several may be given.", min=1)
    ],
    transaction_bytes: Annotated[
        float, typer.Option(help="Bytes of a transaction, for compact blocks.", min=1)
    ] = 400,
    validation: Annotated[
        float, typer.Option(help="Seconds that a node takes to validate a block.", min=0)
    ] = 0,
    interval: Annotated[
        float, typer.Option(help="Seconds from block to block, for the stale rate.", min=0.001)
    ] = 600,
    nodes: Annotated[
        int | None, typer.Option(help="So many nodes instead of the file's.", min=2)
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(help="So many blocks of each kind instead of the file's.", min=2)
    ] = None,
    json_path: JsonFile = "",
    processes: Processes = None,
    dask: Dask = None,
) -> None:
    """Simulate how blocks spread over a peer-to-peer network: when 50, 90 and 99 % of the nodes
    have validated one, and how many blocks go stale."""
    from pqc_impact.network import find_network, read_network
    from pqc_impact.propagation import BlockLoad
    from pqc_impact.show import network_report
    from pqc_impact.spreading import load_figures

    path = find_network(network)
    assumed = read_network(path, nodes=nodes, blocks=blocks)
    screen, files = open_outputs(json_path)
    loads = [
        BlockLoad(size, size / transaction_bytes, validation, relay)
        for relay in assumed.relays
        for size in block_bytes
    ]
    each = [[load] for load in loads]
    made = simulate(assumed, each, screen, processes, dask)
    figures = list(load_figures(path.stem, assumed, loads, made, interval))
    show(network_report(assumed, figures), screen, files, json_path)


def open_outputs(json_path: str, folder: Path | None = None) -> tuple[Console, OutputOptions]:
    """Return the screen, and the files to write: the JSON alone, or all in ``folder``, which is
    made. LabError, before any work is done, if they cannot be written."""
    files = OutputOptions(no_page=True)
    if json_path not in ("", STANDARD_OUTPUT):
        files = files._replace(json=Path(json_path))
    elif folder is not None and not json_path:
        check_folder(folder)
        ends = ("json", "csv", "md", "html")
        files = OutputOptions(False, *(folder / f"impact.{end}" for end in ends))
    files.check()
    return console(stderr=json_path == STANDARD_OUTPUT), files


def show(
    report: Report, screen: Console, files: OutputOptions, json_path: str, *, every: bool = False
) -> None:
    """Print a report and write its files; its JSON alone, if that goes to standard output."""
    from mldsa_lab.show.report import as_json

    if json_path == STANDARD_OUTPUT:
        print(as_json([report]), end="")
        return
    # Notes of a scenario fill screens. Without --all-tables they are in the files alone.
    shown = report if every else replace(report, notes=())
    OutputOptions().show(shown, screen, every=every)
    files.show(report, screen, tables=False)


def check_folder(folder: Path) -> None:
    """Make a folder. LabError if it cannot be written to."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    check_target(folder / "impact.json")


def simulate(
    network: Network,
    loads: Sequence[Sequence[BlockLoad]],
    screen: Console,
    processes: int | None,
    dask: str | None,
) -> list[Propagation]:
    """Return the propagation of each load, simulated by the workers that the options name; the
    screen shows how far it is."""
    from mldsa_lab.machine import hire
    from mldsa_lab.screen import Screen
    from pqc_impact.sweep import propagate

    with hire(processes, dask) as force, Screen(screen).phase("network", total=1) as phase:
        spread = propagate(
            network, loads, force, progress=lambda share: phase.reach(share, f"{share:.0%}")
        )
        blocks = f"{network.blocks} blocks in each of {len(loads)} ways"
        phase.summary = f"{blocks}, {network.nodes} nodes"
    return spread
