"""Files that the lab writes and reads: whole or not at all, and an error that names the file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mldsa_lab.errors import LabError


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` make a file beside `path` and put it in its place only when it is whole.

    LabError if the file cannot be written; an earlier file at `path` is kept then. A link stays,
    and its target is replaced; what is no plain file, like /dev/stdout, is written to directly.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            write(path)
            return
        if path.is_symlink():
            path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent
        )
        os.close(handle)
    except OSError as error:
        raise LabError(f"output {path}: cannot write it: {error.strerror}") from None
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o666 & ~umask())
        temporary.replace(path)
    except OSError as error:
        raise LabError(f"output {path}: cannot write it: {error.strerror}") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """`write_whole` of a text."""
    write_whole(path, lambda target: target.write_text(text, encoding="utf-8"))


def check_target(path: Path) -> None:
    """LabError, before any work is done, if a file could not be written to `path` afterwards."""
    folder = path.parent
    if path.is_dir():
        raise LabError(f"output {path}: is a folder")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise LabError(f"output {path}: {folder} is no folder that can be written to")


def read_text(path: Path) -> str:
    """The text of a file; LabError if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(f"{path}: cannot read it: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise LabError(f"{path}: byte {error.start} is not UTF-8 text") from None


def parse_json(text: str, where: str) -> Any:
    """The value of a JSON text; LabError with line (where there are several) and column if it is
    malformed, repeats a key or holds NaN or an infinity."""
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


class _Malformed(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Malformed(f"the key {twice!r} stands twice in one object")
    return found


def _no_constant(text: str) -> Any:
    raise _Malformed(f"{text} is no number that JSON knows")


def umask() -> int:
    """The process's mask for new files, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
