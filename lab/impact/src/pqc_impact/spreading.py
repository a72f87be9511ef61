"""Blocks on a network as figures: of the scenario that names it, and of blocks without a scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mldsa_lab.estimate.figure import Figure, Key
from pqc_impact.chain import Chain
from pqc_impact.chain_figures import ChainFigures
from pqc_impact.figures import Impact, count_cores, make_figure
from pqc_impact.network import Network, find_network, read_network
from pqc_impact.propagation import BlockLoad
from pqc_impact.sweep import SHARES, Propagation, validation_time
from pqc_impact.times import RecordTimes

FULL = "a full block"
Simulate = Callable[[Network, Sequence[Sequence[BlockLoad]]], list[Propagation]]


def as_today(times: float) -> str:
    """Return the words for a block with so many times the transactions of today's."""
    return f"a block with {'' if times == 1 else f'{times:g} × '}today's transactions"


def simulated(network: Network) -> str:
    """Return the source of figures of a network."""
    return f"{network.source}; {network.nodes:,} nodes, {network.blocks} blocks"


def spread_figures(
    keys: Mapping[str, Key], result: Propagation | None, intervals: Mapping[str, float], source: str
) -> Iterator[Figure]:
    """Yield the figures of one block, whose keys name it and its relay; without values where
    ``result`` is None, and ``source`` says why."""
    for share in SHARES:
        value = result.time(share) if result else None
        nodes = round(100 * share)
        yield make_figure(keys, "time", value, "s", source, "assumed", of="spread", nodes=nodes)
    for text, seconds in intervals.items():
        value = result.stale(seconds) if result else None
        yield make_figure(
            keys, "share", value, "", source, "assumed", of="stale blocks", interval=text
        )


def load_figures(
    name: str, network: Network, loads: Sequence[BlockLoad], result: Sequence[Propagation],
    interval_s: float,
) -> Iterator[Figure]:  # fmt: skip
    """Yield the figures of blocks without a scheme, on the network called ``name``."""
    for load, one in zip(loads, result, strict=True):
        keys = {
            "scenario": name,
            "block": f"a block of {load.block_bytes:,.0f} B", "relay": load.relay,
        }  # fmt: skip
        source = (
            f"{simulated(network)}; {load.transactions:g} transactions, validated in "
            f"{load.validation_s:g} s"
        )
        yield from spread_figures(keys, one, {f"{interval_s:g} s": interval_s}, source)


@dataclass(frozen=True)
class _Case:
    """A block to simulate, the keys of its figures and their source; without loads where the
    verification rate is not known."""

    keys: Mapping[str, Key]
    loads: list[BlockLoad]
    source: str


def add_network(result: Impact, times: RecordTimes, folder: Path, simulate: Simulate) -> Impact:
    """Return the figures with those of the scenario's network, if it names one. ``folder``: of the
    scenario."""
    chain = result.scenario
    requested = chain.network if isinstance(chain, Chain) else None
    if requested is None:
        return result
    assert isinstance(chain, Chain)
    own = requested.like.endswith(".toml")
    path = folder / requested.like if own else find_network(requested.like)
    network = read_network(path, nodes=requested.nodes, blocks=requested.blocks)
    intervals = (
        {chain.interval: chain.seconds.value, **requested.seconds} if requested.stale else {}
    )
    node, cores = chain.node, max(chain.node.cores)
    figures, cases = list(result.figures), []
    for form, scheme in chain.pairs():
        if form.name not in requested.templates or scheme.name not in (
            requested.schemes or chain.schemes
        ):
            continue
        at = ChainFigures(result.name, chain, form, scheme, times)
        rate = times.rate(scheme, cores, node.implementations, stretch=node.extrapolate)
        draws, source = np.empty(0), str(rate)
        if not isinstance(rate, str):
            draws = rate.draws[1 : 1 + network.blocks]
            source = f"{simulated(network)}; verified on {count_cores(cores)}: {rate.source}"
        blocks = {as_today(many): many * at.steady for many in sorted(requested.of_today)}
        for block, count in (blocks | ({FULL: at.count} if at.count else {})).items():
            keys: dict[str, Key] = {**at.keys, "block": block}
            size = count * at.bytes + chain.overhead
            text = f"{count:,.0f} transactions"
            kind = at.today_kind if block != FULL else at.kind
            figures.append(make_figure(keys, "bytes", size, "B", text, kind, object="block"))
            signatures = count * form.signatures
            spent = [validation_time(network, signatures, draw) for draw in draws.tolist()]
            for relay in network.relays:
                loads = [BlockLoad(size, count, seconds, relay) for seconds in spent]
                cases.append(_Case({**keys, "relay": relay}, loads, source))
    loads_of = [case.loads for case in cases if case.loads]
    spread = iter(simulate(network, loads_of) if loads_of else [])
    for case in cases:
        figures += spread_figures(
            case.keys, next(spread) if case.loads else None, intervals, case.source
        )
    return replace(result, figures=figures)
