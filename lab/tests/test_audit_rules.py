"""Each rule of the audit on figures that keep it and on figures that break it."""

from __future__ import annotations

from typing import Any

import pytest
from audit_tables import judged, of_rule, sign, verdicts


def one(rule: str, *claims: dict[str, Any]) -> str:
    """The verdict of the only finding by a rule."""
    ((verdict, _),) = of_rule(rule, *claims)
    return verdict


COST = {"about": "cost", "operation": "keygen", "unit": "us"}

# Figures of any operation -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ({"min": 10, "median": 12, "p99": 15, "max": 20}, "consistent"),
        ({"min": 12, "median": 12, "p99": 12}, "consistent"),
        ({"min": 13, "median": 12, "p99": 15}, "contradiction"),
        ({"p95": 16, "p99": 14}, "contradiction"),
        ({"min": 10, "mean": 9}, "contradiction"),
        ({"mean": 21, "max": 20}, "contradiction"),
        # 12.4 and 11.6 both round to 12, so 12 and 12 may stand in either order.
        ({"min": 12, "median": 11.6}, "consistent"),
    ],
)
def test_figures_ascend(figures: dict[str, float], verdict: str) -> None:
    assert one("figures.order", {**COST, **figures}) == verdict


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        # At least half lies above 72, the rest above 68.
        ({"min": 68, "median": 72, "mean": 70.5}, "consistent"),
        ({"min": 68, "median": 72, "mean": 68.1, "samples": 10**6}, "contradiction"),
        ({"min": 10, "median": 12, "max": 20, "mean": 15.5}, "consistent"),
        ({"min": 10, "median": 12, "max": 20, "mean": 18, "samples": 1000}, "contradiction"),
        # With five samples a percentile may be the next one.
        ({"min": 10, "median": 12, "max": 20, "mean": 18, "samples": 5}, "consistent"),
    ],
)
def test_percentiles_bound_the_mean(figures: dict[str, float], verdict: str) -> None:
    assert one("figures.mean-range", {**COST, **figures}) == verdict


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ({"mean": 15, "min": 10, "max": 20, "sd": 4}, "consistent"),
        ({"mean": 15, "min": 10, "max": 20, "sd": 7, "samples": 100}, "contradiction"),
        ({"median": 15, "min": 10, "max": 20, "sd": 6, "samples": 2}, "consistent"),
        ({"mean": 20, "median": 12, "sd": 9}, "consistent"),
        ({"mean": 20, "median": 12, "sd": 3}, "contradiction"),
        ({"mean": 15, "min": 10, "max": 20, "error": 9, "error_kind": "sd"}, "contradiction"),
        (
            {"mean": 15, "min": 10, "max": 20, "error": 2, "error_kind": "se", "samples": 100},
            "contradiction",
        ),
        (
            {"mean": 15, "min": 10, "max": 20, "error": 0.8, "error_kind": "ci95", "samples": 100},
            "consistent",
        ),
    ],
)
def test_range_and_median_bound_the_deviation(figures: dict[str, Any], verdict: str) -> None:
    assert one("figures.sd-range", {**COST, **figures}) == verdict


def test_a_plus_minus_is_read_as_what_fits() -> None:
    figures = {"mean": 312, "error": 12, "min": 295, "max": 340}
    ((verdict, reading),) = of_rule("figures.sd-range", {**COST, **figures})
    assert verdict == "consistent"
    assert "as a standard error it would fit between minimum and maximum with 5 samples" in reading
    # Beside a wide range the ± may be either.
    assert of_rule("figures.sd-range", {**COST, **figures, "max": 900}) == []


# Signing ----------------------------------------------------------------------------------------

VARIED = {"min": 60, "median": 117, "mean": 138, "p95": 310, "p99": 455, "samples": 10000}
FIXED = {"min": 68, "median": 72, "mean": 72.5, "p95": 85, "p99": 91, "samples": 10000}


def test_a_varied_table_passes() -> None:
    found = judged(sign(**VARIED, sd=98))
    assert {f.verdict.value for f in found} == {"consistent"}
    assert {f.rule for f in found} >= {
        "sign.min",
        "sign.mean",
        "sign.tail",
        "sign.spread",
        "sign.inversion",
        "sign.trimmed",
    }


