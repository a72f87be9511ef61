"""A scenario's blocks on the network that it names."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from lab_runs import here
from test_impact import CHAIN, figures, row, times, value, write
from test_propagation import AT_ONCE

from mldsa_lab.errors import LabError
from pqc_impact.figures import Impact
from pqc_impact.network import Network, find_network
from pqc_impact.page import render
from pqc_impact.propagation import BlockLoad
from pqc_impact.rows import ROW_KEYS
from pqc_impact.show import grids
from pqc_impact.spreading import FULL, add_network, as_today, reach, size_of, stale
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
                until = [value(found, scheme, reach(s, block, relay)) for s in SHARES]
                assert until == sorted(until) and until[0] > 0
                every_2, every_60 = (
                    value(found, scheme, stale(text, block, relay)) for text in ("2 s", "1 min")
                )
                assert 0 < every_60 <= every_2 <= 1
        assert value(found, scheme, size_of(FULL)) == value(found, scheme, "bytes of a block")
        # Four times as many bytes are about four times as late.
        one, four = (value(found, scheme, reach(0.5, b, "request")) for b in (today, more))
        assert 2 * one < four < 5 * one
        small, large = (value(found, scheme, reach(0.5, more, r)) for r in ("compact", "request"))
        assert small < large
    late = row(found, "ML-DSA-44", reach(0.9, today, "request"))
    assert late.value is not None and late.value > value(
        found, "Ed25519", reach(0.9, today, "request")
    )
    assert late.low is not None and late.high is not None and late.low < late.value < late.high
    assert late.kind == "assumed" and "100 nodes" in late.source and "SimBlock" in late.source
    # Loads: transactions as today's, their bytes, and verification at the record's rate.
    count = value(found, "Ed25519", "transactions per block")
    (loads,) = seen
    size = value(found, "ML-DSA-44", size_of(today))
    load = next(of for of in loads if of[0].block_bytes == size)[0]
    assert load.transactions == pytest.approx(count)
    spent = row(found, "ML-DSA-44", "verification of a block at today's throughput on 2 cores")
    drawn = [one.validation_s for of in loads if of[0].block_bytes == size for one in of]
    assert spent.low is not None and spent.high is not None
    assert spent.low < sum(drawn) / len(drawn) < spent.high and len(set(drawn)) == 4


def test_what_a_record_lacks_has_no_figure(tmp_path: Path) -> None:
    found = spread(write(tmp_path, text=ON))
    lacking = row(found, "Schnorr-secp256k1", reach(0.9, FULL, "compact"))
    assert lacking.value is None and "Schnorr-secp256k1" in lacking.source


def test_where_no_transaction_fits_there_is_no_full_block(tmp_path: Path) -> None:
    small = (('block = "1 MB"', 'block = "3 kB"'), ('given = ["10 MB"]', 'given = ["1 MB"]'))
    found = spread(write(tmp_path, *small, text=ON))
    assert value(found, "ML-DSA-44", "transactions per block") == 0
    assert found.find("Transfer", "ML-DSA-44", reach(0.9, FULL, "compact")) is None
    count = value(found, "Ed25519", "transactions per block")
    bytes_each = value(found, "ML-DSA-44", "bytes")
    assert count > 0 and value(found, "ML-DSA-44", size_of(as_today(1))) == count * bytes_each


def test_only_what_is_asked_for_is_simulated(tmp_path: Path) -> None:
    narrow = NETWORK + 'schemes = ["ML-DSA-44"]\n'
    found = spread(write(tmp_path, text=CHAIN + narrow))
    assert found.find("Transfer", "Ed25519", reach(0.9, FULL, "compact")) is None
    assert found.find("Transfer", "ML-DSA-44", reach(0.9, FULL, "compact")) is not None
    plain = figures(write(tmp_path))
    assert add_network(plain, times(), tmp_path, lambda network, loads: []) is plain


def test_slots_have_no_stale_blocks(tmp_path: Path) -> None:
    slots = NETWORK.replace('intervals = ["1 min"]', "stale = false")
    found = spread(write(tmp_path, text=CHAIN + slots))
    assert value(found, "Ed25519", reach(0.9, FULL, "compact")) > 0
    assert not [r for r in found.rows if "stale" in r.figure]
    both = CHAIN + NETWORK + "stale = false\n"
    with pytest.raises(LabError, match=r"intervals: are for stale blocks"):
        spread(write(tmp_path, text=both))


def test_a_network_file_beside_the_scenario(tmp_path: Path) -> None:
    text = find_network("bitcoin-2019").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        text.replace('["compact", "request"]', '["push"]'), encoding="utf-8"
    )
    found = spread(write(tmp_path, ('like = "bitcoin-2019"', 'like = "mine.toml"'), text=ON))
    assert value(found, "Ed25519", reach(0.9, FULL, "push")) > 0
    assert found.find("Transfer", "Ed25519", reach(0.9, FULL, "compact")) is None


def test_tables_and_plots(tmp_path: Path) -> None:
    path = write(tmp_path, text=ON)
    found = spread(path)
    titles = [grid.title for grid in grids(found)]
    assert "Transfer: blocks on the network" in titles
    assert "Transfer: blocks on the network" not in [g.title for g in grids(figures(path))]
    page = render(found)
    assert page.count("<svg") == 4 + 4
    assert "Stale blocks: compact" in page and "90 and 99 % (dashed) of nodes: request" in page
    assert render(replace(found, rows=figures(path).rows)).count("<svg") == 4


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('templates = ["Transfer"]', 'templates = ["Gift"]', "no template is called 'Gift'"),
        ("of_today = [1, 4]", "of_today = [0]", "of_today"),
        ('intervals = ["1 min"]', 'intervals = ["60"]', "'60' has no unit"),
        ("blocks = 4", "speed = 4", "the key 'speed' is unknown"),
        ("bitcoin-2019", "bitcoin-1999", "unknown network 'bitcoin-1999': known are"),
        ("nodes = 100", "nodes = 10", "a node of 10 has too many connections"),
        ("bitcoin-2019", "none.toml", "none.toml: cannot read it"),
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
    rows = json.loads(done.out)
    assert list(rows[-1]) == list(ROW_KEYS)
    assert any(row["figure"] == reach(0.99, FULL, "compact") for row in rows)
    done = here("impact", "chain.toml", "--json", "-", "--no-network")
    assert done.status == 0 and "nodes have" not in done.out
