"""The five worked examples, verdict by verdict; the command; the document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from audit_tables import sign, text
from typer.testing import CliRunner

from mldsa_lab.audit import RULES, as_json, audit, example, example_names
from mldsa_lab.audit.claims import ABOUT, Defaults
from mldsa_lab.cli.audit import audit as command
from mldsa_lab.errors import LabError
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel

DOCUMENT = Path(__file__).parents[2] / "docs/audit.md"

EXPECTED: dict[str, list[tuple[str, str, str]]] = {
    "vendor-page": [
        ("keygen", "figures.order", "consistent"),
        ("sign", "figures.order", "consistent"),
        ("sign", "sign.min", "implausible"),
        ("sign", "sign.tail", "implausible"),
        ("sign", "sign.inversion", "implausible"),
        ("sign", "sign.one-input", "implausible"),
        ("verify", "figures.order", "consistent"),
        ("public key", "size.encoding", "consistent"),
        ("secret key", "size.encoding", "consistent"),
        ("signature", "size.encoding", "consistent"),
        ("batch", "batch.shape", "consistent"),
        ("batch", "batch.cost", "consistent"),
        ("scaling", "throughput.latency", "implausible"),
        ("scaling", "throughput.latency", "consistent"),
        ("scaling", "scaling.cores", "consistent"),
        ("scaling", "scaling.cores", "consistent"),
        ("scaling", "scaling.cores", "consistent"),
        ("scaling", "scaling.cores", "consistent"),
        ("stages", "parts.sum", "consistent"),
        ("stages", "parts.share", "consistent"),
        ("stages", "parts.share", "contradiction"),
    ],
    "chain-project": [
        ("keygen", "none", "undecidable"),
        ("sign", "figures.order", "consistent"),
        ("sign", "figures.mean-range", "consistent"),
        ("sign", "figures.sd-range", "consistent"),
        ("sign", "sign.spread", "implausible"),
        ("sign", "sign.min", "implausible"),
        ("sign", "sign.tail", "consistent"),
        ("sign", "sign.tail", "implausible"),
        ("sign", "sign.inversion", "implausible"),
        ("sign", "sign.one-input", "implausible"),
        ("verify", "none", "undecidable"),
        ("secret key", "size.encoding", "consistent"),
        ("threads", "scaling.smt", "implausible"),
        ("memory", "rate.bytes-over-time", "contradiction"),
    ],
    "jvm-study": [
        ("public key 44", "size.encoding", "consistent"),
        ("public key 65", "size.encoding", "consistent"),
        ("public key 87", "size.encoding", "consistent"),
        ("measurements", "samples.agree", "undecidable"),
        ("gap", "statements.agree", "contradiction"),
        ("signing 44", "difference.power", "undecidable"),
        ("signing 65", "difference.power", "undecidable"),
        ("signing 87", "difference.power", "undecidable"),
        ("verifying 65", "difference.power", "undecidable"),
    ],
    "rtl-comparison": [
        ("message limit", "limit.bits", "contradiction"),
        ("signing, level 2", "difference.power", "undecidable"),
        ("signing, level 3", "difference.power", "undecidable"),
        ("signing, level 5", "difference.power", "undecidable"),
    ],
    "method-post": [
        (claim, rule, verdict)
        for claim, hint, mean in (
            ("loop 44", "consistent", "consistent"),
            ("loop 65", "implausible", "implausible"),
            ("loop 87", "implausible", "consistent"),
        )
        for rule, verdict in (
            ("rejection.z", "implausible"),
            ("rejection.r0", "consistent"),
            ("rejection.hint", hint),
            ("rejection.accept", "consistent"),
            ("rejection.attempts", mean),
            ("rejection.attempts", "consistent"),
        )
    ],
}


def finding(name: str, claim: str, rule: str, position: int = 0) -> Any:
    """A finding of an example."""
    found = audit(example(name)).findings
    return [f for f in found if (f.claim, f.rule.id) == (claim, rule)][position]


def test_all_examples_are_expected() -> None:
    assert set(example_names()) == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_verdicts_of_the_examples(name: str) -> None:
    found = audit(example(name)).findings
    assert [(f.claim, f.rule.id, f.verdict.value) for f in found] == EXPECTED[name]


def test_the_vendors_signatures_are_one_input() -> None:
    tail = finding("vendor-page", "sign", "sign.tail")
    assert tail.value == pytest.approx(91 / 72)
    assert tail.predicted.low == pytest.approx(2.90, abs=0.01)
    implied = finding("vendor-page", "sign", "sign.inversion")
    # Even with the allowance for noise, a first attempt is worth 27 further ones; A is worth 5.6.
    assert implied.value == pytest.approx(26.9, abs=0.1)
    assert implied.predicted.high == pytest.approx(5.64, abs=0.01)
    alike = finding("vendor-page", "sign", "sign.one-input")
    assert "keygen 0.214, verify 0.208" in alike.reading


def test_the_vendors_throughput_is_that_of_batches() -> None:
    of_sign = finding("vendor-page", "scaling", "throughput.latency", 0)
    assert of_sign.value == pytest.approx(68.1, abs=0.01)
    assert of_sign.predicted.low > 72
    assert "68.1 µs" in of_sign.claimed
    widest = finding("vendor-page", "scaling", "scaling.cores", 3)
    assert widest.value == pytest.approx(187.4, abs=0.1)
    assert "97.6 % of each core" in widest.reading


def test_the_vendors_shares() -> None:
    text_share = finding("vendor-page", "stages", "parts.share", 1)
    assert text_share.value == 35
    assert text_share.predicted.text == "24.6 %"


def test_the_chains_key_is_of_round_3() -> None:
    found = finding("chain-project", "secret key", "size.encoding")
    assert "Dilithium, round 3" in found.reading
    assert "this is not FIPS 204's ML-DSA-44" in found.reading


def test_the_chains_rate() -> None:
    found = finding("chain-project", "memory", "rate.bytes-over-time")
    # 71 MB in at least 10,000 verifications of 158 us, and at most in all three operations.
    assert found.predicted.high == pytest.approx(71e6 / 1.58, rel=0.07)
    assert found.predicted.low == pytest.approx(71e6 / 6.93, rel=0.1)
    assert found.value == pytest.approx(2.3e9)


def test_the_chains_threads() -> None:
    found = finding("chain-project", "threads", "scaling.smt")
    assert found.predicted.high == pytest.approx(10.64)
    assert "1.75 times one thread" in found.reading


def test_the_studys_keys_are_wrapped() -> None:
    for name, bare in (("44", "1,312"), ("65", "1,952"), ("87", "2,592")):
        found = finding("jvm-study", f"public key {name}", "size.encoding")
        assert found.reading.startswith("A SubjectPublicKeyInfo (RFC 9881)")
        assert f"the bare bytes are {bare}" in found.reading


def test_what_ten_measurements_can_show() -> None:
    counts = finding("jvm-study", "measurements", "samples.agree")
    assert "only if there are 2 groups" in counts.reading
    found = finding("jvm-study", "signing 65", "difference.power")
    # Means of 500 signatures: a twenty-second of what single signatures would show.
    assert found.predicted.low == pytest.approx(0.0256, abs=0.0005)
    assert found.predicted.high == pytest.approx(0.0539, abs=0.0005)
    assert "10 samples of 500 signatures each" in found.reading


def test_the_studys_gap_is_not_that_of_its_tables() -> None:
    found = finding("jvm-study", "gap", "statements.agree")
    assert found.claimed == "14 to 35 % (text) and 7.0 to 31.6 % (tables)"


def test_the_comparisons_limit() -> None:
    found = finding("rtl-comparison", "message limit", "limit.bits")
    assert found.predicted.text == "512 MiB"
    assert found.predicted.low == 2**29


def test_the_posts_hint_rate_explains_its_attempts() -> None:
    for name, stated in (("44", 4.3), ("65", 5.2), ("87", 3.9)):
        claim = example("method-post").claim(f"loop {name}")
        rates = [claim.rates[r].low.value for r in ("pass_z", "pass_r0", "pass_hint")]  # type: ignore[attr-defined]
        assert round(1 / (rates[0] * rates[1] * rates[2]), 1) == stated
    found = finding("method-post", "loop 65", "rejection.hint")
    assert "1.1 % too many" in found.reading


def test_a_range_that_only_rounding_excuses_says_so() -> None:
    for name, words in (
        ("44", "As the parameters have it."),
        ("65", "0.0037 outside the range; allowed are 0.005 for its digits and 0.005 for round"),
        ("87", "0.0060 outside the range"),
    ):
        found = finding("method-post", f"loop {name}", "rejection.accept")
        assert words in found.reading, found.reading


def test_an_exact_mean_that_the_document_states_is_that_of_the_model() -> None:
    exact = [RejectionModel.of(name).expected_attempts for name in PARAMETER_SETS]
    said = f"the exact {', '.join(f'{value:.2f}' for value in exact)}."
    assert said in DOCUMENT.read_text(encoding="utf-8")


# The command ------------------------------------------------------------------------------------

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(command)
run = CliRunner()


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    result = run.invoke(
        app, ["--example", "vendor-page,chain-project", "--json", str(path)], env={"COLUMNS": "100"}
    )
    assert result.exit_code == 0
    for expected in (
        "H33",
        "chain project",
        "contradiction",
        "sign.one-input",
        "rules",
        "found.json",
    ):
        assert expected in result.output
    assert max(len(line) for line in result.output.splitlines() if "found.json" not in line) <= 100
    found = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert (found["format"], found["version"]) == ("mldsa-lab audit", 1)
    assert [s["kind"] for s in found["sources"]] == ["vendor", "project"]
    assert found["counts"]["contradiction"] == 2
    for source in found["sources"]:
        for entry in source["findings"]:
            assert set(entry) == {
                "claim",
                "about",
                "verdict",
                "rule",
                "claimed",
                "predicted",
                "reading",
            }
            assert entry["rule"]["id"] in RULES
            assert entry["rule"]["sentence"] and entry["rule"]["source"]


def test_what_matters_stands_first(tmp_path: Path) -> None:
    short = {"about": "cost", "operation": "verify", "unit": "us", "mean": 5.0}
    same = {"about": "limit", "amount": "2^32", "unit": "bits", "called": "4 GB"}
    claims = [
        *({**short, "id": f"short {n}"} for n in range(84)),
        {"id": "key", "about": "size", "set": 44, "object": "public-key", "bytes": 1312},
        {"id": "first limit", **same},
        {"id": "second limit", **same},
    ]
    path = tmp_path / "t.yaml"
    path.write_text(text(*claims), encoding="utf-8")
    lines = run.invoke(app, [str(path)], env={"COLUMNS": "120"}).output.splitlines()
    at = {
        word: [n for n, line in enumerate(lines) if word in line]
        for word in ("first limit", "second limit", "contradiction", "size.encoding", "no rule")
    }
    # Two claims of which the same is said are one row, before what is consistent.
    assert at["second limit"] == [at["first limit"][0] + 1]
    assert at["contradiction"][0] < at["size.encoding"][0] < at["no rule"][0]
    (unjudged,) = (lines[n] for n in at["no rule"])
    assert "short 0, " in unjudged
    assert "and 78 more" in " ".join(lines[at["no rule"][0] :][:2])
    assert len(lines) < 30
    assert "84 undecidable" in " ".join(lines)


def test_findings_with_different_predictions_have_rows_of_their_own() -> None:
    output = run.invoke(app, ["--example", "method-post"], env={"COLUMNS": "120"}).output
    for predicted in ("0.7647 to 0.7707", "0.8037 to 0.8054", "0.7403 to 0.7440"):
        assert predicted in output


def test_strict_is_for_contradictions(tmp_path: Path) -> None:
    assert run.invoke(app, ["--example", "vendor-page"]).exit_code == 0
    assert run.invoke(app, ["--example", "vendor-page", "--strict"]).exit_code == 1
    assert run.invoke(app, ["--example", "method-post", "--strict"]).exit_code == 0
    honest = tmp_path / "t.yaml"
    honest.write_text(text(sign(median=117, mean=138, p99=455, samples=1000)), encoding="utf-8")
    assert run.invoke(app, [str(honest), "--strict"]).exit_code == 0


def test_examples_are_listed_and_shown(tmp_path: Path) -> None:
    listed = run.invoke(app, ["--list-examples"]).output
    assert [line.split()[0] for line in listed.splitlines()] == list(example_names())
    shown = run.invoke(app, ["--show-example", "method-post"]).output
    path = tmp_path / "copy.yaml"
    path.write_text(shown, encoding="utf-8")
    assert run.invoke(app, [str(path)]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ([], "name a file of claims"),
        (["--example", "none"], "unknown example 'none'"),
        (["--show-example", "none"], "unknown example 'none'"),
        (["nowhere.yaml"], "cannot read it"),
        (["--example", "method-post", "--json", "/nowhere/found.json"], "/nowhere"),
    ],
)
def test_errors_are_lab_errors(arguments: list[str], rule: str) -> None:
    result = run.invoke(app, arguments)
    assert isinstance(result.exception, LabError)
    assert rule in str(result.exception)


def test_nothing_is_written_when_a_file_is_bad(tmp_path: Path) -> None:
    good, bad, out = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "out.json"
    good.write_text(text(sign(median=117)), encoding="utf-8")
    bad.write_text(text(sign(median=-1)), encoding="utf-8")
    result = run.invoke(app, [str(good), str(bad), "--json", str(out)])
    assert isinstance(result.exception, LabError)
    assert not out.exists()


def test_titles_are_no_markup(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        text(
            sign(median=117, id="[red]x[/]"), source={"title": "[bold]a[/] [/b]", "kind": "other"}
        ),
        encoding="utf-8",
    )
    output = run.invoke(app, [str(path)], env={"COLUMNS": "120"}).output
    assert "[bold]a[/] [/b]" in output
    assert "[red]x[/]" in output


def test_json_holds_no_infinity() -> None:
    for name in example_names():
        json.dumps(as_json([audit(example(name))]), allow_nan=False)


# The document -----------------------------------------------------------------------------------


def test_the_document_has_every_rule_and_no_other() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    rows = {
        match[1]: (match[2].strip(), match[3].strip())
        for match in re.finditer(r"^\| `([a-z0-9.-]+)` \| ([^|]+) \| ([^|]+) \|$", document, re.M)
        if match[1] in RULES or "." in match[1]
    }
    assert rows == {name: (rule.sentence, rule.source) for name, rule in RULES.items()}


def test_the_document_has_every_kind_of_claim_and_every_example() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    for about in ABOUT:
        assert f"### `{about}`" in document
    for name in example_names():
        assert f"`{name}`" in document
    for name in Defaults.__struct_fields__:
        assert f"`{name}`" in document
