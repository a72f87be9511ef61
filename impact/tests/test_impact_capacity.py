"""What a node, a server and a disk need: capacity, bandwidth, storage, threads, optimisations, and
which records are tight enough for it."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from test_impact import HALF, RECORDS, STORAGE, find, times, value, write

from mldsa_lab.checkout import find_root
from mldsa_lab.estimate.measured_cell import MeasuredCell
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.records import read_record
from mldsa_lab.theory.rejection import RejectionModel
from pqc_impact.chain_figures import impact
from pqc_impact.cli.impact import figures_of
from pqc_impact.figures import Impact
from pqc_impact.file import read_scenario
from pqc_impact.scheme_figures import TRAFFIC
from pqc_impact.show import SERVER, report

YEAR = 365.25 * 86400
BUSY = find_root() / "records" / "2026-11-23-epyc-zen4" / "impact.jsonl.xz"

# Figures of published records.
pytestmark = pytest.mark.e2e


@cache
def small(folder: Path) -> Impact:
    path = write(folder, ("\n[node]\n", STORAGE))
    return impact("small", read_scenario(path), times(), HALF)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Impact:
    return small(tmp_path_factory.mktemp("chain"))


@cache
def rows(number: int) -> list[MeasuredCell]:
    """The rows of a record by default builds of ML-DSA-44 with compact keys."""
    return [
        r for r in summarise(read_record(RECORDS[number])).cells
        if (r.set, r.variant.key, r.worker.build) == ("ML-DSA-44", "compact", "default")
    ]  # fmt: skip


def cost(operation: str, backend: str, number: int = 0, batch: int = 1) -> float:
    """The mean cost of mldsa-lanes in ns."""
    (row,) = (
        r for r in rows(number)
        if (r.variant.implementation, r.operation, r.variant.backend)
        == ("mldsa-lanes", operation, backend)
        and (r.variant.mode, r.variant.batch_size, r.variant.threads)
        == ("batch" if batch > 1 else "single", batch, 1)
    )  # fmt: skip
    return row.cost


def test_a_node_signs_and_verifies_many_times_the_throughput(found: Impact) -> None:
    today = (10**6 - 1000) // 196 / 2  # transactions in a second
    for operation in ("sign", "verify"):
        name = f"over_today of=capacity operation={operation} threads=1"
        least = min(cost(operation, b) for b in ("avx2", "avx512", "avx512-vbmi"))
        assert value(found, "ML-DSA-44", name) == pytest.approx(1e9 / least / today)


def test_bandwidth_and_disks(found: Impact) -> None:
    count, scheme = (10**6 - 1000) // 3832, "ML-DSA-44"
    rate = count * (2 * 3832 + 10) / 2
    assert value(found, scheme, "bytes_per_second of=node") == pytest.approx(rate)
    assert value(found, scheme, "share of=line") == pytest.approx(rate / 1e6)
    steady = (10**6 - 1000) // 196 * (2 * 3832 + 10) / 2
    name = "bytes_per_second of=node load=today"
    assert value(found, scheme, name) == pytest.approx(steady)
    whole = 1e12 + 10 * YEAR / 2 * count * 3832
    assert value(found, scheme, "bytes object=chain years=10") == pytest.approx(whole)
    disk = find(found, scheme, "price object=chain years=10")
    assert disk.value == pytest.approx(whole * 20 / 1e12) and disk.unit == "USD"
    price = find(found, scheme, "price 'disk=small one'")
    assert (price.value, price.low, price.high, price.unit) == (80, 60, 100, "USD")
    assert value(found, scheme, "time of=download object=chain years=0") == pytest.approx(
        1e12 / 1e6
    )
    for size in (3832, 196):
        scheme = "ML-DSA-44" if size == 3832 else "Ed25519"
        name = "share of=mempool operations=10000"
        assert value(found, scheme, name) == pytest.approx(10_000 * size / 10e6)


def test_any_number_of_transactions_is_verified_one_by_one(found: Impact) -> None:
    least = min(cost("verify", b) for b in ("avx2", "avx512", "avx512-vbmi"))
    for count in (7, 1000):
        name = f"time of=transactions operation=verify operations={count} threads=1"
        assert value(found, "ML-DSA-44", name) == pytest.approx(count * least / 1e9)


def test_keys_over_todays(found: Impact) -> None:
    """FIPS 204, section 4: a private key of 32 (k + l) 3 + 416 k + 128 bytes for eta = 2."""
    name = "over_today of=bytes 'object=private key'"
    assert value(found, "ML-DSA-44", name, "") == (32 * 8 * 3 + 416 * 4 + 128) / 32
    assert value(found, "ML-DSA-44", "over_today of=bytes 'object=public key'", "") == 1312 / 32


def test_traffic_is_counted_and_its_rate_is_over_measured_time(tmp_path: Path) -> None:
    """Of the implementation that the node names; the record's lines are read here as JSON."""
    named = STORAGE + 'implementations = { "ML-DSA-44" = "mldsa-native" }\n'
    path = write(tmp_path, ("\n[node]\n", named))
    made = impact("small", read_scenario(path), times(), HALF)
    text = lzma.decompress((find_root() / TRAFFIC).read_bytes())
    lines = [json.loads(line) for line in text.splitlines()]
    counted = {
        line["operation"]: line for line in lines if line.get("shape") == {"memory": "traffic"}
    }
    traces = {
        line["id"]: line["trace"] for line in lines
        if line["type"] == "input" and line["set"] == "ML-DSA-44"
    }  # fmt: skip
    # Signatures of 1 to 27 iterations: a least-squares line in their rejections by z and by others,
    # at their means by the rates of Algorithm 7.
    p_z, p_r, p_h = 0.5414746, 0.4297499, 0.9859
    accepted = p_z * p_r * p_h
    signed = counted["sign"]["inputs"]
    assert len(signed) >= 4
    of_z = [sum(a.startswith("z") for a in traces[n]) for n in signed]
    others = [len(traces[n]) - 1 - z for n, z in zip(signed, of_z, strict=True)]
    z = (1 - p_z) / accepted
    mean = np.array([1, z, 1 / accepted - 1 - z])
    matrix = np.column_stack([np.ones(len(signed)), of_z, others])
    sign = {
        name: float(mean @ np.linalg.lstsq(matrix, np.array(values, float), rcond=None)[0])
        for name, values in counted["sign"]["metrics"].items()
    }
    verify = {n: v[0] for n, v in counted["verify"]["metrics"].items()}
    for metric in ("read", "written"):
        name = f"{metric} operations=10000"
        expected = 10_000 * (sign[metric] + verify[metric])
        assert value(made, "ML-DSA-44", name, "") == pytest.approx(expected, rel=1e-3)
    native = {
        r.operation: r.cost for r in rows(0)
        if r.variant.implementation == "mldsa-native" and not r.variant.runs
    }  # fmt: skip
    moved = sum(one[metric] for one in (sign, verify) for metric in ("read", "written"))
    rate = moved / (native["sign"] + native["verify"]) * 1e9
    in_a_second = value(made, "ML-DSA-44", "bytes_per_second of=memory", "")
    assert in_a_second == pytest.approx(rate, rel=1e-3)
    name = "share of=accesses 'cache=32 KiB'"
    missed = (sign["first_misses"] + verify["first_misses"]) / (
        sign["accesses"] + verify["accesses"]
    )
    assert value(made, "ML-DSA-44", name, "") == pytest.approx(1 - missed, rel=1e-4)


