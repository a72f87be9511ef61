"""Absurd tables: each breaks one rule, and the audit finds it; what it says beside the verdict."""

from __future__ import annotations

from typing import Any

import pytest
from audit_tables import judged, of_rule, sign, verdicts

from mldsa_lab import LabError
from mldsa_lab.audit import parse_claims

COST = {"about": "cost", "set": "ML-DSA-65", "unit": "us"}
KEYGEN, VERIFY = {**COST, "operation": "keygen"}, {**COST, "operation": "verify"}
PRODUCT = {"about": "product", "quantity": "q"}
SLOW = {"id": "slow", **VERIFY, "unit": "cycles", "mean": 175_000, "clock_hz": 3.5e9}
ODD, NO = "implausible", "contradiction"


def points(about: str, *entries: dict[str, float], **more: Any) -> dict[str, Any]:
    return {"about": about, "points": list(entries), **more}


# A table, and the rule and verdict that its last claim must get.
ABSURD: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "a signature in 115 ns": ([sign(set=44, unit="ns", mean=115)], "work.floor", ODD),
    "a median signature in 0.1 us": ([sign(median=0.1)], "work.floor", ODD),
    "the fastest signature in 200 ns": ([sign(set=87, unit="ns", min=200)], "work.floor", ODD),
    "a key in 0.3 us": ([{**KEYGEN, "median": 0.3}], "work.floor", ODD),
    "a verification in 30 ns": ([{**VERIFY, "unit": "ns", "mean": 30}], "work.floor", ODD),
    "a key in 50 cycles": ([{**KEYGEN, "unit": "cycles", "mean": 50}], "work.floor", ODD),
    "a signature in 300 cycles": ([sign(unit="cycles", mean=300)], "work.floor", ODD),
    "a verification in 100 cycles": ([{**VERIFY, "unit": "cycles", "min": 100}], "work.floor", ODD),
    "hashes in 2 cycles each": (
        [sign(set="SLH-DSA-SHA2-128f", unit="cycles", mean=200_000)], "work.floor", ODD),
    "a larger set has cheaper keys": (
        [{**KEYGEN, "mean": 90}, {**KEYGEN, "set": 87, "mean": 60}], "work.relations", ODD),
    "a larger set verifies faster": (
        [{**VERIFY, "set": 44, "mean": 90}, {**VERIFY, "mean": 60}], "work.relations", ODD),
    "a larger set signs faster": (
        [sign(set=44, mean=200, samples=10_000), sign(mean=120, samples=10_000)],
        "work.relations", ODD),
    "a signature costs what its verification does": (
        [{**VERIFY, "mean": 90}, sign(mean=95, samples=10_000)], "work.relations", ODD),
    "a signature costs less than its verification": (
        [{**VERIFY, "median": 90}, sign(median=40)], "work.relations", ODD),
    "verification in ns in a column of us": (
        [sign(mean=240, samples=1000), {**VERIFY, "mean": 81_000}], "work.relations", ODD),
    "signing in ms in a column of us": (
        [{**VERIFY, "mean": 81.5}, sign(mean=0.24, samples=1000)], "work.relations", ODD),
    "keys in ms in a column of us": (
        [{**VERIFY, "mean": 81.5}, {**KEYGEN, "mean": 0.082}], "work.relations", ODD),
    "one set in another unit": (
        [{**VERIFY, "set": 44, "mean": 50}, {**VERIFY, "mean": 81_000}], "work.relations", ODD),
    "cycles and time of two clocks": ([SLOW, {**VERIFY, "mean": 20}], "work.relations", ODD),
    "more operations than cycles": (
        [SLOW, points("scaling", {"threads": 1, "per_second": 40_000}, cost_of="slow")],
        "throughput.latency", NO),
    "a column of zeros": (
        [{**VERIFY, "unit": "ms", "min": 0, "mean": 0, "max": 0}], "figures.zero", ODD),
    "signatures that cost nothing": ([sign(unit="s", mean=0)], "figures.zero", ODD),
    "a minimum of zero": ([{**VERIFY, "min": 0, "mean": 80}], "figures.zero", ODD),
    "5.55 % as 5 %": (
        [{**PRODUCT, "stated": 5, "unit": "%", "factors": {"a": 111}, "over": {"b": 20}}],
        "product.follows", ODD),
    "2.99 times as 2 times": (
        [{**PRODUCT, "stated": 2, "factors": {"a": 299}, "over": {"b": 100}}],
        "product.follows", ODD),
    "a speedup of 1.96 as 1": (
        [points("scaling", {"threads": 1, "per_second": 10_021, "speedup": 1},
                {"threads": 2, "per_second": 19_641, "speedup": 1})],
        "scaling.arithmetic", ODD),
}  # fmt: skip


@pytest.mark.parametrize(("claims", "rule", "verdict"), ABSURD.values(), ids=ABSURD)
def test_an_absurd_table_is_found(claims: list[dict[str, Any]], rule: str, verdict: str) -> None:
    last = claims[-1].get("id", "abcdefgh"[len(claims) - 1])
    assert (last, rule, verdict) in verdicts(*claims)


def test_another_unit_is_named() -> None:
    ((_, reading),) = of_rule("work.relations", {**VERIFY, "mean": 81.5}, sign(mean=0.24))
    assert reading == "A factor of 10^3 explains it: is one in another unit?"


def test_rows_that_cannot_be_told_apart_are_not_compared() -> None:
    rows = [{**VERIFY, "mean": 90}, {**VERIFY, "mean": 20}, sign(mean=50)]
    assert of_rule("work.relations", *rows) == []
    named = [{**row, "subject": str(n)} for n, row in enumerate(rows)]
    assert of_rule("work.relations", *named) == []


@pytest.mark.parametrize(
    ("samples", "verdict", "error"),
    [(10, "undecidable", "13.7 % to 29.0 %"), (10_000, "consistent", "0.4 % to 0.9 %")],
)
def test_samples_alone_give_the_error_of_a_mean(samples: int, verdict: str, error: str) -> None:
    ((said, reading),) = of_rule("sign.error", sign(mean=138, samples=samples))
    assert said == verdict
    assert reading == f"Rejection by itself gives it a standard error of {error}."


def test_whole_things_may_be_cut_off_and_the_reading_says_so() -> None:
    fit = {**PRODUCT, "stated": 888, "factors": {"MB": 4_000_000}, "over": {"each": 4_500}}
    (found,) = judged(fit)
    assert (found.verdict.value, found.predicted) == ("consistent", "888.9, cut off")
    assert found.reading.endswith("Its last digits were cut off, not rounded.")


@pytest.mark.parametrize("text", ['{"results": [{"mean": 1.5}]}', "[1, 2]", "id,cost\n1,2\n"])
def test_a_foreign_file_is_told_what_is_expected(text: str) -> None:
    with pytest.raises(LabError, match=r"^hyperfine\.json: .*docs/audit\.md, 'The file'"):
        parse_claims(text, "hyperfine.json")
