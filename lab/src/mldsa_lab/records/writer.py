"""Writing a record, line by line."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from mldsa_lab.errors import LabError
from mldsa_lab.files import plain
from mldsa_lab.records.reader import decode_row
from mldsa_lab.records.rows import Row


def to_json(row: Row) -> dict[str, Any]:
    """The JSON object of one line, `type` first; bytes become lower-case hexadecimal."""
    made: dict[str, Any] = plain(row)
    return made


class RecordWriter(AbstractContextManager["RecordWriter"]):
    """Appends rows to a new record file; each line is with the system before `write` returns.

    A line goes out in one unbuffered write, so that an interrupt cannot leave half of one behind.
    """

    def __init__(self, path: Path) -> None:
        """Create `path`; LabError if it exists or cannot be written."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb", buffering=0)
        except OSError as error:
            raise LabError(f"record {path}: cannot create it: {error.strerror}") from None

    def write(self, row: Row) -> None:
        """Append one line. LabError if it could not be read again; the record is whole then."""
        text = json.dumps(to_json(row), separators=(",", ":"), allow_nan=False)
        data = memoryview(f"{text}\n".encode())
        try:
            decode_row(data[:-1])
        except msgspec.ValidationError as error:
            raise LabError(f"a record cannot hold this: {error}") from None  # it is published
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise LabError(f"record {self.path}: cannot write: {error.strerror}") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __exit__(self, *error: object) -> None:
        self.close()