def test_threads_are_measured_or_marked_as_modelled(found: Impact) -> None:
    def at(name: str) -> tuple[float, str]:
        one = find(found, "ML-DSA-44", name, "")
        assert one.value is not None
        return one.value, str(one.kind)

    one, two, four, sixteen = (
        at(f"per_second operation=verify threads={n}") for n in (1, 2, 4, 16)
    )
    least = min(cost("verify", b) for b in ("avx2", "avx512", "avx512-vbmi"))
    assert one == (pytest.approx(1e9 / least), "measured")
    assert two[1] == "measured" and four == (pytest.approx(2 * two[0]), "assumed")
    assert sixteen == (pytest.approx(8 * two[0]), "assumed")
    text = find(found, "ML-DSA-44", "per_second operation=verify threads=16", "").source
    assert text.startswith("modelled: mldsa-lanes") and "from 2 to 16 cores" in text
    # The thread that ratios are to is of the record of several threads.
    threads: dict[tuple[str, int], float] = {}
    for row in rows(1):
        v = row.variant
        if (v.implementation, v.mode, row.operation) == ("mldsa-lanes", "single", "verify"):
            rate = row.interval("per_second")
            threads[v.backend, v.threads] = rate.value if rate and v.batch_size > 1 else 0.0
    (single,) = (threads[b, 1] for (b, n), rate in threads.items() if n == 2 and rate == two[0])
    assert abs(single / one[0] - 1) > 0.01
    assert at("scaling operation=verify threads=16")[0] == pytest.approx(sixteen[0] / single)
    assert at("scaling operation=verify threads=1") == (1, "measured")
    assert at("efficiency operation=verify threads=1") == (1, "measured")
    efficiency = at("efficiency operation=verify threads=16")[0]
    assert efficiency == pytest.approx(sixteen[0] / single / 16)


