"""Many blocks over many networks: how long blocks of different sizes take, and how many go stale.

Block number b of every load is simulated on the same network, from the same node: what differs
between loads is the load. Each block has its own seed, so a result does not depend on who computed
it. It follows from the network, the load, the number and the code alone, so that results are kept
in files whose names are a digest of these.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path

import msgspec
import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.files import read_text, write_text
from mldsa_lab.theory.arrays import Array
from mldsa_lab.workforce import Workforce, WorkItem, in_order
from pqc_impact.network import Graph, Network, draw_graph
from pqc_impact.propagation import BlockLoad, spread_block

SHARES = (0.5, 0.9, 0.99)
"""The shares of nodes whose times are shown."""
CONFIDENCE = 0.95
_WITHOUT_EFFECT = {"title": "-", "source": "-", "blocks": 2}
"""Fields of a network that do not change a block's way, as they stand in a digest."""


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
    """Return the probability that a node finds a competing block while it does not know of one,
    where each finds blocks alike and all together one every ``interval_s``:
    1 - exp(-∫(1 - f(t)) dt / interval), f being the share of nodes that know of it, whose integral
    is the mean delay (Decker and Wattenhofer, Information propagation in the Bitcoin network, 2013,
    on forks)."""
    return -np.expm1(-mean_s / interval_s)


def validation_time(network: Network, signatures: float, per_second: float) -> float:
    """Return the seconds that a node takes for a block with so many signatures, if it verifies
    ``per_second`` of them."""
    left = signatures * (1 - network.verified_before)
    return network.other_validation_s + left / per_second


# The blocks of one number follow each other.
@lru_cache(maxsize=2)
def _drawn(network: Network, number: int) -> tuple[Graph, int, np.random.SeedSequence]:
    """Return the network of block ``number``, its source, and the seed of what nodes do."""
    seed = np.random.SeedSequence(network.seed, spawn_key=(number,))
    of_graph, of_block = seed.spawn(2)
    rng = np.random.default_rng(of_graph)
    graph = draw_graph(network, rng)
    return graph, int(rng.integers(network.nodes)), of_block


def simulate_block(network: Network, load: BlockLoad, number: int) -> list[float]:
    """Return the times of `SHARES` of block ``number`` with this load, then the mean."""
    graph, source, seed = _drawn(network, number)
    times = np.sort(spread_block(network, graph, load, source, np.random.default_rng(seed)))
    places = [math.ceil(share * len(times)) - 1 for share in SHARES]
    return [*times[places].tolist(), float(times.mean())]


def propagate(
    network: Network,
    loads: Sequence[Sequence[BlockLoad]],
    force: Workforce,
    *,
    progress: Callable[[float], None] = lambda share: None,
    folder: Path | None = None,
) -> list[Propagation]:
    """Return the propagation of each load. Each has one `BlockLoad` for all blocks or one for every
    block of ``network.blocks``; ``progress`` gets the share that is done; ``folder`` keeps
    results."""
    wanted = [[(n, of[min(n, len(of) - 1)]) for of in loads] for n in range(network.blocks)]
    found = {
        block: _kept(folder / _digest(network, *block)) if folder else None
        for row in wanted
        for block in row
    }
    lacking = [block for block, times in found.items() if times is None]
    items = (
        WorkItem(f"simulating block {number}", simulate_block, (network, load, number))
        for number, load in lacking
    )
    for done, (block, times) in enumerate(zip(lacking, in_order(items, force), strict=True), 1):
        found[block] = times
        if folder:
            write_text(folder / _digest(network, *block), json.dumps(times))
        progress(1 - (len(lacking) - done) / len(found))
    values = np.array([[found[block] for block in row] for row in wanted]).transpose(1, 2, 0)
    return [Propagation(one[:-1], one[-1]) for one in values]


def _kept(path: Path) -> list[float] | None:
    """Return the times in a file; None where it is not there or holds something else."""
    try:
        return msgspec.json.decode(read_text(path), type=list[float])
    except (LabError, msgspec.MsgspecError):
        return None


def _digest(network: Network, number: int, load: BlockLoad) -> str:
    plain = msgspec.json.encode([msgspec.structs.replace(network, **_WITHOUT_EFFECT), number, load])
    return f"{hashlib.sha256(_code() + plain).hexdigest()}.json"


@cache
def _code() -> bytes:
    names = ("network.py", "propagation.py", "sweep.py")
    texts = [Path(__file__).with_name(name).read_bytes() for name in names]
    return b"\0".join([*texts, version("simpy").encode(), version("numpy").encode()])
