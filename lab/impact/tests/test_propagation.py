"""How blocks spread, against closed forms, against published measurements, and on any workers."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from chains import AT_ONCE
from lab_runs import here
from msgspec import structs
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from mldsa_lab import LabError
from mldsa_lab.parallel import dask, local
from mldsa_lab.theory.trace import Array
from pqc_impact.network import Compact, Graph, Network, draw_graph, find_network, read_network
from pqc_impact.propagation import SHORT_ID_BYTES, BlockLoad, Relay, Spreading
from pqc_impact.sweep import propagate, simulate_block, stale_rate, validation_time

UPLOAD = 1e6
DELAY = 0.05
SIZE = 2e5
VALIDATION = 0.3


@pytest.fixture(scope="module")
def network() -> Network:
    return read_network(find_network("bitcoin-2019"))


def _small(network: Network, **changes: Any) -> Network:
    return structs.replace(network, nodes=300, blocks=6, **changes)


def _graph(edges: list[tuple[int, int]], delay: float | Array = DELAY, **speeds: float) -> Graph:
    nodes = 1 + max(max(edge) for edge in edges)
    upload, download = (
        np.full(nodes, speeds.get(name, default))
        for name, default in (("upload", UPLOAD), ("download", math.inf))
    )
    return Graph.from_edges(
        np.array(edges),
        np.full(len(edges), delay) if isinstance(delay, float) else delay,
        upload,
        download,
    )


def _validated(network: Network, graph: Graph, relay: Relay) -> Array:
    load = BlockLoad(SIZE, 100, VALIDATION, relay)
    return Spreading(network, graph, 0, np.random.default_rng(1)).run(load)


# --- closed forms ---------------------------------------------------------------------------------

STAR = [(0, leaf) for leaf in range(1, 9)]
LINE = [(node, node + 1) for node in range(6)]
LEAVES, HOPS = np.arange(1, 9), np.arange(1, 7)
BLOCK, COMPACT = SIZE / UPLOAD, (400 + SHORT_ID_BYTES * 100) / UPLOAD


def compact(lacking: float, peers: int = 1) -> dict[str, Compact]:
    """A share of the nodes lacks half of the bytes."""
    return {"compact": Compact(400, lacking, (0.5,), peers)}


@pytest.mark.parametrize(
    ("edges", "speeds", "relay", "changes", "expected"),
    [
        # A star waits for the upload of its middle.
        (STAR, {}, "request", {}, 3 * DELAY + LEAVES * BLOCK + VALIDATION),
        (STAR, {}, "push", {}, DELAY + LEAVES * BLOCK + VALIDATION),
        (STAR, {}, "compact", compact(0), DELAY + LEAVES * COMPACT + VALIDATION),
        # The first asks for the rest when all compact blocks have left.
        (STAR, {}, "compact", compact(1),
         COMPACT + 3 * DELAY + LEAVES * 0.5 * BLOCK + VALIDATION),
        # A line adds its hops, with the slower of upload and download.
        (LINE, {}, "request", {}, HOPS * (3 * DELAY + BLOCK + VALIDATION)),
        (LINE, {"download": UPLOAD / 4}, "push", {"pushes_first": False},
         HOPS * (DELAY + 4 * BLOCK + VALIDATION)),
        # Compact blocks, and gossip where it is said, go on before they are validated.
        (LINE, {"upload": math.inf}, "compact", compact(0, 2), HOPS * DELAY + VALIDATION),
        (LINE, {}, "push", {"pushes_first": True}, HOPS * (DELAY + BLOCK) + VALIDATION),
    ],
)  # fmt: skip
def test_stars_and_lines(
    network: Network,
    edges: list[tuple[int, int]],
    speeds: dict[str, float],
    relay: Relay,
    changes: dict[str, Any],
    expected: Array,
) -> None:
    changed = structs.replace(network, **changes)
    times = _validated(changed, _graph(edges, **speeds), relay)
    np.testing.assert_allclose(np.sort(times[1:]), expected)


def test_without_limits_of_bandwidth_the_shortest_way_counts(network: Network) -> None:
    drawn = draw_graph(_small(network), np.random.default_rng(5))
    free = Graph(
        drawn.start, drawn.peer, drawn.delay,
        np.full(300, math.inf), np.full(300, math.inf),
    )  # fmt: skip

    def shortest(hop: Array) -> Array:
        result: Array = dijkstra(csr_array((hop, free.peer, free.start)), indices=0)
        return result

    np.testing.assert_allclose(_validated(network, free, "push"), shortest(free.delay + VALIDATION))
    # Where all connections take as long, who tells a node first also sends first.
    even = Graph(
        free.start, free.peer, np.full(len(free.peer), DELAY), free.upload, free.download,
    )  # fmt: skip
    hops = shortest(np.ones(len(free.peer)))
    expected = hops * (3 * DELAY + VALIDATION)
    np.testing.assert_allclose(_validated(network, even, "request"), expected)


# --- stale blocks ---------------------------------------------------------------------------------


def test_stale_rate_of_the_published_integral() -> None:
    """Decker and Wattenhofer 2013, on forks: the integral of 1 - f is 11.37 s, the interval
    633.68 s, the probability of a fork 1.78 %."""
    assert float(stale_rate(np.array(11.37), 633.68)) == pytest.approx(0.0178, abs=5e-5)


def test_stale_rate_by_simulated_mining() -> None:
    """Competing blocks found as a Poisson process, each by a node alike, that does not know yet."""
    rng = np.random.default_rng(3)
    times, interval = rng.exponential(40, 50), 100.0
    runs, forks = 20_000, 0
    for _ in range(runs):
        finds = rng.uniform(0, times.max(), rng.poisson(times.max() / interval))
        forks += bool((finds < times[rng.integers(50, size=len(finds))]).any())
    expected = float(stale_rate(times.mean(), interval))
    error = math.sqrt(expected * (1 - expected) / runs)
    assert abs(forks / runs - expected) < 4 * error


# --- published figures ----------------------------------------------------------------------------


@pytest.mark.simulation
def test_the_network_of_2015_has_the_median_that_was_measured() -> None:
    """Gervais and others 2016: blocks of 534.8 kB reached half of the nodes in 8.7 s.

    Nothing here was fitted to it: bandwidths, delays and degrees are SimBlock's of that year."""
    network = read_network(find_network("bitcoin-2015"), blocks=8)
    (result,) = propagate(network, [[BlockLoad(534_800, 1000, 0.0)]], AT_ONCE)
    assert result.time(0.5).value == pytest.approx(8.7, rel=0.3)
    assert 0.005 < result.stale(600).value < 0.02