def test_the_life_cycle_adds_up(found: Impact) -> None:
    every = [f"'of=life cycle' operation={name}" for name in ("keygen", "sign", "verify")]
    parts = [value(found, "ML-DSA-44", f"time {keys}", "") for keys in every]
    assert sum(parts) == pytest.approx(value(found, "ML-DSA-44", "time 'of=life cycle'", ""))
    shares = [value(found, "ML-DSA-44", f"share {keys}", "") for keys in every]
    assert shares == pytest.approx([part / sum(parts) for part in parts])


def test_each_optimisation_has_a_factor_or_a_reason(found: Impact) -> None:
    for backend in ("avx2", "avx512", "avx512-vbmi"):
        name = f"speed_up operation=sign by={backend}"
        ratio = cost("sign", "portable") / cost("sign", backend)
        assert value(found, "ML-DSA-44", name, "") == pytest.approx(ratio)
    best = min(("avx512", "avx512-vbmi"), key=lambda b: cost("verify", b, 1))
    ratio = cost("verify", best, 1) / cost("verify", best, 1, batch=32)
    name = "speed_up operation=verify 'by=batches of 32'"
    assert value(found, "ML-DSA-44", name, "") == pytest.approx(ratio)
    neon = find(found, "ML-DSA-44", "speed_up by=NEON", "")
    assert neon.value is None and "not measured" in neon.source
    aggregated = find(found, "ML-DSA-44", "speed_up by=aggregation", "")
    assert (aggregated.value, aggregated.kind) == (1, "exact") and "none" in aggregated.source
    # Cycles of a verification over its time on a core; docs/rtl.md has the cycles.
    name = "clock operation=verify 'against=hardware core'"
    least = min(cost("verify", b) for b in ("avx2", "avx512", "avx512-vbmi"))
    assert value(found, "ML-DSA-44", name, "") == pytest.approx(3757 / least * 1e9, rel=1e-3)
    gain = find(found, "ML-DSA-44", "speed_up operation=verify 'by=a hardware core'", "")
    assert gain.value == pytest.approx(least / (3757 / 0.2), rel=1e-3)  # 200 MHz: .2 cycles a ns
    assert gain.low and gain.high and (gain.kind, gain.notes) == ("assumed", ())
    assert gain.low / gain.value == pytest.approx(0.5, abs=0.05)
    assert gain.high / gain.value == pytest.approx(1.5, abs=0.05)


def test_a_server_has_response_times_and_a_safe_load(found: Impact) -> None:
    """By the variance of a geometric number of iterations, which is nearly all of the law's."""
    waiting = "quantile of=response percentile=99 utilisation=50"
    constant, ours = (find(found, s, waiting, "") for s in ("Ed25519", "ML-DSA-44"))
    assert "service times: constant" in constant.source
    mean = 1 / value(found, "ML-DSA-44", "per_second operation=sign threads=1", "")
    # The 99th percentile of M/G/1 goes with the mean wait, and that with 1 + cv².
    model = RejectionModel.for_set("ML-DSA-44")
    assert ours.value is not None and "exact law" in ours.source
    p99 = model.attempts_quantile(0.99) / model.expected_attempts * mean
    assert 0.8 * p99 < ours.value < 3 * p99
    safe = value(found, "ML-DSA-44", "share of=core percentile=99 'within=200 µs'", "")
    assert 0.5 < safe < 0.7  # At half the load p99 is below the limit, at 70 % it is not.
    rate = value(found, "ML-DSA-44", "per_second operation=sign percentile=99 'within=200 µs'", "")
    assert rate == pytest.approx(safe / mean)
    batches = find(found, "ML-DSA-44", f"{waiting} batch=8", "")
    # Seven of eight wait for others: the first of a batch for seven arrivals.
    assert batches.value is not None and batches.value > 7 * mean / 0.5
    assert find(found, "Ed25519", f"{waiting} batch=8", "").value is None


def test_the_server_is_shown() -> None:
    made = report(figures_of("signing-server", None))
    assert [s.grid.title for s in made.sections if s.brief][-1] == SERVER
    table = next(s.grid for s in made.sections if s.grid.title == SERVER)
    assert {"scheme", "p99, 50 %, µs", "per second"} <= {c.title for c in table.columns}
