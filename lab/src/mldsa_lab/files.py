"""Files that the lab writes and reads: whole or not at all, and an error that names the file.

The types of file formats are msgspec types. `decode_json` reads a text into one, `plain` is the
inverse; bytes (`Hex`) are hexadecimal in files.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from mldsa_lab.errors import LabError, first_line

T = TypeVar("T")

if TYPE_CHECKING:
    Hex = bytes
else:

    class Hex(bytes):
        """Bytes of a file format's type: in hexadecimal in the file."""


Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A number in a file, of 63 bits at most."""
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
"""A text that says something."""


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` make a file beside `path` and put it in its place only when it is whole.

    LabError if the file cannot be written; an earlier file at `path` is kept then. A link stays,
    and its target is replaced; what is no plain file, like /dev/stdout, is written to directly.
    """
    with writing(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            write(path)
            return
        temporary = beside(path)
        try:
            write(temporary)
            put(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """LabError that names the file where it cannot be written."""
    try:
        yield
    except OSError as error:
        raise LabError(f"output {path}: cannot write it: {error.strerror}") from None


@contextmanager
def reading(path: Path, what: str = "") -> Iterator[None]:
    """LabError that says ``what`` the file is and names it where it cannot be read."""
    try:
        yield
    except OSError as error:
        raise LabError(f"{what}{path}: cannot read it: {error.strerror or error}") from None


def beside(path: Path) -> Path:
    """A new file in the folder of ``path`` (of its target, if it is a link), which is made."""
    target = path.resolve() if path.is_symlink() else path
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent
    )
    os.close(handle)
    return Path(name)


def put(temporary: Path, path: Path) -> None:
    """Put a file of `beside` in the place of ``path``, or of its target if it is a link."""
    temporary.chmod(0o666 & ~umask())
    temporary.replace(path.resolve() if path.is_symlink() else path)


def write_text(path: Path, text: str) -> None:
    """`write_whole` of a text."""
    write_whole(path, lambda target: target.write_text(text, encoding="utf-8"))


def check_target(path: Path) -> None:
    """LabError, before any work is done, if a file could not be written to `path` afterwards."""
    folder = path.parent
    if path.is_dir():
        raise LabError(f"output {path}: is a folder")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise LabError(f"output {path}: {folder} is not a folder that can be written to")


def check_folder(folder: Path) -> None:
    """LabError, before any work is done, if files could not be written below `folder`, which may
    not exist yet."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise LabError(f"output {folder}: {there} is not a folder that can be written to")


def read_text(path: Path, what: str = "") -> str:
    """The text of a file; LabError if it cannot be read or is not UTF-8."""
    try:
        with reading(path, what):
            return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LabError(f"{path}: byte {error.start} is not UTF-8 text") from None


def parse_json(text: str, where: str) -> Any:
    """The value of a JSON text; LabError with line (where there are several) and column if it is
    malformed, repeats a key or holds NaN or an infinity."""
    if not text.strip():
        raise LabError(f"{where}: is empty")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        line = f", line {error.lineno}" if "\n" in text.rstrip() else ""
        raise LabError(
            f"{where}{line}, column {error.colno}: {error.msg}, so it is not JSON"
        ) from None
    except _Malformed as error:
        raise LabError(f"{where}: {error}") from None
    except RecursionError:
        raise LabError(f"{where}: is nested too deeply") from None
    except ValueError as error:  # an integer too long
        raise LabError(f"{where}: {first_line(error)}") from None


def decode_json(text: str, kind: type[T], where: str) -> T:
    """The value of a JSON text as a ``kind``, a type that msgspec knows.

    LabError that begins with ``where`` and names the place in the text and the rule; beside what
    `parse_json` finds, whatever does not fit the type.
    """
    return convert(parse_json(text, where), kind, where)


def decode_format(text: str, kind: type[T], where: str, name: str, version: int) -> T:
    """`decode_json` of a file format: an object whose ``format`` is ``name``, in this version."""
    value = parse_json(text, where)
    if not isinstance(value, dict) or value.get("format") != name:
        what = name.removeprefix("mldsa-lab ")
        raise LabError(f"{where}: is no {what}: it must be an object with format {name!r}")
    if value.get("version") != version:
        raise LabError(
            f"{where}: has format version {value.get('version')!r}, this reader knows {version}"
        )
    return convert(value, kind, where)


def convert(value: object, kind: type[T], where: str) -> T:
    """Plain values (those of JSON) as a ``kind``; LabError as of `decode_json`."""
    with checked(kind, where):
        return msgspec.convert(value, kind, dec_hook=decode_hook)


@contextmanager
def checked(kind: Any, where: str) -> Iterator[None]:
    """Turns what msgspec says of a value that is no ``kind`` into a LabError."""
    try:
        yield
    except UnicodeEncodeError as error:  # JSON can write half a character
        raise LabError(f"{where}: {error.object[error.start]!r} is no character") from None
    except msgspec.ValidationError as error:
        rule, _, path = str(error).replace("`key` in ", "").partition(" - at `$")
        place = path.rstrip("`").removeprefix(".")
        rule = _plain_rule(rule, kind, path.rstrip("`"))
        raise LabError(f"{where}, {place}: {rule}" if place else f"{where}: {rule}") from None


def decode_hook(kind: type[Any], value: Any) -> Any:
    """msgspec's hook for `Hex`."""
    assert kind is Hex, kind  # msgspec knows all other types that files hold
    if not isinstance(value, str) or not re.fullmatch(r"(?:[0-9a-fA-F]{2})*", value):
        raise ValueError("must be bytes in hexadecimal")
    return Hex.fromhex(value)


def plain(value: object) -> Any:
    """The values of JSON that stand for ``value``, bytes in hexadecimal."""
    return _hexadecimal(msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=bytes))


