"""Files read into types, and written whole: errors name the file, the place in it and the rule."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from mldsa_lab.errors import LabError
from mldsa_lab.files import Hex, convert, decode_json, plain, read_text, schema, write_whole


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


def test_texts_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"none\.json: cannot read it"):
        read_text(tmp_path / "none.json")
    (tmp_path / "bad.json").write_bytes(b"{\xff")
    with pytest.raises(LabError, match=r"bad\.json: byte 1 is not UTF-8"):
        read_text(tmp_path / "bad.json")


# --- files that a command writes at the end -------------------------------------------------------


def test_a_failed_write_keeps_the_earlier_file(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    target = tmp_path / "rows.json"
    target.write_text("old")
    with pytest.raises(LabError, match=r"rows\.json: cannot write it: No space left"):
        write_whole(target, fail)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


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


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="cannot write it: Is a directory"):
        write_whole(tmp_path, lambda path: path.write_text("rows"))
