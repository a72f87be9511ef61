"""A scenario's blocks on the network that it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from chains import AT_ONCE, CHAIN, NETWORK, figures, find, times, value, write
from lab_runs import here, rows_in

from mldsa_lab.estimate.figure import parse_identity
from pqc_impact.figures import Impact
from pqc_impact.network import Network, find_network
from pqc_impact.propagation import BlockLoad
from pqc_impact.show import report
from pqc_impact.spreading import FULL, add_network, as_today
from pqc_impact.sweep import propagate

ON = CHAIN + NETWORK
LATE = f"time of=spread nodes=90 'block={FULL}' relay=compact"
"""Compact blocks at nine of ten nodes."""


def has(result: Impact, scheme: str, text: str) -> bool:
    name, keys = parse_identity(text)
    return result.find("Transfer", scheme, name, **keys) is not None


def spread(path: Path) -> Impact:
    def simulate(network: Network, loads: list[list[BlockLoad]]) -> list[object]:
        assert (network.nodes, network.blocks) == (100, 4)
        return list(propagate(network, loads, AT_ONCE))

    return add_network(figures(path), times(), path.parent, simulate)  # type: ignore[arg-type]


def test_blocks_of_a_scenario_spread(tmp_path: Path) -> None:
    result = spread(write(tmp_path, text=ON))
    late = find(result, "ML-DSA-44", f'time of=spread nodes=90 "block={as_today(1)}" relay=request')
    assert (late.kind, late.notes) == ("assumed", ())
    assert "100 nodes" in late.source and "SimBlock" in late.source
    # A scheme without times is named.
    lacking = find(result, "Schnorr-secp256k1", LATE)
    assert lacking.value is None and "Schnorr-secp256k1" in lacking.source
    (section,) = (s for s in report(result).sections if s.grid.title == "Blocks on the network")
    assert section.grid.rows == 3 * 3 * 2 and len(section.plots) == 2


def test_where_no_transaction_fits_there_is_no_full_block(tmp_path: Path) -> None:
    small = (('block = "1 MB"', 'block = "3 kB"'), ('given = ["10 MB"]', 'given = ["1 MB"]'))
    result = spread(write(tmp_path, *small, text=ON))
    assert value(result, "ML-DSA-44", "count of=transactions object=block") == 0
    assert not has(result, "ML-DSA-44", LATE)
    count = value(result, "Ed25519", "count of=transactions object=block")
    size = value(result, "ML-DSA-44", f'bytes object=block "block={as_today(1)}"')
    assert size == count * value(result, "ML-DSA-44", "bytes")


def test_only_schemes_and_figures_that_are_asked_for(tmp_path: Path) -> None:
    slots = NETWORK.replace('intervals = ["1 min"]', 'stale = false\nschemes = ["ML-DSA-44"]')
    result = spread(write(tmp_path, text=CHAIN + slots))
    assert not has(result, "Ed25519", LATE)
    assert value(result, "ML-DSA-44", LATE) > 0
    assert not [f for f in result.figures if f.keys.get("of") == "stale blocks"]
    plain = figures(write(tmp_path))
    assert add_network(plain, times(), tmp_path, lambda network, loads: []) is plain


def test_a_network_file_beside_the_scenario(tmp_path: Path) -> None:
    text = find_network("bitcoin-2019").read_text(encoding="utf-8")
    text = text.replace('["compact", "request"]', '["push"]')
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    result = spread(write(tmp_path, ('like = "bitcoin-2019"', 'like = "mine.toml"'), text=ON))
    assert value(result, "Ed25519", LATE.replace("compact", "push")) > 0
    assert not has(result, "Ed25519", LATE)


@pytest.mark.simulation
def test_the_command_simulates_unless_told_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, text=ON)
    monkeypatch.chdir(tmp_path)
    done = here("impact", "chain.toml", "--to", "json", "--processes", "1")
    assert done.status == 0, done.err
    assert any(
        "time spread" in row and (row.get("nodes"), row.get("relay")) == (90, "compact")
        for row in rows_in(done.out)
    )
    done = here("impact", "chain.toml", "--to", "json", "--no-network")
    assert done.status == 0 and not any("relay" in row for row in rows_in(done.out))
