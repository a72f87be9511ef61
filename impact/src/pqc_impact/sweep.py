"""Many blocks over many networks: how long blocks of different sizes take, and how many go stale.

Block number b of every load is simulated on the same network, from the same node: what differs
between loads is the load. Each block has its own seed, so a result does not depend on who computed
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.show.format import Unit, estimate
from mldsa_lab.show.grid import Column, Grid
from mldsa_lab.theory.arrays import Array
from mldsa_lab.workforce import Workforce, WorkItem, in_order
from pqc_impact.network import Network, draw_graph
from pqc_impact.propagation import BlockLoad, spread_block

SHARES = (0.5, 0.9, 0.99)
"""Of the nodes: how long until so many have validated a block is told."""
CONFIDENCE = 0.95


class Kept(Protocol):
    """What keeps simulated blocks: of a network and a block's number, times by load."""

    def read(self, network: Network, number: int) -> dict[BlockLoad, list[float]]:
        """What is kept of this block."""
        ...

    def write(self, network: Network, number: int, found: Mapping[BlockLoad, list[float]]) -> None:
        """Keep these."""
        ...


@dataclass(frozen=True)
class Propagation:
    """Of one load, a figure for each block, in seconds: ``until``, a row for each of `SHARES`, and
    ``mean``, over all nodes."""

    until: Array
    mean: Array

    def time(self, share: float) -> Interval:
        """Until this share of the nodes has a block, on average, and the middle 95 % of blocks."""
        return _over_blocks(self.until[SHARES.index(share)])

    def stale(self, interval_s: float) -> Interval:
        """The share of blocks beside which another is found before all nodes know them."""
        return _over_blocks(stale_rate(self.mean, interval_s))


def stale_rate(mean_s: Array, interval_s: float) -> Array:
    """The probability that a node finds a competing block while it does not know of one, where
    each finds blocks alike and all together one every ``interval_s``: 1 - exp(-∫(1 - f(t)) dt /
    interval), f being the share of nodes that know of it, whose integral is the mean delay
    (Decker and Wattenhofer, Information propagation in the Bitcoin network, 2013, on forks)."""
    return -np.expm1(-mean_s / interval_s)


def validation_time(network: Network, signatures: float, per_second: float) -> float:
    """Seconds that a node takes for a block with so many signatures, if it verifies
    ``per_second`` of them."""
    left = signatures * (1 - network.verified_before)
    return network.other_validation_s + left / per_second


def spread_loads(network: Network, loads: Sequence[BlockLoad], number: int) -> Array:
    """Of block ``number`` with each of the loads: the times of `SHARES`, then the mean."""
    seed = np.random.SeedSequence(network.seed, spawn_key=(number,))
    of_graph, of_block = seed.spawn(2)
    rng = np.random.default_rng(of_graph)
    graph = draw_graph(network, rng)
    source = int(rng.integers(network.nodes))
    found = []
    for load in loads:
        times = spread_block(network, graph, load, source, np.random.default_rng(of_block))
        times.sort()
        places = [math.ceil(share * len(times)) - 1 for share in SHARES]
        found.append([*times[places], times.mean()])
    return np.array(found)


def propagate(
    network: Network,
    loads: Sequence[Sequence[BlockLoad]],
    force: Workforce,
    *,
    progress: Callable[[int], None] = lambda done: None,
    kept: Kept | None = None,
) -> list[Propagation]:
    """What comes of each load. Each has one `BlockLoad` for all blocks or one for every block of
    ``network.blocks``; ``progress`` is told how many blocks are done. What was ``kept`` is not
    simulated again."""
    wanted = [[of[min(n, len(of) - 1)] for of in loads] for n in range(network.blocks)]
    known = [kept.read(network, n) if kept else {} for n in range(network.blocks)]
    lacking = [
        [load for load in dict.fromkeys(these) if load not in had]
        for these, had in zip(wanted, known, strict=True)
    ]
    items = (
        WorkItem(f"simulating block {number}", spread_loads, (network, these, number))
        for number, these in enumerate(lacking)
        if these
    )
    made = in_order(items, force)
    done = []
    for number, (these, new) in enumerate(zip(wanted, lacking, strict=True)):
        if new:
            known[number].update(zip(new, next(made).tolist(), strict=True))
            if kept:
                kept.write(network, number, known[number])
        done.append([known[number][load] for load in these])
        progress(len(done))
    every = np.stack(done, axis=2)
    return [Propagation(one[:-1], one[-1]) for one in every]


def grid(
    network: Network, loads: Sequence[BlockLoad], found: Sequence[Propagation], interval_s: float
) -> Grid:
    """A line for each load."""
    second, percent = Unit(1.0, "s"), Unit(0.01, "%")
    columns = [
        Column("relay", [load.relay for load in loads], head=True),
        Column("bytes", [f"{load.block_bytes:,.0f}" for load in loads], number=True),
        Column("validation, s", [f"{load.validation_s:.3g}" for load in loads], number=True),
    ]
    columns += [
        Column(
            f"{share:.0%} of nodes, s", [estimate(one.time(share), second) for one in found],
            number=True, spare_interval=1,
        )
        for share in SHARES
    ]  # fmt: skip
    stale = [estimate(one.stale(interval_s), percent) for one in found]
    columns.append(Column("stale, %", stale, number=True, spare_interval=1))
    note = f"{network.nodes:,} nodes; the mean of {network.blocks} blocks, and their middle 95 %"
    return Grid(network.title, note, tuple(columns), CONFIDENCE)


def _over_blocks(figures: Array) -> Interval:
    """The mean, and the ends of the middle 95 %."""
    low, high = np.quantile(figures, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(figures.mean()), float(low), float(high))