@pytest.mark.parametrize(
    ("inputs", "verdict"), [("unstated", "implausible"), ("varied", "contradiction")]
)
def test_one_repeated_input_is_found(inputs: str, verdict: str) -> None:
    verify = {"about": "cost", "operation": "verify", "set": "ML-DSA-65", "unit": "us"}
    found = verdicts(
        sign(**FIXED, sd=4, inputs=inputs), {**verify, "median": 24, "p99": 29, "min": 22}
    )
    for rule in ("min", "tail", "spread", "inversion", "one-input"):
        assert ("a", f"sign.{rule}", verdict) in found, rule
    assert not any(rule == "sign.trimmed" for _, rule, _ in found)


def test_one_input_as_stated_is_no_fault() -> None:
    found = verdicts(sign(**FIXED, inputs="fixed"))
    assert ("a", "sign.one-input", "undecidable") in found
    assert not any(verdict in ("implausible", "contradiction") for _, _, verdict in found)


def test_a_cut_tail_is_found() -> None:
    cut = sign(min=60, median=117, p95=150, p99=160, max=165, samples=10000)
    assert one("sign.trimmed", cut) == "implausible"
    assert one("sign.min", cut) == "consistent"
    assert {verdict for verdict, _ in of_rule("sign.tail", cut)} == {"implausible"}


def test_a_mean_below_the_median_is_found() -> None:
    ((verdict, reading),) = of_rule("sign.mean", sign(median=100, mean=97, samples=10000))
    assert verdict == "implausible"
    assert "above the median" in reading
    # Ten samples may have it by chance.
    assert one("sign.mean", sign(median=100, mean=97, samples=10)) == "consistent"


def test_a_long_tail_is_the_machines() -> None:
    assert one("sign.tail", sign(median=100, p99=5000, samples=10000)) == "undecidable"
    assert one("sign.min", sign(median=100, min=5, samples=10000)) == "undecidable"


def test_a_constant_overhead_is_taken_off() -> None:
    # On a card a signature takes 1 s longer than the operation itself.
    shifted = {name: value + 1000 for name, value in VARIED.items() if name != "samples"}
    found = sign(**shifted, samples=10000)
    assert {v for v, _ in of_rule("sign.tail", found)} == {"implausible"}
    assert {v for v, _ in of_rule("sign.tail", {**found, "overhead": 1000})} == {"consistent"}


def test_a_long_message_is_setup() -> None:
    # S = 700 for hashing a megabyte, c = 19.
    hashed = sign(min=700, median=757, p99=1099, samples=10000)
    assert one("sign.inversion", hashed) == "implausible"
    assert one("sign.inversion", {**hashed, "message_bytes": 1 << 20}) == "consistent"


def test_averages_have_no_percentiles() -> None:
    averaged = sign(mean=138, sd=10, p99=160, samples=100, per_sample=100)
    found = verdicts(averaged)
    assert ("a", "sign.spread", "consistent") in found
    assert not any(rule == "sign.tail" for _, rule, _ in found)
    # The spread of averages of one repeated input is that of the machine.
    assert one("sign.spread", {**averaged, "sd": 0.5, "samples": 1000}) == "implausible"


# Sizes ------------------------------------------------------------------------------------------


def size(what: str, number: int, **more: Any) -> dict[str, Any]:
    return {"about": "size", "set": "ML-DSA-44", "object": what, "bytes": number, **more}


@pytest.mark.parametrize(
    ("claim", "verdict", "reading"),
    [
        (size("public-key", 1312), "consistent", "bare bytes"),
        (size("public-key", 1334, encoding="raw"), "contradiction", "SubjectPublicKeyInfo"),
        (size("public-key", 1952), "contradiction", "ML-DSA-65's public key"),
        (size("public-key", 1400), "implausible", "No encoding"),
        (size("public-key", 1400, encoding="spki"), "contradiction", "No encoding"),
        (size("private-key", 2528), "contradiction", "Dilithium, round 3"),
        (size("private-key", 2528, set="Dilithium2"), "consistent", "bare bytes are 2,560"),
        (size("private-key", 2528, standard="round3"), "consistent", "round 3"),
        (size("signature", 2420, set="Dilithium2"), "consistent", "FIPS 204"),
    ],
)
def test_sizes(claim: dict[str, Any], verdict: str, reading: str) -> None:
    ((found, text),) = of_rule("size.encoding", claim)
    assert found == verdict
    assert reading in text


