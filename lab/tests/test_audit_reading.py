"""Claims files: what they may say, and errors that name file, claim, field and rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from audit_tables import HEAD, sign, text

from mldsa_lab import LabError
from mldsa_lab.audit import parse_claims, read_claims
from mldsa_lab.audit.claims import Cost, Limit, Rate, repeated
from mldsa_lab.audit.judgement import ClaimedSet, StatedFigure
from mldsa_lab.audit.reading import claims_schema, examples


def read(*claims: dict[str, Any], **head: Any) -> Any:
    return parse_claims(text(*claims, **head), "t.yaml")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ML-DSA-44", "ML-DSA-44"), (44, "ML-DSA-44"), ("Dilithium-3", "ML-DSA-65"),
        ("CRYSTALS-Dilithium 5", "ML-DSA-87"), ("Dilithium III", "ML-DSA-65"),
        ("Dilithium4", None), ("ML-DSA-66", None), (2, None), (True, None),
    ],
)  # fmt: skip
def test_names_of_sets(name: object, expected: str | None) -> None:
    if expected is not None:
        assert ClaimedSet.read(name) == expected
        return
    with pytest.raises(ValueError, match=r"is no parameter set|must be text"):
        ClaimedSet.read(name)


def test_the_examples_fit_the_schema() -> None:
    validator = jsonschema.Draft202012Validator(claims_schema())
    for path in examples().values():
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        # YAML makes a date of what JSON has as a text.
        found["source"] = {key: str(value) for key, value in found["source"].items()}
        validator.validate(found)
    bad = yaml.safe_load(text(sign(medain=1)))
    assert not validator.is_valid(bad)
    assert validator.is_valid(yaml.safe_load(text(sign(median=1))))


def test_figures_know_their_rounding() -> None:
    (claim,) = read(sign(mean=68.1, median=72, **{"p99.9": 200.25})).claims
    assert isinstance(claim, Cost)
    assert {name: f.half for name, f in claim.figures.items()} == pytest.approx(
        {"mean": 0.05, "median": 0.5, "p99.9": 0.005}
    )


def test_p50_is_the_median_and_defaults_apply() -> None:
    table = read(
        {"about": "cost", "p50": 3.0},
        defaults={"set": "Dilithium5", "unit": "µs", "operation": "sign", "samples": 30},
    )
    (claim,) = table.claims
    assert isinstance(claim, Cost)
    assert (claim.set, claim.unit, claim.samples) == ("ML-DSA-87", "us", 30)
    assert list(claim.figures) == ["median"]


def test_powers_and_sizes() -> None:
    limit, rate = read(
        {"about": "limit", "amount": "2^32", "unit": "bits", "called": "4 GB"},
        {"about": "rate", "bytes_read": "47 MB", "bytes_written": 24e6, "operations": 10000},
    ).claims
    assert isinstance(limit, Limit)
    assert isinstance(rate, Rate)
    assert limit.amount == 1 << 32
    assert limit.called == StatedFigure(4e9, 0.5e9, 4 * 2**30 - 4e9)
    assert rate.bytes_read is not None
    # 47 MB is at least 46.5 million bytes, and at most 47.5 times 1024 squared.
    assert rate.bytes_read.low <= 46.5e6
    assert rate.bytes_read.high >= 47 * 2**20


def test_exponents_need_no_sign() -> None:
    (claim,) = parse_claims(text(sign(median=1)).replace("median: 1", "median: 2.5e3"), "t").claims
    assert isinstance(claim, Cost)
    assert claim.figures["median"] == StatedFigure(2500.0, 50.0)


SIZE = {"about": "size", "set": "44", "object": "public-key", "bytes": 1312}
COST = {"about": "cost", "operation": "verify", "unit": "us"}

BAD = [
    (sign(median=1, medain=2), "contains unknown field `medain`"),
    (sign(median=-1), "median: must be a finite number between"),
    (sign(median=float("nan")), ", median: must be a finite number"),
    (sign(median=1e300), ", median: must be a finite number between 1e-18 and 1e+18"),
    (sign(median=1, samples=10**13), ", samples: Expected `int` <= 1000000000000"),
    (sign(median="72 us"), ", median: must be a number"),
    (sign(median=1, p100=1), ", p100: must be min, max, mean, median, sd or a percentile"),
    (sign(median=1, p50=1), "the median appears twice"),
    (sign(median=1, set="ML-DSA-66"), ", set: 'ML-DSA-66' is no parameter set"),
    (sign(median=1, unit="days"), ", unit: 'days' must be one of"),
    (sign(median=1, samples=0), ", samples: Expected `int` >= 1"),
    (sign(median=2, error=1, error_kind="ci200"), "error_kind 'ci200' must be one of"),
    (sign(median=2, overhead=2), "median must be greater than the overhead"),
    ({**COST, "median": None}, ", median: is empty"),
    ({"about": "cost", "operation": "sign", "unit": "us", "median": 1}, "set is missing"),
    ({"about": "speed"}, ", about: 'speed' must be one of"),
    ({"about": "limit", "amount": "2^32", "unit": "bits", "called": "four"}, "such as '4 GB'"),
    ({"about": "scaling", "points": []}, "points: Expected `array` of length >= 1"),
    ({"about": "scaling", "points": [{"threads": 2}] * 2}, "a number of threads appears twice"),
    ({"about": "parts", "unit": "s", "parts": {"a": 1}, "shares": [{"of": "b", "percent": 1}]},
     "there is no part 'b'"),
    ({"about": "rate", "operations": 1, "bytes_read": 0}, ", bytes_read: must be greater than 0"),
    ({"about": "rejection", "set": "44", "reject": [0.8, 0.7]}, "the lower limit first"),
    ({"about": "rejection", "set": "44", "attempts": {"p100": 3}}, "attempts: p100: must be min"),
    ({"about": "rejection", "set": "44", "attempts": {"sd": 3}}, "sd is unknown here"),
    ({"about": "statements", "values": [{"value": 1}, {"value": 2}]}, "required field `quantity`"),
    ({"about": "scaling", "points": [{"threads": 1, "per_second": 1}], "cost_of": "z"},
     "cost_of: 'z' is not the id of a cost or a batch in a unit of time"),
    ("sign", "must be a mapping of fields"),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "rule"), BAD, ids=[rule for _, rule in BAD])
def test_bad_claims_are_named(claim: Any, rule: str) -> None:
    listed = [{"id": "the one", **claim} if isinstance(claim, dict) else claim]
    bad = json.dumps({**HEAD, "claims": listed})
    bad = bad.replace("NaN", ".nan").replace("Infinity", ".inf")
    with pytest.raises(LabError) as caught:
        parse_claims(bad, "t.yaml")
    message = str(caught.value)
    assert rule in message
    assert message.startswith("t.yaml: claim ")
    assert "\n" not in message
    if isinstance(claim, dict):
        assert "'the one'" in message


@pytest.mark.parametrize(
    ("same", "rule"),
    [
        ({"a": "one, mean"}, ""),
        ({"c": "one, mean"}, "there is no value 'parts, c'"),
        ({"a": "one, p99"}, "there is no value 'one, p99'"),
        ({"b": "one, mean"}, "117 us (parts, b) and 72 us (one, mean) are different values"),
        ({"a": "two, mean"}, "72 us (parts, a) and 72 ms (two, mean) are different values"),
        ({"a": "key"}, "72 us (parts, a) and 72 B (key) are different values"),
        ({"a": "parts, total", "total": "one, max"}, "'parts, total' repeats another value"),
    ],
)
def test_values_that_repeat_others(same: dict[str, str], rule: str) -> None:
    parts = {"a": 72, "b": 117}
    table = [
        sign(id="one", mean=72, max=189),
        sign(id="two", mean=72, unit="ms"),
        {"id": "key", "about": "size", "set": 44, "object": "public-key", "bytes": 72},
        {
            "id": "number",
            "about": "parts",
            "unit": "count",
            "parts": {"key": 72},
            "total": 72,
            "same": {"key": "key"},
        },
        {"id": "parts", "about": "parts", "unit": "us", "parts": parts, "total": 189, "same": same},
    ]
    if not rule:
        group = ("one, mean", "parts, a")
        found = repeated(read(*table).claims)
        assert {label: found[label] for label in group} == dict.fromkeys(group, group)
        return
    with pytest.raises(LabError) as caught:
        read(*table)
    assert str(caught.value).startswith("t.yaml: claim 'parts', same: ")
    assert rule in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("t.json", b'{"format": 1, "format": 2}', "twice"),
        ("t.yaml", None, "cannot read it"),
        ("", None, "cannot read it"),
        ("t.yaml", b"x" * ((1 << 20) + 1), "larger than"),
        ("t.yaml", b"\xff\xfe", "not UTF-8"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, content: bytes | None, rule: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(LabError, match=rule):
        read_claims(tmp_path / name)
