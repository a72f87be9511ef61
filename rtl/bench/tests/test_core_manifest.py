"""Manifests of cores: what is read, what is refused, and what the harness is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fuzz_readers import Reader, files, fuzz
from lab_runs import here

from mldsa_lab import LabError
from mldsa_lab.bench.launch import find_workers
from mldsa_lab.checkout import find_root
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.worker.protocol import parse_hello
from mldsa_lab_rtl.binding import header, hello
from mldsa_lab_rtl.build import without_temporaries
from mldsa_lab_rtl.entry import core_entries, core_entry
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.parts import Layout

TOYS = find_root() / "rtl" / "tests" / "toy"
TOY, WORDS = TOYS / "toy.toml", TOYS / "toy_words.toml"


def altered(tmp_path: Path, old: str, new: str, original: Path = TOY) -> Path:
    text = original.read_text(encoding="utf-8")
    assert old in text
    for source in TOYS.glob("toy.*"):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    path = tmp_path / "core.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('load = ["seed"]', 'load = ["xi"]', "operations: keygen loads 'xi'; known are"),
        ('port = "clk"', 'port = "c__lk"', "clock.port: Expected a port's name: letters"),
        ('port = "clk"', 'port = "clk\\n"', "clock.port: Expected a port's name"),
        ('"pk", "sk"]', '"pk.t1"]', "operations: keygen: store lacks pk, or one of its"),
        ('["pk", "sk"]', '["verdict"]', "operations: keygen: store has 'verdict'"),
        ("FIPS 204", "FIPS 203", "standard: 'FIPS 203' must be one of FIPS 204, round 3"),
        ('last = "in_last", ', "", "input: bytes: needs a port last"),
        ('bytes = "in_bytes"', "width = 60", "input.width: Expected `int` that's"),
        ("[sets.ML-DSA-44]", "[sets.ML-DSA-45]", "sets: 'ML-DSA-45' must be one of ML-DSA"),
        ('status = "rsp_status", ', "", "response: verify has neither a status nor a"),
        ("= 4 } }", "= 4 }, command = false }", "ports: needs the idle value of 'cmd_op'"),
        ("cycles = 1 }", "cycles = 1, complete = false }", "zeroize: needs reset.complete = true"),
        ("limit = 20000", "limits = 1", "Object contains unknown field `limits`"),
        ('name = "toy"', 'name = "Toy"', "name: Expected a name: lower-case letters"),
        ("{ cmd_op = 0 }", '{ "a b" = 0 }', "operations.keygen.ports: Expected a port's name"),
        ("DELAY = 9", '"a b" = 9', "parameters: Expected a name in Verilog"),
        ('"toy.cpp"', '"none/*.sv"', "core.toml: sources: 'none/*.sv' names no file"),
        ('"toy.cpp"', '"/none/*.sv"', "core.toml: sources: '/none/*.sv': must be relative"),
        ("limit =", 'include = ["none"]\nlimit =', "core.toml: include: 'none' is no folder"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, rule: str) -> None:
    path = altered(tmp_path, old, new)
    with pytest.raises(LabError) as caught:
        Manifest.read(path)
    assert rule in str(caught.value) and str(path) in str(caught.value)


def test_a_word_of_a_set_must_be_in_each(tmp_path: Path) -> None:
    path = altered(tmp_path, "words = {", "ports = {}\n[sets.ML-DSA-65]\nwords = {", WORDS)
    with pytest.raises(LabError, match="sets: ML-DSA-44 lacks the word 'level', which keygen"):
        Manifest.read(path)


def test_what_a_core_announces() -> None:
    both = parse_hello(hello(Manifest.read(TOY), "Verilator").splitlines()[:-1])
    assert (both.worker, both.unit, both.cpu_clock) == ("toy-packets", "cycles", None)
    assert both.phases == ("load", "compute", "store") and "DELAY=9" in both.flags
    compact, loaded = both.variants
    assert compact.operations == ("keygen", "sign", "verify") and loaded.operations == ("sign",)
    assert (compact.key, loaded.key) == ("compact", "expanded")
    assert compact.rnd == "given" and compact.context and compact.private_keys == ("sk",)
    (words,) = parse_hello(hello(Manifest.read(WORDS), "Verilator").splitlines()[:-1]).variants
    assert words.operations == ("keygen", "sign", "verify")
    assert words.version.startswith("sha256-")


def test_what_is_not_handed_over_is_not_announced(tmp_path: Path) -> None:
    path = altered(tmp_path, 'load = ["rnd", "m_prime"]', 'load = ["seed", "message"]')
    compact, _ = parse_hello(hello(Manifest.read(path), "Verilator").splitlines()[:-1]).variants
    assert compact.rnd == "zero" and not compact.context and compact.private_keys == ("seed",)


def test_sizes_are_those_of_the_standards(tmp_path: Path) -> None:
    for name, p in PARAMETER_SETS.items():
        final = Layout.for_set(name, round_3=False)
        assert final.size("pk") == p.public_key_bytes and final.size("sk") == p.private_key_bytes
        assert final.size("signature") == p.signature_bytes
        assert final.slices["signature.h"] == (p.hint_offset, p.omega + p.k)
    built = {name: Layout.for_set(name, round_3=True) for name in PARAMETER_SETS}
    sizes = [tuple(layout.size(w) for w in ("pk", "sk", "signature")) for layout in built.values()]
    # Dilithium, round 3, version 3.1, table 2.
    assert sizes == [(1312, 2528, 2420), (1952, 4000, 3293), (2592, 4864, 4595)]
    path = altered(tmp_path, "FIPS 204", "round 3")
    for variant in parse_hello(hello(Manifest.read(path), "Verilator").splitlines()[:-1]).variants:
        assert not variant.context and variant.note.startswith("round 3")
    assert "ROUND_3 = true" in header(Manifest.read(path), "Verilator")


def test_the_digest_has_what_is_included(tmp_path: Path) -> None:
    path = altered(tmp_path, "limit =", 'include = ["parts"]\nlimit =')
    part = tmp_path / "parts" / "below" / "part.svh"
    part.parent.mkdir(parents=True)
    digests = set()
    for text in ("", "// other"):
        part.write_text(text, encoding="utf-8")
        digests.add(Manifest.read(path).digest)
    assert len(digests) == 2


def test_saved_state_has_no_temporaries() -> None:
    """Of Verilator's text: it keeps a function's arguments and loop variables of blocks."""
    kept = ("__Vcheckval", "clk", "core__DOT__key[__Vi0]")
    dropped = (
        "core__DOT____Vfunc_sum__1__a",
        "core__DOT__unnamedblk1__DOT__i",
        "__Vdly__key[__Vi0]",
    )
    text = "void M::__Vserialize(VerilatedSerialize& os) {\n%s}\nos<<__Vafter;"
    lines = [f"    os << {name};\n" for name in (*kept, *dropped)]
    result = without_temporaries(text % "".join(lines))
    assert all(f"os << {name};" in result for name in kept) and "os<<__Vafter;" in result
    assert not any(name in result for name in dropped)


def test_a_core_is_a_worker(tmp_path: Path) -> None:
    entry = core_entry(Manifest.read(TOY))
    assert entry.name == "toy-packets" and entry.language == "SystemVerilog"
    assert "rtl/tests/toy/toy.sv" in entry.locks
    with pytest.raises(LabError, match="a worker is called toy-packets already"):
        core_entries([str(TOY), str(altered(tmp_path, "limit", "limit"))], [])


def test_resets_reach_the_core_s_program() -> None:
    """By `bench`; `conform` takes the same entries."""
    for text, resets in ((str(TOY), False), (f"{TOY}:resets", True)):
        (entry,) = find_workers([text], [], [])
        assert ("--resets" in entry.run) == resets


def test_the_page_shows_the_shipped_manifest() -> None:
    page = (find_root() / "docs" / "measure-your-core.md").read_text(encoding="utf-8")
    whole = (find_root() / "rtl" / "core" / "fast.toml").read_text(encoding="utf-8")
    assert whole.partition("\n")[2] in page
    words = WORDS.read_text(encoding="utf-8")
    shape = page.partition("## Another shape")[2].partition("```toml\n")[2].partition("```")[0]
    assert all(line in words.splitlines() for line in shape.splitlines())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["workers", "conform"], "workers conform: name one worker"),
        (["bench", "--worker", "none.toml"], "none.toml: cannot read it"),
        (["bench", "--worker", f"{TOY},{TOY}"], "is called toy-packets already"),
        # The core alone is chosen, and nothing is built before the rest is looked at.
        (
            ["bench", "--worker", str(TOY), "--implementations", "nobody"],
            "unknown implementation 'nobody': it fits no implementation or variant id; known are "
            "toy\n",
        ),
        (["workers", "conform", "rust:resets"], "unknown worker 'rust:resets'"),
        (["rtl", "study", "none.toml"], "none.toml: cannot read it"),
        (["rtl", "study", "--sets", "Ed25519"], "unknown parameter set 'Ed25519'"),
    ],
)
def test_commands_that_take_cores_say_what_is_wrong(words: list[str], said: str) -> None:
    done = here(*words)
    assert done.status == 2 and said in done.err, done.err


def documents() -> list[bytes]:
    """Return manifests whose sources are all files next to them."""
    texts = files("rtl/core", "*.toml")()
    return [re.sub(rb"(?m)^sources = \[[^\]]*\]", b'sources = ["*"]', text) for text in texts]


@pytest.mark.simulation
def test_bent_manifests_are_read_or_refused(tmp_path: Path) -> None:
    fuzz("core", Reader(".toml", Manifest.read, documents), tmp_path)