# Arithmetic -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("total", "verdict"), [(391, "consistent"), (393, "consistent"), (395, "contradiction")]
)
def test_parts_add_up_within_rounding(total: float, verdict: str) -> None:
    parts = {"a": 2, "b": 72, "c": 89, "d": 204, "e": 24}
    claim = {"about": "parts", "unit": "us", "parts": parts, "total": total}
    assert one("parts.sum", claim) == verdict


def test_shares_of_parts() -> None:
    claim = {
        "about": "parts",
        "unit": "ms",
        "parts": {"a": 25.0, "b": 75.0},
        "shares": [
            {"of": "a", "percent": 25},
            {"of": ["a", "b"], "percent": 100},
            {"of": "a", "percent": 35},
        ],
    }
    assert [v for v, _ in of_rule("parts.share", claim)] == [
        "consistent",
        "consistent",
        "contradiction",
    ]


@pytest.mark.parametrize(
    ("first", "second", "unit", "verdict"),
    [
        # Counts are not rounded: 3 is not 2, though both would be 2.5 rounded.
        (3, 2, "", "contradiction"),
        (3, 2, "verifications", "contradiction"),
        (3, 3.2, "", "consistent"),
        (3, 3.2, "count", "contradiction"),
        # Limits are the same limits; a number lies between them.
        ([14, 35], [7.0, 31.6], "%", "contradiction"),
        ([14, 35], [14.2, 34.8], "%", "consistent"),
        ([14, 35], 20, "%", "consistent"),
        ([14, 35], 40, "%", "contradiction"),
    ],
)
def test_two_statements(first: Any, second: Any, unit: str, verdict: str) -> None:
    values = [{"value": first}, {"value": second}]
    claim = {"about": "statements", "quantity": "a thing", "unit": unit, "values": values}
    assert one("statements.agree", claim) == verdict
    assert one("statements.agree", {**claim, "values": values[::-1]}) == verdict


def test_parts_that_are_counts_add_up_exactly() -> None:
    claim = {"about": "parts", "parts": {"a": 1, "b": 1, "c": 1}, "total": 4}
    assert one("parts.sum", {**claim, "unit": "us"}) == "consistent"
    assert one("parts.sum", {**claim, "unit": "count"}) == "contradiction"
    shares = [{"of": ["a", "b"], "percent": 60}]
    assert one("parts.share", {**claim, "unit": "us", "shares": shares}) == "consistent"
    assert one("parts.share", {**claim, "unit": "count", "shares": shares}) == "contradiction"


@pytest.mark.parametrize(
    ("values", "groups", "verdict"),
    [
        ([(20, "unstated"), (10, "group")], None, "undecidable"),
        ([(20, "unstated"), (10, "group")], 2, "consistent"),
        ([(20, "all"), (10, "group")], 3, "contradiction"),
        ([(25, "all"), (10, "group")], None, "contradiction"),
        ([(20, "group"), (10, "group")], None, "contradiction"),
        ([(20, "unstated"), (10, "unstated")], None, "undecidable"),
        ([(20, "unstated"), (20, "group")], None, "consistent"),
    ],
)
def test_counts_of_samples(values: list[tuple[int, str]], groups: int | None, verdict: str) -> None:
    claim: dict[str, Any] = {
        "about": "counted",
        "values": [{"count": count, "of": of} for count, of in values],
    }
    if groups is not None:
        claim["groups"] = groups
    assert one("samples.agree", claim) == verdict


