"""A peer-to-peer network: who is connected to whom, how far apart and how fast they are.

`Network` has the assumptions of a network file (lab/notes/propagation.md); `Graph` is one network
drawn from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct, structs

from mldsa_lab import LabError
from mldsa_lab.checkout import file_or_shipped
from mldsa_lab.files import Count, Text, decode_toml, read_text
from mldsa_lab.theory.trace import Array, Ints
from pqc_impact.base import SCENARIOS

Above = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]

RELAYS = ("request", "compact", "push")
Relay = Literal[RELAYS]  # type: ignore[valid-type]
"""How a node passes on a block that it has validated. `request`: it announces the block and sends
it on request. `compact`: the same with compact blocks. `push`: it sends the block to all peers."""
_SUM = 1e-6
_TRIES = 20


class Region(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes of one part of the world: their share of all nodes, and the bandwidth of their access.
    Bandwidth is in Mbit/s (the median, where there is a spread)."""

    name: Text
    share: Share
    upload_mbps: Above
    download_mbps: Above


class Compact(Struct, frozen=True, forbid_unknown_fields=True):
    """Compact block relay (BIP 152). ``base_bytes``: of a compact block without its transactions'
    short identifiers of 6 bytes.

    ``lacking``: the share of nodes that lack transactions of a block; ``lacking_bytes_share``: the
    share of the block that these lack, at equal distances of probability. ``unasked_peers``: peers
    that send compact blocks unasked and before validation (high-bandwidth mode).
    """

    base_bytes: Count
    lacking: Share
    lacking_bytes_share: Annotated[tuple[Share, ...], Meta(min_length=1)]
    unasked_peers: Count


class Network(Struct, frozen=True, forbid_unknown_fields=True):
    """The assumptions about a network.

    ``outbound_shares``: the shares of nodes that open 1, 2, 3 … connections. ``latency_ms``: from
    region to region, one way. ``bandwidth_spread`` and ``latency_spread``: standard deviations of
    the logarithms within a region, 0 for all alike. ``relays``: the ways of relay to simulate, of
    `Relay`. ``cores``: of a node, for verification. ``verified_before``: the share of a block's
    signatures that a node has verified when their transactions arrived. ``other_validation_s``:
    the rest of a block's validation. ``pushes_first``: whether nodes push blocks before they
    validate them. ``blocks``: how many to simulate, each on another network.
    """

    format: Literal["mldsa-lab network"]
    version: Literal[1]
    title: Text
    source: Text
    nodes: Annotated[int, Meta(ge=2, le=1_000_000)]
    outbound_shares: Annotated[tuple[Share, ...], Meta(min_length=1)]
    regions: Annotated[tuple[Region, ...], Meta(min_length=1)]
    latency_ms: tuple[tuple[NotNegative, ...], ...]
    relays: Annotated[tuple[Relay, ...], Meta(min_length=1)]
    bandwidth_spread: NotNegative = 0.0
    latency_spread: NotNegative = 0.0
    verified_before: Share = 0.0
    other_validation_s: NotNegative = 0.0
    pushes_first: bool = False
    compact: Compact | None = None
    blocks: Annotated[int, Meta(ge=2, le=100_000)] = 20
    seed: Count = 1

    def __post_init__(self) -> None:
        count = len(self.regions)
        if len(self.latency_ms) != count or any(len(row) != count for row in self.latency_ms):
            raise ValueError(f"latency_ms must have {count} rows of {count}, as there are regions")
        for name, shares in (
            ("regions", [region.share for region in self.regions]),
            ("outbound_shares", self.outbound_shares),
        ):
            if abs(sum(shares) - 1) > _SUM:
                raise ValueError(f"{name}: the shares add up to {sum(shares):g}, not to 1")
        most_outbound = max(n for n, share in enumerate(self.outbound_shares, 1) if share > 0)
        if most_outbound >= self.nodes:
            raise ValueError(f"outbound_shares: a node of {self.nodes} has too many connections")
        if "compact" in self.relays and self.compact is None:
            raise ValueError("relays has compact, so the table compact is needed")


