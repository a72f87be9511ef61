"""What a node, a server and a disk need: capacity, bandwidth, storage, threads, optimisations, and
which records are tight enough for it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from test_impact import CHAIN, HALF, RECORDS, find, times, value, write

from mldsa_lab.checkout import find_root
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import SummaryRow, summarise
from mldsa_lab.records import read_record
from mldsa_lab.theory.rejection import RejectionModel
from pqc_impact.chain_figures import impact
from pqc_impact.figures import Impact
from pqc_impact.file import read_scenario
from pqc_impact.schemes import scheme_of
from pqc_impact.times import RecordTimes

YEAR = 365.25 * 86400
BUSY = find_root() / "records" / "2026-11-23-epyc-zen4" / "impact.jsonl.xz"
STORAGE = """
[storage]
today = "1 TB"
price = "20 USD/TB"
source = "made up"
disks = { "small one" = "2 TB at 30 to 50 USD/TB" }

[server]
limit = "200 µs"
loads = [0.5]
batches = [8]
source = "made up"
implementations = { "ML-DSA-44" = "mldsa-lanes" }

[node]
traffic_each = "2 * bytes + 10"
verified = [7, 1000]
hardware = "100 to 300 MHz"
"""


@cache
def small(folder: Path) -> Impact:
    path = write(folder, ("\n[node]\n", STORAGE))
    return impact("small", read_scenario(path), times(), HALF)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Impact:
    return small(tmp_path_factory.mktemp("chain"))


@cache
def rows(number: int) -> list[SummaryRow]:
    """The rows of a record by default builds of ML-DSA-44 with compact keys."""
    return [
        r for r in summarise(read_record(RECORDS[number])).rows
        if (r.set, r.key, r.build) == ("ML-DSA-44", "compact", "default")
    ]  # fmt: skip


def cost(operation: str, backend: str, number: int = 0, batch: int = 1) -> float:
    """The mean cost of mldsa-lanes in ns."""
    (row,) = (
        r for r in rows(number)
        if (r.implementation, r.operation, r.backend, r.batch_size, r.threads)
        == ("mldsa-lanes", operation, backend, batch, 1)
        and r.mode == ("batch" if batch > 1 else "single")
    )  # fmt: skip
    assert row.mean is not None
    return row.mean


def test_bandwidth_and_disks(found: Impact) -> None:
    count, scheme = (10**6 - 1000) // 3832, "ML-DSA-44"
    rate = count * (2 * 3832 + 10) / 2
    assert value(found, scheme, "bandwidth of a node") == pytest.approx(rate)
    assert value(found, scheme, "share of the line") == pytest.approx(rate / 1e6)
    steady = (10**6 - 1000) // 196 * (2 * 3832 + 10) / 2
    name = "bandwidth of a node at today's throughput"
    assert value(found, scheme, name) == pytest.approx(steady)
    whole = 1e12 + 10 * YEAR / 2 * count * 3832
    assert value(found, scheme, "chain in ten years") == pytest.approx(whole)
    disk = find(found, scheme, "disk for the chain in ten years")
    assert disk.value == pytest.approx(whole * 20 / 1e12) and disk.unit == "USD"
    price = find(found, scheme, "price of a disk, small one")
    assert (price.value, price.low, price.high, price.unit) == (80, 60, 100, "USD")
    assert value(found, scheme, "download of the chain today") == pytest.approx(1e12 / 1e6)
    for size in (3832, 196):
        scheme = "ML-DSA-44" if size == 3832 else "Ed25519"
        name = "share of the mempool that 10,000 transactions take"
        assert value(found, scheme, name) == pytest.approx(10_000 * size / 10e6)


def test_threads_are_measured_or_marked_as_modelled(found: Impact) -> None:
    def at(name: str) -> tuple[float, str]:
        one = find(found, "ML-DSA-44", name, "")
        assert one.value is not None
        return one.value, str(one.flags[0])

    one, two, four, sixteen = (
        at(f"verification per second on {n} thread{'s' if n > 1 else ''}") for n in (1, 2, 4, 16)
    )
    least = min(cost("verify", b) for b in ("avx2", "avx512", "avx512-vbmi"))
    assert one == (pytest.approx(1e9 / least), "measured")
    assert two[1] == "measured" and four == (pytest.approx(2 * two[0]), "assumed")
    assert sixteen == (pytest.approx(8 * two[0]), "assumed")
    text = find(found, "ML-DSA-44", "verification per second on 16 threads", "").source
    assert text.startswith("modelled: mldsa-lanes") and "from 2 to 16 cores" in text
    assert at("scaling of verification on 16 threads")[0] == pytest.approx(sixteen[0] / one[0])
    assert at("scaling of verification on 1 thread") == (1, "measured")
    assert at("efficiency of verification on 1 thread") == (1, "measured")
    efficiency = at("efficiency of verification on 16 threads")[0]
    assert efficiency == pytest.approx(sixteen[0] / one[0] / 16)


def test_a_server_has_response_times_and_a_safe_load(found: Impact) -> None:
    """By the variance of a geometric number of iterations, which is nearly all of the law's."""
    waiting = "response time, p99, at 50% load"
    constant, ours = (find(found, s, waiting, "") for s in ("Ed25519", "ML-DSA-44"))
    assert "service times: constant" in constant.source
    mean = 1 / value(found, "ML-DSA-44", "signing per second on 1 thread", "")
    # The 99th percentile of M/G/1 goes with the mean wait, and that with 1 + cv².
    model = RejectionModel.of("ML-DSA-44")
    assert ours.value is not None and "exact law" in ours.source
    p99 = model.attempts_quantile(0.99) / model.expected_attempts * mean
    assert 0.8 * p99 < ours.value < 3 * p99
    safe = value(found, "ML-DSA-44", "utilisation with p99 within 200 µs", "")
    assert 0.5 < safe < 0.7  # At half the load p99 is below the limit, at 70 % it is not.
    rate = value(found, "ML-DSA-44", "signatures per second with p99 within 200 µs", "")
    assert rate == pytest.approx(safe / mean)
    batches = find(found, "ML-DSA-44", f"{waiting}, batches of 8", "")
    # Seven of eight wait for others: the first of a batch for seven arrivals.
    assert batches.value is not None and batches.value > 7 * mean / 0.5
    assert find(found, "Ed25519", f"{waiting}, batches of 8", "").value is None


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('"20 USD/TB"', '"20 USD"', "storage: price: '20 USD' is no price such as '10 coins/B'"),
        ('"1 TB"', '"1 year"', "storage: today: '1 year' is in year, must be"),
        ("2 * bytes + 10", "2 * byte", "node.traffic_each: '2 * byte': 'byte' is unknown"),
        ("loads = [0.5]", "loads = [1.0]", "server.loads[0]"),
        ('limit = "200 µs"', 'limit = "200"', "server: limit: '200' has no unit"),
    ],
)
def test_bad_input_names_the_rule(tmp_path: Path, old: str, new: str, rule: str) -> None:
    path = write(tmp_path, (old, new), text=CHAIN.replace("\n[node]\n", STORAGE))
    with pytest.raises(LabError, match=re.escape(rule)):
        read_scenario(path)


