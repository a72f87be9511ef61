"""Units, rounding, alignment and cleaning of what a report shows."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.show.format import (
    MISSING,
    Shown,
    Unit,
    aligned,
    choose_unit,
    clean,
    decimals_for,
    estimate,
    plain,
)
from mldsa_lab.show.grid import Column, Grid, terminal
from mldsa_lab.wording import join_words

US = Unit(1e3, "µs")


def shown_in_us(value: float | None, low: float | None, high: float | None) -> Shown:
    return estimate(None if value is None else Interval(value, low, high), US)


@pytest.mark.parametrize(
    ("values", "stored", "name"),
    [
        ([87e3, 675e3], "ns", "µs"),
        ([900.0, 5e3], "ns", "ns"),
        ([20e3, 400e6], "ns", "µs"),
        ([2e6, 9e7], "ns", "ms"),
        ([3e9], "ns", "s"),
        ([None, 12e3], "ns", "µs"),
        ([], "ns", "ns"),
        ([9_999.0], "cycles", "cycles"),
        ([150_000.0, 9e6], "cycles", "kcycles"),
        ([4e7], "instructions", "Minstructions"),
    ],
)
def test_unit_follows_the_smallest_value(
    values: list[float | None], stored: str, name: str
) -> None:
    assert choose_unit(values, stored).name == name


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (132_448, 132_100, 132_800, "132.4 [132.1, 132.8]"),
        (132_448, 131_000, 133_900, "132.4 [131.0, 133.9]"),
        (132_448, 120_000, 145_000, "132 [120, 145]"),
        (1_083_512, 1_079_000, 1_088_000, "1,084 [1,079, 1,088]"),
        (27_040, 27_039, 27_041, "27.04 [27.04, 27.04]"),
        (27_040, None, None, "27.0"),
        (27_040, math.nan, 28_000, "27.0"),
        (None, None, None, MISSING),
        (math.inf, None, None, MISSING),
    ],
)
def test_digits_follow_the_interval(
    value: float | None, low: float | None, high: float | None, shown: str
) -> None:
    assert str(shown_in_us(value, low, high)) == shown


def test_the_last_digit_is_never_coarser_than_the_interval() -> None:
    for exponent in range(-3, 5):
        for lead in (1.0, 1.4, 2.0, 3.5, 3.6, 5.0, 9.9):
            half = lead * 10.0**exponent
            decimals = decimals_for(5e3, 5e3 - half, 5e3 + half)
            # 5000 keeps at most its four digits; else the last digit is at most the half-width.
            assert decimals == 0 or 10.0**-decimals <= half


def test_the_reference_has_an_exact_ratio() -> None:
    assert str(estimate(Interval(1.0, 1.0, 1.0))) == "1.00"
    assert estimate(Interval(1.0, 1.0, 1.0)).distance == ""


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (100_000, 98_500, 102_000, "±2.0"),
        (36_000, 35_000, 80_000, "−1/+44"),
        (36_000, 10_000, 36_500, "−26/+0"),
        (27_040, 27_038, 27_042, "±0.00"),
    ],
)
def test_one_distance_stands_for_both_sides_only_where_they_are_alike(
    value: float, low: float, high: float, shown: str
) -> None:
    assert shown_in_us(value, low, high).distance == shown


def test_small_helpers() -> None:
    assert plain(1_234_567, US) == "1,235"
    assert plain(None, US) == MISSING
    assert join_words(["a"]) == "a"
    assert join_words(["a", "b", "c"]) == "a, b and c"
    assert aligned(["1.25", "132", "–"], " ", " ") == ["1.25", "132   ", "–   "]
    assert aligned(["5", "12"]) == ["5", "12"]


def test_control_and_direction_characters_do_not_reach_a_terminal() -> None:
    assert clean("a\x1b[31mb\u202ec\x00") == "a�[31mb�c�"
    assert clean("ξ ρ″ 12\u2007µs\n") == "ξ ρ″ 12\u2007µs\n"


@pytest.mark.parametrize("spare", [0, 1])
def test_columns_that_do_not_fit_are_left_out_and_counted(spare: int) -> None:
    numbers = [
        Column(f"threads {n}", [Shown("1.234", "1.211", "1.245")], number=True, spare=spare)
        for n in range(9)
    ]
    columns = (Column("scheme", ["ECDSA-secp256k1 DER"], head=True), *numbers)
    out = io.StringIO()
    Console(file=out, width=80).print(terminal(Grid("Threads", "", columns), 80))
    text = out.getvalue()
    shown = [n for n in range(9) if f"threads {n}" in text]
    assert shown == list(range(len(shown))) and 0 < len(shown) < 9
    assert f"Threads   {9 - len(shown)} columns more on the page" in text
    assert "ECDSA-secp256k1" in text and "…" not in text
