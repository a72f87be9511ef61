"""Files read into types, and written whole: errors name the file, the place in it and the rule."""

from __future__ import annotations

import json
import lzma
import os
import threading
import tomllib
from pathlib import Path
from typing import Any, Literal

import jsonschema
import msgspec
import pyarrow.parquet as pq
import pytest
from lab_runs import load_script

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab.files import Count, Hex, convert, decode_json, read_text, to_builtins, write_whole
from mldsa_lab.inputs.tracing import DATA
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.law import CostModel


class Item(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    key: Hex
    kind: Literal["one", "two"] = "one"
    size: int | None = None

    def __post_init__(self) -> None:
        if len(self.key) != 2:
            raise LabError(f"key has {len(self.key)} bytes, must have 2")


class Document(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    name: str
    items: list[Item]
    ratio: float = 1.0
    sizes: dict[Literal["small", "large"], Count] = {}


def item(text: str) -> str:
    return f'{{"name": "a", "items": [{text}]}}'


def sizes(text: str) -> str:
    return f'{{"name": "a", "items": [], "sizes": {{{text}}}}}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": "a", "items": [', "f.json, column 25: Expecting value, so it is not JSON"),
        ('{"name": "a", "name": "b"}', "f.json: the key 'name' appears twice in one object"),
        ('{"name": "a", "items": [], "ratio": NaN}', "f.json: NaN is no number that JSON knows"),
        ("[" * 100_000, "f.json: is nested too deeply"),
        ("[]", "f.json: Expected `object`, got `array`"),
        ('{"name": "a"}', "f.json: Object missing required field `items`"),
        ('{"name": "a", "items": [], "more": 1}', "f.json: Object contains unknown field `more`"),
        ('{"name": 1, "items": []}', "f.json, name: Expected `str`, got `int`"),
        (item("{}"), "f.json, items[0]: Object missing required field `key`"),
        (item('{"key": "0x"}'), "f.json, items[0].key: must be bytes in hexadecimal"),
        (item('{"key": "0102"}, {"key": "01"}'), "f.json, items[1]: key has 1 bytes, must have 2"),
        (item('{"key": "0102", "kind": "three"}'),
         "f.json, items[0].kind: 'three' must be one of one, two"),
        (item('{"key": "0102", "size": 1.5}'),
         "f.json, items[0].size: Expected `int | null`, got `float`"),
        (sizes('"small": 1, "large": -1'), "f.json, sizes.large: Expected `int` >= 0"),
        (sizes('"huge": 1'), "f.json, sizes: 'huge' must be one of large, small"),
        (item('{"a\\nb": 1}'), "f.json, items[0]: Object contains unknown field `a\\nb`"),
    ],
)  # fmt: skip
def test_errors(text: str, said: str) -> None:
    with pytest.raises(LabError) as caught:
        decode_json(text, Document, "f.json")
    assert str(caught.value) == said


def test_there_and_back() -> None:
    document = Document("a", [Item(b"\x01\xff", "two", 3)])
    assert to_builtins(document) == {
        "name": "a",
        "items": [{"key": "01ff", "kind": "two", "size": 3}],
        "ratio": 1.0,
        "sizes": {},
    }
    assert convert(to_builtins(document), Document, "f") == document
    assert isinstance(convert(to_builtins(document), Document, "f").items[0].key, bytes)


def test_texts_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(b"{\xff")
    for name, said in (("none.json", "cannot read it"), ("bad.json", "byte 1 is not UTF-8")):
        with pytest.raises(LabError, match=rf"{name}: {said}"):
            read_text(tmp_path / name)


# --- files that a command writes at the end -------------------------------------------------------


def test_a_failed_write_keeps_the_earlier_file(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    target = tmp_path / "rows.json"
    target.write_text("old")
    with pytest.raises(LabError, match=r"rows\.json: cannot write it: No space left"):
        write_whole(target, fail)
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]
    with pytest.raises(LabError, match="cannot write it: Is a directory"):
        write_whole(tmp_path, lambda path: path.write_text("rows"))


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "rows.json", tmp_path / "latest.json"
    link.symlink_to(target)
    write_whole(link, lambda path: path.write_text("new"))
    assert link.is_symlink() and target.read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_plain_file_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    write_whole(pipe, lambda path: path.write_text("rows"))
    reader.join(timeout=10)
    assert got == ["rows"] and pipe.is_fifo()


# --- published schemas ----------------------------------------------------------------------------


SCRIPT = load_script(find_root() / "lab" / "scripts" / "schemas.py")
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
    if name == "measurements.json":
        return [[{"id": 1, "cost": 5, "unit": "ns", "round": 0, "time": 1.5}]]
    if name == "registry.json":
        text = (find_root() / "lab" / "workers" / "registry.toml").read_text(encoding="utf-8")
        return [[entry] for entry in tomllib.loads(text)["worker"]]
    return [CostModel.default(set_name).as_json() for set_name in PARAMETER_SETS]


def test_the_published_ones_are_those_of_the_types(tmp_path: Path) -> None:
    for name, schema in SCRIPT.schemas().items():
        assert json.loads((FOLDER / name).read_text(encoding="utf-8")) == json.loads(
            json.dumps(schema)
        ), f"{name}: python lab/scripts/schemas.py --write"
    assert {p.name for p in FOLDER.iterdir()} == set(SCRIPT.schemas())
    assert find_root() / "docs" / "schema" == FOLDER
    assert SCRIPT.renew(tmp_path, is_written=True) == list(SCRIPT.schemas())
    assert SCRIPT.renew(tmp_path, is_written=False) == []


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("selection.json", "set"), ("pool.json", "set"), ("cost-model.json", "first"),
        ("registry.json", "name"), ("measurements.json", "id"),
    ],
)  # fmt: skip
def test_what_ships_fits(name: str, needed: str) -> None:
    validator = jsonschema.Draft202012Validator(SCRIPT.schemas()[name])
    found = shipped(name)
    assert found
    for whole in found:
        validator.validate(whole)
        value = whole[0] if isinstance(whole, list) else whole
        lacking = {k: v for k, v in value.items() if k != needed}
        for wrong in (value | {"more": 1}, lacking):
            assert not validator.is_valid([wrong] if isinstance(whole, list) else wrong)
