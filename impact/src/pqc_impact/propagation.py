"""How a block spreads over a network: a discrete-event simulation of one block, in SimPy.

What a node sends leaves message after message at the speed of its upload, or of the receiver's
download where that is lower, and arrives after the delay of the connection. Announcements and
requests take the delay alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np
from simpy import Environment, Event

from mldsa_lab.errors import LabError
from mldsa_lab.theory.arrays import Array
from pqc_impact.network import Compact, Graph, Network, Relay

SHORT_ID_BYTES = 6
"""Of a transaction in a compact block (BIP 152)."""
_NEVER = float("inf")
_Steps = Generator["Event", None, None]


class BlockLoad(NamedTuple):
    """A block: its bytes, its transactions, the seconds that a node takes to validate it, and how
    it is relayed."""

    block_bytes: float
    transactions: float
    validation_s: float
    relay: Relay = "request"


def spread_block(
    network: Network, graph: Graph, load: BlockLoad, source: int, rng: np.random.Generator
) -> Array:
    """When each node has validated a block that ``source`` made, in seconds since that let its
    first peer know; LabError if some cannot be reached.

    ``rng`` draws who sends compact blocks unasked, and who lacks which part of one.
    """
    spreading = _Spreading(graph, load, pushes_first=network.pushes_first)
    if network.compact is not None and load.relay == "compact":
        spreading.use_compact(network.compact, graph, rng)
    validated = spreading.run(source)
    lost = int(np.isinf(validated).sum())
    if lost:
        raise LabError(
            f"network: {lost} of {len(validated)} nodes have no way to the others; "
            "outbound_shares needs more connections"
        )
    return validated


class _Spreading:
    """The state of one block's way, and what nodes do."""

    def __init__(self, graph: Graph, load: BlockLoad, *, pushes_first: bool) -> None:
        self.clock = Environment()
        self.load, self.pushes, self.pushes_first = load, load.relay == "push", pushes_first
        nodes = len(graph.upload)
        self.peers = graph.peers
        self.upload, self.download = graph.upload.tolist(), graph.download.tolist()
        self.free = [0.0] * nodes  # when a node's upload is
        self.told = [_NEVER] * nodes  # by the earliest announcement on its way
        self.asked = [False] * nodes
        self.complete = [False] * nodes
        self.validated = [_NEVER] * nodes
        self.has = set[tuple[int, int]]()  # (v, w): w has the block, as v knows
        self.short_bytes: float | None = None
        self.rebuilds = [False] * nodes  # from a compact block
        self.lacking = [0.0] * nodes  # bytes
        self.unasked: list[list[tuple[int, float]]] = [[] for _ in range(nodes)]

    def use_compact(self, kind: Compact, graph: Graph, rng: np.random.Generator) -> None:
        """Relay compact blocks."""
        nodes = len(self.peers)
        self.short_bytes = kind.base_bytes + SHORT_ID_BYTES * self.load.transactions
        lacks = rng.random(nodes) < kind.lacking
        shares = np.quantile(kind.lacking_bytes_share, rng.random(nodes))
        self.lacking = (lacks * shares * self.load.block_bytes).tolist()
        node = np.repeat(np.arange(nodes), np.diff(graph.start))
        shuffled = np.lexsort((rng.random(len(node)), node))
        rank = np.arange(len(node)) - graph.start[node]
        for place in shuffled[rank < kind.unasked_peers].tolist():
            self.unasked[graph.peer[place]].append((int(node[place]), float(graph.delay[place])))

    def run(self, source: int) -> Array:
        self.source = source
        self.told[source] = 0.0
        self.asked[source] = self.rebuilds[source] = True
        self.whole(source)
        self.clock.run()
        return np.array(self.validated)

    def later(self, delay: float, then: Callable[..., None], *args: object) -> None:
        """Call it after so long. A process of SimPy would take three events for the one."""
        callbacks = self.clock.timeout(delay).callbacks
        assert callbacks is not None
        callbacks.append(lambda _: then(*args))

    def whole(self, node: int) -> None:
        """It has the whole block: sends it on compact, and validates it unless it is its own."""
        if not self.complete[node]:
            self.complete[node] = True
            for to, delay in self.unasked[node]:
                self.send_compact(node, to, delay)
            if self.pushes and self.pushes_first:
                self.clock.process(self.push(node))
            spent = 0.0 if node == self.source else self.load.validation_s
            self.later(spent, self.has_validated, node)

    def has_validated(self, node: int) -> None:
        """It pushes the block, or announces it to peers that have not heard of it."""
        now = self.validated[node] = self.clock.now
        if self.pushes and not self.pushes_first:
            self.clock.process(self.push(node))
        elif not self.pushes:
            unasked = self.unasked[node]
            for to, delay in self.peers[node]:
                known = self.rebuilds[to] or (to, delay) in unasked
                if now + delay < self.told[to] and not known:
                    self.told[to] = now + delay
                    self.later(delay, self.hear, node, to, delay)

    def hear(self, node: int, to: int, delay: float) -> None:
        """A peer asks the first that tells it."""
        if not (self.asked[to] or self.rebuilds[to]):
            self.asked[to] = True
            self.later(delay, self.reply, node, to, delay)

    def reply(self, node: int, to: int, delay: float) -> None:
        """The block, whole or compact, to a peer that asked."""
        if self.short_bytes is None:
            self.send(node, to, delay, self.load.block_bytes, self.whole, to)
        else:
            self.send_compact(node, to, delay)

    def send(
        self, node: int, to: int, delay: float, size: float, then: Callable[..., None],
        *args: object,
    ) -> None:  # fmt: skip
        """``size`` bytes, after all that waits for the node's upload; ``then`` when they arrive."""
        begin = max(self.clock.now, self.free[node])
        self.free[node] = begin + size / min(self.upload[node], self.download[to])
        self.later(self.free[node] + delay - self.clock.now, then, *args)

    def send_compact(self, node: int, to: int, delay: float) -> None:
        """A compact block."""
        assert self.short_bytes is not None
        self.send(node, to, delay, self.short_bytes, self.rebuild, node, to, delay)

    def rebuild(self, node: int, to: int, delay: float) -> None:
        """A peer that had no compact block yet asks the node for the transactions that it lacks."""
        if self.rebuilds[to]:
            return
        self.rebuilds[to] = True
        size = self.lacking[to]
        if size:
            self.later(delay, self.send, node, to, delay, size, self.whole, to)
        else:
            self.whole(to)

    def push(self, node: int) -> _Steps:
        """The block to one peer after the other that has not sent it here."""
        for to, delay in self.peers[node]:
            if (node, to) not in self.has:
                speed = min(self.upload[node], self.download[to])
                yield self.clock.timeout(self.load.block_bytes / speed)
                self.later(delay, self.arrive, node, to)

    def arrive(self, node: int, to: int) -> None:
        """A pushed block."""
        self.has.add((to, node))
        self.whole(to)