# --- networks -------------------------------------------------------------------------------------


def test_verification_takes_part_of_validation(network: Network) -> None:
    network = structs.replace(network, verified_before=0.75, other_validation_s=0.1)
    assert validation_time(network, 8000, 4000) == pytest.approx(0.1 + 2000 / 4000)


def test_nodes_that_cannot_be_reached_are_named(network: Network) -> None:
    apart = _graph([(0, 1), (2, 3)])
    with pytest.raises(LabError, match="2 of 4 nodes have no way to the others; outbound_shares"):
        _validated(network, apart, "request")


# --- who computes ---------------------------------------------------------------------------------


MIXED = [BlockLoad(1e6, 2000, 0.1, relay) for relay in ("request", "compact", "push")]


def test_a_block_does_not_depend_on_the_blocks_before_it(network: Network) -> None:
    small = _small(network)
    together = simulate_block(small, [*MIXED, *MIXED], 3)
    alone = [times for load in MIXED for times in simulate_block(small, [load], 3)]
    assert together == [*alone, *alone]


@pytest.mark.e2e
def test_the_figures_are_the_same_on_any_workers(network: Network) -> None:
    from distributed import LocalCluster

    small = _small(network)
    loads = [[load] for load in MIXED]
    here = propagate(small, loads, AT_ONCE)
    with local(2) as force:
        two = propagate(small, loads, force)
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=2, threads_per_worker=2, dashboard_address=None, processes=True
        ) as built,
        dask(built.scheduler_address) as force,
    ):
        cluster = propagate(small, loads, force)
    for one, *others in zip(here, two, cluster, strict=True):
        for other in others:
            assert np.array_equal(one.until, other.until)
            assert np.array_equal(one.mean, other.mean)


@pytest.mark.e2e
def test_the_command_shows_each_relay_and_size() -> None:
    small = ("bitcoin-2019", "--nodes", "200", "--blocks", "3", "--processes", "1")
    sizes = ("--bytes", "500000", "--bytes", "2000000", "--interval", "12")
    done = here("propagate", *small, *sizes)
    assert done.status == 0, done.err
    rows = [line for line in done.out.splitlines() if line.startswith("a block of")]
    assert len(rows) == 4 and "200 nodes" in done.out
    done = here("propagate", *small, *sizes, "--to", "json")
    (result,) = json.loads(done.out)["lists"]
    groups = [(group["keys"], *group["figures"].items()) for group in result["groups"]]
    assert len(groups) == 2 * 2 * 4
    (first, (name, _)), (last, (last_name, _)) = groups[0], groups[-1]
    keys = ("of", "block", "relay")
    assert [name, *map(first.get, keys)] == ["time", "spread", "a block of 500,000 B", "compact"]
    assert [last_name, *map(last.get, keys)] == [
        "share", "stale blocks", "a block of 2,000,000 B", "request",
    ]  # fmt: skip
    assert (first["nodes"], last["interval"]) == (50, "12 s")
    assert all(0 < f["low"] <= f["value"] <= f["high"] for _, (_, f) in groups)
