"""A small chain, and the tools of the tests that read it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from mldsa_lab.checkout import find_root
from mldsa_lab.estimate.figure import Figure, parse_identity
from mldsa_lab.parallel import WorkerPool
from pqc_impact.chain_figures import impact
from pqc_impact.compress import Compressed
from pqc_impact.figures import Impact
from pqc_impact.file import read_scenario
from pqc_impact.times import RecordTimes

ROOT = find_root()
# Of one machine, batches and threads in the second.
RECORDS = [
    ROOT / "records" / "2026-11-22-epyc-zen5" / name
    for name in ("both-builds.jsonl.xz", "batches.jsonl.xz")
]
BUSY = ROOT / "records" / "2026-11-23-epyc-zen4" / "impact.jsonl.xz"
AT_ONCE = WorkerPool(ThreadPoolExecutor(1), 1)
CHAIN = """
format = "mldsa-lab scenario"
version = 1
model = "account"
title = "A small chain"
schemes = ["Ed25519", "ML-DSA-44", "Schnorr-secp256k1"]
compare = "Ed25519"
interval = "2 s"
interval_source = "made up"

[[limits]]
name = "data"
unit = "B"
block = "1 MB"
reserved = "1 kB"
given = ["10 MB"]
price = "3 coins/kB"
source = "made up"

[[templates]]
name = "Transfer"
parts = [
  { name = "body", bytes = "100" },
  { name = "signature", bytes = "signature", holds = "signatures" },
  { name = "key", bytes = "public_key", holds = "keys" },
]
use = { data = "bytes" }

[[rules]]
name = "packets of 1,000 bytes"
of = "bytes"
most = 1000
source = "made up"

[[state]]
name = "accounts"
entries = "1 to 3 million"
hash = "40"
key = "8 + public_key"
source = "made up"

[node]
cores = [1, 2]
download = "8 Mbit/s"
mempool = "10 MB"
years = 2
source = "made up"
"""
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
FULL = CHAIN.replace("\n[node]\n", STORAGE)


NETWORK = """
[network]
like = "bitcoin-2019"
templates = ["Transfer"]
of_today = [1, 4]
intervals = ["1 min"]
nodes = 100
blocks = 4
"""


def write(folder: Path, *changes: tuple[str, str], text: str = CHAIN) -> Path:
    """Write a scenario with these replacements."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "chain.toml"
    path.write_text(text, encoding="utf-8")
    return path


@cache
def times() -> RecordTimes:
    """Read the times of three schemes from the records."""
    return RecordTimes(RECORDS, ["Ed25519", "ML-DSA-44", "ECDSA-secp256k1"])


HALF = {
    "ML-DSA-44": Compressed({"signatures": 0.5, "keys": 0.25}, "made up"),
    "Ed25519": Compressed({}, "not here"),
}


def figures(path: Path) -> Impact:
    """Compute the figures of a scenario."""
    return impact("small", read_scenario(path), times(), HALF)


def find(result: Impact, scheme: str, identity: str, form: str = "Transfer") -> Figure:
    """Find a figure by its name and keys."""
    name, keys = parse_identity(identity)
    figure = result.find(form, scheme, name, **keys)
    assert figure is not None, identity
    return figure


def value(result: Impact, scheme: str, identity: str, form: str = "Transfer") -> float:
    """Find a figure's number."""
    number = find(result, scheme, identity, form).value
    assert number is not None, identity
    return number