def test_a_record_with_wide_intervals_is_rejected(tmp_path: Path) -> None:
    scheme = scheme_of("ECDSA-secp256k1")
    with pytest.raises(LabError, match="interval is 107% of the value wide, more than 50%") as told:
        RecordTimes([BUSY], ["ECDSA-secp256k1"]).rate(scheme, 1, {})
    assert "mldsa-lab bench" in str(told.value) and "--widest 108" in str(told.value)
    assert not isinstance(RecordTimes([BUSY], [scheme.name], widest=1.1).rate(scheme, 1, {}), str)


def test_the_shipped_records_are_tight_where_they_can_be() -> None:
    used = RecordTimes((), ["ECDSA-secp256k1", "ML-DSA-44", "FN-DSA-512"])
    for name in ("ECDSA-secp256k1", "ML-DSA-44"):
        rate = used.rate(scheme_of(name), 1, {})
        assert not isinstance(rate, str)
        low, high = np.quantile(rate.draws, [0.025, 0.975])
        assert (high - low) / rate.draws[0] < 0.03 and "both-builds" in rate.source
    assert used.remarks == ()
    used.rate(scheme_of("FN-DSA-512"), 1, {})
    tight, machine = used.remarks
    assert tight.startswith("Not tight") and "verification of FN-DSA-512 by fn-dsa, 71%" in tight
    assert "another machine" in machine and "FN-DSA-512 (fn-dsa" in machine
    assert Interval(1.0).low is None