@pytest.mark.parametrize(
    ("amount", "unit", "called", "verdict"),
    [
        ("2^32", "bits", "4 GB", "contradiction"),
        ("2^32", "bits", "512 MiB", "consistent"),
        ("2^32", "bytes", "4 GB", "consistent"),
        ("2^64", "bits", "4 GB", "contradiction"),
        (8, "bits", "1 bytes", "consistent"),
    ],
)
def test_limits(amount: str | int, unit: str, called: str, verdict: str) -> None:
    claim = {"about": "limit", "amount": amount, "unit": unit, "called": called}
    ((found, reading),) = of_rule("limit.bits", claim)
    assert found == verdict
    assert ("were taken for bytes" in reading) == (amount == "2^32" and found != "consistent")


TIMED = {"about": "cost", "operation": "sign", "set": "44", "unit": "us", "mean": 100.0}


@pytest.mark.parametrize(
    ("rate", "verdict"),
    [("71 MB", "consistent"), ("2.3 GB", "contradiction"), ("1 MB", "contradiction")],
)
def test_rates_against_the_time_of_operations(rate: str, verdict: str) -> None:
    # 10,000 operations of 100 us take a second, 71 MB a second.
    claim = {
        "about": "rate",
        "bytes_read": "47 MB",
        "bytes_written": "24 MB",
        "operations": 10000,
        "bytes_per_second": rate,
    }
    assert one("rate.bytes-over-time", TIMED, {**claim, "cost_of": "a"}) == verdict
    assert one("rate.bytes-over-time", {**claim, "seconds": 1.0}) == verdict
    assert one("none", claim) == "undecidable"


# Throughput, threads, batches -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "workers", "verdict"),
    [
        (9900, 1, "consistent"),
        (10300, 1, "implausible"),
        (12000, 1, "contradiction"),
        (79000, 8, "consistent"),
    ],
)
def test_throughput_and_latency(rate: int, workers: int, verdict: str) -> None:
    points = [{"threads": workers, "per_second": rate}]
    claim = {"about": "scaling", "points": points, "cost_of": "a"}
    assert one("throughput.latency", TIMED, claim) == verdict


def test_a_median_stands_for_at_least_so_much_mean() -> None:
    median = {**TIMED, "median": 100.0}
    del median["mean"]
    points = [{"threads": 1, "per_second": 9900}]
    claim = {"about": "scaling", "points": points, "cost_of": "a"}
    # Varied signatures with a median of 100 us have a mean above 120 us, so 8,300 a second.
    ((verdict, reading),) = of_rule("throughput.latency", {**median, "samples": 10**6}, claim)
    assert verdict == "implausible"
    assert "law's least mean" in reading
    assert one("throughput.latency", {**median, "inputs": "fixed"}, claim) == "consistent"


@pytest.mark.parametrize(
    ("threads", "speedup", "cores", "rule", "verdict"),
    [
        (8, 7.8, 8, "scaling.cores", "consistent"),
        (8, 8.5, 8, "scaling.cores", "implausible"),
        (8, 12.0, 8, "scaling.cores", "contradiction"),
        (16, 10.0, 8, "scaling.smt", "consistent"),
        (16, 14.0, 8, "scaling.smt", "implausible"),
        (32, 20.0, 8, "scaling.smt", "contradiction"),
    ],
)
def test_threads(threads: int, speedup: float, cores: int | None, rule: str, verdict: str) -> None:
    claim: dict[str, Any] = {
        "about": "scaling",
        "points": [{"threads": threads, "speedup": speedup}],
    }
    if cores is not None:
        claim["cores"] = cores
    assert one(rule, claim) == verdict


def test_scaling_needs_the_throughput_of_one() -> None:
    points = [{"threads": 2, "per_second": 10}, {"threads": 4, "per_second": 20}]
    claim = {"about": "scaling", "points": points, "cores": 4}
    assert one("none", claim) == "undecidable"
    points.append({"threads": 1, "per_second": 5})
    assert {v for v, _ in of_rule("scaling.cores", claim)} == {"consistent"}


def batch(*costs: tuple[int, float], **more: Any) -> dict[str, Any]:
    points = [{"size": size, "cost": cost} for size, cost in costs]
    base = {"about": "batch", "operation": "sign", "set": "44", "unit": "us", "points": points}
    return {**base, **more}


