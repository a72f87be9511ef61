"""Scenarios: what is read and rejected, the figures that follow, and the report."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from lab_runs import build_rust, here

from mldsa_lab.bench.material import SampleSignature, draw_signatures
from mldsa_lab.checkout import find_root
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.blocks import block_figures
from mldsa_lab.estimate.figure import Figure
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.records import read_record
from mldsa_lab.sets import ML_DSA_44, N, Q
from pqc_impact.chain_figures import impact
from pqc_impact.compress import Compressed, compressibility, expand_public_key, measure, ntt
from pqc_impact.expression import evaluate
from pqc_impact.figures import FORBIDDEN, Impact
from pqc_impact.file import find_scenario, read_scenario
from pqc_impact.quantity import price, quantity
from pqc_impact.schemes import scheme_of
from pqc_impact.show import document_table, report
from pqc_impact.times import RecordTimes, assumed, interval_of, measured

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
ROW = ["scenario", "template", "scheme", "figure", "unit", "kind", "source", "value"]
"""The documented keys of a row of JSON, beside limits."""


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


HALF = {
    "ML-DSA-44": Compressed({"signatures": 0.5, "keys": 0.25}, "made up"),
    "Ed25519": Compressed({}, "not here"),
}


def figures(path: Path) -> Impact:
    return impact("small", read_scenario(path), times(), HALF)


def find(found: Impact, scheme: str, name: str, form: str = "Transfer") -> Figure:
    one = found.find(form, scheme, name)
    assert one is not None, name
    return one


def value(found: Impact, scheme: str, name: str, form: str = "Transfer") -> float:
    number = find(found, scheme, name, form).value
    assert number is not None, name
    return number


def test_a_scenario_gives_its_figures(tmp_path: Path) -> None:
    found = figures(write(tmp_path))
    today, then = "Ed25519", "ML-DSA-44"
    assert [value(found, s, "bytes") for s in (today, then)] == [196, 100 + 2420 + 1312]
    count = [(10**6 - 1000) // 196, (10**6 - 1000) // 3832]
    assert [value(found, s, "transactions per block") for s in (today, then)] == count
    assert value(found, then, "transactions over today's") == count[1] / count[0]
    assert value(found, then, "data of a block for today's throughput") == count[0] * 3832 + 1000
    more = (10 * 10**6 - 1000) // 3832
    assert value(found, then, "transactions per second at 10 MB") == more / 2
    fee = find(found, then, "fee for data")
    assert fee.value == pytest.approx(3 * 3.832) and (fee.unit, fee.flags) == (
        "coins",
        ("assumed",),
    )
    broken = f"{FORBIDDEN}packets of 1,000 bytes"
    assert value(found, then, broken) == 3832
    assert found.find("Transfer", today, broken) is None
    hashes = find(found, then, "accounts, the hash of a key stored")
    assert (hashes.value, hashes.low, hashes.high) == (80e6, 40e6, 120e6)
    kept = "archive of a year at today's throughput"
    steady = value(found, then, kept)
    assert steady == pytest.approx(365.25 * 86400 / 2 * count[0] * 3832)
    assert value(found, then, f"pruned {kept}") == pytest.approx(steady * 100 / 3832)
    shrunk = (100 + 2420 * 0.5 + 1312 * 0.25) / 3832
    assert value(found, then, f"compressed {kept}") == pytest.approx(steady * shrunk)
    assert find(found, today, f"compressed {kept}").source == "not here"
    assert value(found, then, "transactions that the mempool holds") == 10**7 // 3832
    slots = ('mempool = "10 MB"', 'mempool = "10 MB"\nmempool_each = "3000 * ceil(bytes / 3000)"')
    found = figures(write(tmp_path, slots))
    assert value(found, then, "transactions that the mempool holds") == 10**7 // 6000


def test_synchronisation_is_the_longer_of_the_two(tmp_path: Path) -> None:
    for rate, longer in (("8 Mbit/s", "download"), ("800 Gbit/s", "verification")):
        found = figures(write(tmp_path, ("8 Mbit/s", rate)))
        down = value(found, "ML-DSA-44", "first synchronisation, download")
        verify = value(found, "ML-DSA-44", "first synchronisation, verification on 1 core")
        both = find(found, "ML-DSA-44", "first synchronisation on 1 core")
        assert both.value == max(down, verify) and longer in both.source


def test_times_are_of_the_record_with_their_intervals(tmp_path: Path) -> None:
    found = figures(write(tmp_path))
    one = find(found, "ML-DSA-44", "verification of a block on 1 core")
    asked = ("ML-DSA-44", "verify", "compact", "default")
    best = min(
        (
            r
            for r in summarise(read_record(RECORDS[0])).rows
            if (r.set, r.operation, r.key, r.build) == asked
        ),
        key=lambda r: r.mean or math.inf,
    )
    mean = best.interval("mean")
    assert mean is not None and best.implementation in one.source and one.flags == ("measured",)
    expected = mean.times(value(found, "ML-DSA-44", "transactions per block") / 1e9)
    assert one.value == pytest.approx(expected.value)
    assert one.low == pytest.approx(expected.low, rel=0.002)
    assert one.high == pytest.approx(expected.high, rel=0.002)
    # A scheme that the record lacks is named, never guessed.
    none = find(found, "Schnorr-secp256k1", "verification of a block on 1 core")
    assert none.value is None and none.source.startswith("no verification of Schnorr-secp256k1 in")
    assert any(n.startswith("Not known of Schnorr-secp256k1: no") for n in report(found).notes)


def test_hybrids_and_encodings() -> None:
    both, one, other = (scheme_of(n) for n in ("Ed25519+ML-DSA-44", "Ed25519", "ML-DSA-44"))
    assert both.public_key_bytes == 32 + 1312 and both.signature_bytes == (2484, 2484, 2484)
    rates = [times().rate(s, 1, {}) for s in (both, one, other)]
    spent = [1 / rate.draws[0] for rate in rates if not isinstance(rate, str)]
    assert spent[0] == pytest.approx(spent[1] + spent[2])
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


def test_quantities() -> None:
    assert quantity("10 min", "s", "") == Interval(600)
    assert quantity("1,232 B", "B", "") == Interval(1232)
    assert quantity("100 Mbit/s", "B/s", "") == Interval(12.5e6)
    assert quantity("2 KiB", "B", "") == Interval(2048)
    assert quantity("50 to 150 ms", "s", "") == Interval(0.1, 0.05, 0.15)
    assert quantity("170 million", "", "") == Interval(170e6)
    assert quantity("4 million cycles", "cycles", "") == Interval(4e6)
    assert price("10 sat/vB", "WU", "") == ("sat", Interval(2.5))


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('interval = "2 s"', 'interval = "2"', "line 8: interval: '2' has no unit"),
        ('interval = "2 s"', 'interval = "2 kB"', "line 8: interval: '2 kB' is in kB, must be"),
        ('interval = "2 s"', 'interval = "0 s"', "line 8: interval: '0 s' must be above zero"),
        ('block = "1 MB"', 'block = "-1 MB"', "line 14, limits[0]: block: '-1 MB' must not be"),
        ('block = "1 MB"', 'block = "900 B"', "limits[0]: block: must be above what is reserved"),
        ('block = "1 MB"', 'blocks = "1 MB"', "line 14, limits[0]: the key 'blocks' is unknown"),
        ('block = "1 MB"\n', "", "line 11, limits[0]: block is missing"),
        ('block = "1 MB"', 'block = "1100 B"', "limits[0].block: the data of a block is smaller"),
        ('"3 coins/kB"', '"3 coins"', "line 17, limits[0]: price: '3 coins' is no price"),
        ('"1 to 3 million"', '"3 to 1 million"', "'3 to 1 million' must go from the less"),
        ("cores = [1, 2]", "cores = [1, 4]", "node.cores: 4 cores, and"),
        ('"ML-DSA-44"', '"ML-DSA-45"', "line 6: schemes: scheme 'ML-DSA-45' is unknown: known are"),
        ('compare = "Ed25519"', 'compare = "ML-DSA-87"', "compare: 'ML-DSA-87' must be one of"),
        (
            'bytes = "signature"', 'bytes = "signatur"',
            "line 22: templates[0].parts[1].bytes: 'signatur': 'signatur' is unknown: known are",
        ),
        ('bytes = "100"', 'bytes = "100 - 200"', "'100 - 200' is -100: must be zero or more"),
        ('bytes = "100"', 'bytes = "().x"', "parts[0].bytes: '().x' is no sum of sizes"),
        ('given = ["10 MB"]', 'given = ["1 kB"]', "line 16, limits[0]: given: must be above what"),
        ("most = 1000", 'most = 1000\nonly = ["Transfer"]\nschemes = ["X"]', "scheme 'X' is"),
        ('use = { data = "bytes" }', 'use = { gas = "1" }', "no limit is called 'gas'"),
        ('use = { data = "bytes" }', 'beside = "Transport"', "no template is called 'Transport'"),
        ('use = { data = "bytes" }', "", "Transfer: uses no limit and has no per_block"),
        ("most = 1000", "", "of and most are given together"),
        ("years = 2", 'mempool_each = "size"', "line 46: node.mempool_each: 'size': 'size' is"),
        ("years = 2", 'mempool_each = "0"', "node.mempool_each: a transaction (Transfer) takes"),
        ("[[rules]]", '[[rules]]\nonly = ["Loan"]', "no template or form is called 'Loan'"),
        ("[node]", "[numbers]\nbytes = 3\n[node]", "'bytes' cannot be the name of a number"),
        ('model = "account"', 'model = "bank"', "line 4, model: 'bank' must be one of"),
        ("version = 1", "version = 2", "line 3, version: 2 must be one of 1"),
        ('title = "A', "title = A", "not a readable TOML file"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(tmp_path: Path, old: str, new: str, rule: str) -> None:
    path = write(tmp_path, (old, new))
    with pytest.raises(LabError, match=re.escape(rule)) as caught:
        figures(path)
    if "cores, and" not in rule:
        assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_more_cores_must_be_asked_for_and_are_marked(tmp_path: Path) -> None:
    found = figures(write(tmp_path, ("cores = [1, 2]", "cores = [1, 2, 8]\nextrapolate = true")))
    two, eight = (find(found, "ML-DSA-44", f"verification of a block on {n} cores") for n in (2, 8))
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
    wrong = ("n +", "n if n else 1", "'a'", "True", "n.real", "2 ** 9", "push(content=1)", "[n]")
    wrong += ("push(1)(2)", "().__class__", "n; n", "1 / (n - 3)", "push(1, 2)", "ceil + n")
    for text in (*wrong, "words(1e400)", "-" * 9000 + "1"):
        with pytest.raises(ValueError, match=r"is no sum of sizes"):
            evaluate(text, names)
    with pytest.raises(ValueError, match=r"'exec' is unknown: known are compact_size"):
        evaluate("exec(n)", names)


@pytest.mark.e2e
def test_batches_are_beside_single_calls(tmp_path: Path) -> None:
    found = figures(write(tmp_path))
    fastest = min(
        r.mean for r in summarise(read_record(RECORDS[1])).rows
        if (r.set, r.operation, r.key, r.mode) == ("ML-DSA-44", "verify", "compact", "batch")
        and r.batch_size <= 1000 and r.mean and r.threads == 1
    )  # fmt: skip
    count = value(found, "ML-DSA-44", "transactions per block")
    one = find(found, "ML-DSA-44", "verification of a block in batches on 1 core")
    assert one.value == pytest.approx(count * fastest / 1e9)
    assert "mldsa-lanes" in one.source and "batches of" in one.source
    # A scheme without a batch interface has no such figure; in a hybrid it is verified singly.
    assert found.find("Transfer", "Ed25519", one.name) is None
    both, single = scheme_of("Ed25519+ML-DSA-44"), scheme_of("Ed25519")
    rates = [times().rate(both, 1, {}, batches=True), times().rate(single, 1, {})]
    spent = [1 / rate.draws[0] for rate in rates if not isinstance(rate, str)]
    assert spent[0] == pytest.approx(spent[1] + fastest / 1e9)


@pytest.mark.e2e
def test_the_first_record_that_has_a_scheme_counts_and_draws_do_not_change() -> None:
    both, batches = RECORDS
    for paths in ((both, batches), (batches, both)):
        records, fresh = (RecordTimes(paths, ["Ed25519", "ML-DSA-44"]) for _ in range(2))
        records.rate(scheme_of("Ed25519"), 1, {})
        rate, same = (r.rate(scheme_of("ML-DSA-44"), 1, {}) for r in (records, fresh))
        assert not isinstance(rate, str) and rate.source.endswith(paths[0].name)
        assert not isinstance(same, str) and np.array_equal(rate.draws, same.draws)


@pytest.mark.e2e
def test_times_of_a_block_are_taken() -> None:
    path = next((find_root() / "records").glob("*/block.jsonl.xz"))
    blocks = {
        (f.keys["variant"], f.keys["threads"]): f.value
        for f in block_figures(read_record(path), 0.95)
        if f.name == "block" and f.keys["set"] == "Ed25519" and f.keys.get("caches") == "warm"
        and not f.keys.get("batch") and f.value is not None
    }  # fmt: skip
    variant, _ = min((k for k in blocks if k[1] == 1), key=lambda key: blocks[key] or 0)
    rates = [RecordTimes([path], ["Ed25519"]).rate(scheme_of("Ed25519"), n, {}) for n in (1, 2)]
    one, two = (1 / rate.draws[0] for rate in rates if not isinstance(rate, str))
    assert one / two == pytest.approx((blocks[variant, 1] or 0) / (blocks[variant, 2] or 1))


def test_random_bytes_do_not_shrink_and_zeros_do() -> None:
    random = np.random.default_rng(1)
    made = [SampleSignature(bytes(1000), random.bytes(1000)) for _ in range(20)]
    found = measure(made)
    assert found.ratios["signatures"] == 1 and found.ratios["keys"] < 0.01
    assert "signatures do not" in found.source


@pytest.mark.toolchain
def test_signatures_of_ml_dsa_hardly_shrink() -> None:
    for name in ("rust", "rust-families"):
        build_rust(name)
    ecdsa, falcon = "ECDSA-secp256k1", "FN-DSA-512"
    found = compressibility([
        "Ed25519", "ML-DSA-44", "RSA-2048-PSS", ecdsa, f"{ecdsa} DER", falcon,
        f"{falcon} unpadded",
    ])  # fmt: skip
    assert found["Ed25519"].ratios == {"signatures": 1, "keys": 1}
    assert found["RSA-2048-PSS"].source.endswith("gives no keys and signatures of RSA-2048-PSS")
    one = found["ML-DSA-44"]
    # A public key is 32 random bytes and 10 bits of each coefficient of t1, all values alike.
    assert one.ratios["keys"] == 1 and 0.98 < one.ratios["signatures"] < 1
    # Of an expanded key's coefficients 23 bits in 32 are in use, and log2 q of these.
    assert (20480 * math.log2(Q) / 32 + 32) / 20512 < one.ratios["expanded keys"] < 0.75
    # Tags and lengths in DER, zero bytes of padding.
    ratios = {name: compressed.ratios.get("signatures", 0) for name, compressed in found.items()}
    assert ratios[ecdsa] == 1 > ratios[f"{ecdsa} DER"] > 0.9
    assert ratios[f"{falcon} unpadded"] > ratios[falcon] > 0.95


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


@cache
def reference(name: str) -> Impact:
    read = read_scenario(find_scenario(name))
    parts = [part for scheme in read.schemes for part in scheme_of(scheme).parts]
    return impact(name, read, RecordTimes((), parts), {})


def test_the_report_of_a_scenario() -> None:
    found = report(reference("bitcoin"))
    assert "leaves 5.8 to 78 % of today's throughput" in found.headline
    assert "takes 7.3 to 35 times today's bytes" in report(reference("tls")).headline
    overview, *others = (section.grid for section in found.sections)
    row = value(
        reference("bitcoin"), "ML-DSA-44", "transactions over today's", "P2PKH, 1 in, 2 out"
    )
    shown = next(c for c in overview.columns if c.title == "ML-DSA-44").values[0]
    assert shown.number == pytest.approx(100 * row)
    assert [s.brief for s in found.sections] == [True] + [False] * len(others)
    assert any("a" in marks for marks in others[0].marks)
    assert any(n.startswith("a: forbidden today, script elements") for n in found.notes)
    # Times of one quantity share a unit.
    times = next(g for g in others if g.title == "Signing and verification")
    units = {c.title[-4:] for c in times.columns if c.title.startswith("as many as today")}
    assert units == {", ms"}


def test_tables_for_documents() -> None:
    form, share = "P2MR, 1 in, 2 out", "transactions per block"
    made = document_table(reference("bitcoin"), form, ["bytes", share], ["ML-DSA-44"])
    assert [c.title for c in made.columns] == ["scheme", "bytes, B", share]
    today = document_table(reference("bitcoin"), form, ["bytes"]).columns[0].texts()[0]
    assert today == "ECDSA-secp256k1 DER, today"
    with pytest.raises(LabError, match="there is no figure 'kilos'"):
        document_table(reference("bitcoin"), form, ["kilos"])


@pytest.mark.e2e
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = here("impact", "chain.toml", str(RECORDS[1]), "--json", "-")
    assert done.status == 0 and not (tmp_path / "out").exists(), done.err
    rows = json.loads(done.out)
    assert [key for key in rows[0] if not key.startswith("value_")] == ROW
    measured = {r["source"] for r in rows if r["kind"] == "measured" and r["value"]}
    assert any("batches" in source for source in measured), measured
    assert not any("impact.jsonl" in source for source in measured)
    done = here("impact", "chain.toml")
    assert done.status == 0 and len(done.out.splitlines()) < 25, done.out + done.err
    folder = tmp_path / "out" / "impact-chain"
    assert {f.name for f in folder.iterdir()} == {
        f"impact.{e}" for e in ("html", "json", "csv", "md")
    }
    page = (folder / "impact.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1 and "both-builds.jsonl.xz" in page
    done = here("impact", "list")
    assert "bitcoin" in done.out and "Slots of 400 ms" in done.out
    done = here("impact", "dogecoin")
    assert done.status == 2 and "unknown scenario 'dogecoin': known are bitcoin" in done.err


@pytest.mark.e2e
@pytest.mark.parametrize("name", ["chain", "protocol", "votes"])
def test_a_new_scenario_runs_as_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = here("impact", name, "--new", "mine.toml")
    assert done.status == 0 and "mldsa-lab impact mine.toml" in done.out, done.err
    done = here("impact", "mine.toml", "--all-tables")
    assert done.status == 0 and "ML-DSA-44" in done.out, done.err
    # The lines that ask for a # to be removed are correct, too.
    text = Path("mine.toml").read_text(encoding="utf-8")
    lines = [re.sub(r"^# (?=\[|\w+ = )", "", line) for line in text.splitlines()]
    Path("mine.toml").write_text("\n".join(lines), encoding="utf-8")
    read_scenario(Path("mine.toml"))
    done = here("impact", name, "--new", "mine.toml")
    assert done.status == 2 and "must be the name of a new file" in done.err


def test_a_bad_output_folder_is_noticed_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = here("impact", "bitcoin", "--out", str(tmp_path / "file" / "out"))
    assert done.status == 2 and "cannot write it" in done.err and not done.out


def test_what_the_document_says_of_its_tables() -> None:
    found, form, today = reference("bitcoin"), "P2MR, 1 in, 2 out", "P2WPKH, 1 in, 2 out"

    def ratio(scheme: str, name: str) -> float:
        return value(found, scheme, name, form) / value(found, "ECDSA-secp256k1 DER", name, today)

    sync = "first synchronisation on 1 core"
    one = find(found, "ECDSA-secp256k1 DER", sync, today)
    assert one.source.startswith("verification is the longer")
    batches = "verification of a block at today's throughput in batches on 1 core"
    assert found.find(today, "ECDSA-secp256k1 DER", batches) is None
    more = find(found, "ML-DSA-44", "verification of a block on 8 cores", form).source
    assert "extrapolated from 2 to 8 cores" in more
    for scheme in ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87"):
        assert find(found, scheme, sync, form).source.startswith("the download is the longer")
        assert ratio(scheme, "bytes") > 17
        assert ratio(scheme, "verification of a block at today's throughput on 1 core") < 17 / 2
        assert "mldsa-lanes" in find(found, scheme, batches, form).source
        assert ratio(scheme, "bytes") > 2 / ratio(scheme, "transactions per block")
