"""Files read into types: one error that names the file, the place in it and the rule."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from mldsa_lab.errors import LabError
from mldsa_lab.files import Hex, convert, decode_json, plain, schema


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": "a", "items": [', "f.json, column 25: Expecting value, so it is not JSON"),
        ('{"name": "a", "name": "b"}', "f.json: the key 'name' appears twice in one object"),
        ('{"name": "a", "items": [], "ratio": NaN}', "f.json: NaN is no number that JSON knows"),
        ("[]", "f.json: must be an object, is a list"),
        ('{"name": "a"}', "f.json: items is missing"),
        ('{"name": "a", "items": [], "more": 1}', "f.json: the key 'more' is unknown"),
        ('{"name": 1, "items": []}', "f.json, name: must be text, is a whole number"),
        ('{"name": "a", "items": {}}', "f.json, items: must be a list, is an object"),
        ('{"name": "a", "items": [{}]}', "f.json, items[0]: key is missing"),
        (
            '{"name": "a", "items": [{"key": "0x"}]}',
            "f.json, items[0].key: must be bytes in hexadecimal",
        ),
        (
            '{"name": "a", "items": [{"key": 12}]}',
            "f.json, items[0].key: must be bytes in hexadecimal",
        ),
        (
            '{"name": "a", "items": [{"key": "0102"}, {"key": "01"}]}',
            "f.json, items[1]: key has 1 bytes, must have 2",
        ),
        (
            '{"name": "a", "items": [{"key": "0102", "kind": "three"}]}',
            "f.json, items[0].kind: 'three' must be one of one, two",
        ),
        (
            '{"name": "a", "items": [{"key": "0102", "size": 1.5}]}',
            "f.json, items[0].size: must be a whole number or null, is a number",
        ),
    ],
)
def test_errors(text: str, said: str) -> None:
    with pytest.raises(LabError) as caught:
        decode_json(text, Document, "f.json")
    assert str(caught.value) == said


def test_there_and_back() -> None:
    document = Document("a", [Item(b"\x01\xff", "two", 3)])
    assert plain(document) == {
        "name": "a",
        "items": [{"key": "01ff", "kind": "two", "size": 3}],
        "ratio": 1.0,
    }
    assert convert(plain(document), Document, "f") == document
    assert isinstance(convert(plain(document), Document, "f").items[0].key, bytes)


def test_schema() -> None:
    made = schema(Document, "a document")
    item = made["$defs"]["Item"]
    assert made["title"] == "a document"
    assert item["properties"]["key"] == {"type": "string", "pattern": "^(?:[0-9a-fA-F]{2})*$"}
    assert item["required"] == ["key"]
    assert item["additionalProperties"] is False