@pytest.mark.parametrize(
    ("costs", "verdict"),
    [
        (((1, 100), (10, 91), (100, 90.1)), "consistent"),
        (((1, 100), (10, 60), (100, 55)), "consistent"),
        (((1, 100), (10, 95), (100, 55)), "undecidable"),
        (((1, 100), (10, 130)), "implausible"),
    ],
)
def test_shapes_of_batches(costs: tuple[tuple[int, float], ...], verdict: str) -> None:
    assert one("batch.shape", batch(*costs)) == verdict


@pytest.mark.parametrize(("cost", "verdict"), [(62, "consistent"), (40, "implausible")])
def test_a_batch_saves_the_key_at_most(cost: float, verdict: str) -> None:
    # Expanding A is 80 of 205 permutations of a mean signature.
    claim = batch((1, 100), (100, cost), cost_of="a")
    assert one("batch.cost", TIMED, claim) == verdict


# Differences and rejection ----------------------------------------------------------------------


def difference(**more: Any) -> dict[str, Any]:
    base = {"about": "difference", "operation": "sign", "set": "65", "samples_per_group": 10}
    return {**base, **more}


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ({}, "undecidable"),
        ({"significant": False}, "undecidable"),
        ({"relative": 0.05, "significant": True}, "implausible"),
        ({"relative": 0.50, "significant": True}, "undecidable"),
        ({"relative": 1.50, "significant": True}, "consistent"),
        ({"relative": 0.05, "significant": True, "samples_per_group": 10000}, "consistent"),
        ({"relative": 0.05, "significant": True, "per_sample": 10000}, "consistent"),
        ({"relative": 0.05, "significant": True, "paired": True}, "undecidable"),
        ({"relative": 0.05, "significant": True, "operation": "verify"}, "undecidable"),
    ],
)
def test_differences(more: dict[str, Any], verdict: str) -> None:
    assert one("difference.power", difference(**more)) == verdict


@pytest.mark.parametrize(
    ("claim", "rule", "verdict"),
    [
        ({"pass_z": 0.6189}, "rejection.z", "consistent"),
        ({"pass_z": 0.62}, "rejection.z", "consistent"),
        ({"pass_z": 0.54}, "rejection.z", "contradiction"),
        # The exact rate of ML-DSA-65 is 0.6189, the usual approximation 0.6197.
        ({"pass_z": 0.6196}, "rejection.z", "implausible"),
        ({"pass_z": 0.6214}, "rejection.z", "implausible"),
        ({"pass_r0": 0.3172}, "rejection.r0", "implausible"),
        ({"accept": 0.201}, "rejection.accept", "implausible"),
        ({"pass_r0": 0.43}, "rejection.r0", "contradiction"),
        ({"pass_hint": 0.996}, "rejection.hint", "consistent"),
        ({"pass_hint": 0.985}, "rejection.hint", "implausible"),
        ({"pass_hint": [0.98, 0.999]}, "rejection.hint", "consistent"),
        ({"accept": 0.195}, "rejection.accept", "consistent"),
        ({"reject": [0.75, 0.8]}, "rejection.accept", "consistent"),
        ({"reject": 0.75}, "rejection.accept", "contradiction"),
        ({"attempts": {"mean": 5.1}}, "rejection.attempts", "consistent"),
        ({"attempts": {"mean": 5.2}}, "rejection.attempts", "implausible"),
        ({"attempts": {"mean": 4.25}}, "rejection.attempts", "contradiction"),
        ({"attempts": {"median": 4}}, "rejection.attempts", "consistent"),
        ({"attempts": {"median": 3}}, "rejection.attempts", "contradiction"),
        ({"attempts": {"max": 70}}, "rejection.attempts", "consistent"),
        ({"attempts": {"max": 900}}, "rejection.attempts", "contradiction"),
    ],
)
def test_rejection(claim: dict[str, Any], rule: str, verdict: str) -> None:
    assert one(rule, {"about": "rejection", "set": "Dilithium3", **claim}) == verdict


def test_every_claim_has_a_finding() -> None:
    found = judged(
        {**COST, "median": 5}, {"about": "scaling", "points": [{"threads": 2, "per_second": 5}]}
    )
    assert [(f.claim, f.rule, f.verdict.value) for f in found] == [
        ("a", "none", "undecidable"),
        ("b", "none", "undecidable"),
    ]
