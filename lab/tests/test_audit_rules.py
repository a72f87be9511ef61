"""Each rule of the audit on figures that keep it and that break it; samples and power."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from audit_tables import judged, of_rule, sign, verdicts
from scipy.stats import ttest_ind

from mldsa_lab.audit.arithmetic import check
from mldsa_lab.audit.judgement import Judgement, StatedFigure, judgement
from mldsa_lab.audit.law import band, laws, order_shares
from mldsa_lab.audit.signing import detectable, significant_from
from mldsa_lab.audit.work import least_steps
from mldsa_lab.estimate.figure import evaluate
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel, max_setup_cost
from mldsa_studies.signers import Signer

YES, OPEN, ODD, NO = "consistent", "undecidable", "implausible", "contradiction"
Claim = dict[str, Any]
Case = tuple[Claim, str]
COST = {"about": "cost", "operation": "keygen", "unit": "us"}
SPAN = {**COST, "mean": 15, "min": 10, "max": 20}
SIZE = {"about": "size", "set": "ML-DSA-44"}
PRIVATE = {**SIZE, "object": "private-key"}
FIVE = {"about": "parts", "unit": "us", "parts": {"a": 2, "b": 72, "c": 89, "d": 204, "e": 24}}
THREE = {"about": "parts", "unit": "us", "parts": {"a": 1, "b": 1, "c": 1}}
STATED = {"about": "statements", "quantity": "a thing"}
LIMIT = {"about": "limit", "amount": "2^32", "unit": "bits"}
TIMED = {"id": "timed", **COST, "operation": "sign", "set": "44", "mean": 100.0}
NEOVERSE = {"about": "vectors", "core": "Neoverse V2", "extension": "SVE2"}
AVX_512 = {"about": "vectors", "core": "Zen 4", "extension": "AVX-512", "bits": 512, "over": "AVX2"}
STRENGTH = {"about": "strength", "set": "ML-DSA-65"}
RATE = {"about": "rate", "bytes_read": "47 MB", "bytes_written": "24 MB", "operations": 10000}
FAST = {**RATE, "bytes_per_second": "568 MB", "cost_of": "timed"}
BATCH = {"about": "batch", "operation": "sign", "set": "44", "unit": "us"}
DIFFERENCE = {"about": "difference", "operation": "sign", "set": "65", "samples_per_group": 10}
SMALL = {**DIFFERENCE, "relative": 0.05, "significant": True}
SAMPLED = sign(median=100, samples=10000)
LOOP = {"about": "rejection", "set": "Dilithium3"}
ROWS = {"1 s": [10.0, 11.0], "2 s": [20.0, 21.0], "1 f": [5.0, 5.2], "2 f": [8.0, 8.5]}
TABLE = {"id": "t", "about": "table", "unit": "us", "columns": ["a", "b"], "rows": ROWS}
QUOTIENT = {"about": "quotient", "quantity": "q", "table": "t", "of": "(.) s, (.)"}
QUOTIENT |= {"over": r"\1 f, \2"}
PRODUCT = {"about": "product", "quantity": "q"}
YEAR = {"factors": {"MB": 1, "blocks": 52560}, "over": {"of a GB": 1000}}
THOUSANDS = {"factors": {"a": 3205}, "over": {"b": 7}}


def one(rule: str, *claims: Claim) -> str:
    """The verdict of the only finding by a rule."""
    ((verdict, _),) = of_rule(rule, *claims)
    return verdict


def each(field: str, verdicts: dict[Any, str], **more: Any) -> list[Case]:
    """A case for each value of a field."""
    return [({field: value, **more}, verdict) for value, verdict in verdicts.items()]


def statements(*values: Any, unit: str = "") -> Claim:
    return {"unit": unit, "values": [{"value": value} for value in values]}


def counts(*values: tuple[int, str], **more: int) -> Claim:
    return {"values": [{"count": count, "of": kind} for count, kind in values], **more}


def removed(*values: tuple[float, str], **more: str) -> Claim:
    return {"values": [{"percent": percent, "of": part, **more} for percent, part in values]}


def share(percent: float, *names: str) -> Claim:
    return {"shares": [{"of": names, "percent": percent}]}


def threads(number: int, cores: int | None = 8, **point: float) -> Claim:
    points = {"about": "scaling", "points": [{"threads": number, **point}]}
    return points if cores is None else {**points, "cores": cores}


def batch(*costs: tuple[int, float]) -> Claim:
    return {"points": [{"size": size, "cost": cost} for size, cost in costs]}


# Rule, the claims before, what all claims have, and what each has with its verdict.
CASES: list[tuple[str, list[Claim], Claim, list[Case]]] = [
    ("figures.order", [], COST, [
        ({"min": 10, "median": 12, "p99": 15, "max": 20}, YES),
        ({"min": 12, "median": 12, "p99": 12}, YES),
        ({"min": 13, "median": 12, "p99": 15}, NO),
        ({"p95": 16, "p99": 14}, NO),
        ({"min": 10, "mean": 9}, NO),
        ({"mean": 21, "max": 20}, NO),
        # 12.4 and 11.6 both round to 12, so 12 and 12 may stand in either order.
        ({"min": 12, "median": 11.6}, YES),
    ]),
    # At least half lies above 72, the rest above 68.
    ("figures.mean-range", [], {**COST, "min": 68, "median": 72}, [
        ({"mean": 70.5}, YES),
        ({"mean": 68.1, "samples": 10**6}, NO),
    ]),
    ("figures.mean-range", [], {**COST, "min": 10, "median": 12, "max": 20}, [
        ({"mean": 15.5}, YES),
        # With five samples a percentile may be the next one.
        *each("samples", {1000: NO, 5: YES}, mean=18),
    ]),
    ("figures.sd-range", [], SPAN, [
        ({"sd": 4}, YES),
        ({"sd": 7, "samples": 100}, NO),
        ({"error": 9, "error_kind": "sd"}, NO),
        ({"error": 2, "error_kind": "se", "samples": 100}, NO),
        ({"error": 0.8, "error_kind": "ci95", "samples": 100}, YES),
        ({"sd": 0, "samples": 1}, YES),
    ]),
    ("figures.sd-range", [], {**COST, "mean": 20, "median": 12}, each("sd", {9: YES, 3: NO})),
    ("size.encoding", [], {**SIZE, "object": "public-key"}, [
        *each("bytes", {1312: YES, 1334: YES, 1952: NO, 1400: ODD}),
        ({"bytes": 1334, "encoding": "raw"}, NO),
        ({"bytes": 1400, "encoding": "spki"}, NO),
        ({"bytes": 32, "set": "Ed25519"}, YES),
    ]),
    ("size.encoding", [], PRIVATE, [
        ({"bytes": 2528}, NO),
        ({"bytes": 2528, "set": "Dilithium2"}, YES),
        ({"bytes": 2528, "standard": "round3"}, YES),
        ({"bytes": 2560, "encoding": "spki"}, NO),
    ]),
    ("size.encoding", [], {"about": "size", "object": "signature"}, [
        ({"set": "FALCON-512", "bytes": 666}, YES),
        ({"set": "ECDSA-secp256k1", "bytes": 71}, YES),
    ]),
    ("parts.sum", [], FIVE, each("total", {391: YES, 393: YES, 395: NO})),
    ("parts.sum", [], {**THREE, "total": 4}, [({}, YES), ({"unit": "count"}, NO)]),
    ("parts.share", [], THREE, [
        (share(60, "a", "b"), YES),
        ({**share(60, "a", "b"), "unit": "count"}, NO),
        (share(100, "a", "b", "c"), YES),
        (share(80, "a"), NO),
    ]),
    ("statements.agree", [], STATED, [
        # Whole numbers that differ are different, though both may be 2.5 rounded.
        (statements(3, 2), NO),
        (statements(3, 3.2), YES),
        (statements(3, 3.2, unit="count"), NO),
        # Limits are the same limits; a number lies between them.
        (statements([14, 35], [7.0, 31.6]), NO),
        (statements([14, 35], [14.2, 34.8]), YES),
        (statements([14, 35], 20), YES),
        (statements(40, [14, 35]), NO),
    ]),
    ("samples.agree", [], {"about": "counted"}, [
        (counts((20, "unstated"), (10, "group")), OPEN),
        (counts((20, "unstated"), (10, "group"), groups=2), YES),
        (counts((20, "all"), (10, "group"), groups=3), NO),
        (counts((25, "all"), (10, "group")), NO),
        (counts((20, "group"), (10, "group")), NO),
        (counts((20, "unstated"), (10, "unstated")), OPEN),
        (counts((20, "unstated"), (20, "group")), YES),
    ]),
    ("limit.bits", [], LIMIT, [
        *each("called", {"4 GB": NO, "512 MiB": YES}),
        ({"called": "4 GB", "unit": "bytes"}, YES),
        ({"called": "4 GB", "amount": "2^64"}, NO),
        ({"called": "1 bytes", "amount": 8}, YES),
    ]),
    ("machine.vectors", [], NEOVERSE, [
        *each("bits", {128: YES, 256: NO}),
        ({"bits": 128, "core": "Neoverse Z9"}, OPEN),
        *each("core", {"Neoverse V2": OPEN, "Zen 3": OPEN}, bits=512, extension="AVX-512"),
        ({"bits": 256, "extension": "AVX2", "core": "A64FX"}, OPEN),
    ]),
    # SVE2 of this core is no wider than NEON; AVX-512 is twice as wide as AVX2.
    ("machine.gain", [], {**NEOVERSE, "bits": 128, "over": "NEON"}, [({"slower": 35}, OPEN)]),
    ("machine.gain", [], AVX_512, each("slower", {35: YES, 150: OPEN})),
    ("strength.category", [], STRENGTH, [
        *each("category", {3: YES, 2: NO}),
        ({"set": "SLH-DSA-SHA2-256f", "category": 5}, YES),
        ({"set": "RSA-2048", "category": 1}, NO),
    ]),
    ("strength.bits", [], STRENGTH, [
        *each("classical_bits", {192: YES, 128: NO}),
        ({"quantum_bits": 128}, OPEN),
        ({"set": "RSA-2048", "classical_bits": 112}, YES),
        ({"set": "Ed25519", "classical_bits": 256}, NO),
        *each("quantum_bits", {0: YES, 128: NO}, set="Ed25519"),
    ]),
    ("trimmed.agree", [], {"about": "trimmed"}, [
        (removed((1, "each end"), (1, "all")), NO),
        (removed((1, "each end"), (2, "all")), YES),
        (removed((0.5, "each end"), (1.0, "all")), YES),
    ]),
    # Of 10,000 samples: 0.005 % of a normal law, and at most 6.1 % of any.
    ("trimmed.chauvenet", [], {"about": "trimmed", "samples": 10000}, [
        (removed((percent, "all"), criterion="chauvenet"), verdict)
        for percent, verdict in ((0.005, YES), (1, OPEN), (10, NO))
    ]),
    ("interval.width", [], {"about": "interval", "confidence": 95}, [
        ({"width": 1.96, "of": "se"}, YES),
        *each("samples", {10000: YES, 4: NO}, width=2, of="se"),
        ({"width": 2, "of": "sd", "samples": 10000}, NO),
        ({"width": 0.0196, "of": "sd", "samples": 10000}, YES),
        ({"width": 2, "of": "sd"}, OPEN),
    ]),
    # 10,000 operations of 100 us take a second, 71 MB a second.
    ("rate.bytes-over-time", [], {**RATE, "seconds": 1.0},
        each("bytes_per_second", {"71 MB": YES, "2.3 GB": NO, "1 MB": NO})),
    ("rate.bytes-over-time", [TIMED], FAST, [({}, NO), ({"workers": 8}, YES)]),
    ("none", [], {**RATE, "bytes_per_second": "568 MB"}, [({}, OPEN)]),
    ("scaling.cores", [], {}, [
        (threads(8, speedup=7.8), YES),
        (threads(8, None, speedup=7.8), YES),
        (threads(8, speedup=8.5), ODD),
        (threads(8, speedup=12.0), NO),
    ]),
    ("scaling.smt", [], {}, [
        (threads(16, speedup=10.0), YES),
        (threads(16, speedup=14.0), ODD),
        (threads(32, speedup=20.0), NO),
    ]),
    ("throughput.latency", [TIMED], {"cost_of": "timed"}, [
        (threads(1, per_second=9900), YES),
        (threads(1, per_second=10300), ODD),
        (threads(1, per_second=12000), NO),
        (threads(8, per_second=79000), YES),
    ]),
    ("batch.shape", [], BATCH, [
        (batch((1, 100), (10, 91), (100, 90.1)), YES),
        (batch((1, 100), (10, 95), (100, 55)), OPEN),
        (batch((1, 100), (10, 130)), ODD),
    ]),
    # Expanding A is 80 of 205 permutations of a mean signature.
    ("batch.cost", [TIMED], {**BATCH, "cost_of": "timed"}, [
        (batch((1, 100), (100, 62)), YES),
        (batch((1, 100), (100, 40)), ODD),
    ]),
    ("difference.power", [], DIFFERENCE, [
        ({}, OPEN),
        ({"significant": False}, OPEN),
        *each("relative", {0.50: OPEN, 1.50: YES}, significant=True),
    ]),
    ("difference.power", [], SMALL, [
        ({}, ODD),
        ({"samples_per_group": 10000}, YES),
        ({"per_sample": 10000}, YES),
        ({"paired": True}, OPEN),
        ({"operation": "verify"}, OPEN),
    ]),
    # The exact rate of ML-DSA-65 is 0.6189, the usual approximation 0.6197.
    ("rejection.z", [], LOOP, each("pass_z", {0.6189: YES, 0.62: YES, 0.54: NO, 0.6196: ODD})),
    ("rejection.r0", [], LOOP, each("pass_r0", {0.3172: ODD, 0.43: NO})),
    ("rejection.hint", [], LOOP, [
        *each("pass_hint", {0.996: YES, 0.985: ODD, 0: ODD}),
        ({"pass_hint": [0.98, 0.999]}, YES),
    ]),
    ("rejection.accept", [], LOOP, [
        *each("accept", {0.195: YES, 0.201: ODD}),
        ({"reject": [0.75, 0.8]}, YES),
        ({"reject": 0.75}, NO),
    ]),
    ("rejection.attempts", [], LOOP, [
        ({"attempts": {name: value}}, verdict)
        for name, value, verdict in (
            ("mean", 5.1, YES), ("mean", 5.2, ODD), ("mean", 4.25, NO), ("median", 4, YES),
            ("median", 3, NO), ("max", 70, YES), ("max", 900, NO),
        )
    ]),
    # Ten samples may have it by chance.
    ("sign.mean", [], sign(median=100, mean=97), each("samples", {10000: ODD, 10: YES})),
    # A long tail is the machine's.
    ("sign.tail", [], SAMPLED, [({"p99": 5000}, OPEN)]),
    ("sign.min", [], SAMPLED, [({"min": 5}, OPEN)]),
    # S = 700 for hashing a megabyte, c = 19.
    ("sign.inversion", [], sign(min=700, median=757, p99=1099, samples=10000), [
        ({}, ODD),
        ({"message_bytes": 1 << 20}, YES),
    ]),
    # 10/5, 11/5.2, 20/8, 21/8.5: 2 to 2.5.
    ("table.quotient", [TABLE], QUOTIENT, [
        ({"stated": [2.0, 2.5]}, YES),
        ({"stated": [2.0, 2.6]}, NO),
        *each("stated", {2.2: YES, 2.7: NO}),
        *each("at_least", {2: YES, 2.1: NO}),
        ({"at_most": 2.4}, NO),
        ({"form": "percent more", "stated": [100, 150]}, YES),
        ({"of": "(.) f, (.)", "over": r"\1 s, \2", "form": "percent less", "stated": [50, 60]},
         YES),
        ({"of": "2 (.), a", "over": r"1 \1, a", "stated": [1.6, 2.0]}, YES),
    ]),
    ("product.follows", [], PRODUCT, [
        *each("stated", {60: NO, 52.6: YES}, **YEAR),  # 52.56
        *each("stated", {457: YES, 456: NO}, **THOUSANDS),  # 457.86, cut off
        ({"stated": 19.7, "factors": {"a": 1420}, "over": {"b": 72}}, YES),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "claims", "verdict"),
    [
        pytest.param(rule, [*before, {**base, **changes}], verdict, id=f"{rule}-{number}")
        for rule, before, base, cases in CASES
        for number, (changes, verdict) in enumerate(cases, 1)
    ],
)
def test_a_rule_decides(rule: str, claims: list[Claim], verdict: str) -> None:
    assert one(rule, *claims) == verdict


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
    found = verdicts(sign(**VARIED, sd=98))
    names = ("min", "mean", "tail", "spread", "inversion", "trimmed")
    assert {verdict for _, _, verdict in found} == {YES}
    assert {rule for _, rule, _ in found} >= {f"sign.{name}" for name in names}


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


def test_a_constant_overhead_is_taken_off() -> None:
    # On a card a signature takes 1 s longer than the operation itself.
    shifted = {name: value + 1000 for name, value in VARIED.items() if name != "samples"}
    found = sign(**shifted, samples=10000)
    assert {v for v, _ in of_rule("sign.tail", found)} == {"implausible"}
    assert {v for v, _ in of_rule("sign.tail", {**found, "overhead": 1000})} == {"consistent"}


def test_averages_have_no_percentiles() -> None:
    averaged = sign(mean=138, sd=10, p99=160, samples=100, per_sample=100)
    found = verdicts(averaged)
    assert ("a", "sign.spread", "consistent") in found
    assert not any(rule == "sign.tail" for _, rule, _ in found)
    # The spread of averages of one repeated input is that of the machine.
    assert one("sign.spread", {**averaged, "sd": 0.5, "samples": 1000}) == "implausible"


# Claims beside others ---------------------------------------------------------------------------


def test_a_median_stands_for_at_least_so_much_mean() -> None:
    median = {**COST, "operation": "sign", "set": "44", "median": 100.0}
    claim = {**threads(1, None, per_second=9900), "cost_of": "a"}
    # Varied signatures with a median of 100 us have a mean above 120 us, so 8,300 a second.
    ((verdict, reading),) = of_rule("throughput.latency", {**median, "samples": 10**6}, claim)
    assert verdict == "implausible"
    assert "law's least mean" in reading
    assert one("throughput.latency", {**median, "inputs": "fixed"}, claim) == "consistent"


def test_scaling_needs_the_throughput_of_one() -> None:
    points = [{"threads": 2, "per_second": 10}, {"threads": 4, "per_second": 20}]
    claim = {"about": "scaling", "points": points, "cores": 4}
    assert one("none", claim) == OPEN
    points.append({"threads": 1, "per_second": 5})
    assert {v for v, _ in of_rule("scaling.cores", claim)} == {"consistent"}


def test_every_claim_has_a_finding() -> None:
    found = verdicts({**COST, "median": 5}, threads(2, None, per_second=5))
    assert found == {("a", "none", OPEN), ("b", "none", OPEN)}


# Values that follow from others -----------------------------------------------------------------


FORMULAS = ("a - b", "a * b / c", "100 / (1 + a / b)", "100 * (1 - a / b)")


@pytest.mark.parametrize("formula", [*FORMULAS, "sum(parts) / product(others)"])
def test_limits_of_a_formula_are_those_of_rounding(formula: str) -> None:
    """Plain numbers at the ends of the rounding give the limits, and others a value between."""
    stated = {"a": StatedFigure(12.0, 0.5), "b": StatedFigure(3.4, 0.05), "c": StatedFigure(7.0)}

    def value(a: Any, b: Any, c: Any) -> Any:
        names = {"a": a, "b": b, "c": c, "parts": [a, c], "others": [b, c]}
        return evaluate(formula, names)

    found = value(**stated)
    ends = [value(*at) for at in product(*((f.low, f.high) for f in stated.values()))]
    assert (found.low, found.high) == pytest.approx((min(ends), max(ends)))
    assert found.value == pytest.approx(value(*(f.value for f in stated.values())))
    assert found.low < found.value < found.high


def agrees(found: Judgement, stated: StatedFigure, highest: float) -> bool:
    """Return whether the printed prediction agrees with the verdict on a claim; ``highest``: the
    largest value that the claim may mean."""
    limits, *allowance = found.predicted.split(", ")
    ends = [float(text.replace(",", "")) for text in re.findall(r"[\d.,]+(?:e[-+]\d+)?", limits)]
    least = 0.0 if limits.startswith("at most") else ends[0]
    most = math.inf if limits.startswith("at least") else ends[-1]
    rounded = least <= highest and most >= stated.low
    if found.verdict.value == ODD:
        return stated.high < least and not allowance
    if found.verdict.value == NO:
        return not rounded and not allowance
    return least <= stated.value <= most or (
        rounded and allowance[:1] in (["within rounding"], ["cut off"])
    )


def test_printed_predictions_agree_with_their_verdicts() -> None:
    rng = np.random.default_rng(43)
    seen = set[str]()
    for _ in range(1500):
        exact, digits = 10 ** rng.uniform(-3, 6), int(rng.integers(0, 4))
        near = exact * rng.choice([1, 1, 1 + 10 ** rng.uniform(-4, -1)])
        stated = StatedFigure.read(round(near, digits) or 0.5)
        factor = StatedFigure(exact, exact * float(rng.choice([0, 1e-6, 1e-3])))
        found = check("product.follows", stated, "exact", {"exact": factor}, "", may_be_cut=True)
        seen.add(found.verdict.value)
        assert agrees(found, stated, stated.high + stated.half), found
        for limits in ({"low": exact}, {"high": exact}):
            found = judgement("parts.sum", stated.text, stated=stated, **limits)
            assert agrees(found, stated, stated.high), found
    assert seen == {YES, ODD, NO}


def test_a_prediction_names_the_error_that_its_rule_allows() -> None:
    rate = {**LOOP, "set": "44", "pass_r0": 0.4298}
    assert [f.predicted for f in judged(rate)] == ["0.429748, 0.05 % allowed"]
    (speedup,) = judged(threads(8, speedup=8.1))
    assert speedup.predicted == "at most 8, 2 % allowed"


def test_batches_and_efficiencies_follow() -> None:
    batch = {"about": "batch", "operation": "sign", "set": 65, "unit": "us"}
    points = [
        {"size": 1, "cost": 72, "total": 72, "per_second": 13889},
        {"size": 32, "cost": 69.1, "total": 2210, "per_second": 14480},
        {"size": 100, "cost": 68.4, "total": 7100, "per_second": 20000},
    ]
    found = of_rule("batch.total", {**batch, "points": points})
    assert [verdict for verdict, _ in found] == ["consistent"] * 4 + ["contradiction"] * 2
    scaling = {"about": "scaling", "cores": 8, "points": [
        {"threads": 1, "per_second": 6329, "speedup": 1.0, "efficiency": 100},
        {"threads": 4, "per_second": 24680, "speedup": 3.9, "efficiency": 98},
        {"threads": 8, "per_second": 48120, "speedup": 7.9, "efficiency": 95},
    ]}  # fmt: skip
    found = of_rule("scaling.arithmetic", scaling)
    assert [verdict for verdict, _ in found] == ["consistent"] * 4 + ["contradiction"] * 2


@pytest.mark.parametrize(
    ("scheme", "n", "h", "d", "a", "k"),
    [("SLH-DSA-SHA2-128f", 16, 66, 22, 6, 33), ("SLH-DSA-SHAKE-256s", 32, 64, 8, 14, 22)],
)
def test_least_work_counts_every_hash(scheme: str, n: int, h: int, d: int, a: int, k: int) -> None:
    """FIPS 205's algorithms, tree by tree and leaf by leaf."""
    chain = 1 + 15  # its secret, and its steps (Algorithm 6)
    leaf = (2 * n + 3) * chain + 1
    tree = sum(leaf for _ in range(2 ** (h // d))) + sum(2**z for z in range(h // d))
    fors = sum(1 + 1 for _ in range(2**a)) + sum(2**z for z in range(a))
    assert least_steps(scheme, "sign") == (k * fors + d * tree, "hashes")
    assert least_steps(scheme, "keygen") == (tree, "hashes")
    seconds = (k * fors + d * tree) * 5e-9
    for factor, verdict in ((0.9, "implausible"), (1.1, "consistent")):
        claim = sign(set=scheme, median=round(factor * seconds * 1e6), unit="us")
        assert of_rule("work.floor", claim)[0][0] == verdict


def test_other_schemes_have_no_law_of_signing() -> None:
    rules = {rule for _, rule, _ in verdicts(sign(set="Ed25519", median=18, p99=19))}
    assert rules == {"figures.order"}


@pytest.mark.parametrize(
    ("name", "highest", "spread", "minimum", "mean", "tail"),
    [
        ("ML-DSA-44", 3.96, 0.52, 0.66, 1.23, 3.5),
        ("ML-DSA-65", 5.64, 0.47, 0.65, 1.13, 3.1),
        ("ML-DSA-87", 7.29, 0.33, 0.79, 1.10, 2.4),
    ],
)
def test_the_bands_of_the_document(
    name: str, highest: float, spread: float, minimum: float, mean: float, tail: float
) -> None:
    """lab/notes/audit.md has these."""
    most = max_setup_cost(name)
    assert most == pytest.approx(highest, abs=0.005)

    def limits(over: str, under: str) -> tuple[float, float]:
        return band(name, over, under, 10**8, most, z_costs=(1.0,))

    assert limits("sd", "mean")[0] == pytest.approx(spread, abs=0.006)
    assert limits("min", "median")[1] == pytest.approx(minimum, abs=0.006)
    assert limits("mean", "median")[0] == pytest.approx(mean, abs=0.006)
    assert limits("p99", "median")[0] == pytest.approx(tail, abs=0.06)


@pytest.mark.parametrize("name", PARAMETER_SETS)
def test_the_law_is_that_of_the_rejection_model(name: str) -> None:
    model = RejectionModel.for_set(name)
    one = laws(name, (1.0,))[0]
    # All attempts cost the same: the rejected ones are geometric.
    reject = 1 - model.p_accept
    assert one.mean == pytest.approx(reject / model.p_accept)
    assert one.moments[0] == pytest.approx(math.sqrt(reject) / model.p_accept, rel=1e-5)
    for share in (0.05, 0.5, 0.95, 0.99, 0.999):
        assert one.rejected_at(share) == pytest.approx(
            model.iterations_quantile(share) - 1, abs=1e-9
        )
    cheap = laws(name, (0.7,))[0]
    n_z, n_r, n_h = model.expected_counts
    assert cheap.mean == pytest.approx(0.7 * n_z + n_r + n_h)


@pytest.mark.parametrize(("share", "samples"), [(0.0, 1), (0.5, 7), (0.99, 10), (1.0, 1000)])
def test_order_statistics_cover_the_share(share: float, samples: int) -> None:
    low, high = order_shares(share, samples)
    assert 0 <= low < high <= 1
    assert low <= max(share, 1e-4) and high >= min(share, 1 - 1e-4)


@pytest.mark.parametrize("samples", [10, 100, 2000])
def test_terms_hold_what_samples_show(samples: int) -> None:
    name = "ML-DSA-65"
    model = RejectionModel.for_set(name)
    rng = np.random.default_rng(7)
    signer = Signer(setup=2.5, z=0.85, r=1.0, h=1.0)
    runs = 150
    drawn = signer.draw(model, samples * runs, rng)
    cost = drawn.reshape(runs, samples)
    seen = {
        "min": cost.min(axis=1),
        "median": np.median(cost, axis=1),
        "mean": cost.mean(axis=1),
        "max": cost.max(axis=1),
        "sd": cost.std(axis=1, ddof=1),
        "p5": np.percentile(cost, 5, axis=1),
        "p95": np.percentile(cost, 95, axis=1, method="weibull"),
        "p99": np.percentile(cost, 99, axis=1, method="inverted_cdf"),
    }
    one = laws(name, (0.85,))[0]
    for statistic, values in seen.items():
        term = one.term(statistic, samples)
        low, high = (term.fixed * 2.5 + k for k in (term.low, term.high))
        assert low - 1e-9 <= values.min(), statistic
        assert values.max() <= high + 1e-9, statistic


def test_the_power_is_the_power() -> None:
    rng = np.random.default_rng(3)
    found = detectable(0.5, 10, 0.05, 0.8)
    runs = 4000
    a = rng.normal(1.0, 0.5, (runs, 10))
    b = rng.normal(1.0 + found, 0.5, (runs, 10))
    share = float(np.mean(ttest_ind(a, b, axis=1).pvalue < 0.05))
    assert share == pytest.approx(0.8, abs=0.02)
    assert found > significant_from(0.5, 10, 0.05) > 0
