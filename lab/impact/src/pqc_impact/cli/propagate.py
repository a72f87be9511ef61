"""`mldsa-lab propagate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from mldsa_lab.cli.shared import ProcessesOption, Targets, ToOption

if TYPE_CHECKING:
    from rich.console import Console

    from pqc_impact.network import Network
    from pqc_impact.propagation import BlockLoad
    from pqc_impact.sweep import Propagation

_TRANSACTION_BYTES = 400  # for compact blocks


def propagate(
    network: Annotated[
        str,
        typer.Argument(help="A network of the tree, as bitcoin-2019, or a path to a .toml file."),
    ],
    block_bytes: Annotated[
        list[int], typer.Option("--bytes", help="Bytes of a block; several may be given.", min=1)
    ],
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
    to: ToOption = None,
    processes: ProcessesOption = None,
) -> None:
    """Simulate how blocks spread over a peer-to-peer network. Shows the times until 50, 90 and 99 %
    of the nodes have validated one, and the rate of stale blocks."""
    from pqc_impact.network import find_network, read_network
    from pqc_impact.propagation import BlockLoad
    from pqc_impact.show import network_report
    from pqc_impact.spreading import load_figures

    path = find_network(network)
    assumed = read_network(path, nodes=nodes, blocks=blocks)
    outputs = Targets.parse(to)
    screen = outputs.console()
    loads = [
        BlockLoad(size, size / _TRANSACTION_BYTES, validation, relay)
        for relay in assumed.relays
        for size in block_bytes
    ]
    each = [[load] for load in loads]
    propagations = simulate(assumed, each, screen, processes)
    figures = list(load_figures(path.stem, assumed, loads, propagations, interval))
    outputs.show(network_report(assumed, figures), screen, ["mldsa-lab impact list"])


def simulate(
    network: Network,
    loads: Sequence[Sequence[BlockLoad]],
    screen: Console,
    processes: str | None,
) -> list[Propagation]:
    """Return the propagation of each load, simulated by the workers that the options name; the
    screen shows how far it is."""
    from mldsa_lab.parallel import process_pool
    from mldsa_lab.screen import Screen
    from pqc_impact.sweep import propagate

    with process_pool(processes) as force, Screen(screen).phase("network", total=1) as phase:
        spread = propagate(
            network, loads, force, progress=lambda share: phase.reach(share, f"{share:.0%}")
        )
        blocks = f"{network.blocks} blocks in each of {len(loads)} ways"
        phase.summary = f"{blocks}, {network.nodes} nodes"
    return spread
