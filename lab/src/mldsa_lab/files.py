"""Files that the lab writes and reads: whole or not at all, and an error that names the file.

The types of file formats are msgspec types. `decode_json` and `decode_toml` read a text into one,
`to_builtins` is the inverse; bytes (`Hex`) are hexadecimal in files.
"""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, cast

import msgspec
from msgspec.inspect import UnionType, type_info

from mldsa_lab import LabError, first_line

T = TypeVar("T")

if TYPE_CHECKING:
    Hex = bytes
else:

    class Hex(bytes):
        """Bytes of a file format's type: in hexadecimal in the file."""

        @classmethod
        def read(cls, value: object) -> Self:
            """ValueError for anything else than hexadecimal text."""
            with suppress(TypeError, ValueError):
                data = cls.fromhex(value)
                if data.hex() == value.lower():  # without white space
                    return data
            raise ValueError("must be bytes in hexadecimal")


Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A number in a file, of 63 bits at most."""
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
"""A text that says something."""


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` make a file next to `path`, and move it there only when it is whole.

    LabError if the file cannot be written; an earlier file at `path` is kept then. A link stays,
    and its target is replaced; what is no plain file, like /dev/stdout, is written to directly.
    """
    with writing(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            write(path)
            return
        temporary = temporary_sibling(path)
        try:
            write(temporary)
            move_into_place(temporary, path)
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


def temporary_sibling(path: Path) -> Path:
    """A new file in the folder of ``path`` (of its target, if it is a link), which is made."""
    target = path.resolve() if path.is_symlink() else path
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent
    )
    os.close(handle)
    return Path(name)


def move_into_place(temporary: Path, path: Path) -> None:
    """Replace ``path``, or its target if it is a link, by a `temporary_sibling`."""
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
    """Return the value of a JSON text. LabError if it is malformed, repeats a key or has NaN or an
    infinity, with column and, where there are several, line."""
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

    LabError that begins with ``where`` and names the place in the text and the rule. It covers the
    errors of `parse_json`, and values that do not fit the type.
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


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The tables of a TOML text; LabError with line and column if it is malformed."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise LabError(f"{where}: is nested too deeply") from None
    except ValueError as error:  # an integer too long, too
        raise LabError(f"{where}: not a readable TOML file: {first_line(error)}") from None


def decode_toml(text: str, kind: type[T], where: str) -> T:
    """The value of a TOML text as a ``kind``; LabError as of `decode_json`."""
    return convert(parse_toml(text, where), kind, where)


def convert(value: object, kind: type[T], where: str, *, is_strict: bool = True) -> T:
    """Plain values (those of JSON) as a ``kind``; LabError as of `decode_json`. Without
    ``strict``, numbers may be texts."""
    read = partial(msgspec.convert, type=kind, strict=is_strict, dec_hook=decode_hook)
    try:
        return cast("T", read(value))
    except UnicodeEncodeError as error:  # JSON can write half a character
        raise LabError(f"{where}: {error.object[error.start]!r} is no character") from None
    except msgspec.ValidationError as error:
        rule, _, path = str(error).replace("`key` in ", "").partition(" - at `$")
        path = path.rstrip("`")
        choices = rule.startswith("Invalid ") and _choices(type_info(kind), _steps(path))
        if choices:
            rule = f"{rule.partition('value ')[2]} must be one of {', '.join(map(str, choices))}"
        if "[...]" in path:
            path = _with_key(path, value, read, str(error))
        text = f", {path.removeprefix('.')}: {rule}" if path else f": {rule}"
        line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)  # keys may have any
        raise LabError(f"{where}{line}") from None


def _steps(path: str) -> list[str]:
    """Return the keys and indices of a path of msgspec, such as ``.tables[3].name``."""
    return path.replace("[...]", "[*]").replace("[", ".").replace("]", "").split(".")[1:]


def _with_key(path: str, value: object, read: Callable[[Any], object], error: str) -> str:
    """Return the path with the key of a mapping, which msgspec writes as ``[...]``: the one
    without which `read` raises another error or none."""
    head, _, tail = path.partition("[...]")
    mapping: Any = value
    for step in _steps(head):
        mapping = mapping[step if isinstance(mapping, dict) else int(step)]
    entries, culprit = dict(mapping), "..."
    for key in entries:
        del mapping[key]
        try:
            read(value)
        except (msgspec.ValidationError, UnicodeEncodeError) as other:
            if str(other) == error:
                continue
        culprit = key
        break
    mapping.update(entries)
    return f"{head}.{culprit}{tail}"


def _choices(info: Any, steps: list[str]) -> tuple[object, ...]:
    """Return the few values that the type ``info`` allows at a place; none where it allows many."""
    if isinstance(info, UnionType):
        return tuple(value for part in info.types for value in _choices(part, steps))
    if not steps:  # an error at a mapping is about its keys
        return getattr(getattr(info, "key_type", info), "values", ())
    if steps[0] == getattr(info, "tag_field", None):
        return (info.tag,)
    parts = {field.encode_name: field.type for field in getattr(info, "fields", ())}
    part = parts.get(steps[0], getattr(info, "item_type", getattr(info, "value_type", None)))
    return _choices(part, steps[1:]) if part is not None else ()


def check_unique(names: Iterable[str], field: str) -> None:
    """ValueError with the place in the list ``field`` of a name that is given twice."""
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name in seen:
            raise ValueError(f"{field}[{number}]: the name {name!r} is given twice")
        seen.add(name)


def decode_hook(kind: Any, value: object) -> object:
    """msgspec's hook for `Hex` and other types with a class method ``read``."""
    return value if isinstance(value, kind) else kind.read(value)


def to_builtins(value: object) -> Any:
    """Return the JSON form of ``value``, bytes in hexadecimal."""
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

    body = msgspec.json.schema(kind, schema_hook=hook)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **body}


class _Malformed(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise _Malformed(f"the key {twice!r} appears twice in one object")
    return values


def _no_constant(text: str) -> Any:
    raise _Malformed(f"{text} is no number that JSON knows")


def umask() -> int:
    """The process's mask for new files, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
