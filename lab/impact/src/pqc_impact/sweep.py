"""Many blocks over many networks: how long blocks of different sizes take, and how many go stale.

Block number b of every load is simulated on the same network, from the same node. Each block has
its own seed, so the figures are the same on any number of processes or Dask workers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.parallel import WorkerPool, WorkItem, in_order
from mldsa_lab.theory.trace import Array
from pqc_impact.network import Network, draw_graph
from pqc_impact.propagation import BlockLoad, Spreading

SHARES = (0.5, 0.9, 0.99)
"""The shares of nodes whose times are shown."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Propagation:
    """The figures of one load, one for each block, in seconds: ``until``, a row for each of
    `SHARES`, and ``mean``, over all nodes."""

    until: Array
    mean: Array

    def time(self, share: float) -> Interval:
        """Return the time until this share of the nodes has a block: the mean over blocks, and the
        middle 95 % of these."""
        return _over_blocks(self.until[SHARES.index(share)])

    def stale(self, interval_s: float) -> Interval:
        """Return the share of blocks with a competitor found before all nodes know them."""
        return _over_blocks(stale_rate(self.mean, interval_s))


def _over_blocks(values: Array) -> Interval:
    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(values.mean()), float(low), float(high))


def stale_rate(mean_s: Array, interval_s: float) -> Array:
    """Return the probability that a node finds a competing block while it does not know of one.

    All nodes find blocks alike, and together one every ``interval_s``. The probability is
    1 - exp(-∫(1 - f(t)) dt / interval), f being the share of nodes that know of the block. The
    integral is the mean delay. Source: Decker and Wattenhofer, Information propagation in the
    Bitcoin network, 2013, on forks.
    """
    return -np.expm1(-mean_s / interval_s)


def validation_time(network: Network, signatures: float, per_second: float) -> float:
    """Return the seconds that a node takes for a block with so many signatures, if it verifies
    ``per_second`` of them."""
    left = signatures * (1 - network.verified_before)
    return network.other_validation_s + left / per_second


def simulate_block(network: Network, loads: Sequence[BlockLoad], number: int) -> list[list[float]]:
    """Return for each load of block ``number`` the times of `SHARES`, then the mean."""
    seed = np.random.SeedSequence(network.seed, spawn_key=(number,))
    rng, of_nodes = map(np.random.default_rng, seed.spawn(2))
    graph = draw_graph(network, rng)
    spreading = Spreading(network, graph, int(rng.integers(network.nodes)), of_nodes)
    times = {load: np.sort(spreading.run(load)) for load in set(loads)}
    places = [math.ceil(share * network.nodes) - 1 for share in SHARES]
    return [[*times[load][places].tolist(), float(times[load].mean())] for load in loads]


def propagate(
    network: Network,
    loads: Sequence[Sequence[BlockLoad]],
    force: WorkerPool,
    *,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Propagation]:
    """Return the propagation of each load. Each has one `BlockLoad` for all blocks or one for every
    block of ``network.blocks``; ``progress`` gets the share that is done."""
    items = (
        WorkItem(
            f"simulating block {number}",
            simulate_block,
            (network, [of_load[min(number, len(of_load) - 1)] for of_load in loads], number),
        )
        for number in range(network.blocks)
    )
    blocks = []
    for times in in_order(items, force):
        blocks.append(times)
        progress(len(blocks) / network.blocks)
    return [Propagation(one[:-1], one[-1]) for one in np.array(blocks).transpose(1, 2, 0)]
