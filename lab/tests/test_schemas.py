"""The published JSON Schemas: those of the types, and what ships fits them."""

from __future__ import annotations

import json
import lzma
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

from mldsa_lab.checkout import find_root
from mldsa_lab.cli.schemas import renew, schemas
from mldsa_lab.inputs.shipped import DATA
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.cost_model import CostModel

FOLDER = Path(__file__).parents[2] / "docs" / "schema"


def shipped(name: str) -> list[Any]:
    """What ships in the format of a schema, as JSON values."""
    if name == "selection.json":
        files = sorted(DATA.glob("selections/*/*.json*"))
        data = [
            lzma.decompress(f.read_bytes()) if f.suffix == ".xz" else f.read_bytes() for f in files
        ]
        return [json.loads(part) for part in data]
    if name == "pool.json":
        pools = sorted(DATA.glob("pools/*.parquet"))
        return [json.loads(pq.read_schema(p).metadata[b"mldsa-lab pool"]) for p in pools]
    if name == "registry.json":
        text = (find_root() / "workers" / "registry.toml").read_text(encoding="utf-8")
        return [[entry] for entry in tomllib.loads(text)["worker"]]
    return [CostModel.default(set_name).as_json() for set_name in PARAMETER_SETS]


def test_the_published_ones_are_those_of_the_types(tmp_path: Path) -> None:
    for name, made in schemas().items():
        assert json.loads((FOLDER / name).read_text(encoding="utf-8")) == json.loads(
            json.dumps(made)
        ), f"{name}: python -m mldsa_lab.cli.schemas --write"
    assert {p.name for p in FOLDER.iterdir()} == set(schemas())
    assert find_root() / "docs" / "schema" == FOLDER
    assert renew(tmp_path, write=True) == list(schemas()) and renew(tmp_path, write=False) == []


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("selection.json", "set"),
        ("pool.json", "set"),
        ("cost-model.json", "first"),
        ("registry.json", "name"),
    ],
)
def test_what_ships_fits(name: str, needed: str) -> None:
    validator = jsonschema.Draft202012Validator(schemas()[name])
    found = shipped(name)
    assert found
    for whole in found:
        validator.validate(whole)
        value = whole[0] if isinstance(whole, list) else whole
        lacking = {k: v for k, v in value.items() if k != needed}
        for wrong in (value | {"more": 1}, lacking):
            assert not validator.is_valid([wrong] if isinstance(whole, list) else wrong)
