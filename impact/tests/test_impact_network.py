"""A scenario's blocks on the network that it names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from lab_runs import here
from test_impact import CHAIN, figures, find, times, value, write
from test_propagation import AT_ONCE

from mldsa_lab.errors import LabError
from pqc_impact.figures import Impact
from pqc_impact.network import Network, find_network
from pqc_impact.propagation import BlockLoad
from pqc_impact.show import report
from pqc_impact.spreading import FULL, add_network, as_today, reach, stale
from pqc_impact.sweep import SHARES, propagate

NETWORK = """
[network]
like = "bitcoin-2019"
templates = ["Transfer"]
of_today = [1, 4]
intervals = ["1 min"]
nodes = 100
blocks = 4
"""
ON = CHAIN + NETWORK
LATE = f"{reach(0.9)} {FULL} (compact)"


def spread(path: Path, seen: list[list[list[BlockLoad]]] | None = None) -> Impact:
    def simulate(network: Network, loads: list[list[BlockLoad]]) -> list[object]:
        assert (network.nodes, network.blocks) == (100, 4)
        if seen is not None:
            seen.append(loads)
        return list(propagate(network, loads, AT_ONCE))

    return add_network(figures(path), times(), path.parent, simulate)  # type: ignore[arg-type]


def test_blocks_of_a_scenario_spread(tmp_path: Path) -> None:
    seen: list[list[list[BlockLoad]]] = []
    found = spread(write(tmp_path, text=ON), seen)
    today, more = as_today(1), as_today(4)
    for scheme in ("Ed25519", "ML-DSA-44"):
        for block in (today, more, FULL):
            for relay in ("compact", "request"):
                until = [value(found, scheme, f"{reach(s)} {block} ({relay})") for s in SHARES]
                assert until == sorted(until) and until[0] > 0
                every_2, every_60 = (
                    value(found, scheme, f"{stale(text)} {block} ({relay})")
                    for text in ("2 s", "1 min")
                )
                assert 0 < every_60 <= every_2 <= 1
        full = value(found, scheme, f"bytes of {FULL}")
        assert full == pytest.approx(value(found, scheme, "bytes of a block"))
        # Four times as many bytes are about four times as late.
        one, four = (value(found, scheme, f"{reach(0.5)} {b} (request)") for b in (today, more))
        assert 2 * one < four < 5 * one
        assert value(found, scheme, f"{reach(0.5)} {more} (compact)") < four
    late = find(found, "ML-DSA-44", f"{reach(0.9)} {today} (request)")
    assert late.low is not None and late.high is not None and late.low < late.high
    assert late.value and late.value > value(found, "Ed25519", f"{reach(0.9)} {today} (request)")
    assert late.flags == ("assumed",) and "100 nodes" in late.source and "SimBlock" in late.source
    # Loads: transactions as today's, their bytes, and verification at the record's rate.
    size = value(found, "ML-DSA-44", f"bytes of {today}")
    alike = [of for of in seen[0] if of[0].block_bytes == size]
    count = value(found, "Ed25519", "transactions per block")
    assert alike[0][0].transactions == pytest.approx(count)
    spent = find(found, "ML-DSA-44", "verification of a block at today's throughput on 2 cores")
    drawn = [one.validation_s for of in alike for one in of]
    assert spent.low is not None and spent.high is not None
    assert spent.low < sum(drawn) / len(drawn) < spent.high and len(set(drawn)) == 4
    # A scheme without times is named.
    lacking = find(found, "Schnorr-secp256k1", LATE)
    assert lacking.value is None and "Schnorr-secp256k1" in lacking.source
    (section,) = (s for s in report(found).sections if s.grid.title == "Blocks on the network")
    assert section.grid.rows == 3 * 3 * 2 and len(section.plots) == 2


def test_where_no_transaction_fits_there_is_no_full_block(tmp_path: Path) -> None:
    small = (('block = "1 MB"', 'block = "3 kB"'), ('given = ["10 MB"]', 'given = ["1 MB"]'))
    found = spread(write(tmp_path, *small, text=ON))
    assert value(found, "ML-DSA-44", "transactions per block") == 0
    assert found.find("Transfer", "ML-DSA-44", LATE) is None
    count = value(found, "Ed25519", "transactions per block")
    size = value(found, "ML-DSA-44", f"bytes of {as_today(1)}")
    assert size == count * value(found, "ML-DSA-44", "bytes")


def test_only_schemes_and_figures_that_are_asked_for(tmp_path: Path) -> None:
    slots = NETWORK.replace('intervals = ["1 min"]', 'stale = false\nschemes = ["ML-DSA-44"]')
    found = spread(write(tmp_path, text=CHAIN + slots))
    assert found.find("Transfer", "Ed25519", LATE) is None
    assert value(found, "ML-DSA-44", LATE) > 0
    assert not [f for f in found.figures if "stale" in f.name]
    plain = figures(write(tmp_path))
    assert add_network(plain, times(), tmp_path, lambda network, loads: []) is plain


def test_a_network_file_beside_the_scenario(tmp_path: Path) -> None:
    text = find_network("bitcoin-2019").read_text(encoding="utf-8")
    text = text.replace('["compact", "request"]', '["push"]')
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    found = spread(write(tmp_path, ('like = "bitcoin-2019"', 'like = "mine.toml"'), text=ON))
    assert value(found, "Ed25519", f"{reach(0.9)} {FULL} (push)") > 0
    assert found.find("Transfer", "Ed25519", LATE) is None


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('templates = ["Transfer"]', 'templates = ["Gift"]', "no template is called 'Gift'"),
        ('intervals = ["1 min"]', 'intervals = ["60"]', "'60' has no unit"),
        ("blocks = 4", "stale = false", "intervals: are for stale blocks"),
        ("bitcoin-2019", "bitcoin-1999", "unknown network 'bitcoin-1999': known are"),
        ("nodes = 100", "nodes = 10", "a node of 10 has too many connections"),
    ],
)
def test_a_bad_network_table_is_one_line(tmp_path: Path, old: str, new: str, rule: str) -> None:
    path = write(tmp_path, (old, new), text=ON)
    with pytest.raises(LabError, match=re.escape(rule)) as caught:
        spread(path)
    assert "\n" not in str(caught.value)


@pytest.mark.simulation
def test_the_command_simulates_unless_told_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, text=ON)
    monkeypatch.chdir(tmp_path)
    done = here("impact", "chain.toml", "--json", "-", "--processes", "1")
    assert done.status == 0, done.err
    assert any(row["figure"] == LATE for row in json.loads(done.out))
    done = here("impact", "chain.toml", "--json", "-", "--no-network")
    assert done.status == 0 and "nodes have" not in done.out
