"""Files of measurements: what is read, and what each broken rule says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import measure_cases as cases
import numpy as np
import pytest

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.reader import Measurements, read_measurements
from mldsa_lab.show.format import of_cost, of_interval, tick

CHOSEN = cases.selection("ML-DSA-65", cases.pool("ML-DSA-65")[:3])


def read(tmp_path: Path, text: str, name: str = "costs.csv") -> Measurements:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return read_measurements(path, CHOSEN)


def test_comments_blank_lines_bom_spaces_and_other_line_ends_are_let_pass(tmp_path: Path) -> None:
    text = '\ufeff# my board\r\n cost , id \r\n\r\n# first run\r\n12.25,1\r\n"13" , 2\r\n14,3\r\n'
    found = read(tmp_path, text)
    assert found.costs.tolist() == [[12.25, 13.0, 14.0]]
    assert found.unit == ""
    assert found.resolution == pytest.approx(0.01)


def test_what_is_read_fits_the_published_schema() -> None:
    schema = Path(__file__).parents[2] / "docs" / "schema" / "measurements.json"
    valid = jsonschema.Draft202012Validator(json.loads(schema.read_text())).is_valid
    one = {"id": 1, "cost": 5, "unit": "ns", "round": 0, "time": 1.5}
    assert valid([one]) and valid({"unit": "ns", "measurements": [one]})
    for wrong in ({"id": -1, "cost": 5}, {"id": 1}, one | {"price": 5}):
        assert not valid([wrong])


def test_rounds_make_a_table_with_gaps(tmp_path: Path) -> None:
    found = read(tmp_path, "id,cost,round\n1,10,7\n1,11,2\n2,20,2\n3,30,7\n")
    assert found.rounds == (2, 7)
    np.testing.assert_array_equal(found.costs, [[11, 20, np.nan], [10, np.nan, 30]])


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("id,cost\n2,20\n3,30\n1,10\n", [2, 0, 1]),  # the lines'
        ("id,cost,order\n1,10,7\n2,20,9\n3,30,2\n", [1, 2, 0]),
        ("id,cost,time\n1,10,12.5\n2,20,-3\n3,30,1e9\n", [1, 0, 2]),
    ],
)
def test_the_order_of_measuring(tmp_path: Path, text: str, order: list[int]) -> None:
    found = read(tmp_path, text)
    assert found.costs.tolist() == [[10, 20, 30]]
    assert found.order.tolist() == [order]


@pytest.mark.parametrize(
    "value",
    [
        [{"id": 1, "cost": 5, "unit": "ns"}, {"id": 2, "cost": 6.5, "unit": "ns"}],
        {"unit": "ns", "measurements": [{"id": 1, "cost": 5}, {"id": 2, "cost": 6.5}]},
        {
            "set": "ML-DSA-65",
            "measurements": [
                {"id": 1, "cost": 5, "unit": "ns", "round": 0},
                {"id": 2, "cost": 6.5, "unit": "ns", "round": 0},
            ],
        },
    ],
)
def test_json_has_two_forms(tmp_path: Path, value: object) -> None:
    found = read(tmp_path, json.dumps(value), "costs.json")
    assert found.costs.tolist() == [[5.0, 6.5]]
    assert found.unit == "ns"
    assert found.ids == (1, 2)
    assert "1 of the selection's 3 inputs have no measurement (ids 3)" in found.warnings[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; it must begin with the header id,cost"),
        ("id,cost\n", "has no measurements"),
        ("id;cost\n1;2\n", "line 1: the header is 'id;cost'; it must have id and cost"),
        ("id,cost,weight\n", "line 1: the header is 'id,cost,weight'"),
        ("id,cost,cost\n", "each once"),
        ("id,cost\n# no\n1,5\n9,5\n", "line 4 ('9,5'): id 9 is not in the selection, whose ids"),
        ("id,cost\n1,\n", "line 2 ('1,'): cost is missing"),
        ("id,cost\n1,2,5\n", "line 2: has 3 fields, the header has 2 (a decimal comma?)"),
        ('id,cost\n1,"2\n5"\n', "line 2: has 2 fields"),
        ("id,cost\n1,0\n", "line 2 ('1,0'), cost: must be a number >= 1e-100"),
        ("id,cost\n1,nan\n", "line 2 ('1,nan'), cost: must be a number"),
        ("id,cost\n1,1e999\n", "line 2 ('1,1e999'), cost: must be a number <= 1e+100"),
        ("id,cost\n1.5,5\n", "line 2 ('1.5,5'), id: must be a whole number"),
        ("id,cost,unit\n1,5,ns\n2,6,\n", "unit 'none' after 'ns' at"),
        ("id,cost\n1,5\n1,6\n", "line 3 ('1,6'): id 1 was measured at"),
        ("id,cost\n1,5\n1,6\n", "number repeats in a column 'round'"),
        ("id,cost,round\n1,5,0\n1,6,0\n", "id 1 in round 0 was measured at"),
        ("id,cost,round\n1,5,0\n1,6,\n", "all measurements must have a round, or none"),
        ("id,cost,time,order\n1,5,2,2\n", "has order and time, of which one says all"),
        ("id,cost,set\n1,5,ML-DSA-44\n", "is of ML-DSA-44, the selection of ML-DSA-65"),
    ],
)
def test_a_broken_csv_names_line_and_rule(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LabError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "costs.csv"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "so it is not JSON"),
        ("5", "measurements: must be a list"),
        ('{"measurements": [], "units": "ns"}', "the key 'units' is unknown"),
        ("[]", "has no measurements"),
        ('[{"id": 1, "cost": 5}, {"id": 2, "cost": "5"}]', "measurements[1].cost: must be a num"),
        ('[{"id": 1, "cost": 1' + "0" * 400 + "}]", "measurements[0].cost: Number out of range"),
        ('[{"id": 1, "cost": 2}, {"id": 1, "cost": 2}]', "measurements[1]: id 1 was measured at"),
        (
            '{"unit": "ns", "measurements": [{"id": 1, "cost": 2, "unit": "us"}]}',
            "measurements[0]: the unit differs from the file's 'ns'",
        ),
        (
            '{"set": "ML-DSA-87", "measurements": [{"id": 1, "cost": 2}]}',
            "is of ML-DSA-87, the selection of ML-DSA-65",
        ),
    ],
)
def test_a_broken_json_names_entry_and_rule(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LabError) as caught:
        read(tmp_path, text, "costs.json")
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "costs.json"))


def test_the_ending_says_what_a_file_is(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"must end in \.csv or \.json"):
        read(tmp_path, "id,cost\n1,5\n", "costs.txt")


def test_measurements_held_in_memory_keep_the_same_rules() -> None:
    found = Measurements.of(CHOSEN, {3: 5, 1: 4.0}, "ns")
    assert found.ids == (1, 3)
    assert Measurements.of(CHOSEN, {1: [4, 5]}).rounds == (0, 1)
    for costs, message in (
        ({7: 1.0}, "id 7 is not in the selection"),
        ({1: float("nan")}, "id 1, cost: must be a number"),
        ({1: [2.0, 0.0]}, "id 1, cost: must be a number >= 1e-100"),
        ({}, "has no measurements"),
    ):
        with pytest.raises(LabError) as caught:
            Measurements.of(CHOSEN, costs)
        assert message in str(caught.value)


def test_costs_are_written_with_the_digits_that_they_have() -> None:
    for interval, value, limits in (
        (Interval(1455720.4, 1455122.0, 1456313.0), "1,455,720", "[1,455,122, 1,456,313]"),
        (Interval(0.000123456, 0.000123, 0.000124), "0.0001235", "[0.0001230, 0.0001240]"),
        (Interval(12.0, 3.0, 55.0), "12", "[3, 55]"),
        (Interval(7.0, 7.0, 7.0), "7.00000", "[7.00000, 7.00000]"),
        (Interval(-0.5, -2.0, 1.0), "-0.5", "[-2.0, 1.0]"),
    ):
        shown = of_interval(interval)
        assert (shown.value, shown.interval) == (value, limits)
    assert [of_cost(v) for v in (1234567.0, 12.5, 3e-9)] == ["1,234,567", "12.5000", "3.00000e-09"]
    assert of_cost(12.5, least=0.01) == "12.5000000"
    assert [tick(v) for v in (0.0, 0.25, 1500.0, 1e-7)] == ["0", "0.25", "1,500", "1e-07"]