@dataclass(frozen=True)
class Graph:
    """One network: node ``v`` has the peers ``peer[start[v]:start[v + 1]]``, each ``delay`` seconds
    away, one way; bandwidths in bytes a second."""

    start: Ints
    peer: Ints
    delay: Array
    upload: Array
    download: Array

    @cached_property
    def owner(self) -> Ints:
        """The node that each entry of ``peer`` belongs to."""
        return np.repeat(np.arange(len(self.upload)), np.diff(self.start))

    @cached_property
    def back(self) -> Ints:
        """For each entry of ``peer`` the index of the same connection's other direction."""
        back = np.empty_like(self.peer)
        back[np.lexsort((self.peer, self.owner))] = np.lexsort((self.owner, self.peer))
        return back

    @classmethod
    def from_edges(cls, edges: Ints, delay: Array, upload: Array, download: Array) -> Graph:
        """From connections, ``edges`` having a row (opener, other) for each; a node's peers are
        in the order of the rows."""
        ends = edges.ravel()
        order = np.argsort(ends, kind="stable")
        start = np.zeros(len(upload) + 1, dtype=np.int64)
        np.cumsum(np.bincount(ends, minlength=len(upload)), out=start[1:])
        peer = edges[:, ::-1].ravel()[order]
        return cls(start, peer, np.repeat(delay, 2)[order], upload, download)


def find_network(name: str) -> Path:
    """The file of a network: one of the tree by its name, or a path. LabError for an unknown."""
    known = {p.stem: p for p in sorted((SCENARIOS / "networks").glob("*.toml"))}
    return file_or_shipped(name, known, "network")


def read_network(path: Path, **instead: int | None) -> Network:
    """A network file, with the numbers given ``instead`` of its own; LabError names the file, the
    place in it and the rule it breaks."""
    network = decode_toml(read_text(path), Network, str(path))
    try:
        chosen = {name: number for name, number in instead.items() if number is not None}
        return structs.replace(network, **chosen)
    except ValueError as error:
        raise LabError(f"{path}: {error}") from None


def draw_graph(network: Network, rng: np.random.Generator) -> Graph:
    """A network of these assumptions; every connection's other end is any node alike."""
    nodes = network.nodes
    shares = np.array([r.share for r in network.regions])
    region = rng.choice(len(shares), size=nodes, p=shares / shares.sum())
    counts = np.array(network.outbound_shares)
    outbound = 1 + rng.choice(len(counts), size=nodes, p=counts / counts.sum())
    edges = _connections(outbound, rng)
    one, other = region[edges[:, 0]], region[edges[:, 1]]
    delay = np.array(network.latency_ms)[one, other] / 1e3
    delay *= _factors(network.latency_spread, len(edges), rng)
    speed = _factors(network.bandwidth_spread, nodes, rng) * 1e6 / 8
    upload, download = (
        np.array([getattr(r, name) for r in network.regions])[region] * speed
        for name in ("upload_mbps", "download_mbps")
    )
    return Graph.from_edges(edges, delay, upload, download)


def _factors(spread: float, count: int, rng: np.random.Generator) -> Array:
    """Lognormal, with median 1."""
    return np.exp(spread * rng.standard_normal(count))


def _connections(outbound: Ints, rng: np.random.Generator) -> Ints:
    """Each node's ``outbound`` connections to others, in random order. Of two between the same
    nodes one stays, and a new end is drawn for the other, a few times."""
    nodes = len(outbound)
    requested = np.repeat(np.arange(nodes), outbound)
    pairs = np.empty((0, 2), dtype=np.int64)
    for _ in range(_TRIES):
        ends = rng.integers(0, nodes - 1, size=len(requested))
        pairs = np.concatenate([pairs, np.stack([requested, ends + (ends >= requested)], axis=1)])
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        _, first = np.unique(low * nodes + high, return_index=True)
        repeated = np.ones(len(pairs), dtype=np.bool_)
        repeated[first] = False
        requested, pairs = pairs[repeated, 0], pairs[np.sort(first)]
        if not requested.size:
            break
    return rng.permutation(pairs)
