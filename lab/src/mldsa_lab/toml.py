"""TOML files that people write, read as a type: errors have the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from mldsa_lab.errors import LabError, first_line
from mldsa_lab.files import checked

T = TypeVar("T")

Keys = tuple[str | int, ...]


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """The tables of a TOML text; LabError that begins with ``name`` if it is none."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise LabError(f"{name}: is nested too deeply") from None
    except ValueError as error:  # an integer too long, too
        raise LabError(f"{name}: not a readable TOML file: {first_line(error)}") from None


def decode_toml(text: str, kind: type[T], name: str) -> T:
    """The value of a TOML text as a ``kind``, a type that msgspec knows; ``name`` stands for its
    file in errors. LabError with the line, the place in the text and the rule."""
    document = parse_toml(text, name)
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        missing = re.fullmatch("Object missing required field `([^`]*)`", str(error))
        if missing is not None:  # of the file itself, so that no line has it
            key = missing[1]
            raise LabError(
                f"{name}, line 1: {key} is missing: add a line `{key} = …` or a table [{key}]"
            ) from None
        keys, said = _place(document, kind, str(error))
        line = line_of(text, keys)
        with checked(kind, name if line is None else f"{name}, line {line}"):
            raise msgspec.ValidationError(said) from None


def check_unique(names: Iterable[str], field: str) -> None:
    """ValueError with the place in the list ``field`` of a name that stands there twice."""
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name in seen:
            raise ValueError(f"{field}[{number}]: the name {name!r} is given twice")
        seen.add(name)


def _place(document: dict[str, Any], kind: Any, said: str) -> tuple[Keys, str]:
    """The keys to where msgspec found what it says, and its text with the keys of mappings, which
    it leaves out."""
    rule, at, path = said.rpartition(" `$")
    path = path.rstrip("`") if at else ""
    found: list[str | int] = []
    part: Any = document
    for word in re.findall(r"[^.\[\]]+|\.\.\.", path):
        key = int(word) if word.isdigit() else word
        if word == "...":  # the one without which nothing is wrong with the mapping
            key = next((k for k in part if not _wrong_without(document, kind, found, k, said)), "")
            path = path.replace("[...]", f"[{key}]", 1)
        found.append(key)
        part = part[key] if key in part or isinstance(part, list) else {}
    unknown = r"Object contains unknown field `(.*?)`|Invalid enum value '(.*?)' - at `key`"
    named = re.match(unknown, said)
    if named is not None:
        found.append(named[1] or named[2])
    # A rule over several fields begins with the one that it is about, or with its place.
    own = re.match(r"([\w-]+)((?:\[\d+\]|\.[\w-]+|\.\"[^\"]*\")*): ", said)
    if own is not None and isinstance(part, dict) and own[1] in part:
        found.append(own[1])
        for number, bare, quoted in re.findall(r'\[(\d+)\]|\.([\w-]+)|\."([^"]*)"', own[2]):
            found.append(int(number) if number else bare or quoted)
    return tuple(found), f"{rule}{at}{path}`" if at else said


def _wrong_without(
    document: dict[str, Any], kind: Any, keys: list[str | int], key: str, said: str
) -> bool:
    """Whether msgspec says the same with the mapping at ``keys`` having no ``key``."""

    def without(part: Any, rest: list[str | int]) -> Any:
        if not rest:
            return {k: v for k, v in part.items() if k != key}
        copied: Any = list(part) if isinstance(part, list) else dict(part)
        copied[rest[0]] = without(part[rest[0]], rest[1:])
        return copied

    try:
        msgspec.convert(without(document, keys), kind)
    except msgspec.ValidationError as error:
        return str(error) == said
    return False


def line_of(text: str, keys: Keys) -> int | None:
    """The line that what stands at ``keys`` begins on: the first ones that hold it, read as a
    text of their own, less those that are whole without it."""
    lines, start = text.splitlines(), 1
    for number in range(1, len(lines) + 1 if keys else 0):
        try:
            part: Any = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # within a value
        try:
            for key in keys:
                part = part[key]
        except (KeyError, IndexError, TypeError):
            start = number + 1
        else:
            return start
    return None
