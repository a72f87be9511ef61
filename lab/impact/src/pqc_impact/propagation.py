"""How a block spreads over a network: a discrete-event simulation of one block.

A node sends message after message at the speed of its upload, or of the receiver's download where
that is lower. A message arrives after the delay of its connection. Announcements and requests take
only the delay.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.theory.trace import Array
from pqc_impact.network import Compact, Graph, Network, Relay

SHORT_ID_BYTES = 6
"""Of a transaction in a compact block (BIP 152)."""
_NEVER = float("inf")
_NONE = -1


class BlockLoad(NamedTuple):
    """A block: its bytes, its transactions, the seconds that a node takes to validate it, and how
    it is relayed."""

    block_bytes: float
    transactions: float
    validation_s: float
    relay: Relay = "request"


class Spreading:
    """Simulates blocks that ``source`` makes, one after another, on the same network.

    ``rng`` draws which nodes send compact blocks unasked, and the part of a block that each node
    lacks. A *link* is the index of a directed connection in `Graph`. An event that cannot change a
    result is not scheduled, for example a later announcement to the same node.
    """

    def __init__(
        self, network: Network, graph: Graph, source: int, rng: np.random.Generator
    ) -> None:
        self.network, self.source, self.nodes = network, source, len(graph.upload)
        self.start: list[int] = graph.start.tolist()
        self.peer: list[int] = graph.peer.tolist()
        self.owner: list[int] = graph.owner.tolist()
        self.back: list[int] = graph.back.tolist()
        self.delay: list[float] = graph.delay.tolist()
        self.upload: list[float] = graph.upload.tolist()
        self.download: list[float] = graph.download.tolist()
        self.lacking_share = np.zeros(self.nodes)
        self.unasked: list[list[int]] = [[] for _ in range(self.nodes)]
        if network.compact is not None:
            self._draw_compact(network.compact, graph, rng)

    def _draw_compact(self, kind: Compact, graph: Graph, rng: np.random.Generator) -> None:
        lacks = rng.random(self.nodes) < kind.lacking
        self.lacking_share = lacks * np.quantile(kind.lacking_bytes_share, rng.random(self.nodes))
        shuffled = np.lexsort((rng.random(len(graph.peer)), graph.owner))
        rank = np.arange(len(graph.peer)) - graph.start[graph.owner]
        for link in graph.back[shuffled[rank < kind.unasked_peers]].tolist():
            self.unasked[self.owner[link]].append(link)

    def run(self, load: BlockLoad) -> Array:
        """Return the time at which each node has validated the block, in seconds since the source
        began to relay it. LabError if a node cannot be reached."""
        compact = self.network.compact if load.relay == "compact" else None
        base_bytes = 0 if compact is None else compact.base_bytes
        self.load, self.is_compact = load, compact is not None
        self.compact_bytes = base_bytes + SHORT_ID_BYTES * load.transactions
        self.lacking: list[float] = (self.lacking_share * load.block_bytes).tolist()
        self.events: list[tuple[float, int, Callable[[int], None], int]] = []
        self.serial = count()  # orders events of the same time
        self.now = 0.0
        self.free = [0.0] * self.nodes  # the time from which a node's upload is idle
        self.heard = [_NEVER] * self.nodes  # the earliest announcement or compact block to a node,
        self.announcer = [_NONE] * self.nodes  # and the link of the announcement
        self.arrives = [_NEVER] * self.nodes  # the earliest compact or pushed block to a node
        self.validated = [_NEVER] * self.nodes
        self.pushed = [_NEVER] * len(self.peer)  # the arrival of a pushed block by a link
        self.next_push = list(self.start)
        self.heard[self.source] = self.arrives[self.source] = 0.0
        self.complete(self.source)
        while self.events:
            self.now, _, act, argument = heappop(self.events)
            act(argument)
        validated = np.array(self.validated)
        lost = int(np.isinf(validated).sum())
        if lost:
            raise LabError(
                f"network: {lost} of {self.nodes} nodes have no way to the others; "
                "outbound_shares needs more connections"
            )
        return validated

    def schedule(self, time: float, act: Callable[[int], None], argument: int) -> None:
        """Call ``act`` at this time."""
        heappush(self.events, (time, next(self.serial), act, argument))

    def complete(self, node: int) -> None:
        """Relay and validate a whole block. The source has validated its own block."""
        if self.validated[node] != _NEVER:
            return
        spent = 0.0 if node == self.source else self.load.validation_s
        time = self.validated[node] = self.now + spent
        if self.load.relay == "push":
            self.schedule(self.now if self.network.pushes_first else time, self.push, node)
            return
        unasked = self.unasked[node] if self.is_compact else []
        for link in unasked:
            self.send_compact(link)
        peer, delay, heard = self.peer, self.delay, self.heard
        for link in range(self.start[node], self.start[node + 1]):
            arrival = time + delay[link]
            if arrival < heard[peer[link]] and link not in unasked:
                heard[peer[link]], self.announcer[peer[link]] = arrival, link
                self.schedule(arrival + delay[link], self.reply, link)

    def reply(self, link: int) -> None:
        """Send the block, whole or compact, to a peer whose first announcement came by ``link``."""
        if self.announcer[self.peer[link]] != link:
            return
        if self.is_compact:
            self.send_compact(link)
        else:
            self.send_whole(link, self.load.block_bytes)

    def send(self, link: int, size: float) -> float:
        """Queue ``size`` bytes for the node's upload. Return the time at which they arrive."""
        node = self.owner[link]
        speed = min(self.upload[node], self.download[self.peer[link]])
        self.free[node] = max(self.now, self.free[node]) + size / speed
        return self.free[node] + self.delay[link]

    def send_whole(self, link: int, size: float) -> None:
        """Send the ``size`` bytes that make a peer's block complete."""
        self.schedule(self.send(link, size), self.complete, self.peer[link])

    def send_lacking(self, link: int) -> None:
        """Send the transactions that a peer lacks."""
        self.send_whole(link, self.lacking[self.peer[link]])

    def send_compact(self, link: int) -> None:
        """Send a compact block. A peer that has it before an announcement ignores that."""
        arrival, to = self.send(link, self.compact_bytes), self.peer[link]
        if arrival < self.arrives[to]:
            self.arrives[to] = arrival
            if arrival <= self.heard[to]:
                self.heard[to], self.announcer[to] = arrival, _NONE
            self.schedule(arrival, self.rebuild, link)

    def rebuild(self, link: int) -> None:
        """Rebuild the block from its first compact copy, or ask for the lacking transactions."""
        to = self.peer[link]
        if self.arrives[to] != self.now:
            return
        if self.lacking[to]:
            self.schedule(self.now + self.delay[link], self.send_lacking, link)
        else:
            self.complete(to)

    def push(self, node: int) -> None:
        """Send the block to the next peer that has not sent it to this node."""
        link, end = self.next_push[node], self.start[node + 1]
        while link < end and self.pushed[self.back[link]] <= self.now:
            link += 1
        if link == end:
            return
        self.next_push[node] = link + 1
        to = self.peer[link]
        sent = self.now + self.load.block_bytes / min(self.upload[node], self.download[to])
        self.schedule(sent, self.push, node)
        arrival = self.pushed[link] = sent + self.delay[link]
        if arrival < self.arrives[to]:
            self.arrives[to] = arrival
            self.schedule(arrival, self.complete, to)