def _hexadecimal(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: _hexadecimal(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_hexadecimal(part) for part in value]
    return value


def schema(kind: Any, title: str) -> dict[str, Any]:
    """The JSON Schema of a type."""

    def hook(part: type[Any]) -> dict[str, Any]:
        assert part is Hex, part
        return {"type": "string", "pattern": "^(?:[0-9a-fA-F]{2})*$"}

    made = msgspec.json.schema(kind, schema_hook=hook)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **made}


_WORDS = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false",
    "array": "a list", "object": "an object", "null": "null", "bytes": "text",
}  # fmt: skip


def _plain_rule(rule: str, kind: Any, path: str) -> str:
    """What msgspec says, in the words of the lab's other errors."""
    named = re.fullmatch(r"Object (missing required|contains unknown) field `(.*)`", rule)
    if named is not None:
        missing = named[1] == "missing required"
        return f"{named[2]} is missing" if missing else f"the key {named[2]!r} is unknown"
    invalid = re.fullmatch(r"Invalid (?:enum )?value ('.*'|-?[0-9]+)", rule)
    if invalid is not None:
        allowed = _choices(msgspec.inspect.type_info(kind), re.findall(r"[^.\[\]]+|\[", path))
        return f"{invalid[1]} must be one of {allowed}" if allowed else f"{invalid[1]} is unknown"
    wanted = re.fullmatch(r"Expected `([^`]*)`(.*)", rule)
    if wanted is None:
        return rule
    names = " or ".join(_WORDS.get(word, word) for word in wanted[1].split(" | "))
    rest = re.sub(r", got `(\w+)`", lambda m: f", is {_WORDS.get(m[1], m[1])}", wanted[2])
    return f"must be {names}{rest}"


def _choices(info: Any, path: list[str]) -> str:
    """What the type ``info`` allows at ``path``, where that is a choice of a few values."""
    if isinstance(info, msgspec.inspect.UnionType):
        found = [_choices(part, path) for part in info.types]
        return ", ".join(text for text in found if text)
    if not path:
        of = getattr(info, "key_type", info)  # what is wrong with an object itself is a key
        return ", ".join(map(str, getattr(of, "values", ())))
    if path[0] == "[":
        item = getattr(info, "item_type", None) or getattr(info, "value_type", None)
        return "" if item is None else _choices(item, path[2:])
    if path[0] == getattr(info, "tag_field", None):
        return str(info.tag)
    for part in getattr(info, "fields", ()):
        if part.encode_name == path[0]:
            return _choices(part.type, path[1:])
    return ""


class _Malformed(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise _Malformed(f"the key {twice!r} appears twice in one object")
    return found


def _no_constant(text: str) -> Any:
    raise _Malformed(f"{text} is no number that JSON knows")


def umask() -> int:
    """The process's mask for new files, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
