"""Scenarios: what is read and refused, what follows from it, what is shown."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from lab_runs import build_rust, here
from test_blocks import LEVELS, record_of

from mldsa_lab.bench.signatures import SampleSignature, draw_signatures
from mldsa_lab.checkout import find_root
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.records import Run, read_record, to_json
from mldsa_lab.sets import ML_DSA_44, N, Q
from mldsa_lab.show.grid import TERMINAL, markdown
from mldsa_lab.theory.arrays import Array
from pqc_impact.cli.impact import figures_of
from pqc_impact.compress import (
    Compressed,
    compressibility,
    expand_public_key,
    measure,
    ntt,
)
from pqc_impact.expression import evaluate
from pqc_impact.figures import Impact, impact
from pqc_impact.file import find_scenario, read_scenario, shipped
from pqc_impact.page import render
from pqc_impact.quantity import price, quantity
from pqc_impact.rows import FORBIDDEN, ROW_KEYS, ImpactRow
from pqc_impact.schemes import scheme_of
from pqc_impact.show import as_json, as_markdown, grids, headline, overview, remarks
from pqc_impact.times import (
    RecordTimes,
    assumed,
    interval_of,
    measured,
    reference_records,
)

# Of one machine, batches and threads in the second.
RECORDS = [
    find_root() / "records" / "2026-11-22-epyc-zen5" / name
    for name in ("both-builds.jsonl.xz", "batches.jsonl.xz")
]
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


def write(folder: Path, *changes: tuple[str, str], text: str = CHAIN) -> Path:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "chain.toml"
    path.write_text(text, encoding="utf-8")
    return path


@cache
def times() -> RecordTimes:
    return RecordTimes(RECORDS, ["Ed25519", "ML-DSA-44", "ECDSA-secp256k1"])


HALF = {"ML-DSA-44": Compressed(0.5, 0.25, "made up"), "Ed25519": Compressed(why="not at hand")}


def figures(path: Path) -> Impact:
    return impact("small", read_scenario(path), times(), HALF)


def row(found: Impact, scheme: str, figure: str) -> ImpactRow:
    one = found.find("Transfer", scheme, figure)
    assert one is not None, figure
    return one


def value(found: Impact, scheme: str, figure: str) -> float:
    number = row(found, scheme, figure).value
    assert number is not None, figure
    return number


def test_a_scenario_gives_its_figures(tmp_path: Path) -> None:
    found = figures(write(tmp_path))
    today, then = "Ed25519", "ML-DSA-44"
    assert [value(found, s, "bytes") for s in (today, then)] == [196, 100 + 2420 + 1312]
    assert value(found, then, "bytes, key") == 1312
    count = [(10**6 - 1000) // 196, (10**6 - 1000) // 3832]
    assert [value(found, s, "transactions per block") for s in (today, then)] == count
    assert value(found, then, "transactions per second") == count[1] / 2
    assert value(found, then, "transactions over today's") == count[1] / count[0]
    assert value(found, then, "data of a block for today's throughput") == count[0] * 3832 + 1000
    more = (10 * 10**6 - 1000) // 3832
    assert value(found, then, "transactions per second at 10 MB") == more / 2
    fee = row(found, then, "fee for data")
    assert fee.value == pytest.approx(3 * 3.832) and (fee.unit, fee.kind) == ("coins", "assumed")
    # A rule of today, beside its figure; who keeps it has no such row.
    broken = f"{FORBIDDEN}packets of 1,000 bytes"
    assert value(found, then, broken) == 3832
    assert found.find("Transfer", today, broken) is None
    hashes, keys = (
        row(found, then, f"accounts, {s} stored") for s in ("the hash of a key", "keys")
    )
    assert (hashes.value, hashes.low, hashes.high) == (80e6, 40e6, 120e6)
    assert keys.value == 2e6 * 1320
    year = 365.25 * 86400 / 2 * count[1] * 3832
    assert value(found, then, "archive of a year") == pytest.approx(year)
    assert value(found, then, "archive of ten years") == pytest.approx(10 * year)
    kept = "archive of a year at today's throughput"
    steady = value(found, then, kept)
    assert steady == pytest.approx(365.25 * 86400 / 2 * count[0] * 3832)
    assert value(found, then, f"pruned {kept}") == pytest.approx(steady * 100 / 3832)
    shrunk = (100 + 2420 * 0.5 + 1312 * 0.25) / 3832
    assert value(found, then, f"compressed {kept}") == pytest.approx(steady * shrunk)
    assert row(found, today, f"compressed {kept}").source == "not at hand"
    assert value(found, then, "transactions that the mempool holds") == 10**7 // 3832
    slots = ('mempool = "10 MB"', 'mempool = "10 MB"\nmempool_each = "3000 * ceil(bytes / 3000)"')
    found = figures(write(tmp_path, slots))
    assert value(found, then, "transactions that the mempool holds") == 10**7 // 6000


def test_fast_slots_buffer_packets() -> None:
    found = impact("fast-slots", read_scenario(find_scenario("fast-slots")), times(), {})
    for template, scheme, count in (
        ("Transfer", "Ed25519", 100_000),
        ("Transfer, key in the transaction", "ML-DSA-44", 25_000),  # 3,883 bytes, four packets
    ):
        held = found.find(template, scheme, "transactions that the mempool holds")
        assert held is not None and held.value == count


def test_synchronisation_is_the_longer_of_the_two(tmp_path: Path) -> None:
    for rate, longer in (("8 Mbit/s", "download"), ("800 Gbit/s", "verification")):
        found = figures(write(tmp_path, ("8 Mbit/s", rate)))
        for scheme in ("Ed25519", "ML-DSA-44"):
            down = value(found, scheme, "first synchronisation, download")
            verify = value(found, scheme, "first synchronisation, verification on 1 core")
            both = row(found, scheme, "first synchronisation on 1 core")
            assert both.value == max(down, verify) and both.source.find(longer) >= 0
            assert (down > verify) == (longer == "download")


def test_times_are_of_the_record_with_their_intervals(tmp_path: Path) -> None:
    found = figures(write(tmp_path))
    one = row(found, "ML-DSA-44", "verification of a block on 1 core")
    rows = summarise(read_record(RECORDS[0])).rows
    asked = ("ML-DSA-44", "verify", "compact", "default")
    best = min(
        (r for r in rows if (r.set, r.operation, r.key, r.build) == asked),
        key=lambda r: r.mean or math.inf,
    ).as_dict()
    count = value(found, "ML-DSA-44", "transactions per block")
    assert one.value == pytest.approx(count * best["mean"] / 1e9)
    assert one.kind == "measured" and best["implementation"] in one.source
    assert one.low == pytest.approx(count * best["mean_low"] / 1e9, rel=0.002)
    assert one.high == pytest.approx(count * best["mean_high"] / 1e9, rel=0.002)
    # What the record does not have is said, not guessed.
    none = row(found, "Schnorr-secp256k1", "verification of a block on 1 core")
    assert none.value is None and none.source.startswith("no verification of Schnorr-secp256k1 in")
    assert any(line.startswith("not known of Schnorr-secp256k1: no") for line in remarks(found))


def test_a_hybrid_is_both() -> None:
    both, one, other = (scheme_of(n) for n in ("Ed25519+ML-DSA-44", "Ed25519", "ML-DSA-44"))
    assert both.public_key_bytes == 32 + 1312 and both.signature_bytes == (2484, 2484, 2484)
    rates = [times().rate(s, 1, {}, stretch=False) for s in (both, one, other)]
    spent = [1 / rate.draws[0] for rate in rates if not isinstance(rate, str)]
    assert spent[0] == pytest.approx(spent[1] + spent[2])
    bare = scheme_of("FN-DSA-512 unpadded")
    assert bare.signature_bytes == (655.1, 659, 651) and bare.parts == ("FN-DSA-512",)
    mixed = scheme_of("Ed25519+FN-DSA-1024 unpadded")
    assert mixed.forms == ("Ed25519", "FN-DSA-1024 unpadded")
    assert mixed.signature_bytes == pytest.approx((1334.7, 1340, 1329))
    with pytest.raises(ValueError, match="only FN-DSA's signatures are padded"):
        scheme_of("Ed25519 unpadded")
    low = scheme_of("ECDSA-secp256k1 DER")
    assert low.signature_bytes[1:] == (71, 70) and 70.4 < low.signature_bytes[0] < 70.6


def test_intervals_are_carried_by_draws() -> None:
    given = Interval(10.0, 8.0, 15.0)
    drawn = measured("one", given)
    found = interval_of(drawn)
    assert found.value == 10
    assert found.low == pytest.approx(8, rel=0.03) and found.high == pytest.approx(15, rel=0.03)
    # A sum of independent ones is less uncertain than its parts are together.
    two = interval_of(drawn + measured("other", given))
    assert two.value == 20 and two.low is not None and two.high is not None
    assert two.low > 16 and two.high < 30
    assert np.array_equal(drawn, measured("one", given))
    assert interval_of(assumed("one", Interval(3.0))) == Interval(3.0)
    even = interval_of(assumed("one", Interval(2.0, 1.0, 3.0)))
    assert even.low == pytest.approx(1.05, abs=0.02)


@pytest.mark.e2e
def test_what_was_asked_before_changes_no_draws() -> None:
    def drawn(before: Sequence[str]) -> Array:
        records = RecordTimes(RECORDS, ["Ed25519", "ML-DSA-44"])
        for name in before:
            records.rate(scheme_of(name), 1, {})
        found = records.rate(scheme_of("ML-DSA-44"), 1, {})
        assert not isinstance(found, str)
        return found.draws

    assert np.array_equal(drawn([]), drawn(["Ed25519", "ML-DSA-44"]))


def test_quantities() -> None:
    assert quantity("10 min", "s", "") == Interval(600)
    assert quantity("4 MWU", "WU", "") == Interval(4e6)
    assert quantity("1,232 B", "B", "") == Interval(1232)
    assert quantity("100 Mbit/s", "B/s", "") == Interval(12.5e6)
    assert quantity("2 KiB", "B", "") == Interval(2048)
    assert quantity("50 to 150 ms", "s", "") == Interval(0.1, 0.05, 0.15)
    assert quantity("170 million", "", "") == Interval(170e6)
    assert quantity("7 apples", "apples", "") == Interval(7)
    assert price("10 sat/vB", "WU", "") == ("sat", Interval(2.5))


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (
            'interval = "2 s"',
            'interval = "2"',
            "line 8: interval: '2' has no unit, must be a multiple of s",
        ),
        (
            'interval = "2 s"',
            'interval = "2 kB"',
            "line 8: interval: '2 kB' is in kB, must be a multiple of s",
        ),
        ('interval = "2 s"', 'interval = "0 s"', "line 8: interval: '0 s' must be above zero"),
        (
            'interval = "2 s"',
            'interval = "soon"',
            "line 8: interval: 'soon' is no number with a unit",
        ),
        (
            'block = "1 MB"',
            'block = "-1 MB"',
            "line 14, limits[0]: block: '-1 MB' must not be negative",
        ),
        (
            'block = "1 MB"',
            'block = "900 B"',
            "line 14, limits[0]: block: must be above what is reserved",
        ),
        ('block = "1 MB"', 'blocks = "1 MB"', "line 14, limits[0]: the key 'blocks' is unknown"),
        ('block = "1 MB"\n', "", "line 11, limits[0]: block is missing"),
        (
            'block = "1 MB"',
            "block = 1",
            "line 14, limits[0].block: must be text, is a whole number",
        ),
        (
            'price = "3 coins/kB"',
            'price = "3 coins"',
            "line 17, limits[0]: price: '3 coins' is no price",
        ),
        (
            '"1 to 3 million"',
            '"3 to 1 million"',
            "state[0]: entries: '3 to 1 million' must go from the less",
        ),
        ("cores = [1, 2]", "cores = [0]", "line 43, node.cores[0]: must be a whole number >= 1"),
        ("cores = [1, 2]", "cores = [1, 4]", "node.cores: 4 cores, and"),
        ('"ML-DSA-44"', '"ML-DSA-45"', "line 6: schemes: scheme 'ML-DSA-45' is unknown: known are"),
        ('"Schnorr-secp256k1"', '"ML-KEM-512"', "scheme 'ML-KEM-512' is unknown"),
        (
            'compare = "Ed25519"',
            'compare = "ML-DSA-87"',
            "line 7: compare: 'ML-DSA-87' must be one of schemes",
        ),
        (
            'bytes = "signature"',
            'bytes = "signatur"',
            "line 22: templates[0].parts[1].bytes: 'signatur': 'signatur' is unknown: known are",
        ),
        (
            'bytes = "100"',
            'bytes = "100 - 200"',
            "line 22: templates[0].parts[0].bytes: '100 - 200' is -100: must be zero or more",
        ),
        ('bytes = "100"', 'bytes = "__import__(1)"', "the function '__import__' is unknown"),
        ('bytes = "100"', 'bytes = "().x"', "parts[0]: bytes: '().x' is no sum of sizes"),
        ('given = ["10 MB"]', 'given = ["1 kB"]', "line 16, limits[0]: given: must be above what"),
        ("most = 1000", 'most = 1000\nonly = ["Transfer"]\nschemes = ["X"]', "scheme 'X' is"),
        ('use = { data = "bytes" }', 'use = { gas = "1" }', "no limit is called 'gas'"),
        ('use = { data = "bytes" }', 'beside = "Transport"', "no template is called 'Transport'"),
        ("most = 1000", "", "of and most are given together"),
        ("years = 2", 'mempool_each = "size"', "line 46: node.mempool_each: 'size': 'size' is"),
        ("years = 2", 'mempool_each = "0"', "node.mempool_each: a transaction (Transfer) takes"),
        ("[[rules]]", '[[rules]]\nonly = ["Loan"]', "no template or form is called 'Loan'"),
        ('"2 s"\n', '"2 s"\nblock_overhead = "4"\n', "line 9: block_overhead: '4' has no unit"),
        (
            "[node]",
            "[numbers]\nbytes = 3\n[node]",
            "numbers: 'bytes' cannot be the name of a number",
        ),
        ('model = "account"', 'model = "bank"', "line 4, model: 'bank' must be one of"),
        ("version = 1", "version = 2", "line 3, version: 2 must be one of 1"),
        (
            "lab scenario",
            "lab study",
            "line 2, format: 'mldsa-lab study' must be one of mldsa-lab scenario",
        ),
        ('title = "A', "title = A", "not a readable TOML file"),
        (
            'block = "1 MB"',
            'block = "1100 B"',
            "limits[0].block: the data of a block is smaller than that of one transaction",
        ),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, old: str, new: str, rule: str) -> None:
    path = write(tmp_path, (old, new))
    with pytest.raises(LabError, match=re.escape(rule)) as caught:
        figures(path)
    if "A small" not in old and "cores, and" not in rule and "smaller" not in rule:
        assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_more_cores_must_be_asked_for_and_are_marked(tmp_path: Path) -> None:
    asked = ("cores = [1, 2]", "cores = [1, 2, 8]\nextrapolate = true")
    found = figures(write(tmp_path, asked))
    two, eight = (row(found, "ML-DSA-44", f"verification of a block on {n} cores") for n in (2, 8))
    assert two.value is not None and eight.value == pytest.approx(two.value / 4)
    assert "extrapolated from 2 to 8 cores" in eight.source and "extrapolated" not in two.source


def test_a_load_takes_the_place_of_a_limit(tmp_path: Path) -> None:
    load = ('use = { data = "bytes" }', 'use = { data = "bytes" }\nper_block = "50 * 2"')
    found = figures(write(tmp_path, load))
    assert value(found, "ML-DSA-44", "messages per block") == 100
    assert value(found, "ML-DSA-44", "bytes per second") == 50 * 3832
    share = value(found, "ML-DSA-44", "share of the data of a block")
    assert share == pytest.approx(100 * 3832 / (10**6 - 1000))


def test_expressions() -> None:
    names = {"n": 3.0}
    assert evaluate("2 * (n + push(80)) - max(1, n) / 3", names) == 2 * (3 + 82) - 1
    for text in ("words(1e400)", "-" * 9000 + "1"):
        with pytest.raises(ValueError, match=r"too large|no sum"):
            evaluate(text, names)
    wrong = ("n +", "n if n else 1", "'a'", "True", "n.real", "2 ** 9", "push(content=1)", "[n]")
    for text in (*wrong, "'a' * 9", "push(1)(2)", "().__class__", "n; n", "1 / (n - 3)"):
        with pytest.raises(ValueError, match=r"is no sum of sizes"):
            evaluate(text, names)
    for text in ("push(1, 2)", "push()", "min(1)", "ceil", "ceil + n"):
        with pytest.raises(ValueError, match=r"too many values, too few or none"):
            evaluate(text, names)
    with pytest.raises(ValueError, match=r"function 'exec' is unknown: known are compact_size"):
        evaluate("exec(n)", names)


@pytest.mark.e2e
def test_batches_are_beside_single_calls(tmp_path: Path) -> None:
    found = figures(write(tmp_path))
    rows = [
        r for r in summarise(read_record(RECORDS[1])).rows
        if (r.set, r.operation, r.key, r.mode) == ("ML-DSA-44", "verify", "compact", "batch")
        and r.batch_size <= 1000
    ]  # fmt: skip
    count = value(found, "ML-DSA-44", "transactions per block")
    one = row(found, "ML-DSA-44", "verification of a block in batches on 1 core")
    fastest = min(r.mean for r in rows if r.mean and r.threads == 1)
    assert one.value == pytest.approx(count * fastest / 1e9)
    assert one.kind == "measured" and "mldsa-lanes" in one.source and "batches of" in one.source
    two = row(found, "ML-DSA-44", "first synchronisation, verification in batches on 2 cores")
    alone = value(found, "ML-DSA-44", "first synchronisation, verification on 2 cores")
    assert two.value is not None and two.value < alone and "1,000)" in two.source
    # Who has no batch interface has no such row.
    assert found.find("Transfer", "Ed25519", one.figure) is None
    both = scheme_of("Ed25519+ML-DSA-44")
    rates = [times().batch_rate(both, 1, {}), times().rate(scheme_of("Ed25519"), 1, {})]
    spent = [1 / rate.draws[0] for rate in rates if rate and not isinstance(rate, str)]
    assert spent[0] == pytest.approx(spent[1] + fastest / 1e9)


@pytest.mark.e2e
def test_the_first_record_that_has_a_scheme_counts() -> None:
    both, batches = RECORDS
    for paths, first in (((both, batches), both), ((batches, both), batches)):
        rate = RecordTimes(paths, ["ML-DSA-44"]).rate(scheme_of("ML-DSA-44"), 1, {})
        assert not isinstance(rate, str) and rate.source.endswith(first.name)


def test_times_of_a_block_are_taken(tmp_path: Path) -> None:
    record = record_of(LEVELS)
    run = Run(8, "t", "2026-11-23T00:00:00Z", "p", "00", {}, {"cpu": "x"}, None, None)
    lines = [run, *record.workers, *record.definitions, *record.samples]
    path = tmp_path / "record.jsonl"
    path.write_text("".join(json.dumps(to_json(line)) + "\n" for line in lines))
    times = RecordTimes([path], ["Ed25519"])
    for cores, ns in ((1, 1000), (2, 500)):
        rate = times.rate(scheme_of("Ed25519"), cores, {})
        assert not isinstance(rate, str) and "extrapolated" not in rate.source
        assert rate.draws[0] == pytest.approx(100 / ns * 1e9)
    with pytest.raises(LabError, match="3 cores, and a was measured on 2"):
        times.rate(scheme_of("Ed25519"), 3, {})


def test_random_bytes_do_not_shrink_and_zeros_do() -> None:
    random = np.random.default_rng(1)
    made = [SampleSignature(bytes(1000), random.bytes(1000)) for _ in range(20)]
    found = measure(made)
    assert found.signatures == 1 and found.keys < 0.01 and "signatures do not" in found.source


@pytest.mark.toolchain
def test_signatures_of_ml_dsa_hardly_shrink() -> None:
    for name in ("rust", "rust-families"):
        build_rust(name)
    ecdsa, falcon = "ECDSA-secp256k1", "FN-DSA-512"
    found = compressibility([
        "Ed25519", "ML-DSA-44", "RSA-2048-PSS", ecdsa, f"{ecdsa} DER", falcon,
        f"{falcon} unpadded",
    ])  # fmt: skip
    assert found["Ed25519"].signatures == found["Ed25519"].keys == 1 and not found["Ed25519"].why
    assert found["RSA-2048-PSS"].why.endswith("gives no keys and signatures of RSA-2048-PSS")
    one = found["ML-DSA-44"]
    # A public key is 32 random bytes and 10 bits of each coefficient of t1, all values alike.
    assert one.keys == 1 and 0.98 < one.signatures < 1 and "200 real ones" in one.source
    # Of an expanded key's coefficients 23 bits in 32 are in use, and log2 q of these.
    assert one.expanded is not None
    assert (20480 * math.log2(Q) / 32 + 32) / 20512 < one.expanded < 0.75
    # Tags and lengths in DER, zero bytes of padding.
    assert found[ecdsa].signatures == 1 > found[f"{ecdsa} DER"].signatures > 0.9
    assert found[f"{falcon} unpadded"].signatures > found[falcon].signatures > 0.95


def test_expanded_keys_are_those_of_the_standard() -> None:
    """Sizes and ranges, and NTT forms by schoolbook products."""
    key = draw_signatures("ML-DSA-44", bytes(32), 1)[0].public_key
    words = np.frombuffer(expand_public_key(key, ML_DSA_44), ">u4")
    assert len(words) * 4 == 20512 and max(words[:4096].max(), words[4104:].max()) < Q
    # The product of two polynomials modulo X^256 + 1 is that of their forms, value by value.
    random = np.random.default_rng(3)
    one, two = random.integers(0, Q, (2, N))
    whole = np.zeros(2 * N, dtype=object)
    for place, factor in enumerate(one.tolist()):
        whole[place : place + N] += factor * two.astype(object)
    product = ((whole[:N] - whole[N:]) % Q).astype(np.int64)
    assert np.array_equal(ntt(product), ntt(one) * ntt(two) % Q)


def test_what_is_shown(tmp_path: Path) -> None:
    found = figures(write(tmp_path))
    assert [list(r) for r in json.loads(as_json(found.rows))] == [list(ROW_KEYS)] * len(found.rows)
    assert {r.kind for r in found.rows} == {"exact", "measured", "assumed"}
    text = as_markdown(found)
    for grid in grids(found):
        assert f"## {grid.title}\n" in text
    assert "| ML-DSA-44 (a) |" in text and "a: forbidden today, packets of 1,000 bytes" in text
    page = render(found)
    assert page.count("<svg") == 4 and "ML-DSA-44" in page and "both-builds.jsonl.xz" in page


def test_every_shipped_scenario_has_figures() -> None:
    assert set(shipped()) >= {"bitcoin", "ethereum", "fast-slots", "votes"}
    for name, path in shipped().items():
        scenario = read_scenario(path)
        found = impact(name, scenario, times(), {})
        for template, scheme in scenario.pairs():
            rows = found.of(template.name, scheme.name)
            assert len({r.figure for r in rows}) == len(rows)
            for r in rows:
                assert r.value is None or (math.isfinite(r.value) and r.value >= 0), r
                assert r.source and (r.low is None or r.low <= (r.high or 0)), r
    with pytest.raises(LabError, match="unknown scenario 'dogecoin': known are bitcoin"):
        find_scenario("dogecoin")


def test_ten_lines_make_another_chain(tmp_path: Path) -> None:
    text = find_scenario("bitcoin").read_text(encoding="utf-8")
    path = write(
        tmp_path,
        ('title = "Bitcoin"', 'title = "Another"'),
        ('interval = "10 min"', 'interval = "2.5 min"'),
        ("witness_scale = 4", "witness_scale = 1"),
        ('block = "4 MWU"', 'block = "32 MB"'),
        ('reserved = "8 kWU"', 'reserved = "2 kB"'),
        ('given = ["8 MWU", "16 MWU"]', 'given = ["64 MB"]'),
        ('unit = "WU"', 'unit = "B"'),
        ('price = "10 sat/vB"', 'price = "1 mite/B"'),
        ('entries = "170 million"', 'entries = "1 million"'),
        ('download = "100 Mbit/s"', 'download = "1 Gbit/s"'),
        text=text,
    )
    found = impact("another", read_scenario(path), times(), {})
    name = "P2WPKH, 1 in, 2 out"
    one = found.find(name, "ML-DSA-44", "transactions per block")
    size = found.find(name, "ML-DSA-44", "bytes")
    assert one is not None and size is not None and size.value is not None
    assert one.value == (32_000_000 - 2000) // size.value


def test_the_overview_has_the_shares_of_all_forms() -> None:
    found = figures_of("bitcoin", None)
    text = markdown(overview(found))
    row = found.find("P2PKH, 1 in, 2 out", "ML-DSA-44", "transactions over today's")
    assert row is not None and row.value is not None and f"{100 * row.value:.2f}" in text
    assert "leaves 5.8 to 78 % of today's throughput" in headline(found)
    assert "takes 7.3 to 35 times today's bytes" in headline(figures_of("tls", None))


@pytest.mark.e2e
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = here("impact", "chain.toml", "--json", "-")
    assert done.status == 0 and not (tmp_path / "out").exists(), done.err
    assert list(json.loads(done.out)[0]) == list(ROW_KEYS)
    record = str(RECORDS[1])
    done = here("impact", "chain.toml", record, "--json", "-")
    assert done.status == 0, done.err
    measured = {r["source"] for r in json.loads(done.out) if r["kind"] == "measured" and r["value"]}
    assert any("batches" in source for source in measured), measured
    assert not any("impact.jsonl" in source for source in measured)
    done = here("impact", "chain.toml")
    assert done.status == 0 and "ML-DSA-44" in done.out, done.err
    folder = tmp_path / "out" / "impact-chain"
    assert {f.name for f in folder.iterdir()} == {"impact.html", "impact.json", "impact.md"}
    done = here("impact", "list")
    assert "bitcoin" in done.out and "Slots of 400 ms" in done.out
    path.write_text(CHAIN.replace("Ed25519", "Ed448"), encoding="utf-8")
    done = here("impact", "chain.toml")
    assert done.status == 2
    assert done.err.startswith("mldsa-lab: error: chain.toml, line 6: schemes: scheme 'Ed448' is")


def test_what_the_document_says_of_its_tables() -> None:
    read = read_scenario(find_scenario("bitcoin"))
    parts = [part for name in read.schemes for part in scheme_of(name).parts]
    found = impact("bitcoin", read, RecordTimes(reference_records(), parts), {})

    def of(scheme: str, figure: str, form: str = "P2MR, 1 in, 2 out") -> ImpactRow:
        one = found.find(form, scheme, figure)
        assert one is not None
        return one

    def ratio(scheme: str, figure: str) -> float:
        one, two = of(scheme, figure).value, of(*today(figure)).value
        assert one is not None and two is not None
        return one / two

    def today(figure: str) -> tuple[str, str, str]:
        return "ECDSA-secp256k1 DER", figure, "P2WPKH, 1 in, 2 out"

    sync = "first synchronisation on 1 core"
    assert of(*today(sync)).source.startswith("verification is the longer")
    batches = "verification of a block at today's throughput in batches on 1 core"
    assert found.find(today("")[2], today("")[0], batches) is None
    more = of("ML-DSA-44", "verification of a block on 8 cores").source
    assert "extrapolated from 2 to 8 cores" in more
    for scheme in ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87"):
        assert of(scheme, sync).source.startswith("the download is the longer")
        assert ratio(scheme, "bytes") > 17
        assert ratio(scheme, "verification of a block at today's throughput on 1 core") < 17 / 2
        assert "mldsa-lanes" in of(scheme, batches).source
        fewer = 1 / ratio(scheme, "transactions per block")
        assert ratio(scheme, "bytes") > 2 * fewer


@cache
def bitcoin(name: str) -> Impact:
    return impact(name, read_scenario(find_scenario(name)), times(), {})


@pytest.mark.parametrize("name", ["bitcoin", "fast-slots", "votes"])
def test_times_of_one_quantity_share_a_unit_and_parts_add_up(name: str) -> None:
    for table in grids(bitcoin(name)):
        for start in ("first sync", "as today", "full block"):
            units = {
                c.title.rpartition(", ")[2] for c in table.columns if c.title.startswith(start)
            }
            assert len(units) < 2, (table.title, units)
        if table.title.endswith("bytes by part"):
            *parts, together = table.at(TERMINAL)[1:]
            for place, whole in enumerate(together.cells):
                numbers = [cell.number for part in parts if (cell := part.cells[place])]
                assert sum(n or 0 for n in numbers) == whole.number
